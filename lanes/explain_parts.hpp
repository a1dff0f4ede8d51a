// SPDX-License-Identifier: Apache-2.0
// What the explanations of sums share.
#pragma once

#include <cstdint>
#include <string>

#include "emu/isa/arch.hpp"
#include "emu/isa/types.hpp"

namespace lockwarp::lanes {

// "0x41400000 = 12"
std::string both(isa::Type t, uint64_t bits);

std::string arch_name(isa::Arch a);

// The next number of SplitMix64.
uint64_t next_random(uint64_t& state);

// A value of a moderate size: integers small, others with exponents some steps apart.
uint64_t random_value(isa::Type type, uint64_t& state);

}  // namespace lockwarp::lanes
