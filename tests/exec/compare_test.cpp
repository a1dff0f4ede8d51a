// SPDX-License-Identifier: Apache-2.0
// setp, set, selp, slct and the logic of predicates. PTX manual, "Comparison and Selection
// Instructions".
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

struct Comparison {
    const char* name;
    bool less, equal, greater, unordered;
};

constexpr Comparison float_comparisons[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},
    {"lt", true, false, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"ge", false, true, true, false},
    {"equ", false, true, false, true}, {"neu", true, false, true, true},
    {"ltu", true, false, false, true}, {"leu", true, true, false, true},
    {"gtu", false, false, true, true}, {"geu", false, true, true, true},
    {"num", true, true, true, false},  {"nan", false, false, false, true},
};

bool holds(const Comparison& c, double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return c.unordered;
    return a < b ? c.less : a == b ? c.equal : c.greater;
}

// Words: p, q, p of (compare AND k), q of (compare XOR k), where k is lane & 1.
FourWords predicates(bool holds, uint32_t lane) {
    const bool k = (lane & 1) != 0;
    return {uint32_t{holds}, uint32_t{!holds}, uint32_t{holds && k}, uint32_t{!holds != k}};
}

// Thread t compares operands t / 32 and t % 32 of 32 values of `bytes` bytes each.
std::vector<FourWords> compared(const std::string& comparison, const std::string& type,
                                unsigned bytes, const Words& in) {
    const std::string reg = bytes == 8 ? "%rd1" : bytes == 4 ? "%r1" : "%h1";
    const std::string size = std::to_string(bytes);
    const std::string bits = std::to_string(8 * bytes);
    const std::string a = reg + "1";
    const std::string b = reg + "2";
    // setp of .f16 writes one predicate only.
    const std::string setp = "setp." + comparison;
    const std::string operands = a + ", " + b;
    const std::string pair = type == ".f16"
                                 ? setp + type + " %p1, " + operands + ";\nnot.pred %p2, %p1;\n" +
                                       setp + ".xor" + type + " %p4, " + operands + ", !%p9;\n"
                                 : setp + type + " %p1|%p2, " + operands + ";\n" + setp + ".xor" +
                                       type + " _|%p4, " + operands + ", %p9;\n";
    Given given;
    given.grid.x = 32;
    return wide_results_of(
        "shr.u32 %r2, %r0, 5;\nand.b32 %r3, %r0, 31;\n"
        "mul.wide.u32 %rd5, %r2, " +
            size + ";\nmul.wide.u32 %rd6, %r3, " + size +
            ";\nadd.u64 %rd5, %rd5, %rd1;\nadd.u64 %rd6, %rd6, %rd1;\nld.global.b" + bits + " " +
            a + ", [%rd5];\nld.global.b" + bits + " " + b +
            ", [%rd6];\nand.b32 %r4, %r0, 1;\nsetp.ne.u32 %p9, %r4, 0;\n" + pair + setp + ".and" +
            type + " %p3, " + operands +
            ", %p9;\nselp.u32 %r5, 1, 0, %p1;\nselp.u32 %r6, 1, 0, %p2;\n"
            "selp.u32 %r7, 1, 0, %p3;\nselp.u32 %r8, 1, 0, %p4;\n"
            "st.global.v4.u32 [%rd3], {%r5, %r6, %r7, %r8};\n",
        in, given);
}

template <class T>
Words packed(const std::vector<T>& values) {
    Bytes bytes;
    for (const T v : values) append(bytes, v);
    return words_of(bytes);
}

void expect_compared(const std::vector<FourWords>& out, const std::string& what,
                     const std::function<bool(size_t, size_t)>& expected) {
    for (size_t i = 0; i < 1024; ++i)
        ASSERT_EQ(out[i], predicates(expected(i / 32, i % 32), static_cast<uint32_t>(i)))
            << what << " of values " << i / 32 << " and " << i % 32;
}

std::vector<double> float_values(double largest, double smallest_normal, double smallest) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> out{0.0,
                            -0.0,
                            1.0,
                            -1.0,
                            1.5,
                            -1.5,
                            2.0,
                            HUGE_VAL,
                            -HUGE_VAL,
                            nan,
                            -nan,
                            largest,
                            -largest,
                            smallest_normal,
                            -smallest_normal,
                            smallest,
                            -smallest,
                            smallest_normal - smallest};
    while (out.size() < 32) out.push_back(static_cast<double>(out.size()) - 24);
    return out;
}

