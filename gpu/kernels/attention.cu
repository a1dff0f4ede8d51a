// Attention, forward, without the matrix of weights: O = softmax(Q K' scale) V, each head for
// itself, by the online softmax (running maximum and sum) over tiles of keys.
//
//   Q, O: heads x queries x 64 f16; K, V: heads x keys x 64 f16; all dense, at multiples of 16.
//   Arguments: Q, K, V, O, queries, keys, scale, where scale has the factor log2(e): the weights
//   are powers of two, ex2.approx. Grid: ceil(queries / 64), heads. CTA: 128 threads.
//
//   attention         every key
//   attention_causal  query i sees keys 0 to i
//
// Each of the four warps owns 16 queries. Its accumulators of Q K' have the layout of the fragments
// of the weights in the product with V, so the weights stay in registers.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int head = 64;
constexpr int query_tile = 64;
constexpr int key_tile = 32;
constexpr int threads = 128;
constexpr unsigned all_lanes = 0xffffffff;

// A row is eight chunks of 16 bytes, swizzled so that the eight rows which ldmatrix reads lie in
// different banks.
static __device__ int chunk(int row, int column) { return 8 * row + (column / 8 ^ row % 8); }

static __device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Starts to copy rows first to first + count; those past the end become zeros.
static __device__ void copy_rows(uint4* to, const __half* from, int first, int count, int rows) {
    for (int i = threadIdx.x; i < 8 * count; i += threads) {
        const int row = i / 8;
        const int column = i % 8 * 8;
        const bool inside = first + row < rows;
        const __half* source = inside ? from + int64_t{head} * (first + row) + column : from;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(shared_address(&to[chunk(row, column)])),
                       "l"(__cvta_generic_to_global(source)), "r"(inside ? 16 : 0)
                     : "memory");
    }
}

static __device__ void load(uint32_t (&r)[4], const uint4* chunk) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(chunk))
                 : "memory");
}

static __device__ void load_transposed(uint32_t (&r)[4], const uint4* chunk) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(chunk))
                 : "memory");
}

static __device__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ uint32_t pack(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const uint32_t&>(pair);
}

// A row's values lie in four lanes side by side.
static __device__ float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(all_lanes, x, 1));
    return fmaxf(x, __shfl_xor_sync(all_lanes, x, 2));
}

static __device__ float row_sum(float x) {
    x += __shfl_xor_sync(all_lanes, x, 1);
    return x + __shfl_xor_sync(all_lanes, x, 2);
}

template <bool causal>
__device__ void attend(const __half* Q, const __half* K, const __half* V, __half* O, int queries,
                       int keys, float scale) {
    __shared__ uint4 q_tile[query_tile * head / 8];
    __shared__ uint4 k_tile[key_tile * head / 8];
    __shared__ uint4 v_tile[key_tile * head / 8];
    const int lane = threadIdx.x % 32;
    const int tile_row = threadIdx.x / 32 * 16;  // of this warp's first query
    const int first = blockIdx.x * query_tile;
    Q += int64_t{head} * queries * blockIdx.y;
    O += int64_t{head} * queries * blockIdx.y;
    K += int64_t{head} * keys * blockIdx.y;
    V += int64_t{head} * keys * blockIdx.y;

    copy_rows(q_tile, Q, first, query_tile, queries);
    float out[head / 8][4] = {};
    // Of rows lane / 4 and lane / 4 + 8 of the warp's 16.
    float largest[2] = {-INFINITY, -INFINITY};
    float sum[2] = {0, 0};
    const int end = causal ? min(keys, first + query_tile) : keys;

    for (int key = 0; key < end; key += key_tile) {
        copy_rows(k_tile, K, key, key_tile, keys);
        copy_rows(v_tile, V, key, key_tile, keys);
        asm volatile("cp.async.wait_all;" : : : "memory");
        __syncthreads();

        float score[key_tile / 8][4] = {};
        for (int k = 0; k < head; k += 16) {
            uint32_t q[4];
            load(q, &q_tile[chunk(tile_row + lane % 16, k + lane / 16 * 8)]);
            for (int n = 0; n < key_tile; n += 16) {
                uint32_t b[4];
                load(b, &k_tile[chunk(n + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8)]);
                mma(score[n / 8], q, b[0], b[1]);
                mma(score[n / 8 + 1], q, b[2], b[3]);
            }
        }

        for (int half = 0; half < 2; ++half) {
            const int query = first + tile_row + lane / 4 + 8 * half;
            float top = largest[half];
            for (int n = 0; n < key_tile / 8; ++n) {
                for (int i = 2 * half; i < 2 * half + 2; ++i) {
                    const int column = key + 8 * n + lane % 4 * 2 + i % 2;
                    const bool seen = column < keys && (!causal || column <= query);
                    score[n][i] = seen ? score[n][i] * scale : -INFINITY;
                    top = fmaxf(top, score[n][i]);
                }
            }
            top = row_max(top);
            const float shrink = exp2_approx(largest[half] - top);
            largest[half] = top;
            float part = 0;
            for (int n = 0; n < key_tile / 8; ++n) {
                for (int i = 2 * half; i < 2 * half + 2; ++i) {
                    score[n][i] = exp2_approx(score[n][i] - top);
                    part += score[n][i];
                }
            }
            sum[half] = sum[half] * shrink + row_sum(part);
            for (int n = 0; n < head / 8; ++n) {
                out[n][2 * half] *= shrink;
                out[n][2 * half + 1] *= shrink;
            }
        }

        for (int k = 0; k < key_tile; k += 16) {
            const uint32_t weights[4] = {pack(score[k / 8][0], score[k / 8][1]),
                                         pack(score[k / 8][2], score[k / 8][3]),
                                         pack(score[k / 8 + 1][0], score[k / 8 + 1][1]),
                                         pack(score[k / 8 + 1][2], score[k / 8 + 1][3])};
            for (int n = 0; n < head; n += 16) {
                uint32_t v[4];
                load_transposed(v, &v_tile[chunk(k + lane % 16, n + lane / 16 * 8)]);
                mma(out[n / 8], weights, v[0], v[1]);
                mma(out[n / 8 + 1], weights, v[2], v[3]);
            }
        }
        __syncthreads();
    }

    for (int half = 0; half < 2; ++half) {
        const int query = first + tile_row + lane / 4 + 8 * half;
        if (query >= queries) continue;
        for (int n = 0; n < head / 8; ++n) {
            const uint32_t pair =
                pack(out[n][2 * half] / sum[half], out[n][2 * half + 1] / sum[half]);
            *reinterpret_cast<uint32_t*>(O + int64_t{head} * query + 8 * n + lane % 4 * 2) = pair;
        }
    }
}

extern "C" __global__ void __launch_bounds__(threads)
    attention(const __half* Q, const __half* K, const __half* V, __half* O, int queries, int keys,
              float scale) {
    attend<false>(Q, K, V, O, queries, keys, scale);
}

extern "C" __global__ void __launch_bounds__(threads)
    attention_causal(const __half* Q, const __half* K, const __half* V, __half* O, int queries,
                     int keys, float scale) {
    attend<true>(Q, K, V, O, queries, keys, scale);
}
// SPDX-License-Identifier: Apache-2.0
