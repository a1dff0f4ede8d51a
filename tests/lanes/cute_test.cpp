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

}  // namespace
}  // namespace lockwarp::lanes
