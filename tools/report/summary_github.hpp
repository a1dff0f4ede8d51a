// SPDX-License-Identifier: Apache-2.0
// A summary for GitHub Actions: annotations at the lines of the PTX, and the job's summary.
#pragma once

#include <string>
#include <string_view>

#include "validate/summary.hpp"

namespace lockwarp::tools {

// "::error file=F,line=N,title=T::message" for results that are not identical: the ten that
// GitHub shows of a step; where there are more, the last says how many.
std::string github_annotations(const validate::Summary& s);

// The job summary, Markdown: a table of counts, devices, the first results that are not
// identical. Well below the 1 MiB that GitHub takes of a step.
std::string github_markdown(const validate::Summary& s);

// A text as the message of a workflow command, and as a property of it; what is long is cut.
std::string github_message(std::string_view text);
std::string github_property(std::string_view text);

}  // namespace lockwarp::tools
