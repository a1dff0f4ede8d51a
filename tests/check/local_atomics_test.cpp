// SPDX-License-Identifier: Apache-2.0
// Atomics by generic addresses that lead to local memory.
#include "tests/check/said.hpp"

namespace lockwarp::check::local_atomics_test {
namespace {

using namespace brief;

// %rd20 leads to local memory, %rd21 to the thread's word of the array, and %rd22 to the first of
// them in lanes 3 and 4, to the other in the rest.
Lines of(const std::string& body, const Shown& shown = {.lanes = true, .at = true}) {
    const std::string setup =
        ".local .align 4 .b8 v[16]; mov.u64 %rd20, v; cvta.local.u64 %rd20, %rd20;"
        "cvt.u64.u32 %rd21, %r6; cvta.shared.u64 %rd21, %rd21; sub.u32 %r10, %r2, 3;"
        "setp.lt.u32 %p1, %r10, 2; selp.b64 %rd22, %rd20, %rd21, %p1;\n";
    return said(setup + body, {.checks = "memory", .block = 32}, shown);
}

TEST(LocalAtomics, AreFoundInTheLanesThatReachIt) {
    for (const std::string op : {"red.add.u32 ", "atom.add.u32 %r11, "}) {
        EXPECT_EQ(of(op + "[%rd20+4], 1;"), Lines{"2 local-atomic, ffffffff, 4 at 4"}) << op;
        EXPECT_EQ(of(op + "[%rd22+8], 1;"), Lines{"2 local-atomic, 18, 4 at 8"}) << op;
        EXPECT_EQ(of(op + "[%rd21], 1;"), Lines{}) << op;
        EXPECT_EQ(of("@!%p1 " + op + "[%rd22], 1;"), Lines{}) << op;
        EXPECT_EQ(of("@%p1 " + op + "[%rd20], 1;\n" + op + "[%rd20], 1;"),
                  (Lines{"2 local-atomic, 18, 4 at 0", "3 local-atomic, ffffffff, 4 at 0"}))
            << op;
        // Beside other accesses of local memory, and what is named once is named once.
        EXPECT_EQ(of("st.local.u32 [v], 1;\nst.u32 [%rd20], 2;\nld.u32 %r12, [%rd20];\n" + op +
                     "[%rd21], 1;"),
                  Lines{})
            << op;
    }
    EXPECT_EQ(of("mov.u32 %r10, 0;\nL: red.add.u32 [%rd20], 1; add.u32 %r10, %r10, 1;"
                 "setp.lt.u32 %p2, %r10, 3; @%p2 bra L;",
                 {.count = true}),
              Lines{"3 local-atomic, 3 times"});
    EXPECT_EQ(of("atom.shared.add.u32 %r11, [%r6], 1;\nst.local.u32 [v], 1;"), Lines{});
    EXPECT_EQ(of("red.global.add.u32 [%rd3], 1;\nld.local.u32 %r11, [v];"), Lines{});
}

}  // namespace
}  // namespace lockwarp::check::local_atomics_test
