// SPDX-License-Identifier: Apache-2.0
// Lockstep without a GPU: the emulator runs the traced kernel in the GPU's place.
#include <gtest/gtest.h>
#include <functional>
#include <sstream>

#include "emu/lockwarp.hpp"
#include "gpu/trace.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace {

using namespace lockwarp;
using validate::DifferenceKind;

launch::Case case_of(const std::string& launch_file) {
    auto loaded = launch::load({LOCKWARP_SOURCE_DIR "/gpu/kernels/" + launch_file}, "sm_90");
    launch::Case c;
    if (!loaded) {
        ADD_FAILURE() << loaded.error().sentence;
        return c;
    }
    EXPECT_EQ(take(launch::make_case(loaded->in.launch, loaded->in.module, loaded->program), c),
              "");
    return c;
}

// A kernel of one buffer from its text.
launch::Case case_of_text(const std::string& body, uint32_t threads, size_t bytes) {
    ptx::Parsed parsed = ptx::parse(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" +
        body + "\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty());
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.block = {threads, 1, 1};
    c.parameters.resize(8);
    c.patches = {{0, 0, 0}};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(bytes)};
    return c;
}

// An argument may be an address within its buffer.
TEST(Lockstep, OfAnAddressWithinABuffer) {
    launch::Case c = case_of_text(R"(.reg .u64 %rd<2>; ld.param.u64 %rd1, [out];
        st.global.u32 [%rd1], 7; ret;)",
                                  1, 256);
    c.patches = {{0, 0, 72}};
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Answer answer;
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {}, &answer);
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "k.ptx");
    std::vector<uint8_t> expected(256);
    expected[72] = 7;
    ASSERT_EQ(answer.outputs.size(), 1u);
    EXPECT_EQ(answer.outputs[0], expected);
}

class EveryKernel : public testing::TestWithParam<std::string> {};

TEST_P(EveryKernel, IsIdenticalBesideItself) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Report r = run_lockstep(case_of(GetParam()), isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), GetParam());
    EXPECT_GT(r.counts.values, 32u);
    EXPECT_GT(r.counts.memory_bytes, 0u);
}

TEST_P(EveryKernel, DigestsCountWhatWordsDo) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const launch::Case c = case_of(GetParam());
    const validate::Report words = run_lockstep(c, isa::Arch::sm_90, engine, {});
    validate::Options options;
    options.registers = validate::Registers::digests;
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
    EXPECT_EQ(r.problem, "");
    EXPECT_TRUE(r.by_digest);
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), GetParam());
    // In equal digests what words would mask is equal too.
    EXPECT_EQ(r.counts.values, words.counts.values + words.counts.masked);
    EXPECT_EQ(r.counts.memory_bytes, words.counts.memory_bytes);
    for (size_t i = 0; i < r.by_operation.size(); ++i)
        EXPECT_EQ(r.by_operation[i].values,
                  words.by_operation[i].values + words.by_operation[i].masked);
}

// Each thread takes a block, writes and reads it, and gives it back.
TEST(Lockstep, OfAKernelWithAHeapEveryRegister) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    launch::Case c = case_of_text(R"(
        .reg .u64 %rd<8>;
        .reg .b32 %r<4>;
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd2, %r1, 4;
        add.u64 %rd3, %rd1, %rd2;
        mov.u64 %rd4, 100;
        { .param .b64 size; .param .b64 block;
        st.param.b64 [size], %rd4;
        call.uni (block), malloc, (size);
        ld.param.b64 %rd5, [block]; }
        st.u32 [%rd5+96], %r1;
        ld.u32 %r2, [%rd5+96];
        st.global.u32 [%rd3], %r2;
        { .param .b64 block;
        st.param.b64 [block], %rd5;
        call.uni free, (block); }
        ret;)",
                                  64, 256);
    c.module = ptx::parse(std::string(".version 7.0\n.target sm_80\n.address_size 64\n") +
                          ".extern .func (.param .b64 r) malloc (.param .b64 a);\n" +
                          ".extern .func free (.param .b64 a);\n" +
                          ptx::print(c.module).substr(ptx::print(c.module).find(".visible")))
                   .module;
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "heap");
    EXPECT_GT(r.counts.values, 64u * 6);
    EXPECT_EQ(r.counts.memory_bytes, 256u);
    // The blocks are the machine's whatever is compared.
    engine.take_turns(7);
    validate::Options additions;
    additions.only = {"add"};
    const validate::Report few = run_lockstep(c, isa::Arch::sm_90, engine, additions);
    EXPECT_EQ(few.problem, "");
    EXPECT_FALSE(few.first.has_value()) << text_report(few, engine.device(), "heap");
    EXPECT_EQ(few.counts.values, 64u);
    EXPECT_EQ(few.counts.memory_bytes, 256u);
}

TEST(Lockstep, OfACooperativeLaunchEveryRegister) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    engine.take_turns(16);
    const launch::Case c = case_of("life.json");
    const validate::Report registers = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_EQ(registers.problem, "");
    EXPECT_FALSE(registers.first.has_value()) << text_report(registers, engine.device(), "life");
    EXPECT_GT(registers.counts.values, 6u * 96 * 20);
    EXPECT_GT(registers.counts.places, 0u);  // of the grid's workspace
    EXPECT_EQ(registers.counts.memory_bytes, 2 * 1073u);
    validate::Options options;
    options.final_only = true;
    launch::Case other = c;
    other.cooperative = false;  // where both trap alike
    const validate::Report trapped = run_lockstep(other, isa::Arch::sm_90, engine, options);
    EXPECT_TRUE(trapped.same_fault);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, EveryKernel,
    testing::Values("mma_m16n8k16.json", "mma_ldmatrix.json", "ldmatrix_x4_trans.json",
                    "volta_m8n8k4_row_col_f32.json", "volta_m8n8k4_col_row_f16.json",
                    "gemm_sm70_edges.json", "gemm_sm75_edges.json", "gemm_sm80_edges.json",
                    "gemm_sm80_zfill.json", "attention_causal_edges.json", "calls.json",
                    "calls_O0.json", "softmax_fast_G.json", "transpose_G.json",
                    "triton_matmul_sm90_edges.json", "printf_some.json"),
    [](const auto& each) { return each.param.substr(0, each.param.find('.')); });

