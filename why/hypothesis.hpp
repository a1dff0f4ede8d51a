// SPDX-License-Identifier: Apache-2.0
// What may be wrong, as rows: what each hypothesis changes, where, and how it is worded. A
// candidate is a hypothesis at its place in one program, as a change that can be run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "why/edit.hpp"
#include "why/mapping.hpp"
#include "why/model.hpp"
#include "why/scene.hpp"
#include "why/subject.hpp"

namespace lockwarp::why {

struct Hypothesis;

// A candidate: the mended program, or what this one makes of the data.
struct Candidate {
    const Hypothesis* of = nullptr;
    std::string words;  // what is wrong: "the registers b0 and b1 of line 41 are swapped"
    Patch patch;        // empty: of the data
    std::optional<Model> model;
    std::vector<ptx::Place> places;  // of the instructions that it speaks of
    unsigned cost = 1;               // of two that explain as much the cheaper one is named first
    double predicted = 0;            // the share of right products, where it was worked out
    double promise = 0;              // for a second change beside it
    bool operands_only = false;      // the accumulators come from and go to where they did
};

using Make = void(const Scene& scene, std::vector<Candidate>& out);

struct Hypothesis {
    std::string_view name;
    std::string_view changes;  // what is tried
    std::string_view applies;  // to what
    Make* make;
};

// In the order in which they are tried.
std::span<const Hypothesis> hypotheses();

// "line 41", "lines 41 and 43", "the 16 lines from 120 to 260".
std::string lines_text(const std::vector<ptx::Place>& places);

Make try_registers_of_a, try_registers_of_b, try_accumulators, try_trans, try_ldmatrix_rows,
    try_lanes, try_swizzles, try_offsets, try_stages, try_loop_ends, try_accumulator_start,
    try_transposed, try_leading_dimensions, try_blocks, try_part_of_k, try_packed, try_wmma,
    try_swizzled_rows, try_index, try_cta_indices, try_swizzles_of_both, try_other_swizzles;

}  // namespace lockwarp::why
