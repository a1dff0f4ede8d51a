// SPDX-License-Identifier: Apache-2.0
// A launch file to fill in, and what a given one lacks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "emu/ptx/debug_info.hpp"
#include "launch/input.hpp"

namespace lockwarp::launch {

// The types of the parameters in a demangled name, "float*" and "Params<4>"; empty where the name
// has none.
std::vector<std::string> parameter_types(const std::string& demangled);

// The text of a launch file for kernels of a module, one after another: JSON with comments that say
// what is to be filled in. ptx_path: as the launch file is to name it. info: of the module's
// source, for names, types and the layouts of structs; may be empty.
[[nodiscard]] std::string skeleton(const ptx::Module& module,
                                   std::span<const isa::Program> programs,
                                   const std::string& ptx_path, const ptx::DebugInfo& info);

// What is missing in a launch of a launch file, in sentences; empty: nothing.
std::vector<std::string> missing_in(const Input& in, const isa::Program& program);

}  // namespace lockwarp::launch
