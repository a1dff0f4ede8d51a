// SPDX-License-Identifier: Apache-2.0
// The .version that an older driver is given.
#include "gpu/ptx_version.hpp"

#include <gtest/gtest.h>

namespace {

using namespace lockwarp;

TEST(PtxVersion, OfADriver) {
    EXPECT_EQ(gpu::newest_ptx(10020), 70u);  // older than the table: as its first row
    EXPECT_EQ(gpu::newest_ptx(11080), 78u);
    EXPECT_EQ(gpu::newest_ptx(12060), 85u);
    EXPECT_EQ(gpu::newest_ptx(13000), 90u);
    EXPECT_EQ(gpu::newest_ptx(14000), 0u);
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
