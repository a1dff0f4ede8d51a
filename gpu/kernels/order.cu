// SPDX-License-Identifier: Apache-2.0
// Threads that wait for others, or add to what others add to: the usual ways, small and with much
// contention. Only float_atomics' results, and the addresses that malloc gives, depend on the order
// in which the threads come.
//
//   CTA: 64 threads, in x, where nothing else is said. Grid: any, in x; all CTAs at a time.
//   `tickets`, `locks`, `flags`, `done` and what else counts are 0 at first.
//
//   ticket_lock   tickets[2], values[64], rounds: CTAs in the order of their tickets
//   lane_lock     locks[4], values[4], rounds: every lane for itself; any CTA
//   cta_lock      lock, values[64], rounds: thread 0 for its CTA
//   look_back     in, out, flags (u64, one a tile and 1 more), count: a scan in one pass; a CTA
//                 for every 64 numbers
//   last_cta      in (f32), partial (f32, one a CTA), done, out (f32), count: a sum; the CTA that
//                 comes last adds the partial ones
//   split_k       A (M x K), B (N x K), C (M x N), all f32, flags (one a tile), N, K: a CTA (16,
//   16)
//                 for every 16x16 of C, N / 16 and M / 16 of them in x and y, and for every part of
//                 K, in z; the last part comes first
//   stream_k      A, B, C, partial (f32, 256 a CTA), flags (one a CTA), M, N, K: as split_k, each
//   CTA
//                 with as many steps of 16 along K, wherever they fall
//   float_atomics in (f32, one a thread), sums (f32, 8), before (f32, one a thread)
//   cas_loop      in (one a thread), products[4], greatest (f32)
//   malloc_lists  heads (pointers, 4), done, out[8]
//   grid_barrier  arrived[2], cells (two for each thread), rounds
#include <cstdint>

static __device__ unsigned load_acquire(const unsigned* p) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
    return value;
}

static __device__ void store_release(unsigned* p, unsigned value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;"
                 :
                 : "l"(__cvta_generic_to_global(p)), "r"(value)
                 : "memory");
}

// What every CTA or lane does with what a lock protects: the same, so that the order does not
// matter, and a time that gets lost does.
static __device__ unsigned step(unsigned value) { return 5 * value + 1; }

extern "C" __global__ void ticket_lock(unsigned* tickets, unsigned* values, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        unsigned mine = 0;
        if (threadIdx.x == 0) {
            mine = atomicAdd(&tickets[0], 1);
            while (load_acquire(&tickets[1]) != mine) {
            }
        }
        __syncthreads();
        values[threadIdx.x] = step(values[threadIdx.x]);
        __syncthreads();
        if (threadIdx.x == 0) store_release(&tickets[1], mine + 1);
    }
}

extern "C" __global__ void lane_lock(unsigned* locks, volatile unsigned* values, int rounds) {
    const unsigned which = threadIdx.x % 4;
    for (int round = 0; round < rounds; ++round) {
        bool done = false;
        while (!done) {
            if (atomicCAS(&locks[which], 0, 1) != 0) continue;
            __threadfence();
            values[which] = step(values[which]);
            __threadfence();
            atomicExch(&locks[which], 0);
            done = true;
        }
    }
}

extern "C" __global__ void cta_lock(unsigned* lock, unsigned* values, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        if (threadIdx.x == 0) {
            while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
            __threadfence();
        }
        __syncthreads();
        values[threadIdx.x] = step(values[threadIdx.x]);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicExch(lock, 0);
    }
}

constexpr unsigned long long is_part = 1ULL << 32;   // what a tile says: its own sum, or
constexpr unsigned long long is_total = 2ULL << 32;  // that of all up to it

// The sum of everything before `tile`, in every lane of the warp: 32 tiles at a time.
static __device__ unsigned before_tile(const unsigned long long* flags, int tile) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    unsigned sum = 0;
    for (int first = tile - 1;; first -= 32) {
        unsigned long long said = is_total;
        do {
            if (first - lane >= 0)
                said = *static_cast<const volatile unsigned long long*>(&flags[first - lane]);
        } while (__any_sync(0xffffffff, said == 0));
        const unsigned totals = __ballot_sync(0xffffffff, (said & is_total) != 0);
        const int last = totals != 0 ? __ffs(static_cast<int>(totals)) - 1 : 31;
        unsigned part = lane <= last ? static_cast<unsigned>(said) : 0;
        for (int d = 16; d > 0; d /= 2) part += __shfl_xor_sync(0xffffffff, part, d);
        sum += part;
        if (totals != 0) return sum;
    }
}

