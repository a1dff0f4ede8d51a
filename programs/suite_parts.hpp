// SPDX-License-Identifier: Apache-2.0
// The bodies of the suite's programs, by what their instructions do. Internal to this room.
#pragma once

#include <string>
#include <string_view>

#include "programs/suite_writer.hpp"

namespace lockwarp::programs {

// A spelling of a row of the forms.
struct Spelled {
    const isa::Form* form;
    std::string text;
    isa::Modifiers mod;
};

inline bool has(const Spelled& s, std::string_view part) {
    return s.text.find(part) != std::string::npos;
}

// suite_values.cpp
void write_mma(SuiteWriter& w, const isa::MmaVariant& v);
void write_values(SuiteWriter& w, const std::vector<Spelled>& spellings);
// Instructions of the whole warp: shfl, vote, movmatrix, activemask, bar.warp.
void write_warp(SuiteWriter& w, const std::vector<Spelled>& spellings);

// suite_wmma.cpp: variants that differ in nothing but the order of A and B; moves
void write_wmma(SuiteWriter& w, const std::vector<const isa::WmmaVariant*>& variants);
void write_wmma_moves(SuiteWriter& w, const std::vector<Spelled>& spellings);

// suite_memory.cpp
void write_ld(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_st(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_atomics(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_cp(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_matrix_moves(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_addresses(SuiteWriter& w, const std::vector<Spelled>& spellings);

// suite_sync.cpp: barriers in shared memory; cache policies; hints that change nothing
void write_mbarriers(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_policies(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_hints(SuiteWriter& w, const std::vector<Spelled>& spellings);

// suite_flow.cpp: branches, early ends, barriers, fences
void write_flow(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_barriers(SuiteWriter& w, const std::vector<Spelled>& spellings);
void write_fences(SuiteWriter& w, const std::vector<Spelled>& spellings);

}  // namespace lockwarp::programs
