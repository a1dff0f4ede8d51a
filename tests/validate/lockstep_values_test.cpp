// SPDX-License-Identifier: Apache-2.0
// Values that lockstep does not ask of the emulator: masked, taken from the engine, never written.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>
#include <sstream>

#include "emu/lockwarp.hpp"
#include "tests/results.hpp"
#include "tests/validate/lockstep_cases.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::lockstep_values_test {
namespace {

using namespace lockwarp::lockstep;
using validate::DifferenceKind;

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

// What is masked makes the digests of two CTAs differ: all is counted as by words, once.
TEST(Lockstep, DigestsThatDifferInWhatIsMaskedAlone) {
    launch::Case c = case_of_text(R"(
    .shared .b32 tile[32]; .local .b32 frame[4];
    .reg .b64 %q<4>; .reg .b32 %r<4>;
    mov.u32 %r1, %tid.x;
    mov.u64 %q1, frame;                    // an address: left out
    ld.shared.b32 %r2, [tile];             // nothing wrote it
    add.u32 %r3, %r1, 1;
    ret;)",
                                  32, 8);
    c.grid = {3, 1, 1};
    const auto compared = [&](validate::Registers registers) {
        validate::EmulatorEngine engine(isa::Arch::sm_90);
        engine.fill_unwritten(0xA7);
        validate::Options options;
        options.registers = registers;
        validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, options);
        EXPECT_EQ(r.problem, "");
        EXPECT_FALSE(r.first.has_value());
        EXPECT_FALSE(r.by_digest);
        return r;
    };
    const validate::Report words = compared(validate::Registers::words);
    const validate::Report digests = compared(validate::Registers::digests);
    EXPECT_EQ(words.counts.places, 1u);
    EXPECT_EQ(words.counts.unwritten, 3u * 32);
    EXPECT_EQ(words.counts.values, 3u * 32 * 2);
    const auto numbers = [](const validate::Counts& n) {
        return std::array{n.values, n.different,    n.masked,           n.unwritten, n.taken,
                          n.places, n.memory_bytes, n.memory_different, n.faults};
    };
    EXPECT_EQ(numbers(digests.counts), numbers(words.counts));
    ASSERT_EQ(digests.by_operation.size(), words.by_operation.size());
    for (size_t i = 0; i < words.by_operation.size(); ++i)
        EXPECT_EQ(numbers(digests.by_operation[i]), numbers(words.by_operation[i])) << i;
}

// Both sides take the order of the engine's threads where results depend on one, whatever is asked.
TEST(Lockstep, WhetherTheOrderOfThreadsIsTheEngines) {
    const std::string atomic =
        ".reg .b64 %q<2>; .reg .b32 %r<2>; ld.param.u64 %q1, [out];\n"
        "atom.global.add.u32 %r1, [%q1], 1; st.global.u32 [%q1+4], %r1; ret;";
    const std::string plain =
        ".reg .b64 %q<2>; ld.param.u64 %q1, [out]; st.global.u32 [%q1+4], 1; ret;";
    for (const bool atomics : {true, false})
        for (const bool final_only : {true, false}) {
            validate::EmulatorEngine engine(isa::Arch::sm_90);
            validate::Options options;
            options.final_only = final_only;
            const validate::Report r = run_lockstep(case_of_text(atomics ? atomic : plain, 1, 8),
                                                    isa::Arch::sm_90, engine, options);
            EXPECT_EQ(r.problem, "");
            EXPECT_EQ(r.ordered, atomics) << final_only;
        }
}

// Room for calls is asked for where functions are called.
TEST(Lockstep, TheStackThatIsAskedFor) {
    struct Asked : validate::EmulatorEngine {
        Asked() : EmulatorEngine(isa::Arch::sm_90) {}
        gpu::Ran run(const gpu::Job& job) override {
            bytes.insert(job.stack_bytes);
            return EmulatorEngine::run(job);
        }
        std::set<uint32_t> bytes;
    };
    for (const auto& [file, bytes] :
         {std::pair<const char*, uint32_t>{"calls_O0.json", 65536}, {"mma_m16n8k16.json", 0}}) {
        Asked engine;
        EXPECT_EQ(run_lockstep(case_of(file), isa::Arch::sm_90, engine, {}).problem, "");
        EXPECT_EQ(engine.bytes, std::set<uint32_t>{bytes}) << file;
    }
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

// What was read of a cluster's shared memory is what the peer stored there: 100 and its lane.
TEST(Lockstep, ADifferenceShowsTheInputsThatAPeerGave) {
    launch::Case c = case_of_text(R"(
.shared .align 4 .b32 tile[32]; .reg .b32 %r<9>;
mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1;
mov.u32 %r4, tile; mad.lo.u32 %r4, %r1, 4, %r4; mapa.shared::cluster.u32 %r5, %r4, %r3;
mad.lo.u32 %r8, %r2, 100, %r1;
st.shared::cluster.u32 [%r5], %r8; barrier.cluster.arrive; barrier.cluster.wait;
ld.shared.u32 %r6, [%r4]; add.u32 %r7, %r6, 1; ret;)",
                                  32, 4);
    c.module = ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n" +
                          ptx::print(c.module).substr(ptx::print(c.module).find(".visible")))
                   .module;
    c.grid.x = 2;
    c.cluster = warp::Dim3{2, 1, 1};
    constexpr uint64_t add = 12;
    Tampering engine(4096, [](std::span<uint64_t> words) {
        change_records(words, add, 5, [](uint64_t&, uint64_t& value) { value ^= 4; });
    });
    const validate::Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    ASSERT_TRUE(r.first.has_value()) << r.problem;
    EXPECT_EQ(r.first->operation + 1, add);
    EXPECT_EQ(r.first->cta_index, 0u);
    EXPECT_EQ(r.first->emulated, 106u);
    ASSERT_EQ(r.first->inputs.size(), 1u);
    for (uint32_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(r.first->inputs[0].lanes[lane], 100 + lane);
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

}  // namespace
}  // namespace lockwarp::lockstep_values_test
