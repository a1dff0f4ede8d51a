// SPDX-License-Identifier: Apache-2.0
// Names of functions as their source has them.
#pragma once

#include <string>

namespace lockwarp::launch {

// "scale(float*, int)" for "_Z5scalePfi"; a name that is not mangled (Itanium C++ ABI) as it is.
std::string demangled(const std::string& name);

}  // namespace lockwarp::launch
