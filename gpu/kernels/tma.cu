// SPDX-License-Identifier: Apache-2.0
// Copies by tensor maps on Hopper: a box of a tensor of one to five dimensions to shared memory and
// back, a product whose tiles come through a ring of buffers, one that adds up parts of k in
// memory, a convolution by im2col, and products of groups of matrices whose maps the kernel makes
// itself.
//
// All products are of f16 with f32 sums, D = A * B^T, in tiles of 64 x 64, 64 elements of k at a
// time; rows in shared memory have 128 bytes, swizzled by 128.
#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace {

constexpr unsigned tile = 64;
constexpr unsigned tile_bytes = tile * tile * 2;
constexpr unsigned stages = 3;
constexpr unsigned group_threads = 128;  // of a warpgroup

extern __shared__ __align__(1024) uint8_t shared_bytes[];

__device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void make_barrier(uint64_t* b, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals));
}

__device__ void barriers_are_made() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ void expect(uint64_t* b, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)),
                 "r"(bytes)
                 : "memory");
}

__device__ void arrive(uint64_t* b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}

__device__ void wait(uint64_t* b, unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(shared_address(b)),
        "r"(parity)
        : "memory");
}

__device__ void writes_are_visible() { asm volatile("fence.proxy.async;" ::: "memory"); }

__device__ void stores_are_done() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ void load_2d(void* to, const CUtensorMap* map, int x, int y, uint64_t* full) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
        "l"(map), "r"(x), "r"(y), "r"(shared_address(full))
        : "memory");
}

__device__ void store_2d(const CUtensorMap* map, int x, int y, const void* from) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
        "r"(x), "r"(y), "r"(shared_address(from))
        : "memory");
}

__device__ void add_2d(const CUtensorMap* map, int x, int y, const void* from) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], "
        "[%3];" ::"l"(map),
        "r"(x), "r"(y), "r"(shared_address(from))
        : "memory");
}

__device__ uint64_t descriptor(const void* p) {
    return uint64_t{(shared_address(p) & 0x3ffff) >> 4} | uint64_t{1} << 16 |
           uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

#define D_OPERANDS                                                                                 \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),            \
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),    \
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), \
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])

// One tile's 64 elements of k.
__device__ void multiply(float (&d)[32], const void* a, const void* b, bool adds) {
    const uint64_t da = descriptor(a), db = descriptor(b);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < 4; ++k)
        asm volatile(
            "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, "
            "%8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
            "%25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;\n}"
            : D_OPERANDS
            : "l"(da + 2 * k), "l"(db + 2 * k), "r"(static_cast<int>(adds || k > 0)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// The tile of D to shared memory, by rows.
__device__ void write_tile(float* to, const float (&d)[32]) {
    const unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    for (unsigned i = 0; i < 32; ++i)
        to[(row + 8 * (i / 2 % 2)) * tile + 8 * (i / 4) + 2 * (threadIdx.x % 4) + i % 2] = d[i];
    writes_are_visible();
}

__device__ void sync_group() { asm volatile("bar.sync 1, %0;" ::"n"(group_threads) : "memory"); }

struct Ring {
    uint8_t a[stages][tile_bytes];
    uint8_t b[stages][tile_bytes];
    float d[tile * tile];
    uint64_t full[stages], empty[stages];
};

// The warp behind the warpgroup brings tiles; D is stored, or added to what is there.
template <bool is_part>
__device__ void product(const CUtensorMap* a, const CUtensorMap* b, const CUtensorMap* d, int begin,
                        int end) {
    Ring& ring = *reinterpret_cast<Ring*>(shared_bytes);
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < stages; ++i) {
            make_barrier(&ring.full[i], 1);
            make_barrier(&ring.empty[i], group_threads);
        }
        barriers_are_made();
    }
    __syncthreads();
    const int x = static_cast<int>(blockIdx.x * tile), y = static_cast<int>(blockIdx.y * tile);
    if (threadIdx.x >= group_threads) {
        for (int k = begin; threadIdx.x == group_threads && k < end; ++k) {
            const unsigned i = (k - begin) % stages, turn = (k - begin) / stages;
            wait(&ring.empty[i], (turn & 1) ^ 1);
            expect(&ring.full[i], 2 * tile_bytes);
            load_2d(ring.a[i], a, k * int{tile}, y, &ring.full[i]);
            load_2d(ring.b[i], b, k * int{tile}, x, &ring.full[i]);
        }
        return;
    }
    float sum[32];
    for (float& v : sum) v = 0;
    for (int k = begin; k < end; ++k) {
        const unsigned i = (k - begin) % stages, turn = (k - begin) / stages;
        wait(&ring.full[i], turn & 1);
        multiply(sum, ring.a[i], ring.b[i], true);
        arrive(&ring.empty[i]);
    }
    write_tile(ring.d, sum);
    sync_group();
    if (threadIdx.x != 0) return;
    if (is_part)
        add_2d(d, x, y, ring.d);
    else
        store_2d(d, x, y, ring.d);
    stores_are_done();
}

