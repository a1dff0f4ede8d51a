// SPDX-License-Identifier: Apache-2.0
// What checks found, as a person reads it.
#pragma once

#include <span>
#include <string>

#include "emu/check/check.hpp"
#include "launch/input.hpp"

namespace lockwarp::tools {

// How many findings are errors.
size_t errors_of(std::span<const check::Found> found);

// "2 errors, 1 note"; "nothing was found".
std::string counts_text(std::span<const check::Found> found);

// "0-7,16"
std::string lanes_text(uint32_t lanes);

// "CTA (0,0,0), warp 1, lanes 0-7,16, step 12"
std::string site_text(const check::Site& site);

// Where: the site, the address and what it is in, how often.
std::string place_text(const check::Found& f);

// "k.ptx:30: error: reads what line 18 copies [sync/copy-not-awaited]", with the lines of CUDA or
// Python where they are known; the line of the PTX with a caret, its place in CUDA or Python, where
// in the run, the other side, and the hint. Whole lines.
std::string finding_text(const launch::Input& in, const isa::Program& program,
                         const check::Found& f);

// "CHECK  2 errors, 1 note: line 30 reads what line 18 copies" and all of them; empty where nothing
// was found.
std::string findings_report(const launch::Input& in, const isa::Program& program,
                            std::span<const check::Found> found);

}  // namespace lockwarp::tools
