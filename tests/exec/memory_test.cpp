// SPDX-License-Identifier: Apache-2.0
// ld, st, cp.async, mov and addresses. PTX manual, "Data Movement and Conversion Instructions".
#include <cstring>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

FourWords halves(uint64_t value) {
    return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32), 0xeeeeeeee,
            0xeeeeeeee};
}

// A register wider than the type is sign- or zero-extended (PTX manual, "Operand Size Exceeding
// Instruction-Type Size").
TEST(Memory, LoadsExtendIntoTheRegister) {
    const Words in{0x84838281, 0x88878685, 0x7c7b7a79, 0xfffefdfc};
    const Bytes bytes = bytes_of(in);
    for (const unsigned width : {8u, 16u, 32u, 64u})
        for (const char kind : {'b', 'u', 's'})
            for (const unsigned reg : {16u, 32u, 64u}) {
                if (reg < width) continue;
                for (unsigned at = 0; at < 16; at += width / 8) {
                    const std::string name = reg == 64 ? "%rd9" : reg == 32 ? "%r9" : "%h9";
                    const std::string load = "ld.global." + (kind + std::to_string(width)) + " " +
                                             name + ", [%rd1+" + std::to_string(at) + "];\n";
                    uint64_t value = 0;
                    std::memcpy(&value, bytes.data() + at, width / 8);
                    if (kind == 's' && width < 64)
                        value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - width)) >>
                                                      (64 - width));
                    if (reg < 64) value &= (uint64_t{1} << reg) - 1;
                    const std::string widen =
                        reg == 64 ? ""
                                  : "cvt.u64.u" + std::to_string(reg) + " %rd9, " + name + ";\n";
                    EXPECT_EQ(
                        wide_results_of(load + widen + "st.global.u64 [%rd3], %rd9;\n", in)[31],
                        halves(value))
                        << load;
                }
            }
}

TEST(Memory, StoresWriteTheirWidthOnly) {
    for (const unsigned width : {8u, 16u, 32u, 64u})
        for (const unsigned reg : {16u, 32u, 64u}) {
            if (reg < width) continue;
            const std::string name = reg == 64 ? "%rd9" : reg == 32 ? "%r9" : "%h9";
            const std::string store = "st.global.b" + std::to_string(width) + " [%rd3], " + name;
            const std::string narrow =
                reg == 64 ? "" : "cvt.u" + std::to_string(reg) + ".u64 " + name + ", %rd9;\n";
            const uint64_t value = 0x0123456789abcdef;
            const uint64_t kept = width == 64 ? 0 : ~uint64_t{0} << width;
            EXPECT_EQ(
                wide_results_of("mov.u64 %rd9, 0x0123456789abcdef;\n" + narrow + store + ";\n")[7],
                halves((value & ~kept) | (0xeeeeeeeeeeeeeeee & kept)))
                << store;
        }
}

TEST(Memory, VectorsLieSideBySide) {
    const Words in{1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(wide_results_of(R"(
ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+16];
st.global.v4.u32 [%rd3], {%r5, %r4, %r3, %r2};
)",
                              in)[0],
              (FourWords{8, 7, 6, 5}));
    EXPECT_EQ(wide_results_of(R"(
ld.global.v2.u64 {%rd9, %rd10}, [%rd1];
st.global.v2.u64 [%rd3], {%rd10, %rd9};
)",
                              in)[0],
              (FourWords{3, 4, 1, 2}));
    EXPECT_EQ(wide_results_of(R"(
ld.global.v2.u16 {%h1, %h2}, [%rd1+4];
ld.global.v4.u8 {%h3, %h4, %h5, %h6}, [%rd1+8];
st.global.v2.b16 [%rd3], {%h2, %h1};
st.global.v4.b8 [%rd3+4], {%h6, %h5, %h4, %h3};
)",
                              in)[0],
              (FourWords{0x20000, 0x03000000, 0xeeeeeeee, 0xeeeeeeee}));
    EXPECT_EQ(wide_results_of(R"(
.reg .v4 .b32 %v;
ld.global.v4.b32 %v, [%rd1];
add.u32 %r2, %v.x, %v.w;
mov.u32 %v.y, %r2;
st.global.v4.b32 [%rd3], %v;
)",
                              in)[0],
              (FourWords{1, 5, 3, 4}));
}

