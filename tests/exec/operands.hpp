// SPDX-License-Identifier: Apache-2.0
// A program's body over many operands: each thread has three numbers and gives one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/arch.hpp"

namespace lockwarp::exec {

using Triple = std::array<uint64_t, 3>;

// Numbers at every edge of 16, 32 and 64 bits.
std::vector<uint64_t> edge_numbers();

// All pairs of edges, with every edge as the third of some, and random ones.
std::vector<Triple> triples();

// What `body` leaves in %rd20 where %rd10, %rd11, %rd12 are a triple (%r10, %r11, %r12 their lower
// halves), for each of them. Registers as support.hpp's kernel().
std::vector<uint64_t> answers(std::string_view body, const std::vector<Triple>& given,
                              isa::Arch arch = isa::Arch::sm_90);

}  // namespace lockwarp::exec
