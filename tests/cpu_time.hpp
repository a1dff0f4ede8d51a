// SPDX-License-Identifier: Apache-2.0
// How long something takes, for tests that it is not quadratic: the thread's own processor time,
// which other work on the machine does not add to.
#pragma once

#include <ctime>

namespace lockwarp {

// Seconds of processor time that this thread has had.
inline double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace lockwarp
