// Members of every kind, for `lockwarp init`. members_G.sm_90.ptx is made of it:
//   nvcc -ptx -G -arch=compute_90 -o members_G.sm_90.ptx members.cu
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

enum Mode { first, second };
union Either {
    float f;
    int i;
};
struct None {};
struct Base {
    double d;
};
template <int N>
struct alignas(16) Params : None, Base {
    const __half* x[2];
    int n[3][2];
    Mode mode;
    Either either;
    unsigned low : 4, high : 7;
    bool flag;
    void (*code)(int);
    Params* next;
    __half2 pair;
    float4 vector;
    struct Inner {
        short s;
        long long l;
    } inner[2];
    int tail[40];
};
struct __attribute__((packed)) Packed {
    char c;
    int i;
};

extern "C" __global__ void members(const __grid_constant__ Params<4> p, Packed packed, __half h,
                                   const unsigned char* bytes, void* raw, size_t n) {
    __shared__ float tile[8][4];
    tile[threadIdx.x][0] = static_cast<float>(p.d);
    __syncthreads();
    *static_cast<float*>(raw) = tile[0][0] + static_cast<float>(p.n[1][1] + p.tail[7] + packed.i) +
                                __half2float(h) + bytes[n];
}
