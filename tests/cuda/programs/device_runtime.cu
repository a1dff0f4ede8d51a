// SPDX-License-Identifier: Apache-2.0
// The device's runtime but for launches: copies and fills by kernels, memory, what kernels and the
// device are like, texts of errors.
// nvcc: -rdc=true
#include <cstddef>
#include <cstring>
#include <vector>

#include "check.hpp"

__device__ int results[64];
__device__ char texts[4][128];

__global__ void set(int* p, int value) { *p = value; }

__global__ void in_order(int* p) {
    set<<<1, 1>>>(p, 1);
    results[0] = cudaMemcpyAsync(p + 1, p, 4, cudaMemcpyDefault, 0);
    results[1] = cudaMemcpyAsync(p + 3, p, 4, cudaMemcpyDefault, cudaStreamTailLaunch);
    set<<<1, 1>>>(p, 2);
    results[2] = cudaMemcpyAsync(p + 2, p, 4, cudaMemcpyDeviceToDevice, 0);
    set<<<1, 1>>>(p, 3);
    results[3] = cudaMemsetAsync(p + 4, 0, 4, cudaStreamFireAndForget);
}

__global__ void copy(char* to, const char* from, size_t bytes) {
    results[0] = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, 0);
}
__global__ void copy_rows(char* to, size_t to_pitch, const char* from, size_t from_pitch,
                          size_t width, size_t height) {
    results[0] = cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height,
                                   cudaMemcpyDeviceToDevice, 0);
}
// An H200 stores zeros, whatever the value (toolkits 12.9 and 13.0).
__global__ void fill(char* to, size_t bytes, int value) {
    results[0] = cudaMemsetAsync(to, value, bytes, 0);
}
__global__ void fill_rows(char* to, size_t pitch, size_t width, size_t height) {
    results[0] = cudaMemset2DAsync(to, pitch, 0, width, height, 0);
}

__global__ void wrong_copies(char* d, char* host) {
    __shared__ char shared[16];
    char local[16];
    const auto bad_stream = reinterpret_cast<cudaStream_t>(0x1234568);
    int* r = results;
    *r++ = cudaMemcpyAsync(d, d + 64, 8, cudaMemcpyHostToDevice, 0);
    *r++ = cudaMemcpyAsync(d, d + 64, 8, cudaMemcpyHostToHost, 0);
    *r++ = cudaMemcpyAsync(d, d + 64, 8, static_cast<cudaMemcpyKind>(5), 0);
    *r++ = cudaMemcpyAsync(nullptr, d, 8, cudaMemcpyDefault, 0);
    *r++ = cudaMemcpyAsync(d, nullptr, 8, cudaMemcpyDefault, 0);
    *r++ = cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyHostToDevice, 0);
    *r++ = cudaMemcpyAsync(d, shared, 8, cudaMemcpyDefault, 0);
    *r++ = cudaMemcpyAsync(d, local, 8, cudaMemcpyDefault, 0);
    *r++ = cudaMemcpyAsync(d, d + 64, 8, cudaMemcpyDefault, bad_stream);
    *r++ = cudaMemcpyAsync(host, d, 8, cudaMemcpyDefault, 0);
    *r++ = cudaMemcpy2DAsync(d, 4, d + 64, 16, 8, 4, cudaMemcpyDefault, 0);
    *r++ = cudaMemcpy2DAsync(d, 16, d + 64, 4, 8, 4, cudaMemcpyDefault, 0);
    *r++ = cudaMemcpy2DAsync(d, 4, d + 64, 4, 8, 1, cudaMemcpyDefault, 0);
    *r++ = cudaMemcpy2DAsync(d, 4, d + 64, 4, 8, 0, cudaMemcpyDefault, 0);
    *r++ = cudaMemsetAsync(nullptr, 7, 8, 0);
    *r++ = cudaMemsetAsync(nullptr, 7, 0, 0);
    *r++ = cudaMemsetAsync(d, 7, 8, bad_stream);
    *r++ = cudaMemset2DAsync(d, 4, 7, 8, 4, 0);
    *r++ = cudaMemset2DAsync(d, 4, 0, 8, 1, 0);
    *r++ = cudaGetLastError();
}

