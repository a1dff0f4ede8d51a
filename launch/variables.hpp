// SPDX-License-Identifier: Apache-2.0
// Variables of a module that a launch file sets, as a program sets them before a launch.
#pragma once

#include "emu/ptx/tree.hpp"
#include "launch/launch_file.hpp"

namespace lockwarp::launch {

// Makes the bytes of LaunchFile::variables the first values of the module's .const and .global
// variables, which become arrays of bytes of the same size and alignment. An error names the file,
// the field and what was expected; then the module is as it was.
[[nodiscard]] Result<void> set_variables(const LaunchFile& file, ptx::Module& module);

}  // namespace lockwarp::launch