// 256 bits at once: from sm_100 and PTX 8.8 on, in .global alone and at a multiple of 32 bytes.
TEST(Memory, EightWordsAtOnce) {
    const auto text = [](const std::string& body) {
        std::string module = kernel("setp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n" + body, "", "sm_100");
        return module.replace(module.find("8.0"), 3, "8.8");
    };
    Given blackwell;
    blackwell.arch = isa::Arch::sm_100;
    const auto first = [&](const std::string& body) {
        Words words = results_of_text(text(body), {1, 2, 3, 4, 5, 6, 7, 8}, blackwell);
        words.resize(9);
        return words;
    };
    EXPECT_EQ(first(R"(
ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, _, %r7, %r8}, [%rd1];
st.v8.u32 [%rd4], {%r8, %r7, 0, %r5, %r4, %r3, %r2, %r1};
)"),
              (Words{8, 7, 0, 5, 4, 3, 2, 1, 0xeeeeeeee}));
    EXPECT_EQ(first(R"(
ld.global.nc.L1::evict_last.L2::evict_first.v4.u64 {%rd5, %rd6, %rd7, %rd8}, [%rd1];
st.relaxed.gpu.global.v4.f64 [%rd4], {%rd8, %rd7, %rd6, %rd5};
ld.volatile.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd4];
st.global.L2::evict_last.v8.f32 [%rd4], {%f2, %f1, %f4, %f3, %f6, %f5, %f8, %f7};
)"),
              (Words{8, 7, 6, 5, 4, 3, 2, 1, 0xeeeeeeee}));
    blackwell.buffers = {Bytes(256), Bytes(4096)};
    const std::string odd = text("ld.global.v4.b64 {%rd5, %rd6, %rd7, %rd8}, [%rd1+16];");
    const std::string fault =
        fault_of(run(program_of(odd, blackwell.arch), std::move(blackwell)).result);
    EXPECT_TRUE(fault.starts_with("misaligned address: must be a multiple of 32 at")) << fault;
}

TEST(Memory, ASinkTakesAnElement) {
    EXPECT_EQ(wide_results_of(R"(
ld.global.v4.u32 {_, %r3, _, %r5}, [%rd1];
mov.b64 {%r6, _}, 0x1122334455667788;
st.global.v2.u32 [%rd3], {%r3, %r5};
st.global.u32 [%rd3+8], %r6;
)",
                              {1, 2, 3, 4})[0],
              (FourWords{2, 4, 0x55667788, 0xeeeeeeee}));
}

TEST(Memory, MovPacksAndUnpacksLowestFirst) {
    EXPECT_EQ(wide_results_of(R"(
mov.b64 {%r2, %r3}, 0x1122334455667788;
mov.b32 {%h1, %h2}, 0xaabbccdd;
mov.b32 %r4, {%h2, %h1};
mov.b64 %rd9, {%r3, %r2};
mov.b64 {%h3, %h4, %h5, %h6}, 0x1122334455667788;
mov.b64 %rd10, {%h6, %h5, %h4, %h3};
cvt.u32.u64 %r5, %rd10;
cvt.u32.u64 %r6, %rd9;
st.global.v4.u32 [%rd3], {%r2, %r4, %r5, %r6};
)")[3],
              (FourWords{0x55667788, 0xccddaabb, 0x33441122, 0x11223344}));
}

TEST(Memory, StoresToOneAddressLeaveOneWholeValue) {
    const Words out = results_of("st.global.u32 [%rd4], %r1;\n");
    EXPECT_LT(out[0], 32u);
}