__global__ void memory() {
    int* r = results;
    void* m = nullptr;
    *r++ = cudaMalloc(&m, 100);
    memset(m, 1, 100);
    *r++ = cudaFree(m);
    *r++ = cudaFree(nullptr);
    m = results;
    *r++ = cudaMalloc(&m, 0);
    *r++ = cudaMalloc(&m, size_t{1} << 40);
    *r++ = m == results;
    *r++ = cudaMalloc(static_cast<void**>(nullptr), 64);
    *r++ = cudaFree(malloc(64));
    *r++ = cudaGetLastError();
}

__global__ void __launch_bounds__(64) bounded(int* out) {
    __shared__ int s[100];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

__global__ void questions(cudaFuncAttributes* of_bounded) {
    const auto kernel = reinterpret_cast<const void*>(bounded);
    int* const r = results;
    r[0] = cudaFuncGetAttributes(of_bounded, kernel);
    r[1] = cudaFuncGetAttributes(of_bounded, static_cast<const void*>(nullptr));
    r[2] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(r + 3, kernel, 64, 0);
    r[4] = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(r + 5, kernel, 64, 20000, 1);
    r[7] = 7;
    r[6] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(r + 7, kernel, 0, 0);
    r[8] = cudaDeviceGetAttribute(r + 9, cudaDevAttrMultiProcessorCount, 0);
    r[10] = cudaDeviceGetAttribute(r + 11, cudaDevAttrWarpSize, 5);
    r[12] = cudaDeviceGetAttribute(r + 13, static_cast<cudaDeviceAttr>(9999), 0);
    size_t limit = 0;
    r[14] = cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    r[15] = static_cast<int>(limit);
    r[16] = cudaRuntimeGetVersion(r + 17);
}

__global__ void errors() {
    const char* const all[] = {cudaGetErrorName(cudaErrorInvalidConfiguration),
                               cudaGetErrorString(cudaErrorInvalidConfiguration),
                               cudaGetErrorName(cudaSuccess),
                               cudaGetErrorString(static_cast<cudaError_t>(-1))};
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 127; ++k)
            if ((texts[i][k] = all[i][k]) == 0) break;
}

__global__ void bad_event() {
    results[0] = cudaEventRecord(reinterpret_cast<cudaEvent_t>(0x1234568), 0);
}

std::vector<int> results_of(int n) {
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    std::vector<int> out(n);
    OK(cudaMemcpyFromSymbol(out.data(), results, n * sizeof(int)));
    return out;
}

