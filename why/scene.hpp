// SPDX-License-Identifier: Apache-2.0
// A faulty program with what was measured of it: what hypotheses are made from.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "why/edit.hpp"
#include "why/mapping.hpp"
#include "why/subject.hpp"

namespace lockwarp::why {

// How much of a mapping is as one would write it: rows, columns and k of an instruction's operands
// one after another. Of changes that mend as much the one that leaves more of this is the likelier.
double natural_share(const Mapping& mapping, const launch::Product& product);

struct Scene {
    const Subject& subject;
    const Text& text;
    const isa::Program& program;
    const std::optional<Mapping>& mapping;
    uint64_t first_cta = 0, ctas = 0;  // that hold wrong elements: what tries are run on
    uint64_t max_steps = UINT64_MAX;
    uint64_t step = 1;   // each so many elements of D are looked at to rank changes
    double share = 0;    // of right products
    double natural = 0;  // natural_share

    const ptx::Instruction* instruction(uint32_t operation) const {
        return text.at(program.operations[operation].place);
    }
};

}  // namespace lockwarp::why
