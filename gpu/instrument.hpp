// SPDX-License-Identifier: Apache-2.0
// Text put into a kernel: what the instrumented kernels (trace.hpp, clocked.hpp) are made with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::gpu {

// Statements of a body from their text.
std::vector<ptx::Statement> statements(const std::string& text);

// The module's function with a body that has this name.
template <class Module>
auto* find_function(Module& module, const std::string& name) {
    for (auto& item : module.items)
        if (auto* f = std::get_if<ptx::Function>(&item); f && f->has_body && f->name == name)
            return f;
    return static_cast<decltype(std::get_if<ptx::Function>(&module.items[0]))>(nullptr);
}

// Calls f(instruction) for each instruction of a body, in the order that resolve numbers them.
template <class Block, class F>
void each_instruction(Block& block, F&& f) {
    for (auto& s : block.body) {
        if (auto* i = std::get_if<ptx::Instruction>(&s.node)) f(*i);
        if (auto* inner = std::get_if<ptx::Block>(&s.node)) each_instruction(*inner, f);
    }
}

// A lane that executes it ends: in the entry a return is an exit.
bool ends_thread(const isa::Operation& o, bool in_entry);

// Text that stands before and after an instruction.
struct Around {
    std::string before, after;
};
using Instrument = std::function<Around(uint32_t index, const ptx::Instruction&)>;

// Text for where straight-line code may end without an instruction: before labels, and at braces.
using Edge = std::function<std::string()>;

// Asks for each instruction of a body; `index`: of the first one in isa::Program::operations.
void put_around(ptx::Block& block, const Instrument& instrument, uint32_t& index,
                const Edge& edge = {});

// Moves stores to parameters down, together, to the call or return that they are for, as far as
// what they store stays the same until there. NVIDIA's compiler (ptxas 13.0 for sm_90, every level)
// loses the first of two that fill one 32-bit register of a result where a guarded store to memory
// stands between them (tests/compiler/split_result.ptx).
void gather_parameter_stores(ptx::Block& block);

void insert_first(ptx::Block& block, const std::string& text);
void insert_last(ptx::Block& block, const std::string& text);

// Takes out "debug" of the targets, and .loc, .file and .section: what they say of the code no
// longer holds where something is put in or taken out of it, and no result depends on it.
void drop_debug_information(ptx::Module& module);

// The module without its other entries, and without what they alone call.
ptx::Module entry_alone(const ptx::Module& module, const isa::Program& program);

}  // namespace lockwarp::gpu
