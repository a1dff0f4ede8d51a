// SPDX-License-Identifier: Apache-2.0
// Hopper's instructions as functions: mbarriers, copies by tensor maps, clusters, wgmma.
// Shared addresses are 32 bits wide; tiles in shared memory are rows of 128 bytes, swizzled by 128.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

__device__ __forceinline__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// One lane of the warp, the same each time.
__device__ __forceinline__ bool elected() {
    uint32_t is;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(is));
    return is != 0;
}

// mbarriers
__device__ __forceinline__ void make_barrier(uint32_t b, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(arrivals));
}

__device__ __forceinline__ void barriers_are_made() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void expect(uint32_t b, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void arrive(uint32_t b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(b) : "memory");
}

// At the barrier in the same place of another CTA of the cluster.
__device__ __forceinline__ void arrive_at(uint32_t b, uint32_t rank) {
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(b),
        "r"(rank)
        : "memory");
}

// Until the phase of this parity is complete.
__device__ __forceinline__ void wait(uint32_t b, unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(b),
        "r"(parity)
        : "memory");
}

// The same, also for what CTAs of the cluster did before they arrived.
__device__ __forceinline__ void wait_for_cluster(uint32_t b, unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(b),
        "r"(parity)
        : "memory");
}

// Clusters
__device__ __forceinline__ uint32_t cluster_rank() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Named barriers of a CTA
__device__ __forceinline__ void sync_named(unsigned id, unsigned threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void arrive_named(unsigned id, unsigned threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Copies
__device__ __forceinline__ void load_2d(uint32_t to, const CUtensorMap* map, int x, int y,
                                        uint32_t full) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(full)
        : "memory");
}

// To the same place of all CTAs of the mask, and of each its barrier.
__device__ __forceinline__ void load_2d_for(uint16_t mask, uint32_t to, const CUtensorMap* map,
                                            int x, int y, uint32_t full) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(full), "h"(mask)
        : "memory");
}

__device__ __forceinline__ void load_3d(uint32_t to, const CUtensorMap* map, int x, int y, int z,
                                        uint32_t full) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3, %4}], [%5];" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(full)
        : "memory");
}

__device__ __forceinline__ void store_2d(const CUtensorMap* map, int x, int y, uint32_t from) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
            map),
        "r"(x), "r"(y), "r"(from)
        : "memory");
}

__device__ __forceinline__ void store_3d(const CUtensorMap* map, int x, int y, int z,
                                         uint32_t from) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::
            "l"(map),
        "r"(x), "r"(y), "r"(z), "r"(from)
        : "memory");
}

__device__ __forceinline__ void writes_are_visible() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void commit_stores() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void stores_have_read() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ __forceinline__ void stores_are_done() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Registers of the threads of a warpgroup
template <unsigned count>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <unsigned count>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

// wgmma
__device__ __forceinline__ void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int pending>
__device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// The compiler moves no use of these over this place.
template <int n, class T>
__device__ __forceinline__ void keep(T (&d)[n]) {
    for (T& x : d) {
        if constexpr (sizeof(T) == sizeof(float) && T(0.5) != T(0))
            asm volatile("" : "+f"(x)::"memory");
        else
            asm volatile("" : "+r"(x)::"memory");
    }
}

// Of a tile whose eight rows have 1024 bytes.
__device__ __forceinline__ uint64_t descriptor(uint32_t address) {
    return uint64_t{(address & 0x3ffff) >> 4} | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 |
           uint64_t{1} << 62;
}

#define D8(i)                                                                                   \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define D32(i) D8(i), D8(i + 8), D8(i + 16), D8(i + 24)
#define NAMES_32                                                                            \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                         \
    NAMES_32                                                                             \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_128                                                                            \
    NAMES_64                                                                                 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "     \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "       \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "   \
    "%125, %126, %127"

// D += A * B^T, or D = A * B^T where !adds: 16 elements of k.
__device__ __forceinline__ void multiply(float (&d)[64], uint64_t a, uint64_t b, bool adds) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" NAMES_64
        "}, %64, %65, p, 1, 1, 0, 0;\n}"
        : D32(0), D32(32)
        : "l"(a), "l"(b), "r"(static_cast<int>(adds)));
}

__device__ __forceinline__ void multiply(float (&d)[128], uint64_t a, uint64_t b, bool adds) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" NAMES_128
        "}, %128, %129, p, 1, 1, 0, 0;\n}"
        : D32(0), D32(32), D32(64), D32(96)
        : "l"(a), "l"(b), "r"(static_cast<int>(adds)));
}

// A in registers, B by its columns.
__device__ __forceinline__ void multiply_by_columns(float (&d)[32], const uint32_t* a, uint64_t b,
                                                    bool adds) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" NAMES_32
        "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
        : D32(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds)));
}

__device__ __forceinline__ uint32_t pair(float low, float high) {
    const __half2 h = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&h);
}

// Of an accumulator of 64 rows, 16 columns from register 8 * i on, in f16, to row and column of a
// swizzled tile of 64 columns: lane l has row l % 16 of its warp's and columns 8 * (l / 16) and on.
__device__ __forceinline__ void store_16_columns(uint32_t tile, unsigned column, const float* d) {
    const unsigned lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
    const uint32_t at = tile + row * 128 + ((column / 8 + lane / 16) ^ row % 8) * 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(pair(d[0], d[1])), "r"(pair(d[2], d[3])), "r"(pair(d[4], d[5])),
                 "r"(pair(d[6], d[7]))
                 : "memory");
}
