// SPDX-License-Identifier: Apache-2.0
// `where`: values back through lanes, warps, CTAs and memory.
#include <algorithm>

#include "tests/debug/sessions.hpp"

namespace lockwarp::debug {
namespace {

TEST(DebugOrigin, ThroughShfl) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"                        // 7
        "mul.lo.u32 %r2, %r1, 10;\n"                    // 8
        "shfl.sync.bfly.b32 %r3, %r2, 5, 31, -1;\n"     // 9
        "shfl.sync.down.b32 %r4, %r3, 2, 31, -1;\n"     // 10
        "shfl.sync.idx.b32 %r5, %r4, 3, 0x181f, -1;\n"  // 11: of each eight lanes the fourth
        "shfl.sync.up.b32 %r6, %r5, 1, 0, -1;\n"        // 12
        "add.u32 %r7, %r6, 1;\n"                        // 13
        "ret;",
        1, 32);
    s("b 14");
    s("run");
    s("lane 12");
    // 12 takes 11's (up), that lane 11's of its eight (idx 3 of 8..15), that 13's (down), that 8's.
    const std::string text = s.expect("where %r7", "%r7: warp 0 lane 12 step 6, line 13");
    for (const char* part :
         {"%r6: warp 0 lane 12 step 5, line 12", "%r5: warp 0 lane 11 step 4, line 11",
          "%r4: warp 0 lane 11 step 3, line 10", "%r3: warp 0 lane 13 step 2, line 9",
          "%r2: warp 0 lane 8 step 1, line 8", "%r1: warp 0 lane 8 step 0, line 7"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    s.expect("p/l %r7", "= 81");
    // A lane without a source keeps its own.
    s("lane 0");
    s.expect("where %r6", "%r5: warp 0 lane 0 step 4");
}

TEST(DebugOrigin, ThroughSharedMemoryOfAnotherWarp) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"     // 8
        "mul.lo.u32 %r2, %r1, 3;\n"  // 9
        "mov.u32 %r3, tile;\n"
        "mad.lo.u32 %r4, %r1, 8, %r3;\n"
        "add.u32 %r9, %r2, 7;\n"                 // 12
        "st.shared.v2.u32 [%r4], {%r2, %r9};\n"  // 13
        "bar.sync 0;\n"
        "xor.b32 %r5, %r1, 32;\n"
        "mad.lo.u32 %r6, %r5, 8, %r3;\n"
        "ld.shared.v2.u32 {%r7, %r8}, [%r6];\n"  // 17
        "ret;",
        1, 64, ".shared .align 8 .b8 tile[512];\n");
    s("b 18 if warp == 0");
    s("run");
    s("lane 5");
    const std::string text = s.expect("where %r8", "%r8: warp 0 lane 5");
    EXPECT_NE(text.find("warp 1 lane 5 step 5, line 13: st.shared.v2"), std::string::npos) << text;
    EXPECT_NE(text.find("%r9: warp 1 lane 5 step 4, line 12"), std::string::npos) << text;
    EXPECT_NE(text.find("tile + 0x12c"), std::string::npos) << text;
}

TEST(DebugOrigin, ThroughAtomics) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"                        // 7
        "ld.param.u64 %rd1, [k_out];\n"                 // 8
        "mov.u32 %r2, 77;\n"                            // 9
        "setp.eq.u32 %p1, %r1, 0;\n"                    // 10
        "@%p1 st.global.u32 [%rd1], %r2;\n"             // 11
        "bar.sync 0;\n"                                 // 12
        "setp.eq.u32 %p2, %r1, 3;\n"                    // 13
        "add.u32 %r3, %r1, 1;\n"                        // 14
        "@%p2 atom.global.add.u32 %r4, [%rd1], %r3;\n"  // 15
        "bar.sync 0;\n"                                 // 16
        "ld.global.u32 %r5, [%rd1];\n"                  // 17
        "ret;",
        1, 32);
    s("b 18");
    s("run");
    s.expect("p/l %r5", "= 0x00000051");
    std::string text = s.expect("where %r5", "line 15");
    // The operand, and what was there.
    EXPECT_NE(text.find("%r3: warp 0 lane 3"), std::string::npos) << text;
    EXPECT_NE(text.find("line 11"), std::string::npos) << text;
    EXPECT_NE(text.find("%r2: warp 0 lane 0"), std::string::npos) << text;
    s("lane 3");
    text = s.expect("where %r4", "line 11");  // what the atomic gave back
    EXPECT_NE(text.find("%r2: warp 0 lane 0"), std::string::npos) << text;
    s.expect("where %rd1", "<k_out>: as the launch began with it");
}

