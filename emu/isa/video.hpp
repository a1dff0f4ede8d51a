// SPDX-License-Identifier: Apache-2.0
// Selectors of the video instructions: which byte or half of an operand, or which of two operands'
// elements, side by side. PTX manual, "Scalar Video Instructions", "SIMD Video Instructions".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockwarp::isa {

// A part of a register: all of it, a byte or a half.
struct VideoPart {
    uint8_t at = 0;  // first bit
    uint8_t bits = 32;
};

// Operation::select holds
//   of a scalar instruction's d, a, b: a number of video_part;
//   of a SIMD instruction's d: bit i, where result i goes to d;
//   of its a and b: from bit 4i on, which element of {a, b} is element i: those of a first.
constexpr VideoPart video_part(uint16_t select) {
    if (select == 0) return {};
    if (select < 5) return {static_cast<uint8_t>(8 * (select - 1)), 8};
    return {static_cast<uint8_t>(16 * (select - 5)), 16};
}

// What a selector (".b0", ".h32"; empty: none is written) says of operand d, a or b of an
// instruction with so many elements (1, 2, 4). nullopt: it has no such selector.
std::optional<uint16_t> video_select(std::string_view text, unsigned elements, char operand);

}  // namespace lockwarp::isa
