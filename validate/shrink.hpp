// SPDX-License-Identifier: Apache-2.0
// Makes a case that differs smaller while it still differs.
#pragma once

#include <functional>
#include <optional>

#include "validate/lockstep.hpp"

namespace lockwarp::validate {

// A case, its text, and what the comparison says of it.
struct Shrunk {
    launch::Case c;
    std::string ptx;
    Report report;
};

// Runs a case on both sides.
using Compare = std::function<Report(const launch::Case&)>;

// The instruction of `report`'s first difference alone, in one warp, on the registers it read:
// lanes and bits that do not matter are 0. Nothing where it does not differ by itself.
std::optional<Shrunk> shrink_to_instruction(const Report& report, const ptx::Instruction& original,
                                            const Compare& compare);

// The program without the instructions that do not matter.
Shrunk shrink_program(const launch::Case& c, const Report& report, const Compare& compare);

// The launch file of a case with one buffer "in".
std::string launch_json(const launch::Case& c, const std::string& arch);

}  // namespace lockwarp::validate
