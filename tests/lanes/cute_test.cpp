// SPDX-License-Identifier: Apache-2.0
// Layouts as CUTLASS's traits have them, mode for mode.
#include <gtest/gtest.h>

#include <fstream>

#include "lanes/questions.hpp"

namespace lockwarp::lanes {
namespace {

nlohmann::json recorded() {
    std::ifstream in(LOCKWARP_SOURCE_DIR "/tests/lanes/cute_layouts.json");
    return nlohmann::json::parse(in);
}

TEST(Cute, LayoutsOfEveryOperation) {
    const nlohmann::json all = recorded();
    for (const nlohmann::json& row : all["mma"]) {
        const std::string name = row["name"];
        const Found f = find(name, std::nullopt);
        ASSERT_TRUE(f.instruction) << f.error;
        const nlohmann::json mine = nlohmann::json::parse(layout(*f.instruction, name).data.dump());
        EXPECT_EQ(mine, row) << name;
    }
    EXPECT_GE(all["mma"].size(), 100u);
}

TEST(Cute, LayoutsOfEveryCopy) {
    const nlohmann::json all = recorded();
    for (const nlohmann::json& row : all["copy"]) {
        const std::string name = row["name"];
        const Found f = find(name, std::nullopt);
        ASSERT_TRUE(f.instruction) << f.error;
        const nlohmann::json mine = layout(*f.instruction, name).data;
        EXPECT_EQ(mine["src"], row["src"]) << name;
        EXPECT_EQ(mine["dst"], row["dst"]) << name;
    }
    EXPECT_EQ(all["copy"].size(), 12u);
}

// The copies' layouts are written out; each bit of a register is the one that the fragment says.
TEST(Cute, CopiesAreTheFragments) {
    const nlohmann::json all = recorded();
    for (const nlohmann::json& row : all["copy"]) {
        const Instruction i = *find(row["name"].get<std::string>(), std::nullopt).instruction;
        const std::string text =
            layout(i, i.key).data[i.family == Family::ldmatrix ? "dst" : "src"];
        const isa::Layout registers = isa::parse_layout(text);
        ASSERT_TRUE(registers.valid) << text;
        const Operand& o = i.operands[0];
        EXPECT_EQ(registers.threads(), 32u);
        EXPECT_EQ(registers.values(), 16 * o.values);
        for (const Held& h : o.held)
            for (unsigned bit = 0; bit < 16; ++bit)
                ASSERT_EQ(registers.at(h.lane, 16u * h.value + bit),
                          h.part * 1024u + h.row * 128u + h.column * 16u + bit)
                    << i.key;
    }
}

}  // namespace
}  // namespace lockwarp::lanes
