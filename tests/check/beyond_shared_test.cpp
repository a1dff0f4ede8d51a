// SPDX-License-Identifier: Apache-2.0
// Accesses behind the launch's shared memory, in the unit of 128 bytes in which it ends.
#include "tests/check/said.hpp"

namespace lockwarp::check::beyond_shared_test {
namespace {

using namespace brief;

// The array of 4,096 bytes at 1,024 and `dynamic` bytes of `more` behind it.
Lines of(const std::string& body, uint32_t dynamic = 20,
         const Shown& shown = {.lanes = true, .at = true}) {
    return said(body,
                {.checks = "memory",
                 .block = 32,
                 .outside = ".extern .shared .align 4 .b8 more[];",
                 .dynamic_shared = dynamic},
                shown);
}

TEST(BeyondShared, IsWhatEndsBehindTheLaunchsOwn) {
    const std::string keeps = "mov.u32 %r20, more; st.shared.u32 [%r5], 1; ";
    EXPECT_EQ(of(keeps + "ld.shared.u32 %r11, [5136];"), Lines{});
    EXPECT_EQ(of(keeps + "\nld.shared.u32 %r11, [5140];"),
              Lines{"2 beyond-shared, ffffffff, 4 at 4116"});
    EXPECT_EQ(of(keeps + "\nld.shared.u64 %rd11, [5136];"),
              Lines{"2 beyond-shared, ffffffff, 8 at 4112"});
    EXPECT_EQ(of(keeps + "\nld.shared.u8 %r11, [5247];"),
              Lines{"2 beyond-shared, ffffffff, 1 at 4223"});
    EXPECT_EQ(of(keeps + "\natom.shared.add.u32 %r11, [5200], 1;"),
              Lines{"2 beyond-shared, ffffffff, 4 at 4176"});
    EXPECT_EQ(of(keeps + "and.b32 %r10, %r2, 7; mad.lo.u32 %r10, %r10, 4, 5124;\n"
                         "st.shared.u32 [%r10], %r2;"),
              Lines{"2 beyond-shared, f0f0f0f0, 4 at 4116"});
    EXPECT_EQ(of(keeps + "\nld.shared.u32 %r11, [5140];", 128), Lines{});
}

TEST(BeyondShared, IsSaidOnceAndSaysWhatWasDone) {
    const std::string keeps = "mov.u32 %r20, more; mov.u32 %r10, 0;\n";
    EXPECT_EQ(of(keeps + "L: ld.shared.u32 %r11, [5140]; add.u32 %r10, %r10, 1;"
                         "setp.lt.u32 %p1, %r10, 3; @%p1 bra L;\nst.shared.u32 [5140], 1;",
                 20, {.count = true, .message = true}),
              (Lines{"2 beyond-shared, 3 times: reads behind the shared memory that the launch "
                     "asks for",
                     "3 beyond-shared: writes behind the shared memory that the launch asks for"}));
}

TEST(BeyondShared, OfCopiesToo) {
    const std::string one = "mov.u32 %r20, more; setp.ne.u32 %p1, %r1, 3; @%p1 bra L;\n";
    const std::string copy = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], ";
    const std::string wait = "; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nL:";
    EXPECT_EQ(of(one + copy + "[5136], 16" + wait), Lines{"2 beyond-shared, 8, 16 at 4112"});
    EXPECT_EQ(of(one + copy + "[5120], 16" + wait), Lines{});
}

// Who knows which variable was meant says more; the driver's own memory is behind the launch's.
TEST(BeyondShared, LeavesOtherFindingsTheirs) {
    EXPECT_EQ(of("mov.u32 %r10, more;\nld.shared.u32 %r11, [%r10+20];"),
              Lines{"2 beyond-variable, ffffffff, 4 at 4116"});
    EXPECT_EQ(of("mov.u32 %r20, more; mov.u32 %r10, %reserved_smem_offset_1;\n"
                 "st.shared.u32 [%r10], 1;"),
              Lines{});
}

}  // namespace
}  // namespace lockwarp::check::beyond_shared_test