TEST(Lockstep, FindsAnotherArchitecturesRounding) {
    validate::EmulatorEngine engine(isa::Arch::sm_80);
    // Addresses in shared memory differ too: its own variables begin elsewhere.
    validate::Options options;
    options.only = {"mma"};
    const validate::Report r =
        run_lockstep(case_of("gemm_sm80.json"), isa::Arch::sm_90, engine, options);
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->kind, DifferenceKind::value);
    EXPECT_EQ(r.program.operations[r.first->operation].op, isa::Op::mma);
    EXPECT_GT(r.counts.different, 0u);
}

TEST(Lockstep, WindowsOfATrackCompareAsMuchAsOne) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Report whole =
        run_lockstep(case_of("gemm_sm80_zfill.json"), isa::Arch::sm_90, engine, {});
    validate::Options small;
    small.trace_bytes = uint64_t{1} << 20;
    EXPECT_TRUE(
        run_lockstep(case_of("gemm_sm80_zfill.json"), isa::Arch::sm_90, engine, small).by_digest);
    EXPECT_FALSE(whole.by_digest);
    small.registers = validate::Registers::words;
    const validate::Report parts =
        run_lockstep(case_of("gemm_sm80_zfill.json"), isa::Arch::sm_90, engine, small);
    EXPECT_FALSE(parts.first.has_value());
    EXPECT_GT(parts.windows, whole.windows);
    EXPECT_EQ(parts.counts.values, whole.counts.values);
}

TEST(Lockstep, OnlyNamedInstructions) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Options options;
    options.only = {"mma"};
    const validate::Report r =
        run_lockstep(case_of("mma_m16n8k16.json"), isa::Arch::sm_90, engine, options);
    EXPECT_EQ(r.counts.values, 4u * 32);
}

// A GPU has there what another kernel left; padding of a structure comes to registers at -O0.
TEST(Lockstep, LocalMemoryNeverWrittenIsMaskedByteForByte) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    engine.fill_unwritten(0xA7);
    const launch::Case c = case_of_text(R"(
    .local .align 16 .b8 own[64];
    .reg .b64 %q<4>; .reg .b32 %r<12>; .reg .b16 %h<3>; .reg .pred %p<2>;
    ld.param.u64 %q1, [out];
    mov.u64 %q2, own;
    cvta.local.u64 %q3, %q2;
    mov.u32 %r1, %laneid;
    setp.lt.u32 %p1, %r1, 8;
    st.local.b32 [own], %r1;
    st.b16 [%q3+4], %r1;
    @%p1 st.local.b32 [own+12], %r1;
    ld.local.b32 %r2, [own];                        // written: 32 values
    ld.v4.b32 {%r3, %r4, %r5, %r6}, [%q3];          // 1 written; 1 half; 1 not; 1 in 8 lanes
    ld.local.u16 %h1, [%q2+4];                      // written
    ld.local.v2.u16 {_, %h2}, [%q2+4];              // not
    ld.u8 %r7, [%q3+63];                            // not
    add.u32 %r8, %r7, 1;                            // the GPU's byte, and one
    st.global.b32 [%q1], %r2;
    ret;)",
                                        32, 4);
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "local");
    EXPECT_EQ(r.counts.masked, 32u * 3 + 32 + 32);
    // q1 (q2 and q3 are addresses), r1, p1, r2, r3, h1, r8
    EXPECT_EQ(r.counts.values, 32u * 7);

    engine.fill_unwritten(0x11);
    for (const char* name : {"calls_O0.json", "calls_G.json", "printf_some_G.json"}) {
        const validate::Report all = run_lockstep(case_of(name), isa::Arch::sm_90, engine, {});
        EXPECT_FALSE(all.first.has_value()) << text_report(all, engine.device(), name);
        EXPECT_GT(all.counts.values, 32u);
    }
}

TEST(Lockstep, SharedMemoryNeverWrittenIsTakenFromTheEngine) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    engine.fill_unwritten(0xA7);
    const launch::Case c = case_of_text(R"(
    .shared .align 16 .b8 tile[2048];
    .reg .b64 %q<4>; .reg .b32 %r<16>; .reg .pred %p<2>;
    ld.param.u64 %q1, [out];
    mov.u32 %r1, %laneid;
    mov.u32 %r14, tile;
    mad.lo.u32 %r2, %r1, 16, %r14;
    setp.lt.u32 %p1, %r1, 8;
    @%p1 st.shared.b32 [%r2], %r1;                         // 8 lanes' first words
    st.shared.b16 [%r2+4], %r1;                            // half of each second one
    bar.sync 0;
    @%p1 ld.shared.b32 %r3, [%r2];                         // written
    ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r2];          // not: 24, 32, 32, 32
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r2];  // rows that are not whole: 32
    add.u32 %r9, %r8, %r6;                                 // the GPU's, and compared
    st.shared.b32 [%r2+512], %r9;
    ld.shared.b32 %r10, [%r2+512];                         // written since
    atom.shared.add.u32 %r11, [%r2+1024], 1;               // nor here: 32
    ld.shared.b32 %r12, [%r2+1024];                         // not since: 32
    mul.wide.u32 %q2, %r1, 4;
    add.u64 %q1, %q1, %q2;
    st.global.b32 [%q1], %r10;
    ret;)",
                                        32, 128);
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "shared");
    EXPECT_EQ(r.counts.unwritten, 24u + 6 * 32);
    EXPECT_EQ(r.counts.taken, 0u);
    EXPECT_EQ(r.counts.memory_different, 0u);
    // q1 r1 r14 r2 p1 r3 (8) r4 (8) r9 r10 q2 q1
    EXPECT_EQ(r.counts.values, 32u * 9 + 16);
    EXPECT_NE(text_report(r, engine.device(), "k.ptx").find("nothing wrote"), std::string::npos);
}

