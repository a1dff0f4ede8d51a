// SPDX-License-Identifier: Apache-2.0
// Carries: numbers of several words added, subtracted and multiplied in parts, against arithmetic
// of 128 bits. PTX manual, "Extended-Precision Integer Arithmetic Instructions".
#include "tests/exec/operands.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

using Big = unsigned __int128;

// `expected` of the three numbers, for a body with the type in the place of each '#'.
template <class F>
void check(std::string body, const std::string& type, F expected) {
    for (size_t at = 0; (at = body.find('#', at)) != std::string::npos;) body.replace(at, 1, type);
    SCOPED_TRACE(body);
    const std::vector<Triple> given = triples();
    const std::vector<uint64_t> actual = answers(body, given);
    size_t wrong = 0;
    for (size_t i = 0; i < given.size(); ++i) {
        const auto [a, b, c] = given[i];
        const uint64_t right = expected(a, b, c);
        if (actual[i] != right && wrong++ < 3)
            ADD_FAILURE() << std::hex << "of 0x" << a << ", 0x" << b << ", 0x" << c << ": 0x"
                          << actual[i] << ", expected 0x" << right;
    }
    EXPECT_EQ(wrong, 0u);
}

constexpr const char* split = R"(
mov.b64 {%r21, %r22}, %rd10;
mov.b64 {%r23, %r24}, %rd11;
)";
constexpr const char* joined = "mov.b64 %rd20, {%r25, %r26};\n";

TEST(Carry, AdditionInHalves) {
    for (const char* type : {"u32", "s32"})
        check(
            std::string(split) + "add.cc.# %r25, %r21, %r23;\naddc.# %r26, %r22, %r24;\n" + joined,
            type, [](uint64_t a, uint64_t b, uint64_t) { return a + b; });
}

// A CTA does not find the carry of one that ran before it.
TEST(Carry, IsNoneAtFirst) {
    Given given;
    given.grid.x = 3;
    EXPECT_EQ(
        results_of(stored("addc.u32 %r2, 7, 0;\nadd.cc.u32 %r3, -1, 1;", "%r2"), Words(1), given),
        Words(96, 7));
}

TEST(Carry, SubtractionInHalves) {
    for (const char* type : {"u32", "s32"})
        check(
            std::string(split) + "sub.cc.# %r25, %r21, %r23;\nsubc.# %r26, %r22, %r24;\n" + joined,
            type, [](uint64_t a, uint64_t b, uint64_t) { return a - b; });
}

// Three words, the carry through the middle one: the highest word of a sum of 96 bits.
TEST(Carry, GoesThroughAWord) {
    for (const char* type : {"u32", "s32"}) {
        check(std::string(split) + R"(
add.cc.# %r27, %r21, %r12;
addc.cc.# %r25, %r22, %r24;
addc.# %r26, 0, 0;
)" + joined,
              type, [](uint64_t a, uint64_t b, uint64_t c) {
                  const Big sum = Big{a} + (Big{b >> 32} << 32 | (c & 0xffffffff));
                  return static_cast<uint64_t>(sum >> 32);
              });
        check(std::string(split) + R"(
sub.cc.# %r27, %r21, %r12;
subc.cc.# %r25, %r22, %r24;
subc.# %r26, 0, 0;
)" + joined,
              type, [](uint64_t a, uint64_t b, uint64_t c) {
                  const Big sum = Big{a} - (Big{b >> 32} << 32 | (c & 0xffffffff));
                  return static_cast<uint64_t>(sum >> 32);
              });
    }
}

TEST(Carry, Of64Bits) {
    for (const char* type : {"u64", "s64"}) {
        check("add.cc.# %rd21, %rd10, %rd11;\naddc.# %rd20, %rd12, %rd10;\n", type,
              [](uint64_t a, uint64_t b, uint64_t c) {
                  return static_cast<uint64_t>((Big{a} + b) >> 64) + c + a;
              });
        check("sub.cc.# %rd21, %rd10, %rd11;\nsubc.# %rd20, %rd12, %rd10;\n", type,
              [](uint64_t a, uint64_t b, uint64_t c) { return c - a - (a < b ? 1 : 0); });
        // The carry out of an addition with a carry: both, of all three numbers.
        check(
            "add.cc.# %rd21, %rd10, %rd11;\naddc.cc.# %rd22, %rd12, %rd10;\n"
            "addc.# %rd20, 0, 0;\n",
            type, [](uint64_t a, uint64_t b, uint64_t c) {
                const uint64_t carry = static_cast<uint64_t>((Big{a} + b) >> 64);
                return static_cast<uint64_t>((Big{c} + a + carry) >> 64);
            });
        check(
            "sub.cc.# %rd21, %rd10, %rd11;\nsubc.cc.# %rd22, %rd12, %rd10;\n"
            "addc.# %rd20, 0, 0;\n",
            type, [](uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
                return Big{c} < Big{a} + (a < b ? 1 : 0) ? 0 : 1;
            });
    }
}

