// SPDX-License-Identifier: Apache-2.0
// D = A * B^T of f16 as Hopper's fastest do it: a warpgroup that only brings tiles by tensor maps,
// two that only multiply; CTAs that stay for many tiles; clusters of two CTAs, one below the other,
// which share each tile of B, half of it from each.
//
// A is M x K, B is N x K, D is M x N, all of f16 by rows, of any size that a tensor map takes.
// Boxes of the maps: A 64 x 128 (k x rows), B 64 x half a tile's columns, D 64 x 64, swizzled by
// 128 bytes. Grid: CTAs, a multiple of the cluster's two; 384 threads.
#include "hopper.cuh"

namespace {

constexpr unsigned tile_m = 128, tile_k = 64;
constexpr unsigned group_rows = 64;      // of D, of a warpgroup that multiplies
constexpr unsigned group_threads = 128;  // of a warpgroup
constexpr unsigned cluster = 2;
constexpr unsigned consumers = 2;

template <unsigned tile_n, unsigned stages>
struct Tiles {
    uint8_t a[stages][tile_m * tile_k * 2];
    uint8_t b[stages][tile_n * tile_k * 2];
    uint8_t d[consumers][tile_n / 64][group_rows * 64 * 2];
    uint64_t full[stages], empty[stages];
};

extern __shared__ __align__(1024) uint8_t shared_bytes[];

// A place in the ring of stages, and how often the ring has been gone round.
template <unsigned stages>
struct Turn {
    unsigned stage = 0, parity = 0;
    __device__ void next() {
        if (++stage < stages) return;
        stage = 0;
        parity ^= 1;
    }
};

// Tiles of D are taken in pairs, column by column of pairs.
struct Work {
    int pairs_of_m, tiles_of_n, tiles_of_k;
    __device__ int first() const { return static_cast<int>(blockIdx.x / cluster); }
    __device__ int step() const { return static_cast<int>(gridDim.x / cluster); }
    __device__ int end() const { return pairs_of_m * tiles_of_n; }
    __device__ int m(int pair, unsigned rank) const {
        return (pair % pairs_of_m * int{cluster} + static_cast<int>(rank)) * int{tile_m};
    }
    template <unsigned tile_n>
    __device__ int n(int pair) const {
        return pair / pairs_of_m * int{tile_n};
    }
};

template <unsigned tile_n, unsigned stages>
__device__ void bring(Tiles<tile_n, stages>& tiles, const CUtensorMap* a, const CUtensorMap* b,
                      Work work, unsigned rank) {
    constexpr unsigned half = tile_n / cluster;
    Turn<stages> turn;
    for (int pair = work.first(); pair < work.end(); pair += work.step())
        for (int k = 0; k < work.tiles_of_k; ++k, turn.next()) {
            const uint32_t full = shared_address(&tiles.full[turn.stage]);
            // All consumers of both CTAs, since this half of B goes to both.
            wait_for_cluster(shared_address(&tiles.empty[turn.stage]), turn.parity ^ 1);
            expect(full, sizeof tiles.a[0] + sizeof tiles.b[0]);
            load_2d(shared_address(tiles.a[turn.stage]), a, k * int{tile_k}, work.m(pair, rank),
                    full);
            load_2d_for(
                (1 << cluster) - 1, shared_address(tiles.b[turn.stage]) + rank * half * tile_k * 2,
                b, k * int{tile_k}, work.n<tile_n>(pair) + static_cast<int>(rank * half), full);
        }
}

// D of a warpgroup: to its part of shared memory, from there to global memory.
template <unsigned tile_n, unsigned stages>
__device__ void store(Tiles<tile_n, stages>& tiles, const CUtensorMap* map, unsigned group, int m,
                      int n, const float (&d)[tile_n / 2]) {
    const bool is_first = threadIdx.x % group_threads == 0;
    if (is_first) stores_have_read();
    sync_named(1 + group, group_threads);
    for (unsigned column = 0; column < tile_n; column += 16)
        store_16_columns(shared_address(tiles.d[group][column / 64]), column % 64, &d[column / 2]);
    writes_are_visible();
    sync_named(1 + group, group_threads);
    if (!is_first) return;
    for (unsigned i = 0; i < tile_n / 64; ++i)
        store_2d(map, n + static_cast<int>(i * 64), m, shared_address(tiles.d[group][i]));
    commit_stores();
}

template <unsigned tile_n, unsigned stages>
__device__ void consume(Tiles<tile_n, stages>& tiles, const CUtensorMap* map, Work work,
                        unsigned rank, unsigned group) {
    const unsigned thread = threadIdx.x % group_threads;
    Turn<stages> turn, done;
    float d[tile_n / 2];
    const auto release = [&] {
        if (thread < cluster) arrive_at(shared_address(&tiles.empty[done.stage]), thread);
        done.next();
    };
    for (int pair = work.first(); pair < work.end(); pair += work.step()) {
        for (int k = 0; k < work.tiles_of_k; ++k, turn.next()) {
            wait(shared_address(&tiles.full[turn.stage]), turn.parity);
            const uint64_t a =
                descriptor(shared_address(tiles.a[turn.stage]) + group * group_rows * tile_k * 2);
            const uint64_t b = descriptor(shared_address(tiles.b[turn.stage]));
            keep(d);
            begin_products();
            for (unsigned i = 0; i < tile_k / 16; ++i)
                multiply(d, a + 2 * i, b + 2 * i, k > 0 || i > 0);
            commit_products();
            keep(d);
            // The products of the tile before have read it.
            wait_for_products<1>();
            if (k > 0) release();
        }
        wait_for_products<0>();
        keep(d);
        release();
        store(tiles, map, group, work.m(pair, rank) + static_cast<int>(group * group_rows),
              work.n<tile_n>(pair), d);
    }
    if (thread == 0) stores_are_done();
}

template <unsigned tile_n, unsigned stages>
__device__ void gemm(const CUtensorMap* a, const CUtensorMap* b, const CUtensorMap* d, Work work) {
    auto& tiles = *reinterpret_cast<Tiles<tile_n, stages>*>(shared_bytes);
    const unsigned rank = cluster_rank(), group = threadIdx.x / group_threads;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < stages; ++i) {
            make_barrier(shared_address(&tiles.full[i]), 1);
            make_barrier(shared_address(&tiles.empty[i]), cluster * consumers);
        }
        barriers_are_made();
    }
    sync_cluster();
    if (group == 0) {
        give_registers<40>();
        if (threadIdx.x < 32 && elected()) bring(tiles, a, b, work, rank);
        __syncwarp();
    } else {
        take_registers<232>();
        consume(tiles, d, work, rank, group - 1);
    }
    // Until then a peer may copy into this CTA's shared memory and arrive at its barriers.
    sync_cluster();
}

}  // namespace

// Tiles of 128 x 128, a ring of four stages.
extern "C" __global__ void __cluster_dims__(cluster) __launch_bounds__(384, 1)
    specialized_gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                     const __grid_constant__ CUtensorMap d, int pairs_of_m, int tiles_of_n,
                     int tiles_of_k) {
    gemm<128, 4>(&a, &b, &d, {pairs_of_m, tiles_of_n, tiles_of_k});
}

// Tiles of 128 x 256, a ring of three stages.
extern "C" __global__ void __cluster_dims__(cluster) __launch_bounds__(384, 1)
    specialized_gemm_wide(const __grid_constant__ CUtensorMap a,
                          const __grid_constant__ CUtensorMap b,
                          const __grid_constant__ CUtensorMap d, int pairs_of_m, int tiles_of_n,
                          int tiles_of_k) {
    gemm<256, 3>(&a, &b, &d, {pairs_of_m, tiles_of_n, tiles_of_k});
}
