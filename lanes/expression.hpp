// SPDX-License-Identifier: Apache-2.0
// Integer expressions of a lane: "(lane%16)*stride + lane/16*16", with C's operators. Nothing
// wraps: where C's 32 bits would, it is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockwarp::lanes {

// nullopt, with `error` and its place set, for text that is none, or a division by zero.
std::optional<uint32_t> evaluate(std::string_view text, uint32_t lane, uint32_t stride,
                                 std::string& error);

}  // namespace lockwarp::lanes
