// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic, logic, shifts and bit fields. PTX manual, "Integer Arithmetic Instructions",
// "Logic and Shift Instructions".
#include <bit>
#include <limits>

#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

using isa::Part;

template <class T, auto F>
void unary(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = static_cast<std::make_unsigned_t<T>>(F(static_cast<T>(a[l])));
    });
}

template <class T, auto F>
void binary(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* b = slot<T>(c, s.op->r[2]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = static_cast<std::make_unsigned_t<T>>(F(static_cast<T>(a[l]), static_cast<T>(b[l])));
    });
}

template <class T, auto F>
void ternary(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* b = slot<T>(c, s.op->r[2]);
    const auto* e = slot<T>(c, s.op->r[3]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = static_cast<std::make_unsigned_t<T>>(
            F(static_cast<T>(a[l]), static_cast<T>(b[l]), static_cast<T>(e[l])));
    });
}

// The second operand is a .u32 shift amount or position whatever the type.
template <class T, auto F>
void shift(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = static_cast<std::make_unsigned_t<T>>(F(static_cast<T>(a[l]), b[l]));
    });
}

// Twice as wide a result: mul.wide, mad.wide.
template <class T, class W, bool accumulate>
void wide(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<W>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* b = slot<T>(c, s.op->r[2]);
    const auto* e = accumulate ? slot<W>(c, s.op->r[3]) : d;
    using U = std::make_unsigned_t<W>;
    for_lanes(mask, [&](unsigned l) {
        const U product = static_cast<U>(static_cast<W>(static_cast<T>(a[l])) *
                                         static_cast<W>(static_cast<T>(b[l])));
        d[l] = accumulate ? static_cast<U>(product + static_cast<U>(e[l])) : product;
    });
}

// A result of 32 bits from an operand of any width: popc, clz, bfind.
template <class T, auto F>
void count(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<uint32_t>(F(static_cast<T>(a[l]))); });
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;

constexpr auto add_op = []<class T>(T a, T b) {
    return static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
};
constexpr auto sub_op = []<class T>(T a, T b) {
    return static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
};
constexpr auto mul_lo_op = []<class T>(T a, T b) {
    using P = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    return static_cast<Unsigned<T>>(static_cast<P>(a) * static_cast<P>(b));
};
template <class T>
using Double =
    std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 8, __int128, int64_t>,
                       std::conditional_t<sizeof(T) == 8, unsigned __int128, uint64_t>>;