// One box: to shared memory, from there word by word to `words`, and whole to the other tensor.
#define COPY_KERNEL(N, COORDINATES, ...)                                                          \
    extern "C" __global__ void tensor_copy_##N##d(                                                \
        const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,         \
        uint32_t* words, unsigned bytes, int4 at, int last, unsigned span) {                      \
        __shared__ __align__(8) uint64_t full;                                                    \
        if (threadIdx.x == 0) {                                                                   \
            make_barrier(&full, 1);                                                               \
            barriers_are_made();                                                                  \
        }                                                                                         \
        for (unsigned i = threadIdx.x; i < span / 4; i += blockDim.x)                             \
            reinterpret_cast<uint32_t*>(shared_bytes)[i] = 0xabababab;                            \
        writes_are_visible();                                                                     \
        __syncthreads();                                                                          \
        if (threadIdx.x == 0) {                                                                   \
            expect(&full, bytes);                                                                 \
            asm volatile("cp.async.bulk.tensor." #N                                               \
                         "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " \
                         "{" COORDINATES "}], [%2];" ::"r"(shared_address(shared_bytes)),         \
                         "l"(&from), "r"(shared_address(&full)), __VA_ARGS__                      \
                         : "memory");                                                             \
        }                                                                                         \
        wait(&full, 0);                                                                           \
        for (unsigned i = threadIdx.x; i < span / 4; i += blockDim.x)                             \
            words[i] = reinterpret_cast<const uint32_t*>(shared_bytes)[i];                        \
        if (threadIdx.x != 0) return;                                                             \
        asm volatile("cp.async.bulk.tensor." #N                                                   \
                     "d.global.shared::cta.tile.bulk_group [%1, {" COORDINATES                    \
                     "}], [%0];" ::"r"(shared_address(shared_bytes)),                             \
                     "l"(&to), "r"(0), __VA_ARGS__                                                \
                     : "memory");                                                                 \
        stores_are_done();                                                                        \
    }

COPY_KERNEL(1, "%3", "r"(at.x))
COPY_KERNEL(2, "%3, %4", "r"(at.x), "r"(at.y))
COPY_KERNEL(3, "%3, %4, %5", "r"(at.x), "r"(at.y), "r"(at.z))
COPY_KERNEL(4, "%3, %4, %5, %6", "r"(at.x), "r"(at.y), "r"(at.z), "r"(at.w))
COPY_KERNEL(5, "%3, %4, %5, %6, %7", "r"(at.x), "r"(at.y), "r"(at.z), "r"(at.w), "r"(last))

}  // namespace

// Grid (N / 64, M / 64), 160 threads; k: K / 64.
extern "C" __global__ void tma_gemm(const __grid_constant__ CUtensorMap a,
                                    const __grid_constant__ CUtensorMap b,
                                    const __grid_constant__ CUtensorMap d, int k) {
    product<false>(&a, &b, &d, 0, k);
}

// The same, each plane of the grid with a part of k.
extern "C" __global__ void tma_gemm_parts(const __grid_constant__ CUtensorMap a,
                                          const __grid_constant__ CUtensorMap b,
                                          const __grid_constant__ CUtensorMap d, int k) {
    const int part = (k + static_cast<int>(gridDim.z) - 1) / static_cast<int>(gridDim.z);
    const int begin = static_cast<int>(blockIdx.z) * part;
    product<true>(&a, &b, &d, begin, min(begin + part, k));
}

