// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/warpgroup.hpp"

namespace lockwarp::isa {

namespace {

constexpr void append(WarpgroupVariant& v, std::string_view text) {
    for (const char c : text) v.text[v.length++] = c;
}

constexpr void append(WarpgroupVariant& v, unsigned number) {
    if (number >= 10) append(v, number / 10);
    v.text[v.length++] = static_cast<char>('0' + number % 10);
}

constexpr WarpgroupVariant variant(const WarpgroupTypes& t, unsigned n) {
    WarpgroupVariant v{.types = &t, .n = static_cast<uint16_t>(n)};
    append(v, "wgmma.m64n");
    append(v, n);
    append(v, "k");
    append(v, t.k);
    for (const Type type : {t.d, t.a, t.b}) append(v, row(type).name);
    if (t.a == Type::b1) append(v, ".and.popc");
    return v;
}

constexpr size_t count = [] {
    size_t found = 0;
    for (const WarpgroupTypes& t : warpgroup_types)
        for (unsigned n = 8; n <= max_warpgroup_n; n += 8) found += warpgroup_n(t, n);
    return found;
}();

constexpr auto variants = [] {
    std::array<WarpgroupVariant, count> out{};
    size_t at = 0;
    for (const WarpgroupTypes& t : warpgroup_types)
        for (unsigned n = 8; n <= max_warpgroup_n; n += 8)
            if (warpgroup_n(t, n)) out[at++] = variant(t, n);
    return out;
}();

}  // namespace

std::span<const WarpgroupVariant> warpgroup_variants() { return variants; }

const WarpgroupVariant* find_warpgroup(Type d, Type a, Type b, unsigned n, unsigned k) {
    for (const WarpgroupVariant& v : variants)
        if (v.n == n && v.types->k == k && v.types->d == d && v.types->a == a && v.types->b == b)
            return &v;
    return nullptr;
}

}  // namespace lockwarp::isa
