// SPDX-License-Identifier: Apache-2.0
// The syntax tree as PTX text. parse(print(module)) gives the same tree for every tree that parse
// gave without diagnostics.
#pragma once

#include <string>

#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

std::string print(const Module& module);

// One line with its guard and ';', without a newline.
std::string print(const Instruction& instruction);

}  // namespace lockwarp::ptx
