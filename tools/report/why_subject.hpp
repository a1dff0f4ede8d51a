// SPDX-License-Identifier: Apache-2.0
// An expectation of a launch file as the question why it does not hold.
#pragma once

#include <string>
#include <vector>

#include "debug/expected.hpp"
#include "launch/launch_file.hpp"
#include "why/subject.hpp"

namespace lockwarp::tools {

// The matrix of an expectation, which must be one of a buffer. What the arguments refer to must
// outlive the subject. rows, columns: of an expectation without a product; 0: not known.
[[nodiscard]] launch::Result<why::Subject> why_subject(const std::vector<launch::Loaded>& steps,
                                                       const launch::Expectation& e,
                                                       const launch::State& state,
                                                       uint64_t rows = 0, uint64_t columns = 0);

// The expectations to be looked at: those of the command line (--product), else those of the file.
[[nodiscard]] launch::Result<std::vector<launch::Expectation>> why_expectations(
    const std::vector<std::string>& products, const launch::LaunchFile& file,
    const launch::State& state);

// The first of them that is a product, for the debugger.
debug::SubjectOf subject_of(std::vector<std::string> products);

}  // namespace lockwarp::tools
