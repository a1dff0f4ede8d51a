// SPDX-License-Identifier: Apache-2.0
// A summary as a JSON file, "lockwarp-report/1": what --json writes and `lockwarp report` reads.
#pragma once

#include <string>

#include "launch/files.hpp"
#include "validate/summary.hpp"

namespace lockwarp::tools {

// Always the same text for the same summary. Texts that are not UTF-8 become so.
std::string summary_json(const validate::Summary& s);

// The problem names the file, the field and what was expected. Fields that are not known are
// ignored; another version of the schema is not. Sums that contradict each other are refused.
launch::Problem read_summary(const std::string& path, validate::Summary& out);

// The same from text; `path` is for messages.
launch::Problem parse_summary(const std::string& text, const std::string& path,
                              validate::Summary& out);

}  // namespace lockwarp::tools
