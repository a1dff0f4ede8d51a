// SPDX-License-Identifier: Apache-2.0
// The toolkit's own libraries of headers: sorting, scans, sums.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#include <cub/cub.cuh>

#include "check.hpp"

int main() {
    constexpr int n = 5000;
    thrust::host_vector<int> h(n);
    unsigned x = 1;
    for (int i = 0; i < n; ++i) h[i] = static_cast<int>((x = x * 1664525 + 1013904223) >> 8);
    thrust::device_vector<int> d = h;
    thrust::sort(d.begin(), d.end());
    thrust::host_vector<int> sorted = d;
    thrust::sort(h.begin(), h.end());
    CHECK(sorted == h);
    thrust::device_vector<int> ones(n, 1), sums(n);
    thrust::inclusive_scan(ones.begin(), ones.end(), sums.begin());
    CHECK(sums[n - 1] == n && sums[0] == 1 && sums[2500] == 2501);
    CHECK(thrust::reduce(ones.begin(), ones.end()) == n);

    int* out = nullptr;
    int sum = 0;
    void* space = nullptr;
    size_t bytes = 0;
    OK(cudaMalloc(&out, 4));
    OK(cub::DeviceReduce::Sum(space, bytes, thrust::raw_pointer_cast(sums.data()), out, n));
    OK(cudaMalloc(&space, bytes));
    OK(cub::DeviceReduce::Sum(space, bytes, thrust::raw_pointer_cast(sums.data()), out, n));
    OK(cudaMemcpy(&sum, out, 4, cudaMemcpyDeviceToHost));
    CHECK(sum == n * (n + 1) / 2);
    return done("cub_and_thrust");
}
