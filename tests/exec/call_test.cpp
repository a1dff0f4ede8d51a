// SPDX-License-Identifier: Apache-2.0
// Functions: what a call passes, whose registers and variables it has, and where its lanes meet.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

constexpr uint32_t all = 0xffffffff;

// Results of a kernel that may call the functions of `outside`.
Words results(std::string_view outside, std::string_view body, std::string_view reg, Words in = {},
              Given given = {}) {
    return results_of_text(kernel(stored(body, reg), outside), std::move(in), std::move(given));
}

std::string fault(std::string_view outside, std::string_view body, Given given = {}) {
    const isa::Program program = program_of(kernel(body, outside), isa::Arch::sm_80);
    given.buffers = {Bytes(4), Bytes(4096)};
    return fault_of(run(program, given).result);
}

// n! by recursion, its multiplication after the inner call: its register n must have survived that.
constexpr std::string_view factorial =
    ".func (.param .b32 r) fact(.param .b32 n) { .reg .b32 %r<5>; .reg .pred %p<2>;"
    " ld.param.b32 %r1, [n]; setp.gt.u32 %p1, %r1, 1; @%p1 bra MORE; mov.u32 %r3, 1; bra DONE;"
    " MORE: { .param .b32 a; .param .b32 b; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2;"
    " call.uni (b), fact, (a); ld.param.b32 %r3, [b]; } mul.lo.u32 %r3, %r3, %r1;"
    " DONE: st.param.b32 [r], %r3; ret; }";

constexpr const char* call_factorial = R"(
and.b32 %r2, %r1, 7;
{ .param .b32 a; .param .b32 b;
st.param.b32 [a], %r2;
call (b), fact, (a);
ld.param.b32 %r3, [b]; }
activemask.b32 %r4;
)";

TEST(Call, RecursionGoesAsDeepAsEachLaneAsks) {
    const auto factorial_of = [](uint32_t lane) {
        uint32_t product = 1;
        for (uint32_t i = 2; i <= lane % 8; ++i) product *= i;
        return product;
    };
    EXPECT_EQ(results(factorial, call_factorial, "%r3"), by_lane(factorial_of));
    EXPECT_EQ(results(factorial, call_factorial, "%r4"), Words(32, all)) << "they meet again";
}

TEST(Call, OnlyLanesWhoseGuardIsTrue) {
    constexpr const char* body = R"(
mov.u32 %r3, 77;
and.b32 %r2, %r1, 7;
setp.lt.u32 %p1, %r1, 5;
{ .param .b32 a; .param .b32 b;
st.param.b32 [a], %r2;
@%p1 call (b), fact, (a);
@%p1 ld.param.b32 %r3, [b]; }
activemask.b32 %r4;
)";
    EXPECT_EQ(results(factorial, body, "%r3"), by_lane([](uint32_t lane) {
                  return lane >= 5 ? 77u : Words{1, 1, 2, 6, 24}[lane];
              }));
    EXPECT_EQ(results(factorial, body, "%r4"), Words(32, all));
}

constexpr std::string_view three =
    ".func (.param .b32 r) f0(.param .b32 x) { .reg .b32 %r<3>; ld.param.b32 %r1, [x];"
    " add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; } "
    ".func (.param .b32 r) f1(.param .b32 x) { .reg .b32 %r<3>; ld.param.b32 %r1, [x];"
    " mul.lo.u32 %r1, %r1, 3; st.param.b32 [r], %r1; ret; } "
    ".func (.param .b32 r) f2(.param .b32 x) { .reg .b32 %r<3>; activemask.b32 %r1;"
    " st.param.b32 [r], %r1; ret; } "
    ".func f3(.param .b64 x) { ret; } "
    ".global .u64 table[4] = {f0, f1, f2, f3};";

constexpr const char* call_by_table = R"(
rem.u32 %r2, %r1, 3;
mov.u64 %rd5, table;
mad.wide.u32 %rd5, %r2, 8, %rd5;
ld.global.u64 %rd6, [%rd5];
{ .param .b32 a; .param .b32 b;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
st.param.b32 [a], %r1;
call (b), %rd6, (a), proto;
ld.param.b32 %r3, [b]; }
activemask.b32 %r4;
)";

TEST(Call, EachLaneByItsOwnPointer) {
    EXPECT_EQ(results(three, call_by_table, "%r3"), by_lane([](uint32_t lane) {
                  uint32_t third = 0;
                  for (uint32_t l = 2; l < 32; l += 3) third |= 1u << l;
                  return lane % 3 == 0 ? lane + 1 : lane % 3 == 1 ? lane * 3 : third;
              }));
    EXPECT_EQ(results(three, call_by_table, "%r4"), Words(32, all));
}