// Where a path of the kernel leaves it unwritten, and only there.
TEST(Lockstep, RegistersNeverWrittenAreTakenFromTheEngine) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const launch::Case c = case_of_text(R"(
    .reg .b64 %q<4>; .reg .b32 %r<16>; .reg .pred %p<3>;
    ld.param.u64 %q1, [out];
    mov.u32 %r1, %laneid;
    setp.lt.u32 %p1, %r1, 8;
    mov.b32 %r3, %r2;                     // %r2: nothing writes it: 32
    add.u32 %r4, %r3, 1;
    @%p1 mov.b32 %r5, 5;
    add.u32 %r6, %r5, 1;                  // 24
    @!%p1 bra OVER;
    mov.b32 %r7, 7;
OVER:
    @%p1 add.u32 %r8, %r7, 1;             // written in the lanes that run it
    shfl.sync.idx.b32 %r9, %r7, 0, 31, -1;  // of 24 lanes: 32
    mov.b32 %r10, 0;
LOOP:
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra FIRST;
    add.u32 %r12, %r11, 1;                // %r11: written in the first round
FIRST:
    mov.b32 %r11, 3;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p2, %r10, 2;
    @%p2 bra LOOP;
    st.global.b32 [%q1], %r13;            // %r13: nothing writes it
    st.global.b32 [%q1+4], %r4;
    ret;)",
                                        32, 8);
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "registers");
    EXPECT_EQ(r.counts.unwritten, 32u + 24 + 32);
    uint64_t bytes = 0;
    for (const auto& [address, n] : r.unknown_memory) bytes += n;
    EXPECT_EQ(bytes, 32u * 4);
    for (const char* name : {"attention.json", "calls_O0.json", "gemm_sm80_zfill.json",
                             "softmax_fast_G.json", "triton_matmul_sm90_edges.json"}) {
        const validate::Report all = run_lockstep(case_of(name), isa::Arch::sm_90, engine, {});
        EXPECT_EQ(all.counts.unwritten, 0u) << text_report(all, engine.device(), name);
        EXPECT_TRUE(all.unknown_memory.empty()) << name;
    }
}

TEST(Lockstep, OnlyNamedLines) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Options options;
    options.final_only = true;
    const isa::Program program =
        run_lockstep(case_of("mma_m16n8k16.json"), isa::Arch::sm_90, engine, options).program;
    const auto mma = std::ranges::find(program.operations, isa::Op::mma, &isa::Operation::op);
    ASSERT_NE(mma, program.operations.end());
    options.final_only = false;
    options.lines = {{1, 1}, {mma->place.line, mma->place.line}};
    validate::Report r =
        run_lockstep(case_of("mma_m16n8k16.json"), isa::Arch::sm_90, engine, options);
    EXPECT_EQ(r.counts.values, 4u * 32);
    options.lines = {{1, 1}};
    r = run_lockstep(case_of("mma_m16n8k16.json"), isa::Arch::sm_90, engine, options);
    EXPECT_NE(r.problem, "");
}

TEST(Lockstep, ComparingNothingIsAFailure) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Options options;
    options.only = {"wgmma"};
    const validate::Report r =
        run_lockstep(case_of("mma_m16n8k16.json"), isa::Arch::sm_90, engine, options);
    EXPECT_NE(r.problem, "");
    EXPECT_EQ(r.counts.values, 0u);
}

// Loops of different length in each lane, a guard that its own instruction writes, early exits.
constexpr const char* diverging = R"(
.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>; .reg .b16 %h<3>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, 0; cvt.u16.u32 %h1, %r1;
setp.gt.u32 %p1, %r1, 40;
@%p1 ret;
LOOP:
add.u32 %r2, %r2, %r1;
setp.lt.u32 %p2, %r2, 100;
@%p2 setp.lt.u32 %p2, %r1, 1;
@!%p2 add.u32 %r2, %r2, 1000;
setp.lt.u32 %p2, %r2, 200;
@%p2 bra LOOP;
mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;
st.global.u32 [%rd2], %r2;
ret;
)";

TEST(Lockstep, DigestsThatDifferAreLookedAtWordByWord) {
    // Another architecture's rounding: what digests find is what words find.
    validate::EmulatorEngine engine(isa::Arch::sm_80);
    validate::Options options;
    options.only = {"mma"};
    const launch::Case c = case_of("gemm_sm80.json");
    const validate::Report words = run_lockstep(c, isa::Arch::sm_90, engine, options);
    options.registers = validate::Registers::digests;
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
    ASSERT_TRUE(r.first.has_value());
    EXPECT_FALSE(r.by_digest);
    EXPECT_EQ(r.first->operation, words.first->operation);
    EXPECT_EQ(r.first->cta_index, words.first->cta_index);
    EXPECT_EQ(r.first->step, words.first->step);
    EXPECT_EQ(r.first->lane, words.first->lane);
    EXPECT_EQ(r.first->emulated, words.first->emulated);
    EXPECT_EQ(r.first->inputs.size(), words.first->inputs.size());
}

