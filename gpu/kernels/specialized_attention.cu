// SPDX-License-Identifier: Apache-2.0
// softmax(Q * K^T * scale) * V in the manner of FlashAttention 3: one warp brings tiles by tensor
// maps; two warpgroups with 64 queries each take turns, so that one multiplies while the other
// takes exponentials; within a warpgroup Q * K^T of a tile runs beside the products with V of the
// tile before. The weights stay in registers.
//
// Q, O: heads x queries x 64; K, V: heads x keys x 64, all of f16. Maps of three dimensions,
// swizzled by 128 bytes, with boxes of 64 x 64 x 1 (Q, O) and 64 x 128 x 1 (K, V). Grid (queries /
// 128, heads), 384 threads. The scale is that of exponents of 2.
#include "hopper.cuh"

namespace {

constexpr unsigned head = 64, group_queries = 64, tile_keys = 128, stages = 2;
constexpr unsigned consumers = 2;
constexpr unsigned group_threads = 128;  // of a warpgroup
constexpr float nothing = -INFINITY;     // the exponent of a key that is not there

struct Tiles {
    uint8_t q[consumers][group_queries * head * 2];  // O in the end
    uint8_t k[stages][tile_keys * head * 2];
    uint8_t v[stages][tile_keys * head * 2];
    uint64_t q_full;
    uint64_t k_full[stages], k_empty[stages], v_full[stages], v_empty[stages];
};

extern __shared__ __align__(1024) uint8_t shared_bytes[];

__device__ Tiles& tiles() { return *reinterpret_cast<Tiles*>(shared_bytes); }

// Named barriers: the turn of each warpgroup to multiply, and its own.
__device__ unsigned turn_of(unsigned group) { return 1 + group; }
__device__ unsigned own(unsigned group) { return 1 + consumers + group; }

// One of two kinds of tiles, number n of a head.
__device__ unsigned stage(int n) { return n % stages; }
__device__ unsigned parity(int n) { return n / stages & 1; }

struct Maps {
    const CUtensorMap *q, *k, *v, *o;
};

__device__ void bring(const Maps& maps, int tile_count) {
    Tiles& t = tiles();
    const int first = static_cast<int>(blockIdx.x * consumers * group_queries);
    const int of_head = static_cast<int>(blockIdx.y);
    const uint32_t q_full = shared_address(&t.q_full);
    expect(q_full, sizeof t.q);
    for (unsigned i = 0; i < consumers; ++i)
        load_3d(shared_address(t.q[i]), maps.q, 0, first + static_cast<int>(i * group_queries),
                of_head, q_full);
    for (int n = 0; n < tile_count; ++n) {
        const auto load = [&](uint8_t* to, const CUtensorMap* map, uint64_t* full,
                              uint64_t* empty) {
            wait(shared_address(empty), parity(n) ^ 1);
            expect(shared_address(full), sizeof t.k[0]);
            load_3d(shared_address(to), map, 0, n * int{tile_keys}, of_head, shared_address(full));
        };
        const unsigned i = stage(n);
        load(t.k[i], maps.k, &t.k_full[i], &t.k_empty[i]);
        load(t.v[i], maps.v, &t.v_full[i], &t.v_empty[i]);
    }
}

__device__ float power_of_2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// What a thread keeps of its two rows, lane / 4 and eight further on, of its warp's 16.
struct Rows {
    float largest[2] = {nothing, nothing};
    float sum[2] = {0, 0};
};

// Exponents to weights, in place. By which factor sums so far become smaller is in `factor`.
__device__ void weigh(float (&s)[64], Rows& rows, float (&factor)[2], float scale) {
    for (int r = 0; r < 2; ++r) {
        float largest = rows.largest[r];
        for (int i = 2 * r; i < 64; i += 4) largest = fmaxf(largest, fmaxf(s[i], s[i + 1]));
        for (int by = 1; by < 4; by *= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, by));
        factor[r] = power_of_2((rows.largest[r] - largest) * scale);
        rows.largest[r] = largest;
        float sum = rows.sum[r] * factor[r];
        for (int i = 2 * r; i < 64; i += 4)
            for (int j = i; j < i + 2; ++j) sum += s[j] = power_of_2((s[j] - largest) * scale);
        rows.sum[r] = sum;
    }
}

// Keys from `end` on, and with `causal` those behind the query, have no weight.
template <bool causal>
__device__ void mask(float (&s)[64], int first_key, int end, int query) {
    const int last = first_key + int{tile_keys};
    if (last <= end && (!causal || last <= query + 1)) return;
    const int column = first_key + static_cast<int>(threadIdx.x % 4 * 2);
    for (int i = 0; i < 64; ++i) {
        const int key = column + i / 4 * 8 + i % 2;
        if (key >= end || (causal && key > query + i / 2 % 2 * 8)) s[i] = nothing;
    }
}

__device__ void multiply_by_keys(float (&s)[64], unsigned group, unsigned i) {
    const uint64_t q = descriptor(shared_address(tiles().q[group]));
    const uint64_t k = descriptor(shared_address(tiles().k[i]));
    for (unsigned step = 0; step < head / 16; ++step)
        multiply(s, q + 2 * step, k + 2 * step, step > 0);
    commit_products();
}

__device__ void multiply_by_values(float (&o)[32], const uint32_t (&p)[32], unsigned i) {
    const uint64_t v = descriptor(shared_address(tiles().v[i]));
    for (unsigned step = 0; step < tile_keys / 16; ++step)
        multiply_by_columns(o, &p[4 * step], v + step * (16 * head * 2 >> 4), true);
    commit_products();
}

