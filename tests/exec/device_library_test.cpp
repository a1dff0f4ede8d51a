// SPDX-License-Identifier: Apache-2.0
// What kernels call of the device's own library: vprintf, __assertfail, malloc and free.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

constexpr std::string_view printing =
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); "
    ".global .b8 text[50] = {108, 97, 110, 101, 32, 37, 100, 58, 32, 37, 46, 51, 102, 32, 37, 108,"
    " 108, 120, 32, 37, 115, 32, 37, 99, 32, 37, 37, 32, 37, 45, 52, 117, 124, 10}; "
    ".global .b8 word[5] = {119, 97, 114, 112};";

TEST(DeviceLibrary, PrintfIsKept) {
    // "lane %d: %.3f %llx %s %c %% %-4u|\n", of lanes 3 and 4
    constexpr const char* body = R"(
.local .align 8 .b8 pack[48];
setp.eq.u32 %p1, %r1, 3;
setp.eq.or.u32 %p1, %r1, 4, %p1;
mov.u32 %r3, 1234;
@!%p1 bra DONE;
st.local.b32 [pack], %r1;
st.local.b64 [pack+8], 0d400921FB54442D18;
st.local.b64 [pack+16], 0xfedcba9876543210;
mov.u64 %rd5, word;
cvta.global.u64 %rd5, %rd5;
st.local.b64 [pack+24], %rd5;
st.local.b32 [pack+32], 88;
st.local.b32 [pack+36], 4000000000;
mov.u64 %rd6, pack;
cvta.local.u64 %rd6, %rd6;
mov.u64 %rd7, text;
cvta.global.u64 %rd7, %rd7;
{ .param .b64 f; .param .b64 a; .param .b32 b;
st.param.b64 [f], %rd7;
st.param.b64 [a], %rd6;
call.uni (b), vprintf, (f, a);
ld.param.b32 %r3, [b]; }
DONE:
)";
    const isa::Program program =
        program_of(kernel(stored(body, "%r3"), printing), isa::Arch::sm_80);
    Given given;
    given.buffers = {Bytes(4), Bytes(128)};
    const Outcome got = run_well(program, given);
    ASSERT_EQ(got.result.printed.size(), 2u);
    for (uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(got.result.printed[i].lane, 3 + i);
        EXPECT_EQ(got.result.printed[i].text, "lane " + std::to_string(3 + i) +
                                                  ": 3.142 fedcba9876543210 warp X % "
                                                  "4000000000|\n");
    }
    EXPECT_EQ(words_of(got.buffers[1]),
              by_lane([](uint32_t lane) { return lane == 3 || lane == 4 ? 6u : 1234u; }));
}

TEST(DeviceLibrary, PrintfOfBadAddressesTraps) {
    const std::string text = fault_of_body(R"(
{ .param .b64 f; .param .b64 a; .param .b32 b;
st.param.b64 [f], 16;
st.param.b64 [a], 16;
call.uni (b), vprintf, (f, a); }
ret;
)",
                                           {}, printing);
    EXPECT_NE(text.find("address out of bounds: the format of vprintf at line 24"),
              std::string::npos)
        << text;
}

// Text beyond the buffer of one launch is counted, not kept; CTAs come in their order.
TEST(DeviceLibrary, PrintedTextIsBounded) {
    constexpr const char* body = R"(
mov.u64 %rd7, text;
cvta.global.u64 %rd7, %rd7;
LOOP:
{ .param .b64 f; .param .b64 a; .param .b32 b;
st.param.b64 [f], %rd7;
st.param.b64 [a], 0;
call.uni (b), vprintf, (f, a); }
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, 200;
@%p1 bra LOOP;
)";
    std::string text =
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); "
        ".global .b8 text[101] = {";
    for (int i = 0; i < 100; ++i) text += "65, ";
    text += "0};";
    const isa::Program program = program_of(kernel(stored(body, "%r3"), text), isa::Arch::sm_80);
    for (const unsigned threads : {1u, 4u}) {
        Given given;
        given.grid = {3, 1, 1};
        given.threads = threads;
        given.buffers = {Bytes(4), Bytes(3 * 128)};
        const Outcome got = run_well(program, given);
        uint64_t kept = 0;
        uint64_t last = 0;
        for (const warp::Printed& p : got.result.printed) {
            kept += p.text.size();
            EXPECT_GE(p.cta_index, last);
            last = p.cta_index;
        }
        EXPECT_LE(kept, warp::max_printed_bytes);
        EXPECT_GT(kept, warp::max_printed_bytes - 200);
        EXPECT_EQ(kept + got.result.printed_bytes_lost, uint64_t{3} * 32 * 200 * 100);
    }
}

