// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstring>

namespace lockwarp::start {

// A line on stderr.
inline void say(const char* first, const char* second = "") {
    const char* const parts[] = {"lockwarp: ", first, second, "\n"};
    for (const char* const part : parts)
        if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) return;
}

}  // namespace lockwarp::start
