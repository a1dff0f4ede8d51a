// SPDX-License-Identifier: Apache-2.0
// What a program is told of the GPU: a product for each architecture, as rows.
#pragma once

#include <array>

#include "emu/isa/arch.hpp"

namespace lockwarp::cuda {

// From NVIDIA's data sheets and, for what is the same of all products of a compute capability, the
// CUDA C++ programming guide, "Technical Specifications per Compute Capability". Memory is what the
// driver leaves a program of it, about. The H200's are an H200's answers (driver 580).
struct Product {
    isa::Arch arch;
    const char* name;
    uint32_t memory_mib;
    uint16_t sms;
    uint32_t clock_khz;
    uint32_t memory_khz;
    uint16_t bus_bits;
    uint32_t l2_kib;
    uint32_t persisting_kib;  // of L2, for what persists there; 0: nobody was asked
    uint16_t threads;         // resident on an SM, at most
    uint16_t ctas;            // likewise
    uint32_t shared;          // bytes of an SM
    uint16_t reserved;        // of them for each CTA, by the driver
    uint8_t copy_engines;
    bool integrated;
    bool ecc;
};

inline constexpr std::array products{
    Product{isa::Arch::sm_70, "Tesla V100-SXM2-16GB", 16160, 80, 1530000, 877000, 4096, 6144, 0,
            2048, 32, 98304, 0, 6, false, true},
    Product{isa::Arch::sm_75, "Tesla T4", 15102, 40, 1590000, 5001000, 256, 4096, 0, 1024, 16,
            65536, 0, 3, false, true},
    Product{isa::Arch::sm_80, "NVIDIA A100-SXM4-80GB", 81152, 108, 1410000, 1593000, 5120, 40960, 0,
            2048, 32, 167936, 1024, 3, false, true},
    Product{isa::Arch::sm_86, "NVIDIA A10", 22720, 72, 1695000, 6251000, 384, 6144, 0, 1536, 16,
            102400, 1024, 2, false, true},
    Product{isa::Arch::sm_87, "Orin", 30536, 16, 1300000, 1300000, 256, 4096, 0, 1536, 16, 167936,
            1024, 2, true, false},
    Product{isa::Arch::sm_89, "NVIDIA L40S", 45372, 142, 2520000, 9001000, 384, 98304, 0, 1536, 24,
            102400, 1024, 2, false, true},
    Product{isa::Arch::sm_90, "NVIDIA H200", 143156, 132, 1980000, 3201000, 6016, 61440, 38400,
            2048, 32, 233472, 1024, 3, false, true},
    Product{isa::Arch::sm_100, "NVIDIA B200", 182642, 148, 1965000, 3996000, 7680, 129536, 0, 2048,
            32, 233472, 1024, 3, false, true},
    Product{isa::Arch::sm_103, "NVIDIA B300 SXM6 AC", 274432, 148, 1920000, 3996000, 7680, 129536,
            0, 2048, 32, 233472, 1024, 3, false, true},
    Product{isa::Arch::sm_120, "NVIDIA GeForce RTX 5090", 32109, 170, 2407000, 14001000, 512, 98304,
            0, 1536, 24, 102400, 1024, 2, false, false},
    Product{isa::Arch::sm_121, "NVIDIA GB10", 122571, 48, 2418000, 8533000, 256, 24576, 0, 1536, 24,
            102400, 1024, 2, true, false},
};
static_assert(isa::one_row_each(products), "each Arch has one Product");

constexpr const Product& product_of(isa::Arch arch) {
    for (const Product& p : products)
        if (p.arch == arch) return p;
    return products[0];  // not reached: one_row_each
}

inline constexpr uint32_t registers_of_sm = 65536;
inline constexpr uint32_t max_cta_threads = 1024;

}  // namespace lockwarp::cuda
