// SPDX-License-Identifier: Apache-2.0
// Which element of B an element of a sparse A goes with (PTX manual, "Sparse matrix storage").
#pragma once

#include <cstdint>

#include "emu/isa/matrix.hpp"

namespace lockwarp::isa {

// The element of B's column, along k, that the stored element `at` of A's row goes with. `places`
// is the row's metadata, four bits for each group; `held` the bits that hold an element of A.
constexpr unsigned chosen_k(unsigned held, const uint64_t* places, unsigned at) {
    const unsigned width = unit_bits(held);
    const unsigned unit = at * held / width;  // among those that are stored
    const unsigned group = unit / 2;
    const unsigned place = places[group] >> (unit % 2 * 2) & 3;
    const unsigned first = (group * group_units + place) * width / held;
    return first + (held < width ? at % (width / held) : 0);
}

}  // namespace lockwarp::isa
