// SPDX-License-Identifier: Apache-2.0
// --order and --orders: other orders of warps and CTAs.
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/process.hpp"

namespace lockwarp::tools::orders_test {
namespace {

// Each thread gives its word to its partner in the other warp; BETWEEN is between them.
const std::string kernel = R"(.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 tile[256];
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
	mov.u32 %r2, tile;
	mad.lo.u32 %r3, %r1, 4, %r2;
	xor.b32 %r4, %r1, 32;
	mad.lo.u32 %r4, %r4, 4, %r2;
	add.u32 %r5, %r1, 100;
	st.shared.u32 [%r3], %r5;
	BETWEEN
	ld.shared.u32 %r6, [%r4];
	st.global.u32 [%rd1], %r6;
	ret;
}
)";

Ended in_orders(const std::string& between, const std::vector<std::string>& words) {
    const Folder folder;
    std::string ptx = kernel;
    ptx.replace(ptx.find("BETWEEN"), 7, between);
    folder.write("k.ptx", ptx);
    folder.write("k.json",
                 R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","arch":"sm_80","grid":[1,1,1],)"
                 R"("block":[64,1,1],"buffers":{"D":{"zeros":256}},"args":[{"buffer":"D"}],)"
                 R"("outputs":["D"]})");
    std::vector<std::string> all = words;
    all.insert(all.begin() + 1, "k.json");
    return run_here(folder, all);
}

TEST(Orders, AResultThatDependsOnOneIsNamedWithTheFewestPlaces) {
    const Ended e = in_orders("", {"run", "--orders", "8"});
    EXPECT_EQ(e.status, 1) << e.out << e.err;
    EXPECT_NE(e.out.find("depends on the order of warps and CTAs"), std::string::npos) << e.out;
    // Warp 0 comes first as a rule and reads what warp 1 has not stored: one place is enough.
    EXPECT_NE(e.out.find("D[0] depends"), std::string::npos) << e.out;
    size_t places = 0;
    for (size_t at = e.out.find("gives way"); at != std::string::npos;
         at = e.out.find("gives way", at + 1))
        ++places;
    EXPECT_EQ(places, 1) << e.out;
}

TEST(Orders, ABarrierMakesThemAllTheSame) {
    const Ended e = in_orders("bar.sync 0;", {"run", "--orders", "8"});
    EXPECT_EQ(e.status, 0) << e.out << e.err;
    EXPECT_NE(e.out.find("orders: 8 others give the same result"), std::string::npos) << e.out;
}

TEST(Orders, ASeedGivesTheSameForAnyNumberOfThreads) {
    for (const std::string seed : {"1", "2", "3", "4"}) {
        const auto printed = [&](const std::string& threads) {
            return in_orders(
                       "", {"run", "--order", seed, "--threads", threads, "--print", "D:u32:2x32"})
                .out;
        };
        EXPECT_EQ(printed("1"), printed("4")) << seed;
    }
}

TEST(Orders, AreAFindingOfCheck) {
    const Ended e =
        in_orders("", {"check", "--check", "order", "--orders", "8", "--format", "json"});
    EXPECT_EQ(e.status, 1) << e.out << e.err;
    EXPECT_NE(e.out.find("\"kind\": \"result\""), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("D[0] depends on the order"), std::string::npos) << e.out;
}

TEST(Orders, ARaceSaysWhatTheOtherOrderGives) {
    const Ended e = in_orders("", {"check", "--check", "race-shared"});
    EXPECT_EQ(e.status, 1) << e.out << e.err;
    EXPECT_NE(e.out.find("the other way round it gives another result: D["), std::string::npos)
        << e.out;
}

}  // namespace
}  // namespace lockwarp::tools::orders_test
