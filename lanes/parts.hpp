// SPDX-License-Identifier: Apache-2.0
// What the answers about lanes share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanes/answer.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::lanes {

using json = nlohmann::ordered_json;

std::string lower(std::string s);

// "lane 5"; of a warpgroup "thread 37 (warp 1, lane 5)"
std::string lane_text(const Operand& o, unsigned lane);
// "16 x 8 f16"
std::string shape_text(const Operand& o);
// What row and column are called: "m, k"
std::string_view coordinates(const Instruction& i, const Operand& o);
// The formulas forwards, and those backwards; none where it has none.
std::vector<std::string> formula_lines(const Operand& o);

json heading(const Instruction& i);
json place_json(const Operand& o, const Held& h);
json operand_json(const Operand& o, bool elements);

// nullptr, with `out` saying what is wrong, where there is no such operand.
const Operand* needed(const Instruction& i, std::string_view name, Answer& out);

inline constexpr std::string_view quad_pair_note =
    "Four products, one of each quad-pair: quad-pair q is lanes 4q to 4q+3 and 16+4q to 19+4q. "
    "Each has an A, B, C and D of its own; all of them are valid.";

}  // namespace lockwarp::lanes
