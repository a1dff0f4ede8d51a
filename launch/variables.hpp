// SPDX-License-Identifier: Apache-2.0
// Variables of a module that a launch file sets, as a program sets them before a launch.
#pragma once

#include "emu/ptx/tree.hpp"
#include "launch/launch_file.hpp"

namespace lockwarp::launch {

// Makes the bytes of Kernel::variables the first values of the module's .const and .global
// variables, which become arrays of bytes of the same size and alignment. An error names the file,
// the field and what was expected; then the module is as it was.
[[nodiscard]] Result<void> set_variables(const LaunchFile& file, const Kernel& kernel,
                                         ptx::Module& module);

// Whether "_ZN2ns4tapsE" is the variable that `name` means, such as "taps".
bool names_variable(const std::string& mangled, const std::string& name);

// Makes the bytes the first values of one variable of that name, as set_variables does.
void set_variable(ptx::Module& module, const std::string& name, const std::vector<uint8_t>& bytes);

// The .global or .const variable of a program that `name` means, mangled or not; nullptr where
// there is none or several.
const isa::Placed* find_variable(const isa::Program& program, const std::string& name);

}  // namespace lockwarp::launch
