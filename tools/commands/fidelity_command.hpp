// SPDX-License-Identifier: Apache-2.0
// lockwarp fidelity
#pragma once

#include <string>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::tools {

struct FidelityCommand {
    std::string arch;  // empty: all, one line each
    std::string from;  // folder of recordings: print evidence/recorded.tsv
    bool json = false;
};

int fidelity_command(const FidelityCommand& command);

// What the words mean, for --help.
std::string fidelity_help();

// What `lockwarp run` says at its end; empty where everything rests on the machine's hardware.
std::string fidelity_note(const isa::Program& program, const ptx::Module& module);

}  // namespace lockwarp::tools
