// SPDX-License-Identifier: Apache-2.0
// What each scalar instruction gives, written down a second time from the PTX manual, and from what
// an H200 gives where the manual leaves it open (NaNs). Spellings are read here too: nothing of
// emu/isa, emu/exec or emu/num is used.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockwarp::exec {

enum class TypeKind : uint8_t { bits, unsigned_whole, signed_whole, floating, predicate };

struct TypeName {
    std::string_view name;  // ".f16x2"
    unsigned width;         // of the whole value
    TypeKind kind;
    unsigned lanes;
};

// "cvt.rn.f16.f32", taken apart.
struct Spelled {
    std::string opcode;
    std::vector<std::string> modifiers;
    std::vector<TypeName> types;  // those among the modifiers, in their order
    size_t sources = 0;           // 3 of min and max of three; else the spelling tells

    bool has(std::string_view modifier) const;
    // The first of `names` that is there; empty where none is.
    std::string one_of(std::initializer_list<std::string_view> names) const;
};

Spelled spelled(std::string_view text);

// The type of that name; one of 0 bits where there is none.
TypeName type_named(std::string_view name);

// Sources in the order of the instruction: the bits of their types, predicates as 0 and 1.
struct Sources {
    std::array<uint64_t, 4> value{};
    bool carry = false;  // CC.CF before
};

struct Results {
    std::array<uint64_t, 2> value{};  // in the order of the instruction's destinations
    bool carry = false;               // CC.CF after an instruction with .cc
    // Of an approximation: whether value[0] may be this instead.
    std::function<bool(uint64_t)> accepts;
};

using Definition = std::function<Results(const Sources&)>;

// Empty where an instruction has no definition.
Definition definition_of(const Spelled& s);

// The parts of that, by family.
Definition integer_definition(const Spelled& s);
Definition bit_definition(const Spelled& s);
Definition comparison_definition(const Spelled& s);
Definition float_definition(const Spelled& s);
Definition conversion_definition(const Spelled& s);
Definition approximate_definition(const Spelled& s);

// Helpers of the families.
constexpr uint64_t lower(uint64_t value, unsigned width) {
    return width >= 64 ? value : value & ((uint64_t{1} << width) - 1);
}
// A whole number of a type as it is.
__extension__ using Wide = __int128;
Wide whole_of(const TypeName& t, uint64_t bits);
Wide clamped(const TypeName& t, Wide value);
inline Definition one_result(std::function<uint64_t(const Sources&)> f) {
    return [f = std::move(f)](const Sources& s) { return Results{{f(s), 0}, false, {}}; };
}

}  // namespace lockwarp::exec
