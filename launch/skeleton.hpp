// SPDX-License-Identifier: Apache-2.0
// A launch file to fill in, and what a given one lacks.
#pragma once

#include <string>
#include <vector>

#include "launch/input.hpp"

namespace lockwarp::launch {

// A field of a parameter that the kernel reads: its offset, its type and how many side by side.
struct ReadField {
    uint64_t at = 0;
    isa::Type type = isa::Type::none;
    uint64_t count = 1;
    bool pointer = false;  // the kernel takes it for an address
};

// The fields of the parameter that the kernel's code reads, by offset; of those that overlap the
// first, of those that begin together the longest. What it reads through addresses that it computes
// is not among them.
std::vector<ReadField> read_fields(const ptx::Function& entry, const std::string& parameter);

// The types of the parameters in a demangled name, "float*" and "Params<4>"; empty where the name
// has none.
std::vector<std::string> parameter_types(const std::string& demangled);

// The text of a launch file for a kernel of a module: JSON with comments that say what is to be
// filled in. ptx_path: as the launch file is to name it.
[[nodiscard]] std::string skeleton(const ptx::Module& module, const isa::Program& program,
                                   const std::string& ptx_path);

// What is missing in a launch of a launch file, in sentences; empty: nothing.
std::vector<std::string> missing_in(const Input& in, const isa::Program& program);

}  // namespace lockwarp::launch
