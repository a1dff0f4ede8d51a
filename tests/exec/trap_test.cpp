// SPDX-License-Identifier: Apache-2.0
// A program's own faults: what is reported, and where.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// The start of a message and its place, at a body's line counted from 0 and a step counted from
// the body's first instruction.
std::string at(const std::string& what, uint32_t line, uint32_t step, const std::string& lane = {},
               const std::string& address = {}) {
    return what + " at line " + std::to_string(first_body_line + line) + ", CTA (0,0,0), warp 0" +
           (lane.empty() ? "" : ", lane " + lane) +
           (address.empty() ? "" : ", address " + address) + ", step " + std::to_string(10 + step);
}

TEST(Trap, FourBytesPastABufferNamesItAndTheDistance) {
    // Buffer A has 256 bytes from 0x10000000, B 4096 from 0x20000000.
    EXPECT_EQ(fault_of_body("ld.global.u32 %r2, [%rd1+256];"),
              at("address out of bounds: 4 bytes, 0 bytes past the end of buffer 'A' (256 bytes)",
                 0, 0, "0", "0x10000100"));
    EXPECT_EQ(fault_of_body("ld.global.u32 %r2, [%rd1+260];"),
              at("address out of bounds: 4 bytes, 4 bytes past the end of buffer 'A' (256 bytes)",
                 0, 0, "0", "0x10000104"));
    EXPECT_EQ(
        fault_of_body("mov.u32 %r2, 1;\nst.global.u32 [%rd4+-8], %r2;"),
        at("address out of bounds: 4 bytes, 8 bytes before buffer 'B'", 1, 1, "0", "0x1ffffff8"));
    EXPECT_EQ(fault_of_body("ld.global.u64 %rd9, [%rd1+252];"),
              at("misaligned address: must be a multiple of 8", 0, 0, "0", "0x100000fc"));
    Given odd;
    odd.buffers = {Bytes(250), Bytes(4096)};
    EXPECT_EQ(fault_of_body("ld.global.u32 %r2, [%rd1+248];", odd),
              at("address out of bounds: 4 bytes, 4 bytes at offset 248 reach past the end of "
                 "buffer 'A' (250 bytes)",
                 0, 0, "0", "0x100000f8"));
    EXPECT_EQ(
        fault_of_body("mov.u64 %rd9, 64;\nld.global.u32 %r2, [%rd9];"),
        at("address out of bounds: 4 bytes, 268435392 bytes before buffer 'A'", 1, 1, "0", "0x40"));
}

TEST(Trap, TheFirstBadLaneIsNamed) {
    // Lane 7 alone: 4 * 7 + 228 + 4 > 256 from lane 7 on.
    EXPECT_EQ(fault_of_body(R"(mul.wide.u32 %rd9, %r1, 4;
add.u64 %rd9, %rd9, %rd1;
ld.global.u32 %r2, [%rd9+228];)"),
              at("address out of bounds: 4 bytes, 0 bytes past the end of buffer 'A' (256 bytes)",
                 2, 2, "7", "0x10000100"));
}

TEST(Trap, LanesWhoseGuardIsFalseAreNotAsked) {
    EXPECT_EQ(fault_of_body(R"(setp.lt.u32 %p1, %r1, 0;
@%p1 ld.global.u32 %r2, [%rd1+256];
ret;)"),
              "");
}

TEST(Trap, AddressesAreMultiplesOfTheAccess) {
    struct Access {
        const char* instruction;
        int size;
    };
    for (const Access& a :
         {Access{"ld.global.u16 %h1, ", 2}, Access{"ld.global.u32 %r2, ", 4},
          Access{"ld.global.u64 %rd9, ", 8}, Access{"ld.global.v2.u32 {%r2, %r3}, ", 8},
          Access{"ld.global.v4.u32 {%r2, %r3, %r4, %r5}, ", 16},
          Access{"ld.global.v2.u64 {%rd9, %rd10}, ", 16},
          Access{"ld.global.v4.u8 {%h1, %h2, %h3, %h4}, ", 4}}) {
        for (int offset = 1; offset < 16; ++offset) {
            const std::string fault = fault_of_body(std::string(a.instruction) + "[%rd1+" +
                                                    std::to_string(offset) + "];");
            const std::string expected =
                "misaligned address: must be a multiple of " + std::to_string(a.size) + " at";
            EXPECT_EQ(fault.starts_with(expected), offset % a.size != 0)
                << a.instruction << offset << ": " << fault;
        }
    }
}

