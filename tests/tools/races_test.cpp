// SPDX-License-Identifier: Apache-2.0
// lockwarp run --check=race-global: accesses of global memory that nothing orders.
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/process.hpp"

namespace lockwarp::tools::races_test {
namespace {

// 64 threads store their number into `out`, do BETWEEN, and load that of the thread INDEX.
const std::string kernel = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<6>;
	.reg .pred %p<2>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mov.u32 %r6, %ctaid.x;
	mul.lo.u32 %r7, %r6, 64;
	mad.wide.u32 %rd1, %r7, 4, %rd1;
	mad.wide.u32 %rd2, %r1, 4, %rd1;
	STORE
	BETWEEN
	INDEX
	mad.wide.u32 %rd3, %r3, 4, %rd1;
	ld.global.u32 %r4, [%rd3];
	st.shared.u32 [0x400], %r4;
	ret;
}
)";

struct Case {
    std::string store = "st.global.u32 [%rd2], %r1;";
    std::string between = "";
    std::string index = "xor.b32 %r3, %r1, 32;";  // that of the other warp
};

Ended checked(const Case& c) {
    const Folder folder;
    std::string ptx = kernel;
    const auto put = [&](const std::string& name, const std::string& text) {
        ptx.replace(ptx.find(name), name.size(), text);
    };
    put("STORE", c.store);
    put("BETWEEN", c.between);
    put("INDEX", c.index);
    folder.write("k.ptx", ptx);
    folder.write("k.json",
                 R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","arch":"sm_90","grid":[2,1,1],)"
                 R"("block":[64,1,1],"dynamic_shared":64,)"
                 R"("buffers":{"out":{"bytes":512,"init":{"fill":0}}},)"
                 R"("args":[{"buffer":"out"}]})");
    return run_here(folder, {"run", "k.json", "--check=race-global"});
}

void expect_none(const Case& c, const char* why) {
    const Ended e = checked(c);
    EXPECT_EQ(e.status, 0) << why << e.out << e.err;
    EXPECT_EQ(e.out.find("CHECK"), std::string::npos) << why << e.out;
}

TEST(GlobalRaces, AStoreThatAnotherWarpLoadsWithoutABarrier) {
    const Ended e = checked({});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_TRUE(e.out.starts_with("CHECK  ")) << e.out;
    EXPECT_NE(e.out.find("reads what line 15 stores"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("with no barrier between"), std::string::npos) << e.out;
    EXPECT_NE(e.out.find("CTA (0,0,0), warp "), std::string::npos) << e.out;
}

TEST(GlobalRaces, ABarrierOrders) {
    expect_none({.between = "bar.sync 0;"}, "all threads");
    expect_none({.between = "barrier.sync.aligned 3, 64;"}, "a named one");
    const Ended e = checked({.between = "bar.arrive 1, 128;"});
    EXPECT_EQ(e.status, 1) << "nobody waited there" << e.out << e.err;
}

TEST(GlobalRaces, AWarpAndItsOwnStores) {
    expect_none({.between = "bar.warp.sync 0xffffffff;", .index = "xor.b32 %r3, %r1, 1;"},
                "of its own warp");
    const Ended e = checked({.index = "xor.b32 %r3, %r1, 1;"});
    EXPECT_EQ(e.status, 0) << "a note" << e.out;
    EXPECT_NE(e.out.find("lanes need not run together"), std::string::npos) << e.out;
    expect_none({.index = "mov.b32 %r3, %r1;"}, "of its own thread");
}

// Each thread counts itself, and waits until all have.
TEST(GlobalRaces, ThreadsThatWaitForACounter) {
    expect_none({.between = "fence.acq_rel.cta;\n"
                            "atom.shared.add.u32 %r5, [0x404], 1;\n"
                            "again: atom.shared.or.b32 %r5, [0x404], 0;\n"
                            "setp.lt.u32 %p1, %r5, 64;\n"
                            "@%p1 bra again;\n"
                            "fence.acq_rel.cta;\n"},
                "a counter");
    const Ended e = checked({.between = "atom.shared.add.u32 %r5, [0x404], 1;"});
    EXPECT_EQ(e.status, 1) << "nobody waited for it" << e.out << e.err;
    const Ended mixed = checked({.store = "red.global.add.u32 [%rd2], %r1;"});
    EXPECT_EQ(mixed.status, 1) << "an atomic store and a plain load" << mixed.out << mixed.err;
}

// The last thread of a warp says that it has stored; the other warp waits for that.
TEST(GlobalRaces, FlagsByStrongAccesses) {
    const auto flag = [](const std::string& fence, const std::string& store,
                         const std::string& load) {
        return "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra first;\nagain: " + load +
               " %r5, [%rd1+252];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra again;\n" + fence +
               "bra both;\nfirst: " + fence + store + " [%rd1+252], 1;\nboth:\n";
    };
    // The second warp stores nothing, so that its word of the flag is the first warp's.
    const std::string store = "setp.lt.u32 %p1, %r1, 32; @%p1 st.global.u32 [%rd2], %r1;";
    const std::string index = "and.b32 %r3, %r1, 31;";
    expect_none(
        {store, flag("membar.gl;\n", "st.volatile.global.u32", "ld.volatile.global.u32"), index},
        "volatile and a fence");
    expect_none({store, flag("", "st.release.gpu.global.u32", "ld.acquire.gpu.global.u32"), index},
                "release and acquire");
}

TEST(GlobalRaces, BytesOfOneWordThatDifferDoNotRace) {
    expect_none(
        {.store = "add.s64 %rd2, %rd1, 3; setp.eq.u32 %p1, %r1, 9; @%p1 st.global.u8 [%rd2], %r1;",
         .index = "mov.u32 %r3, 40;"},
        "other bytes and other words");
}

}  // namespace
}  // namespace lockwarp::tools::races_test
