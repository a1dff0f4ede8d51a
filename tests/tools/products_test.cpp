// SPDX-License-Identifier: Apache-2.0
// What is right and what is not of buffers: products beside plain sums, tolerances at their edges,
// matrices as they are printed.
#include "tools/report/products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "launch/launch_file.hpp"
#include "launch/random.hpp"
#include "launch/values.hpp"
#include "tests/results.hpp"
#include "tools/report/expectation.hpp"
#include "tools/report/matrices.hpp"

namespace lockwarp::tools {
namespace {

using isa::Type;
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(UlpAt, DistancesOfNeighbours) {
    const struct {
        Type type;
        double value, ulp;
    } rows[] = {{Type::f16, 1, 0x1p-10},
                {Type::f16, -1, 0x1p-10},
                {Type::f16, 1.5, 0x1p-10},
                {Type::f16, 2, 0x1p-9},
                {Type::f16, 0, 0x1p-24},
                {Type::f16, 0x1p-20, 0x1p-24},
                {Type::f16, 65504, 32},
                {Type::bf16, 1, 0x1p-7},
                {Type::f32, 1, 0x1p-23},
                {Type::f64, 1, 0x1p-52},
                {Type::tf32, 1, 0x1p-10},
                {Type::e4m3, 1, 0x1p-3},
                {Type::e5m2, 57344, 8192},
                {Type::s32, 1000, 1},
                {Type::u8, 0, 1},
                {Type::b16, 7, 1},
                {Type::f32, 0x1.fffffep127, 0x1p104}};
    for (const auto& row : rows) EXPECT_EQ(ulp_at(row.type, row.value), row.ulp) << row.value;
}

TEST(IsRight, WithoutAToleranceTheBits) {
    const launch::Tolerance exact;
    EXPECT_TRUE(is_right(beside(Type::f32, 0, 5, 5), Type::f32, exact, false));
    EXPECT_FALSE(is_right(beside(Type::f32, 0, 5, 6), Type::f32, exact, false));
    EXPECT_FALSE(is_right(beside(Type::f32, 0, 0x80000000, 0), Type::f32, exact, false)) << "-0";
    EXPECT_TRUE(is_right(beside(Type::f32, 0, 0x7fc00000, 0x7fc00000), Type::f32, exact, false));
    EXPECT_FALSE(is_right(beside(Type::f32, 0, 0x7fc00001, 0x7fc00000), Type::f32, exact, false));
}

TEST(IsRight, OneOfTheTolerances) {
    const auto right = [](Type type, double is, double expected, launch::Tolerance t) {
        const Beside b =
            beside(type, 0, launch::bits_of(type, is), launch::bits_of(type, expected));
        return is_right(b, type, t, false);
    };
    const double eps = 0x1p-10;  // an ulp of f16 at 1
    EXPECT_TRUE(right(Type::f16, 1 + 2 * eps, 1, {.ulp = 2, .absolute = {}, .relative = {}}));
    EXPECT_FALSE(right(Type::f16, 1 + 3 * eps, 1, {.ulp = 2, .absolute = {}, .relative = {}}));
    EXPECT_TRUE(right(Type::f16, 1 - 2 * eps, 1, {.ulp = 2, .absolute = {}, .relative = {}}));
    EXPECT_TRUE(right(Type::f16, 3, 2.5, {.ulp = {}, .absolute = 0.5, .relative = {}}));
    EXPECT_FALSE(right(Type::f16, 3, 2.25, {.ulp = {}, .absolute = 0.5, .relative = {}}));
    EXPECT_TRUE(right(Type::f16, 5, 4, {.ulp = {}, .absolute = {}, .relative = 0.25}));
    EXPECT_TRUE(right(Type::f16, -5, -4, {.ulp = {}, .absolute = {}, .relative = 0.25}));
    EXPECT_FALSE(right(Type::f16, 5.5, 4, {.ulp = {}, .absolute = {}, .relative = 0.25}));
    EXPECT_TRUE(right(Type::f16, 5.5, 4, {.ulp = 0, .absolute = 1.5, .relative = 0.25}));
    EXPECT_TRUE(right(Type::f16, 0, -0.0, {.ulp = 0, .absolute = {}, .relative = {}}));
    EXPECT_TRUE(right(Type::s32, 7, 5, {.ulp = 2, .absolute = {}, .relative = {}}));
    EXPECT_FALSE(right(Type::s32, 8, 5, {.ulp = 2, .absolute = {}, .relative = {}}));
    const launch::Tolerance wide{.ulp = 1e9, .absolute = 1e9, .relative = 1e9};
    EXPECT_FALSE(right(Type::f32, NAN, 1, wide));
    EXPECT_FALSE(right(Type::f32, 1, NAN, wide));
    EXPECT_TRUE(right(Type::f32, NAN, NAN, wide));
    EXPECT_TRUE(right(Type::f32, infinity, infinity, wide));
    EXPECT_FALSE(right(Type::f32, infinity, -infinity, wide));
    EXPECT_FALSE(right(Type::f32, infinity, 1, wide));
    // Bits have no distance that is relative.
    EXPECT_FALSE(right(Type::b32, 8, 5, {.ulp = {}, .absolute = {}, .relative = 10}));
    EXPECT_TRUE(right(Type::b32, 5, 5, {.ulp = {}, .absolute = {}, .relative = 10}));
    EXPECT_TRUE(right(Type::b32, 8, 5, {.ulp = 3, .absolute = {}, .relative = {}}));
    EXPECT_TRUE(right(Type::b32, 8, 5, {.ulp = {}, .absolute = 3, .relative = {}}));
}

TEST(Allowed, TheWidestOfTheTolerances) {
    Beside b = beside(Type::f16, 0, 0, launch::bits_of(Type::f16, -4));
    b.bound = 7;
    EXPECT_EQ(allowed(b, Type::f16, {}, true), 7);
    EXPECT_EQ(allowed(b, Type::f16, {}, false), 0);
    EXPECT_EQ(allowed(b, Type::f16, {.ulp = 3, .absolute = {}, .relative = {}}, true), 3 * 0x1p-8);
    EXPECT_EQ(allowed(b, Type::f16, {.ulp = 3, .absolute = 1, .relative = {}}, true), 1);
    EXPECT_EQ(allowed(b, Type::f16, {.ulp = 3, .absolute = 1, .relative = 0.5}, true), 2);
    EXPECT_EQ(allowed(b, Type::f16, {.ulp = 3, .absolute = 1, .relative = 0.125}, true), 1);
}

std::vector<uint8_t> values(Type type, const std::vector<double>& list) {
    std::vector<uint8_t> out(list.size() * isa::bits(type) / 8);
    for (size_t i = 0; i < list.size(); ++i)
        launch::set_element(out, type, i, launch::bits_of(type, list[i]));
    return out;
}

std::vector<double> random_values(size_t count, uint64_t seed) {
    std::vector<double> out;
    launch::Random random{seed};
    for (size_t i = 0; i < count; ++i) out.push_back(static_cast<double>(random.below(17)) / 4 - 2);
    return out;
}

// Every element of D = A*B + C, in each storage of the factors.
TEST(EachOfProduct, IsThePlainSum) {
    constexpr uint64_t m = 5, n = 3, k = 7;
    for (const bool a_transposed : {false, true})
        for (const bool b_transposed : {false, true})
            for (const bool with_c : {false, true})
                for (const Type type : {Type::f32, Type::f16, Type::s32}) {
                    const bool whole = type == Type::s32;
                    const Type ab = whole ? Type::s8 : Type::f16;
                    std::vector<double> a = random_values(m * k, 1), b = random_values(k * n, 2),
                                        c = random_values(m * n, 3);
                    if (whole)
                        for (std::vector<double>* list : {&a, &b, &c})
                            for (double& v : *list) v = std::floor(4 * v);
                    const launch::Product p{
                        "D", "A",  "B", with_c ? "C" : "", a_transposed, b_transposed, m, n, k, ab,
                        ab,  type, type};
                    const auto bytes_a = values(ab, a), bytes_b = values(ab, b),
                               bytes_c = values(type, c);
                    std::vector<double> exact, sums;
                    for (uint64_t i = 0; i < m; ++i)
                        for (uint64_t j = 0; j < n; ++j) {
                            double sum = with_c ? c[i * n + j] : 0, all = std::fabs(sum);
                            for (uint64_t t = 0; t < k; ++t) {
                                const double x = a[a_transposed ? t * m + i : i * k + t];
                                const double y = b[b_transposed ? j * k + t : t * n + j];
                                sum += x * y;
                                all += std::fabs(x * y);
                            }
                            exact.push_back(sum);
                            sums.push_back(all);
                        }
                    std::vector<double> off = exact;
                    for (size_t i = 0; i < off.size(); ++i) off[i] += static_cast<double>(i);
                    const auto bytes_d = values(type, off);
                    const Buffers before{{"A", bytes_a}, {"B", bytes_b}, {"C", bytes_c}};
                    size_t at = 0;
                    each_of_product(p, before, {{"D", bytes_d}}, [&](const Beside& one) {
                        ASSERT_LT(at, exact.size());
                        EXPECT_EQ(one.index, at);
                        EXPECT_EQ(one.exact, exact[at]);
                        EXPECT_EQ(one.expected, launch::bits_of(type, exact[at]));
                        EXPECT_EQ(one.bits, launch::bits_of(type, off[at]));
                        EXPECT_EQ(one.deviation, static_cast<double>(at));
                        EXPECT_EQ(one.ulp, static_cast<double>(at) / ulp_at(type, exact[at]));
                        const double round = type == Type::f32 ? 0x1p-23 : 0x1p-10;
                        const double bound =
                            4 * std::sqrt(7.0) * round * sums[at] + ulp_at(type, exact[at]);
                        EXPECT_DOUBLE_EQ(one.bound, whole ? 0 : bound);
                        ++at;
                    });
                    EXPECT_EQ(at, m * n);
                }
    // Factors of 32 bits are rounded to tf32 at the least.
    for (const auto& [ta, tb] :
         {std::pair(Type::f32, Type::f16), std::pair(Type::f16, Type::f32)}) {
        const launch::Product p{"D", "A", "B", "", false,     false,    1,
                                1,   1,   ta,  tb, Type::f32, Type::f32};
        const auto a = values(ta, {2}), b = values(tb, {3}), d = values(Type::f32, {6});
        each_of_product(p, {{"A", a}, {"B", b}}, {{"D", d}}, [](const Beside& one) {
            EXPECT_DOUBLE_EQ(one.bound, 4 * 0x1p-10 * 6 + 0x1p-21);
        });
    }
    // What overflows is right as infinity.
    const launch::Product p{"D", "A", "B",       "",        false,     false,    1,
                            2,   1,   Type::f16, Type::f16, Type::f16, Type::f16};
    const auto a = values(Type::f16, {60000}), b = values(Type::f16, {4, 4}),
               d = values(Type::f16, {infinity, -infinity});
    std::vector<bool> right;
    each_of_product(p, {{"A", a}, {"B", b}}, {{"D", d}}, [&](const Beside& one) {
        right.push_back(is_right(one, Type::f16, {}, true));
    });
    EXPECT_EQ(right, (std::vector<bool>{true, false}));
}

TEST(ProductReport, NamesTheLargestDeviation) {
    launch::Expectation e;
    EXPECT_EQ(take(parse_product("D=A*B:1x3x1:f32:f32:absolute=0.5"), e), "");
    const auto a = values(Type::f32, {1}), b = values(Type::f32, {1, 2, 4});
    const auto report = [&](const std::vector<double>& d, bool good) {
        std::string out;
        const auto bytes = values(Type::f32, d);
        EXPECT_EQ(product_report(e, {{"A", a}, {"B", b}}, {{"D", bytes}}, out), good);
        return out;
    };
    const std::string begin = "D = A*B: largest deviation from the exact product ";
    EXPECT_EQ(report({1, 2, 4}, true), begin + "0 (0.000 ulp of f32) at D[0][0]:\n  1, exact 1\n");
    EXPECT_EQ(report({1, 2.5, 3.75}, true),
              begin + "0.5 (2097152.000 ulp of f32) at D[0][1]:\n  2.5, exact 2\n");
    EXPECT_EQ(report({1, 2.75, 5}, false),
              begin +
                  "1 (2097152.000 ulp of f32) at D[0][2]:\n  5, exact 4\n"
                  "DIFFERS: 2 of 3 values are beyond the tolerance\n");
    EXPECT_EQ(report({NAN, 2, 4}, false),
              begin +
                  "0 (0.000 ulp of f32) at D[0][1]:\n  2, exact 2\n  1 elements are not "
                  "finite\nDIFFERS: 1 of 3 values are beyond the tolerance\n");
    EXPECT_EQ(report({NAN, infinity, -infinity}, false),
              "D = A*B: no element is a finite number\n"
              "DIFFERS: 3 of 3 values are beyond the tolerance\n");
    e.tolerance = {};
    EXPECT_EQ(report({1, 2, 5}, false),
              begin +
                  "1 (2097152.000 ulp of f32) at D[0][2]:\n  5, exact 4\n"
                  "DIFFERS: 1 of 3 values are beyond the tolerance for products of these "
                  "types\n");
}

TEST(ProductOptions, AsTheyAreWritten) {
    launch::Expectation e;
    ASSERT_EQ(take(parse_product("D=A'*B':2x3x4:f16:f32:relative=0.5"), e), "");
    EXPECT_EQ(e.name, "D");
    EXPECT_EQ(e.type, Type::f32);
    EXPECT_EQ(e.tolerance.relative, 0.5);
    EXPECT_FALSE(e.tolerance.ulp || e.tolerance.absolute);
    EXPECT_EQ(formula(*e.product), "D = A'*B'");
    EXPECT_EQ(e.product->m, 2u);
    EXPECT_EQ(e.product->n, 3u);
    EXPECT_EQ(e.product->k, 4u);
    EXPECT_EQ(e.product->type_a, Type::f16);
    EXPECT_EQ(e.product->type_b, Type::f16);
    ASSERT_EQ(take(parse_product("D=A*B:1x1x1:s8:s32:ulp=0"), e), "");
    EXPECT_EQ(e.tolerance.ulp, 0);
    EXPECT_EQ(formula(*e.product), "D = A*B");
    e.product->c = "C";
    EXPECT_EQ(formula(*e.product), "D = A*B + C");
    for (const char* text : {"",
                             "D=A*B",
                             "D=A*B:1x1x1:f16",
                             "D=A*B:1x1x1:f16:f16:ulp=1:x",
                             "DA*B:1x1x1:f16:f16",
                             "D=AB:1x1x1:f16:f16",
                             "D*A=B:1x1x1:f16:f16",
                             "D=A*B:1x1:f16:f16",
                             "D=A*B:1x1x0:f16:f16",
                             "D=A*B:1x1x1x1:f16:f16",
                             "D=A*B:1x1xk:f16:f16",
                             "D=A*B:1x1x1:f17:f16",
                             "D=A*B:1x1x1:f16:f17",
                             "D=A*B:1x1x4294967297:f16:f16",
                             "D=A*B:1x1x1:f16:f16:ulp",
                             "D=A*B:1x1x1:f16:f16:ulp=-1",
                             "D=A*B:1x1x1:f16:f16:ulp=inf",
                             "D=A*B:1x1x1:f16:f16:ulp=1x",
                             "D=A*B:1x1x1:f16:f16:upl=1",
                             "D=A*B:1x1x1:f16:f16:"})
        EXPECT_EQ(take(parse_product(text), e),
                  "--product " + std::string(text) +
                      ": D=A*B:MxNxK:AB_TYPE:D_TYPE[:ulp=N|absolute=X|relative=X] is expected (A' "
                      "for A stored K x M, B' for B stored N x K)");
    EXPECT_EQ(take(parse_product("D=A*B:1x1x4294967296:f16:f16"), e), "");
}

TEST(ProductOptions, BuffersHoldTheMatrices) {
    const launch::Product p{"D", "A", "B",       "C",       false,     false,    2,
                            3,   4,   Type::f16, Type::f16, Type::f64, Type::f32};
    const std::vector<uint8_t> bytes(64);
    const auto of = [&](size_t a, size_t b, size_t c, size_t d) {
        const std::span<const uint8_t> all(bytes);
        return sentence_of(check_product(
            "x", p,
            {{"A", all.first(a)}, {"B", all.first(b)}, {"C", all.first(c)}, {"D", all.first(d)}}));
    };
    EXPECT_EQ(of(16, 24, 48, 24), "");
    EXPECT_EQ(of(15, 24, 48, 24), "x: buffer 'A' has 15 bytes, 2x4 of f16 need 16");
    EXPECT_EQ(of(16, 23, 48, 24), "x: buffer 'B' has 23 bytes, 4x3 of f16 need 24");
    EXPECT_EQ(of(16, 24, 47, 24), "x: buffer 'C' has 47 bytes, 2x3 of f64 need 48");
    EXPECT_EQ(of(16, 24, 48, 23), "x: buffer 'D' has 23 bytes, 2x3 of f32 need 24");
    const std::span<const uint8_t> all(bytes);
    EXPECT_EQ(sentence_of(check_product("x", p, {{"B", all}, {"q", all}})),
              "x: there is no buffer 'A'; buffers: B, q");
}

std::string printed(const std::string& request, const std::vector<uint8_t>& bytes) {
    PrintRequest q;
    EXPECT_EQ(take(parse_print(request), q), "");
    const Buffers buffers{{q.buffer, bytes}};
    EXPECT_EQ(sentence_of(check_print(q, buffers)), "");
    std::string out;
    print_matrix(q, buffers, out);
    return out;
}

TEST(PrintedMatrices, RowsAndColumns) {
    EXPECT_EQ(printed("D:f16:2x3", values(Type::f16, {1, -2.5, 0, 100, 0.25, NAN})),
              "         0        1        2\n0   1.0000  -2.5000   0.0000\n"
              "1 100.0000   0.2500      nan\n");
    EXPECT_EQ(printed("D:f16:1x2:0", values(Type::f16, {1, 2.5})), "  0 1\n0 1 2\n");
    EXPECT_EQ(printed("D:f16:1x2:hex", values(Type::f16, {1, 2})),
              "       0      1\n0 0x3c00 0x4000\n");
    EXPECT_EQ(printed("D:s8:1x2", values(Type::s8, {-1, 2})), "   0  1\n0 -1  2\n");
    // Values that four decimals would not show.
    EXPECT_EQ(printed("D:f32:1x2", values(Type::f32, {0.001, 9999999})),
              "             0            1\n0       0.0010 9999999.0000\n");
    EXPECT_EQ(printed("D:f32:1x2", values(Type::f32, {0.0005, 1})),
              "       0      1\n0 0.0005      1\n");
    EXPECT_EQ(printed("D:f32:1x2", values(Type::f32, {1e7, infinity})),
              "         0        1\n0 10000000      inf\n");
    // Twelve rows, and a block of as many columns as a line of 100 holds.
    std::vector<double> many(12 * 25);
    for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
    std::string is;
    for (const auto& [first, end] : {std::pair(0, 24), std::pair(24, 25)}) {
        if (first != 0) is += "\n";
        is += "  ";
        const auto cell = [](int v) {
            const std::string text = std::to_string(v);
            return " " + std::string(3 - text.size(), ' ') + text;
        };
        for (int j = first; j < end; ++j) is += cell(j);
        is += "\n";
        for (int i = 0; i < 12; ++i) {
            is += (i < 10 ? " " : "") + std::to_string(i);
            for (int j = first; j < end; ++j) is += cell(25 * i + j);
            is += "\n";
        }
    }
    EXPECT_EQ(printed("D:u16:12x25", values(Type::u16, many)), is);
}

TEST(PrintedMatrices, OptionsThatAreWrong) {
    PrintRequest q;
    const std::string form = ": BUFFER:TYPE:ROWSxCOLS[:DECIMALS|:hex] is expected";
    for (const std::string text :
         {"D", "D:f16", "D:f16:2", "D:f16:2x3x4", "D:f16:0x1", "D:f16:1x0", "D:f16:1x1:x",
          "D:f16:1x1:-1", "D:f16:1x1:61", "D:f16:1x1:1:1", "D:f16:1x4294967297", "D:f16:1x1:"})
        EXPECT_EQ(take(parse_print(text), q), "--print " + text + form);
    EXPECT_EQ(take(parse_print("D:f17:1x1"), q),
              "--print D:f17:1x1: 'f17' is not a type; one of " + launch::value_type_names());
    EXPECT_EQ(take(parse_print("D:f16:1x4294967296:60"), q), "");
    EXPECT_EQ(q.decimals, 60);
    EXPECT_FALSE(q.hex);
    EXPECT_EQ(q.columns, uint64_t{1} << 32);
    ASSERT_EQ(take(parse_print("D:f32:2x3:hex"), q), "");
    EXPECT_TRUE(q.hex);
    const std::vector<uint8_t> bytes(23);
    EXPECT_EQ(sentence_of(check_print(q, {{"D", bytes}})),
              "--print: buffer 'D' has 23 bytes, 2x3 of f32 need 24");
    EXPECT_EQ(sentence_of(check_print(q, {{"E", bytes}, {"F", bytes}})),
              "--print: there is no buffer 'D'; buffers: E, F");
}

TEST(CheckedExpectations, TheWorstOfThoseThatDiffer) {
    const auto checked = [](const std::string& expect, const std::vector<uint8_t>& after) {
        launch::LaunchFile f;
        EXPECT_EQ(take(launch::parse_launch_file(
                           R"({"schema": "lockwarp-launch/1", "ptx": "k", "grid": [1],
      "block": [1], "buffers": {"A": {"bytes": 4}}, "expect": [)" +
                               expect + "]}",
                           "x.json"),
                       f),
                  "");
        Checked c;
        const Buffers buffers{{"D", after}};
        const std::string why = take(check_expectation(f, f.expectations[0], buffers, buffers), c);
        EXPECT_EQ(why, sentence_of(check_fit(f, f.expectations[0], buffers)));
        return why.empty() ? checked_text(c) + (c.different == 0 ? "" : std::to_string(c.at))
                           : why.substr(why.find("field"));
    };
    const std::string f16 = R"({"buffer": "D", "is": {"values": {"f16": [1]}})";
    EXPECT_EQ(checked(f16 + "}", values(Type::f16, {1, 1})), "D: 2 values as expected\n");
    EXPECT_EQ(checked(f16 + "}", values(Type::f16, {1})), "D: 1 value as expected\n");
    EXPECT_EQ(checked(f16 + "}", values(Type::f16, {1, 1.5, 3, 1, 2.5})),
              "DIFFERS  D: 3 of 5 values are not as expected\n  worst D[2]: 3 (0x4200) is there, 1 "
              "(0x3c00) is expected, 2 away, 2048 ulp\n4");
    EXPECT_EQ(
        checked(f16 + "}", values(Type::f16, {9, NAN, 1})),
        "DIFFERS  D: 2 of 3 values are not as expected\n  worst D[1]: nan (0x7e00) is there, 1 "
        "(0x3c00) is expected\n2");
    EXPECT_EQ(checked(f16 + R"(, "offset": 2, "bytes": 4})", values(Type::f16, {9, 1, 2, 9})),
              "DIFFERS  D: 1 of 2 values are not as expected\n  worst D[2]: 2 (0x4000) is there, 1 "
              "(0x3c00) is expected, 1 away, 1024 ulp\n4");
    EXPECT_EQ(checked(R"({"buffer": "D", "type": "s32", "is": "zeros", "absolute": 2})",
                      values(Type::s32, {2, -3})),
              "DIFFERS  D: 1 of 2 values are not as expected\n  worst D[1]: -3 (0xfffffffd) is "
              "there, 0 (0x00000000) is expected, 3 away\n4");
    EXPECT_EQ(checked(R"({"buffer": "D", "is": {"fill": 7}})", {7, 8}),
              "DIFFERS  D: 1 of 2 values are not as expected\n  worst D[1]: 0x08 is there, 0x07 is "
              "expected\n1");
    EXPECT_EQ(checked(f16 + R"(, "offset": 3})", std::vector<uint8_t>(8)),
              "field 'expect[0]': 5 bytes of 'D' are not values of type f16");
    EXPECT_EQ(checked(f16 + R"(, "offset": 8})", std::vector<uint8_t>(8)),
              "field 'expect[0]': 0 bytes of 'D' are not values of type f16");
    EXPECT_EQ(checked(f16 + R"(, "offset": 9})", std::vector<uint8_t>(8)),
              "field 'expect[0]': 0 bytes from byte 9 on do not fit 'D' of 8 bytes");
    EXPECT_EQ(checked(f16 + R"(, "offset": 4, "bytes": 6})", std::vector<uint8_t>(8)),
              "field 'expect[0]': 6 bytes from byte 4 on do not fit 'D' of 8 bytes");
}

}  // namespace
}  // namespace lockwarp::tools
