// SPDX-License-Identifier: Apache-2.0
// Integer, logic and shift instructions against plain C++, over operands at every edge. PTX manual,
// "Integer Arithmetic Instructions", "Logic and Shift Instructions".
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <type_traits>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

using Wide = __int128;

// Widths in bits of d and the sources; c of width 0: a two-operand instruction, b: one operand.
struct Case {
    std::string instruction;
    unsigned d, a, b, c;
    std::function<uint64_t(uint64_t, uint64_t, uint64_t)> expected;
};

const std::vector<uint64_t> edges{0,
                                  1,
                                  2,
                                  3,
                                  4,
                                  7,
                                  8,
                                  15,
                                  16,
                                  31,
                                  32,
                                  33,
                                  63,
                                  64,
                                  65,
                                  0x7f,
                                  0x80,
                                  0xff,
                                  0x100,
                                  0x7fff,
                                  0x8000,
                                  0xffff,
                                  0x10000,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  0x100000000,
                                  0x7fffffffffffffff,
                                  0x8000000000000000,
                                  0xffffffffffffffff,
                                  0xffffffff80000000,
                                  0x123456789abcdef0,
                                  0xfedcba9876543210};

std::string name_of(unsigned number, unsigned width) {
    return (width == 64 ? "%rd" : width == 16 ? "%h" : "%r") + std::to_string(number);
}

uint64_t low(uint64_t value, unsigned width) {
    return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

// The 64-bit operands of a thread are at in + 24 * thread; its result is zero-extended.
std::string body_of(const Case& c) {
    std::string text = "mul.wide.u32 %rd5, %r0, 24;\nadd.u64 %rd5, %rd5, %rd1;\n";
    std::string operands = name_of(20, c.d);
    const unsigned widths[] = {c.a, c.b, c.c};
    for (unsigned i = 0; i < 3; ++i) {
        const std::string wide = "%rd" + std::to_string(10 + i);
        text += "ld.global.u64 " + wide + ", [%rd5+" + std::to_string(8 * i) + "];\n";
        if (widths[i] == 0) continue;
        operands += ", " + name_of(10 + i, widths[i]);
        if (widths[i] != 64)
            text += "cvt.u" + std::to_string(widths[i]) + ".u64 " + name_of(10 + i, widths[i]) +
                    ", " + wide + ";\n";
    }
    // "lop3.b32 0x96" has its constant behind the operands.
    const size_t space = c.instruction.find(' ');
    const std::string constant =
        space == std::string::npos ? "" : ", " + c.instruction.substr(space + 1);
    text += c.instruction.substr(0, space) + " " + operands + constant + ";\n";
    if (c.d != 64)
        text += "cvt.u64.u" + std::to_string(c.d) + " %rd20, " + name_of(20, c.d) + ";\n";
    return text + "st.global.u64 [%rd3], %rd20;\n";
}

using Operands = std::vector<std::array<uint64_t, 3>>;

void check_of(const Case& c, Operands operands) {
    SCOPED_TRACE(c.instruction);
    const size_t cases = operands.size();
    Given given;
    given.block.x = 128;
    given.grid.x = static_cast<uint32_t>((cases + 127) / 128);
    operands.resize(size_t{given.grid.x} * 128);
    Words in;
    for (const auto& triple : operands)
        for (const uint64_t v : triple) {
            in.push_back(static_cast<uint32_t>(v));
            in.push_back(static_cast<uint32_t>(v >> 32));
        }
    const std::vector<FourWords> out = wide_results_of(body_of(c), in, given);
    size_t wrong = 0;
    for (size_t i = 0; i < cases; ++i) {
        const auto [x, y, z] = operands[i];
        const uint64_t actual = out[i][0] | uint64_t{out[i][1]} << 32;
        const uint64_t expected = low(
            c.expected(low(x, c.a), low(y, c.b == 0 ? 64 : c.b), low(z, c.c == 0 ? 64 : c.c)), c.d);
        if (actual != expected && wrong++ < 3)
            ADD_FAILURE() << std::hex << "of 0x" << x << ", 0x" << y << ", 0x" << z << ": 0x"
                          << actual << ", expected 0x" << expected;
    }
    EXPECT_EQ(wrong, 0u);
}

void check(const Case& c) {
    Operands operands;
    for (const uint64_t a : edges)
        for (const uint64_t b : c.b != 0 ? edges : std::vector<uint64_t>{0})
            for (const uint64_t e : c.c != 0 ? edges : std::vector<uint64_t>{0})
                operands.push_back({a, b, e});
    std::mt19937_64 random(9);
    for (int i = 0; i < 500; ++i) operands.push_back({random(), random(), random()});
    check_of(c, std::move(operands));
}

// Where all lanes of a warp have one value of `c`, and of `b` too where `both`.
void check_alike(const Case& c, bool both) {
    Operands operands;
    std::mt19937_64 random(10);
    std::vector<uint64_t> values = edges;
    for (int i = 0; i < 40; ++i) values.push_back(random() & 0x7f7f);
    for (const uint64_t b : both ? values : std::vector<uint64_t>{0})
        for (const uint64_t e : values)
            for (unsigned lane = 0; lane < 32; ++lane)
                operands.push_back({random(), both ? b : random(), e});
    check_of(c, std::move(operands));
}

template <class T>
constexpr unsigned width = 8 * sizeof(T);

template <class T>
std::string dotted() {
    return std::string(std::is_signed_v<T> ? ".s" : ".u") + std::to_string(width<T>);
}

template <class T>
Wide value(uint64_t bits) {
    return static_cast<T>(bits);
}

template <class T>
Case two(const char* opcode, std::function<Wide(Wide, Wide)> f) {
    return {opcode + dotted<T>(),
            width<T>,
            width<T>,
            width<T>,
            0,
            [f](uint64_t a, uint64_t b, uint64_t) {
                return static_cast<uint64_t>(f(value<T>(a), value<T>(b)));
            }};
}

template <class T>
Case three(const char* opcode, std::function<Wide(Wide, Wide, Wide)> f) {
    return {opcode + dotted<T>(),
            width<T>,
            width<T>,
            width<T>,
            width<T>,
            [f](uint64_t a, uint64_t b, uint64_t c) {
                return static_cast<uint64_t>(f(value<T>(a), value<T>(b), value<T>(c)));
            }};
}

// The upper half of a product of twice the width.
template <class T>
Wide high(Wide a, Wide b) {
    if constexpr (std::is_same_v<T, uint64_t>)
        return static_cast<Wide>(
            (static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)) >> 64);
    return (a * b) >> width<T>;
}