// Static variables in the order of declaration, each aligned; dynamic memory behind those that are
// named.
TEST(Memory, SharedVariablesAreApartAndAligned) {
    Given given;
    given.dynamic_shared = 64;
    const std::string body = R"(
.shared .align 1 .b8 a[3];
.shared .u32 b;
.shared .u16 c;
.shared .align 16 .b8 d[5];
mov.u32 %r2, a;
mov.u32 %r3, b;
mov.u32 %r4, c;
mov.u32 %r5, d;
st.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};
)";
    EXPECT_EQ(wide_results_of(body)[0], (FourWords{0, 4, 8, 16}));
    EXPECT_EQ(results_of_text(kernel(R"(
.shared .align 16 .b8 d[5];
mov.u32 %r2, d;
mov.u32 %r2, dynamic;
st.global.u32 [%rd2], %r2;
)",
                                     ".extern .shared .align 64 .b8 dynamic[];"),
                              {}, given),
              Words(32, 64));
    // Both names of dynamic memory are the same memory; it begins as zeros here.
    EXPECT_EQ(results_of_text(kernel(R"(
.shared .u32 before;
mov.u32 %r9, other;
shl.b32 %r2, %r1, 1;
add.u32 %r2, %r2, %r9;
cvt.u16.u32 %h1, %r1;
st.shared.u16 [%r2], %h1;
st.shared.u32 [before], 77;
bar.warp.sync 0xffffffff;
ld.shared.u32 %r3, [dynamic+4];
st.global.u32 [%rd2], %r3;
)",
                                     ".extern .shared .align 16 .b8 dynamic[]; "
                                     ".extern .shared .align 16 .b8 other[];"),
                              {}, given),
              Words(32, 0x30002));
}

TEST(Memory, SharedMemoryIsEachCtasOwn) {
    Given given;
    given.grid.x = 5;
    const Words out = results_of(R"(
.shared .u32 count;
ld.shared.u32 %r2, [count];
bar.sync 0;
mov.u32 %r3, %ctaid.x;
add.u32 %r3, %r3, 1;
st.shared.u32 [count], %r3;
bar.sync 0;
ld.shared.u32 %r4, [count];
mad.lo.u32 %r4, %r2, 100, %r4;
st.global.u32 [%rd2], %r4;
)",
                                 {}, given);
    for (uint32_t i = 0; i < 160; ++i) EXPECT_EQ(out[i], i / 32 + 1);
}

TEST(Memory, LocalMemoryIsEachThreadsOwn) {
    Given given;
    given.block.x = 64;
    given.grid.x = 2;
    const Words out = results_of(R"(
.local .align 8 .b8 stack[64];
mov.u32 %r2, stack;
add.u32 %r2, %r2, 8;
st.local.u32 [%r2], %r0;
st.local.u32 [stack+12], 5;
bar.sync 0;
ld.local.v2.u32 {%r3, %r4}, [stack+8];
mad.lo.u32 %r3, %r4, 1000, %r3;
st.global.u32 [%rd2], %r3;
)",
                                 {}, given);
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], 5000 + i);
}

TEST(Memory, ConstAndGlobalVariablesHaveTheirInitialValues) {
    const std::string outside =
        ".const .align 4 .u16 c[3] = {10, 20, 30}; .global .u32 g[4] = {1, 2}; "
        ".global .f32 f = 1.5; .global .u64 p = generic(g)+4; .const .s8 n = -2; "
        ".global .align 8 .u64 q = g;";
    EXPECT_EQ(results_of_text(kernel(R"(
ld.const.u16 %r2, [c+4];
ld.const.s8 %r3, [n];
ld.global.u32 %r4, [g+4];
ld.global.u32 %r5, [g+12];
ld.global.u64 %rd9, [p];
ld.u32 %r6, [%rd9];
ld.global.u64 %rd10, [q];
ld.global.u32 %r7, [%rd10];
ld.global.b32 %r8, [f];
shl.b32 %r3, %r3, 8;
add.u32 %r2, %r2, %r3;
add.u32 %r2, %r2, %r4;
add.u32 %r2, %r2, %r5;
add.u32 %r2, %r2, %r6;
add.u32 %r2, %r2, %r7;
add.u32 %r2, %r2, %r8;
st.global.u32 [%rd2], %r2;
)",
                                     outside)),
              Words(32, 0x3fc00000 + 30 - 512 + 2 + 0 + 2 + 1));
}

