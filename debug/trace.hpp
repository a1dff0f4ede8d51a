// SPDX-License-Identifier: Apache-2.0
// What lanes did, instruction by instruction, as text.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/input.hpp"
#include "launch/result.hpp"

namespace lockwarp::debug {

// Empty: all.
struct TraceFilter {
    std::vector<std::pair<uint32_t, uint32_t>> lines;  // of the PTX, first and last
    std::set<uint64_t> ctas;                           // indices
    std::set<uint32_t> warps;
    std::set<uint32_t> lanes;
    std::set<std::string> registers;        // instructions that write one of them, and only it
    std::vector<std::string> instructions;  // opcodes, whole or up to a dot
    uint64_t max_rows = UINT64_MAX;
};

// Runs the launches one CTA after another. A row, by tabs: launch, CTA, warp, step, line, lane,
// instruction, register, bits, value; an access to memory has "[space]" as its register and the
// address as its bits. Rows come to `write` in the order of the run. What it returns: how many.
launch::Result<uint64_t> trace(const std::vector<launch::Loaded>& launches,
                               const TraceFilter& filter, const std::atomic<bool>* stop,
                               const std::function<void(const std::string& rows)>& write);

inline constexpr std::string_view trace_header =
    "launch\tcta\twarp\tstep\tline\tlane\tinstruction\tregister\tbits\tvalue\n";

}  // namespace lockwarp::debug
