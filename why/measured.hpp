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

// Sentences: from where an operand's elements come when that is not where they should, k that are
// left out or come twice, accumulators that are never stored.
std::vector<std::string> measured_text(const Mapping& mapping, const Subject& subject,
                                       const isa::Program& program);

}  // namespace lockwarp::why
