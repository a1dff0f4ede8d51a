// SPDX-License-Identifier: Apache-2.0
// Findings that are known and meant: lines of "CHECK[/KIND] [FILE[:LINE]]", with '#' before a
// comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/result.hpp"
#include "tools/report/checked.hpp"

namespace lockwarp::tools {

struct Suppression {
    std::string check, kind;  // kind empty: all of the check's
    std::string file;         // the end of a path, PTX's or source's; empty: any
    uint32_t line = 0;        // 0: any
    std::string at;           // "FILE:LINE" of the suppression itself
    std::string text;
    bool used = false;
};

// An error names the line, and what would be right.
[[nodiscard]] launch::Result<std::vector<Suppression>> parse_suppressions(const std::string& text,
                                                                          const std::string& path);

// Marks what is suppressed, and lists the suppressions that none of the findings needed.
void suppress(CheckReport& report, std::vector<Suppression>& all);

}  // namespace lockwarp::tools
