// What device code prints. Arguments: numbers (s32, one for each thread), out (s32, what printf
// returned). Grid: any. CTA: any, in x.
//
//   printf_one   one lane prints once, every kind of argument
//   printf_some  every lane with an odd number prints it
#include <cstdio>

extern "C" __global__ void printf_one(const int* numbers, int* out) {
    if (threadIdx.x != 5 || blockIdx.x != 0) return;
    const int n = numbers[threadIdx.x];
    out[0] = printf("nothing but text, 100%%\n");
    out[1] = printf("%d %i %u %x %X %o|%5d|%-5d|%05d|%+d\n", n, -n, n, n, n, n, n, n, n, n);
    out[2] = printf("%lld %llu %llx %ld %p\n", 1234567890123456789LL, ~0ULL, 1ULL << 63,
                    static_cast<long>(n), reinterpret_cast<void*>(0x1000));
    out[3] =
        printf("%f %.3f %10.2f %e %g %a\n", 1.5, static_cast<float>(n) / 3, -2.0, 1e10, 1e-5, 0.5);
    out[4] = printf("%s %10s|%-10s|%c%c\n", "text", "right", "left", 'o', 'k');
}

extern "C" __global__ void printf_some(const int* numbers, int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = numbers[i];
    out[i] = -1;
    if (n % 2 != 0) out[i] = printf("CTA %u, thread %u: %d\n", blockIdx.x, threadIdx.x, n);
}
// SPDX-License-Identifier: Apache-2.0
