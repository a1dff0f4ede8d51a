// SPDX-License-Identifier: Apache-2.0
// D = A * B^T on Hopper's tensor cores by wgmma: a warpgroup computes 64 x 64 elements of D, with
// tiles of A and B in shared memory that threads write themselves, swizzled by 128 bytes.
//
// A is M x K and B is N x K, both by rows; wgmma_gemm_columns has B as K x N. M, N and K are
// multiples of the tile's sides. Grid (N / 64, M / 64), 128 threads, 16 KiB of dynamic shared
// memory.
#include <cuda_fp16.h>

#include <cstdint>

namespace {

constexpr unsigned tile = 64;
constexpr unsigned row_bytes = 128;  // of a tile, along k
constexpr unsigned tile_bytes = tile * row_bytes;

extern __shared__ __align__(1024) uint8_t shared_bytes[];

__device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Start, leading and stride byte offset 1024 (eight rows of 128 bytes), swizzle of 128 bytes.
__device__ uint64_t descriptor(uint32_t address, uint32_t leading) {
    return uint64_t{(address & 0x3ffff) >> 4} | uint64_t{leading >> 4} << 16 |
           uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

// 64 rows of 128 bytes into swizzled shared memory: 16 bytes at a time.
__device__ void load_tile(uint8_t* to, const uint8_t* from, size_t pitch) {
    for (unsigned i = threadIdx.x; i < tile_bytes / 16; i += blockDim.x) {
        const unsigned row = i / 8, chunk = i % 8;
        *reinterpret_cast<uint4*>(to + row * row_bytes + (chunk ^ row % 8) * 16) =
            *reinterpret_cast<const uint4*>(from + row * pitch + chunk * 16);
    }
}

__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void finish() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

#define D_OPERANDS                                                                                 \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),            \
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),    \
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), \
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define D_NAMES                                                                              \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"

__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " D_NAMES
        ", %32, %33, p, 1, 1, 0, 0;\n}"
        : D_OPERANDS
        : "l"(a), "l"(b), "r"(adds));
}

// B by columns: k x n in shared memory.
__device__ void multiply_mn(float (&d)[32], uint64_t a, uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " D_NAMES
        ", %32, %33, p, 1, -1, 0, 1;\n}"
        : D_OPERANDS
        : "l"(a), "l"(b), "r"(adds));
}

__device__ void multiply_registers(float (&d)[32], const uint32_t (&a)[4], uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " D_NAMES
        ", {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}"
        : D_OPERANDS
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

__device__ void multiply_fp8(float (&d)[32], uint64_t a, uint64_t b, int adds) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e5m2 " D_NAMES ", %32, %33, p, 1, 1;\n}"
        : D_OPERANDS
        : "l"(a), "l"(b), "r"(adds));
}

// Register i of a thread: row 16 * warp + lane / 4 + 8 * (i / 2 % 2), column 8 * (i / 4) +
// 2 * (lane % 4) + i % 2.
__device__ void store(float* d, const float (&values)[32], unsigned n) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned i = 0; i < 32; ++i) {
        const unsigned row = blockIdx.y * tile + warp * 16 + lane / 4 + i / 2 % 2 * 8;
        const unsigned column = blockIdx.x * tile + i / 4 * 8 + lane % 4 * 2 + i % 2;
        d[size_t{row} * n + column] = values[i];
    }
}

enum class Way { shared, registers, fp8, columns };

template <Way way>
__device__ void gemm(const uint8_t* a, const uint8_t* b, float* out, unsigned n, unsigned k) {
    constexpr unsigned size = way == Way::fp8 ? 1 : 2;  // bytes of an element
    uint8_t* const a_tile = shared_bytes;
    uint8_t* const b_tile = shared_bytes + tile_bytes;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float d[32];
    for (float& x : d) x = 0;
    for (unsigned first = 0; first < k * size; first += row_bytes) {
        load_tile(a_tile, a + size_t{blockIdx.y} * tile * k * size + first, size_t{k} * size);
        if constexpr (way == Way::columns)
            load_tile(b_tile, b + size_t{first / size} * n * size + blockIdx.x * tile * size,
                      size_t{n} * size);
        else
            load_tile(b_tile, b + size_t{blockIdx.x} * tile * k * size + first, size_t{k} * size);
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        begin();
        for (unsigned step = 0; step < row_bytes; step += 32) {
            const int adds = first + step != 0;
            const uint64_t a_at = descriptor(shared_address(a_tile) + step, 16);
            const uint64_t b_at = descriptor(shared_address(b_tile) + step, 16);
            if constexpr (way == Way::shared) multiply(d, a_at, b_at, adds);
            if constexpr (way == Way::fp8) multiply_fp8(d, a_at, b_at, adds);
            if constexpr (way == Way::columns)
                multiply_mn(d, a_at,
                            descriptor(shared_address(b_tile) + step / 2 * row_bytes, 1024), adds);
            if constexpr (way == Way::registers) {
                uint32_t words[4];
                const unsigned row = warp * 16 + lane % 16;
                const uint32_t at = shared_address(a_tile) + row * row_bytes +
                                    ((step / 16 + lane / 16) ^ row % 8) * 16;
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                             : "r"(at));
                begin();
                multiply_registers(d, words, b_at, adds);
                finish();
            }
        }
        finish();
        __syncthreads();
    }
    store(out, d, n);
}

}  // namespace

extern "C" __global__ void wgmma_gemm(const uint8_t* a, const uint8_t* b, float* d, unsigned n,
                                      unsigned k) {
    gemm<Way::shared>(a, b, d, n, k);
}

extern "C" __global__ void wgmma_gemm_registers(const uint8_t* a, const uint8_t* b, float* d,
                                                unsigned n, unsigned k) {
    gemm<Way::registers>(a, b, d, n, k);
}

extern "C" __global__ void wgmma_gemm_fp8(const uint8_t* a, const uint8_t* b, float* d, unsigned n,
                                          unsigned k) {
    gemm<Way::fp8>(a, b, d, n, k);
}

// D = -A * B, B as K x N.
extern "C" __global__ void wgmma_gemm_columns(const uint8_t* a, const uint8_t* b, float* d,
                                              unsigned n, unsigned k) {
    gemm<Way::columns>(a, b, d, n, k);
}
