// SPDX-License-Identifier: Apache-2.0
// The architectures as rows. An architecture differs by its rows here, in the mma tables and in
// emu/num; no code asks which one it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockwarp::isa {

enum class Arch : uint8_t {
    sm_70,
    sm_75,
    sm_80,
    sm_86,
    sm_87,
    sm_89,
    sm_90,
    sm_100,
    sm_103,
    sm_120,
    sm_121,
    count_
};

// What a module's .target adds to the number. sm_120f has what the whole family of sm_120 has and
// no other family; sm_120a also what sm_120 alone has (PTX manual, ".target").
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
    uint16_t number;           // 70, 75, ...: what .target compares
    uint16_t family;           // the number of the first of its family; 0: .target has none of it
    uint16_t ptx;              // the first .version that knows it, major * 10 + minor
    std::string_view product;  // the product whose silicon or published data the rows rest on
    // Shared memory a CTA may have, in bytes: without asking for more, and at most (CUDA C++
    // programming guide, "Technical Specifications per Compute Capability").
    uint32_t shared_default;
    uint32_t shared_max;
    // First byte of a CTA's own variables in the shared window: below it lies what the driver keeps
    // (measured on an H200; elsewhere an assumption).
    uint32_t shared_base;
    // Shared memory is given to a CTA in units of so many bytes (PTX manual, "%total_smem_size").
    // What lies behind its own in the last one is no fault to touch (measured on an H100; elsewhere
    // an assumption).
    uint32_t shared_unit;
    // ldmatrix needs a valid address in all 32 lanes also where fewer are used (PTX manual,
    // ldmatrix: "For .target sm_75 ... all threads must contain valid addresses").
    bool ldmatrix_checks_all_lanes;
    // An mbarrier counts bytes of asynchronous copies beside its arrivals, and its 64 bits are
    // laid out for both.
    bool mbarrier_counts_bytes;
    // CTAs of a cluster at most: a portable one, and one that is allowed not to be (CUDA C++
    // programming guide, "Thread Block Clusters": 8, and up to 16). Measured on an H200; of later
    // architectures nothing was, and the guide's numbers stand for them. 0: there are no clusters.
    uint8_t cluster_portable;
    uint8_t cluster_max;
};

inline constexpr std::array<ArchRow, static_cast<size_t>(Arch::count_)> arch_rows{{
    {Arch::sm_70, "sm_70", 70, 0, 60, "V100", 49152, 98304, 0, 256, false, false, 0, 0},
    {Arch::sm_75, "sm_75", 75, 0, 63, "T4", 49152, 65536, 0, 256, true, false, 0, 0},
    {Arch::sm_80, "sm_80", 80, 0, 70, "A100", 49152, 166912, 0, 128, false, false, 0, 0},
    {Arch::sm_86, "sm_86", 86, 0, 71, "A10", 49152, 101376, 0, 128, false, false, 0, 0},
    {Arch::sm_87, "sm_87", 87, 0, 74, "Orin", 49152, 166912, 0, 128, false, false, 0, 0},
    {Arch::sm_89, "sm_89", 89, 0, 78, "L40S", 49152, 101376, 0, 128, false, false, 0, 0},
    {Arch::sm_90, "sm_90", 90, 0, 78, "H200", 49152, 232448, 0x400, 128, false, true, 8, 16},
    {Arch::sm_100, "sm_100", 100, 100, 86, "B200", 49152, 232448, 0x400, 128, false, true, 8, 16},
    {Arch::sm_103, "sm_103", 103, 100, 88, "B300", 49152, 232448, 0x400, 128, false, true, 8, 16},
    {Arch::sm_120, "sm_120", 120, 120, 87, "RTX 5090", 49152, 101376, 0x400, 128, false, true, 8,
     8},
    {Arch::sm_121, "sm_121", 121, 120, 88, "DGX Spark", 49152, 101376, 0x400, 128, false, true, 8,
     8},
}};

// The architecture that is meant where a command names none: the one whose rows were measured.
inline constexpr Arch default_arch = Arch::sm_90;

constexpr const ArchRow& row(Arch a) { return arch_rows[static_cast<size_t>(a)]; }

// What a CTA is given that asks for so many bytes of shared memory.
constexpr uint64_t in_shared_units(Arch a, uint64_t bytes) {
    const uint64_t unit = row(a).shared_unit;
    return (bytes + unit - 1) / unit * unit;
}

// Whether the architecture has what the PTX manual says "requires sm_XX or higher".
constexpr bool has(const ArchRow& a, uint16_t target) { return a.number >= target; }
constexpr bool has(Arch a, uint16_t target) { return has(row(a), target); }

// The family of a .target's number; 0: it has none, or is not modelled.
constexpr uint16_t family_of(uint16_t target) {
    for (const ArchRow& a : arch_rows)
        if (a.number == target) return a.family;
    return 0;
}

// Whether it has what requires .target sm_XXa, sm_XXf or sm_XX.
constexpr bool has(const ArchRow& a, uint16_t target, Suffix suffix) {
    switch (suffix) {
        case Suffix::none:
            return has(a, target);
        case Suffix::a:
            return a.number == target;
        case Suffix::f:
            break;
    }
    for (const ArchRow& first : arch_rows)
        if (first.number == target)
            return first.family != 0 && first.family == a.family && has(a, target);
    return false;
}

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
        for (size_t i = 0; i < arch_rows.size(); ++i) {
            const ArchRow& a = arch_rows[i];
            if (static_cast<size_t>(a.arch) != i || a.number == 0) return false;
            if (i > 0 && a.number <= arch_rows[i - 1].number) return false;
        }
        return true;
    }(),
    "arch_rows has a row for each Arch, in its order, which is that of their numbers");

// Whether each architecture is named in exactly one of the rows, by their member `arch`.
template <class Rows>
constexpr bool one_row_each(const Rows& rows) {
    std::array<unsigned, arch_rows.size()> found{};
    for (const auto& r : rows) ++found[static_cast<size_t>(r.arch)];
    for (const unsigned n : found)
        if (n != 1) return false;
    return true;
}

}  // namespace lockwarp::isa