TEST(Lockstep, DivergedLanesKeepTheirOwnTracks) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    // Lane 0 would loop for ever: it adds 0.
    std::string body = diverging;
    body.replace(body.find("mov.u32 %r1, %tid.x;"), 20,
                 "mov.u32 %r1, %tid.x; add.u32 %r1, %r1, 1;");
    const validate::Report r =
        run_lockstep(case_of_text(body, 64, 400), isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "diverging");
    EXPECT_GT(r.counts.values, 64u * 4);
    validate::Options options;
    options.registers = validate::Registers::digests;
    const validate::Report digest =
        run_lockstep(case_of_text(body, 64, 400), isa::Arch::sm_90, engine, options);
    EXPECT_TRUE(digest.by_digest) << digest.problem;
    EXPECT_EQ(digest.counts.values, r.counts.values);
}

TEST(Lockstep, TheSameFaultOnBothSidesIsNoDifference) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const launch::Case c = case_of_text(
        ".reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1+4096], 1; ret;", 32, 4);
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_FALSE(r.first.has_value());
    EXPECT_TRUE(r.same_fault);
    ASSERT_TRUE(r.trap.has_value());
    EXPECT_EQ(r.trap->kind, warp::TrapKind::out_of_bounds);
    EXPECT_TRUE(text_report(r, engine.device(), "k.ptx").starts_with("TRAP  k.ptx:"));
}

// Whichever CTA it is that faults.
TEST(Lockstep, TheSameFaultOfOneCta) {
    for (const uint32_t faulting : {0u, 1u, 2u}) {
        validate::EmulatorEngine engine(isa::Arch::sm_90);
        launch::Case c = case_of_text(
            ".reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p<2>; ld.param.u64 %rd1, [out];\n"
            "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, " +
                std::to_string(faulting) + ";\n@%p1 st.global.u32 [%rd1+4096], 1; ret;",
            32, 4);
        c.grid.x = 3;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
        EXPECT_TRUE(r.same_fault) << text_report(r, engine.device(), "k.ptx");
        ASSERT_TRUE(r.trap.has_value());
        EXPECT_EQ(r.trap->cta_index, faulting);
    }
}

// A machine whose buffers lie in larger mapped memory, as a GPU's do.
class Roomy : public validate::EmulatorEngine {
  public:
    Roomy() : EmulatorEngine(isa::Arch::sm_90) {}
    uint64_t allocate(uint64_t bytes) override { return EmulatorEngine::allocate(bytes + 65536); }
};

TEST(Lockstep, AFaultOfTheEmulatorAloneIsADifference) {
    Roomy engine;
    const launch::Case c = case_of_text(
        ".reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p<2>; ld.param.u64 %rd1, [out];\n"
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 37;\n"
        "@%p1 st.global.u32 [%rd1+4096], 1; ret;",
        64, 4);
    for (const bool final_only : {false, true}) {
        validate::Options options;
        options.final_only = final_only;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        ASSERT_TRUE(r.first.has_value());
        EXPECT_EQ(r.first->kind, DifferenceKind::fault);
        EXPECT_NE(r.first->what.find("ran on"), std::string::npos) << r.first->what;
        EXPECT_EQ(r.counts.memory_bytes,
                  0u);  // what a run that trapped leaves is compared with none
        EXPECT_EQ(r.program.operations[r.first->operation].op, isa::Op::st);
        EXPECT_EQ(r.first->warp, 1u);
        EXPECT_EQ(r.first->step, 3u);
        EXPECT_EQ(r.first->lane, 5u);
    }
}

// A machine that leaves another byte in each run.
class LeavesAnotherByte : public validate::EmulatorEngine {
  public:
    LeavesAnotherByte() : EmulatorEngine(isa::Arch::sm_90) {}
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> why = EmulatorEngine::read(address, bytes);
        bytes[0] = ++runs_;
        return why;
    }

  private:
    uint8_t runs_ = 0;
};

// Without any tracks, too.
TEST(Lockstep, MemoryThatVariesIsNotComparable) {
    LeavesAnotherByte engine;
    const launch::Case c = case_of_text(
        ".reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 0; ret;", 32, 4);
    validate::Options options;
    options.final_only = true;
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
    EXPECT_FALSE(r.first.has_value());
    EXPECT_EQ(r.problem,
              "not comparable: memory at the end, buffer out byte 0: the emulator as sm_90 has 0x1 "
              "in one run and 0x2 in another, and no order of its threads that was tried gives the "
              "first");
}

// What a GPU has as textures and surfaces is not in memory that both have.
TEST(Lockstep, OfTexturesAndSurfacesIsRefused) {
    for (const std::string text :
         {"tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];",
          "suld.b.1d.b32.trap %r1, [%rd1, {%r5}];", "sust.b.1d.b32.trap [%rd1, {%r5}], %r1;"}) {
        validate::EmulatorEngine engine(isa::Arch::sm_90);
        const launch::Case c = case_of_text(
            ".reg .b64 %rd<2>; .reg .b32 %r<6>; mov.u64 %rd1, 0; mov.u32 %r5, 0;\n"
            "mov.u32 %r1, 0;\n" +
                text + "\nret;",
            32, 4);
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
        EXPECT_EQ(r.problem, "line 8: " + text.substr(0, text.find('.')) +
                                 ": a GPU's textures and surfaces are its driver's");
    }
}

