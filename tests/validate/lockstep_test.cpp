// SPDX-License-Identifier: Apache-2.0
// Lockstep without a GPU: the emulator runs the traced kernel in the GPU's place.
#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "tests/results.hpp"
#include "tests/validate/lockstep_cases.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::lockstep_test {
namespace {

using namespace lockwarp::lockstep;
using validate::DifferenceKind;

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

TEST(Lockstep, OfNothingIsNotIdentical) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const auto problem_of = [&](const char* body, size_t bytes) {
        return run_lockstep(case_of_text(body, 1, bytes), isa::Arch::sm_90, engine, {}).problem;
    };
    const char* const jumped = ".reg .u32 %r; bra.uni L; mov.u32 %r, 7; L: ret;";
    EXPECT_EQ(problem_of(jumped, 0), "nothing was compared");
    EXPECT_EQ(problem_of(jumped, 4), "");
    EXPECT_EQ(problem_of(".reg .u32 %r; mov.u32 %r, 7; ret;", 0), "");
    EXPECT_EQ(problem_of("ret;", 4), "no instruction of the kernel is to be compared");
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
          "suld.b.1d.b32.trap %r1, [%rd1, {%r5}];", "sust.b.1d.b32.trap [%rd1, {%r5}], %r1;",
          "txq.width.b32 %r1, [%rd1];", "suq.height.b32 %r1, [%rd1];"}) {
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
    c.grid.x = 4;
    c.cluster = warp::Dim3{2, 1, 1};
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    engine.fill_unwritten(0xa5);
    validate::Options options;
    options.ctas = 2;
    for (const uint64_t first : {0u, 2u}) {
        options.first_cta = first;
        const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        EXPECT_EQ(r.problem, "") << first;
        EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), "peer");
        EXPECT_EQ(r.counts.unwritten + r.counts.masked + r.counts.taken, 0u) << first;
        EXPECT_EQ(r.counts.values, 2u * 32 * 8) << first;
    }
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

}  // namespace
}  // namespace lockwarp::lockstep_test
