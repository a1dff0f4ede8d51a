// SPDX-License-Identifier: Apache-2.0
// Managed variables, which host and device name alike, in several forms.
#include "check.hpp"

__managed__ int count = 40;
__managed__ float values[8];
struct Pair {
    int a;
    float b;
};
__managed__ Pair pair = {1, 2.5f};

__global__ void change() {
    atomicAdd(&count, 1);
    values[threadIdx.x] += pair.b;
    if (threadIdx.x == 0) pair.a = 9;
}

int main() {
    CHECK(count == 40 && pair.b == 2.5f);
    values[3] = 1;
    count = 100;
    change<<<1, 8>>>();
    OK(cudaDeviceSynchronize());
    CHECK(count == 108 && values[3] == 3.5f && values[4] == 2.5f && pair.a == 9);
    int* address = nullptr;
    OK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), count));
    CHECK(address == &count);
    return done("managed");
}