TEST(Trap, SharedOutOfRange) {
    EXPECT_EQ(fault_of_body(".shared .align 4 .b8 table[64];\nmov.u32 %r2, 128;\n"
                            "ld.shared.u32 %r3, [%r2];"),
              at("address out of bounds: 4 bytes; .shared memory of this launch is [0x0, 0x80)", 2,
                 1, "0", "0x80"));
    Given hopper;
    hopper.arch = isa::Arch::sm_90;
    EXPECT_EQ(fault_of_body(".shared .align 4 .b8 table[64];\nmov.u32 %r2, 128;\n"
                            "ld.shared.u32 %r3, [%r2];",
                            hopper),
              at("address out of bounds: 4 bytes; .shared memory of this launch is [0x400, 0x480)",
                 2, 1, "0", "0x80"));
}

TEST(Trap, AGenericAddressWhereSharedIsExpected) {
    EXPECT_EQ(fault_of_body(R"(.shared .align 16 .b8 table[512];
mov.u64 %rd9, table;
cvta.shared.u64 %rd9, %rd9;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%rd9];)"),
              at("address in the wrong state space: a generic address (of .shared memory) where an "
                 "address in the .shared state space is expected",
                 3, 2, "0", "0x7e0000000000"));
    EXPECT_EQ(fault_of_body("ld.shared.u32 %r2, [%rd1];"),
              at("address in the wrong state space: a global address (of .global memory) where an "
                 "address in the .shared state space is expected",
                 0, 0, "0", "0x10000000"));
    EXPECT_EQ(fault_of_body(R"(.shared .align 16 .b8 table[512];
mov.u64 %rd9, table;
cvta.shared.u64 %rd9, %rd9;
ld.global.u32 %r2, [%rd9];)"),
              at("address in the wrong state space: an address of .shared memory where one in the "
                 ".global state space is expected",
                 3, 2, "0", "0x7e0000000000"));
}

TEST(Trap, ConstAndParamAreReadOnly) {
    // st has no .const form, and none for a kernel's parameters; a generic address leads there, and
    // .global takes it too.
    Given given;
    given.buffers = {Bytes(256), Bytes(4096)};
    const auto fault = [&](const std::string& space, const std::string& variable,
                           const std::string& access) {
        const std::string body =
            "mov.u64 %rd9, " + variable + ";\ncvta." + space + ".u64 %rd9, %rd9;\n" + access;
        const std::string text = kernel(body, ".const .u32 table[4];");
        return fault_of(run(program_of(text, isa::Arch::sm_80), given).result);
    };
    for (const char* access :
         {"st.u32 [%rd9+4], %r1;", "st.global.u32 [%rd9+4], %r1;",
          "atom.global.add.u32 %r2, [%rd9+4], %r1;", "red.global.add.u32 [%rd9+4], %r1;"}) {
        EXPECT_EQ(
            fault("const", "table", access),
            at("store to read-only memory: .const memory cannot be written", 2, 2, "0", "0x4"))
            << access;
        EXPECT_EQ(
            fault("param", "in", access),
            at("store to read-only memory: .param memory cannot be written", 2, 2, "0", "0x4"))
            << access;
    }
}

TEST(Trap, AConstantByGlobalEndsWhereConstantsDo) {
    Given given;
    given.buffers = {Bytes(256), Bytes(4096)};
    const auto fault = [&](const std::string& access) {
        const std::string body = "mov.u64 %rd9, table;\ncvta.const.u64 %rd9, %rd9;\n" + access;
        const std::string text = kernel(body, ".const .u32 table[4];");
        return fault_of(run(program_of(text, isa::Arch::sm_80), given).result);
    };
    EXPECT_EQ(fault("ld.global.u32 %r2, [%rd9+12];"), "");
    for (const char* load : {"ld.global.u32 %r2, [%rd9+16];", "ld.u32 %r2, [%rd9+16];"})
        EXPECT_EQ(fault(load),
                  at("address out of bounds: 4 bytes; .const memory of this launch is [0x0, 0x10)",
                     2, 2, "0", "0x10"));
    EXPECT_EQ(fault("ld.global.u64 %rd10, [%rd9+4];"),
              at("misaligned address: must be a multiple of 8", 2, 2, "0", "0x7e0300000004"));
}

constexpr const char* half_mma = R"(setp.lt.u32 %p1, %r1, 16;
mov.u32 %r2, 0;
@%p1 mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r2,%r2}, {%r2,%r2}, {%r2}, {%r2,%r2};)";

TEST(Trap, AnAlignedInstructionNeedsItsWholeWarp) {
    EXPECT_EQ(fault_of_body(half_mma),
              at("aligned instruction in a diverged warp: 16 of 32 lanes are here", 2, 2));
    Given half;
    half.block.x = 16;
    EXPECT_EQ(fault_of_body(half_mma, half),
              at("aligned instruction in a diverged warp: 16 of 32 lanes are here; the others do "
                 "not exist or have exited",
                 2, 2));
    EXPECT_EQ(fault_of_body(R"(setp.lt.u32 %p1, %r1, 8;
@%p1 exit;
movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;)"),
              at("aligned instruction in a diverged warp: 24 of 32 lanes are here; the others do "
                 "not exist or have exited",
                 2, 2));
}

