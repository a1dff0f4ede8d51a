// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "emu/isa/arch.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

TEST(ArchCommand, NamesEveryArchitecture) {
    const Folder folder;
    const Ended e = run_here(folder, {"arch", "--json"});
    ASSERT_EQ(e.status, 0) << e.err;
    const auto all = nlohmann::json::parse(e.out).at("architectures");
    ASSERT_EQ(all.size(), isa::arch_rows.size());
    for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].at("name"), isa::arch_rows[i].name);
        EXPECT_EQ(all[i].at("shared_max"), isa::arch_rows[i].shared_max);
        // Tenths of a version.
        EXPECT_DOUBLE_EQ(10 * std::stod(all[i].at("ptx").get<std::string>()),
                         isa::arch_rows[i].ptx);
    }
}

TEST(ArchCommand, OneOfThemByAnyOfItsNames) {
    const Folder folder;
    const Ended e = run_here(folder, {"arch", "sm_90a"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_TRUE(e.out.starts_with("sm_90 is modelled after H200\n")) << e.out;
    EXPECT_EQ(e.out.find("sm_80"), std::string::npos) << e.out;
    EXPECT_EQ(too_wide(e.out), "");
}

TEST(ArchCommand, AnUnknownOneExitsWith2AndSaysWhichThereAre) {
    const Folder folder;
    const Ended e = run_here(folder, {"arch", "sm_42"});
    EXPECT_EQ(e.status, 2);
    EXPECT_NE(e.err.find("no architecture 'sm_42'; there are sm_70"), std::string::npos) << e.err;
}

}  // namespace
}  // namespace lockwarp::tools
