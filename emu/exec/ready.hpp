// SPDX-License-Identifier: Apache-2.0
// A program made ready once, for any number of launches, also at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

struct Ready {
    Code code;
    std::string missing;  // a sentence: what has no behaviour on this architecture; empty: nothing
    std::vector<warp::Folded> folded;
};

// The program must outlive it. plain_arithmetic and fold_constants: as in warp::Launch.
std::shared_ptr<const Ready> make_ready(const isa::Program& program, bool plain_arithmetic,
                                        bool fold_constants);

// As launch() in grid.hpp, with what `ready` was made with in place of the launch's own.
warp::Result launch(const Ready& ready, const warp::Launch& launch);

}  // namespace lockwarp::exec