constexpr auto mul_hi_op = []<class T>(T a, T b) {
    return static_cast<Unsigned<T>>((static_cast<Double<T>>(a) * static_cast<Double<T>>(b)) >>
                                    (8 * sizeof(T)));
};
constexpr auto saturate_s32 = [](int64_t v) {
    return static_cast<int32_t>(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
};
constexpr auto add_sat_op = [](int32_t a, int32_t b) { return saturate_s32(int64_t{a} + b); };
constexpr auto sub_sat_op = [](int32_t a, int32_t b) { return saturate_s32(int64_t{a} - b); };
constexpr auto mad_lo_op = []<class T>(T a, T b, T e) {
    return add_op(mul_lo_op(a, b), static_cast<Unsigned<T>>(e));
};
constexpr auto mad_hi_op = []<class T>(T a, T b, T e) {
    return add_op(mul_hi_op(a, b), static_cast<Unsigned<T>>(e));
};
constexpr auto mad_hi_sat_op = [](int32_t a, int32_t b, int32_t e) {
    return saturate_s32(((int64_t{a} * b) >> 32) + e);
};
// Division by zero and its remainder are all ones (the manual leaves both open; measured on an
// H200).
constexpr auto div_op = []<class T>(T a, T b) -> T {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
        return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
    return static_cast<T>(a / b);
};
constexpr auto rem_op = []<class T>(T a, T b) -> T {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
};
constexpr auto neg_op = []<class T>(T a) {
    return static_cast<Unsigned<T>>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
};
constexpr auto abs_op = []<class T>(T a) {
    return a < 0 ? neg_op(a) : static_cast<Unsigned<T>>(a);
};
constexpr auto min_op = []<class T>(T a, T b) { return a < b ? a : b; };
constexpr auto max_op = []<class T>(T a, T b) { return a < b ? b : a; };
constexpr auto sad_op = []<class T>(T a, T b, T e) {
    return add_op(a < b ? sub_op(b, a) : sub_op(a, b), static_cast<Unsigned<T>>(e));
};
constexpr auto and_op = []<class T>(T a, T b) { return static_cast<T>(a & b); };
constexpr auto or_op = []<class T>(T a, T b) { return static_cast<T>(a | b); };
constexpr auto xor_op = []<class T>(T a, T b) { return static_cast<T>(a ^ b); };
constexpr auto not_op = []<class T>(T a) { return static_cast<T>(~a); };
constexpr auto cnot_op = []<class T>(T a) { return static_cast<T>(a == 0); };
constexpr auto shl_op = []<class T>(T a, uint32_t n) {
    return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << n);
};
constexpr auto shr_op = []<class T>(T a, uint32_t n) {
    constexpr uint32_t most = 8 * sizeof(T) - 1;
    if (n > most) return static_cast<T>(std::is_signed_v<T> ? a >> most : 0);
    return static_cast<T>(a >> n);
};
// In steps that vectors have too; std::popcount is a call where x86-64 is the oldest.
constexpr uint32_t popc_word(uint32_t a) {
    a -= a >> 1 & 0x55555555;
    a = (a & 0x33333333) + (a >> 2 & 0x33333333);
    a = (a + (a >> 4)) & 0x0f0f0f0f;
    a += a >> 8;
    return (a + (a >> 16)) & 0x3f;
}
constexpr auto popc_op = []<class T>(T a) {
    if constexpr (sizeof(T) == 8)
        return popc_word(static_cast<uint32_t>(a)) + popc_word(static_cast<uint32_t>(a >> 32));
    else
        return popc_word(a);
};
constexpr auto clz_op = []<class T>(T a) { return std::countl_zero(a); };
constexpr auto brev_op = []<class T>(T a) {
    constexpr T each[] = {static_cast<T>(0x5555555555555555), static_cast<T>(0x3333333333333333),
                          static_cast<T>(0x0f0f0f0f0f0f0f0f), static_cast<T>(0x00ff00ff00ff00ff),
                          static_cast<T>(0x0000ffff0000ffff)};
    for (unsigned n = 0; n < 5; ++n)
        a = static_cast<T>((a >> (1u << n) & each[n]) | (a & each[n]) << (1u << n));
    return sizeof(T) == 8 ? std::rotl(a, 32) : a;
};
template <bool amount>
constexpr auto bfind_op = []<class T>(T a) -> uint32_t {
    const auto u = static_cast<Unsigned<T>>(std::is_signed_v<T> && a < 0 ? ~a : a);
    if (u == 0) return UINT32_MAX;
    const auto zeros = static_cast<uint32_t>(std::countl_zero(u));
    return amount ? zeros : static_cast<uint32_t>(8 * sizeof(T) - 1) - zeros;
};

// Position and length of a bit field count modulo 256 in 32-bit fields (PTX manual, bfe); in 64-bit
// ones all their bits count (measured on an H200).
template <class T>
uint64_t field_number(uint32_t value) {
    return sizeof(T) == 8 ? value : value & 0xff;
}

// Most bit fields lie at the same place in all lanes, which is then worked out once.
bool is_same_in_all(const uint32_t* lanes) {
    uint32_t other = 0;
    for (unsigned l = 0; l < 32; ++l) other |= lanes[l] ^ lanes[0];
    return other == 0;
}

template <class U>
struct Field {
    unsigned at = 0;
    U ones = 0;         // as many as the field has bits
    U beyond = 0;       // of bfe: those that are the sign's
    unsigned sign = 0;  // of bfe: where that is
};

// bfe: `length` bits from `at`, zero- or sign-extended; bits past the top are the sign's.
template <class T>
Field<Unsigned<T>> extracted(uint32_t place, uint32_t bits) {
    using U = Unsigned<T>;
    constexpr uint64_t width = 8 * sizeof(T);
    const uint64_t at = field_number<T>(place);
    const uint64_t length = field_number<T>(bits);
    const uint64_t given = at >= width ? 0 : std::min(length, width - at);
    Field<U> out;
    out.at = static_cast<unsigned>(std::min(at, width - 1));
    out.ones = given >= width ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << given) - 1);
    if (std::is_signed_v<T> && length != 0) {
        out.beyond = static_cast<U>(~out.ones);
        out.sign = static_cast<unsigned>(std::min(at + length - 1, width - 1));
    }
    return out;
}

template <class T>
void bfe(Context& c, const Step& s, uint32_t mask) {
    using U = Unsigned<T>;
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const auto* e = slot<uint32_t>(c, s.op->r[3]);
    const auto extract = [&](unsigned l, const Field<U>& f) {
        const auto value = static_cast<U>(a[l]);
        const U sign = U{0} - (value >> f.sign & 1);
        d[l] = static_cast<T>((value >> f.at & f.ones) | (sign & f.beyond));
    };
    if (mask != all_lanes || !is_same_in_all(b) || !is_same_in_all(e))
        return for_lanes(mask, [&](unsigned l) { extract(l, extracted<T>(b[l], e[l])); });
    const Field<U> f = extracted<T>(b[0], e[0]);
    for_lanes(mask, [&](unsigned l) { extract(l, f); });
}

