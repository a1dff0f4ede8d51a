// SPDX-License-Identifier: Apache-2.0
// What explains a wrong matrix, as text, JSON and a picture.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "why/why.hpp"

namespace lockwarp::tools {

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
