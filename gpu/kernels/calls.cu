// Functions that are called: not inlined, recursive, through a table of pointers, and with
// structures by value; and a dense switch.
//
//   Arguments: in (u32), out (u32), count. Grid and CTA: any, in x. out[i] = calls of in[i].
#include <cstdint>

struct Pair {
    uint32_t low, high;
    uint16_t tag;
};

static __device__ __noinline__ uint32_t gcd(uint32_t a, uint32_t b) {
    return b == 0 ? a : gcd(b, a % b);
}

// Two calls of itself: no loop can take its place.
static __device__ __noinline__ uint32_t fibonacci(uint32_t n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static __device__ __noinline__ Pair swapped(Pair p) {
    return {p.high, p.low, static_cast<uint16_t>(p.tag + 1)};
}

// Writes through a pointer to the caller's local memory.
static __device__ __noinline__ void digits(uint32_t value, uint8_t* to, int count) {
    for (int i = 0; i < count; ++i, value /= 10) to[i] = value % 10;
}

static __device__ __noinline__ uint32_t plus(uint32_t a, uint32_t b) { return a + b; }
static __device__ __noinline__ uint32_t minus(uint32_t a, uint32_t b) { return a - b; }
static __device__ __noinline__ uint32_t times(uint32_t a, uint32_t b) { return a * b; }

using Function = uint32_t (*)(uint32_t, uint32_t);
static __device__ const Function functions[] = {plus, minus, times, gcd};

static __device__ uint32_t chosen(uint32_t x) {
    switch (x % 9) {
        case 0:
            return x ^ 0x55555555;
        case 1:
            return __popc(x);
        case 2:
            return __brev(x);
        case 3:
            return x * 2654435761u;
        case 4:
            return __clz(x);
        case 5:
            return x >> 3 | x << 29;
        case 6:
            return x % 1000 * (x / 1000);
        case 7:
            return __ffs(x);
        default:
            return ~x;
    }
}

extern "C" __global__ void calls(const uint32_t* in, uint32_t* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const uint32_t x = in[i];
    const Pair p = swapped({x, x >> 16, static_cast<uint16_t>(x)});
    uint8_t decimal[10];
    digits(x, decimal, 10);
    uint32_t result = gcd(x, 360360) + fibonacci(x % 8) * 1000;
    result ^= functions[x / 7 % 4](p.low, p.high) + p.tag;
    result += chosen(x);
    for (int k = 0; k < 10; ++k) result = result * 31 + decimal[(x + k) % 10];
    out[i] = result;
}
// SPDX-License-Identifier: Apache-2.0
