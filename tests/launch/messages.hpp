// SPDX-License-Identifier: Apache-2.0
// What launch files are told of what is wrong in them, and where.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "launch/launch_file.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {

// '^' stands before what is wrong and is no part of the text; without one nothing is.
inline void expect(std::string text, const std::string& message) {
    const size_t mark = text.find('^');
    std::string whole;
    if (mark != std::string::npos) {
        text.erase(mark, 1);
        const auto line =
            1 + std::count(text.begin(), text.begin() + static_cast<long>(mark), '\n');
        const size_t begin = text.rfind('\n', mark) + 1;  // 0 on the first line
        whole = "x.json:" + std::to_string(line) + ":" + std::to_string(mark - begin + 1) + ": " +
                message;
    }
    LaunchFile file;
    EXPECT_EQ(take(parse_launch_file(text, "x.json"), file), whole) << text;
}

struct Told {
    std::string text, message;
};
inline void expect_all(const std::string& before, const std::vector<Told>& cases,
                       const std::string& after) {
    ASSERT_FALSE(cases.empty());
    for (const Told& c : cases) expect(before + c.text + after, c.message);
}

}  // namespace lockwarp::launch
