// SPDX-License-Identifier: Apache-2.0
// What lockwarp calibrate prints.
#include "tools/commands/calibrate_command.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace {

using namespace lockwarp;

TEST(Calibrate, TheAnswerThenTheProductsThenTheRest) {
    validate::Probes p;
    p.device = {"NVIDIA H200", "580.159.04", 90, 1980, uint64_t{150} << 30};
    p.rows["add.s32 chains1"] = {{1, 4.01}, {16, 8.3}};
    p.rows["mma.m16n8k16.f32.f16.f16.f32 chains1"] = {{1, 25.102}, {8, 25.4}};
    p.rows["mma.m16n8k16.f32.f16.f16.f32 chains4"] = {{1, 6.367}, {16, 24.76}};
    const std::string text = tools::calibrate_text(
        p, {{"movmatrix chains1, 1 warps", std::string(300, 'x') + "\nsecond line"}});
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "measured: 3 rows of 6 values; 1 failed");
    for (; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
    EXPECT_NE(text.find("25.1      6.19\n"), std::string::npos) << text;
    EXPECT_LT(text.find("mma.m16n8k16"), text.find("add.s32"));
    EXPECT_EQ(text.find("second line"), std::string::npos);
    EXPECT_TRUE(tools::calibrate_text({}, {}).starts_with("FAILED"));
}

}  // namespace
