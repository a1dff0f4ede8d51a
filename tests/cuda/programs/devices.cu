// SPDX-License-Identifier: Apache-2.0
// Three devices, or two of a machine with GPUs: their own kernels, variables, streams and pools,
// copies between them, and memory of one that kernels of another touch once they may.
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
int last = 0;  // of the devices

void properties() {
    int count = 0, device = -1;
    OK(cudaGetDeviceCount(&count));
    CHECK(emulated() ? count == 3 : count >= 2);
    last = count > 2 ? 2 : 1;
    cudaDeviceProp p[3];
    for (int d = 0; d <= last; ++d) {
        OK(cudaGetDeviceProperties(&p[d], d));
        char bus[32];
        OK(cudaDeviceGetPCIBusId(bus, sizeof bus, d));
        OK(cudaDeviceGetByPCIBusId(&device, bus));
        CHECK(device == d);
    }
    CHECK(p[0].pciBusID != p[1].pciBusID || p[0].pciDomainID != p[1].pciDomainID ||
          p[0].pciDeviceID != p[1].pciDeviceID);
    if (emulated()) CHECK(p[1].multiGpuBoardGroupID == 1);
    CHECK(std::memcmp(&p[0].uuid, &p[last].uuid, sizeof p[0].uuid) != 0);
    EXPECT_ERROR(cudaSetDevice(count), cudaErrorInvalidDevice);
    cudaGetLastError();
    OK(cudaSetDevice(last));
    OK(cudaGetDevice(&device));
    CHECK(device == last);
    OK(cudaSetDevice(0));
}

// Each device has the module's variables for itself.
void variables() {
    for (int d = 0; d <= last; ++d) {
        OK(cudaSetDevice(d));
        const int value = 10 * d;
        if (d != 1) OK(cudaMemcpyToSymbol(own_number, &value, sizeof value));
    }
    for (int d = 0; d <= last; ++d) {
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
    cudaGetLastError();
    // A kernel runs where its stream is, with the variables that are there.
    OK(cudaMemsetAsync(b, 0, bytes, s));
    number<<<1, 1, 0, s>>>(b);
    OK(cudaGetLastError());
    OK(cudaStreamSynchronize(s));
    int there = -1;
    OK(cudaMemcpy(&there, b, sizeof there, cudaMemcpyDefault));
    CHECK(there == 7);
    // So does a fill: what that device may not touch is refused, and a copy takes either.
    EXPECT_ERROR(cudaMemset(b, 0, bytes), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemsetAsync(a, 0, bytes, s), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemset2D(b, 64, 0, 32, 4), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaMemcpyAsync(a, b, bytes, cudaMemcpyDefault, s));
    EXPECT_ERROR(cudaMemcpyPeer(a, 0, b, 99, bytes), cudaErrorInvalidDevice);
    cudaGetLastError();
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
    for (const auto attribute : {cudaDevP2PAttrAccessSupported, cudaDevP2PAttrNativeAtomicSupported,
                                 cudaDevP2PAttrCudaArrayAccessSupported}) {
        OK(cudaDeviceGetP2PAttribute(&can, attribute, 0, 1));
        CHECK(can == 1);
    }
    int* const a = filled(0, 1);
    int* const b = filled(1, 2);
    OK(cudaSetDevice(0));
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
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
    OK(cudaDeviceGetDefaultMemPool(&other, last));
    CHECK(other != pool);
    cudaMemAccessDesc access{};
    access.location = {cudaMemLocationTypeDevice, 0};
    access.flags = cudaMemAccessFlagsProtReadWrite;
    // Its memory is the stream's device's; without access another neither fills nor copies it, but
    // as between two devices.
    int *own = nullptr, *here = filled(0, 4), first = -1;
    cudaStream_t s;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&s));
    OK(cudaSetDevice(0));
    OK(cudaMallocAsync(&own, bytes, s));
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, own));
    CHECK(a.device == 1);
    OK(cudaMemsetAsync(own, 0, bytes, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaDeviceEnablePeerAccess(1, 0));  // which is not for pools
    EXPECT_ERROR(cudaMemcpy(&first, own, sizeof first, cudaMemcpyDefault), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpyAsync(here, own, bytes, cudaMemcpyDefault, s), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpy2D(here, 64, own, 64, 32, 4, cudaMemcpyDefault), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemset(own, 0, bytes), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaMemcpyPeer(here, 0, own, 1, bytes));
    check_filled(here, 0);
    OK(cudaDeviceDisablePeerAccess(1));
    OK(cudaFreeAsync(own, s));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(here));
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

// One device's end is not that of the others, but ends what these may touch.
void ends() {
    int* const a = filled(0, 1);
    int* const b = filled(1, 2);
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaSetDevice(1));
    OK(cudaDeviceReset());
    EXPECT_ERROR(cudaFree(b), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaSetDevice(0));
    EXPECT_ERROR(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    cudaGetLastError();
    add<<<8, 128>>>(a, a, n);
    check_filled(a, 2);
    int* const c = filled(last, 3);
    add<<<8, 128>>>(c, c, n);
    check_filled(c, 6);
    OK(cudaFree(a));
    OK(cudaFree(c));
}

// A kernel's fault is every device's, until each is reset. A GPU is gone then.
void faults() {
    int* const a = filled(0, 1);
    void* variable = nullptr;
    OK(cudaSetDevice(1));
    OK(cudaGetSymbolAddress(&variable, own_number));
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    add<<<1, 1>>>(a, static_cast<int*>(variable), 1);  // of another device's module
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    void* x = nullptr;
    OK(cudaSetDevice(1));
    EXPECT_ERROR(cudaMalloc(&x, 16), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    if (!emulated()) return;
    OK(cudaMalloc(&x, 16));
    OK(cudaSetDevice(0));
    EXPECT_ERROR(cudaMalloc(&x, 16), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    OK(cudaMalloc(&x, 16));
}

int main() {
    properties();
    variables();
    memory();
    copies();
    peers();
    pools();
    ends();
    faults();
    return done("devices");
}