TEST(Memory, ModuleVariablesAreFreshInEveryLaunch) {
    const isa::Program program =
        program_of(kernel("ld.global.u32 %r2, [g];\nadd.u32 %r3, %r2, 1;\nbar.sync 0;\n"
                          "st.global.u32 [g], %r3;\nst.global.u32 [%rd2], %r2;",
                          ".global .u32 g = 41;"),
                   isa::Arch::sm_80);
    for (int i = 0; i < 2; ++i) {
        Given given;
        given.buffers = {Bytes(4), Bytes(128)};
        EXPECT_EQ(words_of(run_well(program, given).buffers[1]), Words(32, 41));
    }
}

TEST(Memory, ParametersLieAtTheirAlignment) {
    const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u8 a, .param .align 8 .b8 s[12], .param .u16 h, .param .u64 out,
                  .param .f32 f[2])
{
.reg .b32 %r<9>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [out];
ld.param.u8 %r1, [a];
ld.param.u32 %r2, [s+8];
ld.param.u16 %r3, [h];
ld.param.b32 %r4, [f+4];
mov.b64 %rd2, s;
ld.param.u8 %r5, [%rd2+3];
shl.b32 %r5, %r5, 16;
or.b32 %r3, %r3, %r5;
st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
}
)";
    const isa::Program program = program_of(text, isa::Arch::sm_80);
    ASSERT_EQ(program.parameter_bytes, 40u);
    Bytes out(16);
    warp::Launch l;
    l.parameters.resize(40);
    for (size_t i = 0; i < 40; ++i) l.parameters[i] = static_cast<uint8_t>(i);
    const uint64_t address = 0x5000;
    std::memcpy(l.parameters.data() + 24, &address, 8);
    l.buffers = {{"out", address, out}};
    EXPECT_EQ(fault_of(launch(program, l)), "");
    EXPECT_EQ(words_of(out), (Words{0, 0x13121110, 0x000b1514, 0x27262524}));
}

// PTX manual, cp.async: src-size bytes are read, the rest of cp-size is zeros; .cg is 16 bytes.
TEST(Memory, CpAsyncFillsUpWithZeros) {
    Words in;
    for (uint32_t i = 0; i < 8; ++i) in.push_back(0x04030201 + 0x10101010 * (i % 8));
    const Bytes source = bytes_of(in);
    for (const unsigned size : {4u, 8u, 16u})
        for (unsigned given = 0; given <= size + 1; ++given) {
            // One more than cp-size stands for the form without src-size.
            const std::string copy = std::string("cp.async.") + (size == 16 ? "cg" : "ca") +
                                     ".shared.global [%r2], [%rd1+16], " + std::to_string(size) +
                                     (given > size ? "" : ", " + std::to_string(given)) + ";\n";
            const std::string body = R"(
.shared .align 16 .b8 s[512];
mov.u32 %r9, s;
shl.b32 %r2, %r1, 4;
add.u32 %r2, %r2, %r9;
mov.u32 %r3, 0x77777777;
st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};
)" + copy + R"(
cp.async.commit_group;
cp.async.wait_group 0;
ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];
st.global.v4.u32 [%rd3], {%r4, %r5, %r6, %r7};
)";
            Bytes expected(16, 0x77);
            for (unsigned i = 0; i < size; ++i) expected[i] = i < given ? source[16 + i] : 0;
            const auto out = wide_results_of(body, in);
            for (const uint32_t lane : {0u, 13u, 31u})
                EXPECT_EQ(bytes_of(Words(out[lane].begin(), out[lane].end())), expected) << copy;
        }
}

TEST(Memory, CpAsyncThatReadsNothingNeedsNoSource) {
    EXPECT_EQ(results_of(R"(
.shared .align 16 .b8 s[16];
mov.u64 %rd9, 0;
st.shared.u32 [s], 5;
cp.async.cg.shared.global [s], [%rd9], 16, 0;
cp.async.wait_all;
ld.shared.u32 %r2, [s];
st.global.u32 [%rd2], %r2;
)"),
              Words(32, 0));
    const std::string fault = fault_of_body(R"(.shared .align 16 .b8 s[16];
mov.u64 %rd9, 0;
cp.async.cg.shared.global [s], [%rd9], 16, 4;)");
    EXPECT_TRUE(fault.starts_with("address out of bounds")) << fault;
}