TEST(Call, APointerThatIsMovedFromTheName) {
    EXPECT_EQ(results(three, R"(
mov.u64 %rd6, f1;
{ .param .b32 a; .param .b32 b;
targets: .calltargets f0, f1;
st.param.b32 [a], %r1;
call (b), %rd6, (a), targets;
ld.param.b32 %r3, [b]; }
)",
                      "%r3"),
              by_lane([](uint32_t lane) { return 3 * lane; }));
}

TEST(Call, AnAliasIsTheFunctionItStandsFor) {
    const std::string outside = std::string(three) +
                                ".visible .func (.param .b32 to) other(.param .b32 from);\n"
                                ".alias other, f1;\n"
                                ".global .u64 aliased[] = {f0, other};\n";
    constexpr const char* call = R"(
{ .param .b32 a; .param .b32 b;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
st.param.b32 [a], %r1;
CALL
ld.param.b32 %r3, [b]; }
)";
    const Words expected = by_lane([](uint32_t lane) { return 3 * lane; });
    for (const char* const by :
         {"call (b), other, (a);", "mov.u64 %rd6, other; call (b), %rd6, (a), proto;",
          "ld.global.u64 %rd6, [aliased+8]; call (b), %rd6, (a), proto;"})
        EXPECT_EQ(results(outside, replaced(call, "CALL", by), "%r3"), expected) << by;
}

// Each frame has the variable anew, and a caller's stays while a callee has a pointer to it.
TEST(Call, LocalVariablesAreOfTheirFrame) {
    constexpr std::string_view outside =
        ".func sum(.param .b32 n, .param .b64 to) { .reg .b32 %r<8>; .reg .b64 %rd<8>;"
        " .reg .pred %p<2>; .local .b32 mine[3]; ld.param.b32 %r1, [n]; ld.param.b64 %rd1, [to];"
        " mov.u64 %rd2, mine; cvta.local.u64 %rd3, %rd2; st.local.b32 [mine+8], %r1;"
        " setp.eq.u32 %p1, %r1, 0; @%p1 bra END;"
        " { .param .b32 a; .param .b64 b; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2;"
        " st.param.b64 [b], %rd3; call.uni sum, (a, b); }"
        " ld.local.b32 %r4, [%rd2]; ld.b32 %r5, [%rd3+8]; add.u32 %r4, %r4, %r5; st.b32 [%rd1], "
        "%r4;"
        " ret; END: st.b32 [%rd1], 1000; ret; }";
    constexpr const char* body = R"(
.local .b32 result;
and.b32 %r2, %r1, 15;
mov.u64 %rd5, result;
cvta.local.u64 %rd6, %rd5;
{ .param .b32 a; .param .b64 b;
st.param.b32 [a], %r2;
st.param.b64 [b], %rd6;
call sum, (a, b); }
ld.local.b32 %r3, [%rd5];
)";
    EXPECT_EQ(results(outside, body, "%r3"), by_lane([](uint32_t lane) {
                  const uint32_t n = lane % 16;
                  return 1000 + n * (n + 1) / 2;
              }));
}

TEST(Call, ValuesInRegistersAndConstants) {
    constexpr std::string_view outside =
        ".func (.reg .b32 r, .reg .b64 s) f(.reg .b32 a, .reg .b64 b, .reg .f32 c)"
        " { .reg .b32 %t; cvt.rzi.u32.f32 %t, c; add.u32 r, a, %t; shl.b64 s, b, 32; ret; }";
    const Words got = results(outside,
                              "call (%r2, %rd5), f, (%r1, 5, 0f40e00000);\n"
                              "mov.b64 {%r3, %r4}, %rd5;\nadd.u32 %r5, %r2, %r4;",
                              "%r5");
    EXPECT_EQ(got, by_lane([](uint32_t lane) { return lane + 7 + 5; }));
}