TEST(DeviceLibrary, AFailedAssertionSaysWhere) {
    constexpr std::string_view outside =
        ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n,"
        " .param .b64 s); .global .b8 m[6] = {105, 32, 60, 32, 52}; "
        ".global .b8 f[5] = {97, 46, 99, 117}; .global .b8 n[2] = {107};";
    const std::string text = fault_of_body(R"(
setp.eq.u32 %p1, %r1, 9;
@!%p1 bra DONE;
mov.u64 %rd5, m; cvta.global.u64 %rd5, %rd5;
mov.u64 %rd6, f; cvta.global.u64 %rd6, %rd6;
mov.u64 %rd7, n; cvta.global.u64 %rd7, %rd7;
{ .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
st.param.b64 [p0], %rd5; st.param.b64 [p1], %rd6; st.param.b32 [p2], 42;
st.param.b64 [p3], %rd7; st.param.b64 [p4], 1;
call.uni __assertfail, (p0, p1, p2, p3, p4); }
DONE: ret;
)",
                                           {}, outside);
    EXPECT_NE(text.find("trap instruction: a.cu:42: k: assertion `i < 4' failed at line 29, "
                        "CTA (0,0,0), warp 0, lane 9"),
              std::string::npos)
        << text;
}

constexpr std::string_view heap_functions =
    ".extern .func (.param .b64 p) malloc(.param .b64 n); .extern .func free(.param .b64 p);";

// %rd5 = malloc(bytes)
std::string take(std::string_view bytes) {
    return "{ .param .b64 a; .param .b64 b; st.param.b64 [a], " + std::string(bytes) +
           "; call.uni (b), malloc, (a); ld.param.b64 %rd5, [b]; }\n";
}

constexpr std::string_view give_back =
    "{ .param .b64 a; st.param.b64 [a], %rd5; call.uni free, (a); }\n";

// Its result is a parameter in the frame of a function that the kernel calls.
TEST(DeviceLibrary, MallocIsCalledByAFunction) {
    const std::string outside =
        std::string(heap_functions) +
        ".func (.param .b64 p) twice(.param .b64 n) {\n"
        ".reg .b64 %rd<9>; .local .b64 kept[2];\n"
        "ld.param.b64 %rd1, [n]; st.local.b64 [kept], 77;\n" +
        take("%rd1") + "st.u32 [%rd5], 5; mov.b64 %rd6, %rd5;\n" + take("%rd1") +
        "st.u32 [%rd5], 6; ld.u32 %rd7, [%rd6]; ld.local.b64 %rd8, [kept];\n"
        "add.u64 %rd7, %rd7, %rd8; st.u32 [%rd6], %rd7; st.param.b64 [p], %rd6; ret; }\n";
    const std::string body =
        "{ .param .b64 n; .param .b64 p; st.param.b64 [n], 8; call.uni (p), twice, (n);"
        " ld.param.b64 %rd6, [p]; }\nld.u32 %r2, [%rd6];";
    Given given;
    given.buffers = {Bytes(4), Bytes(128)};
    const Outcome got =
        run_well(program_of(kernel(stored(body, "%r2"), outside), isa::Arch::sm_80), given);
    EXPECT_EQ(words_of(got.buffers[1]), Words(32, 82));
}

TEST(DeviceLibrary, MallocGivesEachThreadItsOwnMemory) {
    // Each lane fills 40 bytes with its number; all have written before one reads.
    const std::string body = take("40") + R"(
st.u64 [%rd5], %rd2; st.u32 [%rd5+36], %r1; st.global.u32 [%rd5+32], %r0;
bar.sync 0;
ld.u32 %r2, [%rd5+36]; ld.global.u32 %r3, [%rd5+32]; ld.u64 %rd6, [%rd5];
setp.eq.u64 %p1, %rd6, %rd2; selp.u32 %r4, 1000, 0, %p1;
and.b64 %rd7, %rd5, 15; cvt.u32.u64 %r5, %rd7;
mad.lo.u32 %r2, %r5, 5000, %r2; add.u32 %r2, %r2, %r4; mad.lo.u32 %r2, %r3, 10000, %r2;
)" + std::string(give_back);
    for (const unsigned threads : {1U, 4U}) {
        Given given;
        given.grid = {9, 1, 1};
        given.block = {64, 1, 1};
        given.threads = threads;
        Words expected;
        for (uint32_t i = 0; i < 9 * 64; ++i) expected.push_back(i * 10000 + 1000 + i % 64);
        EXPECT_EQ(results_of_text(kernel(stored(body, "%r2"), heap_functions), {}, given),
                  expected);
    }
}

