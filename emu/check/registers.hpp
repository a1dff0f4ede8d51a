// SPDX-License-Identifier: Apache-2.0
// Registers that setmaxnreg asks for.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "emu/check/check.hpp"

namespace lockwarp::check {

std::unique_ptr<Check> register_pool(const isa::Program& program, const warp::Launch& launch);

}  // namespace lockwarp::check
