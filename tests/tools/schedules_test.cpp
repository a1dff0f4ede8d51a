// SPDX-License-Identifier: Apache-2.0
// --async, and what check says of a result that depends on it.
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

// A row of 8 by 8 words comes to shared memory; WAIT is before it is read.
const std::string kernel = R"(.version 8.0
.target sm_90
.address_size 64
.shared .align 128 .b8 tile[256];
.shared .align 8 .b64 full;
.visible .entry k(.param .u64 out, .param .u64 in)
{
	.reg .pred %p<4>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	mov.u32 %r1, %tid.x;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra made;
	mbarrier.init.shared.b64 [full], 1;
	fence.mbarrier_init.release.cluster;
	mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 256, [full];
made:
	bar.sync 0;
wait:
	WAIT
	mul.wide.u32 %rd3, %r1, 4;
	add.u64 %rd1, %rd1, %rd3;
	mov.u32 %r2, tile;
	mad.lo.u32 %r3, %r1, 4, %r2;
	ld.shared.u32 %r4, [%r3];
	st.global.u32 [%rd1], %r4;
	ret;
}
)";

const std::string waits =
    "mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;\n	@!%p2 bra wait;";

Ended with(const std::string& wait, const std::vector<std::string>& words,
           const std::string& first = "0") {
    const Folder folder;
    std::string ptx = kernel;
    ptx.replace(ptx.find("WAIT"), 4, wait);
    folder.write("k.ptx", ptx);
    folder.write("k.json",
                 R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","arch":"sm_90","grid":[1,1,1],)"
                 R"("block":[64,1,1],"buffers":{"D":{"zeros":256,"type":"u32","shape":[8,8]},)"
                 R"("A":{"bytes":256,"init":{"sequence":{"type":"u32","start":)" +
                     first +
                     R"(}}}},)"
                     R"("args":[{"buffer":"D"},{"buffer":"A"}],"outputs":["D"]})");
    std::vector<std::string> all = words;
    all.insert(all.begin() + 1, "k.json");
    return run_here(folder, all);
}

TEST(Schedules, AMissingWaitGivesAnotherResultLate) {
    const auto printed = [](const std::string& wait, const std::string& when) {
        return with(wait, {"run", "--async", when, "--print", "D:u32:8x8"}).out;
    };
    EXPECT_NE(printed("", "early"), printed("", "late"));
    EXPECT_EQ(printed(waits, "early"), printed(waits, "late"));
}

TEST(Schedules, CheckNamesTheElementTheCopyAndItsReader) {
    const Ended e = with("", {"check", "--check", "order"});
    EXPECT_EQ(e.status, 1) << e.out << e.err;
    for (const char* const text :
         {"order/schedule", "k.ptx:28", "reads what line 19 brings, with no wait for it",
          "another result: D[0][1] is 0x00000000, and 0x00000001 where it is done at once"})
        EXPECT_NE(e.out.find(text), std::string::npos) << text << "\n" << e.out;
    const Ended at_first = with("", {"check", "--check", "order"}, "9");
    EXPECT_NE(at_first.out.find("another result: D[0][0] is 0x00000000, and 0x00000009 where"),
              std::string::npos)
        << at_first.out;
    const Ended right = with(waits, {"check", "--check", "order"});
    EXPECT_EQ(right.status, 0) << right.out << right.err;
}

TEST(Schedules, LateIsNotForWhatLooksIn) {
    for (const std::string option : {"--check=all", "--at=20"}) {
        const Ended e = with(waits, {"run", "--async", "late", option});
        EXPECT_EQ(e.status, 2) << e.out << e.err;
    }
    EXPECT_EQ(with(waits, {"run", "--async", "never"}).status, 2);
}

}  // namespace
}  // namespace lockwarp::tools
