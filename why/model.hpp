// SPDX-License-Identifier: Apache-2.0
// A product read or written otherwise than it should be: what the run would give then. No run is
// needed to try one: what the program gave is held against it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "why/subject.hpp"

namespace lockwarp::why {

// Where an element of a matrix is read or stored, as an index of its buffer's elements; negative:
// nowhere, zero. Of A (m, k), of B (k, n), of D (m, n).
using Place = std::function<int64_t(int64_t row, int64_t column)>;

struct Model {
    Place a, b, d;                // empty: as it should be
    std::vector<uint8_t> uses_k;  // by k whether it is multiplied; empty: all are
};

// Where the element should be.
Place right_place_a(const launch::Product& p);
Place right_place_b(const launch::Product& p);
Place right_place_d(const launch::Product& p);

// How many of each `step`th element the run gave as the model has them, of those in `which`, and
// how many of them were looked at. before: the data of the run.
struct Agreement {
    uint64_t agree = 0, of = 0;
};
Agreement agreement(const Subject& subject, const Model& model, const Bytes& before,
                    const Bytes& after, const std::vector<Wanted>& wanted,
                    const std::vector<bool>& which, uint64_t step);

}  // namespace lockwarp::why
