// mma.m8n8k4, Volta's instruction: a warp computes four products at once, one in each quad-pair.
// Quad-pair q is lanes 4 q .. 4 q + 3 (low group) and 16 + 4 q .. 16 + 4 q + 3 (high group).
//
//   A: four 8x4 f16 matrices one after the other, each in the kernel's A layout.
//   B: four 4x8 f16 matrices, each in the kernel's B layout.
//   C, D: four 8x8 matrices, row-major. D = A * B + C.
//
// volta_<A layout>_<B layout>_<type of C and D>; the kernels ending in _f32_f16 have a D of f32 and
// a C of f16. Launch with one CTA of 32 threads.
#include <cuda_fp16.h>

#include <cstdint>

struct Lane {
    unsigned quad_pair;
    unsigned in_quad;  // 0..3
    unsigned high;     // 1 in the high group
};

static __device__ Lane this_lane() {
    unsigned lane = threadIdx.x;
    return {lane / 4 % 4, lane % 4, lane / 16};
}

// In each layout the four elements of A, or of B, that a lane holds lie side by side in memory.
// A lane has either one line along K of a row-major A or column-major B ...
static __device__ unsigned line_along_k(Lane l) { return 4 * (l.in_quad + 4 * l.high); }
// ... or half a line across K of a column-major A or row-major B.
static __device__ unsigned line_across_k(Lane l) { return 8 * l.in_quad + 4 * l.high; }

#define A_OFFSET_row line_along_k
#define A_OFFSET_col line_across_k
#define B_OFFSET_row line_across_k
#define B_OFFSET_col line_along_k

static __device__ uint2 load_fragment(const __half* matrices, Lane l, unsigned offset) {
    return *reinterpret_cast<const uint2*>(matrices + 32 * l.quad_pair + offset);
}

// Element i of a lane's f32 accumulators, as an index into the 8x8 matrix.
static __device__ unsigned f32_index(Lane l, unsigned i) {
    unsigned row = (l.in_quad & 1) + (i & 2) + 4 * l.high;
    unsigned column = (i & 4) + (l.in_quad & 2) + (i & 1);
    return 64 * l.quad_pair + 8 * row + column;
}

// The f16 accumulators of a lane are one whole row.
static __device__ unsigned f16_index(Lane l) {
    return 64 * l.quad_pair + 8 * (l.in_quad + 4 * l.high);
}

#define F32_KERNEL(A_LAYOUT, B_LAYOUT)                                                         \
    extern "C" __global__ void volta_##A_LAYOUT##_##B_LAYOUT##_f32(                            \
        const __half* A, const __half* B, const float* C, float* D) {                          \
        Lane l = this_lane();                                                                  \
        uint2 a = load_fragment(A, l, A_OFFSET_##A_LAYOUT(l));                                 \
        uint2 b = load_fragment(B, l, B_OFFSET_##B_LAYOUT(l));                                 \
        float d[8];                                                                            \
        for (int i = 0; i < 8; ++i) d[i] = C[f32_index(l, i)];                                 \
        asm volatile("mma.sync.aligned.m8n8k4." #A_LAYOUT "." #B_LAYOUT                        \
                     ".f32.f16.f16.f32 "                                                       \
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "                \
                     "{%0, %1, %2, %3, %4, %5, %6, %7};"                                       \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), \
                       "+f"(d[6]), "+f"(d[7])                                                  \
                     : "r"(a.x), "r"(a.y), "r"(b.x), "r"(b.y));                                \
        for (int i = 0; i < 8; ++i) D[f32_index(l, i)] = d[i];                                 \
    }

#define F16_KERNEL(A_LAYOUT, B_LAYOUT)                                         \
    extern "C" __global__ void volta_##A_LAYOUT##_##B_LAYOUT##_f16(            \
        const __half* A, const __half* B, const __half* C, __half* D) {        \
        Lane l = this_lane();                                                  \
        uint2 a = load_fragment(A, l, A_OFFSET_##A_LAYOUT(l));                 \
        uint2 b = load_fragment(B, l, B_OFFSET_##B_LAYOUT(l));                 \
        uint4 d = *reinterpret_cast<const uint4*>(C + f16_index(l));           \
        asm volatile("mma.sync.aligned.m8n8k4." #A_LAYOUT "." #B_LAYOUT        \
                     ".f16.f16.f16.f16 "                                       \
                     "{%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3};" \
                     : "+r"(d.x), "+r"(d.y), "+r"(d.z), "+r"(d.w)              \
                     : "r"(a.x), "r"(a.y), "r"(b.x), "r"(b.y));                \
        *reinterpret_cast<uint4*>(D + f16_index(l)) = d;                       \
    }

#define F32_F16_KERNEL(A_LAYOUT, B_LAYOUT)                                                     \
    extern "C" __global__ void volta_##A_LAYOUT##_##B_LAYOUT##_f32_f16(                        \
        const __half* A, const __half* B, const __half* C, float* D) {                         \
        Lane l = this_lane();                                                                  \
        uint2 a = load_fragment(A, l, A_OFFSET_##A_LAYOUT(l));                                 \
        uint2 b = load_fragment(B, l, B_OFFSET_##B_LAYOUT(l));                                 \
        uint4 c = *reinterpret_cast<const uint4*>(C + f16_index(l));                           \
        float d[8];                                                                            \
        asm volatile("mma.sync.aligned.m8n8k4." #A_LAYOUT "." #B_LAYOUT                        \
                     ".f32.f16.f16.f16 "                                                       \
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "                \
                     "{%12, %13, %14, %15};"                                                   \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), \
                       "=f"(d[6]), "=f"(d[7])                                                  \
                     : "r"(a.x), "r"(a.y), "r"(b.x), "r"(b.y), "r"(c.x), "r"(c.y), "r"(c.z),   \
                       "r"(c.w));                                                              \
        for (int i = 0; i < 8; ++i) D[f32_index(l, i)] = d[i];                                 \
    }

F32_KERNEL(row, col)
F32_KERNEL(row, row)
F32_KERNEL(col, col)
F32_KERNEL(col, row)

F16_KERNEL(row, col)
F16_KERNEL(row, row)
F16_KERNEL(col, col)
F16_KERNEL(col, row)

F32_F16_KERNEL(row, col)
F32_F16_KERNEL(row, row)
F32_F16_KERNEL(col, col)
F32_F16_KERNEL(col, row)
// SPDX-License-Identifier: Apache-2.0
