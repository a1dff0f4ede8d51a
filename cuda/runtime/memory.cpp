// SPDX-License-Identifier: Apache-2.0
// Memory of every kind, pools, and what is asked about pointers.
#include <cstring>

#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

namespace {

Address address_of(const void* p) { return reinterpret_cast<Address>(p); }
Address* address_at(void** p) { return reinterpret_cast<Address*>(p); }

constexpr uint32_t pitch_element = 4;

// Of nothing it gives nullptr, which may be freed.
template <class Allocate>
Result allocate(void** out, size_t size, Allocate work) {
    return call([&] {
        require(out != nullptr);
        if (size != 0) return work();
        *out = nullptr;
        return success;
    });
}

// cudaMemoryType
enum KindOfMemory : int { unregistered = 0, of_host = 1, of_device = 2, managed = 3 };

void attributes_of(PointerAttributes& out, const void* pointer) {
    constexpr int memory_type = 2, device_pointer = 3, host_pointer = 4, is_managed = 8,
                  ordinal = 9;
    const int numbers[] = {memory_type, device_pointer, host_pointer, is_managed, ordinal};
    unsigned type = 0, managed_memory = 0;
    void* on_device = nullptr;
    void* on_host = nullptr;
    int device = -2;
    void* values[] = {&type, &on_device, &on_host, &managed_memory, &device};
    check(cuPointerGetAttributes(5, numbers, values, address_of(pointer)));
    if (type == 0) {
        out = {unregistered, -2, nullptr, const_cast<void*>(pointer)};
        return;
    }
    const int kind = managed_memory != 0 ? managed : type == host_memory ? of_host : of_device;
    out = {kind, device, on_device, on_host};
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cudaMalloc(void** out, size_t size) {
    return allocate(out, size, [&] { return cuMemAlloc_v2(address_at(out), size); });
}

Result cudaMallocManaged(void** out, size_t size, unsigned flags) {
    return call([&] { return cuMemAllocManaged(address_at(out), size, flags); });
}

Result cudaHostAlloc(void** out, size_t size, unsigned flags) {
    return allocate(out, size, [&] { return cuMemHostAlloc(out, size, flags); });
}

Result cudaMallocHost(void** out, size_t size) { return cudaHostAlloc(out, size, 0); }

Result cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
    return call(
        [&] { return cuMemAllocPitch_v2(address_at(out), pitch, width, height, pitch_element); });
}

Result cudaMalloc3D(PitchedPointer* out, Extent extent) {
    return call([&] {
        require(out != nullptr && extent.width != 0 && extent.height != 0 && extent.depth != 0);
        require(extent.height <= SIZE_MAX / extent.depth, out_of_memory);
        PitchedPointer p{nullptr, 0, extent.width, extent.height};
        check(cuMemAllocPitch_v2(address_at(&p.pointer), &p.pitch, extent.width,
                                 extent.height * extent.depth, pitch_element));
        *out = p;
    });
}

Result cudaFree(void* pointer) {
    return call([&] { return cuMemFree_v2(address_of(pointer)); });
}

Result cudaFreeHost(void* pointer) {
    return call([&] { return cuMemFreeHost(pointer); });
}

Result cudaHostRegister(void* bytes, size_t size, unsigned flags) {
    return call([&] { return cuMemHostRegister_v2(bytes, size, flags); });
}

Result cudaHostUnregister(void* bytes) {
    return call([&] { return cuMemHostUnregister(bytes); });
}

Result cudaHostGetDevicePointer(void** out, void* bytes, unsigned flags) {
    return call([&] { return cuMemHostGetDevicePointer_v2(address_at(out), bytes, flags); });
}

Result cudaHostGetFlags(unsigned* flags, void* bytes) {
    return call([&] { return cuMemHostGetFlags(flags, bytes); });
}

Result cudaMemGetInfo(size_t* free, size_t* total) {
    return call([&] { return cuMemGetInfo_v2(free, total); });
}

Result lockwarp_cudaPointerGetAttributes_12(PointerAttributes* out, const void* pointer) {
    return ask([&] {
        require(out != nullptr);
        attributes_of(*out, pointer);
    });
}

Result lockwarp_cudaPointerGetAttributes_13(PointerAttributes* out, const void* pointer) {
    constexpr size_t reserved = 64;
    return ask([&] {
        require(out != nullptr);
        attributes_of(*out, pointer);
        std::memset(out + 1, 0, reserved);
    });
}

Result cudaMemRangeGetAttribute(void* out, size_t size, int attribute, const void* pointer,
                                size_t bytes) {
    return call(
        [&] { return cuMemRangeGetAttribute(out, size, attribute, address_of(pointer), bytes); });
}

Result cudaMemRangeGetAttributes(void** out, size_t* sizes, int* attributes, size_t count,
                                 const void* pointer, size_t bytes) {
    return call([&] {
        return cuMemRangeGetAttributes(out, sizes, attributes, count, address_of(pointer), bytes);
    });
}

Result lockwarp_cudaMemAdvise_13(const void* pointer, size_t size, int advice, Location location) {
    return call([&] { return cuMemAdvise_v2(address_of(pointer), size, advice, location); });
}

Result lockwarp_cudaMemAdvise_12(const void* pointer, size_t size, int advice, int device) {
    return call([&] { return cuMemAdvise(address_of(pointer), size, advice, device); });
}

Result lockwarp_cudaMemPrefetchAsync_13(const void* pointer, size_t size, Location location,
                                        unsigned flags, Stream* stream) {
    return call(
        [&] { return cuMemPrefetchAsync_v2(address_of(pointer), size, location, flags, stream); });
}

Result lockwarp_cudaMemPrefetchAsync_12(const void* pointer, size_t size, int device,
                                        Stream* stream) {
    return call([&] { return cuMemPrefetchAsync(address_of(pointer), size, device, stream); });
}

Result cudaMallocAsync(void** out, size_t size, Stream* stream) {
    return allocate(out, size, [&] { return cuMemAllocAsync(address_at(out), size, stream); });
}

Result cudaMallocFromPoolAsync(void** out, size_t size, Pool* pool, Stream* stream) {
    return allocate(out, size,
                    [&] { return cuMemAllocFromPoolAsync(address_at(out), size, pool, stream); });
}

Result cudaFreeAsync(void* pointer, Stream* stream) {
    return call(
        [&] { return pointer == nullptr ? success : cuMemFreeAsync(address_of(pointer), stream); });
}

Result cudaMemPoolCreate(Pool** out, const PoolProperties* properties) {
    return ask([&] { return cuMemPoolCreate(out, properties); });
}

Result cudaMemPoolDestroy(Pool* pool) {
    return ask([&] { return cuMemPoolDestroy(pool); });
}

Result cudaMemPoolTrimTo(Pool* pool, size_t keep) {
    return ask([&] { return cuMemPoolTrimTo(pool, keep); });
}

Result cudaMemPoolGetAttribute(Pool* pool, int attribute, void* value) {
    return ask([&] { return cuMemPoolGetAttribute(pool, attribute, value); });
}

Result cudaMemPoolSetAttribute(Pool* pool, int attribute, void* value) {
    return ask([&] { return cuMemPoolSetAttribute(pool, attribute, value); });
}

Result cudaMemPoolSetAccess(Pool* pool, const AccessDescription* descriptions, size_t count) {
    return ask([&] { return cuMemPoolSetAccess(pool, descriptions, count); });
}

Result cudaMemGetDefaultMemPool(Pool** out, const Location* location, int type) {
    return ask([&] { return cuMemGetDefaultMemPool(out, location, type); });
}

Result cudaMemGetMemPool(Pool** out, const Location* location, int type) {
    return ask([&] { return cuMemGetMemPool(out, location, type); });
}

Result cudaMemSetMemPool(const Location* location, int type, Pool* pool) {
    return ask([&] { return cuMemSetMemPool(location, type, pool); });
}

Result cudaDeviceGetDefaultMemPool(Pool** out, int device) {
    return ask([&] { return cuDeviceGetDefaultMemPool(out, device); });
}

Result cudaDeviceGetMemPool(Pool** out, int device) {
    return ask([&] { return cuDeviceGetMemPool(out, device); });
}

Result cudaDeviceSetMemPool(int device, Pool* pool) {
    return ask([&] { return cuDeviceSetMemPool(device, pool); });
}

}  // extern "C"
