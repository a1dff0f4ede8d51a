// SPDX-License-Identifier: Apache-2.0
// A program changed at a few instructions: the same PTX with other lines in their places.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::why {

// One instruction, and what stands in its place; empty: nothing does.
struct Edit {
    ptx::Place at;
    std::vector<ptx::Instruction> becomes;
};

struct Patch {
    std::vector<Edit> edits;
    std::vector<ptx::Variable> registers;  // that the edits need
};

// The part of a module that a kernel needs, with its instructions by place.
class Text {
  public:
    Text(const ptx::Module& module, std::string entry);
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;
    Text(Text&&) = default;
    Text& operator=(Text&&) = default;

    // nullptr: no instruction stands there. Of several that stand in one's place, the last.
    const ptx::Instruction* at(ptx::Place place) const;
    // The text with the edits; their instructions have the places of those that they replace.
    Text with(const Patch& patch) const;
    // nullopt where it is not legal.
    std::optional<isa::Program> resolve(isa::Arch arch) const;
    const ptx::Module& module() const { return module_; }
    const std::string& entry() const { return entry_; }

  private:
    Text() = default;
    void list();

    ptx::Module module_;
    std::string entry_;
    std::map<std::pair<uint32_t, uint32_t>, const ptx::Instruction*> by_place_;
};

}  // namespace lockwarp::why
