// SPDX-License-Identifier: Apache-2.0
// The architectures as rows. An architecture differs by its rows here, in the mma tables and in
// emu/num; no code asks which one it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockwarp::isa {

enum class Arch : uint8_t { sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120, count_ };

// What a module's .target adds to the number. sm_120f has what the whole family of sm_120 has and
// no other; sm_120a also what sm_120 alone has (PTX manual, ".target").
enum class Suffix : uint8_t { none, f, a };

constexpr Suffix suffix_of(std::string_view target) {
    return target.ends_with('a') ? Suffix::a : target.ends_with('f') ? Suffix::f : Suffix::none;
}
constexpr std::string_view text_of(Suffix s) {
    return s == Suffix::a ? "a" : s == Suffix::f ? "f" : "";
}

struct ArchRow {
    Arch arch;
    std::string_view name;
    uint16_t number;           // 70, 75, ...: what %-directives and .target compare
    uint16_t ptx;              // the first .version that knows it, major * 10 + minor
    std::string_view product;  // the product whose silicon or published data the rows rest on
    // Shared memory a CTA may have, in bytes: without asking for more, and at most (CUDA C++
    // programming guide, "Technical Specifications per Compute Capability").
    uint32_t shared_default;
    uint32_t shared_max;
    // First byte of a CTA's own variables in the shared window: below it lies what the driver keeps
    // (measured on an H200; elsewhere an assumption).
    uint32_t shared_base;
    // ldmatrix needs a valid address in all 32 lanes also where fewer are used (PTX manual,
    // ldmatrix: "For .target sm_75 ... all threads must contain valid addresses").
    bool ldmatrix_checks_all_lanes;
};

inline constexpr std::array<ArchRow, static_cast<size_t>(Arch::count_)> arch_rows{{
    {Arch::sm_70, "sm_70", 70, 60, "V100", 49152, 98304, 0, false},
    {Arch::sm_75, "sm_75", 75, 63, "T4", 49152, 65536, 0, true},
    {Arch::sm_80, "sm_80", 80, 70, "A100", 49152, 166912, 0, false},
    {Arch::sm_86, "sm_86", 86, 71, "A10", 49152, 101376, 0, false},
    {Arch::sm_89, "sm_89", 89, 78, "L40S", 49152, 101376, 0, false},
    {Arch::sm_90, "sm_90", 90, 78, "H200", 49152, 232448, 0x400, false},
    {Arch::sm_100, "sm_100", 100, 86, "B200", 49152, 232448, 0x400, false},
    {Arch::sm_120, "sm_120", 120, 87, "RTX 5090", 49152, 101376, 0x400, false},
}};

constexpr const ArchRow& row(Arch a) { return arch_rows[static_cast<size_t>(a)]; }

// "sm_90" and "sm_90a" name the same machine, and so do "sm_120", "sm_120a" and "sm_120f". nullopt
// for a name that is not modelled.
constexpr std::optional<Arch> arch_named(std::string_view name) {
    if (suffix_of(name) != Suffix::none) name.remove_suffix(1);
    for (const ArchRow& r : arch_rows)
        if (r.name == name) return r.arch;
    return std::nullopt;
}

static_assert(
    [] {
        for (size_t i = 0; i < arch_rows.size(); ++i)
            if (static_cast<size_t>(arch_rows[i].arch) != i) return false;
        return true;
    }(),
    "arch_rows stand in the order of Arch");

}  // namespace lockwarp::isa