int main() {
    constexpr size_t size = 1 << 16;
    char* d = nullptr;
    OK(cudaMalloc(&d, 2 * size));
    std::vector<char> h(2 * size), back(2 * size);
    const auto begin = [&] {
        for (size_t i = 0; i < h.size(); ++i) h[i] = static_cast<char>(i * 31 + (i >> 8) + 1);
        OK(cudaMemcpy(d, h.data(), h.size(), cudaMemcpyHostToDevice));
    };
    const auto expect_memory = [&] {
        CHECK(results_of(1)[0] == 0);
        OK(cudaMemcpy(back.data(), d, back.size(), cudaMemcpyDeviceToHost));
        CHECK(back == h);
    };

    begin();
    in_order<<<1, 1>>>(reinterpret_cast<int*>(d));
    CHECK(results_of(4) == std::vector<int>(4, 0));
    int words[5];
    OK(cudaMemcpy(words, d, sizeof words, cudaMemcpyDeviceToHost));
    CHECK(words[0] == 3 && words[1] == 1 && words[2] == 2 && words[3] == 3 && words[4] == 0);

    struct Bytes {
        size_t to, from, bytes;
    };
    for (const Bytes& b : {Bytes{0, size, size},
                           {size + 16, 32, 4096},
                           {3, size + 1, 4097},
                           {size, 5, 1},
                           {16, size, 17}}) {
        begin();
        copy<<<1, 1>>>(d + b.to, d + b.from, b.bytes);
        std::memcpy(&h[b.to], &h[b.from], b.bytes);
        expect_memory();
        fill<<<1, 1>>>(d + b.from, b.bytes, static_cast<int>(b.bytes));
        std::memset(&h[b.from], 0, b.bytes);
        expect_memory();
    }
    struct Rows {
        size_t to, to_pitch, from, from_pitch, width, height;
    };
    for (const Rows& r : {Rows{0, 64, size, 128, 64, 100},
                          {3, 100, size + 7, 300, 99, 50},
                          {16, 48, size, 32, 32, 1300},
                          {5, 0, size, 0, 1000, 1}}) {
        begin();
        copy_rows<<<1, 1>>>(d + r.to, r.to_pitch, d + r.from, r.from_pitch, r.width, r.height);
        for (size_t y = 0; y < r.height; ++y)
            std::memcpy(&h[r.to + y * r.to_pitch], &h[r.from + y * r.from_pitch], r.width);
        expect_memory();
        fill_rows<<<1, 1>>>(d + r.from, r.from_pitch, r.width, r.height);
        for (size_t y = 0; y < r.height; ++y)
            std::memset(&h[r.from + y * r.from_pitch], 0, r.width);
        expect_memory();
    }

    char* pinned = nullptr;
    OK(cudaMallocHost(&pinned, 64));
    std::memset(pinned, 9, 64);
    begin();
    wrong_copies<<<1, 1>>>(d, pinned);
    CHECK(results_of(20) ==
          (std::vector<int>{21, 21, 21, 1, 1, 0, 1, 1, 999, 0, 12, 12, 0, 0, 1, 0, 999, 1, 0, 1}));
    CHECK(std::memcmp(pinned, h.data(), 8) == 0 && pinned[8] == 9);

    memory<<<1, 1>>>();
    CHECK(results_of(9) == (std::vector<int>{0, 0, 0, 1, 2, 1, 1, 0, 1}));

    cudaFuncAttributes is{}, *there = nullptr;
    OK(cudaMalloc(&there, sizeof is));
    questions<<<1, 1>>>(there);
    const std::vector<int> r = results_of(17);
    cudaFuncAttributes expected{};
    OK(cudaFuncGetAttributes(&expected, bounded));
    OK(cudaMemcpy(&is, there, sizeof is, cudaMemcpyDeviceToHost));
    CHECK(std::memcmp(&is, &expected, offsetof(cudaFuncAttributes, cacheModeCA)) == 0);
    CHECK(is.maxThreadsPerBlock == 64 && is.sharedSizeBytes == 400);
    int ctas = 0, ctas_with_shared = 0, sms = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, bounded, 64, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas_with_shared, bounded, 64, 20000));
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    size_t limit = 0;
    EXPECT_ERROR(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimeSyncDepth),
                 architecture() < 90 ? cudaSuccess : cudaErrorUnsupportedLimit);
    cudaGetLastError();
    OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    CHECK(r[0] == 0 && r[1] == 1);
    CHECK(r[2] == 0 && r[3] == ctas && r[4] == 0 && r[5] == ctas_with_shared);
    CHECK(r[6] == cudaErrorInvalidValue && r[7] == 0);
    CHECK(r[8] == 0 && r[9] == sms && r[10] == cudaErrorInvalidDevice &&
          r[12] == cudaErrorInvalidValue);
    CHECK(r[14] == 0 && r[15] == static_cast<int>(limit) && r[16] == 0);

    errors<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    char is_text[4][128];
    OK(cudaMemcpyFromSymbol(is_text, texts, sizeof is_text));
    CHECK(std::strcmp(is_text[0], "cudaErrorInvalidConfiguration") == 0);
    CHECK(std::strcmp(is_text[1], cudaGetErrorString(cudaErrorInvalidConfiguration)) == 0);
    CHECK(std::strcmp(is_text[2], "cudaSuccess") == 0);
    CHECK(std::strcmp(is_text[3], "unrecognized error code") == 0);

    bad_event<<<1, 1>>>();
    OK(cudaGetLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return done("device_runtime");
}