__device__ void store(const CUtensorMap* map, unsigned group, int first, const float (&o)[32]) {
    const uint32_t tile = shared_address(tiles().q[group]);
    for (unsigned column = 0; column < head; column += 16)
        store_16_columns(tile, column, &o[column / 2]);
    writes_are_visible();
    sync_named(own(group), group_threads);
    if (threadIdx.x % group_threads != 0) return;
    store_3d(map, 0, first, static_cast<int>(blockIdx.y), tile);
    commit_stores();
    stores_are_done();
}

template <bool causal>
__device__ void consume(const Maps& maps, unsigned group, int tile_count, int keys, float scale) {
    Tiles& t = tiles();
    const unsigned other = 1 - group;
    const bool releases = threadIdx.x % group_threads == 0;
    const int first = static_cast<int>((blockIdx.x * consumers + group) * group_queries);
    const int query =
        first + static_cast<int>(threadIdx.x % group_threads / 32 * 16 + threadIdx.x % 32 / 4);
    float s[64], o[32], factor[2];
    uint32_t p[32];
    Rows rows;
    for (float& x : o) x = 0;
    for (float& x : s) x = 0;
    for (uint32_t& x : p) x = 0;
    const auto release = [&](uint64_t* empty) {
        if (releases) arrive(shared_address(empty));
    };
    const auto take_turn = [&](int n) {
        wait(shared_address(&t.k_full[stage(n)]), parity(n));
        sync_named(turn_of(group), 2 * group_threads);
    };
    // Of the last turn nobody is told.
    const auto give_turn = [&](int n) {
        if (group == 0 || n + 1 < tile_count) arrive_named(turn_of(other), 2 * group_threads);
    };
    const auto weigh_tile = [&](int n) {
        mask<causal>(s, n * int{tile_keys}, keys, query);
        weigh(s, rows, factor, scale);
    };
    const auto pack = [&] {
        for (int i = 0; i < 32; ++i) p[i] = pair(s[2 * i], s[2 * i + 1]);
    };
    if (group == 1) arrive_named(turn_of(0), 2 * group_threads);
    wait(shared_address(&t.q_full), 0);
    take_turn(0);
    keep(s);
    begin_products();
    multiply_by_keys(s, group, 0);
    give_turn(0);
    wait_for_products<0>();
    keep(s);
    release(&t.k_empty[0]);
    weigh_tile(0);
    pack();
    for (int n = 1; n < tile_count; ++n) {
        const unsigned before = stage(n - 1);
        take_turn(n);
        wait(shared_address(&t.v_full[before]), parity(n - 1));
        keep(s), keep(o), keep(p);
        begin_products();
        multiply_by_keys(s, group, stage(n));
        multiply_by_values(o, p, before);
        give_turn(n);
        wait_for_products<1>();
        keep(s);
        release(&t.k_empty[stage(n)]);
        weigh_tile(n);
        wait_for_products<0>();
        keep(o), keep(p);
        release(&t.v_empty[before]);
        for (int i = 0; i < 32; ++i) o[i] *= factor[i / 2 % 2];
        pack();
    }
    const int last = tile_count - 1;
    wait(shared_address(&t.v_full[stage(last)]), parity(last));
    keep(o), keep(p);
    begin_products();
    multiply_by_values(o, p, stage(last));
    wait_for_products<0>();
    keep(o);
    for (float& sum : rows.sum)
        for (int by = 1; by < 4; by *= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
    for (int i = 0; i < 32; ++i) o[i] /= rows.sum[i / 2 % 2];
    store(maps.o, group, first, o);
}

template <bool causal>
__device__ void attention(const Maps& maps, int keys, float scale) {
    Tiles& t = tiles();
    if (threadIdx.x == 0) {
        make_barrier(shared_address(&t.q_full), 1);
        for (unsigned i = 0; i < stages; ++i) {
            make_barrier(shared_address(&t.k_full[i]), 1);
            make_barrier(shared_address(&t.v_full[i]), 1);
            make_barrier(shared_address(&t.k_empty[i]), consumers);
            make_barrier(shared_address(&t.v_empty[i]), consumers);
        }
        barriers_are_made();
    }
    __syncthreads();
    const int end =
        causal ? min(keys, static_cast<int>((blockIdx.x + 1) * consumers * group_queries)) : keys;
    const int tile_count = (end + int{tile_keys} - 1) / int{tile_keys};
    const unsigned group = threadIdx.x / group_threads;
    if (group == 0) {
        give_registers<24>();
        if (threadIdx.x < 32 && elected()) bring(maps, tile_count);
    } else {
        take_registers<240>();
        consume<causal>(maps, group - 1, tile_count, keys, scale);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
    specialized_attention(const __grid_constant__ CUtensorMap q,
                          const __grid_constant__ CUtensorMap k,
                          const __grid_constant__ CUtensorMap v,
                          const __grid_constant__ CUtensorMap o, int keys, float scale) {
    attention<false>({&q, &k, &v, &o}, keys, scale);
}

// A query sees keys up to its own number.
extern "C" __global__ void __launch_bounds__(384, 1)
    specialized_attention_causal(const __grid_constant__ CUtensorMap q,
                                 const __grid_constant__ CUtensorMap k,
                                 const __grid_constant__ CUtensorMap v,
                                 const __grid_constant__ CUtensorMap o, int keys, float scale) {
    attention<true>({&q, &k, &v, &o}, keys, scale);
}
