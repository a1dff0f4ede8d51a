// SPDX-License-Identifier: Apache-2.0
// What the kinds of scalar instructions cost. sm_90's rows are an H200's answers to
// gpu/clock_probe; rates of the others follow from the results per clock and SM of the CUDA C++
// programming guide, "Arithmetic Instructions": a sub-core's interval is 32 lanes over a quarter of
// them.
#include <algorithm>
#include <array>

#include "emu/timing/machine.hpp"

namespace lockwarp::timing {

namespace {

using enum Evidence;
using enum Kind;

// How well the costs of an architecture are known, at best.
struct Knowledge {
    Arch arch;
    Evidence best;
};
constexpr std::array knowledge{
    Knowledge{Arch::sm_70, literature}, Knowledge{Arch::sm_75, literature},
    Knowledge{Arch::sm_80, literature}, Knowledge{Arch::sm_86, literature},
    Knowledge{Arch::sm_87, derived},    Knowledge{Arch::sm_89, literature},
    Knowledge{Arch::sm_90, measured},
};

constexpr uint32_t bit(Arch a) { return uint32_t{1} << static_cast<unsigned>(a); }
template <class... Archs>
constexpr uint32_t on(Archs... archs) {
    return (bit(archs) | ...);
}
constexpr uint32_t volta = on(Arch::sm_70, Arch::sm_75);
constexpr uint32_t ampere = on(Arch::sm_80, Arch::sm_86, Arch::sm_87, Arch::sm_89);
constexpr uint32_t hopper = on(Arch::sm_90);
constexpr uint32_t all = [] {
    uint32_t out = 0;
    for (const Modelled& m : modelled) out |= m.timed ? bit(m.arch) : 0;
    return out;
}();

// A cost, and the architectures that have it: a bit each.
struct Share {
    uint32_t archs;
    uint16_t latency;
    Centi interval;
};
// Of one kind. A share without architectures stands at the end.
using Shares = std::array<Share, 4>;

constexpr Shares alike(uint16_t latency, Centi interval) { return {Share{all, latency, interval}}; }

// `elsewhere`: how the costs are known where they were not measured. What is guessed there has no
// probe and is measured nowhere.
struct CostRow {
    KindRow row;
    Evidence elsewhere;
    Shares shares;
};

constexpr Evidence evidence_of(const CostRow& row, Evidence best) {
    if (row.elsewhere == guessed) return guessed;
    return best == measured ? measured : std::max(best, row.elsewhere);
}

// clang-format off
constexpr std::array cost_rows{
    CostRow{{Kind::free,       "free",             Pipe::none,     0, ""}, derived, alike(0, 0)},
    CostRow{{alu,              "alu",              Pipe::alu,      1, "results per clock"}, literature, alike(4, 200)},
    CostRow{{alu64,            "alu64",            Pipe::alu,      2, "two halves"}, derived, alike(4, 100)},
    CostRow{{add,              "add",              Pipe::alu,      1, "results per clock; sm_90: on two pipes"}, literature, {Share{volta | ampere, 4, 200}, Share{hopper, 5, 100}}},
    CostRow{{bit_field,        "bit_field",        Pipe::alu,      4, "shifts and masks"}, derived, alike(8, 200)},
    CostRow{{multiply,         "multiply",         Pipe::imad,     1, "results per clock"}, literature, alike(4, 200)},
    CostRow{{multiply64,       "multiply64",       Pipe::imad,     2, "by parts"}, derived, alike(5, 200)},
    CostRow{{f32,              "f32",              Pipe::fma,      1, "results per clock"}, literature, {Share{on(Arch::sm_70, Arch::sm_75, Arch::sm_80), 4, 200}, Share{on(Arch::sm_86, Arch::sm_87, Arch::sm_89), 4, 100}, Share{hopper, 4, 100}}},
    CostRow{{f16x2,            "f16x2",            Pipe::half,     1, "results per clock"}, literature, {Share{volta, 6, 200}, Share{on(Arch::sm_80), 5, 100}, Share{on(Arch::sm_86, Arch::sm_87, Arch::sm_89), 5, 200}, Share{hopper, 8, 120}}},
    CostRow{{f64,              "f64",              Pipe::fp64,     1, "results per clock"}, literature, {Share{on(Arch::sm_70, Arch::sm_80), 8, 400}, Share{on(Arch::sm_75, Arch::sm_86, Arch::sm_87, Arch::sm_89), 8, 6400}, Share{hopper, 8, 220}}},
    CostRow{{mufu,             "mufu",             Pipe::sfu,      1, "results per clock"}, literature, alike(17, 800)},
    CostRow{{mufu_scaled,      "mufu_scaled",      Pipe::sfu,      1, "with a multiplication about it"}, derived, alike(23, 800)},
    CostRow{{convert,          "convert",          Pipe::alu,      1, "results per clock"}, derived, alike(4, 200)},
    CostRow{{convert64,        "convert64",        Pipe::sfu,      1, "results per clock"}, derived, alike(17, 800)},
    CostRow{{count_bits,       "count_bits",       Pipe::sfu,      1, "popc, brev"}, derived, alike(17, 800)},
    CostRow{{find_bit,         "find_bit",         Pipe::sfu,      1, "clz, bfind"}, derived, alike(23, 800)},
    CostRow{{divide_f32,       "divide_f32",       Pipe::fma,      9, "a reciprocal and its refinement"}, guessed, alike(40, 200)},
    CostRow{{divide_f32_full,  "divide_f32_full",  Pipe::fma,      8, "a reciprocal and its scaling"}, derived, alike(45, 150)},
    CostRow{{root_f32,         "root_f32",         Pipe::fma,      8, "a reciprocal root and its refinement"}, guessed, alike(40, 200)},
    CostRow{{divide_f64,       "divide_f64",       Pipe::fp64,    10, "a reciprocal and its refinement"}, guessed, alike(100, 200)},
    CostRow{{divide_u32,       "divide_u32",       Pipe::alu,     16, "through a reciprocal"}, guessed, alike(70, 200)},
    CostRow{{divide_u64,       "divide_u64",       Pipe::alu,     70, "a routine"}, guessed, alike(300, 200)},
    CostRow{{special_register, "special_register", Pipe::uniform,  1, "tid and the like"}, guessed, alike(20, 400)},
    CostRow{{Kind::clock,      "clock",            Pipe::uniform,  1, "the clock"}, guessed, alike(6, 200)},
    CostRow{{predicate,        "predicate",        Pipe::alu,      1, "a comparison"}, derived, alike(4, 200)},
    CostRow{{vote,             "vote",             Pipe::alu,      1, ""}, derived, alike(13, 200)},
    CostRow{{shuffle,          "shuffle",          Pipe::shared,   1, "results per clock"}, derived, alike(24, 400)},
    CostRow{{shuffle_index,    "shuffle_index",    Pipe::shared,   1, "results per clock; the lane in a register"}, derived, alike(26, 400)},
    CostRow{{move_matrix,      "move_matrix",      Pipe::shared,   1, "results per clock"}, derived, alike(24, 400)},
    CostRow{{reduce,           "reduce",           Pipe::sfu,      1, ""}, derived, alike(42, 800)},
    CostRow{{match,            "match",            Pipe::sfu,      1, ""}, derived, alike(27, 800)},
    CostRow{{Kind::branch,     "branch",           Pipe::branch,   1, ""}, guessed, alike(0, 200)},
    CostRow{{call,             "call",             Pipe::branch,   1, ""}, guessed, alike(0, 200)},
    CostRow{{barrier,          "barrier",          Pipe::uniform,  1, ""}, derived, alike(0, 200)},
    CostRow{{fence,            "fence",            Pipe::uniform,  1, "of the CTA"}, derived, alike(8, 200)},
    CostRow{{fence_wide,       "fence_wide",       Pipe::uniform,  1, "of cluster, GPU, system; elsewhere as sm_90"}, derived, alike(271, 200)},
    CostRow{{fence_shared,     "fence_shared",     Pipe::uniform,  1, "fence.proxy.async.shared::cta"}, derived, alike(10, 200)},
    CostRow{{fence_proxy,      "fence_proxy",      Pipe::uniform,  1, "fence.proxy.async"}, derived, alike(153, 200)},
    CostRow{{warp_barrier,     "warp_barrier",     Pipe::uniform,  1, ""}, derived, alike(1, 100)},
    CostRow{{wait,             "wait",             Pipe::uniform,  1, ""}, guessed, alike(4, 200)},
    CostRow{{registers,        "registers",        Pipe::uniform,  1, "setmaxnreg"}, derived, alike(130, 200)},
    CostRow{{constant,         "constant",         Pipe::uniform,  1, "at an address in a register"}, derived, alike(29, 200)},
};
// clang-format on

constexpr size_t kinds = static_cast<size_t>(Kind::count_);

static_assert(
    cost_rows.size() == kinds &&
        [] {
            for (size_t i = 0; i < cost_rows.size(); ++i)
                if (static_cast<size_t>(cost_rows[i].row.kind) != i) return false;
            return true;
        }(),
    "a row for each kind, in their order");

constexpr size_t shares_of(const CostRow& row, Arch arch) {
    size_t n = 0;
    for (const Share& s : row.shares) n += (s.archs & bit(arch)) != 0;
    return n;
}
static_assert(
    [] {
        for (const CostRow& row : cost_rows)
            for (const Modelled& m : modelled)
                if (shares_of(row, m.arch) != m.timed) return false;
        return true;
    }(),
    "each kind has one cost on each timed architecture, and none on others");

constexpr auto rows = [] {
    std::array<KindRow, kinds> out{};
    for (size_t i = 0; i < kinds; ++i) out[i] = cost_rows[i].row;
    return out;
}();

static_assert(
    [] {
        for (const Modelled& m : modelled) {
            size_t n = 0;
            for (const Knowledge& k : knowledge) n += k.arch == m.arch;
            if (n != m.timed) return false;
        }
        return true;
    }(),
    "each timed architecture, and no other, has one row in `knowledge`");

// By architecture and kind.
constexpr auto costs = [] {
    std::array<std::array<Cost, kinds>, modelled.size()> out{};
    for (const Knowledge& k : knowledge)
        for (size_t i = 0; i < kinds; ++i)
            for (const Share& s : cost_rows[i].shares)
                if ((s.archs & bit(k.arch)) != 0)
                    out[static_cast<size_t>(k.arch)][i] = {s.latency, s.interval,
                                                           evidence_of(cost_rows[i], k.best)};
    return out;
}();

}  // namespace

std::span<const KindRow> kind_rows() { return rows; }

const KindRow& row(Kind kind) { return rows[static_cast<size_t>(kind)]; }

const Cost& cost(Arch arch, Kind kind) {
    return costs[static_cast<size_t>(arch)][static_cast<size_t>(kind)];
}

}  // namespace lockwarp::timing