// The manual's example: a product of 64 by 64 bits in four words; here its lower three.
TEST(Carry, ProductsInParts) {
    const std::string body = std::string(split) + R"(
mul.lo.u32 %r30, %r21, %r23;
mul.hi.u32 %r25, %r21, %r23;
mad.lo.cc.u32 %r25, %r21, %r24, %r25;
madc.hi.u32 %r26, %r21, %r24, 0;
mad.lo.cc.u32 %r25, %r22, %r23, %r25;
madc.hi.cc.u32 %r26, %r22, %r23, %r26;
addc.u32 %r31, 0, 0;
mad.lo.cc.u32 %r26, %r22, %r24, %r26;
madc.hi.u32 %r31, %r22, %r24, %r31;
)";
    check(body + joined, "", [](uint64_t a, uint64_t b, uint64_t) {
        return static_cast<uint64_t>((Big{a} * b) >> 32);
    });
    check(body + "mov.b64 %rd20, {%r26, %r31};\n", "", [](uint64_t a, uint64_t b, uint64_t) {
        return static_cast<uint64_t>((Big{a} * b) >> 64);
    });
}

template <class T>
uint64_t high_half(uint64_t a, uint64_t b) {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    const Wide product = Wide{static_cast<T>(a)} * static_cast<T>(b);
    return static_cast<uint64_t>(product >> (8 * sizeof(T)));
}

// Of each form the result and the carry it leaves, with a carry and without one.
template <class T>
void check_products(const char* type, const std::string& reg) {
    constexpr unsigned width = 8 * sizeof(T);
    const auto low = [](uint64_t v) { return width == 64 ? v : v & 0xffffffff; };
    const std::string sources = reg + "10, " + reg + "11, " + reg + "12;\n";
    const std::string first = "add.cc.# " + reg + "22, " + reg + "10, " + reg + "12;\n";
    for (const bool high : {false, true})
        for (const bool takes : {false, true}) {
            const auto sum = [=](uint64_t a, uint64_t b, uint64_t c) {
                const uint64_t product = high ? high_half<T>(a, b) : a * b;
                const bool carry = takes && (Big{low(a)} + low(c)) >> width != 0;
                return Big{low(product)} + low(c) + (carry ? 1 : 0);
            };
            const std::string name =
                std::string(takes ? "madc" : "mad") + (high ? ".hi" : ".lo") + ".cc.# ";
            const std::string widen = width == 64 ? "" : "cvt.u64.u32 %rd20, %r20;\n";
            check(first + name + reg + "20, " + sources + widen, type,
                  [=](uint64_t a, uint64_t b, uint64_t c) {
                      return low(static_cast<uint64_t>(sum(a, b, c)));
                  });
            check(first + name + reg + "20, " + sources + "addc.u64 %rd20, 0, 0;\n", type,
                  [=](uint64_t a, uint64_t b, uint64_t c) {
                      return static_cast<uint64_t>(sum(a, b, c) >> width);
                  });
            if (takes)
                check(first + (high ? "madc.hi.# " : "madc.lo.# ") + reg + "20, " + sources + widen,
                      type, [=](uint64_t a, uint64_t b, uint64_t c) {
                          return low(static_cast<uint64_t>(sum(a, b, c)));
                      });
        }
}

TEST(Carry, OfProducts) {
    check_products<uint32_t>("u32", "%r");
    check_products<int32_t>("s32", "%r");
    check_products<uint64_t>("u64", "%rd");
    check_products<int64_t>("s64", "%rd");
}

// Instructions without .cc leave the carry as it is, and so do those whose guard is false.
TEST(Carry, OnlyCcWritesIt) {
    check(R"(
setp.lt.u64 %p1, %rd12, %rd11;
add.cc.# %rd21, %rd10, %rd11;
add.u64 %rd22, %rd12, %rd12;
addc.# %rd22, %rd12, %rd12;
sub.s64 %rd22, %rd12, %rd10;
mad.lo.s64 %rd22, %rd12, %rd12, %rd12;
@%p1 add.cc.# %rd21, %rd12, %rd12;
addc.# %rd20, 0, 0;
)",
          "u64", [](uint64_t a, uint64_t b, uint64_t c) {
              return static_cast<uint64_t>((c < b ? Big{c} + c : Big{a} + b) >> 64);
          });
}

// A result may be the register of an operand.
TEST(Carry, InPlace) {
    check(
        "add.cc.u64 %rd10, %rd10, %rd11;\naddc.u64 %rd20, 0, 0;\n", "",
        [](uint64_t a, uint64_t b, uint64_t) { return static_cast<uint64_t>((Big{a} + b) >> 64); });
    check("sub.cc.u64 %rd11, %rd10, %rd11;\naddc.u64 %rd20, 0, 0;\n", "",
          [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a < b ? 0 : 1; });
}

}  // namespace

}  // namespace lockwarp::exec
