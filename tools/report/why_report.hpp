// SPDX-License-Identifier: Apache-2.0
// What explains a wrong matrix, as text, JSON and a picture.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/report/changed_line.hpp"
#include "why/why.hpp"

namespace lockwarp::tools {

// "the registers b0 and b1 of line 41 are swapped; and B is transposed".
std::string words_of(const why::Explanation& e);
// "explains all 128 elements", "explains 96 of 128 (and breaks 2)".
std::string explains(const why::Explanation& e, uint64_t wrong);
// The lines of the program that an explanation changes.
std::vector<ChangedLine> changed_lines(const why::Subject& subject, const why::Explanation& e);

// First line the answer, then the changed lines, what else explains it, and the map of the errors.
// name: what the expectation is called ("D = A*B").
std::string why_text(const std::string& name, const why::Subject& subject,
                     const why::Answer& answer);

// The matrix in blocks of elements, a letter each: at most 100 columns wide.
std::string error_map_text(const why::ErrorMap& map);
std::string error_map_svg(const std::string& name, const why::ErrorMap& map);

nlohmann::ordered_json why_json(const std::string& name, const why::Subject& subject,
                                const why::Answer& answer);

}  // namespace lockwarp::tools
