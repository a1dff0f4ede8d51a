// SPDX-License-Identifier: Apache-2.0
// Where a function's own variables lie: as aligned as they are declared, whatever called it.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// The bits of `d`'s address below its alignment, in the local window (at) and as a generic address;
// or(address, 1 << k) is then address + (1 << k), as compilers write it at -O0.
std::string holder(unsigned alignment, std::string_view more = {}) {
    const std::string a = std::to_string(alignment), low = std::to_string(alignment - 1);
    return ".func (.param .b32 r) f() { .local .align 4 .b8 first[4]; " + std::string(more) +
           " .local .align " + a + " .b8 d[40]; .reg .b64 %q<4>; .reg .b32 %i<4>;" +
           " st.local.u32 [first], 7; mov.u64 %q1, d; cvta.local.u64 %q2, %q1; or.b64 %q3, %q1, "
           "%q2;"
           " st.local.u32 [d+36], 9; ld.local.u32 %i2, [first]; ld.u32 %i3, [%q2+36];"
           " cvt.u32.u64 %i1, %q3; and.b32 %i1, %i1, " +
           low + "; mad.lo.u32 %i1, %i1, 100, %i2; add.u32 %i1, %i1, %i3;" +
           " st.param.b32 [r], %i1; ret; }\n";
}

// A function between that leaves the stack at `bytes` behind the caller's.
std::string between(unsigned bytes) {
    return ".func (.param .b32 r) g(.param .b32 n) { .local .align 8 .b8 own[" +
           std::to_string(bytes) +
           "]; .reg .b32 %j<3>; ld.param.b32 %j1, [n]; st.local.u8 [own], %j1;"
           " { .param .b32 a; call.uni (a), f, (); ld.param.b32 %j2, [a]; }"
           " st.param.b32 [r], %j2; ret; }\n";
}

TEST(Frames, AreAsAlignedAsTheirVariables) {
    for (const unsigned alignment : {1u, 4u, 8u, 16u, 32u, 64u, 128u, 256u, 4096u})
        for (const unsigned bytes : {8u, 16u, 24u, 48u, 72u}) {
            const std::string direct =
                "{ .param .b32 a; call.uni (a), f, (); ld.param.b32 %r2, [a]; }"
                "\nst.global.u32 [%rd2], %r2;\nret;\n";
            const std::string deep =
                ".local .b8 own[" + std::to_string(bytes) + "]; st.local.u8 [own], %r1;\n" +
                "{ .param .b32 n; .param .b32 a; st.param.b32 [n], %r1; call.uni (a), g, (n);"
                " ld.param.b32 %r2, [a]; }\nst.global.u32 [%rd2], %r2;\nret;\n";
            const std::string functions = holder(alignment) + between(bytes);
            EXPECT_EQ(results_of_text(kernel(direct, functions)), Words(32, 16)) << alignment;
            EXPECT_EQ(results_of_text(kernel(deep, functions)), Words(32, 16))
                << alignment << ' ' << bytes;
        }
}

// Of several variables the most aligned counts, wherever it stands; a function called again begins
// where it began.
TEST(Frames, TakeTheGreatestAlignment) {
    const std::string functions =
        holder(32, ".local .align 128 .b8 most[8]; .local .align 2 .b8 odd[6];") + between(40);
    const std::string body =
        "{ .param .b32 n; .param .b32 a; st.param.b32 [n], %r1; call.uni (a), g, (n);"
        " ld.param.b32 %r2, [a]; }\n{ .param .b32 a; call.uni (a), f, (); ld.param.b32 %r3, [a]; "
        "}\n"
        "add.u32 %r2, %r2, %r3;\nst.global.u32 [%rd2], %r2;\nret;\n";
    EXPECT_EQ(results_of_text(kernel(body, functions)), Words(32, 32));
}

// A parameter in memory is aligned as it is declared too.
TEST(Frames, ParametersAreAlignedAsDeclared) {
    const std::string functions =
        ".func (.param .b32 r) f(.param .align 64 .b8 p[64]) { .reg .b64 %q<3>; .reg .b32 %i<3>;"
        " mov.u64 %q1, p; ld.param.u32 %i1, [p+60]; cvt.u32.u64 %i2, %q1; and.b32 %i2, %i2, 63;"
        " mad.lo.u32 %i1, %i2, 100, %i1; st.param.b32 [r], %i1; ret; }\n"
        ".func (.param .b32 r) g(.param .b32 n) { .local .align 8 .b8 own[24]; .reg .b32 %j<3>;"
        " ld.param.b32 %j1, [n]; st.local.u8 [own], %j1;"
        " { .param .align 64 .b8 b[64]; .param .b32 a; st.param.b32 [b+60], 5;"
        " call.uni (a), f, (b); ld.param.b32 %j2, [a]; } st.param.b32 [r], %j2; ret; }\n";
    const std::string body =
        "{ .param .b32 n; .param .b32 a; st.param.b32 [n], %r1; call.uni (a), g, (n);"
        " ld.param.b32 %r2, [a]; }\nst.global.u32 [%rd2], %r2;\nret;\n";
    EXPECT_EQ(results_of_text(kernel(body, functions)), Words(32, 5));
}

// An alignment for which there is no room is a trap of the stack.
TEST(Frames, AnAlignmentBeyondTheStackTraps) {
    const isa::Program program =
        program_of(kernel(".local .b8 own[300000]; st.local.u8 [own], %r1;"
                          "{ .param .b32 a; call.uni (a), f, (); ld.param.b32 %r2, [a]; }\nret;\n",
                          ".func (.param .b32 r) f() { .local .align 262144 .b8 d[8]; .reg .b32 %i;"
                          " ld.local.u32 %i, [d]; st.param.b32 [r], %i; ret; }\n"),
                   isa::Arch::sm_80);
    Given given;
    given.buffers = {Bytes(4), Bytes(4096)};
    const std::string said = fault_of(run(program, given).result);
    EXPECT_NE(said.find("function 'f' needs 262160 bytes"), std::string::npos) << said;
}

}  // namespace

}  // namespace lockwarp::exec
