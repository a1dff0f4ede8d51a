// SPDX-License-Identifier: Apache-2.0
// A line of a program, and what would be right there.
#pragma once

#include <string>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::tools {

struct ChangedLine {
    std::string ptx;  // file
    ptx::Place at;
    std::string is;                    // the instruction there; empty: none
    std::vector<std::string> becomes;  // instructions; empty: none
};

// The file and the line, "-   " what is there and "+   " what becomes of it. Whole lines.
std::string changed_text(const ChangedLine& line);

}  // namespace lockwarp::tools
