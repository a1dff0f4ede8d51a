// SPDX-License-Identifier: Apache-2.0
// What a single modifier demands of a module, whatever instruction it stands in.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::isa {

struct Requirement {
    std::string_view opcode;  // empty: every one that takes the modifier
    std::string_view modifier;
    std::string_view with;   // another modifier that must be there too; empty: none
    uint16_t target = 0;     // least .target
    uint16_t ptx = 0;        // least .version, major * 10 + minor
    std::string_view words;  // what the assembler names; '@' stands for the opcode
};

// Of several rows of a modifier, which stand together, the first that fits counts.
std::span<const Requirement> requirements();

// The rows that an instruction with these modifiers has to meet.
std::vector<const Requirement*> demands(std::string_view opcode,
                                        std::span<const ptx::Modifier> modifiers);

}  // namespace lockwarp::isa