template <class T>
void check_arithmetic() {
    check(two<T>("add", [](Wide a, Wide b) { return a + b; }));
    check(two<T>("sub", [](Wide a, Wide b) { return a - b; }));
    check(two<T>("mul.lo", [](Wide a, Wide b) {
        return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }));
    check(two<T>("mul.hi", high<T>));
    check(two<T>("min", [](Wide a, Wide b) { return std::min(a, b); }));
    check(two<T>("max", [](Wide a, Wide b) { return std::max(a, b); }));
    // The manual leaves division by zero open: all ones, and so is the remainder (H200).
    check(two<T>("div", [](Wide a, Wide b) { return b == 0 ? Wide{-1} : a / b; }));
    check(two<T>("rem", [](Wide a, Wide b) { return b == 0 ? static_cast<Wide>(-1) : a % b; }));
    check(three<T>("mad.lo", [](Wide a, Wide b, Wide c) {
        return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) +
                                 static_cast<uint64_t>(c));
    }));
    check(three<T>("mad.hi", [](Wide a, Wide b, Wide c) { return high<T>(a, b) + c; }));
    check(three<T>("sad", [](Wide a, Wide b, Wide c) { return (a < b ? b - a : a - b) + c; }));
}

TEST(Integer, ArithmeticOf16Bits) {
    check_arithmetic<uint16_t>();
    check_arithmetic<int16_t>();
}
TEST(Integer, ArithmeticOf32Bits) {
    check_arithmetic<uint32_t>();
    check_arithmetic<int32_t>();
}
TEST(Integer, ArithmeticOf64Bits) {
    check_arithmetic<uint64_t>();
    check_arithmetic<int64_t>();
}

