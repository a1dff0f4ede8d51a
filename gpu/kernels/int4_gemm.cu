// SPDX-License-Identifier: Apache-2.0
// C = A * W for weights of four bits: a pipeline of cp.async, weights made f16 by lop3, ldmatrix
// and mma.m16n8k16, warps that share a tile's k and add up through shared memory, and CTAs that
// share a column's k and add to C in turn, by a lock.
//
// A: m x k, f16, row-major. C: m x n, f16, row-major; what it held is overwritten. n and k are
// multiples of 64, m is any. One scale, f16, of each column and 64 rows of W: scales[k / 64][n].
// weights[k / 32][n / 8][32]: a word for each lane. It holds W + 8 for column lane / 4 of the 8, in
// nibbles, lowest first, of rows 2 * (lane % 4) + (0, 8, 16, 24, 1, 9, 17, 25) of the 32: two
// fragments of B whose halves lop3 takes out two at a time.
//
// CTA (x, y, z): columns 64 * x and rows 16 * y on; the z-th part of k. locks: a word of 0 for each
// (x, y), which is 0 again at the end.
#include <cuda_fp16.h>

namespace {

constexpr int rows = 16, columns = 64, depth = 64;  // of a tile
constexpr int stages = 3;
constexpr int threads = 128;
constexpr int tile_words = depth / 32 * (columns / 8) * 32;

struct Stage {
    uint4 a[rows * depth / 8];
    uint4 b[tile_words / 4];
};

__device__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// 16 bytes; zeros where there is nothing to copy.
__device__ void copy(void* to, const void* from, bool there) {
    const int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes));
}

// Chunks of eight f16 lie so that eight rows of one are in different banks.
__device__ int place_of(int row, int chunk) { return row * (depth / 8) + (chunk ^ (row & 7)); }

__device__ void load_a(unsigned (&a)[4], const void* from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(from)));
}

__device__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Bits of `mask` from q, the others those of 1024.0 in both halves.
template <unsigned mask>
__device__ unsigned above_1024(unsigned q) {
    unsigned out;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(out) : "r"(q), "n"(mask), "r"(0x64006400u));
    return out;
}

__device__ __half2 halves(unsigned bits) { return *reinterpret_cast<__half2*>(&bits); }

// The lowest four of eight weights, two to a register, times their scale.
__device__ void dequantize(unsigned (&b)[2], unsigned q, __half2 scale) {
    const __half2 low = __hsub2(halves(above_1024<0x000f000f>(q)), halves(0x64086408));
    // The nibbles stand four places higher: 1024 + 16 * w, divided by 16.
    const __half2 high =
        __hfma2(halves(above_1024<0x00f000f0>(q)), halves(0x2c002c00), halves(0xd480d480));
    const __half2 first = __hmul2(low, scale);
    const __half2 second = __hmul2(high, scale);
    b[0] = *reinterpret_cast<const unsigned*>(&first);
    b[1] = *reinterpret_cast<const unsigned*>(&second);
}

__device__ void wait_for_turn(const int* lock, int turn) {
    if (threadIdx.x == 0) {
        int now;
        do {
            asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(now) : "l"(lock) : "memory");
        } while (now != turn);
    }
    __syncthreads();
}

__device__ void end_turn(int* lock, bool last) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (last) {
        *lock = 0;
        return;
    }
    asm volatile("fence.acq_rel.gpu; red.relaxed.gpu.global.add.s32 [%0], 1;" ::"l"(lock)
                 : "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    int4_gemm(const __half* a, const unsigned* weights, const __half* scales, __half* c, int* locks,
              int m, int n, int k) {
    __shared__ Stage pipe[stages];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int of_columns = warp % 2;  // 32 of the tile's
    const int of_depth = warp / 2;    // 32 of the tile's
    const int first_row = rows * blockIdx.y;
    const int first_column = columns * blockIdx.x;
    const int tiles = k / depth;
    const int parts = gridDim.z;
    const int first = tiles * blockIdx.z / parts;
    const int end = tiles * (blockIdx.z + 1) / parts;

    const auto fetch = [&](int tile) {
        if (tile < end) {
            Stage& s = pipe[tile % stages];
            const int row = threadIdx.x / (depth / 8);
            const int chunk = threadIdx.x % (depth / 8);
            const bool there = first_row + row < m;
            copy(&s.a[place_of(row, chunk)],
                 a + (there ? first_row + row : 0) * k + tile * depth + chunk * 8, there);
            const int half = threadIdx.x / (threads / 2);
            const int word = threadIdx.x % (threads / 2) * 4;
            copy(&s.b[threadIdx.x],
                 weights + ((2 * tile + half) * (n / 8) + first_column / 8) * 32 + word, true);
        }
        asm volatile("cp.async.commit_group;");
    };

    float sum[4][4] = {};
    for (int i = 0; i < stages - 1; ++i) fetch(first + i);
    for (int tile = first; tile < end; ++tile) {
        asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
        __syncthreads();
        fetch(tile + stages - 1);
        const Stage& s = pipe[tile % stages];
        unsigned x[2][4];
        for (int i = 0; i < 2; ++i)
            load_a(x[i], &s.a[place_of(lane % 16, 4 * of_depth + 2 * i + lane / 16)]);
        const auto* words = reinterpret_cast<const unsigned*>(s.b);
        for (int j = 0; j < 4; ++j) {
            const int block = 4 * of_columns + j;
            const unsigned q = words[(8 * of_depth + block) * 32 + lane];
            const __half2 scale =
                __half2half2(scales[tile * n + first_column + 8 * block + lane / 4]);
            unsigned b[2];
            dequantize(b, q, scale);
            multiply(sum[j], x[0], b);
            dequantize(b, q >> 8, scale);
            multiply(sum[j], x[1], b);
        }
    }

    // The warps of the lower half of k add what those of the upper half have.
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    auto* partial = reinterpret_cast<float4*>(pipe);
    if (of_depth == 1)
        for (int j = 0; j < 4; ++j)
            partial[(4 * of_columns + j) * 32 + lane] =
                make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]);
    __syncthreads();

    int* lock = &locks[blockIdx.y * gridDim.x + blockIdx.x];
    if (parts > 1) wait_for_turn(lock, blockIdx.z);
    if (of_depth == 0)
        for (int j = 0; j < 4; ++j) {
            const float4 other = partial[(4 * of_columns + j) * 32 + lane];
            const float total[4] = {sum[j][0] + other.x, sum[j][1] + other.y, sum[j][2] + other.z,
                                    sum[j][3] + other.w};
            for (int i = 0; i < 2; ++i) {
                const int row = first_row + lane / 4 + 8 * i;
                if (row >= m) continue;
                const int column = first_column + 8 * (4 * of_columns + j) + 2 * (lane % 4);
                auto* to = reinterpret_cast<__half2*>(&c[row * n + column]);
                float2 v = make_float2(total[2 * i], total[2 * i + 1]);
                if (blockIdx.z != 0) {
                    const float2 before = __half22float2(*to);
                    v.x += before.x;
                    v.y += before.y;
                }
                *to = __float22half2_rn(v);
            }
        }
    if (parts > 1) end_turn(lock, blockIdx.z + 1 == parts);
}
