// SPDX-License-Identifier: Apache-2.0
// Generic addresses: cvta, isspacep, and what reads and writes by them. PTX manual, "Generic
// Addressing".
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

TEST(GenericAddress, ReachesEverySpace) {
    const std::string outside = ".const .u32 c = 3; .global .u32 g = 5;";
    const auto out = results_of_text(kernel(R"(
.shared .u32 before;
.shared .u32 s;
.local .u32 l[4];
st.shared.u32 [s], 7;
st.local.u32 [l+4], 11;
mov.u64 %rd9, s;
cvta.shared.u64 %rd10, %rd9;
ld.u32 %r2, [%rd10];
mov.u64 %rd11, l;
cvta.local.u64 %rd12, %rd11;
ld.u32 %r3, [%rd12+4];
mov.u64 %rd13, c;
cvta.const.u64 %rd14, %rd13;
ld.u32 %r4, [%rd14];
mov.u64 %rd15, g;
cvta.global.u64 %rd16, %rd15;
ld.u32 %r5, [%rd16];
mul.lo.u32 %r2, %r2, %r3;
mul.lo.u32 %r2, %r2, %r4;
mul.lo.u32 %r2, %r2, %r5;
cvta.to.shared.u64 %rd17, %rd10;
setp.ne.u64 %p1, %rd17, %rd9;
cvta.to.local.u64 %rd18, %rd12;
setp.ne.or.u64 %p1, %rd18, %rd11, %p1;
cvta.to.const.u64 %rd19, %rd14;
setp.ne.or.u64 %p1, %rd19, %rd13, %p1;
cvta.to.global.u64 %rd20, %rd16;
setp.ne.or.u64 %p1, %rd20, %rd15, %p1;
@%p1 mov.u32 %r2, 0;
st.u32 [%rd10], %r2;
ld.shared.u32 %r6, [s];
st.global.u32 [%rd2], %r6;
)",
                                            outside));
    EXPECT_EQ(out, Words(32, 3 * 5 * 7 * 11));
}

TEST(GenericAddress, CvtaTakesAVariablesName) {
    EXPECT_EQ(results_of(R"(
.shared .u32 before;
.shared .u32 s;
st.shared.u32 [s], 7;
cvta.shared.u64 %rd10, s;
ld.u32 %r2, [%rd10];
st.global.u32 [%rd2], %r2;
)"),
              Words(32, 7));
}

TEST(GenericAddress, IsspacepTellsTheWindows) {
    struct Case {
        const char* space;
        const char* variable;
    };
    const std::string outside = ".const .u32 vconst = 3; .global .u32 vglobal = 5;";
    for (const Case& c : {Case{"global", "vglobal"}, Case{"shared", "vshared"},
                          Case{"local", "vlocal"}, Case{"const", "vconst"}}) {
        const auto out = results_of_text(
            kernel(std::string(".shared .u32 vshared;\n.local .u32 vlocal;\nmov.u64 %rd9, ") +
                       c.variable + ";\ncvta." + c.space + ".u64 %rd9, %rd9;\n" + R"(
isspacep.global %p1, %rd9;
isspacep.shared %p2, %rd9;
isspacep.local %p3, %rd9;
isspacep.const %p4, %rd9;
selp.u32 %r2, 1, 0, %p1;
selp.u32 %r3, 2, 0, %p2;
selp.u32 %r4, 4, 0, %p3;
selp.u32 %r5, 8, 0, %p4;
add.u32 %r2, %r2, %r3;
add.u32 %r2, %r2, %r4;
add.u32 %r2, %r2, %r5;
st.global.u32 [%rd2], %r2;
)",
                   outside));
        const std::string space = c.space;
        const uint32_t expected = space == "global"   ? 1
                                  : space == "shared" ? 2
                                  : space == "local"  ? 4
                                                      : 8;
        EXPECT_EQ(out, Words(32, expected)) << space;
    }
}

TEST(GenericAddress, ConstantsAndParametersAreReadAsGlobalToo) {
    Given given;
    given.buffers = {Bytes(256), Bytes(4096)};
    for (const char* load :
         {"ld.global.u32 %r2, [%rd9+8];", "ld.global.nc.u32 %r2, [%rd9+8];",
          "ldu.global.u32 %r2, [%rd9+8];", "ld.volatile.global.u32 %r2, [%rd9+8];",
          "ld.global.v2.u32 {%r2, %r3}, [%rd9+8];",
          "cp.async.ca.shared.global [s], [%rd9+8], 4;\ncp.async.wait_all;\n"
          "ld.shared.u32 %r2, [s];"}) {
        const std::string before = ".shared .align 16 .u32 s;\nmov.u64 %rd9, ";
        const std::string after = std::string(load) + "\nst.global.u32 [%rd2], %r2;";
        EXPECT_EQ(results_of_text(kernel(before + "table;\ncvta.const.u64 %rd9, %rd9;\n" + after,
                                         ".const .align 8 .u32 table[4] = {5, 6, 7, 8};")),
                  Words(32, 7))
            << load;
        const Words of_parameter = results_of(
            before + "out;\ncvta.param.u64 %rd9, %rd9;\nadd.s64 %rd9, %rd9, -8;\n" + after);
        const Words plain = results_of("ld.param.u32 %r2, [out];\nst.global.u32 [%rd2], %r2;");
        EXPECT_EQ(of_parameter, plain) << load;
    }
}

TEST(GenericAddress, AParametersAddressIsOneInGlobalMemory) {
    EXPECT_EQ(results_of(R"(
mov.u64 %rd9, out;
cvta.param.u64 %rd9, %rd9;
isspacep.global %p1, %rd9;
isspacep.param %p2, %rd9;
isspacep.const %p3, %rd9;
selp.u32 %r2, 1, 0, %p1;
selp.u32 %r3, 2, 0, %p2;
selp.u32 %r4, 4, 0, %p3;
or.b32 %r2, %r2, %r3;
or.b32 %r2, %r2, %r4;
st.global.u32 [%rd2], %r2;
)"),
              Words(32, 3));
}

}  // namespace

}  // namespace lockwarp::exec
