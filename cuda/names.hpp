// SPDX-License-Identifier: Apache-2.0
// Names of kernels and variables as a person reads them.
#pragma once

#include <string>

namespace lockwarp::cuda {

// "scale(float*, int)" for "_Z5scalePfi" (Itanium C++ ABI); another name as it is.
std::string plain(const std::string& mangled);

// The same for a line of text, at most 64 characters: a longer name has neither its result nor its
// parameters, then not its end.
std::string brief(const std::string& mangled);

}  // namespace lockwarp::cuda
