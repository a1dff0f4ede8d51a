// SPDX-License-Identifier: Apache-2.0
// What a held run has in registers and memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debug/listing.hpp"
#include "emu/warp/memory.hpp"
#include "emu/warp/state.hpp"

namespace lockwarp::debug {

// Bits of a type; packed ones too.
struct Value {
    isa::Type type = isa::Type::b32;
    uint64_t bits = 0;
};

// "1.5", "-3", "{1.5, 2}" of a packed type, "true" of a predicate.
std::string text_of(const Value& v);
// "0x3c00", as wide as the type.
std::string hex_of(const Value& v);
// A type by its name without the dot, of 1 to 64 bits, packed ones and pred too; none: there is no
// such type.
isa::Type type_named(std::string_view name);

// How a buffer is to be read.
struct Shape {
    isa::Type type = isa::Type::b8;
    uint64_t rows = 0, columns = 0;  // rows 0: a list
};
using Shapes = std::map<std::string, Shape, std::less<>>;

// The shapes that a launch file gives.
Shapes shapes_of(const launch::LaunchFile& file);

// A lane of a warp of a run that is held.
struct View {
    const Listing* listing = nullptr;
    const warp::Launch* launch = nullptr;
    const warp::GlobalMemory* memory = nullptr;
    const Shapes* shapes = nullptr;
    const warp::Cta* cta = nullptr;
    const warp::Warp* warp = nullptr;
    uint32_t lane = 0;
    uint32_t pc = 0;
    uint32_t frame = warp::no_index;

    const isa::Program& program() const { return listing->program(); }

    // The register of that name which is meant at `pc`: several scopes may have one. nullptr: none.
    const isa::Register* find(std::string_view name) const;
    // Its name with what it is declared as; of one of 64 bits the whole.
    Value value_of(const isa::Register& r, uint32_t of_lane) const;
    Value slot_value(isa::Ref ref, isa::Type type, uint32_t of_lane) const;
    // The type in which the instruction nearest to `pc` takes it, where it is declared as mere
    // bits.
    isa::Type used_as(const isa::Register& r) const;

    // "%tid.x", "tid.x", "lane", "warp", "cta", "step" and the like.
    std::optional<uint64_t> special(std::string_view name) const;

    // `bytes` bytes there; space none: a generic address. nullptr: nothing is there.
    const uint8_t* bytes_at(ptx::Space space, uint64_t address, uint64_t bytes) const;
    // The state space of a generic address, and the address there.
    static std::pair<ptx::Space, uint64_t> resolved(uint64_t generic);

    // A buffer, or a variable of the module.
    struct Place {
        ptx::Space space = ptx::Space::none;
        uint64_t address = 0, bytes = 0;
        Shape shape;
    };
    std::optional<Place> place_of(std::string_view name) const;
    // "D[3][5]", "D + 0x40"; empty: an address in no buffer or variable.
    std::string name_of(ptx::Space space, uint64_t address) const;
};

}  // namespace lockwarp::debug
