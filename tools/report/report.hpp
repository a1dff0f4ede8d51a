// SPDX-License-Identifier: Apache-2.0
// What a user reads: diagnostics with a caret, traps with their place, matrices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"
#include "launch/input.hpp"

namespace lockwarp::tools {

// The date in UTC: "2026-11-23".
std::string today();

// "kernel.ptx:41:5: error: ...", the line, a caret under the token, and the hint.
std::string caret_report(const std::string& file, std::string_view source,
                         const std::vector<ptx::Diagnostic>& diagnostics);

// A program's own fault, first line the answer. Here and below: with the lines of the CUDA or
// Python source where the PTX has line information.
std::string trap_report(const launch::Input& in, const isa::Program& program,
                        const warp::Trap& trap);

// Of a launch of so many CTAs that Launch::stop ended: where the warps of its lowest CTA stood,
// what was printed until then, and how much was done.
std::string stopped_report(const launch::Input& in, const isa::Program& program,
                           const warp::Result& result, uint64_t ctas);

// What the kernel printed, with a line that says how much; empty where it printed nothing. What is
// no printable character shows as '.'.
std::string printed_report(const warp::Result& result);

}  // namespace lockwarp::tools