// Where one side has a register and the other a variable of .param.
TEST(Call, ValuesBetweenRegistersAndMemory) {
    constexpr std::string_view outside =
        ".func (.reg .b32 r, .reg .b64 s) in_registers(.reg .b32 a, .reg .b64 b)"
        " { add.u32 r, a, 7; add.u64 s, b, 9; ret; }"
        " .func (.param .b32 r, .param .b64 s) in_memory(.param .b32 a, .param .b64 b)"
        " { .reg .b32 %t; .reg .b64 %u; ld.param.b32 %t, [a]; ld.param.b64 %u, [b];"
        " add.u32 %t, %t, 70; add.u64 %u, %u, 90; st.param.b32 [r], %t; st.param.b64 [s], %u;"
        " ret; }";
    constexpr const char* body = R"(
cvt.u64.u32 %rd5, %r1;
shl.b64 %rd5, %rd5, 32;
{ .param .b32 a; .param .b64 b; .param .b32 c; .param .b64 d;
st.param.b32 [a], %r1;
st.param.b64 [b], %rd5;
call (c, d), in_registers, (a, b);
ld.param.b32 %r2, [c];
ld.param.b64 %rd6, [d]; }
call (%r3, %rd7), in_memory, (%r2, %rd6);
mov.b64 {%r4, %r5}, %rd7;
shl.b32 %r3, %r3, 8;
shl.b32 %r5, %r5, 16;
add.u32 %r3, %r3, %r4;
add.u32 %r3, %r3, %r5;
)";
    EXPECT_EQ(results(outside, body, "%r3"), by_lane([](uint32_t lane) {
                  return ((lane + 7 + 70) << 8) + (9 + 90) + (lane << 16);
              }));
}

TEST(Call, StructuresByValue) {
    constexpr std::string_view outside =
        ".func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 x[16]) { .reg .b64 %d<3>;"
        " ld.param.b64 %d1, [x]; ld.param.b64 %d2, [x+8]; st.param.b64 [r], %d2;"
        " st.param.b64 [r+8], %d1; ret; }";
    EXPECT_EQ(results(outside, R"(
cvt.u64.u32 %rd5, %r1;
{ .param .align 8 .b8 a[16]; .param .align 8 .b8 b[16];
st.param.v2.b64 [a], {%rd5, 900};
call (b), swap, (a);
ld.param.v2.b64 {%rd6, %rd7}, [b]; }
sub.u64 %rd8, %rd6, %rd7;
cvt.u32.u64 %r3, %rd8;
)",
                      "%r3"),
              by_lane([](uint32_t lane) { return 900 - lane; }));
}

// Lanes that return from within a loop and an if wait for the others where they were called.
TEST(Call, LanesReturnFromAnywhere) {
    constexpr std::string_view outside =
        ".func (.param .b32 r) count(.param .b32 n) { .reg .b32 %r<5>; .reg .pred %p<3>;"
        " ld.param.b32 %r1, [n]; mov.u32 %r2, 0;"
        " LOOP: add.u32 %r2, %r2, 2; setp.ge.u32 %p1, %r2, %r1; @!%p1 bra NEXT;"
        " and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 1; st.param.b32 [r], %r2; @%p2 ret;"
        " add.u32 %r2, %r2, 100; st.param.b32 [r], %r2; ret; NEXT: bra LOOP; }";
    constexpr const char* body = R"(
{ .param .b32 a; .param .b32 b;
st.param.b32 [a], %r1;
call (b), count, (a);
ld.param.b32 %r3, [b]; }
vote.sync.ballot.b32 %r4, 1, 0xffffffff;
)";
    EXPECT_EQ(results(outside, body, "%r3"), by_lane([](uint32_t lane) {
                  const uint32_t even = lane < 2 ? 2 : (lane + 1) / 2 * 2;
                  return lane % 2 == 1 ? even : even + 100;
              }));
    EXPECT_EQ(results(outside, body, "%r4"), Words(32, all));
}

TEST(Call, ExitEndsTheThreadAndNobodyWaitsForIt) {
    constexpr std::string_view outside =
        ".func leave(.param .b32 n) { .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.b32 %r1, [n];"
        " setp.gt.u32 %p1, %r1, 20; @%p1 exit; ret; }";
    constexpr const char* body = R"(
st.global.u32 [%rd2], 1;
{ .param .b32 a;
st.param.b32 [a], %r1;
call leave, (a); }
activemask.b32 %r4;
)";
    EXPECT_EQ(results(outside, body, "%r4"),
              by_lane([](uint32_t lane) { return lane > 20 ? 1 : 0x001fffffu; }));
}

TEST(Call, BarriersAndSharedMemoryOfAFunction) {
    constexpr std::string_view outside =
        ".func (.param .b32 r) turned(.param .b32 i) { .reg .b32 %r<8>; .shared .b32 tile[64];"
        " ld.param.b32 %r1, [i]; mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2;"
        " st.shared.b32 [%r3], %r1; bar.sync 0; sub.u32 %r4, 63, %r1; mad.lo.u32 %r3, %r4, 4, %r2;"
        " ld.shared.b32 %r5, [%r3]; st.param.b32 [r], %r5; ret; }";
    Given given;
    given.block = {64, 1, 1};
    EXPECT_EQ(results(outside, R"(
{ .param .b32 a; .param .b32 b;
st.param.b32 [a], %r1;
call.uni (b), turned, (a);
ld.param.b32 %r3, [b]; }
)",
                      "%r3", {}, given),
              by_lane([](uint32_t lane) { return 63 - lane; }, 64));
}