TEST(Memory, SpecialRegistersNameTheThread) {
    Given given;
    given.grid = {3, 2, 4};
    given.block = {5, 4, 3};
    given.dynamic_shared = 100;
    // A linear thread number from the special registers decides where the thread writes.
    const isa::Program program = program_of(kernel(R"(
mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %tid.z;
mov.u32 %r5, %ntid.x; mov.u32 %r6, %ntid.y; mov.u32 %r7, %ntid.z;
mad.lo.u32 %r8, %r4, %r6, %r3; mad.lo.u32 %r8, %r8, %r5, %r2;
mov.u32 %r12, %ctaid.x; mov.u32 %r13, %ctaid.y; mov.u32 %r14, %ctaid.z;
mov.u32 %r15, %nctaid.x; mov.u32 %r16, %nctaid.y; mov.u32 %r17, %nctaid.z;
mad.lo.u32 %r18, %r14, %r16, %r13; mad.lo.u32 %r18, %r18, %r15, %r12;
mul.lo.u32 %r19, %r5, %r6; mul.lo.u32 %r19, %r19, %r7;
mad.lo.u32 %r20, %r18, %r19, %r8;
mul.wide.u32 %rd9, %r20, 16; add.u64 %rd9, %rd9, %rd4;
mov.u32 %r21, %laneid; mov.u32 %r22, %warpid; mov.u32 %r23, %nwarpid;
mad.lo.u32 %r24, %r22, 100, %r21; mad.lo.u32 %r24, %r23, 10000, %r24;
mul.lo.u32 %r25, %r15, %r16; mul.lo.u32 %r25, %r25, %r17;
mov.u32 %r26, %dynamic_smem_size;
st.global.v4.u32 [%rd9], {%r20, %r24, %r25, %r26};
)"),
                                            isa::Arch::sm_80);
    given.buffers = {Bytes(4), Bytes(24 * 60 * 16)};
    const Words out = words_of(run_well(program, given).buffers[1]);
    for (uint32_t i = 0; i < 24 * 60; ++i) {
        const uint32_t thread = i % 60;
        EXPECT_EQ((Words{out.begin() + 4 * i, out.begin() + 4 * i + 4}),
                  (Words{i, 20000 + thread / 32 * 100 + thread % 32, 24, 100}));
    }
}

// As an H100 has them (driver 580.159.04, 2026-11-27), which keeps 1,024 bytes of each CTA.
TEST(Memory, SizesOfSharedMemory) {
    struct Row {
        uint32_t own, dynamic;
        Words sizes;  // in all, with what the driver keeps, dynamic
    };
    for (const Row& row : {Row{0, 0, {0, 1024, 0}},
                           {0, 1, {128, 1025, 1}},
                           {0, 128, {128, 1152, 128}},
                           {0, 129, {256, 1153, 129}},
                           {0, 5000, {5120, 6024, 5000}},
                           {8, 0, {128, 1040, 0}},
                           {8, 200, {256, 1240, 200}},
                           {129, 5, {256, 1173, 5}},
                           {129, 200, {384, 1368, 200}},
                           {3000, 0, {3072, 4032, 0}},
                           {3000, 200, {3328, 4232, 200}}}) {
        const std::string own =
            row.own == 0 ? "" : ".shared .b8 own[" + std::to_string(row.own) + "];";
        const std::string text =
            replaced(kernel("mov.u32 %r2, %total_smem_size; mov.u32 %r3, %aggr_smem_size;"
                            "mov.u32 %r4, %dynamic_smem_size; st.global.v2.u32 [%rd4], {%r2, %r3};"
                            "st.global.u32 [%rd4+8], %r4;" +
                                std::string(own.empty() ? "" : "st.shared.u8 [own], %h1;"),
                            own, "sm_90"),
                     ".version 8.0", ".version 8.1");
        Given given;
        given.arch = isa::Arch::sm_90;
        given.block.x = 1;
        given.dynamic_shared = row.dynamic;
        given.buffers = {Bytes(4), Bytes(12)};
        EXPECT_EQ(words_of(run_well(program_of(text, given.arch), given).buffers[1]), row.sizes)
            << row.own << " and " << row.dynamic;
    }
}

