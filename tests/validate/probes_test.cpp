// SPDX-License-Identifier: Apache-2.0
// The file of a GPU's rows: what is written is read again; anything else is refused.
#include "validate/probes.hpp"
#include "tests/results.hpp"

#include <gtest/gtest.h>

namespace lockwarp::probes_test {
namespace {

using validate::Probes;

Probes example() {
    Probes p;
    p.version = "0.1.0";
    p.date = "2026-11-21";
    p.device = {"NVIDIA H200", "580.159.04", 90, 1980, uint64_t{150} << 30};
    p.rows["mma.m16n8k16.f32.f16.f16.f32 chains1"] = {{1, 25.102}, {4, 25.242}, {16, 25.9}};
    p.rows["mma.m16n8k16.f32.f16.f16.f32 chains4"] = {{1, 6.367}, {4, 6.444}, {16, 24.76}};
    p.rows["ldmatrix.x4 stride128 latency"] = {{1, 90}};
    p.rows["ldmatrix.x4 stride128 throughput"] = {{4, 65.5}};
    return p;
}

std::string problem_of(const std::string& text) {
    Probes p;
    p.date = "before";
    const std::string why = take(validate::read_probes(text), p);
    EXPECT_EQ(p.date, "before");
    return why;
}

std::string changed(const std::string& from, const std::string& to) {
    std::string text = validate::probes_json(example());
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Probes, WrittenAndRead) {
    Probes p;
    EXPECT_EQ(take(validate::read_probes(validate::probes_json(example())), p), "");
    EXPECT_EQ(p, example());
}

// What a name has is no nesting.
TEST(Probes, BracketsInAText) {
    Probes p = example();
    p.device.name = "}}]]}} " + std::string(60, '[');
    Probes read;
    EXPECT_EQ(take(validate::read_probes(validate::probes_json(p)), read), "");
    EXPECT_EQ(read, p);
}

TEST(Probes, EveryCutIsRefused) {
    const std::string text = validate::probes_json(example());
    for (size_t n = 0; n + 2 < text.size(); ++n) EXPECT_NE(problem_of(text.substr(0, n)), "") << n;
}

TEST(Probes, WhatIsNoRowIsRefused) {
    for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
             {"lockwarp-probes/1", "lockwarp-probes/2"},
             {"\"1\": 25.102", "\"0\": 25.102"},
             {"\"1\": 25.102", "\"33\": 25.102"},
             {"\"1\": 25.102", "\"01\": 25.102"},
             {"\"1\": 25.102", "\"1x\": 25.102"},
             {"\"1\": 25.102", "\"-1\": 25.102"},
             {"25.102", "-1"},
             {"25.102", "1e999"},
             {"25.102", "null"},
             {"25.102", "\"25\""},
             {"\"rows\": {", "\"rows\": 1, \"x\": {"},
             {"\"number\": 90", "\"number\": 4294967296"},
             {"\"name\"", "\"nam\""},
             {"\"device\": {", "\"device\": [], \"x\": {"}})
        EXPECT_NE(problem_of(changed(from, to)), "") << to;
    EXPECT_NE(problem_of(std::string(1 << 20, '[')), "");
    EXPECT_NE(problem_of("null"), "");
}

TEST(Probes, LatencyAndInterval) {
    const auto s = validate::summarize(example());
    const auto& mma = s.at("mma.m16n8k16.f32.f16.f16.f32");
    EXPECT_DOUBLE_EQ(mma.latency, 25.102);
    EXPECT_DOUBLE_EQ(mma.interval, 24.76 / 4);
    const auto& move = s.at("ldmatrix.x4 stride128");
    EXPECT_DOUBLE_EQ(move.latency, 90);
    EXPECT_DOUBLE_EQ(move.interval, 65.5);
}

}  // namespace
}  // namespace lockwarp::probes_test
