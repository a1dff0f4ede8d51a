// SPDX-License-Identifier: Apache-2.0
// Memory of every kind, and what is asked about pointers.
#include <cstring>

#include "check.hpp"

__global__ void add_one(int* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) ++x[i];
}

constexpr int n = 300;

void run_on(int* x) {
    add_one<<<(n + 127) / 128, 128>>>(x, n);
    OK(cudaDeviceSynchronize());
}

cudaPointerAttributes about(const void* p) {
    cudaPointerAttributes a;
    std::memset(&a, 0xff, sizeof a);
    OK(cudaPointerGetAttributes(&a, p));
    return a;
}

void device_memory() {
    int* d = nullptr;
    size_t free_before = 0, free_now = 0, total = 0;
    OK(cudaMemGetInfo(&free_before, &total));
    OK(cudaMalloc(&d, n * sizeof(int)));
    OK(cudaMemGetInfo(&free_now, &total));
    CHECK(free_now < free_before && free_before <= total);
    CHECK(about(d).type == cudaMemoryTypeDevice && about(d).device == 0);
    CHECK(about(d).devicePointer == d && about(d).hostPointer == nullptr);
    OK(cudaFree(d));
    OK(cudaFree(nullptr));
    EXPECT_ERROR(cudaFree(d), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGetLastError(), cudaSuccess);
    OK(cudaMalloc(&d, 0));
    CHECK(d == nullptr);
    EXPECT_ERROR(cudaMalloc(&d, size_t{1} << 60), cudaErrorMemoryAllocation);
    EXPECT_ERROR(cudaMalloc(static_cast<void**>(nullptr), 4), cudaErrorInvalidValue);
    cudaGetLastError();
}

void managed_memory() {
    int* m = nullptr;
    OK(cudaMallocManaged(&m, n * sizeof(int)));
    for (int i = 0; i < n; ++i) m[i] = i;
    run_on(m);
    for (int i = 0; i < n; ++i) CHECK(m[i] == i + 1);
    CHECK(about(m).type == cudaMemoryTypeManaged);
#if CUDART_VERSION >= 13000
    cudaMemLocation here{cudaMemLocationTypeDevice, 0};
    OK(cudaMemAdvise(m, n * sizeof(int), cudaMemAdviseSetPreferredLocation, here));
    OK(cudaMemPrefetchAsync(m, n * sizeof(int), here, 0, nullptr));
#else
    OK(cudaMemAdvise(m, n * sizeof(int), cudaMemAdviseSetPreferredLocation, 0));
    OK(cudaMemPrefetchAsync(m, n * sizeof(int), 0, nullptr));
#endif
    EXPECT_ERROR(cudaStreamAttachMemAsync(nullptr, m), cudaErrorInvalidValue);
    cudaGetLastError();
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamAttachMemAsync(s, m));
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamAttachMemAsync(s, m, 0, cudaMemAttachGlobal));
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(m));
}

void host_memory() {
    int* h = nullptr;
    int* d = nullptr;
    unsigned flags = 0;
    OK(cudaHostAlloc(&h, n * sizeof(int), cudaHostAllocMapped));
    OK(cudaHostGetFlags(&flags, h));
    CHECK((flags & cudaHostAllocMapped) != 0);
    OK(cudaHostGetDevicePointer(&d, h, 0));
    for (int i = 0; i < n; ++i) h[i] = 2 * i;
    run_on(d);
    for (int i = 0; i < n; ++i) CHECK(h[i] == 2 * i + 1);
    CHECK(about(h).type == cudaMemoryTypeHost && about(h).hostPointer == h);
    OK(cudaFreeHost(h));
    OK(cudaMallocHost(&h, 64));
    OK(cudaFreeHost(h));

    static int own[n];
    CHECK(about(own).type == cudaMemoryTypeUnregistered);
    OK(cudaHostRegister(own, sizeof own, cudaHostRegisterMapped));
    EXPECT_ERROR(cudaHostRegister(own, sizeof own, 0), cudaErrorHostMemoryAlreadyRegistered);
    run_on(own);
    for (int i = 0; i < n; ++i) CHECK(own[i] == 1);
    OK(cudaHostUnregister(own));
    EXPECT_ERROR(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
    cudaGetLastError();
}

void pitched_memory() {
    char* p = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&p, &pitch, 100, 10));
    CHECK(pitch >= 100 && pitch % 32 == 0);
    OK(cudaFree(p));
    cudaPitchedPtr box{};
    OK(cudaMalloc3D(&box, make_cudaExtent(100, 10, 3)));
    CHECK(box.ptr != nullptr && box.pitch >= 100 && box.xsize == 100 && box.ysize == 10);
    OK(cudaFree(box.ptr));
}

int main() {
    device_memory();
    managed_memory();
    host_memory();
    pitched_memory();
    return done("memory");
}
