// SPDX-License-Identifier: Apache-2.0
// Clusters of CTAs: each touches the shared memory of the others.
#include <cooperative_groups.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;

// A histogram over distributed shared memory (CUDA C++ programming guide, "Distributed Shared
// Memory"): the bins of a cluster are divided among its CTAs, bins_each of them a CTA.
extern "C" __global__ void histogram(unsigned* bins, int bins_each, const int* values, int count) {
    extern __shared__ unsigned own[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < bins_each; i += blockDim.x) own[i] = 0;
    cluster.sync();
    const int all = bins_each * cluster.num_blocks();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const int bin = min(max(values[i], 0), all - 1);
        atomicAdd(cluster.map_shared_rank(own, bin / bins_each) + bin % bins_each, 1);
    }
    cluster.sync();
    const int first = cluster.block_rank() * bins_each;
    for (int i = threadIdx.x; i < bins_each; i += blockDim.x) atomicAdd(bins + first + i, own[i]);
}

// A sum through a ring: each CTA of a cluster gives its partial sums to the next one, as often as
// there are CTAs; at the end each has them all.
extern "C" __global__ void ring(float* out, const float* in) {
    __shared__ float sums[2][64];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), ranks = cluster.num_blocks();
    const unsigned thread = threadIdx.x,
                   cta = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const float own = in[cta * 64 + thread];
    float sum = own;
    sums[0][thread] = own;
    for (unsigned step = 1; step < ranks; ++step) {
        cluster.sync();
        const float* from = cluster.map_shared_rank(sums[(step - 1) % 2], (rank + 1) % ranks);
        const float value = from[thread];
        sum += value;
        sums[step % 2][thread] = value;
    }
    cluster.sync();
    out[cta * 64 + thread] = sum + 1000 * rank + 100 * cluster.block_index().y;
}

// Each CTA of a cluster sends a tile to the first, which is told by arrivals at its barrier that it
// is there, and tells the others when it has been read.
extern "C" __global__ void collect(unsigned* out, int rounds) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ unsigned tile[8][32];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier full, empty;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), ranks = cluster.num_blocks();
    auto handle = [](barrier& b) {
        return static_cast<unsigned>(
            __cvta_generic_to_shared(cuda::device::barrier_native_handle(b)));
    };
    auto at = [](unsigned address, unsigned of) {
        unsigned out;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(out) : "r"(address), "r"(of));
        return out;
    };
    auto arrive = [](unsigned address) {
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address)
                     : "memory");
    };
    auto wait = [](unsigned address, unsigned parity) {
        asm volatile(
            "{\n.reg .pred p;\nAGAIN:\n"
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
            "@!p bra AGAIN;\n}" ::"r"(address),
            "r"(parity)
            : "memory");
    };
    if (threadIdx.x == 0) {
        init(&full, 32 * (ranks - 1));
        init(&empty, 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    cluster.sync();
    unsigned sum = 0;
    for (int round = 0; round < rounds; ++round) {
        if (rank != 0) {
            wait(handle(empty), (round & 1) ^ 1);
            const unsigned to =
                at(static_cast<unsigned>(__cvta_generic_to_shared(&tile[rank][threadIdx.x])), 0);
            asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to),
                         "r"(blockIdx.x * 1000 + round * 100 + threadIdx.x)
                         : "memory");
            arrive(at(handle(full), 0));
        } else {
            wait(handle(full), round & 1);
            for (unsigned r = 1; r < ranks; ++r) sum = sum * 3 + tile[r][threadIdx.x];
            __syncwarp();
            if (threadIdx.x > 0 && threadIdx.x < ranks) arrive(at(handle(empty), threadIdx.x));
        }
    }
    cluster.sync();
    if (rank == 0) out[cg::this_grid().cluster_rank() * 32 + threadIdx.x] = sum;
}

// Persistent: the clusters take tiles in turn until there are none. The first CTA of a cluster asks
// for a tile and tells the others; a tile waits for the one before it, which another cluster may
// have.
extern "C" __global__ void persistent(unsigned* counter, volatile unsigned* done, unsigned* out,
                                      unsigned tiles) {
    __shared__ unsigned tile;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), ranks = cluster.num_blocks();
    for (;;) {
        if (rank == 0 && threadIdx.x == 0) {
            const unsigned next = atomicAdd(counter, 1);
            for (unsigned r = 0; r < ranks; ++r) *cluster.map_shared_rank(&tile, r) = next;
        }
        cluster.sync();
        const unsigned mine = tile;
        cluster.sync();
        if (mine >= tiles) break;
        if (mine != 0)
            while (done[mine - 1] != ranks) __nanosleep(20);
        __threadfence();
        const unsigned before = mine == 0 ? 1 : out[(mine - 1) * 64 + rank * 32 + threadIdx.x];
        out[mine * 64 + rank * 32 + threadIdx.x] = before * 5 + mine + threadIdx.x;
        __threadfence();
        __syncwarp();
        if (threadIdx.x == 0) atomicAdd(const_cast<unsigned*>(done) + mine, 1);
    }
}

// Each CTA of a cluster copies its part of a tile to all of them: a multicast bulk copy, counted by
// the mbarrier of each.
extern "C" __global__ void share(unsigned* out, const unsigned* in) {
    __shared__ alignas(128) unsigned tile[256];
    __shared__ alignas(8) unsigned long long full;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), ranks = cluster.num_blocks();
    const unsigned barrier = static_cast<unsigned>(__cvta_generic_to_shared(&full));
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    cluster.sync();
    const unsigned part = 256 / ranks;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(barrier)
                     : "memory");
        const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile + rank * part));
        const unsigned* const from = in + cg::this_grid().cluster_rank() * 256 + rank * part;
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to),
            "l"(__cvta_generic_to_global(from)), "r"(part * 4), "r"(barrier),
            "h"(static_cast<unsigned short>((1u << ranks) - 1))
            : "memory");
    }
    asm volatile(
        "{\n.reg .pred p;\nAGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
        "@!p bra AGAIN;\n}" ::"r"(barrier)
        : "memory");
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        out[blockIdx.x * 256 + i] = tile[i] * (rank + 1);
    cluster.sync();
}

// Each thread stores to the next CTA of its cluster, and adds to a word there, by st.async and
// red.async, which an mbarrier there counts.
extern "C" __global__ void send(unsigned* out) {
    __shared__ unsigned words[32];
    __shared__ unsigned sum;
    __shared__ alignas(8) unsigned long long full;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), ranks = cluster.num_blocks();
    const auto address = [](const void* of) {
        return static_cast<unsigned>(__cvta_generic_to_shared(of));
    };
    const auto next = [&](const void* of) {
        unsigned to;
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(to)
            : "r"(address(of)), "r"((rank + 1) % ranks));
        return to;
    };
    if (threadIdx.x == 0) {
        sum = 0;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(address(&full))
                     : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    cluster.sync();
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                     next(&words[threadIdx.x])),
                 "r"(rank * 100 + threadIdx.x), "r"(next(&full))
                 : "memory");
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32"
        " [%0], %1, [%2];" ::"r"(next(&sum)),
        "r"(threadIdx.x + rank), "r"(next(&full))
        : "memory");
    asm volatile(
        "{\n.reg .pred p;\nAGAIN:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n"
        "@!p bra AGAIN;\n}" ::"r"(address(&full))
        : "memory");
    out[blockIdx.x * 32 + threadIdx.x] = words[threadIdx.x] * 1000 + sum;
    cluster.sync();
}
