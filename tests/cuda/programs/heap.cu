// SPDX-License-Identifier: Apache-2.0
// malloc, new, free and delete in kernels: what a launch leaves is there for later ones, and the
// host has no part in it.
#include "check.hpp"

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual int corners() const = 0;
};
struct Triangle : Shape {
    __device__ int corners() const override { return 3; }
};
struct Polygon : Shape {
    int n;
    __device__ explicit Polygon(int of) : n(of) {}
    __device__ int corners() const override { return n; }
};

constexpr int threads = 64;

__device__ int* rows[threads];
__device__ Shape* shapes[threads];

__global__ void make(int ints) {
    int* const row = static_cast<int*>(malloc(ints * sizeof(int)));
    for (int i = 0; row != nullptr && i < ints; ++i) row[i] = 100 * threadIdx.x + i;
    rows[threadIdx.x] = row;
}
// It has no malloc and no free of its own.
__global__ void sum(int ints, int* sums) {
    int total = 0;
    for (int i = 0; i < ints; ++i) total += ++rows[threadIdx.x][i];
    sums[threadIdx.x] = total;
}
__global__ void give_back() {
    free(rows[threadIdx.x]);
    rows[threadIdx.x] = nullptr;
}
__global__ void draw() {
    if (threadIdx.x % 2 == 0)
        shapes[threadIdx.x] = new Triangle;
    else
        shapes[threadIdx.x] = new Polygon(threadIdx.x);
}
__global__ void count(int* corners) { corners[threadIdx.x] = shapes[threadIdx.x]->corners(); }
__global__ void wipe() { delete shapes[threadIdx.x]; }
// How many blocks of that size there are.
__global__ void fill(size_t bytes, int* taken) {
    void* last = nullptr;
    for (*taken = 0;; ++*taken) {
        void** const next = static_cast<void**>(malloc(bytes));
        if (next == nullptr) break;
        *next = last;
        last = next;
    }
    while (last != nullptr) {
        void* const next = *static_cast<void**>(last);
        free(last);
        last = next;
    }
}

void blocks(int* out) {
    constexpr int ints = 37;
    make<<<1, threads>>>(ints);
    for (int round = 1; round <= 2; ++round) {
        sum<<<1, threads>>>(ints, out);
        OK(cudaDeviceSynchronize());
        for (int t = 0; t < threads; ++t)
            CHECK(out[t] == ints * (100 * t + round) + ints * (ints - 1) / 2);
    }
    give_back<<<1, threads>>>();
    OK(cudaDeviceSynchronize());
}

void objects(int* out) {
    draw<<<1, threads>>>();
    count<<<1, threads>>>(out);
    wipe<<<1, threads>>>();
    OK(cudaDeviceSynchronize());
    for (int t = 0; t < threads; ++t) CHECK(out[t] == (t % 2 == 0 ? 3 : t));
}

// Launches share the heap: what one gives back another has.
void all_of_it(size_t heap, int* out) {
    constexpr size_t bytes = size_t{1} << 20;
    int first = 0;
    for (int round = 0; round < 3; ++round) {
        fill<<<1, 1>>>(bytes, out);
        OK(cudaDeviceSynchronize());
        if (round == 0) first = *out;
        CHECK(*out == first);
    }
    CHECK(first > 0 && first * bytes <= heap);
}

// The host may fill what kernels have of it, and neither copies it nor frees it.
void host() {
    constexpr int ints = 4;
    int here[ints], *row = nullptr;
    make<<<1, 1>>>(ints);
    OK(cudaMemcpyFromSymbol(&row, rows, sizeof row));
    CHECK(row != nullptr);
    EXPECT_ERROR(cudaMemcpy(here, row, sizeof here, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree(row), cudaErrorInvalidValue);
    OK(cudaMemset(row, 0, sizeof here));
    cudaGetLastError();
    give_back<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
}

int main() {
    size_t heap = 0;
    int* out = nullptr;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_t{16} << 20));
    OK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    CHECK(heap >= size_t{16} << 20);
    OK(cudaMallocManaged(&out, threads * sizeof(int)));
    blocks(out);
    EXPECT_ERROR(cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_t{32} << 20),
                 cudaErrorInvalidValue);
    cudaGetLastError();
    objects(out);
    all_of_it(heap, out);
    host();

    // It goes with the context, and whatever was left in it.
    make<<<1, threads>>>(1000);
    OK(cudaDeviceReset());
    OK(cudaMallocManaged(&out, threads * sizeof(int)));
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap));
    all_of_it(heap, out);
    return done("heap");
}
