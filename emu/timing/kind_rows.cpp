// SPDX-License-Identifier: Apache-2.0
// What the kinds of scalar instructions cost. sm_90's rows are an H200's answers to
// gpu/clock_probe; rates of the others follow from the results per clock and SM of the CUDA C++
// programming guide, "Arithmetic Instructions": a sub-core's interval is 32 lanes over a quarter of
// them.
#include <algorithm>

#include "emu/timing/machine.hpp"

namespace lockwarp::timing {

namespace {

using enum Evidence;
using enum Kind;

// The same on each architecture, but for how it is known: measured on the last.
constexpr std::array<Cost, modelled> alike(uint16_t latency, Centi interval,
                                           Evidence elsewhere = derived) {
    std::array<Cost, modelled> out{};
    for (Cost& c : out) c = {latency, interval, elsewhere};
    out.back().how = measured;
    return out;
}
// Rates as given, latencies of sm_70 and 75, of 80 to 89, and of 90.
constexpr std::array<Cost, modelled> at(std::array<uint16_t, 3> latency,
                                        std::array<Centi, modelled> interval) {
    std::array<Cost, modelled> out{};
    for (size_t i = 0; i < modelled; ++i)
        out[i] = {latency[i < 2 ? 0 : i < 5 ? 1 : 2], interval[i], i == 5 ? measured : published};
    return out;
}

// clang-format off
constexpr std::array rows{
    KindRow{Kind::free,       "free",             Pipe::none,    0, alike(0, 0), ""},
    KindRow{alu,              "alu",              Pipe::alu,     1, alike(4, 200, published), "results per clock"},
    KindRow{alu64,            "alu64",            Pipe::alu,     2, alike(4, 100), "two halves"},
    KindRow{add,              "add",              Pipe::alu,     1, at({4, 4, 5}, {200, 200, 200, 200, 200, 100}), "results per clock; sm_90: on two pipes"},
    KindRow{bit_field,        "bit_field",        Pipe::alu,     4, alike(8, 200), "shifts and masks"},
    KindRow{multiply,         "multiply",         Pipe::imad,    1, alike(4, 200, published), "results per clock"},
    KindRow{multiply64,       "multiply64",       Pipe::imad,    2, alike(5, 200), "by parts"},
    KindRow{f32,              "f32",              Pipe::fma,     1, at({4, 4, 4}, {200, 200, 200, 100, 100, 100}), "results per clock"},
    KindRow{f16x2,            "f16x2",            Pipe::half,    1, at({6, 5, 8}, {200, 200, 100, 200, 200, 120}), "results per clock"},
    KindRow{f64,              "f64",              Pipe::fp64,    1, at({8, 8, 8}, {400, 6400, 400, 6400, 6400, 220}), "results per clock"},
    KindRow{mufu,             "mufu",             Pipe::sfu,     1, alike(17, 800, published), "results per clock"},
    KindRow{mufu_scaled,      "mufu_scaled",      Pipe::sfu,     1, alike(23, 800), "with a multiplication about it"},
    KindRow{convert,          "convert",          Pipe::alu,     1, alike(4, 200), "results per clock"},
    KindRow{convert64,        "convert64",        Pipe::sfu,     1, alike(17, 800), "results per clock"},
    KindRow{count_bits,       "count_bits",       Pipe::sfu,     1, alike(17, 800), "popc, brev"},
    KindRow{find_bit,         "find_bit",         Pipe::sfu,     1, alike(23, 800), "clz, bfind"},
    KindRow{divide_f32,       "divide_f32",       Pipe::fma,     9, alike(40, 200, guessed), "a reciprocal and its refinement"},
    KindRow{divide_f32_full,  "divide_f32_full",  Pipe::fma,     8, alike(45, 150), "a reciprocal and its scaling"},
    KindRow{root_f32,         "root_f32",         Pipe::fma,     8, alike(40, 200, guessed), "a reciprocal root and its refinement"},
    KindRow{divide_f64,       "divide_f64",       Pipe::fp64,   10, alike(100, 200, guessed), "a reciprocal and its refinement"},
    KindRow{divide_u32,       "divide_u32",       Pipe::alu,    16, alike(70, 200, guessed), "through a reciprocal"},
    KindRow{divide_u64,       "divide_u64",       Pipe::alu,    70, alike(300, 200, guessed), "a routine"},
    KindRow{special_register, "special_register", Pipe::uniform, 1, alike(20, 400, guessed), "tid and the like"},
    KindRow{Kind::clock,      "clock",            Pipe::uniform, 1, alike(6, 200, guessed), "the clock"},
    KindRow{predicate,        "predicate",        Pipe::alu,     1, alike(4, 200), "a comparison"},
    KindRow{vote,             "vote",             Pipe::alu,     1, alike(13, 200), ""},
    KindRow{shuffle,          "shuffle",          Pipe::shared,  1, alike(24, 400), "results per clock"},
    KindRow{shuffle_index,    "shuffle_index",    Pipe::shared,  1, alike(26, 400), "results per clock; the lane in a register"},
    KindRow{move_matrix,      "move_matrix",      Pipe::shared,  1, alike(24, 400), "results per clock"},
    KindRow{reduce,           "reduce",           Pipe::sfu,     1, alike(42, 800), ""},
    KindRow{match,            "match",            Pipe::sfu,     1, alike(27, 800), ""},
    KindRow{Kind::branch,     "branch",           Pipe::branch,  1, alike(0, 200, guessed), ""},
    KindRow{call,             "call",             Pipe::branch,  1, alike(0, 200, guessed), ""},
    KindRow{barrier,          "barrier",          Pipe::uniform, 1, alike(0, 200), ""},
    KindRow{fence,            "fence",            Pipe::uniform, 1, alike(8, 200), "of the CTA; wider ones wait for L2, which is not modelled"},
    KindRow{warp_barrier,     "warp_barrier",     Pipe::uniform, 1, alike(1, 100), ""},
    KindRow{wait,             "wait",             Pipe::uniform, 1, alike(4, 200, guessed), ""},
    KindRow{constant,         "constant",         Pipe::uniform, 1, alike(29, 200), "at an address in a register"},
};
// clang-format on

static_assert(
    rows.size() == static_cast<size_t>(Kind::count_) &&
        [] {
            for (size_t i = 0; i < rows.size(); ++i)
                if (static_cast<size_t>(rows[i].kind) != i) return false;
            return true;
        }(),
    "a row for each kind, in their order");

}  // namespace

std::span<const KindRow> kind_rows() { return rows; }

const KindRow& row(Kind kind) { return rows[static_cast<size_t>(kind)]; }

const Cost& cost(Arch arch, Kind kind) {
    return row(kind).by_arch[std::min(static_cast<size_t>(arch), modelled - 1)];
}

}  // namespace lockwarp::timing