TEST(Call, BranchByIndex) {
    constexpr const char* body = R"(
and.b32 %r2, %r1, 3;
setp.lt.u32 %p1, %r1, 28;
mov.u32 %r3, 5;
table: .branchtargets A, B, A, C;
@%p1 brx.idx %r2, table;
mov.u32 %r3, 6;
bra D;
A: mov.u32 %r3, 10;
bra D;
B: mov.u32 %r3, 20;
activemask.b32 %r4;
bra D;
C: mov.u32 %r3, 30;
D: activemask.b32 %r5;
)";
    EXPECT_EQ(results({}, body, "%r3"), by_lane([](uint32_t lane) {
                  return lane >= 28 ? 6u : Words{10, 20, 10, 30}[lane % 4];
              }));
    EXPECT_EQ(results({}, body, "%r5"), Words(32, all));
}

TEST(Call, TheStackByHand) {
    constexpr const char* body = R"(
cvt.u64.u32 %rd5, %r1;
stacksave.u64 %rd6;
shl.b64 %rd7, %rd5, 2;
add.u64 %rd7, %rd7, 4;
alloca.u64 %rd8, %rd7, 64;
mad.wide.u32 %rd9, %r1, 4, %rd8;
st.local.b32 [%rd9], %r1;
ld.local.b32 %r3, [%rd9];
and.b64 %rd10, %rd8, 63;
cvt.u32.u64 %r4, %rd10;
stackrestore.u64 %rd6;
stacksave.u64 %rd11;
sub.u64 %rd11, %rd11, %rd6;
cvt.u32.u64 %r5, %rd11;
shl.b32 %r4, %r4, 8;
or.b32 %r3, %r3, %r4;
shl.b32 %r5, %r5, 16;
or.b32 %r3, %r3, %r5;
)";
    EXPECT_EQ(results({}, body, "%r3"), by_lane([](uint32_t lane) { return lane; }));
    EXPECT_EQ(fault({}, "alloca.u64 %rd5, 600000;\nret;\n"),
              "stack overflow: alloca of 600000 bytes; the thread has 0 of 524288 at line 20, "
              "CTA (0,0,0), warp 0, lane 0, step 10");
}

TEST(Call, TrapsWithTheirPlace) {
    const std::string endless = ".func deep() { .local .b32 x[100]; call.uni deep; ret; }";
    const std::string deep = fault(endless, "call.uni deep;\nret;\n");
    EXPECT_NE(deep.find("stack overflow: function 'deep' needs 400 bytes"), std::string::npos)
        << deep;
    const std::string nowhere = fault(three, R"(
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
{ .param .b32 a; .param .b32 b;
call (b), %rd1, (a), proto; }
ret;
)");
    EXPECT_NE(nowhere.find("illegal operand: the called address is no function at line 23"),
              std::string::npos)
        << nowhere;
    // Beside a function, and behind the last.
    for (const std::string beside : {"f0 + 1", "f1 + 8", "f1 + -4", "f3 + 16"}) {
        const std::string text = fault(three, "mov.u64 %rd5, " + beside.substr(0, 2) +
                                                  "; add.s64 %rd5, %rd5, " + beside.substr(5) + R"(;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
{ .param .b32 a; .param .b32 b;
call (b), %rd5, (a), proto; }
ret;
)");
        EXPECT_NE(text.find("the called address is no function at line 23"), std::string::npos)
            << beside << text;
    }
    const std::string other = fault(three, R"(
mov.u64 %rd5, f3;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
{ .param .b32 a; .param .b32 b;
call (b), %rd5, (a), proto; }
ret;
)");
    EXPECT_NE(other.find("is function 'f3', which takes or returns something else"),
              std::string::npos)
        << other;
    const std::string index = fault({}, R"(
table: .branchtargets A;
brx.idx %r1, table;
A: ret;
)");
    EXPECT_NE(index.find("index 1 of a table of 1 branch targets at line 22"), std::string::npos)
        << index;
}

