// SPDX-License-Identifier: Apache-2.0
// How GoogleTest prints this project's types, in the names of tests and where two values differ.
#pragma once

#include <ostream>

#include "emu/isa/arch.hpp"

namespace lockwarp::isa {

inline void PrintTo(Arch arch, std::ostream* out) { *out << row(arch).name; }

}  // namespace lockwarp::isa
