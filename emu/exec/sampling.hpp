// SPDX-License-Identifier: Apache-2.0
// Which elements of a texture a lookup takes, with which weights, and what it makes of them.
// CUDA C++ programming guide, "Texture Fetching": nearest-point sampling, linear filtering with
// weights of 8 bits of fraction. How a GPU rounds is not said there: it is as an H200 answered
// (tests/hardware/sm_90/textures.txt); other GPUs were not asked.
#pragma once

#include "emu/isa/modifiers.hpp"
#include "emu/isa/texture.hpp"

namespace lockwarp::exec {

// One element of a lookup.
struct Tap {
    uint64_t address = 0;
    uint32_t weight = 0;  // of 256 where it is filtered
    bool inside = false;  // else it is the border
    bool far = false;     // of the second slice of a volume
};

struct Taps {
    std::array<Tap, 8> tap;
    uint32_t count = 0;  // 0: an element that is not there, which is zeros
    bool filtered = false;
};

// The bits of a lookup's coordinates in the instruction's order. `integers`: of .s32.
Taps taps_of(const isa::Texture& t, const isa::Modifiers& m, const std::array<uint32_t, 4>& at,
             bool integers);

// The elements that a filter would weigh, of a texture of two dimensions, counter-clockwise from
// the one at x and y + 1.
Taps gathered_of(const isa::Texture& t, const std::array<uint32_t, 4>& at);

// A component of each of those, by its letter.
std::array<uint32_t, 4> gathered(const isa::Texture& t, const Taps& taps,
                                 const std::array<const uint8_t*, 8>& bytes, char component);

// The four results, of taps whose bytes are `bytes` (nullptr: the border).
std::array<uint32_t, 4> filtered(const isa::Texture& t, const Taps& taps,
                                 const std::array<const uint8_t*, 8>& bytes);

}  // namespace lockwarp::exec