// What a CTA finds in its shared memory where its peer stored is compared.
TEST(Lockstep, SharedMemoryThatAPeerWrote) {
    launch::Case c = case_of_text(R"(
.shared .align 4 .b32 tile[32]; .reg .b32 %r<8>;
mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1;
mov.u32 %r4, tile; mad.lo.u32 %r4, %r1, 4, %r4; mapa.shared::cluster.u32 %r5, %r4, %r3;
st.shared::cluster.u32 [%r5], %r1; barrier.cluster.arrive; barrier.cluster.wait;
ld.shared.u32 %r6, [%r4]; add.u32 %r7, %r6, 1; ret;)",
                                  32, 4);
    c.module = ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n" +
                          ptx::print(c.module).substr(ptx::print(c.module).find(".visible")))
                   .module;
    c.grid.x = 2;
    c.cluster = warp::Dim3{2, 1, 1};
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    engine.fill_unwritten(0xa5);
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "peer");
    EXPECT_EQ(r.counts.masked + r.counts.taken, 0u);
    EXPECT_EQ(r.counts.values, 2u * 32 * 8);
}

TEST(Lockstep, ABufferAtAnAddress) {
    // The low word of the buffer's address is a result.
    launch::Case c = case_of_text(
        ".reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; st.global.u64 [%rd1], %rd1; ret;", 1, 8);
    c.fixed = {0x7000000000};
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Answer answer;
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {}, &answer);
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value());
    ASSERT_EQ(answer.addresses.size(), 1u);
    EXPECT_EQ(answer.addresses[0], 0x7000000000u);
    // It has been given back, and a machine that has something there says so.
    EXPECT_TRUE(engine.allocate_at(0x7000000000 - 100, 101));
    EXPECT_EQ(run_lockstep(c, isa::Arch::sm_90, engine, {}).problem,
              "buffer '" + c.names[0] +
                  "' is to lie at 0x7000000000, and the emulator as sm_90 does not give that "
                  "address: choose another, or none");
}

// A machine that hangs, or faults in another way.
class Ending : public validate::EmulatorEngine {
  public:
    explicit Ending(gpu::Ran end) : EmulatorEngine(isa::Arch::sm_90), end_(std::move(end)) {}
    gpu::Ran run(const gpu::Job&) override { return end_; }

  private:
    gpu::Ran end_;
};

TEST(Lockstep, AHangAndATrapOfTheSameKernel) {
    const launch::Case spin = case_of_text("L: bra L;", 32, 4);
    const launch::Case stop = case_of_text("trap;", 32, 4);
    const gpu::Ran hung{gpu::Outcome::hung, "no end after 1 s", gpu::Fault::none};
    const gpu::Ran failed{gpu::Outcome::faulted, "unspecified launch failure",
                          gpu::Fault::launch_failed};
    validate::Options options;
    options.max_steps = 10000;
    const auto run = [&](const gpu::Ran& end, const launch::Case& c) {
        Ending engine(end);
        return run_lockstep(c, isa::Arch::sm_90, engine, options);
    };
    EXPECT_TRUE(run(hung, spin).same_fault);
    EXPECT_TRUE(run(failed, stop).same_fault);
    EXPECT_FALSE(run(hung, stop).same_fault);
    EXPECT_TRUE(run(hung, stop).first.has_value());
    EXPECT_FALSE(run(failed, spin).same_fault);
    EXPECT_TRUE(run(failed, case_of_text("ret;", 32, 4)).first.has_value());
}

TEST(Lockstep, ValuesOfTimeAndPlaceAreTakenAndCounted) {
    // The traced kernel retires more instructions: its clock is another.
    const launch::Case c = case_of_text(R"(
.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p;
ld.param.u64 %rd1, [out];
mov.u32 %r4, 0;
mov.u32 %r1, %clock; mov.u32 %r2, %smid; add.u32 %r3, %r1, %r2;
and.b32 %r5, %r3, 3;
LOOP: add.u32 %r4, %r4, 7;
sub.u32 %r5, %r5, 1;
setp.gt.s32 %p, %r5, 0;
@%p bra LOOP;
mov.u32 %r6, %tid.x; mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd1, %rd2;
st.global.u32 [%rd2], %r3;
ret;)",
                                        64, 256);
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "clock");
    EXPECT_EQ(r.counts.taken, 2u * 64);
    EXPECT_GT(r.counts.values, 64u * 6);
    EXPECT_EQ(r.counts.memory_bytes, 256u);
    EXPECT_GT(r.varying_bytes, 0u);
    const std::string text = text_report(r, engine.device(), "clock");
    EXPECT_NE(text.find("mov.u32: 64 taken"), std::string::npos) << text;
    validate::Options final_only;
    final_only.final_only = true;
    const validate::Report memory = run_lockstep(c, isa::Arch::sm_90, engine, final_only);
    EXPECT_EQ(memory.problem, "");
    EXPECT_FALSE(memory.first.has_value());
    EXPECT_EQ(memory.counts.values, 0u);
}

// Changes words of the tracks as a machine with another answer would have left them.
class Tampering : public validate::EmulatorEngine {
  public:
    using Change = std::function<void(std::span<uint64_t>)>;
    Tampering(uint64_t least_bytes, Change change)
        : EmulatorEngine(isa::Arch::sm_90), least_(least_bytes), change_(std::move(change)) {}
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> done = EmulatorEngine::read(address, bytes);
        if (bytes.size() >= least_)
            change_({reinterpret_cast<uint64_t*>(bytes.data()), bytes.size() / 8});
        return done;
    }

  private:
    uint64_t least_;
    Change change_;
};