template <class T>
void check_wide() {
    const auto product = [](uint64_t a, uint64_t b) {
        return static_cast<uint64_t>(value<T>(a) * value<T>(b));
    };
    constexpr unsigned n = width<T>;
    check({"mul.wide" + dotted<T>(), 2 * n, n, n, 0,
           [=](uint64_t a, uint64_t b, uint64_t) { return product(a, b); }});
    check({"mad.wide" + dotted<T>(), 2 * n, n, n, 2 * n,
           [=](uint64_t a, uint64_t b, uint64_t c) { return product(a, b) + c; }});
}

TEST(Integer, WideProducts) {
    check_wide<uint16_t>();
    check_wide<int16_t>();
    check_wide<uint32_t>();
    check_wide<int32_t>();
}

Wide clamped(Wide v) { return std::clamp<Wide>(v, INT32_MIN, INT32_MAX); }

TEST(Integer, SaturatingForms) {
    check({"add.sat.s32", 32, 32, 32, 0, [](uint64_t a, uint64_t b, uint64_t) {
               return static_cast<uint64_t>(clamped(value<int32_t>(a) + value<int32_t>(b)));
           }});
    check({"sub.sat.s32", 32, 32, 32, 0, [](uint64_t a, uint64_t b, uint64_t) {
               return static_cast<uint64_t>(clamped(value<int32_t>(a) - value<int32_t>(b)));
           }});
    check({"mad.hi.sat.s32", 32, 32, 32, 32, [](uint64_t a, uint64_t b, uint64_t c) {
               return static_cast<uint64_t>(clamped(
                   high<int32_t>(value<int32_t>(a), value<int32_t>(b)) + value<int32_t>(c)));
           }});
}

template <class T>
void check_one_operand() {
    constexpr unsigned n = width<T>;
    check({"neg" + dotted<T>(), n, n, 0, 0,
           [](uint64_t a, uint64_t, uint64_t) { return uint64_t{0} - a; }});
    check({"abs" + dotted<T>(), n, n, 0, 0, [](uint64_t a, uint64_t, uint64_t) {
               const Wide v = value<T>(a);
               return static_cast<uint64_t>(v < 0 ? -v : v);
           }});
}

TEST(Integer, NegationAndMagnitude) {
    check_one_operand<int16_t>();
    check_one_operand<int32_t>();
    check_one_operand<int64_t>();
}

TEST(Integer, Logic) {
    for (const unsigned n : {16u, 32u, 64u}) {
        const std::string type = ".b" + std::to_string(n);
        check({"and" + type, n, n, n, 0, [](uint64_t a, uint64_t b, uint64_t) { return a & b; }});
        check({"or" + type, n, n, n, 0, [](uint64_t a, uint64_t b, uint64_t) { return a | b; }});
        check({"xor" + type, n, n, n, 0, [](uint64_t a, uint64_t b, uint64_t) { return a ^ b; }});
        check({"not" + type, n, n, 0, 0, [](uint64_t a, uint64_t, uint64_t) { return ~a; }});
        check({"cnot" + type, n, n, 0, 0,
               [](uint64_t a, uint64_t, uint64_t) { return uint64_t{a == 0}; }});
    }
}

TEST(Integer, Shifts) {
    // Amounts above the width shift everything out; of an arithmetic shift the sign remains.
    for (const unsigned n : {16u, 32u, 64u}) {
        const std::string bits = std::to_string(n);
        check({"shl.b" + bits, n, n, 32, 0,
               [n](uint64_t a, uint64_t b, uint64_t) { return b >= n ? 0 : a << b; }});
        for (const char* type : {".b", ".u"})
            check({"shr" + (type + bits), n, n, 32, 0,
                   [n](uint64_t a, uint64_t b, uint64_t) { return b >= n ? 0 : a >> b; }});
        check({"shr.s" + bits, n, n, 32, 0, [n](uint64_t a, uint64_t b, uint64_t) {
                   const auto value = static_cast<int64_t>(a << (64 - n)) >> (64 - n);
                   return static_cast<uint64_t>(value >> std::min<uint64_t>(b, 63));
               }});
    }
    const auto funnel = [](uint64_t a, uint64_t b) { return b << 32 | a; };
    check({"shf.l.wrap.b32", 32, 32, 32, 32,
           [=](uint64_t a, uint64_t b, uint64_t c) { return (funnel(a, b) << (c & 31)) >> 32; }});
    check({"shf.r.wrap.b32", 32, 32, 32, 32,
           [=](uint64_t a, uint64_t b, uint64_t c) { return funnel(a, b) >> (c & 31); }});
    check({"shf.l.clamp.b32", 32, 32, 32, 32, [=](uint64_t a, uint64_t b, uint64_t c) {
               return (funnel(a, b) << std::min<uint64_t>(c, 32)) >> 32;
           }});
    check({"shf.r.clamp.b32", 32, 32, 32, 32, [=](uint64_t a, uint64_t b, uint64_t c) {
               return funnel(a, b) >> std::min<uint64_t>(c, 32);
           }});
}

