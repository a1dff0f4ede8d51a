// SPDX-License-Identifier: Apache-2.0
// Names that Python gives, as values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/check/check.hpp"
#include "emu/isa/arch.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::python {

// Each throws Failure, with what would be right, for a name that there is none of.

// "sm_90"; of "" none.
std::optional<isa::Arch> arch_of(const std::string& name);

// "sm_80,sm_90", or "all": those that have `target`. Of "" `usual`.
std::vector<isa::Arch> archs_of(const std::string& names, uint16_t target, isa::Arch usual);

// By any name that lanes::find takes; "INSN@ARCH" goes before `arch`.
lanes::Instruction instruction_named(const std::string& name, const std::string& arch);

// Names with commas, or "all".
std::vector<const check::CheckRow*> checks_named(const std::string& names);

// "out_of_bounds"
std::string_view name_of(warp::TrapKind kind);

}  // namespace lockwarp::python
