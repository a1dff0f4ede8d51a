// SPDX-License-Identifier: Apache-2.0
// Copies that go on by themselves and that mbarriers or groups wait for: cuda::memcpy_async, a ring
// of stages, reductions into global memory, and stores that an mbarrier counts.
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>

namespace ptx = cuda::ptx;

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// out[i] = 3 * in[i] + in[i + 1 within the tile], tile by tile, by cuda::memcpy_async.
extern "C" __global__ void bulk_memcpy(const int* in, int* out) {
    constexpr int words = 1024;
    __shared__ alignas(16) int tile[words];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier bar;
    if (threadIdx.x == 0) init(&bar, static_cast<int>(blockDim.x));
    __syncthreads();
    const int* const from = in + blockIdx.x * words;
    if (threadIdx.x == 0)
        cuda::memcpy_async(tile, from, cuda::aligned_size_t<16>(sizeof tile), bar);
    bar.arrive_and_wait();
    for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x))
        out[blockIdx.x * words + i] = 3 * tile[i] + tile[(i + 1) % words];
}

// One warp brings `tiles` tiles of 512 floats through a ring of four stages; three warps wait for
// each, add its words, and give the stage back. out[block * 96 + t]: the sum of thread t.
extern "C" __global__ void bulk_ring(const float* in, float* out, int tiles) {
    constexpr int stages = 4;
    constexpr int words = 512;
    constexpr int consumers = 96;
    __shared__ alignas(128) float stage[stages][words];
    __shared__ alignas(8) uint64_t full[stages];
    __shared__ alignas(8) uint64_t empty[stages];
    const int t = static_cast<int>(threadIdx.x);
    if (t == 0) {
        for (int s = 0; s < stages; ++s) {
            ptx::mbarrier_init(&full[s], 1);
            ptx::mbarrier_init(&empty[s], consumers / 32);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (t < 32) {
        if (t != 0) return;
        const float* const from = in + static_cast<size_t>(blockIdx.x) * tiles * words;
        for (int n = 0; n < tiles; ++n) {
            const int s = n % stages;
            const uint32_t turn = static_cast<uint32_t>(n / stages) & 1;
            while (!ptx::mbarrier_try_wait_parity(&empty[s], turn ^ 1)) {
            }
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                           &full[s], words * 4);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage[s], from + n * words,
                               words * 4, &full[s]);
        }
        return;
    }
    const int c = t - 32;
    float sum = 0;
    for (int n = 0; n < tiles; ++n) {
        const int s = n % stages;
        const uint32_t turn = static_cast<uint32_t>(n / stages) & 1;
        while (!ptx::mbarrier_try_wait_parity(&full[s], turn)) {
        }
        for (int i = c; i < words; i += consumers) sum += stage[s][i];
        __syncwarp();
        if (c % 32 == 0)
            ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &empty[s]);
    }
    out[blockIdx.x * consumers + c] = sum;
}

// Each CTA adds its 256 words to four arrays of global memory, one bulk reduction each: integers,
// whole floats, the least, and bits; then copies its words beside them.
extern "C" __global__ void bulk_reduce(const uint32_t* in, uint32_t* sums, float* floats,
                                       int* least, uint32_t* bits, uint32_t* copies) {
    constexpr uint32_t words = 256;
    __shared__ alignas(16) uint32_t raw[words];
    __shared__ alignas(16) float whole[words];
    __shared__ alignas(16) int part[words];
    const uint32_t t = threadIdx.x;
    const uint32_t value = in[blockIdx.x * words + t];
    raw[t] = value;
    whole[t] = static_cast<float>(value % 4096);
    part[t] = static_cast<int>(value);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t != 0) return;
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, raw,
                              words * 4);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, floats, whole,
                              words * 4);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_min, least, part,
                              words * 4);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_xor_op, bits, raw,
                              words * 4);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>{});
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, copies + blockIdx.x * words, raw,
                       words * 4);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
}

// Each thread stores two words into the CTA's shared memory and adds one to a counter there; an
// mbarrier counts the bytes of all.
extern "C" __global__ void bulk_stores(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(16) uint32_t word[256][2];
    __shared__ alignas(16) uint32_t counter[4];
    __shared__ alignas(8) uint64_t bar;
    const uint32_t t = threadIdx.x;
    if (t < 4) counter[t] = 0;
    if (t == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                       256 * 12);
    }
    __syncthreads();
    const uint32_t value = in[blockIdx.x * 256 + t];
    const uint32_t both[2] = {value, value * 2654435761u};
    ptx::st_async(word[t ^ 21], both, &bar);
    ptx::red_async(ptx::op_add, &counter[value % 4], value >> 8, &bar);
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
    out[blockIdx.x * 256 + t] = word[t][0] ^ word[t][1] ^ counter[t % 4];
}
