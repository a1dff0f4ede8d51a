// SPDX-License-Identifier: Apache-2.0
// A program as its user reads it: lines of the PTX and of the source, and the operations there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/ptx/debug_info.hpp"
#include "emu/ptx/source_map.hpp"
#include "launch/input.hpp"

namespace lockwarp::debug {

class Listing {
  public:
    // What is given must outlive it.
    explicit Listing(const launch::Loaded& loaded);

    const isa::Program& program() const { return loaded_.program; }
    const launch::Input& input() const { return loaded_.in; }
    isa::Arch arch() const { return loaded_.arch; }
    const ptx::DebugInfo& types() const { return types_; }

    // The PTX.
    std::string file() const;  // without its folders
    uint32_t lines() const { return static_cast<uint32_t>(lines_.size()); }
    std::string line_text(uint32_t line) const;  // from 1; without the blanks around it
    uint32_t line_of(uint32_t operation) const;
    // "@%p1 bra $L__BB0_2;", and of that "bra".
    std::string text_of(uint32_t operation) const;
    std::string opcode_of(uint32_t operation) const;

    // The source. Outermost last; empty: nothing is known.
    std::vector<ptx::SourcePlace> places_of(uint32_t operation) const;
    bool has_source() const { return !sources_.starts.empty(); }
    // "gemm.cu:42"; empty where nothing is known.
    std::string short_place(uint32_t operation) const;
    // What `step` stays within: the line of the source, or of the PTX where there is none.
    uint64_t step_line(uint32_t operation) const { return step_lines_[operation]; }

    const isa::Function& function_of(uint32_t operation) const;

    // Operations that a place means; empty: there is none. Of a line without any the next one that
    // has some within its function. `found`: the line that it is.
    std::vector<uint32_t> at_line(uint32_t line, uint32_t& found) const;
    // The first operations of each stretch of the line: where one comes to it.
    std::vector<uint32_t> at_source(std::string_view file, uint32_t line, uint32_t& found) const;
    // "mma", "mma.sync.aligned.m16n8k16": opcodes that are this or begin with it up to a dot.
    std::vector<uint32_t> of_opcode(std::string_view opcode) const;
    // The first operation of a function by its name, mangled or not.
    std::vector<uint32_t> at_function(std::string_view name) const;

  private:
    const launch::Loaded& loaded_;
    std::vector<std::string_view> lines_;  // of Input::source
    ptx::SourceMap sources_;
    ptx::DebugInfo types_;
    std::vector<uint64_t> step_lines_;  // by operation
};

// Whether `file` of the line information is what a user means by `name`: its last parts.
bool is_file(std::string_view file, std::string_view name);

}  // namespace lockwarp::debug
