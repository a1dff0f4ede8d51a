// SPDX-License-Identifier: Apache-2.0
// Random programs from the tables, for one launch of many threads: each instruction takes fresh
// structured operands or what earlier ones left.
#pragma once

#include <string>
#include <vector>

#include "emu/isa/arch.hpp"
#include "launch/case.hpp"
#include "launch/result.hpp"

namespace lockwarp::programs {

struct GenerateOptions {
    uint64_t seed = 0;
    unsigned instructions = 48;  // besides loads of operands
    uint32_t ctas = 16;
    uint32_t warps = 4;
    isa::Arch arch = isa::default_arch;
    std::vector<std::string> only;  // opcodes, or keys as "mma.m16n8k16.f32.f16.f16.f32"
};

struct Generated {
    std::string ptx;
    launch::Case c;
};

// The one buffer is a part for each CTA, one after another, and so many bytes more.
inline constexpr size_t spare_bytes = 16;

// Deterministic: the same options give the same program and the same bytes. An error where `only`
// names nothing that can be generated.
[[nodiscard]] launch::Result<Generated> generate(const GenerateOptions& options);

// What generate can make for an architecture: spellings of scalar instructions and keys of mma.
std::vector<std::string> generated_instructions(isa::Arch arch);

}  // namespace lockwarp::programs
