// SPDX-License-Identifier: Apache-2.0
// Three devices: their own kernels, variables, streams and pools, copies between them, and memory
// of one that kernels of another touch once they may.
// exec: --devices 3
#include <cstring>

#include "check.hpp"

__device__ int own_number = 7;

__global__ void number(int* out) { *out = own_number; }
__global__ void add(int* x, const int* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += y[i];
}

constexpr int n = 1000;
constexpr size_t bytes = n * sizeof(int);

void properties() {
    int count = 0, device = -1;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 3);
    cudaDeviceProp p[3];
    for (int d = 0; d < 3; ++d) {
        OK(cudaGetDeviceProperties(&p[d], d));
        char bus[32];
        OK(cudaDeviceGetPCIBusId(bus, sizeof bus, d));
        OK(cudaDeviceGetByPCIBusId(&device, bus));
        CHECK(device == d);
    }
    CHECK(p[0].pciBusID != p[1].pciBusID && p[1].multiGpuBoardGroupID == 1);
    CHECK(std::memcmp(&p[0].uuid, &p[2].uuid, sizeof p[0].uuid) != 0);
    EXPECT_ERROR(cudaSetDevice(3), cudaErrorInvalidDevice);
    cudaGetLastError();
    OK(cudaSetDevice(2));
    OK(cudaGetDevice(&device));
    CHECK(device == 2);
    OK(cudaSetDevice(0));
}

// Each device has the module's variables for itself.
void variables() {
    for (int d = 0; d < 3; ++d) {
        OK(cudaSetDevice(d));
        const int value = 10 * d;
        if (d != 1) OK(cudaMemcpyToSymbol(own_number, &value, sizeof value));
    }
    for (int d = 0; d < 3; ++d) {
        OK(cudaSetDevice(d));
        int *x = nullptr, h = -1;
        OK(cudaMalloc(&x, sizeof *x));
        number<<<1, 1>>>(x);
        OK(cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost));
        CHECK(h == (d == 1 ? 7 : 10 * d));
        cudaPointerAttributes a;
        OK(cudaPointerGetAttributes(&a, x));
        CHECK(a.device == d && a.type == cudaMemoryTypeDevice);
        OK(cudaFree(x));
    }
}

// Each device's memory is counted for itself.
void memory() {
    size_t before = 0, after = 0, total = 0;
    void* x = nullptr;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&x, 1 << 24));
    OK(cudaSetDevice(0));
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaSetDevice(1));
    OK(cudaMemGetInfo(&after, &total));
    CHECK(before - after >= 1 << 24);
    OK(cudaFree(x));
}

int* filled(int device, int value) {
    int* x = nullptr;
    int h[n];
    for (int& i : h) i = value;
    OK(cudaSetDevice(device));
    OK(cudaMalloc(&x, bytes));
    OK(cudaMemcpy(x, h, bytes, cudaMemcpyHostToDevice));
    return x;
}

void check_filled(const int* x, int value) {
    int h[n];
    OK(cudaMemcpy(h, x, bytes, cudaMemcpyDeviceToHost));
    for (int i : h) CHECK(i == value);
}

void copies() {
    int* const a = filled(0, 1);
    int* const b = filled(1, 2);
    OK(cudaMemcpyPeer(b, 1, a, 0, bytes));
    check_filled(b, 1);
    cudaStream_t s;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&s));
    OK(cudaMemsetAsync(b, 0, bytes, s));
    OK(cudaMemcpyPeerAsync(a, 0, b, 1, bytes, s));
    OK(cudaStreamSynchronize(s));
    check_filled(a, 0);
    int device = -1;
    OK(cudaStreamGetDevice(s, &device));
    CHECK(device == 1);
    // A stream and an event belong to a device.
    cudaEvent_t e;
    OK(cudaSetDevice(0));
    OK(cudaEventCreate(&e));
    EXPECT_ERROR(cudaEventRecord(e, s), cudaErrorInvalidResourceHandle);
    add<<<1, 32, 0, s>>>(a, a, 32);
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    // A stream may wait for another device's event.
    OK(cudaEventRecord(e));
    OK(cudaSetDevice(1));
    OK(cudaStreamWaitEvent(s, e));
    OK(cudaStreamDestroy(s));
    OK(cudaEventDestroy(e));
    OK(cudaFree(a));
    OK(cudaFree(b));
}

void peers() {
    int can = 0;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    OK(cudaDeviceCanAccessPeer(&can, 1, 1));
    CHECK(can == 0);
    OK(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 1));
    CHECK(can == 1);
    int* const a = filled(0, 1);
    int* const b = filled(1, 2);
    OK(cudaSetDevice(0));
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
    add<<<8, 128>>>(a, b, n);
    OK(cudaDeviceSynchronize());
    check_filled(a, 3);
    // What is made later may be touched too, and managed memory always.
    int* const c = filled(1, 5);
    int* m = nullptr;
    OK(cudaMallocManaged(&m, bytes));
    for (int i = 0; i < n; ++i) m[i] = 20;
    OK(cudaSetDevice(0));
    add<<<8, 128>>>(a, c, n);
    add<<<8, 128>>>(a, m, n);
    check_filled(a, 28);
    OK(cudaDeviceDisablePeerAccess(1));
    EXPECT_ERROR(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    cudaGetLastError();
    OK(cudaFree(c));
    OK(cudaFree(m));
    OK(cudaFree(a));
    OK(cudaFree(b));
}

// A pool's memory is another device's where the pool says so.
void pools() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 1};
    cudaMemPool_t pool, other;
    OK(cudaMemPoolCreate(&pool, &properties));
    EXPECT_ERROR(cudaDeviceSetMemPool(0, pool), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaDeviceGetDefaultMemPool(&other, 2));
    CHECK(other != pool);
    cudaMemAccessDesc access{};
    access.location = {cudaMemLocationTypeDevice, 0};
    access.flags = cudaMemAccessFlagsProtReadWrite;
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    cudaMemAccessFlags flags{};
    OK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    CHECK(flags == cudaMemAccessFlagsProtReadWrite);
    int* x = nullptr;
    OK(cudaSetDevice(1));
    OK(cudaMallocFromPoolAsync(&x, bytes, pool, nullptr));
    OK(cudaMemsetAsync(x, 0, bytes, nullptr));
    OK(cudaDeviceSynchronize());
    int* const y = filled(0, 6);
    add<<<8, 128>>>(x, y, n);
    OK(cudaDeviceSynchronize());
    check_filled(x, 6);
    OK(cudaSetDevice(1));
    OK(cudaFreeAsync(x, nullptr));
    OK(cudaMemPoolDestroy(pool));
}

// One device's end is not that of the others, nor is its fault.
void ends() {
    int* const a = filled(0, 1);
    int* const b = filled(1, 2);
    OK(cudaSetDevice(0));
    add<<<1, 32>>>(a, b, 32);  // device 1's memory, which this one may not touch
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    OK(cudaSetDevice(1));
    cudaGetLastError();
    add<<<8, 128>>>(b, b, n);
    check_filled(b, 4);
    OK(cudaDeviceReset());
    EXPECT_ERROR(cudaFree(b), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaSetDevice(2));
    int* const c = filled(2, 3);
    add<<<8, 128>>>(c, c, n);
    check_filled(c, 6);
}

int main() {
    properties();
    variables();
    memory();
    copies();
    peers();
    pools();
    ends();
    return done("devices");
}