template <class T>
Field<T> inserted(uint32_t place, uint32_t bits) {
    constexpr uint64_t width = 8 * sizeof(T);
    const uint64_t at = field_number<T>(place);
    const uint64_t length = std::min(field_number<T>(bits), width);
    if (at >= width) return {};
    return {static_cast<unsigned>(at),
            length == width ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1)};
}

template <class T>
void bfi(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* b = slot<T>(c, s.op->r[2]);
    const auto* at = slot<uint32_t>(c, s.op->r[3]);
    const auto* length = slot<uint32_t>(c, s.op->r[4]);
    const auto insert = [&](unsigned l, const Field<T>& f) {
        d[l] = static_cast<T>((b[l] & ~(f.ones << f.at)) | ((a[l] & f.ones) << f.at));
    };
    if (mask != all_lanes || !is_same_in_all(at) || !is_same_in_all(length))
        return for_lanes(mask, [&](unsigned l) { insert(l, inserted<T>(at[l], length[l])); });
    const Field<T> f = inserted<T>(at[0], length[0]);
    for_lanes(mask, [&](unsigned l) { insert(l, f); });
}

template <bool left, bool wrap>
void shf(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const auto* e = slot<uint32_t>(c, s.op->r[3]);
    for_lanes(mask, [&](unsigned l) {
        const uint32_t n = wrap ? e[l] & 31 : std::min(e[l], 32u);
        const uint64_t both = (uint64_t{b[l]} << 32) | a[l];
        d[l] = static_cast<uint32_t>(left ? (both << n) >> 32 : both >> n);
    });
}

