// SPDX-License-Identifier: Apache-2.0
// A summary as a JSON file, "lockwarp-report/1": what --json writes and `lockwarp report` reads.
#pragma once

#include <string>

#include "launch/result.hpp"
#include "validate/summary.hpp"

namespace lockwarp::tools {

// Always the same text for the same summary. Texts that are not UTF-8 become so.
std::string summary_json(const validate::Summary& s);

// An error names the file, the field and what was expected. Fields that are not known are
// ignored; another version of the schema is not. Sums that contradict each other are refused.
[[nodiscard]] launch::Result<validate::Summary> read_summary(const std::string& path);

// The same from text; `path` is for messages.
[[nodiscard]] launch::Result<validate::Summary> parse_summary(const std::string& text,
                                                              const std::string& path);

}  // namespace lockwarp::tools
