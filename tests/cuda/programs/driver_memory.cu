// SPDX-License-Identifier: Apache-2.0
// The driver API: memory of every kind, pools, and what is asked about pointers.
// nvcc: -lcuda
#include "driver_check.hpp"

CUmemLocation here() {
    CUmemLocation out{};
    out.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return out;
}

template <class T>
T attribute(CUpointer_attribute which, CUdeviceptr of) {
    T value{};
    DO(cuPointerGetAttribute(&value, which, of));
    return value;
}

void pointers(const World& world) {
    CUdeviceptr base = 0;
    size_t size = 0, free = 0, total = 0;
    DO(cuMemGetAddressRange(&base, &size, world.x + 20));
    CHECK(base == world.x && size == threads * sizeof(int));
    DO(cuMemGetInfo(&free, &total));
    CHECK(free < total);
    CHECK(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, world.x) == world.context);
    CHECK(attribute<CUmemorytype>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, world.x) ==
          CU_MEMORYTYPE_DEVICE);
    CUpointer_attribute list[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  CU_POINTER_ATTRIBUTE_IS_MANAGED};
    int device = -1, managed = -1;
    void* values[] = {&device, &managed};
    DO(cuPointerGetAttributes(2, list, values, world.x));
    CHECK(device == 0 && managed == 0);
    int on = 1;
    DO(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, world.x));
    EXPECT_RESULT(cuPointerGetAttribute(&on, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 64),
                  CUDA_ERROR_INVALID_VALUE);
}

void of_the_host(const World& world) {
    int *h = nullptr, *mapped = nullptr;
    DO(cuMemAllocHost(reinterpret_cast<void**>(&h), threads * sizeof(int)));
    DO(cuMemFreeHost(h));
    DO(cuMemHostAlloc(reinterpret_cast<void**>(&mapped), threads * sizeof(int),
                      CU_MEMHOSTALLOC_DEVICEMAP));
    unsigned flags = 0;
    DO(cuMemHostGetFlags(&flags, mapped));
    CHECK((flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0);
    CUdeviceptr there = 0;
    DO(cuMemHostGetDevicePointer(&there, mapped, 0));
    for (int i = 0; i < threads; ++i) mapped[i] = 1;
    world.launch_add(2, nullptr, there);
    DO(cuCtxSynchronize());
    CHECK(mapped[31] == 3);
    DO(cuMemFreeHost(mapped));
    static int own[1024];
    DO(cuMemHostRegister(own, sizeof own, 0));
    EXPECT_RESULT(cuMemHostRegister(own, sizeof own, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    DO(cuMemHostGetDevicePointer(&there, own, 0));
    world.launch_add(4, nullptr, there);
    DO(cuCtxSynchronize());
    CHECK(own[0] == 4);
    DO(cuMemHostUnregister(own));
    EXPECT_RESULT(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

void managed(const World& world) {
    CUdeviceptr x = 0;
    const size_t bytes = threads * sizeof(int);
    DO(cuMemAllocManaged(&x, bytes, CU_MEM_ATTACH_GLOBAL));
    int* const h = reinterpret_cast<int*>(x);
    for (int i = 0; i < threads; ++i) h[i] = 5;
#if CUDA_VERSION >= 13000
    DO(cuMemAdvise(x, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, here()));
    DO(cuMemPrefetchAsync(x, bytes, here(), 0, nullptr));
#else
    DO(cuMemAdvise(x, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    DO(cuMemPrefetchAsync(x, bytes, 0, nullptr));
#endif
    world.launch_add(1, nullptr, x);
    DO(cuCtxSynchronize());
    CHECK(h[0] == 6 && attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, x) != 0);
    DO(cuMemFree(x));
    size_t pitch = 0;
    DO(cuMemAllocPitch(&x, &pitch, 100, 3, 4));
    CHECK(pitch >= 100 && pitch % 32 == 0);
    DO(cuMemFree(x));
    EXPECT_RESULT(cuMemFree(x), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemAlloc(&x, size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
}

void pools(const World& world) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = here();
    CUmemoryPool pool = nullptr;
    DO(cuMemPoolCreate(&pool, &properties));
    cuuint64_t bytes = 1 << 20, got = 0;
    DO(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
    DO(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &got));
    CHECK(got == bytes);
    CUmemAccessDesc access{here(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    DO(cuMemPoolSetAccess(pool, &access, 1));
    CUmemAccess_flags flags{};
    CUmemLocation location = here();
    DO(cuMemPoolGetAccess(&flags, pool, &location));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
#if CUDA_VERSION >= 13000
    CUmemoryPool normal = nullptr, now = nullptr;
    DO(cuMemGetDefaultMemPool(&normal, &location, CU_MEM_ALLOCATION_TYPE_PINNED));
    DO(cuMemSetMemPool(&location, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
    DO(cuMemGetMemPool(&now, &location, CU_MEM_ALLOCATION_TYPE_PINNED));
    CHECK(now == pool && normal != pool);
#endif
    CUdeviceptr x = 0, y = 0;
    DO(cuMemAllocFromPoolAsync(&x, 128, pool, nullptr));
    DO(cuMemAllocAsync(&y, 128, nullptr));
    DO(cuMemsetD32Async(x, 3, threads, nullptr));
    world.launch_add(1, nullptr, x);
    CHECK(world.value(x) == 4);
    DO(cuMemPoolTrimTo(pool, 0));
    DO(cuMemPoolDestroy(pool));  // what is in use stays
    CHECK(world.value(x) == 4);
    DO(cuMemFreeAsync(x, nullptr));
    DO(cuMemFreeAsync(y, nullptr));
    DO(cuCtxSynchronize());
}

int main() {
    const World world;
    pointers(world);
    of_the_host(world);
    managed(world);
    pools(world);
    return done("driver_memory");
}