// Word 0 of a record is the instruction's number from 1; the one after it is its first result.
void change_records(std::span<uint64_t> words, uint64_t number, uint32_t lane,
                    const std::function<void(uint64_t& number, uint64_t& value)>& change) {
    for (size_t i = lane; i + 32 < words.size(); i += 32)
        if (words[i] == number) return change(words[i], words[i + 32]);
}

constexpr const char* shuffling = R"(
.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %lanemask_le;
setp.lt.u32 %p1, %r1, 0x10000;
@!%p1 bra END;
shfl.sync.idx.b32 %r2|%p2, %r1, 20, 31, 0x0000ffff;
add.u32 %r3, %r2, 1;
END: ret;)";

TEST(Lockstep, UndefinedLanesAreMaskedAndGoOnWithTheGpusValue) {
    // Instruction 5 reads lane 20, which does not take part.
    Tampering engine(4096, [](std::span<uint64_t> words) {
        for (uint32_t lane = 0; lane < 16; ++lane) {
            change_records(words, 5, lane, [](uint64_t&, uint64_t& value) { value = 0xdead; });
            change_records(words, 6, lane, [](uint64_t&, uint64_t& value) { value = 0xdeae; });
        }
    });
    const validate::Report r =
        run_lockstep(case_of_text(shuffling, 32, 256), isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "shuffling");
    EXPECT_EQ(r.counts.masked, 16u);
    // The predicate of shfl and the sum are compared.
    EXPECT_EQ(r.counts.values, 3u * 32 + 2 * 16);
}

// Of two NaN operands of f64 a machine may keep the other: any NaN is let pass there, and nothing
// else is.
TEST(Lockstep, AnotherNanIsMaskedAndNothingElse) {
    const launch::Case c = case_of_text(R"(
.reg .b64 %q<4>; .reg .b16 %h<3>;
mov.b64 %q1, 0x7ff8000000000001; mov.b64 %q2, 0x7ff8000000000002;
add.rn.f64 %q3, %q1, %q2;
mov.b16 %h1, 0x7e00;
min.f16 %h2, %h1, %h1;
ret;)",
                                        32, 256);
    const auto run = [&](uint64_t number, uint64_t value) {
        Tampering engine(4096, [&](std::span<uint64_t> words) {
            change_records(words, number, 7, [&](uint64_t&, uint64_t& v) { v = value; });
        });
        return run_lockstep(c, isa::Arch::sm_90, engine, {});
    };
    const validate::Report other = run(3, 0x7ff8000000000001);
    EXPECT_FALSE(other.first.has_value()) << text_report(other, {}, "nan");
    EXPECT_EQ(other.counts.masked + other.counts.values, 5u * 32);
    EXPECT_LE(other.counts.masked, 1u);
    EXPECT_EQ(run(3, 0xfff8000000000077).counts.masked, 1u);
    EXPECT_TRUE(run(3, 0x7ff0000000000000).first.has_value());
    EXPECT_TRUE(run(3, 0).first.has_value());
    EXPECT_EQ(run(5, 0xffff).counts.masked, 1u);
    EXPECT_TRUE(run(5, 0x7c00).first.has_value());
    EXPECT_TRUE(run(5, 0x17e00).first.has_value());
}

TEST(Lockstep, AnotherWayNamesTheBranch) {
    Tampering engine(4096, [](std::span<uint64_t> words) {
        change_records(words, 5, 3, [](uint64_t& number, uint64_t&) { number = 6; });
    });
    const validate::Report r =
        run_lockstep(case_of_text(shuffling, 32, 256), isa::Arch::sm_90, engine, {});
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->kind, DifferenceKind::control_flow);
    EXPECT_EQ(r.first->lane, 3u);
    const std::string text = text_report(r, engine.device(), "shuffling.ptx");
    EXPECT_NE(text.find("its last branch: shuffling.ptx:11  @!%p1, emulated not taken"),
              std::string::npos)
        << text;
}

// One bit of one accumulator: the report shows what the instruction read, as it was before the
// instruction overwrote its own accumulator.
TEST(Lockstep, ADifferenceShowsItsInputs) {
    const launch::Case c = case_of("gemm_sm80.json");
    const isa::Resolved program = isa::resolve(c.module, isa::Arch::sm_90, c.entry);
    uint64_t number = 0;
    for (size_t i = 0; i < program.program.operations.size(); ++i)
        if (program.program.operations[i].op == isa::Op::mma) number = i + 1;
    ASSERT_NE(number, 0u);
    Tampering engine(1 << 20, [&](std::span<uint64_t> words) {
        change_records(words, number, 5, [](uint64_t&, uint64_t& value) { value ^= 4; });
    });
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    ASSERT_TRUE(r.first.has_value());
    const validate::Difference& d = *r.first;
    EXPECT_EQ(d.kind, DifferenceKind::value);
    EXPECT_EQ(d.operation + 1, number);
    EXPECT_EQ(d.lane, 5u);
    EXPECT_EQ(d.emulated ^ d.other, 4u);
    EXPECT_EQ(d.inputs.size(), 4u + 2 + 4);
    // The instruction by itself on what the report says it read.
    const std::string text = text_report(r, engine.device(), "gemm.ptx");
    EXPECT_NE(text.find("  its inputs: C["), std::string::npos) << text;
    EXPECT_NE(text.find("    A row "), std::string::npos);
    EXPECT_NE(text.find("    B column "), std::string::npos);
    EXPECT_EQ(text.find('?'), std::string::npos);
    // The product of the row and the column that it shows, onto that C.
    const auto numbers_after = [&](const std::string& words) {
        const size_t at = text.find(':', text.find(words));
        std::istringstream in(text.substr(at + 1));
        std::vector<uint64_t> out;
        for (std::string word; in >> word && word.starts_with("0x");)
            out.push_back(std::stoull(word, nullptr, 16));
        return out;
    };
    const std::vector<uint64_t> a = numbers_after("    A row ");
    const std::vector<uint64_t> b = numbers_after("    B column ");
    const size_t at = text.find("its inputs: C[");
    const uint64_t c_bits = std::stoull(text.substr(text.find("0x", at), 10), nullptr, 16);
    const isa::MmaVariant& v = *program.program.operations[d.operation].mma;
    ASSERT_EQ(a.size(), v.k);
    ASSERT_EQ(b.size(), v.k);
    uint64_t product = 0;
    num::matrix_product(*num::find_dot_row(isa::Arch::sm_90, v.m, v.n, v.k, v.a, v.d), {1, 1, v.k},
                        {v.a, v.b, v.c, v.d}, a.data(), b.data(), &c_bits, &product);
    EXPECT_EQ(product, d.emulated) << text;
    ASSERT_TRUE(r.tracks.has_value());
    EXPECT_EQ(r.tracks->window.ctas, 1u);
}