TEST(Integer, Counts) {
    for (const unsigned n : {32u, 64u}) {
        const std::string bits = std::to_string(n);
        check({"popc.b" + bits, 32, n, 0, 0, [](uint64_t a, uint64_t, uint64_t) {
                   return static_cast<uint64_t>(std::popcount(a));
               }});
        check({"clz.b" + bits, 32, n, 0, 0, [n](uint64_t a, uint64_t, uint64_t) {
                   return static_cast<uint64_t>(std::countl_zero(a)) - (64 - n);
               }});
        check({"brev.b" + bits, n, n, 0, 0, [n](uint64_t a, uint64_t, uint64_t) {
                   uint64_t out = 0;
                   for (unsigned i = 0; i < n; ++i) out |= (a >> i & 1) << (n - 1 - i);
                   return out;
               }});
        for (const char* amount : {"", ".shiftamt"})
            for (const char* type : {".u", ".s"})
                check({"bfind" + (amount + (type + bits)), 32, n, 0, 0,
                       [n, is_signed = type[1] == 's', is_amount = amount[0] != 0](
                           uint64_t a, uint64_t, uint64_t) -> uint64_t {
                           if (is_signed && (a >> (n - 1) & 1) != 0) a = low(~a, n);
                           for (unsigned i = n; i-- > 0;)
                               if ((a >> i & 1) != 0) return is_amount ? n - 1 - i : i;
                           return 0xffffffff;
                       }});
    }
}

// The pseudocode of the PTX manual, bfe; its masks of 0xff hold for 32 bits only (H200).
TEST(Integer, ExtractsFields) {
    for (const unsigned n : {32u, 64u})
        for (const bool is_signed : {false, true}) {
            const Case extract{
                (is_signed ? "bfe.s" : "bfe.u") + std::to_string(n),
                n,
                n,
                32,
                32,
                [=](uint64_t a, uint64_t b, uint64_t c) {
                    const uint64_t pos = n == 32 ? b & 0xff : b;
                    const uint64_t len = n == 32 ? c & 0xff : c;
                    const uint64_t msb = n - 1;
                    const uint64_t sign =
                        !is_signed || len == 0 ? 0 : a >> std::min(pos + len - 1, msb) & 1;
                    uint64_t d = 0;
                    for (unsigned i = 0; i <= msb; ++i)
                        d |= (i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
                    return d;
                }};
            check(extract);
            check_alike(extract, true);
        }
}

// The pseudocode of the PTX manual, bfi, as bfe above; the fourth source is one constant after
// another.
TEST(Integer, InsertsFields) {
    for (const unsigned n : {32u, 64u})
        for (const unsigned len :
             {0u, 1u, 5u, 8u, 31u, 32u, 33u, 63u, 64u, 65u, 255u, 256u, 300u}) {
            const Case insert{"bfi.b" + std::to_string(n) + " " + std::to_string(len),
                              n,
                              n,
                              n,
                              32,
                              [=](uint64_t a, uint64_t b, uint64_t c) {
                                  const uint64_t pos = n == 32 ? c & 0xff : c;
                                  uint64_t f = b;
                                  for (unsigned i = 0;
                                       i < (n == 32 ? len & 0xff : len) && pos + i <= n - 1; ++i) {
                                      f &= ~(uint64_t{1} << (pos + i));
                                      f |= (a >> i & 1) << (pos + i);
                                  }
                                  return f;
                              }};
            check(insert);
            check_alike(insert, false);
        }
}

TEST(Integer, Lop3IsItsTable) {
    // The constant is the function of 0xf0, 0xcc, 0xaa (PTX manual, lop3).
    for (unsigned table = 0; table < 256; ++table) {
        const std::string body = R"(
mul.wide.u32 %rd10, %r0, 12;
add.u64 %rd10, %rd10, %rd1;
ld.global.u32 %r2, [%rd10];
ld.global.u32 %r3, [%rd10+4];
ld.global.u32 %r4, [%rd10+8];
lop3.b32 %r5, %r2, %r3, %r4, )" + std::to_string(table) +
                                 R"(;
st.global.u32 [%rd2], %r5;
)";
        std::mt19937 random(table);
        Words in{0xf0, 0xcc, 0xaa};
        while (in.size() < 96) in.push_back(static_cast<uint32_t>(random()));
        const Words out = results_of(body, in);
        ASSERT_EQ(out[0] & 0xff, table);
        for (size_t i = 0; i < 32; ++i)
            for (unsigned bit = 0; bit < 32; ++bit) {
                const uint32_t index = (in[3 * i] >> bit & 1) << 2 |
                                       (in[3 * i + 1] >> bit & 1) << 1 | (in[3 * i + 2] >> bit & 1);
                ASSERT_EQ(out[i] >> bit & 1, table >> index & 1) << table;
            }
    }
}

