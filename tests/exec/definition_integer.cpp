// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic. PTX manual, "Integer Arithmetic Instructions" and "Extended-Precision Integer
// Arithmetic Instructions".
#include <algorithm>

#include "tests/exec/definition.hpp"

namespace lockwarp::exec {

namespace {

__extension__ using Unsigned = unsigned __int128;
using Three = std::array<Wide, 3>;

// f of the sources as numbers, its result in the lower bits of the type.
Definition of_numbers(const TypeName& t, std::function<Wide(const Three&)> f, bool clamps = false) {
    return one_result([=](const Sources& s) {
        Three x{};
        for (size_t i = 0; i < 3; ++i) x[i] = whole_of(t, s.value[i]);
        const Wide result = f(x);
        return lower(static_cast<uint64_t>(clamps ? clamped(t, result) : result), t.width);
    });
}

// Of both halves.
Definition of_pairs(const TypeName& t, std::function<Wide(Wide, Wide)> f) {
    const TypeName half = type_named(t.kind == TypeKind::signed_whole ? ".s16" : ".u16");
    return one_result([=](const Sources& s) {
        uint64_t out = 0;
        for (const unsigned at : {0u, 16u})
            out |= lower(static_cast<uint64_t>(
                             f(whole_of(half, s.value[0] >> at), whole_of(half, s.value[1] >> at))),
                         16)
                   << at;
        return out;
    });
}

// The 128-bit product of numbers of at most 64 bits, its upper or lower half.
uint64_t part_of_product(const TypeName& t, Wide a, Wide b, bool high) {
    const auto product = static_cast<Unsigned>(a) * static_cast<Unsigned>(b);
    return lower(static_cast<uint64_t>(high ? product >> t.width : product), t.width);
}

Definition product(const Spelled& s, bool adds) {
    const TypeName t = s.types.at(0);
    if (s.has(".wide")) {
        const unsigned width = 2 * t.width;
        return one_result([=](const Sources& x) {
            const Wide p = whole_of(t, x.value[0]) * whole_of(t, x.value[1]);
            return lower(static_cast<uint64_t>(p) + (adds ? x.value[2] : 0), width);
        });
    }
    const bool high = s.has(".hi");
    const bool clamps = s.has(".sat");
    return one_result([=](const Sources& x) {
        const uint64_t p =
            part_of_product(t, whole_of(t, x.value[0]), whole_of(t, x.value[1]), high);
        if (!adds) return p;
        const Wide sum = whole_of(t, p) + whole_of(t, x.value[2]);
        return lower(static_cast<uint64_t>(clamps ? clamped(t, sum) : sum), t.width);
    });
}

// Bits 47..16 or 31..0 of the product of the lower 24 bits.
Definition product_24(const Spelled& s, bool adds) {
    const TypeName t = s.types.at(0);
    const bool has_sign = t.kind == TypeKind::signed_whole;
    const TypeName narrow{".x24", 24, t.kind, 1};
    const TypeName wide{".x48", 48, t.kind, 1};
    const bool high = s.has(".hi");
    const bool clamps = s.has(".sat");
    return one_result([=](const Sources& x) {
        const Wide full = whole_of(narrow, x.value[0]) * whole_of(narrow, x.value[1]);
        const auto bits = lower(static_cast<uint64_t>(full), wide.width);
        const uint64_t part = lower(high ? bits >> 16 : bits, 32);
        if (!adds) return part;
        const TypeName word = type_named(has_sign ? ".s32" : ".u32");
        const Wide sum = whole_of(word, part) + whole_of(word, x.value[2]);
        return lower(static_cast<uint64_t>(clamps ? clamped(word, sum) : sum), 32);
    });
}

// Sums with CC.CF: bits beyond the type's width; of differences it is 0 where they borrow (H200).
Definition with_carry(const Spelled& s) {
    const TypeName t = s.types.at(0);
    const bool reads = s.opcode.ends_with('c');
    const bool subtracts = s.opcode.starts_with("sub");
    const bool multiplies = s.opcode.starts_with("mad");
    const bool high = s.has(".hi");
    return [=](const Sources& x) {
        Unsigned a = lower(x.value[0], t.width);
        Unsigned b = lower(x.value[1], t.width);
        if (multiplies) {
            a = part_of_product(t, whole_of(t, x.value[0]), whole_of(t, x.value[1]), high);
            b = lower(x.value[2], t.width);
        }
        const Unsigned in = reads && x.carry != subtracts ? 1 : 0;
        Results out;
        if (subtracts) {
            out.value[0] = lower(static_cast<uint64_t>(a - b - in), t.width);
            out.carry = a >= b + in;
        } else {
            out.value[0] = lower(static_cast<uint64_t>(a + b + in), t.width);
            out.carry = (a + b + in) >> t.width != 0;
        }
        return out;
    };
}

// Sums of products of bytes with bytes, or of halves with two of the bytes.
Definition dot_product(const Spelled& s) {
    const auto element = [](const TypeName& word, unsigned width) {
        return TypeName{{}, width, word.kind, 1};
    };
    const bool four = s.opcode == "dp4a";
    const TypeName a = element(s.types.at(0), four ? 8 : 16);
    const TypeName b = element(s.types.at(1), 8);
    const unsigned first = s.has(".hi") ? 2 : 0;
    return one_result([=](const Sources& x) {
        Wide sum = static_cast<Wide>(x.value[2]);
        for (unsigned i = 0; i < (four ? 4u : 2u); ++i)
            sum += whole_of(a, x.value[0] >> (i * a.width)) *
                   whole_of(b, x.value[1] >> ((first + i) * 8));
        return lower(static_cast<uint64_t>(sum), 32);
    });
}

// By zero both give all ones (H200).
Definition division(const TypeName& t, bool remainder) {
    return of_numbers(t, [=](const Three& x) {
        if (x[1] == 0) return Wide{-1};
        return remainder ? x[0] % x[1] : x[0] / x[1];
    });
}

Definition extremum(const Spelled& s, const TypeName& t) {
    const bool least = s.opcode == "min";
    const bool relu = s.has(".relu");
    const auto f = [=](Wide a, Wide b) {
        const Wide one = least ? std::min(a, b) : std::max(a, b);
        return relu ? std::max(one, Wide{0}) : one;
    };
    if (t.lanes == 2) return of_pairs(t, f);
    return of_numbers(t, [=](const Three& x) { return f(x[0], x[1]); });
}

}  // namespace

Definition integer_definition(const Spelled& s) {
    if (s.types.empty() || s.types[0].kind == TypeKind::floating ||
        s.types[0].kind == TypeKind::predicate)
        return {};
    const TypeName t = s.types[0];
    const std::string& op = s.opcode;
    if (s.has(".cc") || op == "addc" || op == "subc" || op == "madc") return with_carry(s);
    if (op == "add" && t.lanes == 2) return of_pairs(t, [](Wide a, Wide b) { return a + b; });
    if (op == "add")
        return of_numbers(
            t, [](const Three& x) { return x[0] + x[1]; }, s.has(".sat"));
    if (op == "sub")
        return of_numbers(
            t, [](const Three& x) { return x[0] - x[1]; }, s.has(".sat"));
    if (op == "mul") return product(s, false);
    if (op == "mad") return product(s, true);
    if (op == "mul24") return product_24(s, false);
    if (op == "mad24") return product_24(s, true);
    if (op == "div") return division(t, false);
    if (op == "rem") return division(t, true);
    if (op == "abs") return of_numbers(t, [](const Three& x) { return x[0] < 0 ? -x[0] : x[0]; });
    if (op == "neg") return of_numbers(t, [](const Three& x) { return -x[0]; });
    if (op == "min" || op == "max") return extremum(s, t);
    if (op == "sad")
        return of_numbers(
            t, [](const Three& x) { return x[2] + (x[0] < x[1] ? x[1] - x[0] : x[0] - x[1]); });
    if (op == "dp4a" || op == "dp2a") return dot_product(s);
    return {};
}

}  // namespace lockwarp::exec
