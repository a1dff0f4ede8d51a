// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/definition.hpp"

#include <algorithm>

namespace lockwarp::exec {

namespace {

constexpr TypeName types[] = {
    {".pred", 1, TypeKind::predicate, 1},      {".b8", 8, TypeKind::bits, 1},
    {".b16", 16, TypeKind::bits, 1},           {".b32", 32, TypeKind::bits, 1},
    {".b64", 64, TypeKind::bits, 1},           {".u2", 2, TypeKind::unsigned_whole, 1},
    {".s2", 2, TypeKind::signed_whole, 1},     {".u4", 4, TypeKind::unsigned_whole, 1},
    {".s4", 4, TypeKind::signed_whole, 1},     {".u8", 8, TypeKind::unsigned_whole, 1},
    {".s8", 8, TypeKind::signed_whole, 1},     {".u16", 16, TypeKind::unsigned_whole, 1},
    {".s16", 16, TypeKind::signed_whole, 1},   {".u32", 32, TypeKind::unsigned_whole, 1},
    {".s32", 32, TypeKind::signed_whole, 1},   {".u64", 64, TypeKind::unsigned_whole, 1},
    {".s64", 64, TypeKind::signed_whole, 1},   {".u16x2", 32, TypeKind::unsigned_whole, 2},
    {".s16x2", 32, TypeKind::signed_whole, 2}, {".f16", 16, TypeKind::floating, 1},
    {".f16x2", 32, TypeKind::floating, 2},     {".bf16", 16, TypeKind::floating, 1},
    {".bf16x2", 32, TypeKind::floating, 2},    {".tf32", 32, TypeKind::floating, 1},
    {".f32", 32, TypeKind::floating, 1},       {".f64", 64, TypeKind::floating, 1},
    {".f32x2", 64, TypeKind::floating, 2},     {".e4m3x2", 16, TypeKind::floating, 2},
    {".e5m2x2", 16, TypeKind::floating, 2},
};

}  // namespace

TypeName type_named(std::string_view name) {
    const auto* const found = std::ranges::find(types, name, &TypeName::name);
    return found == std::end(types) ? TypeName{{}, 0, TypeKind::bits, 1} : *found;
}

bool Spelled::has(std::string_view modifier) const {
    return std::ranges::find(modifiers, modifier) != modifiers.end();
}

std::string Spelled::one_of(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
        if (has(name)) return std::string(name);
    return {};
}

Spelled spelled(std::string_view text) {
    Spelled out;
    size_t at = std::min(text.find('.'), text.size());
    out.opcode = text.substr(0, at);
    while (at < text.size()) {
        const size_t next = std::min(text.find('.', at + 1), text.size());
        out.modifiers.emplace_back(text.substr(at, next - at));
        const TypeName type = type_named(out.modifiers.back());
        if (type.width != 0) out.types.push_back(type);
        at = next;
    }
    return out;
}

Wide whole_of(const TypeName& t, uint64_t bits) {
    bits = lower(bits, t.width);
    const bool negative = t.kind == TypeKind::signed_whole && (bits >> (t.width - 1) & 1) != 0;
    return static_cast<Wide>(bits) - (negative ? Wide{1} << t.width : Wide{0});
}

Wide clamped(const TypeName& t, Wide value) {
    const bool has_sign = t.kind == TypeKind::signed_whole;
    const Wide least = has_sign ? -(Wide{1} << (t.width - 1)) : Wide{0};
    const Wide most = (Wide{1} << (has_sign ? t.width - 1 : t.width)) - 1;
    return std::clamp(value, least, most);
}

Definition definition_of(const Spelled& s) {
    for (const auto family : {integer_definition, bit_definition, comparison_definition,
                              float_definition, conversion_definition, approximate_definition})
        if (Definition d = family(s)) return d;
    return {};
}

}  // namespace lockwarp::exec
