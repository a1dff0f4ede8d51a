// SPDX-License-Identifier: Apache-2.0
// Which operand of a product lies elsewhere than it should, by the measured mapping alone: for
// mistakes that no change which is tried mends, such as a wrong stage of a pipeline or a wrong
// tile.
#pragma once

#include <vector>

#include "why/hypothesis.hpp"
#include "why/scene.hpp"

namespace lockwarp::why {

struct Deviations {
    // A part for each that is off: A, B, the order of k, D. Empty: nothing is known to be.
    std::vector<Candidate> parts;
    // It is the order of k alone, of A and B together, which no two changes mend.
    bool of_order = false;
};
Deviations deviations(const Scene& scene, const Mapping& mapping);

}  // namespace lockwarp::why
