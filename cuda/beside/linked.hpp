// SPDX-License-Identifier: Apache-2.0
// What the GPU's driver linked of texts of PTX (cuLink): machine code, whose text is remembered.
#pragma once

#include <optional>
#include <string>

namespace lockwarp::beside {

// The PTX of machine code that the driver linked in this process; nullopt: it is no such code. The
// program may have copied it.
std::optional<std::string> linked_text(const void* image);

}  // namespace lockwarp::beside