extern "C" __global__ void look_back(const unsigned* in, unsigned* out, unsigned long long* flags,
                                     int count) {
    __shared__ int tile;
    __shared__ unsigned of_warp[2];
    __shared__ unsigned before;
    // Tiles in the order in which CTAs begin: those before have begun.
    if (threadIdx.x == 0) tile = static_cast<int>(atomicAdd(&flags[gridDim.x], 1));
    __syncthreads();
    const int i = 64 * tile + static_cast<int>(threadIdx.x);
    unsigned sum = i < count ? in[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffff, sum, d);
        if (threadIdx.x % 32 >= d) sum += other;
    }
    if (threadIdx.x % 32 == 31) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) sum += of_warp[0];
    if (threadIdx.x < 32) {
        const unsigned own = of_warp[0] + of_warp[1];
        volatile unsigned long long* const said = &flags[tile];
        if (threadIdx.x == 0 && tile != 0) *said = is_part | own;
        const unsigned sum_before = tile == 0 ? 0 : before_tile(flags, tile);
        if (threadIdx.x == 0) {
            *said = is_total | (sum_before + own);
            before = sum_before;
        }
    }
    __syncthreads();
    if (i < count) out[i] = before + sum;
}

// The sum of the CTA's 64 numbers, in thread 0.
static __device__ float cta_sum(float sum) {
    __shared__ float of_warp[2];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    return of_warp[0] + of_warp[1];
}

// Whether this is the last CTA to come here. What all have stored before can be read then.
static __device__ bool comes_last(unsigned* done) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last) __threadfence();
    return last;
}

extern "C" __global__ void last_cta(const float* in, float* partial, unsigned* done, float* out,
                                    int count) {
    float sum = 0;
    const int first = static_cast<int>(64 * blockIdx.x + threadIdx.x);
    for (int i = first; i < count; i += static_cast<int>(64 * gridDim.x)) sum += in[i];
    sum = cta_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (!comes_last(done)) return;
    sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += 64) sum += partial[i];
    sum = cta_sum(sum);
    if (threadIdx.x == 0) *out = sum;
}

// One number of a 16x16 tile: steps [from, to) along K.
static __device__ float product(const float* A, const float* B, unsigned row, unsigned column,
                                int K, int from, int to) {
    float sum = 0;
    for (int k = from; k < to; ++k) sum = __fmaf_rn(A[row * K + k], B[column * K + k], sum);
    return sum;
}

extern "C" __global__ void split_k(const float* A, const float* B, float* C, unsigned* flags, int N,
                                   int K) {
    const unsigned row = 16 * blockIdx.y + threadIdx.y;
    const unsigned column = 16 * blockIdx.x + threadIdx.x;
    const int parts = static_cast<int>(gridDim.z);
    const int part = parts - 1 - static_cast<int>(blockIdx.z);
    const float sum = product(A, B, row, column, K, K / parts * part, K / parts * (part + 1));
    unsigned* const flag = &flags[blockIdx.y * gridDim.x + blockIdx.x];
    const bool first = threadIdx.x == 0 && threadIdx.y == 0;
    int comes = -1;
    if (first) comes = static_cast<int>(load_acquire(flag));
    while (__syncthreads_and(comes != part)) {
        if (first) comes = static_cast<int>(load_acquire(flag));
    }
    float* const c = &C[row * N + column];
    *c = part == 0 ? sum : *c + sum;
    __syncthreads();
    if (first) store_release(flag, static_cast<unsigned>(part) + 1);
}

