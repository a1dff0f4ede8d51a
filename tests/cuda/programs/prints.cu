// SPDX-License-Identifier: Apache-2.0
// What kernels print, and an assertion that fails.
#include <cassert>
#include <cstdio>

#include "check.hpp"

__global__ void say(int n, double x) {
    if (threadIdx.x < 2) printf("thread %d of %d: %5.2f %s\n", threadIdx.x, n, x, "text");
}
__global__ void assert_below(int limit) { assert(static_cast<int>(threadIdx.x) < limit); }

int main() {
    say<<<1, 4>>>(4, 1.25);
    OK(cudaDeviceSynchronize());
    assert_below<<<1, 32>>>(32);
    OK(cudaDeviceSynchronize());
    assert_below<<<1, 32>>>(20);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorAssert);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorAssert);
    return done("prints");
}