// Each thread calls the function that an element of a table has, as Dr.Jit does.
TEST(Memory, ElementsOfArrays) {
    const std::string functions =
        ".func (.param .b32 to) twice(.param .b32 from) { .reg .b32 %x; ld.param.b32 %x, [from];"
        "add.u32 %x, %x, %x; st.param.b32 [to], %x; ret; }\n"
        ".func (.param .b32 to) next(.param .b32 from) { .reg .b32 %x; ld.param.b32 %x, [from];"
        "add.u32 %x, %x, 1; st.param.b32 [to], %x; ret; }\n"
        ".global .align 8 .u64 table[2] = {twice, next};\n"
        ".const .u16 odd[4] = {7, 70, 700, 7000};\n";
    const std::string body = R"(.shared .u32 tile[64];
and.b32 %r2, %r1, 1;
ld.global.u64 %rd9, table[%r2];
{
.param .b32 a; .param .b32 b;
st.param.b32 [a], %r1;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
call (b), %rd9, (a), proto;
ld.param.b32 %r3, [b];
}
st.shared.u32 tile[%r1+32], %r3;
bar.warp.sync 0xffffffff;
xor.b32 %r4, %r1, 1;
mov.u32 %r5, tile[%r4];
ld.shared.u32 %r6, [%r5+128];
and.b32 %r7, %r1, 3;
cvt.u16.u32 %h1, %r7;
ld.const.u16 %h2, odd[%h1];
ld.const.u16 %h3, odd[1];
cvt.u32.u16 %r8, %h2;
cvt.u32.u16 %r9, %h3;
mad.lo.u32 %r6, %r6, 10000, %r8;
add.u32 %r6, %r6, %r9;
st.global.u32 [%rd2], %r6;
)";
    Given given;
    given.buffers = {Bytes(4), Bytes(128)};
    const isa::Program program = program_of(kernel(body, functions), given.arch);
    const Words out = words_of(run_well(program, given).buffers[1]);
    constexpr uint32_t odd[] = {7, 70, 700, 7000};
    for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t other = i ^ 1, made = other % 2 == 0 ? other * 2 : other + 1;
        EXPECT_EQ(out[i], made * 10000 + odd[i % 4] + 70) << i;
    }
}

TEST(Memory, LanemasksAreOfTheLane) {
    const char* names[] = {"eq", "le", "lt", "ge", "gt"};
    for (const char* name : names) {
        const Words out = results_of(std::string("mov.u32 %r2, %lanemask_") + name +
                                     ";\nst.global.u32 [%rd2], %r2;\n");
        for (uint32_t lane = 0; lane < 32; ++lane) {
            uint32_t expected = 0;
            for (uint32_t other = 0; other < 32; ++other) {
                const std::string is = name;
                const bool in = is == "eq"   ? other == lane
                                : is == "le" ? other <= lane
                                : is == "lt" ? other < lane
                                : is == "ge" ? other >= lane
                                             : other > lane;
                expected |= uint32_t{in} << other;
            }
            EXPECT_EQ(out[lane], expected) << name;
        }
    }
}

// What shared memory, a frame's variables and alloca's bytes hold before they are written: nothing
// of those that were there before, in this CTA or another.
TEST(Memory, BeginsAsTheLaunchSays) {
    constexpr std::string_view outside =
        ".func (.param .b32 r) f(.param .b32 n) { .reg .b32 %r<8>; .reg .b64 %rd<8>;"
        " .local .b32 mine[9]; ld.param.b32 %r1, [n]; ld.local.b32 %r2, [mine+32];"
        " st.local.b32 [mine+32], %r1; st.local.b32 [mine], %r1; mov.u64 %rd3, 200;"
        " alloca.u64 %rd4, %rd3; ld.local.b32 %r3, [%rd4+196]; st.local.b32 [%rd4+196], %r1;"
        " st.local.b32 [%rd4], %r1; xor.b32 %r3, %r3, %r2; add.u32 %r2, %r2, %r3;"
        " st.param.b32 [r], %r2; ret; } .shared .b32 of_cta[33];";
    constexpr const char* call =
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a], 77; call (b), f, (a);"
        " ld.param.b32 %r3, [b]; } add.u32 %r9, %r9, %r3;\n";
    const std::string body = std::string(
                                 ".local .b32 own[4]; ld.local.b32 %r9, [own+12];"
                                 " st.local.b32 [own+12], 5; ld.shared.b32 %r10, "
                                 "[of_cta+128]; add.u32 %r9, %r9, %r10; bar.sync 0;"
                                 " st.shared.b32 [of_cta+128], 5;\n") +
                             call + call + call;
    const isa::Program program =
        program_of(kernel(body + "st.global.u32 [%rd2], %r9;\nret;\n", outside), isa::Arch::sm_80);
    for (const uint8_t byte : {uint8_t{0}, uint8_t{0xa5}}) {
        Bytes out(4 * 32 * 4);
        warp::Launch l;
        l.grid = {4, 1, 1};
        l.block = {32, 1, 1};
        l.threads = 1;
        l.unwritten_byte = byte;
        append(l.parameters, buffer_address(0));
        append(l.parameters, buffer_address(0));
        l.buffers.push_back({"A", buffer_address(0), out});
        ASSERT_EQ(fault_of(launch(program, l)), "");
        EXPECT_EQ(words_of(out), Words(128, 5 * (byte * 0x01010101u))) << unsigned{byte};
    }
}

