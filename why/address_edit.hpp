// SPDX-License-Identifier: Apache-2.0
// An instruction's address worked out anew: a few instructions before it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "why/edit.hpp"
#include "why/scene.hpp"

namespace lockwarp::why {

// PTX statements that make %y of the address %x (32 bits: the low ones of a wide address); %t, %u
// and %v are free, %lane holds %laneid.
struct Rewrite {
    std::string code;
};

Rewrite swizzled(unsigned bits, unsigned base, unsigned shift);
Rewrite moved_by(int64_t bytes);
// The address that lane `of_lane` has: PTX statements that make %u of %lane.
Rewrite of_lane(const std::string& code);
// The address of lane 0, and row * pitch + half * 16 behind it: PTX statements that make the row in
// %u and the half in %v.
Rewrite rows_of(const std::string& code, uint64_t pitch);
// The same in a tile that is swizzled: address bits 4 to 4 + bits are XORed with those `shift`
// above.
Rewrite swizzled_rows_of(const std::string& code, uint64_t pitch, unsigned bits, unsigned shift);
// The next (or so many further) of `stages` parts of `bytes` each, from `first` on.
Rewrite next_stage(uint64_t first, uint64_t bytes, uint64_t stages, uint64_t further);

// Adds the edit of one instruction's address to the patch; false: it has none that can be changed.
// Of cp.async the destination's.
bool rewrite_address(const Scene& scene, uint32_t operation, const Rewrite& rewrite, Patch& out);

// Instructions from text, with registers of the program and of the patch; empty: not PTX.
std::vector<ptx::Instruction> instructions(const std::string& code);

}  // namespace lockwarp::why
