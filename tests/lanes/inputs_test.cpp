// SPDX-License-Identifier: Apache-2.0
// The inputs of explanations: every form they are written in, random ones, and each message.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "lanes/explain.hpp"
#include "lanes/explain_parts.hpp"
#include "launch/random.hpp"
#include "launch/values.hpp"
#include "tests/results.hpp"

namespace lockwarp::lanes {
namespace {

using Bits = std::vector<uint64_t>;

const Instruction& half() {
    static const Instruction i = *find("m16n8k8.f32.f16", std::nullopt).instruction;
    return i;
}

DotInputs read(unsigned row, unsigned column, const InputTexts& texts,
               const Instruction& i = half()) {
    DotInputs out;
    EXPECT_EQ(take(read_inputs(i, row, column, texts), out), "");
    return out;
}

std::string problem(const InputTexts& texts, unsigned row = 0, unsigned column = 0) {
    DotInputs unused;
    return take(read_inputs(half(), row, column, texts), unused);
}

std::string numbers(unsigned count, const std::string& between = ",") {
    std::string out;
    for (unsigned n = 0; n < count; ++n) out += (n == 0 ? "" : between) + std::to_string(n);
    return out;
}

Bits bits(isa::Type type, const std::vector<double>& values) {
    Bits out;
    for (const double v : values) out.push_back(launch::bits_of(type, v));
    return out;
}

TEST(ExplainInputs, ARowAColumnOrAWholeMatrix) {
    using isa::Type;
    const Bits eight = bits(Type::f16, {0, 1, 2, 3, 4, 5, 6, 7});
    const DotInputs own = read(3, 5, {.a = numbers(8), .b = numbers(8, " "), .c = "9"});
    EXPECT_EQ(own.a, eight);
    EXPECT_EQ(own.b, eight);
    EXPECT_EQ(own.c, launch::bits_of(Type::f32, 9));
    for (const auto& [row, column] : {std::pair(0u, 0u), std::pair(3u, 5u), std::pair(15u, 7u)}) {
        const DotInputs whole =
            read(row, column, {.a = numbers(128), .b = numbers(64, "\t\n, "), .c = numbers(128)});
        for (unsigned k = 0; k < 8; ++k) {
            EXPECT_EQ(whole.a[k], launch::bits_of(Type::f16, row * 8 + k));
            EXPECT_EQ(whole.b[k], launch::bits_of(Type::f16, k * 8 + column));
        }
        EXPECT_EQ(whole.a.size(), 8u);
        EXPECT_EQ(whole.b.size(), 8u);
        EXPECT_EQ(whole.c, launch::bits_of(Type::f32, row * 8 + column));
    }
}

// PTX manual, m16n8k8 of .f16: rows of A and C are lane/4 for a0, a1 and 8 more for a2, a3.
TEST(ExplainInputs, OfEveryLanesFragment) {
    using isa::Type;
    for (const unsigned row : {0u, 3u, 7u, 8u, 15u})
        for (unsigned column = 0; column < 8; ++column) {
            const DotInputs in =
                read(row, column, {.a = "lanes:1,2,3,4", .b = "lanes: 5 6", .c = "lanes:7,8,9,10"});
            const double first = row < 8 ? 1 : 3;
            EXPECT_EQ(in.a, bits(Type::f16, {first, first + 1, first, first + 1, first, first + 1,
                                             first, first + 1}));
            EXPECT_EQ(in.b, bits(Type::f16, {5, 6, 5, 6, 5, 6, 5, 6}));
            EXPECT_EQ(in.c, launch::bits_of(Type::f32, (row < 8 ? 7 : 9) + column % 2));
        }
}

TEST(ExplainInputs, NumbersAndBits) {
    using isa::Type;
    const DotInputs in = read(
        0, 0,
        {.a = " 0x3c00,0XfFfF\n+1.5 -2e-1 inf -inf .5 1e3,", .b = "lanes:0x0 0x1", .c = "nan"});
    EXPECT_EQ(in.a, (Bits{0x3c00, 0xffff, 0x3e00, launch::bits_of(Type::f16, -0.2), 0x7c00, 0xfc00,
                          0x3800, launch::bits_of(Type::f16, 1000)}));
    EXPECT_EQ(in.b, (Bits{0, 1, 0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(in.c & 0x7f800000, 0x7f800000u);
    EXPECT_NE(in.c & 0x7fffff, 0u);
    const Instruction f64 = *find("m8n8k4.f64", std::nullopt).instruction;
    EXPECT_EQ(read(0, 0, {.a = "0xffffffffffffffff 1 2 3"}, f64).a[0], UINT64_MAX);
    for (const char* word :
         {"x", "0x", "0x3g", "0x12345", "0x10000", "1.5.", "1x", "+", "-", "1e400", "++1", "0x0x1"})
        EXPECT_EQ(problem({.b = "1 " + std::string(word) + " 3"}),
                  "--b: '" + std::string(word) +
                      "' is not a value of f16 (a number, or its bits as 0x...)");
    EXPECT_EQ(problem({.c = std::string(61, 'x')}),
              "--c: '" + std::string(60, 'x') +
                  "' is not a value of f32 (a number, or its bits as 0x...)");
    EXPECT_EQ(problem({.a = std::string((1 << 20) + 1, ' ')}), "--a: more than 1048576 characters");
    EXPECT_EQ(problem({.a = std::string(1 << 20, ' ')}), "");
}

TEST(ExplainInputs, AsManyAsThereAre) {
    const std::string a =
        "--a takes 8 values, all 128 of A row by row, or lanes: and the 4 of each "
        "lane's fragment; ";
    for (const unsigned n : {1u, 7u, 9u, 127u, 129u, 4u})
        EXPECT_EQ(problem({.a = numbers(n)}), a + std::to_string(n) + " were given");
    const std::string c =
        "--c takes 1 value, all 128 of C row by row, or lanes: and the 4 of each "
        "lane's fragment; ";
    for (const unsigned n : {2u, 4u, 127u})
        EXPECT_EQ(problem({.c = numbers(n)}), c + std::to_string(n) + " were given");
    for (const unsigned n : {1u, 3u, 8u, 64u})
        EXPECT_EQ(problem({.b = "lanes:" + numbers(n)}),
                  "--b lanes: takes the 2 values of a lane's fragment; " + std::to_string(n) +
                      " were given");
    const std::string shape =
        "D of mma.m16n8k8.f32.f16.f16.f32 is 16 x 8: rows 0 to 15, columns 0 "
        "to 7";
    EXPECT_EQ(problem({}, 15, 7), "");
    EXPECT_EQ(problem({}, 16, 0), shape);
    EXPECT_EQ(problem({}, 0, 8), shape);
}

TEST(ExplainInputs, FromAFile) {
    using isa::Type;
    const std::string path = testing::TempDir() + "explained.json";
    const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
    write(R"({"A": [[1, "0x4000"], [[3], 4, "-5", 6.5], 7, 8], "B": "2", "C": [-0.5], "D": 1})");
    const DotInputs in = read(0, 0, {.b = "1 1 1 1 1 1 1 1", .file = path});
    EXPECT_EQ(in.a, bits(Type::f16, {1, 2, 3, 4, -5, 6.5, 7, 8}));
    EXPECT_EQ(in.b, bits(Type::f16, {1, 1, 1, 1, 1, 1, 1, 1})) << "what is written beats the file";
    EXPECT_EQ(in.c, launch::bits_of(Type::f32, -0.5));
    EXPECT_EQ(problem({.file = path}),
              "--b takes 8 values, all 64 of B row by row, or lanes: and "
              "the 2 of each lane's fragment; 1 were given");
    const std::string holds = ": \"A\" holds numbers, bits as \"0x3c00\", or lists of these";
    for (const char* text : {R"({"A": null})", R"({"A": [1, {}]})", R"({"A": [true]})"}) {
        write(text);
        EXPECT_EQ(problem({.file = path}), path + holds) << text;
    }
    write(R"({"C": ["0x3c000000", ["1x"]]})");
    EXPECT_EQ(problem({.file = path}), path + ": \"C\": \"1x\" is no f32");
    write(R"({"B": [")" + std::string(100, 'y') + R"("]})");
    EXPECT_EQ(problem({.file = path}), path + ": \"B\": \"" + std::string(59, 'y') + " is no f16");
    for (const char* text : {"[1]", "5", "{", ""}) {
        write(text);
        EXPECT_EQ(problem({.file = path}),
                  path + R"(: it should be {"A": [...], "B": [...], "C": [...]})");
    }
    EXPECT_EQ(problem({.file = path + ".not"}), path + ".not: No such file or directory");
}

// What is not given is random: SplitMix64 of the seed, A first, then B, then C.
double random_number(uint64_t r) {
    const double fraction = 1 + static_cast<double>(r >> 20 & 0xffff) / 65536;
    return (r & 1 ? -fraction : fraction) * std::pow(2, static_cast<int>(r >> 8 & 7) - 4);
}

TEST(ExplainInputs, RandomOnes) {
    using isa::Type;
    for (const uint64_t seed : {uint64_t{1}, uint64_t{77}, UINT64_MAX}) {
        const DotInputs in = read(0, 0, {.seed = seed});
        ASSERT_EQ(in.a.size(), 8u);
        ASSERT_EQ(in.b.size(), 8u);
        uint64_t at = 0;
        const auto next = [&](Type t) {
            return launch::bits_of(t, random_number(launch::splitmix64(seed, ++at)));
        };
        for (const uint64_t v : in.a) EXPECT_EQ(v, next(Type::f16));
        for (const uint64_t v : in.b) EXPECT_EQ(v, next(Type::f16));
        EXPECT_EQ(in.c, next(Type::f32));
        const DotInputs some = read(0, 0, {.a = numbers(8), .c = "1", .seed = seed});
        at = 0;
        for (const uint64_t v : some.b) EXPECT_EQ(v, next(Type::f16)) << "none is used for A";
    }
    EXPECT_EQ(read(0, 0, {}).a, read(0, 0, {.seed = 1}).a);
    uint64_t state = 5;
    for (const auto& [type, mask] : {std::pair(Type::s8, 0xffu), std::pair(Type::u4, 0xfu),
                                     std::pair(Type::b1, 1u), std::pair(Type::s32, 0xffffffffu)}) {
        const uint64_t r = launch::splitmix64(state, 1);
        uint64_t moved = state;
        EXPECT_EQ(random_value(type, moved), r & mask);
        state = moved;
    }
}

}  // namespace
}  // namespace lockwarp::lanes
