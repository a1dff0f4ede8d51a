// SPDX-License-Identifier: Apache-2.0
// Operands for one instruction after another: of every type its edges, beside each other, and
// random ones; of types with 16 bits or fewer every value.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/exec/definition.hpp"

namespace lockwarp::exec {

using Operands = std::array<uint64_t, 4>;

enum class Amount : uint8_t { few, usual };

// For sources of these types. scale: times as many random ones.
std::vector<Operands> operands_of(const std::vector<TypeName>& sources, Amount amount,
                                  size_t scale);

}  // namespace lockwarp::exec
