// SPDX-License-Identifier: Apache-2.0
// What of B an element of a sparse A goes with (PTX manual, "Sparse matrix storage").
#pragma once

#include <cstdint>

#include "emu/isa/matrix.hpp"

namespace lockwarp::isa {

// What of B's column, along k, a stored element of A's row goes with: an element; of .tf32, whose
// elements are two units, a unit each for the lower and the upper half.
struct Chosen {
    unsigned k = 0;                       // the element, or that which has the lower unit
    unsigned k_upper = 0;                 // that which has the upper one
    unsigned shift = 0, shift_upper = 0;  // from which bit on they have it
    bool halves = false;
};

// That of the stored element `at`. `places` is the row's metadata, four bits for each group; `held`
// the bits that hold an element of A. What the manual leaves undefined is as an H100 has it: any
// place of a group may be named, in any order and twice, also for the halves of an element.
constexpr Chosen chosen(unsigned held, const uint64_t* places, unsigned at) {
    const unsigned width = unit_bits(held);
    const auto unit_of = [&](unsigned stored) {
        const unsigned group = stored / 2;
        return group * group_units + static_cast<unsigned>(places[group] >> (stored % 2 * 2) & 3);
    };
    if (held > width) {
        const unsigned lower = unit_of(2 * at), upper = unit_of(2 * at + 1);
        return {lower / 2, upper / 2, lower % 2 * width, upper % 2 * width, true};
    }
    const unsigned each = width / held;
    const unsigned k = unit_of(at / each) * each + at % each;
    return {k, k, 0, 0, false};
}

// Its bits. `element(k)`: those of an element of the column.
template <class Element>
constexpr uint64_t bits_of(const Chosen& c, const Element& element) {
    if (!c.halves) return element(c.k);
    const uint64_t lower = element(c.k) >> c.shift & 0xffff;
    return (element(c.k_upper) >> c.shift_upper & 0xffff) << 16 | lower;
}

// Where a wgmma has four bits of a sparse A's metadata, as mma.sp of the same types has them: those
// of `group` in a row of the warp's 16. `held`: the bits of A's elements; `selector`: which two
// lanes of four give it, where not all do (PTX manual, "wgmma.mma_async.sp").
struct MetadataPlace {
    unsigned lane, shift;
};
constexpr MetadataPlace warpgroup_metadata(unsigned held, unsigned row, unsigned group,
                                           unsigned selector) {
    const unsigned first = row % 8 * 4, below = row / 8;
    if (held == 8) return {first + below + 2 * (group / 8), group % 8 * 4};
    return {first + 2 * selector + group / 4, group % 4 * 4 + 16 * below};
}

}  // namespace lockwarp::isa
