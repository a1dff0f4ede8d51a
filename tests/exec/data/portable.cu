// portable.hpp on the GPU. Arguments: a, b, out (u64 each), count. Grid and CTA: any, in x.
#include "tests/exec/data/portable.hpp"

extern "C" __global__ void portable_integers(const int64_t* a, const int64_t* b, uint64_t* out,
                                             int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = portable::of_integers(a[i], b[i]);
}

extern "C" __global__ void portable_floats(const double* a, const double* b, uint64_t* out,
                                           int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = portable::of_floats(a[i], b[i]);
}
// SPDX-License-Identifier: Apache-2.0
