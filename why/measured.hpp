// SPDX-License-Identifier: Apache-2.0
// What a mapping shows by itself.
#pragma once

#include <string>
#include <vector>

#include "why/mapping.hpp"

namespace lockwarp::why {

// By k whether products of it come to D.
std::vector<uint8_t> reached_k(const Mapping& mapping, const launch::Product& product);

// Whether every accumulator is stored, or goes on into another.
bool every_sum_counts(const Mapping& mapping);

// "the accumulators c1 of the mma from line 270 on are never stored"; empty: all are.
std::string never_stored_text(const Mapping& mapping, const isa::Program& program);

// Sentences: from where an operand's elements come when that is not where they should, and the k
// that products begin at.
std::vector<std::string> measured_text(const Mapping& mapping, const Subject& subject,
                                       const isa::Program& program);

}  // namespace lockwarp::why
