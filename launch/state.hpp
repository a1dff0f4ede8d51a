// SPDX-License-Identifier: Apache-2.0
// What launches of a file leave to those after them: the buffers, and the variables of modules.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "launch/input.hpp"

namespace lockwarp::launch {

struct State {
    Memory memory;
    // By module and name: .global variables that launches have changed.
    std::map<std::string, std::map<std::string, std::vector<uint8_t>>> changed;
};

// Makes and places the buffers.
[[nodiscard]] Result<State> make_state(const LaunchFile& file);

// The module's .global variables as the launch begins with them, laid out as the program's image:
// as the launches of this module before it left them, and those that the launch sets itself.
std::vector<uint8_t> variables_before(const State& state, const Input& in,
                                      const isa::Program& program);

// Keeps what the launch has made of them.
void keep_variables(State& state, const Input& in, const isa::Program& program,
                    const std::vector<uint8_t>& image);

// The same for a machine that takes text: the module's variables begin as the launches before it
// left them.
void carry_variables(const State& state, const Input& in, ptx::Module& module);

// Runs the launch on the emulator and keeps what it leaves. An error says how it ended otherwise.
[[nodiscard]] Result<void> advance(State& state, const Input& in, const isa::Program& program,
                                   const std::atomic<bool>* stop);

// The bytes of a .global or .const variable after the launches; empty where `name` means none.
std::vector<uint8_t> variable_bytes(const State& state, const Input& in,
                                    const isa::Program& program, const std::string& name);

}  // namespace lockwarp::launch
