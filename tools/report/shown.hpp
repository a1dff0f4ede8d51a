// SPDX-License-Identifier: Apache-2.0
// Lines of a source and of text as reports show them, at most 100 columns wide.
#pragma once

#include <string>
#include <string_view>

#include "emu/ptx/tree.hpp"

namespace lockwarp::tools {

// The line and a caret under the place, cut to the width of a terminal; what is no printable
// character shows as '.'.
std::string marked(std::string_view source, ptx::Place place);

// A text in lines that begin with two blanks, broken at blanks.
std::string folded(std::string_view text);

}  // namespace lockwarp::tools