TEST(Trap, AMembermaskNamesItsOwnLane) {
    EXPECT_EQ(
        fault_of_body("shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0x0000ffff;"),
        at("illegal operand: the membermask does not name its own lane", 0, 0, "16", "0xffff"));
    EXPECT_EQ(
        fault_of_body("bar.warp.sync 0xfffffffe;"),
        at("illegal operand: the membermask does not name its own lane", 0, 0, "0", "0xfffffffe"));
}

TEST(Trap, TheStepLimitEndsAnEndlessLoop) {
    Given given;
    given.max_steps = 1000;
    EXPECT_EQ(fault_of_body("AGAIN:\nadd.u32 %r2, %r2, 1;\nbra AGAIN;", given),
              "step limit reached: the warp has retired 1000 instructions at line 21, CTA (0,0,0), "
              "warp 0, step 1000");
    given.max_steps = 11;
    EXPECT_EQ(fault_of_body("ret;", given), "");
    given.max_steps = 10;
    EXPECT_NE(fault_of_body("ret;", given), "");
}

TEST(Trap, TrapAndBrkpt) {
    EXPECT_EQ(fault_of_body("setp.eq.u32 %p1, %r1, 9;\n@%p1 trap;"),
              at("trap instruction: ", 1, 1, "9"));
    EXPECT_EQ(fault_of_body("setp.eq.u32 %p1, %r1, 9;\n@%p1 brkpt;"),
              at("brkpt instruction: ", 1, 1, "9"));
    EXPECT_EQ(fault_of_body("setp.eq.u32 %p1, %r1, 99;\n@%p1 trap;\n@%p1 brkpt;\nret;"), "");
}

// PTX manual, ldmatrix: on sm_75 all threads must give valid addresses; later only those used.
TEST(Trap, TuringAsksEveryLaneOfLdmatrixForAGoodAddress) {
    const std::string body = R"(.shared .align 16 .b8 table[512];
mov.u32 %r2, table;
and.b32 %r3, %r1, 7;
shl.b32 %r3, %r3, 4;
add.u32 %r2, %r2, %r3;
setp.eq.u32 %p1, %r1, 21;
@%p1 mov.u32 %r2, 0x00abcde0;
ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%r2];
ret;)";
    Given given;
    given.buffers = {Bytes(256), Bytes(4096)};
    const std::string text = kernel(body, "", "sm_75");
    EXPECT_EQ(fault_of(run(program_of(text, isa::Arch::sm_75), given).result),
              at("address out of bounds: 16 bytes; .shared memory of this launch is [0x0, 0x200)",
                 7, 6, "21", "0xabcde0"));
    for (const isa::Arch arch : {isa::Arch::sm_80, isa::Arch::sm_86, isa::Arch::sm_90})
        EXPECT_EQ(fault_of(run(program_of(text, arch), given).result), "");
}

TEST(Trap, ThePlaceIsTheCtaAndTheWarp) {
    Given given;
    given.grid = {3, 2, 2};
    given.block.x = 96;
    given.buffers = {Bytes(256), Bytes(1 << 16)};
    EXPECT_EQ(fault_of_body(R"(mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ctaid.y;
mov.u32 %r4, %ctaid.z;
mad.lo.u32 %r2, %r3, 10, %r2;
mad.lo.u32 %r2, %r4, 100, %r2;
setp.eq.u32 %p1, %r2, 112;
setp.eq.and.u32 %p1, %r1, 70, %p1;
@%p1 trap;)",
                            given),
              "trap instruction:  at line 27, CTA (2,1,1), warp 2, lane 6, step 17");
}

// Whatever order CTAs run in, the fault is that of the lowest.
TEST(Trap, TheLowestCtaIsReported) {
    for (unsigned round = 0; round < 20; ++round) {
        Given given;
        given.grid.x = 64;
        given.threads = round % 2 == 0 ? 4 : 1;
        // CTA 5 takes its time.
        const std::string fault = fault_of_body(R"(mov.u32 %r2, %ctaid.x;
setp.eq.u32 %p1, %r2, 9;
@%p1 trap;
setp.ne.u32 %p2, %r2, 5;
@%p2 ret;
mov.u32 %r3, 0;
SPIN:
add.u32 %r3, %r3, 1;
setp.lt.u32 %p3, %r3, 3000;
@%p3 bra SPIN;
brkpt;)",
                                                given);
        EXPECT_EQ(fault, "brkpt instruction:  at line 30, CTA (5,0,0), warp 0, lane 0, step 9016");
    }
}

