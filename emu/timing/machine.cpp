// SPDX-License-Identifier: Apache-2.0
#include "emu/timing/machine.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace lockwarp::timing {

namespace {

using enum Evidence;
using enum Arch;

constexpr std::array<std::string_view, static_cast<size_t>(Pipe::count_)> pipe_texts{
    "none", "alu",    "fma",     "imad",   "half",   "fp64",
    "sfu",  "tensor", "uniform", "branch", "shared", "global"};

// clang-format off
// Figures: NVIDIA's data sheets and white papers; residency: CUDA C++ programming guide, "Technical
// Specifications per Compute Capability".
constexpr std::array machine_rows{
    //       arch   name           SMs  MHz   warps CTAs shared    reserved L1       L2 KiB dram  geforce
    Machine{sm_70, "V100",         80, 1530, 64, 32,  98304,    0, 131072,  6144,  900, false},
    Machine{sm_75, "T4",           40, 1590, 32, 16,  65536,    0,  98304,  4096,  320, false},
    Machine{sm_75, "RTX 2080 Ti",  68, 1545, 32, 16,  65536,    0,  98304,  5632,  616, true},
    Machine{sm_80, "A100",        108, 1410, 64, 32, 167936, 1024, 196608, 40960, 1555, false},
    Machine{sm_86, "A10",          72, 1695, 48, 16, 102400, 1024, 131072,  6144,  600, false},
    Machine{sm_86, "RTX 3090",     82, 1695, 48, 16, 102400, 1024, 131072,  6144,  936, true},
    Machine{sm_87, "Orin",         16, 1300, 48, 16, 167936, 1024, 196608,  4096,  204, false},
    Machine{sm_89, "L40S",        142, 2520, 48, 24, 102400, 1024, 131072, 98304,  864, false},
    Machine{sm_89, "RTX 4090",    128, 2520, 48, 24, 102400, 1024, 131072, 73728, 1008, true},
    Machine{sm_90, "H200",        132, 1980, 64, 32, 233472, 1024, 262144, 61440, 4800, false},
};

constexpr std::array flow_rows{
    //       arch   arrive release cluster drain shared branch start fetch far
    FlowRow{sm_70, 200, 12, 0, 312, 11, 8, 200, 20, 180, guessed,  "as sm_90"},
    FlowRow{sm_75, 200, 12, 0, 312, 11, 8, 200, 20, 180, guessed,  "as sm_90"},
    FlowRow{sm_80, 200, 12, 0, 312, 11, 8, 200, 20, 180, guessed,  "as sm_90"},
    FlowRow{sm_86, 200, 12, 0, 312, 11, 8, 200, 20, 180, guessed,  "as sm_90"},
    FlowRow{sm_87, 200, 12, 0, 312, 11, 8, 200, 20, 180, guessed,  "as sm_90"},
    FlowRow{sm_89, 200, 12, 0, 312, 11, 8, 200, 20, 180, guessed,  "as sm_90"},
    FlowRow{sm_90, 200, 12, 120, 312, 11, 8, 200, 20, 180, measured, "H200; start guessed; fetch far and drain shared fitted to whole kernels"},
};

constexpr std::array shared_rows{
    //         arch   load mat atomic wavefront least port store pipe queue
    SharedRow{sm_70, 19, 19, 30, 200, 400, 200, 100, 100, 5, literature, "V100, Jia et al. 2018; rates as sm_90"},
    SharedRow{sm_75, 19, 19, 30, 200, 400, 200, 100, 100, 5, literature, "T4, Jia et al. 2019; rates as sm_90"},
    SharedRow{sm_80, 23, 23, 34, 200, 400, 200, 100, 100, 5, literature, "A6000, Huerta et al. 2025"},
    SharedRow{sm_86, 23, 23, 34, 200, 400, 200, 100, 100, 5, literature, "A6000, Huerta et al. 2025"},
    SharedRow{sm_87, 23, 23, 34, 200, 400, 200, 100, 100, 5, derived,   "as sm_86"},
    SharedRow{sm_89, 23, 23, 34, 200, 400, 200, 100, 100, 5, derived,   "as sm_86"},
    SharedRow{sm_90, 23, 23, 26, 200, 400, 200, 250, 100, 5, measured,  "H200"},
};

constexpr std::array global_rows{
    //         arch   L1  L2   DRAM atomic line port sector store loaded L2 bytes fill queue
    GlobalRow{sm_70, 28, 193, 400, 200, 100, 500,  50, 100, 150, 1600, 50, 12, literature, "V100, Jia et al. 2018"},
    GlobalRow{sm_75, 32, 188, 440, 200, 100, 500,  50, 100, 150, 1200, 50, 12, literature, "T4, Jia et al. 2019"},
    GlobalRow{sm_80, 33, 200, 470, 210, 100, 500,  50, 100, 150, 3600, 50, 12, literature, "A100, Abdelkhalik et al. 2022"},
    GlobalRow{sm_86, 33, 200, 470, 210, 100, 500,  50, 100, 150, 1600, 50, 12, derived,   "as sm_80"},
    GlobalRow{sm_87, 33, 200, 470, 210, 100, 500,  50, 100, 150,  512, 50, 12, guessed,  "as sm_80; L2's rate by its SMs"},
    GlobalRow{sm_89, 33, 220, 540, 230, 100, 500,  50, 100, 150, 2400, 50, 12, derived,   "as sm_80"},
    GlobalRow{sm_90, 30, 295, 622, 293, 100, 500,  29,  98, 300, 4800, 50, 12, measured,  "H200; under load fitted to whole kernels"},
};

constexpr std::array async_rows{
    //        arch   column read_a read_b group copy map tensor sent wait phase remote
    AsyncRow{sm_70,   0,    0,  0,  0,  0,   0,   0,  0,  0, 0,   0, derived, "has none of them"},
    AsyncRow{sm_75,   0,    0,  0,  0,  0,   0,   0,  0,  0, 0,   0, derived, "has none of them"},
    AsyncRow{sm_80,   0,    0,  0,  0,  0,   0,   0,  0, 40, 2,   0, guessed, "as sm_90"},
    AsyncRow{sm_86,   0,    0,  0,  0,  0,   0,   0,  0, 40, 2,   0, guessed, "as sm_90"},
    AsyncRow{sm_87,   0,    0,  0,  0,  0,   0,   0,  0, 40, 2,   0, guessed, "as sm_90"},
    AsyncRow{sm_89,   0,    0,  0,  0,  0,   0,   0,  0, 40, 2,   0, guessed, "as sm_90"},
    AsyncRow{sm_90,  50, 1600, 25, 50, 24, 260, 120, 38, 50, 2, 200, measured, "H200; reading: 128 bytes of shared memory a cycle, guessed"},
};
// clang-format on

constexpr size_t count_of(const auto& rows, Arch arch) {
    size_t n = 0;
    for (const auto& r : rows) n += r.arch == arch;
    return n;
}
static_assert(
    [] {
        for (const Modelled& m : modelled)
            if ((count_of(machine_rows, m.arch) != 0) != m.timed) return false;
        return true;
    }(),
    "each architecture whose cycles are modelled, and no other, has a Machine in machine_rows");

// One row for each architecture that is timed, and none for others.
constexpr bool one_each(const auto& rows) {
    for (const Modelled& m : modelled)
        if (count_of(rows, m.arch) != m.timed) return false;
    return true;
}
static_assert(one_each(flow_rows), "each timed architecture has one row in flow_rows");
static_assert(one_each(shared_rows), "each timed architecture has one row in shared_rows");
static_assert(one_each(async_rows), "each timed architecture has one row in async_rows");
static_assert(one_each(global_rows), "each timed architecture has one row in global_rows");

// Of an architecture that is timed.
const auto& of(const auto& rows, Arch arch) {
    return *std::ranges::find_if(rows, [&](const auto& r) { return r.arch == arch; });
}

// Letters and digits alone, in small letters.
std::string plain(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
    }
    return out;
}

}  // namespace

std::string_view text_of(Pipe p) { return pipe_texts[static_cast<size_t>(p)]; }

std::span<const Machine> machines() { return machine_rows; }

const Machine* machine_of(Arch arch) {
    for (const Machine& m : machine_rows)
        if (m.arch == arch) return &m;
    return nullptr;
}

const Machine* machine_named(std::string_view name) {
    if (const auto arch = isa::arch_named(name)) return machine_of(*arch);
    for (const Machine& m : machine_rows)
        if (plain(m.name) == plain(name)) return &m;
    return nullptr;
}

const SharedRow& shared_row(Arch arch) { return of(shared_rows, arch); }
const GlobalRow& global_row(Arch arch) { return of(global_rows, arch); }
const AsyncRow& async_row(Arch arch) { return of(async_rows, arch); }
const FlowRow& flow_row(Arch arch) { return of(flow_rows, arch); }

}  // namespace lockwarp::timing
