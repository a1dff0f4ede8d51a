// SPDX-License-Identifier: Apache-2.0
// Functions of the device's runtime, which PTX declares and libcudadevrt defines, as machine code:
// what they do is ours to say.
#pragma once

#include <string>

namespace lockwarp::cuda {

// A module's text with those that it declares, if there are any; else empty.
std::string with_device_functions(const std::string& text);

// Of an input of a linker by its path or name: it stands for all of these.
bool is_device_runtime(const char* path);

}  // namespace lockwarp::cuda
