// SPDX-License-Identifier: Apache-2.0
// tree -> operations: names become slots, modifiers become rows, or everything that is wrong is
// reported at once.
#pragma once

#include <string_view>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::isa {

struct Resolved {
    Program program;
    std::vector<ptx::Diagnostic> diagnostics;  // empty: the program may run
};

// `entry` may be empty where the module has one entry; a mangled name's plain function name
// ("scale" for "_Z5scalePf") is accepted where it is unambiguous. global_base: the address of the
// module's first .global variable, a multiple of 256.
Resolved resolve(const ptx::Module& module, Arch arch, std::string_view entry,
                 uint64_t global_base = module_global_base);

// The module's .global and .const variables, as each program of it has them that is resolved with
// the same global_base.
struct ModuleVariables {
    std::vector<Placed> variables;  // of all state spaces; those of .shared have no place
    std::vector<uint8_t> global_image, const_image;
    std::vector<ptx::Diagnostic> diagnostics;
};
ModuleVariables place_variables(const ptx::Module& module,
                                uint64_t global_base = module_global_base);

// The architecture of the module's own .target; nullopt with a diagnostic where it is not modelled.
std::optional<Arch> target_arch(const ptx::Module& module, std::vector<ptx::Diagnostic>& out);

// The entries a user may name, in the order of the module.
std::vector<std::string> entries(const ptx::Module& module);

}  // namespace lockwarp::isa
