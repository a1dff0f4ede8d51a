// SPDX-License-Identifier: Apache-2.0
// Where this process has its own memory. A launch file of another program has buffers at the
// addresses that a GPU gave there, by chance at some that libraries have here.
#pragma once

#include <string_view>

namespace lockwarp::tools {

// Whether a command puts buffers where a launch file says.
bool uses_given_addresses(std::string_view command);

// Begins the process anew with its libraries at the bottom of the address space, where the driver
// gives no memory (personality(2), ADDR_COMPAT_LAYOUT). It returns where that is so already, or is
// not allowed.
void map_from_below(char** argv);

// For a program that this process becomes: as it would be mapped without lockwarp.
void map_as_always();

}  // namespace lockwarp::tools