TEST(DebugOrigin, ThroughMatrices) {
    Sessions s("gemm_sm80.json");
    s("b mma");
    s.expect("run", "mma.sync");
    const isa::Program& p = s.session->listing().program();
    const isa::Operation& o = p.operations[s.session->view().pc];
    ASSERT_NE(o.mma, nullptr);
    for (const auto& [vector, buffer] : {std::pair{1, "<A"}, std::pair{2, "<B"}}) {
        const isa::Ref ref = p.pool[o.vector[static_cast<size_t>(vector)].first];
        const auto reg = std::ranges::find(p.registers, ref, &isa::Register::ref);
        const std::string text = s.expect("where " + reg->name, "ldmatrix");
        EXPECT_NE(text.find("cp.async"), std::string::npos) << text;
        EXPECT_NE(text.find(buffer), std::string::npos) << text;
    }
}

TEST(DebugOrigin, ThroughCpAsync) {
    Sessions s(
        "mov.u32 %r1, %tid.x;\n"
        "ld.param.u64 %rd1, [k_out];\n"
        "mov.u32 %r2, tile;\n"
        "mad.lo.u32 %r3, %r1, 16, %r2;\n"
        "mul.wide.u32 %rd2, %r1, 16;\n"
        "add.u64 %rd3, %rd1, %rd2;\n"
        "cp.async.cg.shared.global [%r3], [%rd3], 16;\n"  // 14
        "cp.async.wait_all;\n"
        "bar.sync 0;\n"
        "xor.b32 %r4, %r1, 33;\n"
        "mad.lo.u32 %r5, %r4, 16, %r2;\n"
        "ld.shared.u32 %r6, [%r5+8];\n"  // 19
        "ret;",
        1, 64, ".shared .align 16 .b8 tile[1024];\n");
    s("b 20 if warp == 0");
    s("run");
    s("lane 4");
    const std::string text = s.expect("where %r6", "warp 1 lane 5 step 6, line 14: cp.async");
    EXPECT_NE(text.find("<out + 0x258>: as the launch began with it"), std::string::npos) << text;
}

TEST(DebugOrigin, ThroughAnotherCta) {
    Sessions s(
        "ld.param.u64 %rd1, [k_out];\n"  // 7
        "mov.u32 %r1, %ctaid.x;\n"
        "mov.u32 %r2, %tid.x;\n"
        "mul.wide.u32 %rd2, %r1, 128;\n"
        "mul.wide.u32 %rd3, %r2, 4;\n"
        "add.u64 %rd4, %rd1, %rd2;\n"
        "add.u64 %rd4, %rd4, %rd3;\n"
        "ld.global.u32 %r3, [%rd4];\n"  // 14
        "add.u32 %r4, %r2, 100;\n"
        "st.global.u32 [%rd4+128], %r4;\n"  // 16
        "ret;",
        3, 32);
    s("b 17 if ctaid.x == 2");
    s("run");
    s("lane 9");
    s.expect("where %r3", "CTA (1,0,0) warp 0 lane 9 step 9, line 16: st.global.u32");
    // The run stands where it stood.
    s.expect("info warps", "CTA (2,0,0)");
    s.expect("p/l %r3", "= 0x0000006d");
}

TEST(DebugOrigin, ThroughWgmma) {
    Sessions s("wgmma_gemm.json");
    s("b wgmma.commit_group");
    s.expect("run", "wgmma.commit_group");
    const isa::Operation* o = nullptr;
    const isa::Program& p = s.session->listing().program();
    for (const isa::Operation& one : p.operations)
        if (o == nullptr && one.warpgroup != nullptr) o = &one;
    ASSERT_NE(o, nullptr);
    const isa::Ref ref = p.pool[o->vector[0].first];
    std::string name;
    for (const isa::Register& r : p.registers)
        if (r.ref == ref) name = r.name;
    const std::string text = s.expect("where " + name, "wgmma.mma_async");
    EXPECT_NE(text.find("B[0][0], in shared memory"), std::string::npos) << text;
    EXPECT_NE(text.find("<A"), std::string::npos) << text;
}

}  // namespace
}  // namespace lockwarp::debug
