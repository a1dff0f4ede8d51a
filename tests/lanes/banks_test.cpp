// SPDX-License-Identifier: Apache-2.0
// Wavefronts against an H200's latencies, swizzles against their definition, descriptors both ways.
#include "lanes/banks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "lanes/expression.hpp"
#include "lanes/questions.hpp"

namespace lockwarp::lanes::banks_test {
namespace {

Access access(std::string_view name) {
    std::string error;
    const auto a = access_named(name, error);
    EXPECT_TRUE(a) << error;
    return a.value_or(Access{});
}

unsigned count(std::string_view name, const Pattern& p) {
    std::string error;
    const Access a = access(name);
    const auto all = addresses(a, p, error);
    EXPECT_FALSE(all.empty()) << error;
    return all.empty() ? 0 : wavefronts(a, all);
}

// A dependent load takes 28 cycles and two more for each wavefront after the first.
TEST(Banks, WavefrontsAreTheLatenciesOfAnH200) {
    std::ifstream in(LOCKWARP_SOURCE_DIR "/tests/timing/h200_loops.json");
    const nlohmann::json timings = nlohmann::json::parse(in);
    size_t compared = 0;
    for (const auto& [name, values] : timings.items()) {
        // "ldmatrix.x4 stride16 latency(+iadd)"
        const size_t stride = name.find(" stride");
        const bool latency = name.find(" latency") != std::string::npos;
        if (stride == std::string::npos || !latency ||
            (!name.starts_with("ldmatrix") && !name.starts_with("ld.shared")))
            continue;
        const auto bytes = static_cast<uint32_t>(std::stoul(name.substr(stride + 7)));
        const auto cycles = static_cast<unsigned>(std::lround(values["1"].get<double>()));
        EXPECT_EQ(count(name.substr(0, stride), {"lane*stride", bytes, {}, 1}),
                  (cycles - 28) / 2 + 1)
            << name;
        ++compared;
    }
    EXPECT_EQ(compared, 54u);
}

TEST(Banks, WhatIsProposedHasNone) {
    for (const char* name : {"ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4", "ldmatrix.x4.trans",
                             "stmatrix.x4", "ld.shared.v4.b32"})
        for (uint32_t stride = 16; stride <= 512; stride += 16) {
            const Access a = access(name);
            const Answer answer = banks(a, {"", stride, {}, 1});
            ASSERT_TRUE(answer.error.empty()) << answer.error;
            EXPECT_EQ(answer.data["wavefronts"], count(name, {"", stride, {}, 1}));
            if (answer.data["wavefronts"] == answer.data["least"]) continue;
            ASSERT_TRUE(answer.data.contains("padded_stride")) << name << " " << stride;
            EXPECT_EQ(count(name, {"", answer.data["padded_stride"], {}, 1}), least_wavefronts(a));
            if (!answer.data.contains("swizzle")) continue;
            const auto& s = answer.data["swizzle"];
            EXPECT_EQ(count(name, {"", stride, Swizzle{s[0], s[1], s[2]}, 1}), least_wavefronts(a));
        }
}

TEST(Banks, OneWordForManyLanesIsNoConflict) {
    EXPECT_EQ(count("ld.shared.b32", {"0", 0, {}, 1}), 1u);
    EXPECT_EQ(count("ld.shared.b8", {"lane", 0, {}, 1}), 1u);
    EXPECT_EQ(count("ld.shared.b32", {"lane/2*4", 0, {}, 1}), 1u);
    EXPECT_EQ(count("st.shared.b32", {"lane*128", 0, {}, 1}), 32u);
}

TEST(Banks, AddressesHaveALimit) {
    std::string error;
    const Access a = access_named("ld.shared.b32", error).value();
    EXPECT_EQ(addresses(a, {"1<<30", 0, {}, 1}, error), std::vector<uint32_t>(32, 1u << 30));
    EXPECT_EQ(error, "");
    EXPECT_TRUE(addresses(a, {"lane/31*4 + (1<<30)", 0, {}, 1}, error).empty());
    EXPECT_EQ(error, "lane 31: address 1073741828 is beyond any shared memory");
}

// Swizzle<3,3,4> of 16-bit elements leaves rows of 128 bytes in two-way conflicts; <3,3,3> none.
TEST(Banks, AWrongSwizzle) {
    EXPECT_EQ(count("ldmatrix.x4.trans", {"", 128, Swizzle{3, 3, 4}, 2}), 8u);
    EXPECT_EQ(count("ldmatrix.x4.trans", {"", 128, Swizzle{3, 3, 3}, 2}), 4u);
    EXPECT_EQ(count("ldmatrix.x4.trans", {"", 128, Swizzle{3, 4, 3}, 1}), 4u);
}

TEST(Swizzles, AreTheirDefinition) {
    for (const Swizzle s : {Swizzle{3, 4, 3}, Swizzle{2, 3, 3}, Swizzle{1, 0, 5}, Swizzle{0, 4, 3},
                            Swizzle{2, 4, -3}})
        for (uint32_t x = 0; x < 4096; ++x) {
            uint32_t y = x;
            for (int b = 0; b < s.bits; ++b) {
                const int from = s.shift >= 0 ? s.base + s.shift + b : s.base + b;
                const int to = s.shift >= 0 ? s.base + b : s.base - s.shift + b;
                y ^= (x >> from & 1) << to;
            }
            ASSERT_EQ(s(x), y) << text_of(s) << " " << x;
            ASSERT_EQ(s(s(x)), x);
        }
    EXPECT_EQ(text_of(*swizzle_named("Swizzle<3,4,3>")), "Swizzle<3,4,3>");
    EXPECT_EQ(text_of(*swizzle_named("3, 4, -3")), "Swizzle<3,4,-3>");
    // At the edges of what CuTe and 32 bits allow.
    for (const char* text : {"0,0,0", "0,4,3", "3,0,3", "3,26,3", "3,26,-3", "0,32,0", "16,0,16"})
        EXPECT_TRUE(swizzle_named(text)) << text;
    for (const char* text : {"-1,4,3", "3,-1,3", "4,4,3", "4,4,-3", "3,27,3", "3,27,-3", "1,32,0",
                             "17,0,17", "3,4,3 x"})
        EXPECT_FALSE(swizzle_named(text)) << text;
    for (const char* text : {"", "3", "3,4", "3,4,3,", "a,b,c", "3,4,2", "40,0,40", "-1,0,3",
                             "99999999999,0,1", "3,4,3>"})
        EXPECT_FALSE(swizzle_named(text)) << text;
}

TEST(Expressions, OfLaneAndStride) {
    std::string error;
    const auto value = [&](std::string_view text) { return evaluate(text, 21, 80, error); };
    EXPECT_EQ(value("lane"), 21u);
    EXPECT_EQ(value("(lane%16)*stride + lane/16*16"), 5 * 80 + 16u);
    EXPECT_EQ(value("lane ^ lane>>2 & 3 | 0x100"), ((21u ^ (21u >> 2 & 3u)) | 0x100u));
    EXPECT_EQ(value("100 - 10 - 1"), 89u);
    EXPECT_EQ(value("(lane - 22) + 5"), 4u);
    EXPECT_EQ(value("1<<31"), 1u << 31);
    for (const char* text : {"1<<32", "1<<40", "2<<31", "65536*65536", "4294967295*4294967295",
                             "4294967295+1", "lane-22", "(lane-22)/2", "", "lane+", "lane/0",
                             "(lane", "lane)", "x", "1 2", "4294967296", "lane%(stride-stride)"})
        EXPECT_FALSE(value(text)) << text;
    EXPECT_FALSE(value(std::string(399, '(')));
    EXPECT_FALSE(value(std::string(100000, '1')));
}

// Lane's address to row to lanes: as the fragments that info and where speak of have it.
TEST(MatrixRows, AreTheFragmentsRows) {
    for (const char* name :
         {"ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4", "ldmatrix.x1.trans", "ldmatrix.x2.trans",
          "ldmatrix.x4.trans", "stmatrix.x4", "stmatrix.x2.trans"}) {
        const Answer a = matrix_rows(access(name), {"", 80, {}, 1});
        const Instruction i = *make(name, std::nullopt).instruction;
        const Operand& o = i.operands[0];
        for (const auto& row : a.data["rows"]) {
            std::set<unsigned> lanes;
            for (const Held& h : o.held)
                if (h.part == row["matrix"] && h.row == row["row"]) {
                    lanes.insert(h.lane);
                    EXPECT_EQ(h.reg, row["register"]);
                    EXPECT_LE(h.high, row["bits"][0].get<unsigned>());
                    EXPECT_GE(h.low, row["bits"][1].get<unsigned>());
                }
            EXPECT_EQ(row["lanes"].get<std::set<unsigned>>(), lanes) << name;
        }
        EXPECT_EQ(a.data["rows"].size(), 8 * i.matrices);
    }
}

TEST(Descriptors, BothWays) {
    for (const unsigned swizzle : {0u, 32u, 64u, 128u}) {
        const Descriptor d{0x3fff0, 16, 1024, 5, swizzle};
        const Answer encoded = encode_descriptor(d);
        ASSERT_TRUE(encoded.error.empty());
        const std::string text = encoded.data["descriptor"];
        const Answer decoded = decode_descriptor(std::stoull(text, nullptr, 16));
        EXPECT_EQ(decoded.data, encoded.data);
    }
    EXPECT_EQ(encode_descriptor({0, 16, 1024, 0, 128}).data["descriptor"], "0x4000004000010000");
    EXPECT_FALSE(encode_descriptor({8, 0, 0, 0, 0}).error.empty());
    EXPECT_FALSE(encode_descriptor({1 << 18, 0, 0, 0, 0}).error.empty());
    EXPECT_FALSE(encode_descriptor({0, 0, 0, 8, 0}).error.empty());
    EXPECT_FALSE(encode_descriptor({0, 0, 0, 0, 48}).error.empty());
}

}  // namespace
}  // namespace lockwarp::lanes::banks_test
