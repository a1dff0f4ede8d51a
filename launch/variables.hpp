// Variables of a module that a launch file sets, as a program sets them before a launch.
#pragma once

#include <string>

#include "launch/launch_file.hpp"

namespace lockwarp::launch {

// Writes the bytes of LaunchFile::variables into the PTX text as the initialisers of its .const and
// .global variables; every line stays where it is. A text that does not parse stays as it is. The
// problem names the file, the field and what was expected.
Problem set_variables(const LaunchFile& file, std::string& ptx);

}  // namespace lockwarp::launch