TEST(Lockstep, WatchedCtasAndWarpsAlone) {
    const launch::Case c = case_of("gemm_sm80_edges.json");
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Report all = run_lockstep(c, isa::Arch::sm_90, engine, {});
    validate::Options few;
    few.first_cta = 1;
    few.ctas = 1;
    const validate::Report one = run_lockstep(c, isa::Arch::sm_90, engine, few);
    EXPECT_EQ(one.problem, "");
    EXPECT_FALSE(one.first.has_value()) << text_report(one, engine.device(), "gemm");
    EXPECT_GT(one.counts.values, 0u);
    EXPECT_LT(one.counts.values, all.counts.values);
    EXPECT_EQ(one.counts.memory_bytes, all.counts.memory_bytes);
    few.warps = 1;
    const validate::Report warp = run_lockstep(c, isa::Arch::sm_90, engine, few);
    EXPECT_GT(warp.counts.values, 0u);
    EXPECT_LT(warp.counts.values, one.counts.values);
    few.first_cta = 1'000'000;
    EXPECT_NE(run_lockstep(c, isa::Arch::sm_90, engine, few).problem, "");
}

// What the emulator did, whichever CTAs of the grid were compared.
TEST(Lockstep, StatisticsAreOfTheWholeGrid) {
    launch::Case c = case_of_text(
        ".reg .b32 %r<4>; .reg .f32 %f<5>; mov.u32 %r1, 0;\n"
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1}, "
        "{%r1},\n"
        " {%f1, %f2, %f3, %f4}; ret;",
        64, 4);
    c.grid.x = 3;
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    for (const uint64_t first : {0u, 1u, 2u}) {
        validate::Options options;
        options.first_cta = first;
        options.ctas = 1;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        EXPECT_EQ(r.problem, "");
        EXPECT_EQ(r.statistics.ctas, 3u);
        EXPECT_EQ(r.statistics.instructions, 3u * 2 * 3);
        EXPECT_EQ(r.statistics.lane_operations, 3u * 2 * 3 * 32);
        EXPECT_EQ(r.statistics.products, 3u * 2 * 16 * 8 * 8);
    }
}

// Where tracks are too large for memory, digests are taken: the CTAs behind the first watched one
// count, and no others.
TEST(Lockstep, TracksOfTheLastCtasAreAsManyAsThere) {
    launch::Case c = case_of_text(
        ".reg .b32 %r<2>; .reg .pred %p<2>;\nmov.u32 %r1, 1000;\n"
        "L: sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L; ret;",
        32, 4);
    c.grid.x = 4;
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const auto by_digest = [&](uint64_t first, uint64_t ctas, uint64_t bytes) {
        validate::Options options;
        options.first_cta = first;
        options.ctas = ctas;
        options.trace_bytes = bytes;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        EXPECT_EQ(r.problem, "");
        EXPECT_FALSE(r.first.has_value());
        return r.by_digest;
    };
    // A lane writes 2001 registers, each of them a record of two words.
    constexpr uint64_t bytes_of_cta = uint64_t{2001} * 2 * 32 * 8;
    for (const uint64_t first : {0u, 1u, 3u})
        for (const uint64_t asked : {uint64_t{1}, uint64_t{2}, UINT64_MAX}) {
            const uint64_t ctas = std::min(asked, 4 - first);
            EXPECT_FALSE(by_digest(first, asked, ctas * bytes_of_cta)) << first << ' ' << asked;
            EXPECT_TRUE(by_digest(first, asked, ctas * bytes_of_cta - ctas))
                << first << ' ' << asked;
        }
}

// A machine that has lost the upper halves of a constant.
class LosesUpperHalves : public validate::EmulatorEngine {
  public:
    LosesUpperHalves() : EmulatorEngine(isa::Arch::sm_90) {}
    gpu::Ran run(const gpu::Job& job) override {
        std::string text(job.ptx);
        const std::string constant = "mov.b64 %rd1, 4294967297";
        const size_t at = text.find(constant);
        EXPECT_NE(at, std::string::npos) << text;
        if (at != std::string::npos) text.replace(at, constant.size(), "mov.b64 %rd1, 1");
        gpu::Job other = job;
        other.ptx = text;
        return EmulatorEngine::run(other);
    }
};

