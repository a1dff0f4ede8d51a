// SPDX-License-Identifier: Apache-2.0
// Outcomes as Python's objects; module.py makes its dataclasses of them.
#pragma once

#include <nanobind/nanobind.h>

#include "python/core/module.hpp"

namespace lockwarp::python {

// (statistics, printed, printed bytes lost, trap or None, findings)
nanobind::tuple outcome_object(const isa::Program& program, const ptx::SourceMap& places,
                               const Outcome& outcome);

}  // namespace lockwarp::python
