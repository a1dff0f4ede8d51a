// SPDX-License-Identifier: Apache-2.0
// The numbers in PTX that may be addresses: a compiler that knows an array may write down where it
// lies.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lockwarp::cuda {

// The integer constants of a text that do not fit into 32 bits, ascending, each once.
std::vector<uint64_t> large_numbers(std::string_view text);

}  // namespace lockwarp::cuda
