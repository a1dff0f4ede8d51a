// SPDX-License-Identifier: Apache-2.0
// Products of 24 bits, pairs of 16 bits, .relu, bmsk, szext, fns, lop3 with a predicate and testp
// against the PTX manual's definitions.
#include <bit>
#include <cmath>

#include "tests/exec/operands.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec::bits_test {

namespace {

// `expected` of three words, for an instruction on %r10, %r11, %r12 that gives %r20.
template <class F>
void check(const std::string& instruction, const std::vector<Triple>& given, F expected) {
    SCOPED_TRACE(instruction);
    const std::vector<uint64_t> actual =
        answers(instruction + "\ncvt.u64.u32 %rd20, %r20;\n", given);
    size_t wrong = 0;
    for (size_t i = 0; i < given.size(); ++i) {
        const auto a = static_cast<uint32_t>(given[i][0]);
        const auto b = static_cast<uint32_t>(given[i][1]);
        const auto c = static_cast<uint32_t>(given[i][2]);
        const auto right = static_cast<uint32_t>(expected(a, b, c));
        if (actual[i] != right && wrong++ < 3)
            ADD_FAILURE() << std::hex << "of 0x" << a << ", 0x" << b << ", 0x" << c << ": 0x"
                          << actual[i] << ", expected 0x" << right;
    }
    EXPECT_EQ(wrong, 0u);
}

int64_t of_24(uint32_t v, bool is_signed) {
    const int64_t n = v & 0xffffff;
    return is_signed && n >= 0x800000 ? n - 0x1000000 : n;
}

TEST(Bits, ProductsOf24Bits) {
    for (const bool is_signed : {false, true}) {
        const std::string type = is_signed ? ".s32 " : ".u32 ";
        const auto product = [=](uint32_t a, uint32_t b) {
            return of_24(a, is_signed) * of_24(b, is_signed);
        };
        check("mul24.lo" + type + "%r20, %r10, %r11;", triples(),
              [=](uint32_t a, uint32_t b, uint32_t) { return product(a, b); });
        check("mul24.hi" + type + "%r20, %r10, %r11;", triples(),
              [=](uint32_t a, uint32_t b, uint32_t) { return product(a, b) >> 16; });
        check("mad24.lo" + type + "%r20, %r10, %r11, %r12;", triples(),
              [=](uint32_t a, uint32_t b, uint32_t c) { return product(a, b) + c; });
        check("mad24.hi" + type + "%r20, %r10, %r11, %r12;", triples(),
              [=](uint32_t a, uint32_t b, uint32_t c) { return (product(a, b) >> 16) + c; });
    }
    check("mad24.hi.sat.s32 %r20, %r10, %r11, %r12;", triples(),
          [](uint32_t a, uint32_t b, uint32_t c) {
              const int64_t high = static_cast<int32_t>((of_24(a, true) * of_24(b, true)) >> 16);
              const int64_t sum = high + static_cast<int32_t>(c);
              return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
          });
}

TEST(Bits, PairsOf16Bits) {
    const auto pairwise = [](auto f) {
        return [f](uint32_t a, uint32_t b, uint32_t) {
            const auto low = static_cast<uint16_t>(
                f(static_cast<int16_t>(a & 0xffff), static_cast<int16_t>(b & 0xffff)));
            const auto high = static_cast<uint16_t>(
                f(static_cast<int16_t>(a >> 16), static_cast<int16_t>(b >> 16)));
            return low + (uint32_t{high} << 16);
        };
    };
    const auto add = [](int a, int b) { return a + b; };
    const auto smaller = [](int a, int b) { return a < b ? a : b; };
    const auto larger = [](int a, int b) { return a < b ? b : a; };
    const std::string operands = " %r20, %r10, %r11;";
    check("add.u16x2" + operands, triples(), pairwise(add));
    check("add.s16x2" + operands, triples(), pairwise(add));
    check("min.s16x2" + operands, triples(), pairwise(smaller));
    check("max.s16x2" + operands, triples(), pairwise(larger));
    check("min.u16x2" + operands, triples(),
          pairwise([&](int a, int b) { return smaller(a & 0xffff, b & 0xffff); }));
    check("max.u16x2" + operands, triples(),
          pairwise([&](int a, int b) { return larger(a & 0xffff, b & 0xffff); }));
    check("min.relu.s16x2" + operands, triples(),
          pairwise([&](int a, int b) { return larger(0, smaller(a, b)); }));
    check("max.relu.s16x2" + operands, triples(),
          pairwise([&](int a, int b) { return larger(0, larger(a, b)); }));
}

TEST(Bits, Relu) {
    check("min.relu.s32 %r20, %r10, %r11;", triples(), [](uint32_t a, uint32_t b, uint32_t) {
        const int32_t least = std::min(static_cast<int32_t>(a), static_cast<int32_t>(b));
        return least < 0 ? 0 : least;
    });
    check("max.relu.s32 %r20, %r10, %r11;", triples(), [](uint32_t a, uint32_t b, uint32_t) {
        const int32_t most = std::max(static_cast<int32_t>(a), static_cast<int32_t>(b));
        return most < 0 ? 0 : most;
    });
}

// Bit by bit: the mask has those from a on, b of them; positions and lengths as each mode has them.
TEST(Bits, Masks) {
    const auto mask = [](uint64_t at, uint64_t length) {
        uint32_t out = 0;
        for (uint64_t i = 0; i < 32; ++i)
            if (i >= at && i < at + length) out |= 1u << i;
        return out;
    };
    check("bmsk.clamp.b32 %r20, %r10, %r11;", triples(),
          [=](uint32_t a, uint32_t b, uint32_t) { return mask(a, b); });
    check("bmsk.wrap.b32 %r20, %r10, %r11;", triples(),
          [=](uint32_t a, uint32_t b, uint32_t) { return mask(a % 32, b % 32); });
}

TEST(Bits, Extensions) {
    for (const bool is_signed : {false, true})
        for (const bool wrap : {false, true})
            check(std::string("szext.") + (wrap ? "wrap" : "clamp") +
                      (is_signed ? ".s32" : ".u32") + " %r20, %r10, %r11;",
                  triples(), [=](uint32_t a, uint32_t b, uint32_t) -> uint32_t {
                      const uint32_t n = wrap ? b % 32 : b;
                      if (n == 0) return 0;
                      if (n >= 32) return a;
                      const int64_t field = a % (uint64_t{1} << n);
                      const bool negative = is_signed && field >= int64_t{1} << (n - 1);
                      return static_cast<uint32_t>(field - (negative ? int64_t{1} << n : 0));
                  });
}

// The manual's pseudocode, fns; but an H200 gives 0, not 0xffffffff, for an offset of -2^31.
TEST(Bits, FindsTheNthSetBit) {
    std::vector<Triple> given;
    std::mt19937_64 random(5);
    for (uint64_t base = 0; base < 32; ++base)
        for (int64_t n = -34; n <= 34; ++n)
            for (const uint64_t bits : {uint64_t{0}, uint64_t{0xffffffff}, uint64_t{0xaaaaaaaa},
                                        uint64_t{0x80000001}, random(), random() & random()})
                given.push_back({bits, base, static_cast<uint64_t>(n)});
    given.push_back({0xffffffff, 7, 0x80000000});
    given.push_back({0xffffffff, 7, 0x7fffffff});
    const auto expected = [](uint32_t mask, uint32_t base, uint32_t n) -> uint32_t {
        const auto offset = int64_t{static_cast<int32_t>(n)};
        if (offset == INT32_MIN) return 0;
        const auto is_set = [&](int64_t at) { return (mask >> at & 1) != 0; };
        if (offset == 0) return is_set(base) ? base : 0xffffffff;
        int64_t count = (offset < 0 ? -offset : offset) - 1;
        for (int64_t at = base; at >= 0 && at<32; at += offset> 0 ? 1 : -1) {
            if (!is_set(at)) continue;
            if (count-- == 0) return static_cast<uint32_t>(at);
        }
        return 0xffffffff;
    };
    check("fns.b32 %r20, %r10, %r11, %r12;", given, expected);
    for (const uint32_t base : {32u, 33u, 0x80000000u, 0xffffffffu})
        check("fns.b32 %r20, %r10, %r11, %r12;", {{0xffffffff, base, 1}, {0xffffffff, base, 0}},
              [](uint32_t, uint32_t, uint32_t) { return 0xffffffff; });
}

uint32_t by_table(unsigned table, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t out = 0;
    for (unsigned bit = 0; bit < 32; ++bit)
        out |= (table >> ((a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (c >> bit & 1)) & 1) << bit;
    return out;
}

TEST(Bits, Lop3WithAPredicate) {
    const std::string before = "setp.lt.u32 %p2, %r12, %r10;\n";
    for (const unsigned table : {0x00u, 0x80u, 0xc0u, 0x96u, 0xffu})
        for (const bool both : {false, true}) {
            const std::string name = both ? "lop3.and.b32 " : "lop3.or.b32 ";
            const std::string sources = "|%p1, %r10, %r11, %r12, " + std::to_string(table);
            check(before + name + "%r20" + sources + ", %p2;", triples(),
                  [=](uint32_t a, uint32_t b, uint32_t c) { return by_table(table, a, b, c); });
            for (const bool negated : {false, true})
                for (const char* d : {"_", "%r10"})
                    check(before + name + d + sources + (negated ? ", !%p2" : ", %p2") +
                              ";\nselp.u32 %r20, 1, 0, %p1;",
                          triples(), [=](uint32_t a, uint32_t b, uint32_t c) {
                              const bool some = by_table(table, a, b, c) != 0;
                              const bool q = (c < a) != negated;
                              return both ? some && q : some || q;
                          });
        }
}

template <class T>
bool is(const std::string& test, T value) {
    const int kind = std::fpclassify(value);
    if (test == "finite") return kind != FP_INFINITE && kind != FP_NAN;
    if (test == "infinite") return kind == FP_INFINITE;
    if (test == "number") return kind != FP_NAN;
    if (test == "notanumber") return kind == FP_NAN;
    if (test == "normal") return kind == FP_NORMAL || kind == FP_ZERO;
    return kind == FP_SUBNORMAL;
}

TEST(Bits, TestsOfFloatingPoint) {
    std::vector<Triple> given = triples();
    for (const uint64_t sign : {uint64_t{0}, uint64_t{1}})
        for (const uint32_t bits :
             {0u, 1u, 0x7fffffu, 0x800000u, 0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0x7fffffffu})
            given.push_back({bits | sign << 31, 0, 0});
    for (const uint64_t sign : {uint64_t{0}, uint64_t{1}})
        for (const double value : {0.0, 5e-324, 2.2250738585072009e-308, 2.2250738585072014e-308,
                                   1.0, HUGE_VAL, std::nan("")})
            given.push_back({std::bit_cast<uint64_t>(value) | sign << 63, 0, 0});
    given.push_back({0x7ff0000000000001, 0, 0});
    for (const std::string test :
         {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
        const std::string store = ";\nselp.u64 %rd20, 1, 0, %p1;\n";
        const auto narrow =
            answers("mov.b32 %f10, %r10;\ntestp." + test + ".f32 %p1, %f10" + store, given);
        const auto wide =
            answers("mov.b64 %fd10, %rd10;\ntestp." + test + ".f64 %p1, %fd10" + store, given);
        size_t yes = 0;
        for (size_t i = 0; i < given.size(); ++i) {
            const bool f32 = is(test, std::bit_cast<float>(static_cast<uint32_t>(given[i][0])));
            const bool f64 = is(test, std::bit_cast<double>(given[i][0]));
            EXPECT_EQ(narrow[i], f32) << test << std::hex << " f32 0x" << given[i][0];
            EXPECT_EQ(wide[i], f64) << test << std::hex << " f64 0x" << given[i][0];
            yes += f32 + f64;
        }
        EXPECT_GT(yes, 0u) << test;
        EXPECT_LT(yes, 2 * given.size()) << test;
    }
}

}  // namespace

}  // namespace lockwarp::exec::bits_test
