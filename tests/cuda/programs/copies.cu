// SPDX-License-Identifier: Apache-2.0
// Copies and fills in one, two and three dimensions, blocking and in streams, and of variables.
#include <cstring>
#include <vector>

#include "check.hpp"

__device__ int table[16];
__constant__ float factors[4] = {1, 2, 3, 4};
__global__ void scale(float* out) { out[threadIdx.x] = factors[threadIdx.x] * table[threadIdx.x]; }

constexpr size_t width = 40, height = 6, depth = 3, pitch = 64;
using Bytes = std::vector<unsigned char>;

void rows(cudaStream_t s) {
    unsigned char* d = nullptr;
    unsigned char* e = nullptr;
    size_t device_pitch = 0;
    OK(cudaMallocPitch(&d, &device_pitch, width, height));
    OK(cudaMallocPitch(&e, &device_pitch, width, height));
    Bytes in(pitch * height), out(width * height);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i);
    OK(cudaMemcpy2D(d, device_pitch, in.data(), pitch, width, height, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DAsync(e, device_pitch, d, device_pitch, width, height, cudaMemcpyDeviceToDevice,
                         s));
    OK(cudaMemcpy2DAsync(out.data(), width, e, device_pitch, width, height, cudaMemcpyDeviceToHost,
                         s));
    OK(cudaStreamSynchronize(s));
    for (size_t y = 0; y < height; ++y)
        for (size_t x = 0; x < width; ++x) CHECK(out[y * width + x] == in[y * pitch + x]);
    EXPECT_ERROR(cudaMemcpy2D(d, 8, in.data(), pitch, width, height, cudaMemcpyHostToDevice),
                 cudaErrorInvalidPitchValue);
    cudaGetLastError();
    OK(cudaMemset2D(d, device_pitch, 7, 3, height));
    OK(cudaMemset2DAsync(e, device_pitch, 9, 5, 2, s));
    OK(cudaMemcpy2D(out.data(), width, d, device_pitch, width, height, cudaMemcpyDefault));
    CHECK(out[2] == 7 && out[3] == in[3] && out[5 * width] == 7);
    OK(cudaMemcpy2D(out.data(), width, e, device_pitch, width, height, cudaMemcpyDeviceToHost));
    CHECK(out[4] == 9 && out[5] == in[5] && out[width] == 9 && out[2 * width] == in[2 * pitch]);
    OK(cudaFree(d));
    OK(cudaFree(e));
}

void boxes(cudaStream_t s) {
    cudaPitchedPtr d{};
    const cudaExtent extent = make_cudaExtent(width, height, depth);
    OK(cudaMalloc3D(&d, extent));
    Bytes in(width * height * depth), out(in.size());
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * 7);
    cudaMemcpy3DParms p{};
    p.srcPtr = make_cudaPitchedPtr(in.data(), width, width, height);
    p.dstPtr = d;
    p.extent = extent;
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    p.srcPtr = d;
    p.dstPtr = make_cudaPitchedPtr(out.data(), width, width, height);
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&p, s));
    OK(cudaStreamSynchronize(s));
    CHECK(in == out);
    // A part: from (4, 1, 1) of the device to (0, 0, 0).
    p.srcPos = make_cudaPos(4, 1, 1);
    p.extent = make_cudaExtent(8, 2, 2);
    OK(cudaMemcpy3D(&p));
    CHECK(out[0] == in[(height + 1) * width + 4]);
    CHECK(out[width * height + width + 7] == in[(2 * height + 2) * width + 11]);

    cudaMemcpy3DPeerParms q{};
    q.srcPtr = d;
    q.dstPtr = make_cudaPitchedPtr(out.data(), width, width, height);
    q.extent = extent;
    EXPECT_ERROR(cudaMemcpy3DPeer(&q), cudaErrorInvalidValue);  // host memory
    cudaGetLastError();
    cudaPitchedPtr e{};
    OK(cudaMalloc3D(&e, extent));
    q.dstPtr = e;
    const auto peer_copied = [&] {
        cudaMemcpy3DParms back{};
        back.srcPtr = e;
        back.dstPtr = make_cudaPitchedPtr(out.data(), width, width, height);
        back.extent = extent;
        back.kind = cudaMemcpyDeviceToHost;
        OK(cudaMemcpy3D(&back));
    };
    OK(cudaMemcpy3DPeer(&q));
    peer_copied();
    CHECK(in == out);
    OK(cudaMemcpy3DPeerAsync(&q, s));
    OK(cudaMemset3D(d, 1, make_cudaExtent(2, height, depth)));
    OK(cudaMemset3DAsync(d, 2, make_cudaExtent(1, 1, depth), s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy3DPeer(&q));
    peer_copied();
    OK(cudaFree(e.ptr));
    CHECK(out[0] == 2 && out[1] == 1 && out[2] == in[2] && out[width] == 1);
    CHECK(out[width * height] == 2);
    OK(cudaFree(d.ptr));
}