TEST(Compare, FloatsInEveryWay) {
    const std::vector<double> f64 = float_values(std::numeric_limits<double>::max(), 0x1p-1022,
                                                 std::numeric_limits<double>::denorm_min());
    const std::vector<double> single = float_values(std::numeric_limits<float>::max(), 0x1p-126,
                                                    std::numeric_limits<float>::denorm_min());
    const std::vector<double> half = float_values(65504, 0x1p-14, 0x1p-24);
    std::vector<float> f32(single.begin(), single.end());
    std::vector<uint16_t> f16;
    for (const double v : half) f16.push_back(f16_of(v));
    const auto flushed = [](double v) { return std::fabs(v) < 0x1p-126 ? 0 : v; };
    for (const Comparison& c : float_comparisons) {
        const std::string name = c.name;
        expect_compared(compared(name, ".f64", 8, packed(f64)), name + ".f64",
                        [&](size_t a, size_t b) { return holds(c, f64[a], f64[b]); });
        expect_compared(compared(name, ".f32", 4, packed(f32)), name + ".f32",
                        [&](size_t a, size_t b) { return holds(c, single[a], single[b]); });
        expect_compared(compared(name, ".f16", 2, packed(f16)), name + ".f16",
                        [&](size_t a, size_t b) { return holds(c, half[a], half[b]); });
        // .ftz stands behind the combination: compare without one.
        const std::vector<FourWords> out = [&] {
            Given given;
            given.grid.x = 32;
            return wide_results_of(
                "shr.u32 %r2, %r0, 5;\nand.b32 %r3, %r0, 31;\nmul.wide.u32 %rd5, %r2, 4;\n"
                "mul.wide.u32 %rd6, %r3, 4;\nadd.u64 %rd5, %rd5, %rd1;\nadd.u64 %rd6, %rd6, %rd1;\n"
                "ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd6];\nsetp." +
                    name + ".ftz.f32 %p1, %f1, %f2;\nset." + name +
                    ".u32.f32 %r6, %f1, %f2;\nset." + name +
                    ".f32.f32 %f3, %f1, %f2;\nmov.b32 %r7, %f3;\nselp.u32 %r5, 1, 0, %p1;\n"
                    "st.global.v4.u32 [%rd3], {%r5, %r6, %r7, %r7};\n",
                packed(f32), given);
        }();
        for (size_t i = 0; i < 1024; ++i) {
            const double a = single[i / 32];
            const double b = single[i % 32];
            ASSERT_EQ(out[i][0], uint32_t{holds(c, flushed(a), flushed(b))}) << name << ".ftz";
            ASSERT_EQ(out[i][1], holds(c, a, b) ? 0xffffffff : 0) << "set." << name;
            ASSERT_EQ(out[i][2], holds(c, a, b) ? 0x3f800000u : 0u) << "set." << name;
        }
    }
}

template <class T>
void check_integers(const std::string& type) {
    using S = std::make_signed_t<T>;
    using U = std::make_unsigned_t<T>;
    constexpr T lowest = static_cast<T>(U{1} << (8 * sizeof(T) - 1));
    std::vector<T> values{0,
                          1,
                          2,
                          static_cast<T>(-1),
                          static_cast<T>(-2),
                          lowest,
                          static_cast<T>(lowest - 1),
                          static_cast<T>(lowest + 1)};
    std::mt19937_64 random(4);
    while (values.size() < 32) values.push_back(static_cast<T>(random()));
    struct Named {
        const char* name;
        bool less, equal, greater;
        bool is_unsigned;  // lo, ls, hi, hs: whatever the type
    };
    for (const Named& c :
         {Named{"eq", false, true, false, false}, Named{"ne", true, false, true, false},
          Named{"lt", true, false, false, false}, Named{"le", true, true, false, false},
          Named{"gt", false, false, true, false}, Named{"ge", false, true, true, false},
          Named{"lo", true, false, false, true}, Named{"ls", true, true, false, true},
          Named{"hi", false, false, true, true}, Named{"hs", false, true, true, true}}) {
        const bool is_signed = type[1] == 's';
        if (is_signed && c.is_unsigned) continue;
        if (type[1] == 'b' && std::string(c.name) != "eq" && std::string(c.name) != "ne") continue;
        expect_compared(compared(c.name, type, sizeof(T), packed(values)), c.name + type,
                        [&](size_t a, size_t b) {
                            if (values[a] == values[b]) return c.equal;
                            const bool below =
                                is_signed ? static_cast<S>(values[a]) < static_cast<S>(values[b])
                                          : static_cast<U>(values[a]) < static_cast<U>(values[b]);
                            return below ? c.less : c.greater;
                        });
    }
}

