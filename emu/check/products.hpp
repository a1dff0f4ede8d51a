// SPDX-License-Identifier: Apache-2.0
// Registers of a wgmma that are touched before the warp has waited for it.
#pragma once

#include <memory>

#include "emu/check/check.hpp"

namespace lockwarp::check {

std::unique_ptr<Check> products_not_awaited(const isa::Program& program,
                                            const warp::Launch& launch);

}  // namespace lockwarp::check
