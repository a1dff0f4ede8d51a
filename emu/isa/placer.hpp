// SPDX-License-Identifier: Apache-2.0
// Gives variables their places and their initial values. Internal to emu/isa.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "emu/isa/placement.hpp"
#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

struct SpaceCursor {
    uint64_t next;
    uint64_t limit;
};

struct Placer {
    Resolver& r;
    SpaceCursor shared, local, global, constant;
    uint64_t global_base;
    const SharedLayout& layout;
    std::map<const ptx::Variable*, uint64_t> globals;  // the module's
    uint64_t frame_alignment = {};                     // of what was placed in a frame
    // The module's variables that are more than declared, and those placed before their turn.
    std::map<std::string_view, const ptx::Variable*> definitions = {};
    std::set<const ptx::Variable*> ahead = {};

    // nullptr: no variable stands there.
    SpaceCursor* cursor(ptx::Space space);
    void place(const ptx::Variable& v);
    // What is declared .extern is what the module defines elsewhere; without that it is zeros, as
    // the assembler has it in a whole program, unless its size is not said.
    void place_extern(const ptx::Variable& v);
    // Gives a variable that has its place its initial value.
    void fill(const ptx::Variable& v);

  private:
    uint64_t address_of(std::string_view name, ptx::Place place, bool generic);
    // Fills `image` from `at` with the elements of an initialiser; `end` bounds them.
    void initialise(const ptx::Initializer& init, Type type, std::vector<uint8_t>& image,
                    uint64_t& at, uint64_t end);
    void declare_placed(const ptx::Variable& v, uint64_t address, uint64_t bytes, bool in_frame);
};

}  // namespace lockwarp::isa