// The selector nibbles that each mode of prmt makes of its control value (PTX manual, prmt).
uint32_t prmt_selector(isa::Permute mode, uint32_t control) {
    constexpr std::array<std::array<uint16_t, 4>, 6> by_mode{{
        {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
        {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
        {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
        {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
        {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
        {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
    }};
    if (mode == isa::Permute::none) return control & 0xffff;
    return by_mode[static_cast<size_t>(mode) - 1][control & 3];
}

// prmt of all lanes, which have one selector.
void permute_all(uint32_t* d, const uint32_t* a, const uint32_t* b, uint32_t selector) {
    std::array<uint32_t, 32> out{};
    for (unsigned i = 0; i < 4; ++i) {
        const uint32_t nibble = (selector >> (4 * i)) & 15;
        const uint32_t* const from = (nibble & 4) != 0 ? b : a;
        const unsigned down = 8 * (nibble & 3);
        const bool spreads = (nibble & 8) != 0;
        for (unsigned l = 0; l < 32; ++l) {
            const uint32_t byte = from[l] >> down & 0xff;
            out[l] |= (spreads ? (0 - (byte >> 7)) & 0xff : byte) << (8 * i);
        }
    }
    std::ranges::copy(out, d);
}

void prmt(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const auto* e = slot<uint32_t>(c, s.op->r[3]);
    const isa::Permute mode = s.op->mod.permute;
    if (mask == all_lanes && is_same_in_all(e))
        return permute_all(d, a, b, prmt_selector(mode, e[0]));
    for_lanes(mask, [&](unsigned l) {
        const uint64_t bytes = (uint64_t{b[l]} << 32) | a[l];
        const uint32_t selector = prmt_selector(mode, e[l]);
        uint32_t out = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const uint32_t nibble = (selector >> (4 * i)) & 15;
            auto byte = static_cast<uint32_t>(bytes >> (8 * (nibble & 7))) & 0xff;
            if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
            out |= byte << (8 * i);
        }
        d[l] = out;
    });
}

// Dot products of bytes (dp4a) or of halves and bytes (dp2a), added to a 32-bit value.
template <unsigned terms>
void dp(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const auto* e = slot<uint32_t>(c, s.op->r[3]);
    const bool signed_a = isa::is_signed(s.op->mod.type[0]);
    const bool signed_b = isa::is_signed(s.op->mod.type[1]);
    const unsigned first = terms == 2 && s.op->mod.part == Part::hi ? 2 : 0;
    constexpr unsigned width = terms == 4 ? 8 : 16;
    for_lanes(mask, [&](unsigned l) {
        uint32_t sum = e[l];
        for (unsigned i = 0; i < terms; ++i) {
            uint32_t x = (a[l] >> (width * i)) & ((1u << width) - 1);
            uint32_t y = (b[l] >> (8 * (first + i))) & 0xff;
            if (signed_a && (x >> (width - 1)) != 0) x |= ~((1u << width) - 1);
            if (signed_b && y >= 0x80) y |= 0xffffff00u;
            sum += x * y;
        }
        d[l] = sum;
    });
}

// The handler made for the C++ type that stands for a PTX integer type.
template <class F>
Handler for_type(Type t, F f) {
    switch (t) {
        case Type::b16:
        case Type::u16:
            return f.template operator()<uint16_t>();
        case Type::b32:
        case Type::u32:
            return f.template operator()<uint32_t>();
        case Type::b64:
        case Type::u64:
            return f.template operator()<uint64_t>();
        case Type::s16:
            return f.template operator()<int16_t>();
        case Type::s32:
            return f.template operator()<int32_t>();
        case Type::s64:
            return f.template operator()<int64_t>();
        default:
            return nullptr;
    }
}

Handler wide_product(Type t, bool accumulate) {
    switch (t) {
        case Type::u16:
            return accumulate ? wide<uint16_t, uint32_t, true> : wide<uint16_t, uint32_t, false>;
        case Type::s16:
            return accumulate ? wide<int16_t, int32_t, true> : wide<int16_t, int32_t, false>;
        case Type::u32:
            return accumulate ? wide<uint32_t, uint64_t, true> : wide<uint32_t, uint64_t, false>;
        case Type::s32:
            return accumulate ? wide<int32_t, int64_t, true> : wide<int32_t, int64_t, false>;
        default:
            return nullptr;
    }
}

}  // namespace

Handler integer_add(const Operation& o) {
    if (o.mod.sat) return binary<int32_t, add_sat_op>;
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, add_op>; });
}
Handler integer_sub(const Operation& o) {
    if (o.mod.sat) return binary<int32_t, sub_sat_op>;
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, sub_op>; });
}
Handler integer_mul(const Operation& o) {
    const Type t = o.mod.type[0];
    if (o.mod.part == Part::wide) return wide_product(t, false);
    if (o.mod.part == Part::hi)
        return for_type(t, []<class T>() -> Handler { return binary<T, mul_hi_op>; });
    return for_type(t, []<class T>() -> Handler { return binary<T, mul_lo_op>; });
}
Handler integer_mad(const Operation& o) {
    const Type t = o.mod.type[0];
    if (o.mod.part == Part::wide) return wide_product(t, true);
    if (o.mod.sat) return ternary<int32_t, mad_hi_sat_op>;
    if (o.mod.part == Part::hi)
        return for_type(t, []<class T>() -> Handler { return ternary<T, mad_hi_op>; });
    return for_type(t, []<class T>() -> Handler { return ternary<T, mad_lo_op>; });
}
Handler integer_div(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, div_op>; });
}
Handler rem_handler(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, rem_op>; });
}
Handler integer_neg(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return unary<T, neg_op>; });
}
Handler integer_abs(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return unary<T, abs_op>; });
}
Handler integer_min(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, min_op>; });
}
Handler integer_max(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, max_op>; });
}
Handler sad_handler(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return ternary<T, sad_op>; });
}
Handler integer_and(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, and_op>; });
}
Handler integer_or(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, or_op>; });
}
Handler integer_xor(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return binary<T, xor_op>; });
}
Handler integer_not(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return unary<T, not_op>; });
}
Handler cnot_handler(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return unary<T, cnot_op>; });
}
Handler shl_handler(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return shift<T, shl_op>; });
}
Handler shr_handler(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return shift<T, shr_op>; });
}
Handler popc_handler(const Operation& o) {
    return o.mod.type[0] == Type::b64 ? count<uint64_t, popc_op> : count<uint32_t, popc_op>;
}
Handler clz_handler(const Operation& o) {
    return o.mod.type[0] == Type::b64 ? count<uint64_t, clz_op> : count<uint32_t, clz_op>;
}
Handler brev_handler(const Operation& o) {
    return o.mod.type[0] == Type::b64 ? unary<uint64_t, brev_op> : unary<uint32_t, brev_op>;
}
Handler bfind_handler(const Operation& o) {
    const Type t = o.mod.type[0];
    if (o.mod.shiftamt)
        return for_type(t, []<class T>() -> Handler { return count<T, bfind_op<true>>; });
    return for_type(t, []<class T>() -> Handler { return count<T, bfind_op<false>>; });
}
Handler bfe_handler(const Operation& o) {
    return for_type(o.mod.type[0], []<class T>() -> Handler { return bfe<T>; });
}
Handler bfi_handler(const Operation& o) {
    return o.mod.type[0] == Type::b64 ? bfi<uint64_t> : bfi<uint32_t>;
}
Handler shf_handler(const Operation& o) {
    if (o.mod.left) return o.mod.wrap ? shf<true, true> : shf<true, false>;
    return o.mod.wrap ? shf<false, true> : shf<false, false>;
}
Handler prmt_handler(const Operation&) { return prmt; }
Handler dp4a_handler(const Operation&) { return dp<4>; }
Handler dp2a_handler(const Operation&) { return dp<2>; }

}  // namespace lockwarp::exec
