// SPDX-License-Identifier: Apache-2.0
// A faulty program with what was measured of it: what hypotheses are made from.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "why/edit.hpp"
#include "why/mapping.hpp"
#include "why/model.hpp"
#include "why/subject.hpp"
#include "why/survey.hpp"

namespace lockwarp::why {

// How much of a mapping is as one would write it: rows, columns and k of an instruction's operands
// one after another. Of changes that mend as much the one that leaves more of this is the likelier.
struct Natural {
    double a = 0, b = 0, d = 0;       // of the product's A and B, and of the stores
    double order_a = 0, order_b = 0;  // of k from one instruction to the next
    double sum() const { return a + b + d; }
    double mean() const { return (a + b + order_a + order_b + 4 * d) / 8; }
};
Natural natural_share(const Mapping& mapping, const launch::Product& product);

// The mapping as it is where A, B and D lie as the model has them.
Mapping as_modelled(const Mapping& mapping, const launch::Product& product, const Model& model);

struct Scene {
    const Subject& subject;
    const Text& text;
    const isa::Program& program;
    const std::optional<Mapping>& mapping;
    uint64_t first_cta = 0, ctas = 0;  // that hold wrong elements: what tries are run on
    uint64_t max_steps = UINT64_MAX;
    uint64_t step = 1;  // each so many elements of D are looked at to rank changes
    double share = 0;   // of right products
    Natural natural = {};
    // Elements of A come from another row or k than they should, of B from another k or column;
    // those of D from products of both.
    bool a_is_off = true, b_is_off = true, d_is_off = true;
    // Some k are missing, or there once more.
    bool k_is_missing = false, k_is_twice = false;
    std::vector<Touch> touches = {};

    const ptx::Instruction* instruction(uint32_t operation) const {
        return text.at(program.operations[operation].place);
    }
};

}  // namespace lockwarp::why
