// SPDX-License-Identifier: Apache-2.0
// The .version that an older driver is given.
#include "gpu/ptx_version.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

using namespace lockwarp;

TEST(PtxVersion, OfADriver) {
    EXPECT_EQ(gpu::newest_ptx(10020), 70u);  // older than the table: as its first row
    EXPECT_EQ(gpu::newest_ptx(11080), 78u);
    EXPECT_EQ(gpu::newest_ptx(12060), 85u);
    EXPECT_EQ(gpu::newest_ptx(13000), 90u);
    EXPECT_EQ(gpu::newest_ptx(14000), 0u);
}

// PTX manual, "Release Notes", table "PTX Release History".
TEST(PtxVersion, OfEachReleaseOfCuda) {
    const std::pair<int, uint32_t> rows[] = {
        {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74}, {11050, 75}, {11060, 76},
        {11070, 77}, {11080, 78}, {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84},
        {12050, 85}, {12060, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91}};
    for (const auto& [cuda, ptx] : rows) {
        EXPECT_EQ(gpu::newest_ptx(cuda), ptx) << cuda;
        EXPECT_EQ(gpu::newest_ptx(cuda + 1), ptx) << cuda;
    }
    EXPECT_EQ(gpu::newest_ptx(10999), 70u);
    EXPECT_EQ(gpu::newest_ptx(12990), 88u);
    EXPECT_EQ(gpu::newest_ptx(13020), 0u);  // newer than the table: it may read anything
}

// Only the directive that the text begins with is looked at.
TEST(PtxVersion, WhatStandsBeforeAndBehindIsKept) {
    const auto lowered = [](const std::string& text) {
        return gpu::with_version_at_most(text, 84);
    };
    EXPECT_EQ(lowered(" \t\r\n// a\n//\n/**//*b*/ /* /* c\n*/.version \t8.7 // 8.7\n"),
              " \t\r\n// a\n//\n/**//*b*/ /* /* c\n*/.version \t8.4 // 8.7\n");
    EXPECT_EQ(lowered(".version 8.7"), ".version 8.4");
    EXPECT_EQ(lowered(".version 10.0\n"), ".version 8.4\n");
    EXPECT_EQ(lowered(".version 8.5\n.version 8.5\n"), ".version 8.4\n.version 8.5\n");
    EXPECT_EQ(lowered(".version 8.4\n"), ".version 8.4\n");
    EXPECT_EQ(lowered(".version 8.3\n"), ".version 8.3\n");
    for (const char* odd :
         {"// .version 9.0", "/*/ .version 9.0", "/* .version 9.0", "/", "/ .version 9.0",
          "x .version 9.0", ".target sm_80\n.version 9.0", ".version 9.", ".version 9.x",
          ".version 9,0", ".version .9", ".version \t ", ".version\n9.0", ".versio 9.0"})
        EXPECT_EQ(lowered(odd), odd);
    EXPECT_EQ(gpu::with_version_at_most(".version 8.5\n", 79), ".version 7.9\n");
}

TEST(PtxVersion, IsLoweredAndNeverRaised) {
    const auto lowered = [](const char* text, uint32_t newest) {
        return gpu::with_version_at_most(text, newest);
    };
    EXPECT_EQ(lowered("// .version 9.9\n/* .version 9.9 */\n.version 9.0\n.target sm_80\n", 84),
              "// .version 9.9\n/* .version 9.9 */\n.version 8.4\n.target sm_80\n");
    EXPECT_EQ(lowered(".version 9.0\n", 90), ".version 9.0\n");
    EXPECT_EQ(lowered(".version 7.8\n", 90), ".version 7.8\n");
    // As it is written, where it is not above the newest.
    EXPECT_EQ(lowered(".version 9.00\n", 90), ".version 9.00\n");
    EXPECT_EQ(lowered(".version\t9.01\n", 90), ".version\t9.0\n");
    EXPECT_EQ(lowered(".version 9.0\n", 0), ".version 9.0\n");
    for (const char* odd : {"", "/*", ".version", ".version 9", ".version x.y", "no ptx"})
        EXPECT_EQ(lowered(odd, 70), odd);
}

}  // namespace
