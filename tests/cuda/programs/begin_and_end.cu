// SPDX-License-Identifier: Apache-2.0
// Constructors and destructors of static objects that use kernels, and exceptions between launches.
#include <stdexcept>

#include "check.hpp"

__global__ void add(int* x, int a) { *x += a; }

struct Counter {
    int* x = nullptr;
    Counter() {
        OK(cudaMalloc(&x, 4));
        OK(cudaMemset(x, 0, 4));
        add<<<1, 1>>>(x, 1);
        OK(cudaGetLastError());
    }
    ~Counter() { cudaFree(x); }
    int value() const {
        int h = 0;
        if (cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost) != cudaSuccess)
            throw std::runtime_error("a copy failed");
        return h;
    }
};

Counter counter;

int nested(int depth) {
    const Counter own;
    if (depth == 0) throw std::runtime_error("thrown between launches");
    add<<<1, 1>>>(counter.x, depth);
    return nested(depth - 1) + own.value();
}

int main() {
    CHECK(counter.value() == 1);
    bool caught = false;
    try {
        nested(4);
    } catch (const std::runtime_error& e) {
        caught = true;
    }
    CHECK(caught && counter.value() == 11);
    return done("begin_and_end");
}