// In all lanes alike: each 32-bit half of the emulator's is what the machine has.
TEST(Lockstep, TheUpperHalvesOfARegisterAreCompared) {
    LosesUpperHalves engine;
    const launch::Case c = case_of_text(".reg .b64 %rd<2>; mov.b64 %rd1, 4294967297; ret;", 32, 4);
    validate::Options options;
    options.registers = validate::Registers::words;
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
    EXPECT_EQ(r.problem, "");
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->emulated, 0x100000001u);
    EXPECT_EQ(r.first->other, 1u);
    EXPECT_EQ(r.counts.different, 32u);
}

TEST(Replay, GivesTheSameCountsWithoutTheEngine) {
    for (const char* name : {"gemm_sm80_edges.json", "mma_ldmatrix.json"}) {
        const launch::Case c = case_of(name);
        validate::EmulatorEngine engine(isa::Arch::sm_90);
        for (const uint64_t bytes : {uint64_t{1} << 30, uint64_t{1} << 20}) {
            validate::Options options;
            options.trace_bytes = bytes;
            validate::Answer answer;
            const validate::Report live =
                run_lockstep(c, isa::Arch::sm_90, engine, options, &answer);
            ASSERT_FALSE(live.first.has_value());
            validate::Report again = replay(c, isa::Arch::sm_90, answer, {});
            EXPECT_EQ(again.problem, "");
            EXPECT_FALSE(again.first.has_value()) << text_report(again, answer.device, name);
            EXPECT_EQ(again.counts.values, live.counts.values);
            EXPECT_EQ(again.counts.memory_bytes, live.counts.memory_bytes);
            // A word of the tracks, or a byte of the memory, that is not as it was is seen.
            validate::Answer other = answer;
            other.outputs.back().back() ^= 1;
            again = replay(c, isa::Arch::sm_90, other, {});
            ASSERT_TRUE(again.first.has_value());
            EXPECT_EQ(again.first->kind, DifferenceKind::memory);
            other = answer;
            other.tracks.front().words[33 * 8] ^= 1;
            EXPECT_TRUE(replay(c, isa::Arch::sm_90, other, {}).first.has_value());
            // The CTA of a difference by itself.
            validate::Answer part = answer;
            part.tracks = {*replay(c, isa::Arch::sm_90, other, {}).tracks};
            part.outputs.clear();
            const validate::Report alone = replay(c, isa::Arch::sm_90, part, {});
            EXPECT_EQ(alone.problem, "");
            EXPECT_TRUE(alone.first.has_value());
        }
    }
}

TEST(Replay, AnAnswerOfAnotherProgramIsRefused) {
    const launch::Case c = case_of("mma_ldmatrix.json");
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Answer answer;
    ASSERT_FALSE(run_lockstep(c, isa::Arch::sm_90, engine, {}, &answer).first.has_value());
    const auto refused = [&](const std::function<void(validate::Answer&)>& change) {
        validate::Answer bad = answer;
        change(bad);
        return !replay(c, isa::Arch::sm_90, bad, {}).problem.empty();
    };
    EXPECT_TRUE(refused([](auto& a) { a.addresses.pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.outputs.pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.outputs[0].pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.traced.pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].words.pop_back(); }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].slack = 0; }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].window.ctas = 0; }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].window.first_cta = 7; }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].window.words = UINT64_MAX / 256; }));
    EXPECT_TRUE(refused([](auto& a) { a.tracks[0].window.first = UINT64_MAX; }));
    EXPECT_FALSE(refused([](auto&) {}));
    EXPECT_TRUE(refused([](auto& a) {
        a.tracks.clear();
        a.outputs.clear();
    }));
}

// No engine's window ends within a cluster.
TEST(Replay, APartOfAClusterIsRefused) {
    launch::Case c = case_of_text(".reg .b32 %r<2>; mov.u32 %r1, %tid.x; ret;", 32, 4);
    c.module = ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n" +
                          ptx::print(c.module).substr(ptx::print(c.module).find(".visible")))
                   .module;
    c.grid.x = 4;
    c.cluster = warp::Dim3{4, 1, 1};
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Answer answer;
    ASSERT_EQ(run_lockstep(c, isa::Arch::sm_90, engine, {}, &answer).problem, "");
    ASSERT_EQ(answer.tracks.size(), 1u);
    validate::Tracks& t = answer.tracks[0];
    t.window.ctas = 3;
    t.words.resize(gpu::trace_bytes(t.window, t.slack, 1));
    answer.outputs.clear();
    EXPECT_EQ(replay(c, isa::Arch::sm_90, answer, {}).problem,
              "CTAs from 0 on: a part of the grid has whole clusters, of 4 CTAs side by side");
}

// Windows and slack of so many words that their bytes, modulo 2^64, are those that are there.
TEST(Replay, TracksOfMoreBytesThanThereCanBeAreRefused) {
    launch::Case c = case_of_text(".reg .b32 %r<2>; mov.u32 %r1, %tid.x; ret;", 32, 4);
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    validate::Answer answer;
    ASSERT_EQ(run_lockstep(c, isa::Arch::sm_90, engine, {}, &answer).problem, "");
    ASSERT_EQ(answer.tracks.size(), 1u);
    c.grid = {1u << 15, 1, 1};
    validate::Tracks& t = answer.tracks[0];
    t.window.ctas = c.grid.count();
    t.window.words = t.slack = uint64_t{1} << 40;
    t.words.clear();
    ASSERT_EQ(gpu::trace_bytes(t.window, t.slack, 1), 0u);
    const std::string problem = replay(c, isa::Arch::sm_90, answer, {}).problem;
    EXPECT_NE(problem.find("a window of its tracks is not right"), std::string::npos) << problem;
}

}  // namespace
