// SPDX-License-Identifier: Apache-2.0
// Logic, shifts, fields of bits, moves. PTX manual, "Logic and Shift Instructions", "Integer
// Arithmetic Instructions" and "Data Movement and Conversion Instructions: mov, prmt".
#include <algorithm>
#include <bit>

#include "tests/exec/definition.hpp"

namespace lockwarp::exec {

namespace {

bool bit_of(uint64_t value, uint64_t n) { return n < 64 && (value >> n & 1) != 0; }

// A value of `width` bits made bit by bit.
template <class F>
uint64_t made_of(unsigned width, F bit) {
    uint64_t out = 0;
    for (unsigned i = 0; i < width; ++i)
        if (bit(i)) out |= uint64_t{1} << i;
    return out;
}

Definition logic(const Spelled& s) {
    const unsigned width = s.types.at(0).width;
    const std::string op = s.opcode;
    return one_result([=](const Sources& x) {
        return made_of(width, [&](unsigned i) {
            const bool a = bit_of(x.value[0], i);
            const bool b = bit_of(x.value[1], i);
            if (op == "and") return a && b;
            if (op == "or") return a || b;
            if (op == "xor") return a != b;
            return !a;
        });
    });
}

// d, and with a combination whether d is other than 0.
Definition lop3(const Spelled& s) {
    const bool both = s.has(".and");
    const bool either = s.has(".or");
    return [=](const Sources& x) {
        Results out;
        out.value[0] = made_of(32, [&](unsigned i) {
            const unsigned row =
                4u * bit_of(x.value[0], i) + 2u * bit_of(x.value[1], i) + bit_of(x.value[2], i);
            return bit_of(x.value[3] & 0xff, row);
        });
        const bool some = out.value[0] != 0;
        // The predicate stands above the table (definitions_test.cpp).
        const bool q = (x.value[3] >> 8) != 0;
        out.value[1] = both ? some && q : either && (some || q);
        return out;
    };
}

Definition shift(const Spelled& s) {
    const TypeName t = s.types.at(0);
    const bool left = s.opcode == "shl";
    return one_result([=](const Sources& x) {
        const uint64_t by = lower(x.value[1], 32);
        const bool fill = t.kind == TypeKind::signed_whole && bit_of(x.value[0], t.width - 1);
        return made_of(t.width, [&](unsigned i) {
            if (left) return i >= by && bit_of(x.value[0], i - by);
            return i + by < t.width ? bit_of(x.value[0], i + by) : fill;
        });
    });
}

// The pair {b, a}, shifted by b's side.
Definition funnel(const Spelled& s) {
    const bool left = s.has(".l");
    const bool wraps = s.has(".wrap");
    return one_result([=](const Sources& x) {
        const uint64_t c = lower(x.value[2], 32);
        const uint64_t by = wraps ? c % 32 : std::min<uint64_t>(c, 32);
        const uint64_t pair = lower(x.value[1], 32) << 32 | lower(x.value[0], 32);
        return made_of(32, [&](unsigned i) { return bit_of(pair, left ? i + 32 - by : i + by); });
    });
}

Definition count(const Spelled& s) {
    const TypeName t = s.types.at(0);
    const std::string op = s.opcode;
    const bool shift_amount = s.has(".shiftamt");
    return one_result([=](const Sources& x) -> uint64_t {
        if (op == "popc") {
            uint64_t n = 0;
            for (unsigned i = 0; i < t.width; ++i) n += bit_of(x.value[0], i);
            return n;
        }
        // The highest bit that counts: of negative numbers the highest 0.
        const bool wanted =
            !(op == "bfind" && t.kind == TypeKind::signed_whole && bit_of(x.value[0], t.width - 1));
        unsigned above = 0;
        while (above < t.width && bit_of(x.value[0], t.width - 1 - above) != wanted) ++above;
        if (op == "clz") return above;
        if (above == t.width) return 0xffffffff;
        return shift_amount ? above : t.width - 1 - above;
    });
}

// Position and length of a field: of 32-bit fields eight bits, of 64-bit ones all (H200).
uint64_t place(const TypeName& t, uint64_t value) { return lower(value, t.width == 64 ? 32 : 8); }

Definition extract(const Spelled& s) {
    const TypeName t = s.types.at(0);
    return one_result([=](const Sources& x) -> uint64_t {
        const uint64_t from = place(t, x.value[1]);
        const uint64_t length = place(t, x.value[2]);
        if (length == 0) return 0;
        const uint64_t last = std::min<uint64_t>(from + length - 1, t.width - 1);
        const bool fill = t.kind == TypeKind::signed_whole && bit_of(x.value[0], last);
        return made_of(t.width, [&](unsigned i) {
            return i < length && from + i < t.width ? bit_of(x.value[0], from + i) : fill;
        });
    });
}

Definition insert(const Spelled& s) {
    const TypeName t = s.types.at(0);
    return one_result([=](const Sources& x) {
        const uint64_t from = place(t, x.value[2]);
        const uint64_t length = place(t, x.value[3]);
        return made_of(t.width, [&](unsigned i) {
            const bool inside = i >= from && i < from + length;
            return inside ? bit_of(x.value[0], i - from) : bit_of(x.value[1], i);
        });
    });
}

// bmsk: ones from a on; szext: the lower bits of a number, extended.
Definition mask(const Spelled& s) {
    const bool wraps = s.has(".wrap");
    const bool fills = s.has(".s32");
    const auto amount = [wraps](uint64_t v) {
        v = lower(v, 32);
        return wraps ? v % 32 : std::min<uint64_t>(v, 32);
    };
    if (s.opcode == "bmsk")
        return one_result([=](const Sources& x) {
            const uint64_t from = amount(x.value[0]);
            const uint64_t length = amount(x.value[1]);
            return made_of(32, [&](unsigned i) { return i >= from && i < from + length; });
        });
    return one_result([=](const Sources& x) {
        const uint64_t length = amount(x.value[1]);
        const bool fill = fills && length > 0 && bit_of(x.value[0], length - 1);
        return made_of(32, [&](unsigned i) { return i < length ? bit_of(x.value[0], i) : fill; });
    });
}

// The n-th set bit from a base upwards (n > 0) or downwards, or the bit at the base itself.
uint64_t nth_set(const Sources& x) {
    constexpr uint64_t none = 0xffffffff;
    const uint64_t base = lower(x.value[1], 32);
    const auto n = static_cast<int32_t>(lower(x.value[2], 32));
    if (n == INT32_MIN) return 0;  // H200
    if (base > 31) return none;
    if (n == 0) return bit_of(x.value[0], base) ? base : none;
    int32_t seen = 0;
    for (auto at = static_cast<int>(base); at >= 0 && at<32; at += n> 0 ? 1 : -1)
        if (bit_of(x.value[0], static_cast<uint64_t>(at)) && ++seen == std::abs(n))
            return static_cast<uint64_t>(at);
    return none;
}

// Bytes of {b, a} by number; bit 3 of a selector in the plain mode gives eight times its top bit.
uint64_t permuted(const std::string& mode, const Sources& x) {
    const uint64_t pair = lower(x.value[1], 32) << 32 | lower(x.value[0], 32);
    const unsigned n = x.value[2] & 3;
    uint64_t out = 0;
    for (unsigned i = 0; i < 4; ++i) {
        unsigned from = 0;
        bool sign = false;
        if (mode.empty()) {
            const unsigned selector = x.value[2] >> (4 * i) & 15;
            from = selector & 7;
            sign = selector > 7;
        } else if (mode == ".f4e") {
            from = n + i;
        } else if (mode == ".b4e") {
            from = (n + 8 - i) % 8;
        } else if (mode == ".rc8") {
            from = n;
        } else if (mode == ".ecl") {
            from = std::max(i, n);
        } else if (mode == ".ecr") {
            from = std::min(i, n);
        } else {  // .rc16
            from = 2 * (n & 1) + (i & 1);
        }
        uint64_t byte = pair >> (8 * from) & 0xff;
        if (sign) byte = byte > 0x7f ? 0xff : 0;
        out |= byte << (8 * i);
    }
    return out;
}

}  // namespace

Definition bit_definition(const Spelled& s) {
    const std::string& op = s.opcode;
    if (op == "and" || op == "or" || op == "xor" || op == "not") return logic(s);
    if (s.types.empty()) return {};
    const TypeName t = s.types[0];
    if (op == "lop3") return lop3(s);
    if (op == "mov")
        return one_result([=](const Sources& x) { return lower(x.value[0], t.width); });
    if (op == "cnot")
        return one_result(
            [=](const Sources& x) -> uint64_t { return lower(x.value[0], t.width) == 0 ? 1 : 0; });
    if (op == "shl" || op == "shr") return shift(s);
    if (op == "shf") return funnel(s);
    if (op == "popc" || op == "clz" || op == "bfind") return count(s);
    if (op == "brev")
        return one_result([=](const Sources& x) {
            return made_of(t.width,
                           [&](unsigned i) { return bit_of(x.value[0], t.width - 1 - i); });
        });
    if (op == "bfe") return extract(s);
    if (op == "bfi") return insert(s);
    if (op == "bmsk" || op == "szext") return mask(s);
    if (op == "fns") return one_result(nth_set);
    if (op == "prmt") {
        const std::string mode = s.one_of({".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"});
        return one_result([=](const Sources& x) { return permuted(mode, x); });
    }
    return {};
}

}  // namespace lockwarp::exec