TEST(Trap, AWishToStopEndsTheRun) {
    const isa::Program program = program_of(kernel("AGAIN:\nbra AGAIN;"), isa::Arch::sm_80);
    const std::atomic<bool> stop{true};
    warp::Launch l;
    l.block = {32, 1, 1};
    l.parameters.resize(16);
    l.threads = 1;
    l.stop = &stop;
    const warp::Result result = launch(program, l);
    ASSERT_TRUE(result.trap.has_value());
    EXPECT_EQ(result.trap->kind, warp::TrapKind::stopped);
    EXPECT_TRUE(result.trap->detail.starts_with("warp 0 at line ")) << result.trap->detail;
    EXPECT_EQ(result.statistics.ctas, 0u);
    EXPECT_EQ(result.statistics.warps, 0u);
}

// Ends the run at an instruction, and counts those that it has heard of.
struct Stopper {
    void retired(const warp::Retired&) {
        if (++heard == at) stop = true;
    }
    uint64_t heard = 0;
    uint64_t at = 5000;
    std::atomic<bool> stop{false};
};

// A warp is named once, however many of its paths stand at a line in one state.
TEST(Trap, AWishToStopSaysWhereTheWarpsAre) {
    const auto where = [](const std::string& body, uint32_t threads) {
        const isa::Program program =
            program_of(kernel(body, ".shared .align 4 .b32 s;"), isa::Arch::sm_80);
        Alone<Stopper> stopper;
        warp::Launch l;
        l.block = {threads, 1, 1};
        l.parameters.resize(16);
        l.threads = 1;
        l.turn = 16;
        l.stop = &stopper.listener.stop;
        l.observers = {&stopper};
        const warp::Result result = launch(program, l);
        if (!result.trap || result.trap->kind != warp::TrapKind::stopped) return fault_of(result);
        return result.trap->detail;
    };
    const std::string parted = "and.b32 %r3, %r1, 3; setp.ge.u32 %p1, %r3, 2;\n@%p1 bra B;\n";
    EXPECT_EQ(
        where(parted + "A: st.shared.u32 [s], %r1; bra A; B: st.shared.u32 [s], %r1; bra B;", 96),
        "warps 0-2 at line 22");
    EXPECT_EQ(where("setp.eq.u32 %p2, %r1, 40; @%p2 bra B;\n" + parted +
                        "A: st.shared.u32 [s], %r1; bra A; B: st.shared.u32 [s], %r1; bra B;",
                    96),
              "warps 0-2 at line 23");
    EXPECT_EQ(where("setp.lt.u32 %p2, %r1, 64; @%p2 exit;\nL: st.shared.u32 [s], %r1; bra L;", 96),
              "warp 2 at line 21; warps 0-1 have ended");
    EXPECT_EQ(where("setp.eq.u32 %p2, %r1, 0; @%p2 exit;\nsetp.ge.u32 %p2, %r1, 32;"
                    "@%p2 exit;\nL: st.shared.u32 [s], %r1; bra L;",
                    96),
              "warp 0 at line 22; warps 1-2 have ended");
    EXPECT_EQ(where("shr.u32 %r3, %r1, 5; and.b32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, 1;\n"
                    "@%p1 bra B;\nL: st.shared.u32 [s], %r1; bra L;\nB: bar.sync 0;",
                    160),
              "warps 0, 2, 4 at line 22; warps 1, 3 at line 23 waiting at a barrier");
    // Eight places are listed.
    std::string many;
    for (int warp = 0; warp < 11; ++warp)
        many += "setp.lt.u32 %p1, %r1, " + std::to_string(32 * warp + 32) + "; @%p1 bra L" +
                std::to_string(warp) + ";\n";
    for (int warp = 0; warp < 11; ++warp)
        many += "L" + std::to_string(warp) + ": st.shared.u32 [s], %r1; bra L" +
                std::to_string(warp) + ";\n";
    const std::string all = where(many, 352);
    EXPECT_TRUE(all.starts_with("warp 0 at line 31; warp 1 at line 32; ")) << all;
    EXPECT_TRUE(all.ends_with("; warp 7 at line 38; and 3 more places")) << all;
}

// The CTAs that have not begun do not.
TEST(Trap, AWishToStopEndsAGridOfAnySize) {
    const isa::Program program = program_of(kernel(""), isa::Arch::sm_80);
    const std::atomic<bool> stop{true};
    std::atomic<uint64_t> ended{0};
    warp::Launch l;
    l.grid = {0x7fffffff, 1, 1};
    l.block = {32, 1, 1};
    l.parameters.resize(16);
    l.stop = &stop;
    l.progress = &ended;
    const warp::Result result = launch(program, l);
    ASSERT_TRUE(result.trap.has_value());
    EXPECT_EQ(result.trap->kind, warp::TrapKind::stopped);
    EXPECT_LT(ended, 10000u);
}

}  // namespace

}  // namespace lockwarp::exec
