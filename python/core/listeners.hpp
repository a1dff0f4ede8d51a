// SPDX-License-Identifier: Apache-2.0
// A launch under checks, and what is said of its end.
#pragma once

#include <vector>

#include "python/core/module.hpp"

namespace lockwarp::python {

class Listeners {
  public:
    // Makes the checks and has them listen to the launch. module: the program's.
    Listeners(std::vector<const check::CheckRow*> rows, const isa::Program& program,
              warp::Launch& launch, const ptx::Module* module = nullptr,
              const check::Described& described = {});

    // The findings, and the trap's text and places, once the launch has ended.
    void conclude(const launch::Input& in, const isa::Program& program, Outcome& out) const;

    // What is known of the memory after the launch.
    check::Described described() const { return checking_.described(); }

  private:
    std::vector<const check::CheckRow*> rows_;
    check::Checking checking_;
};

}  // namespace lockwarp::python
