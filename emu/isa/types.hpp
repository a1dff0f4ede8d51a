// SPDX-License-Identifier: Apache-2.0
// The types of PTX as rows: name, width, kind. Source: PTX manual, "Fundamental Types",
// "Alternate Floating-Point Data Formats", "Packed Data Types", "Sub-byte", "Block scaling for
// mma.sync".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockwarp::isa {

enum class Type : uint8_t {
    none,
    pred,
    b1,
    b8,
    b16,
    b32,
    b64,
    b128,
    u4,
    s4,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    tf32,
    f32,
    f64,
    e4m3,
    e5m2,
    e4m3x2,
    e5m2x2,
    u16x2,
    s16x2,
    f32x2,
    u2,
    s2,
    e3m2,
    e2m3,
    e2m1,
    ue8m0,  // a power of two
    ue4m3,  // e4m3 without its sign, which is not looked at
    count_
};

enum class Kind : uint8_t { none, predicate, bits, unsigned_int, signed_int, floating };

struct TypeRow {
    Type type;
    std::string_view name;  // with its dot, as in an instruction
    uint8_t bits;           // of the whole value; 0 for none, 1 for pred
    Kind kind;
    uint8_t lanes;  // packed elements in one value
};

inline constexpr std::array<TypeRow, static_cast<size_t>(Type::count_)> type_rows{{
    {Type::none, "", 0, Kind::none, 1},
    {Type::pred, ".pred", 1, Kind::predicate, 1},
    {Type::b1, ".b1", 1, Kind::bits, 1},
    {Type::b8, ".b8", 8, Kind::bits, 1},
    {Type::b16, ".b16", 16, Kind::bits, 1},
    {Type::b32, ".b32", 32, Kind::bits, 1},
    {Type::b64, ".b64", 64, Kind::bits, 1},
    {Type::b128, ".b128", 128, Kind::bits, 1},
    {Type::u4, ".u4", 4, Kind::unsigned_int, 1},
    {Type::s4, ".s4", 4, Kind::signed_int, 1},
    {Type::u8, ".u8", 8, Kind::unsigned_int, 1},
    {Type::u16, ".u16", 16, Kind::unsigned_int, 1},
    {Type::u32, ".u32", 32, Kind::unsigned_int, 1},
    {Type::u64, ".u64", 64, Kind::unsigned_int, 1},
    {Type::s8, ".s8", 8, Kind::signed_int, 1},
    {Type::s16, ".s16", 16, Kind::signed_int, 1},
    {Type::s32, ".s32", 32, Kind::signed_int, 1},
    {Type::s64, ".s64", 64, Kind::signed_int, 1},
    {Type::f16, ".f16", 16, Kind::floating, 1},
    {Type::f16x2, ".f16x2", 32, Kind::floating, 2},
    {Type::bf16, ".bf16", 16, Kind::floating, 1},
    {Type::bf16x2, ".bf16x2", 32, Kind::floating, 2},
    {Type::tf32, ".tf32", 32, Kind::floating, 1},
    {Type::f32, ".f32", 32, Kind::floating, 1},
    {Type::f64, ".f64", 64, Kind::floating, 1},
    {Type::e4m3, ".e4m3", 8, Kind::floating, 1},
    {Type::e5m2, ".e5m2", 8, Kind::floating, 1},
    {Type::e4m3x2, ".e4m3x2", 16, Kind::floating, 2},
    {Type::e5m2x2, ".e5m2x2", 16, Kind::floating, 2},
    {Type::u16x2, ".u16x2", 32, Kind::unsigned_int, 2},
    {Type::s16x2, ".s16x2", 32, Kind::signed_int, 2},
    {Type::f32x2, ".f32x2", 64, Kind::floating, 2},
    {Type::u2, ".u2", 2, Kind::unsigned_int, 1},
    {Type::s2, ".s2", 2, Kind::signed_int, 1},
    {Type::e3m2, ".e3m2", 6, Kind::floating, 1},
    {Type::e2m3, ".e2m3", 6, Kind::floating, 1},
    {Type::e2m1, ".e2m1", 4, Kind::floating, 1},
    {Type::ue8m0, ".ue8m0", 8, Kind::floating, 1},
    {Type::ue4m3, ".ue4m3", 8, Kind::floating, 1},
}};

constexpr const TypeRow& row(Type t) { return type_rows[static_cast<size_t>(t)]; }
constexpr unsigned bits(Type t) { return row(t).bits; }
constexpr bool is_float(Type t) { return row(t).kind == Kind::floating; }
constexpr bool is_signed(Type t) { return row(t).kind == Kind::signed_int; }

// The type of one element of a packed type; of others the type itself.
constexpr Type element_of(Type t) {
    switch (t) {
        case Type::f16x2:
            return Type::f16;
        case Type::bf16x2:
            return Type::bf16;
        case Type::e4m3x2:
            return Type::e4m3;
        case Type::e5m2x2:
            return Type::e5m2;
        case Type::u16x2:
            return Type::u16;
        case Type::s16x2:
            return Type::s16;
        case Type::f32x2:
            return Type::f32;
        default:
            return t;
    }
}

// Rounding of a result, and of a conversion to an integer (.rni .rzi .rmi .rpi). rna: to nearest,
// ties away from zero.
enum class Rounding : uint8_t { rn, rz, rm, rp, rna };

// How two predicates, or the bits of two operands, become one.
enum class Combine : uint8_t { none, and_, or_, xor_ };

// Type::none where there is no type of that name. `name` has its dot: ".f32".
constexpr Type type_named(std::string_view name) {
    for (const TypeRow& r : type_rows)
        if (r.type != Type::none && r.name == name) return r.type;
    return Type::none;
}

static_assert(
    [] {
        for (size_t i = 0; i < type_rows.size(); ++i)
            if (static_cast<size_t>(type_rows[i].type) != i) return false;
        return true;
    }(),
    "type_rows stand in the order of Type");
static_assert(
    [] {
        for (const TypeRow& r : type_rows)
            if (bits(element_of(r.type)) * r.lanes != r.bits) return false;
        return true;
    }(),
    "the elements of a packed type fill it");

}  // namespace lockwarp::isa