// PTX manual, prmt: the selector's nibbles, or a table for each mode.
TEST(Integer, Permutes) {
    struct Mode {
        const char* name;
        std::array<std::array<unsigned, 4>, 4> bytes;  // by control & 3: byte 3, 2, 1, 0
    };
    const Mode modes[] = {
        {".f4e", {{{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}}},
        {".b4e", {{{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}}},
        {".rc8", {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}}},
        {".ecl", {{{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}}},
        {".ecr", {{{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}}},
        {".rc16", {{{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}},
    };
    const auto byte_of = [](uint64_t a, uint64_t b, unsigned index) {
        return (b << 32 | a) >> (8 * index) & 0xff;
    };
    for (const Mode& mode : modes) {
        const Case permute{std::string("prmt.b32") + mode.name,
                           32,
                           32,
                           32,
                           32,
                           [&](uint64_t a, uint64_t b, uint64_t c) {
                               uint64_t d = 0;
                               for (unsigned i = 0; i < 4; ++i)
                                   d |= byte_of(a, b, mode.bytes[c & 3][3 - i]) << (8 * i);
                               return d;
                           }};
        check(permute);
        check_alike(permute, false);
    }
    const Case permute{"prmt.b32", 32, 32, 32, 32, [&](uint64_t a, uint64_t b, uint64_t c) {
                           uint64_t d = 0;
                           for (unsigned i = 0; i < 4; ++i) {
                               const uint64_t nibble = c >> (4 * i) & 15;
                               uint64_t byte = byte_of(a, b, nibble & 7);
                               if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
                               d |= byte << (8 * i);
                           }
                           return d;
                       }};
    check(permute);
    check_alike(permute, false);
}

int64_t part(uint64_t v, unsigned index, unsigned bits, bool is_signed) {
    const uint64_t field = v >> (index * bits) & ((uint64_t{1} << bits) - 1);
    return static_cast<int64_t>(field) -
           (is_signed && (field >> (bits - 1)) != 0 ? int64_t{1} << bits : 0);
}

TEST(Integer, DotProductsOfParts) {
    for (const bool a_signed : {false, true})
        for (const bool b_signed : {false, true}) {
            const std::string types =
                std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
            check({"dp4a" + types, 32, 32, 32, 32, [=](uint64_t a, uint64_t b, uint64_t c) {
                       auto sum = static_cast<int64_t>(c);
                       for (unsigned i = 0; i < 4; ++i)
                           sum += part(a, i, 8, a_signed) * part(b, i, 8, b_signed);
                       return static_cast<uint64_t>(sum);
                   }});
            for (const unsigned half : {0u, 2u})
                check({(half != 0 ? "dp2a.hi" : "dp2a.lo") + types, 32, 32, 32, 32,
                       [=](uint64_t a, uint64_t b, uint64_t c) {
                           auto sum = static_cast<int64_t>(c);
                           for (unsigned i = 0; i < 2; ++i)
                               sum += part(a, i, 16, a_signed) * part(b, half + i, 8, b_signed);
                           return static_cast<uint64_t>(sum);
                       }});
        }
}

}  // namespace

}  // namespace lockwarp::exec