void variables(cudaStream_t s) {
    int numbers[16], back[16];
    for (int i = 0; i < 16; ++i) numbers[i] = i;
    OK(cudaMemcpyToSymbol(table, numbers, sizeof numbers));
    OK(cudaMemcpyToSymbolAsync(table, numbers + 9, 4, 4, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyFromSymbol(back, table, sizeof back));
    CHECK(back[0] == 0 && back[1] == 9 && back[15] == 15);
    OK(cudaMemcpyFromSymbolAsync(back, table, 8, 8, cudaMemcpyDeviceToHost, s));
    CHECK(back[0] == 2);
    EXPECT_ERROR(cudaMemcpyToSymbol(table, numbers, sizeof numbers, 4), cudaErrorInvalidValue);
    cudaGetLastError();
    const float two = 2;
    OK(cudaMemcpyToSymbol(factors, &two, 4, 12));
    float* out = nullptr;
    float h[4];
    OK(cudaMalloc(&out, sizeof h));
    scale<<<1, 4>>>(out);
    OK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    CHECK(h[1] == 18 && h[2] == 6 && h[3] == 6);
    void* address = nullptr;
    size_t size = 0;
    OK(cudaGetSymbolAddress(&address, table));
    OK(cudaGetSymbolSize(&size, table));
    CHECK(size == sizeof numbers);
    OK(cudaMemcpy(back, address, 8, cudaMemcpyDeviceToHost));
    CHECK(back[1] == 9);
    OK(cudaFree(out));
}

// Several copies by one call.
void batch(cudaStream_t s) {
#if CUDART_VERSION >= 12080
    int* d = nullptr;
    OK(cudaMalloc(&d, 4 * sizeof(int)));
    int a[2] = {1, 2}, b = 3, back = 0;
    OK(cudaMemsetAsync(d, 0, 4 * sizeof(int), s));
    cudaMemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t firsts[2] = {0, 2}, sizes[3] = {sizeof a, sizeof b, sizeof back};
#if CUDART_VERSION >= 13000
    void* to[3] = {d, d + 2, &back};
    const void* from[3] = {a, &b, d + 3};
    OK(cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, firsts, 2, s));
    firsts[0] = 1;
    EXPECT_ERROR(cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, firsts, 1, s),
                 cudaErrorInvalidValue);
#else
    void* to[3] = {d, d + 2, &back};
    void* from[3] = {a, &b, d + 3};
    size_t wrong = 0;
    OK(cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, firsts, 2, &wrong, s));
    firsts[0] = 1;
    EXPECT_ERROR(cudaMemcpyBatchAsync(to, from, sizes, 3, attributes, firsts, 1, &wrong, s),
                 cudaErrorInvalidValue);
#endif
    cudaGetLastError();
    a[0] = 9;  // the copy has read it
    int h[4];
    OK(cudaMemcpyAsync(h, d, sizeof h, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    CHECK(h[0] == 1 && h[1] == 2 && h[2] == 3 && h[3] == 0 && back == 0);
    OK(cudaFree(d));
#endif
}

int main() {
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    rows(s);
    boxes(s);
    variables(s);
    unsigned char *a = nullptr, *b = nullptr;
    Bytes in(1000, 3), out(1000);
    OK(cudaMalloc(&a, 1000));
    OK(cudaMalloc(&b, 1000));
    OK(cudaMemcpyAsync(a, in.data(), 1000, cudaMemcpyHostToDevice, s));
    OK(cudaMemsetAsync(a, 5, 10, s));
    OK(cudaMemcpyPeer(b, 0, a, 0, 500));
    OK(cudaMemcpyPeerAsync(b + 500, 0, a + 500, 0, 500, s));
    OK(cudaMemcpyAsync(out.data(), b, 1000, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    CHECK(out[9] == 5 && out[10] == 3 && out[999] == 3);
    OK(cudaMemcpy(out.data(), in.data(), 1000, cudaMemcpyHostToHost));
    CHECK(in == out);
    EXPECT_ERROR(cudaMemcpy(a, in.data(), 1001, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemset(a, 0, 1001), cudaErrorInvalidValue);
    cudaGetLastError();
    batch(s);
    OK(cudaStreamDestroy(s));
    return done("copies");
}