TEST(Compare, IntegersInEveryWay) {
    for (const char* kind : {".u", ".s", ".b"}) {
        check_integers<uint16_t>(kind + std::string("16"));
        check_integers<uint32_t>(kind + std::string("32"));
        check_integers<uint64_t>(kind + std::string("64"));
    }
}

TEST(Compare, PackedHalvesEachHaveAPredicate) {
    const auto out = wide_results_of(R"(
mov.b32 %r2, 0x3c004000;
mov.b32 %r3, 0x40003c00;
setp.lt.f16x2 %p1|%p2, %r2, %r3;
selp.u32 %r4, 1, 0, %p1;
selp.u32 %r5, 1, 0, %p2;
st.global.v4.u32 [%rd3], {%r4, %r5, %r4, %r5};
)");
    EXPECT_EQ(out[0], (FourWords{0, 1, 0, 1}));
}

TEST(Compare, PredicatesAreCombinedAndNegated) {
    // p1: bit 0 of the lane, p2: bit 1.
    const Words out = results_of(R"(
and.b32 %r2, %r1, 1;
and.b32 %r3, %r1, 2;
setp.ne.u32 %p1, %r2, 0;
setp.ne.u32 %p2, %r3, 0;
and.pred %p3, %p1, %p2;
or.pred %p4, %p1, !%p2;
xor.pred %p5, !%p1, %p2;
not.pred %p6, %p1;
mov.pred %p7, !%p2;
mov.pred %p8, 1;
and.pred %p9, !%p1, !%p2;
setp.eq.and.u32 %p10, %r1, %r1, !%p2;
mov.u32 %r4, 0;
@%p3 add.u32 %r4, %r4, 1;
@%p4 add.u32 %r4, %r4, 2;
@%p5 add.u32 %r4, %r4, 4;
@%p6 add.u32 %r4, %r4, 8;
@%p7 add.u32 %r4, %r4, 16;
@%p8 add.u32 %r4, %r4, 32;
@%p9 add.u32 %r4, %r4, 64;
@%p10 add.u32 %r4, %r4, 128;
@!%p8 add.u32 %r4, %r4, 1024;
st.global.u32 [%rd2], %r4;
)");
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const bool p = (lane & 1) != 0;
        const bool q = (lane & 2) != 0;
        EXPECT_EQ(out[lane], (p && q) * 1u + (p || !q) * 2u + (!p != q) * 4u + !p * 8u + !q * 16u +
                                 32u + (!p && !q) * 64u + !q * 128u);
    }
}

TEST(Compare, SelectsByPredicateAndBySign) {
    // PTX manual, slct: a where c >= 0, -0 counts as 0, NaN gives b.
    const auto out = wide_results_of(R"(
setp.lt.u32 %p1, %r1, 16;
selp.b64 %rd9, 0x1111111122222222, 0x3333333344444444, %p1;
selp.b32 %r2, 5, 6, !%p1;
sub.u32 %r3, %r1, 8;
slct.u32.s32 %r4, 1, 2, %r3;
st.global.u64 [%rd3], %rd9;
st.global.v2.u32 [%rd3+8], {%r2, %r4};
)");
    for (uint32_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(out[lane], (FourWords{lane < 16 ? 0x22222222u : 0x44444444u,
                                        lane < 16 ? 0x11111111u : 0x33333333u, lane < 16 ? 6u : 5u,
                                        lane < 8 ? 2u : 1u}));
    Words in{0x00000000, 0x80000000, 0x7fc00000, 0xffc00000, 0x3f800000,
             0xbf800000, 0x00000001, 0x80000001, 0x7f800000, 0xff800000};
    in.resize(32);
    const auto floats = wide_results_of(R"(
mul.wide.u32 %rd10, %r1, 4;
add.u64 %rd10, %rd10, %rd1;
ld.global.f32 %f1, [%rd10];
slct.u32.f32 %r2, 1, 2, %f1;
slct.ftz.u64.f32 %rd9, 3, 4, %f1;
cvt.u32.u64 %r3, %rd9;
st.global.v2.u32 [%rd3], {%r2, %r3};
)",
                                        in);
    const uint32_t plain[] = {1, 1, 2, 2, 1, 2, 1, 2, 1, 2};
    const uint32_t ftz[] = {3, 3, 4, 4, 3, 4, 3, 3, 3, 4};
    for (size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(floats[i][0], plain[i]) << i;
        EXPECT_EQ(floats[i][1], ftz[i]) << i;
    }
}

}  // namespace

}  // namespace lockwarp::exec
