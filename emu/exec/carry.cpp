// SPDX-License-Identifier: Apache-2.0
// Additions, subtractions and products that give or take a carry. PTX manual, "Extended-Precision
// Integer Arithmetic Instructions". CC.CF is one bit a lane, which only the .cc forms write: the
// carry out of an addition. A subtraction adds the complement and 1, or for subc the carry: CC.CF
// is 0 where it borrows (measured on an H200, driver 580).
#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

using isa::Part;

enum class Kind : uint8_t { add, sub, mad_lo, mad_hi };

template <class T, Part part>
std::make_unsigned_t<T> product(std::make_unsigned_t<T> a, std::make_unsigned_t<T> b) {
    using U = std::make_unsigned_t<T>;
    if constexpr (part == Part::lo) {
        return static_cast<U>(a * b);
    } else if constexpr (sizeof(T) == 4) {
        using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
        const Wide wide = static_cast<Wide>(static_cast<T>(a)) * static_cast<T>(b);
        return static_cast<U>(wide >> 32);
    } else {
        using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        const Wide wide = static_cast<Wide>(static_cast<T>(a)) * static_cast<T>(b);
        return static_cast<U>(wide >> 64);
    }
}

template <class T, Kind kind>
void carried(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    using U = std::make_unsigned_t<T>;
    auto* d = slot<T>(c, o.r[0]);
    const auto* a = slot<T>(c, o.r[1]);
    const auto* b = slot<T>(c, o.r[2]);
    constexpr bool multiplies = kind == Kind::mad_lo || kind == Kind::mad_hi;
    const auto* e = multiplies ? slot<T>(c, o.r[3]) : b;
    const bool reads = isa::row(o.op).reads_carry;
    const uint32_t in = reads ? predicate(c, c.program->carry) : 0;
    uint32_t out = 0;
    each_lane(mask, [&](unsigned l) {
        const U x = kind == Kind::mad_lo   ? product<T, Part::lo>(a[l], b[l])
                    : kind == Kind::mad_hi ? product<T, Part::hi>(a[l], b[l])
                                           : U{a[l]};
        const U y = kind == Kind::sub ? static_cast<U>(~e[l]) : U{e[l]};
        const U carry = reads ? in >> l & 1 : kind == Kind::sub;
        const U result = x + y + carry;
        const bool over = result < x || (result == x && carry != 0);
        d[l] = result;
        out |= uint32_t{over} << l;
    });
    if (o.mod.cc) write_predicate(c, c.program->carry, out, mask);
}

template <Kind kind>
Handler of_type(Type t) {
    switch (t) {
        case Type::u32:
            return carried<uint32_t, kind>;
        case Type::s32:
            return carried<int32_t, kind>;
        case Type::u64:
            return carried<uint64_t, kind>;
        case Type::s64:
            return carried<int64_t, kind>;
        default:
            return nullptr;
    }
}

}  // namespace

Handler carried_add(const Operation& o) { return of_type<Kind::add>(o.mod.type[0]); }
Handler carried_sub(const Operation& o) { return of_type<Kind::sub>(o.mod.type[0]); }
Handler carried_mad(const Operation& o) {
    const Type t = o.mod.type[0];
    return o.mod.part == Part::hi ? of_type<Kind::mad_hi>(t) : of_type<Kind::mad_lo>(t);
}

}  // namespace lockwarp::exec
