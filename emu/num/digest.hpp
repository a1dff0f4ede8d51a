// SPDX-License-Identifier: Apache-2.0
// A digest of the values that one lane wrote, in their order: two 32-bit states, into each of which
// each value is mixed by a step that is one-to-one. One value that differs always shows; several
// hide each other with a chance of 2^-64.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace lockwarp::num {

inline constexpr std::array<uint32_t, 2> digest_multiplier{0x9e3779b1, 0x85ebca77};
inline constexpr std::array<unsigned, 2> digest_shift{15, 13};
inline constexpr unsigned digest_turn = 16;  // of the value, for the second state

// The definition. `salt` is xored into the value.
constexpr void digest_one(uint32_t value, uint32_t salt, uint32_t& first, uint32_t& second) {
    const uint32_t x = value ^ salt;
    first = (first ^ x) * digest_multiplier[0];
    first ^= first >> digest_shift[0];
    second = (second ^ std::rotl(x, digest_turn)) * digest_multiplier[1];
    second ^= second >> digest_shift[1];
}

// Tells the values of one instruction from those of another: word `word` of what instruction
// `number` wrote.
constexpr uint32_t digest_salt(uint32_t number, uint32_t word) {
    return number * 0xc2b2ae3du + word * 0x27d4eb2fu;
}

}  // namespace lockwarp::num