TEST(DeviceLibrary, WhatIsFreedCanBeHadAgain) {
    // 64 threads in turn; two blocks of 3 MB and one of 1 MB make one of 8 MB again.
    const std::string body = "mov.u32 %r2, 0; mov.u64 %rd10, 0;\nAGAIN:\n" + take("3145728") +
                             "mov.u64 %rd6, %rd5;\n" + take("3145728") + "mov.u64 %rd7, %rd5;\n" +
                             take("1048576") + "mov.u64 %rd8, %rd5;\n" + take("1048577") +
                             "setp.ne.u64 %p1, %rd5, 0; @%p1 add.u32 %r2, %r2, 1000;\n"
                             "mov.u64 %rd5, %rd6;\n" +
                             std::string(give_back) + "mov.u64 %rd5, %rd8;\n" +
                             std::string(give_back) + "mov.u64 %rd5, %rd7;\n" +
                             std::string(give_back) + take("8388608") +
                             "setp.ne.u64 %p1, %rd5, 0; @%p1 add.u32 %r2, %r2, 1;\n"
                             "st.global.u8 [%rd5+8388607], %r2;\n" +
                             std::string(give_back) +
                             "add.u64 %rd10, %rd10, 1; setp.lt.u64 %p2, %rd10, 20;"
                             "@%p2 bra AGAIN;\n" +
                             take("0") + std::string(give_back) +
                             "setp.ne.u64 %p1, %rd5, 0; @%p1 add.u32 %r2, %r2, 500;\n";
    Given given;
    given.grid = {3, 1, 1};
    given.block = {1, 1, 1};
    EXPECT_EQ(results_of_text(kernel(stored(body, "%r2"), heap_functions), {}, given),
              Words(3, 20));
}

// A thread of one warp has the whole heap, one of another asks until it is given back.
TEST(DeviceLibrary, AWaitForABlockEndsWhenItIsFreed) {
    const std::string body = R"(
mov.u32 %r2, 1; and.b32 %r5, %r1, 31;
setp.ne.u32 %p3, %r5, 0; setp.ge.u32 %p1, %r1, 32;
@%p3 bra SYNC; @%p1 bra SYNC;
)" + take("8388608") + R"(
SYNC: bar.sync 0;
@%p3 bra DONE; @%p1 bra OTHER;
mov.u32 %r6, 0;
LATER: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 20000; @%p2 bra LATER;
)" + std::string(give_back) + "bra DONE;\nOTHER:\n" +
                             take("8388608") +
                             "setp.eq.u64 %p2, %rd5, 0; @%p2 bra OTHER;\nmov.u32 %r2, 7;\n" +
                             std::string(give_back) + "DONE:\n";
    Given given;
    given.block = {64, 1, 1};
    Words expected(64, 1);
    expected[32] = 7;
    EXPECT_EQ(results_of_text(kernel(stored(body, "%r2"), heap_functions), {}, given), expected);
}

TEST(DeviceLibrary, FreeOfWhatMallocDidNotGive) {
    constexpr const char* said =
        "free of an address that malloc did not return, or that is free again";
    EXPECT_NE(fault_of_body(take("8") + std::string(give_back) + std::string(give_back), {},
                            heap_functions)
                  .find(said),
              std::string::npos);
    EXPECT_NE(fault_of_body(take("64") + "add.u64 %rd5, %rd5, 16;\n" + std::string(give_back), {},
                            heap_functions)
                  .find(said),
              std::string::npos);
    // Its memory ends where the heap does.
    EXPECT_NE(fault_of_body(take("8388608") + "st.global.u32 [%rd5+8388608], %r1; ret;", {},
                            heap_functions)
                  .find("0 bytes past the end of buffer 'heap' (8388608 bytes)"),
              std::string::npos);
}

// Where nobody calls malloc or free there is no heap.
TEST(DeviceLibrary, WithoutMallocNothingLiesWhereTheHeapWould) {
    const std::string store =
        "mov.u64 %rd5, " + std::to_string(isa::heap_base) + ";\nst.global.u32 [%rd5], %r1; ret;";
    EXPECT_NE(fault_of_body(store), "");
    EXPECT_EQ(fault_of_body(store).find("heap"), std::string::npos);
    EXPECT_EQ(fault_of_body(take("8") + store, {}, heap_functions), "");
}

TEST(DeviceLibrary, AHeapThatIsTooLarge) {
    const isa::Program program = program_of(kernel("ret;"), isa::Arch::sm_80);
    warp::Launch l;
    l.heap_bytes = UINT64_MAX;
    l.parameters.resize(program.parameter_bytes);
    const warp::Result result = launch(program, l);
    ASSERT_TRUE(result.refusal);
    EXPECT_NE(result.refusal->what.find("a heap of 18446744073709551615 bytes"), std::string::npos);
}

}  // namespace

}  // namespace lockwarp::exec