// Of two CTAs one counts up in all elements of a vector; the other, which may be on another core,
// never sees them differ: CUB's scans keep a state and its value in one vector.
TEST(Memory, CtasSeeNoPartOfAVector) {
    struct Vector {
        std::string type, reg, counted;
        std::vector<std::string> elements;
    };
    const std::vector<Vector> vectors{{"v2.u32", "%r10", "u32", {"%r11", "%r12"}},
                                      {"v4.u32", "%r10", "u32", {"%r11", "%r12", "%r13", "%r14"}},
                                      {"v2.u64", "%rd10", "u64", {"%rd11", "%rd12"}},
                                      {"v4.u16", "%h10", "u16", {"%h11", "%h12", "%h13", "%h14"}}};
    for (const Vector& v : vectors) {
        std::string stored, loaded, compared;
        for (const std::string& e : v.elements) {
            stored += (stored.empty() ? "" : ", ") + v.reg;
            loaded += (loaded.empty() ? "" : ", ") + e;
            compared += "setp.ne." + v.counted + " %p2, " + e + ", " + v.elements[0] +
                        ";\n@%p2 add.u32 %r20, %r20, 1;\n";
        }
        Given given;
        given.grid.x = 64;
        given.block.x = 1;
        given.threads = 2;
        given.buffers = {Bytes(32 * 64), Bytes(4)};
        std::string text = R"(
mov.u32 %r20, 0;
shr.u32 %r21, %t0, 1;
mul.wide.u32 %rd20, %r21, 64;
add.u64 %rd1, %rd1, %rd20;
and.b32 %r22, %t0, 1;
setp.eq.u32 %p1, %r22, 0;
mov.COUNTED REG, 0;
@%p1 bra COUNT;
LOOK:
ld.relaxed.gpu.global.TYPE {LOADED}, [%rd1];
COMPAREDsetp.ne.COUNTED %p3, FIRST, 60000;
@%p3 bra LOOK;
red.global.add.u32 [%rd4], %r20;
ret;
COUNT:
add.COUNTED REG, REG, 1;
st.relaxed.gpu.global.TYPE [%rd1], {STORED};
setp.ne.COUNTED %p3, REG, 60000;
@%p3 bra COUNT;
)";
        for (const auto& [what, by] : {std::pair{"COUNTED", v.counted},
                                       {"REG", v.reg},
                                       {"TYPE", v.type},
                                       {"LOADED", loaded},
                                       {"COMPARED", compared},
                                       {"STORED", stored},
                                       {"FIRST", v.elements[0]}})
            text = replaced(text, what, by);
        const Outcome o = run_well(program_of(kernel(text), given.arch), given);
        EXPECT_EQ(words_of(o.buffers[1])[0], 0u) << v.type;
        for (size_t pair = 0; pair < 32; ++pair)
            EXPECT_EQ(words_of(o.buffers[0])[pair * 16] & 0xffff, 60000u) << v.type;
    }
}

}  // namespace

}  // namespace lockwarp::exec
