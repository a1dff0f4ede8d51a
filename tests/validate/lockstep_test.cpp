// Lockstep without a GPU: the emulator runs the traced kernel in the GPU's place.
#include "validate/lockstep.hpp"

#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "validate/emulator_engine.hpp"
#include "tools/input.hpp"

namespace {

using namespace lockwarp;
using validate::DifferenceKind;

validate::Case case_of(const std::string& launch_file) {
    tools::Input in;
    EXPECT_EQ(tools::read_input({LOCKWARP_SOURCE_DIR "/gpu/kernels/" + launch_file}, "", in), "");
    ptx::Parsed parsed = ptx::parse(in.source);
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, in.launch.entry);
    EXPECT_TRUE(resolved.diagnostics.empty());
    validate::Case c;
    EXPECT_EQ(tools::make_case(in.launch, parsed.module, resolved.program, c), "");
    return c;
}

// A kernel of one buffer from its text.
validate::Case case_of_text(const std::string& body, uint32_t threads, size_t bytes) {
    ptx::Parsed parsed = ptx::parse(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" +
        body + "\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty());
    validate::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.block = {threads, 1, 1};
    c.parameters.resize(8);
    c.patches = {{0, 0, 0}};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(bytes)};
    return c;
}

class EveryKernel : public testing::TestWithParam<const char*> {};

TEST_P(EveryKernel, IsIdenticalBesideItself) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Report r = run_lockstep(case_of(GetParam()), isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value()) << text_report(r, engine.device(), GetParam());
    EXPECT_GT(r.counts.values, 32u);
    EXPECT_GT(r.counts.memory_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel,
                         testing::Values("mma_m16n8k16.json", "mma_ldmatrix.json",
                                         "ldmatrix_x4_trans.json", "volta_m8n8k4_row_col_f32.json",
                                         "volta_m8n8k4_col_row_f16.json", "gemm_sm70_edges.json",
                                         "gemm_sm75_edges.json", "gemm_sm80_edges.json",
                                         "gemm_sm80_zfill.json"));

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
}

TEST(Lockstep, AFaultOnBothSidesIsReported) {
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Case c = case_of_text(
        ".reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1+4096], 1; ret;", 32, 4);
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    ASSERT_TRUE(r.first.has_value());
    EXPECT_EQ(r.first->kind, DifferenceKind::fault);
    ASSERT_TRUE(r.trap.has_value());
    EXPECT_EQ(r.trap->kind, warp::TrapKind::out_of_bounds);
}

}  // namespace
