// SPDX-License-Identifier: Apache-2.0
// The exit statuses of every command.
#pragma once

namespace lockwarp::tools {

inline constexpr int done = 0;
inline constexpr int differs_or_trapped = 1;
inline constexpr int wrong_input = 2;
inline constexpr int no_gpu = 77;
inline constexpr int interrupted = 130;

}  // namespace lockwarp::tools