// A convolution of images N x H x W x 64 with 64 filters of 3 x 3: grid (pixels / 64), 128 threads.
// filters: 9 x 64 x 64, by position, filter and channel. pixels: of all images, in the order of the
// output; the tensor map's corners leave a border of one pixel.
extern "C" __global__ void im2col_convolution(const __grid_constant__ CUtensorMap image,
                                              const __grid_constant__ CUtensorMap filters,
                                              const __grid_constant__ CUtensorMap output, int width,
                                              int height) {
    Ring& ring = *reinterpret_cast<Ring*>(shared_bytes);
    if (threadIdx.x == 0) {
        make_barrier(&ring.full[0], 1);
        barriers_are_made();
    }
    __syncthreads();
    const int pixel = static_cast<int>(blockIdx.x * tile);
    const int w = pixel % width, h = pixel / width % height, n = pixel / (width * height);
    float sum[32];
    for (float& v : sum) v = 0;
    for (int i = 0; i < 9; ++i) {
        if (threadIdx.x == 0) {
            expect(&ring.full[0], 2 * tile_bytes);
            asm volatile(
                "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::"
                "bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(
                    shared_address(ring.a[0])),
                "l"(&image), "r"(0), "r"(w - 1), "r"(h - 1), "r"(n),
                "r"(shared_address(&ring.full[0])), "h"(static_cast<uint16_t>(i % 3)),
                "h"(static_cast<uint16_t>(i / 3))
                : "memory");
            load_2d(ring.b[0], &filters, 0, i * int{tile}, &ring.full[0]);
        }
        wait(&ring.full[0], i & 1);
        multiply(sum, ring.a[0], ring.b[0], true);
        __syncthreads();
    }
    write_tile(ring.d, sum);
    __syncthreads();
    if (threadIdx.x != 0) return;
    store_2d(&output, 0, pixel, ring.d);
    stores_are_done();
}

struct Group {
    const __half *a, *b;
    float* d;
    int rows, columns, k;
};

// Maps of one group: the address and the size replaced in shared memory, then to global memory.
__device__ void make_map(CUtensorMap* to, uint64_t* scratch, const CUtensorMap* from,
                         const void* address, unsigned width, unsigned rows, unsigned bytes) {
    if (threadIdx.x < 16)
        scratch[threadIdx.x] = reinterpret_cast<const uint64_t*>(from)[threadIdx.x];
    __syncwarp();
    const uint32_t s = shared_address(scratch);
    if (threadIdx.x == 0) {
        asm volatile(
            "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(s),
            "l"(address)
            : "memory");
        asm volatile(
            "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(s),
            "r"(width)
            : "memory");
        asm volatile(
            "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(s),
            "r"(rows)
            : "memory");
        asm volatile(
            "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(s),
            "l"(uint64_t{bytes} * width)
            : "memory");
    }
    __syncwarp();
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%0], [%1], 128;" ::"l"(to),
        "r"(s)
        : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(to) : "memory");
}

// Grid (tiles of n, tiles of m, groups), 160 threads. templates: maps of A, B and D with everything
// but addresses and sizes; maps: room for three of each CTA.
extern "C" __global__ void grouped_gemm(const CUtensorMap* templates, CUtensorMap* maps,
                                        const Group* groups) {
    __shared__ __align__(128) uint64_t scratch[16];
    const Group g = groups[blockIdx.z];
    if (static_cast<int>(blockIdx.x * tile) >= g.columns ||
        static_cast<int>(blockIdx.y * tile) >= g.rows)
        return;
    CUtensorMap* const own =
        maps + 3 * ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
    if (threadIdx.x < 32) {
        make_map(own, scratch, templates, g.a, g.k, g.rows, 2);
        make_map(own + 1, scratch, templates + 1, g.b, g.k, g.columns, 2);
        make_map(own + 2, scratch, templates + 2, g.d, g.columns, g.rows, 4);
    }
    __syncthreads();
    for (int i = 0; i < 3; ++i)
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(own + i)
                     : "memory");
    product<false>(own, own + 1, own + 2, 0, (g.k + int{tile} - 1) / int{tile});
}