// The calls of a warp keep 64 MiB of registers: here 4 KiB each, of 30 registers of 32 bits and one
// of 64. The first call keeps none, being no recursion; the last is refused where more are kept.
TEST(Call, RegistersThatAreKept) {
    std::string deep =
        ".global .u64 place; .func deep() { .reg .b32 %k<30>; .reg .b64 %at;"
        "ld.global.u64 %at, [place]; ld.global.u32 %k0, [%at]; add.u32 %k0, %k0, 1;"
        "st.global.u32 [%at], %k0;";
    for (int i = 1; i < 30; ++i)
        deep += "add.u32 %k" + std::to_string(i) + ", %k" + std::to_string(i - 1) + ", 1;";
    deep += "call.uni deep; ret; }";
    Given given;
    given.block.x = 1;
    given.buffers = {Bytes(4), Bytes(4)};
    const Outcome o =
        run(program_of(kernel("st.global.u64 [place], %rd4; call.uni deep; ret;", deep),
                       isa::Arch::sm_80),
            std::move(given));
    ASSERT_TRUE(o.result.trap.has_value());
    EXPECT_EQ(o.result.trap->kind, warp::TrapKind::stack);
    EXPECT_EQ(words_of(o.buffers[1])[0], (1u << 26) / 4096 + 2);
}

// A function's variables are gone when it has returned.
TEST(Call, APointerToAFrameThatHasEndedTraps) {
    constexpr std::string_view outside =
        ".func (.param .b64 r) dangling() { .local .b32 x[64]; .reg .b64 %d; mov.u64 %d, x;"
        " st.param.b64 [r], %d; ret; }";
    const std::string text = fault(outside, R"(
{ .param .b64 b;
call (b), dangling;
ld.param.b64 %rd5, [b]; }
ld.local.b32 %r2, [%rd5+128];
ret;
)");
    EXPECT_NE(text.find("address out of bounds"), std::string::npos) << text;
}

TEST(Call, WhatCannotBeCalled) {
    const auto said = [](std::string_view outside, std::string_view body) {
        return diagnostics_of(kernel(body, outside), isa::Arch::sm_80);
    };
    EXPECT_NE(said({}, "call nowhere;").find("Unresolved extern function 'nowhere'"),
              std::string::npos);
    EXPECT_NE(said(factorial, "call fact;").find("Return value count mismatch"), std::string::npos);
    EXPECT_NE(said(factorial, "call (%r1), fact, (%r1, %r2);").find("Argument count mismatch"),
              std::string::npos);
    EXPECT_NE(said(factorial, "call (%r1), fact, (%rd1);").find("Argument size mismatch"),
              std::string::npos);
    EXPECT_NE(said(factorial, "call (%r1), fact, (%q1);").find("Unknown symbol '%q1'"),
              std::string::npos);
    EXPECT_NE(said({}, "call %rd1;").find("needs a .calltargets or .callprototype"),
              std::string::npos);
    EXPECT_NE(said({}, "brx.idx %r1, T;").find("Unknown symbol 'T'"), std::string::npos);
    EXPECT_NE(said({}, "T: .branchtargets A, B; brx.idx %r1, T; A: ret;").find("'B'"),
              std::string::npos);
    EXPECT_NE(said({}, "alloca.u64 %rd1, 8, 12;").find("Alignment must be a power of two"),
              std::string::npos);
    // What is not called is not resolved.
    EXPECT_EQ(said(".func unused() { tex.1d.v4.f32.s32 {a}, [b]; }", "ret;"), "");
}

// A function's registers begin as zeros in every warp of every CTA, whatever the last one left.
TEST(Call, AFunctionsRegistersBeginAsZerosInEachCta) {
    const isa::Program program = program_of(R"(.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 was) count()
{
    .reg .b32 %never; .reg .pred %p;
    @%p add.u32 %never, %never, 100;
    add.u32 %never, %never, 1;
    setp.ne.u32 %p, %never, 0;
    st.param.b32 [was], %never;
    ret;
}
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd1, %rd1, %rd2;
    // Of every second CTA the second warp does not call it.
    and.b32 %r5, %r2, 1;
    shr.u32 %r6, %r1, 5;
    and.b32 %r5, %r5, %r6;
    setp.eq.u32 %p1, %r5, 1;
    @%p1 bra END;
    { .param .b32 a; call.uni (a), count, (); ld.param.b32 %r7, [a]; }
    { .param .b32 b; call.uni (b), count, (); ld.param.b32 %r7, [b]; }
END:
    st.global.u32 [%rd1], %r7;
    ret;
}
)",
                                            isa::Arch::sm_80);
    Given given;
    given.grid.x = 5;
    given.block.x = 64;
    given.buffers = {Bytes(4), Bytes(4 * 320, 0xff)};
    Words expected;
    for (uint32_t i = 0; i < 320; ++i)
        expected.push_back(i / 64 % 2 == 1 && i % 64 >= 32 ? 0 : 102);
    EXPECT_EQ(words_of(run_well(program, given).buffers[1]), expected);
}

}  // namespace

}  // namespace lockwarp::exec