extern "C" __global__ void stream_k(const float* A, const float* B, float* C, float* partial,
                                    unsigned* flags, int M, int N, int K) {
    const int steps = K / 16;  // of a tile
    const int all = M / 16 * (N / 16) * steps;
    const int each = (all + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
    const int cta = static_cast<int>(blockIdx.x);
    const int end = min(all, each * (cta + 1));
    const unsigned at = 16 * threadIdx.y + threadIdx.x;
    for (int now = each * cta; now < end;) {
        const int tile = now / steps;
        const int to = min(end, steps * (tile + 1));
        const unsigned row = 16 * (tile / (N / 16)) + threadIdx.y;
        const unsigned column = 16 * (tile % (N / 16)) + threadIdx.x;
        float sum = product(A, B, row, column, K, 16 * (now % steps), 16 * (to - steps * tile));
        if (now % steps != 0) {
            // The CTA that began the tile adds it up. Here is all that this one has of it.
            partial[256 * cta + at] = sum;
            __syncthreads();
            if (at == 0) store_release(&flags[cta], 1);
        } else {
            for (int other = cta + 1; each * other < steps * (tile + 1); ++other) {
                if (at == 0)
                    while (load_acquire(&flags[other]) == 0) {
                    }
                __syncthreads();
                sum += partial[256 * other + at];
            }
            C[row * N + column] = sum;
        }
        now = to;
    }
}

extern "C" __global__ void float_atomics(const float* in, float* sums, float* before) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    before[i] = atomicAdd(&sums[i % 4], in[i]);
    atomicAdd(&sums[4 + i % 4], in[i]);
}

extern "C" __global__ void cas_loop(const unsigned* in, unsigned* products, float* greatest) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* const product = &products[i % 4];
    for (unsigned old = *product, seen = 0;; old = seen) {
        seen = atomicCAS(product, old, old * (in[i] | 1));
        if (seen == old) break;
    }
    const auto value = static_cast<float>(in[i]);
    auto* const bits = reinterpret_cast<unsigned*>(greatest);
    unsigned old = *bits;
    while (__uint_as_float(old) < value) {
        const unsigned seen = atomicCAS(bits, old, __float_as_uint(value));
        if (seen == old) break;
        old = seen;
    }
}

struct Node {
    Node* next;
    unsigned length;
    unsigned words[1];
};

extern "C" __global__ void malloc_lists(Node** heads, unsigned* done, unsigned* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned length = 1 + i % 7;
    auto* const unused = static_cast<unsigned*>(malloc(64));
    auto* const node = static_cast<Node*>(malloc(sizeof(Node) + 4 * length));
    if (unused == nullptr || node == nullptr) __trap();
    for (unsigned n = 0; n < length; ++n) node->words[n] = i + n;
    node->length = length;
    free(unused);
    auto* const head = reinterpret_cast<unsigned long long*>(&heads[i % 4]);
    unsigned long long old = *static_cast<volatile unsigned long long*>(head);
    for (unsigned long long seen = 0;; old = seen) {
        node->next = reinterpret_cast<Node*>(old);
        __threadfence();
        seen = atomicCAS(head, old, reinterpret_cast<unsigned long long>(node));
        if (seen == old) break;
    }
    if (!comes_last(done) || threadIdx.x >= 4) return;
    unsigned count = 0;
    unsigned sum = 0;
    for (Node* n = heads[threadIdx.x]; n != nullptr;) {
        ++count;
        for (unsigned k = 0; k < n->length; ++k) sum += n->words[k];
        Node* const next = n->next;
        free(n);
        n = next;
    }
    heads[threadIdx.x] = nullptr;
    out[2 * threadIdx.x] = count;
    out[2 * threadIdx.x + 1] = sum;
}

// Behind it, every CTA of the grid has come to it.
static __device__ void wait_for_grid(unsigned* arrived) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned phase = load_acquire(&arrived[1]);
        __threadfence();
        if (atomicAdd(&arrived[0], 1) == gridDim.x - 1) {
            arrived[0] = 0;
            store_release(&arrived[1], phase + 1);
        } else {
            while (load_acquire(&arrived[1]) == phase) {
            }
        }
    }
    __syncthreads();
}

extern "C" __global__ void grid_barrier(unsigned* arrived, unsigned* cells, int rounds) {
    const unsigned all = gridDim.x * blockDim.x;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < rounds; ++round) {
        const unsigned* const from = cells + round % 2 * all;
        unsigned* const to = cells + (round + 1) % 2 * all;
        to[i] = 3 * from[(i + 1) % all] + from[(i + all - blockDim.x) % all] + 1;
        wait_for_grid(arrived);
    }
}
