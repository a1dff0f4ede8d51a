// SPDX-License-Identifier: Apache-2.0
// What a person reads of a comparison, whole: each kind of difference, and what was not compared.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emu/isa/opcodes.hpp"
#include "tests/validate/lies_kernel.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace {

using namespace lockwarp;
using validate::Difference;
using validate::DifferenceKind;
using validate::Report;

// From line 6; the operations are numbered from 0.
constexpr const char* body =
    ".reg .b32 %r<4>; .reg .f32 %f<4>; .reg .f64 %g<2>; .reg .pred %p<2>; .reg .b64 %d<4>;\n"
    "mov.u32 %r1, %tid.x;\n"
    "setp.lt.u32 %p1, %r1, 5;\n"
    "cvt.rn.f32.u32 %f1, %r1;\n"
    "add.rn.f32 %f2, %f1, 0f3F800000;\n"
    "@!%p1 bra L;\n"
    "add.u32 %r2, %r1, 1;\n"
    "L:\n"
    "ld.param.u64 %d1, [out];\n"
    "mul.wide.u32 %d2, %r1, 4;\n"
    "add.u64 %d1, %d1, %d2;\n"
    "st.global.f32 [%d1], %f2;\n"
    "rsqrt.approx.f32 %f3, %f1;\n"
    "cvt.rn.f64.u32 %g1, %r1;\n"
    "ret;\n";
enum Number : uint32_t {
    mov,
    setp,
    cvt,
    add_f32,
    bra,
    add_u32,
    ld,
    mul,
    add_u64,
    st,
    rsqrt,
    to_f64
};

gpu::Device device() {
    gpu::Device d;
    d.name = "GPU X";
    d.driver = "580.1";
    d.number = 90;
    d.clock_mhz = 1980;
    return d;
}

// Of the kernel above, with counts that every text below ends in.
Report report() {
    validate::EmulatorEngine engine(isa::Arch::sm_90, false, 1);
    Report r = run_lockstep(lies::case_of(body), isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_FALSE(r.first.has_value());
    r.counts = {};
    r.counts.values = 1'234'567;
    r.counts.memory_bytes = 999;
    r.counts.different = 1000;
    r.by_operation.assign(r.by_operation.size(), {});
    r.by_digest = false;
    r.folded.clear();
    return r;
}

const std::string ends =
    "compared: 1,234,567 register values compared, 999 memory bytes; 1,000 and 0 different\n"
    "GPU X, sm_90, driver 580.1, 1980 MHz\n";

Difference difference(DifferenceKind kind, uint32_t operation, uint32_t lane) {
    Difference d;
    d.kind = kind;
    d.operation = operation;
    d.lane = lane;
    d.cta = {1, 2, 3};
    d.warp = 4;
    d.step = 42;
    return d;
}

std::string text(const Report& r) { return text_report(r, device(), "k.ptx"); }

std::string of_value(uint32_t operation, uint64_t emulated, uint64_t other) {
    Report r = report();
    r.first = difference(DifferenceKind::value, operation, 7);
    r.first->emulated = emulated;
    r.first->other = other;
    return text(r);
}

TEST(TextReport, AValueOfEachType) {
    const std::string where = "   step 42, CTA (1,2,3), warp 4\n";
    EXPECT_EQ(of_value(add_f32, 0x3f800000, 0x40000000),
              "DIFFERS  k.ptx:10  add.rn.f32" + where +
                  "  %f2 lane 7   emulated 0x3f800000 (1)   GPU X 0x40000000 (2)   bits "
                  "0x7f800000\n" +
                  ends);
    EXPECT_EQ(of_value(setp, 1, 0), "DIFFERS  k.ptx:8  setp.lt.u32" + where +
                                        "  %p1 lane 7   emulated 0x1   GPU X 0x0   bits 0x1\n" +
                                        ends);
    EXPECT_EQ(of_value(mul, 4, 0x1000000004),
              "DIFFERS  k.ptx:15  mul.wide.u32" + where +
                  "  %d2 lane 7   emulated 0x0000000000000004   GPU X 0x0000001000000004   bits "
                  "0x1000000000\n" +
                  ends);
    // What is longer than 100 columns has a line for each.
    EXPECT_EQ(of_value(to_f64, 0x3fb999999999999a, 0x3fb999999999999b),
              "DIFFERS  k.ptx:19  cvt.rn.f64.u32" + where +
                  "  %g1 lane 7\n    emulated 0x3fb999999999999a (0.10000000000000001)\n"
                  "    GPU X 0x3fb999999999999b (0.10000000000000002)\n    bits 0x1\n" +
                  ends);
}

TEST(TextReport, ALineHasAtMost99Columns) {
    Report r = report();
    r.first = difference(DifferenceKind::value, add_u32, 31);
    const size_t others =
        std::string("  %r2 lane 31   emulated 0x00000000    0x00000000   bits 0x0\n").size();
    for (size_t length = 1; length < 80; ++length) {
        gpu::Device other = device();
        other.name = std::string(length, 'X');
        const std::string said = text_report(r, other, "k.ptx");
        EXPECT_EQ(said.find("\n    emulated") != std::string::npos, others + length > 100) << said;
    }
    // A long name of the file puts the place on a line of its own.
    const std::string where = "step 42, CTA (1,2,3), warp 4";
    for (size_t length = 1; length < 80; ++length) {
        const std::string file(length, 'f');
        const std::string said = text_report(r, device(), file);
        const std::string what = file + ":12  add.u32";
        EXPECT_TRUE(said.starts_with("DIFFERS  " + what +
                                     (what.size() + where.size() > 85 ? "\n  " : "   ") + where))
            << said;
    }
}

TEST(TextReport, WhatTheInstructionRead) {
    Report r = report();
    r.first = difference(DifferenceKind::value, add_f32, 7);
    Difference::Input& input = r.first->inputs.emplace_back();
    input.name = "%f1";
    input.type = isa::Type::f32;
    input.lanes[6] = 0x3f800000;
    input.lanes[7] = 0x40400000;
    EXPECT_NE(text(r).find("\n  reads %f1 = 0x40400000 (3) in this lane\n"), std::string::npos)
        << text(r);
}

// Which elements of a matrix a register holds.
TEST(TextReport, ElementsOfARegister) {
    validate::EmulatorEngine engine(isa::Arch::sm_80, false, 1);
    Report r = run_lockstep(
        lies::case_of(".reg .b32 %a<4>; .reg .b64 %d<2>; ld.param.u64 %d1, [out];\n"
                      "wmma.load.a.sync.aligned.row.m16n16k16.global.u8 {%a1, %a2}, [%d1];\n"
                      "wmma.load.b.sync.aligned.col.m16n16k16.global.u8 {%a1, %a2}, [%d1];\n"
                      "ret;"),
        isa::Arch::sm_80, engine, {});
    EXPECT_EQ(r.problem, "");
    const auto said = [&](uint32_t operation, uint32_t reg) {
        r.first = difference(DifferenceKind::value, operation, 7);
        r.first->reg = reg;
        return text(r);
    };
    // Four of a row or, of B, of a column: the first and the last.
    const auto says = [&](uint32_t operation, uint32_t reg, const std::string& elements) {
        const std::string s = said(operation, reg);
        EXPECT_NE(s.find(elements), std::string::npos) << s;
    };
    says(1, 0, "A[1][12] ... A[1][15]");
    says(1, 1, "A[9][12] ... A[9][15]");
    says(2, 0, "B[12][1] ... B[15][1]");
    says(2, 1, "B[12][9] ... B[15][9]");
}

TEST(TextReport, AnotherWay) {
    const std::string begin =
        "DIFFERS  k.ptx:12  add.u32   step 42, CTA (1,2,3), warp 4\n"
        "  lane 3 goes another way: emulated line 12, GPU X ";
    Report r = report();
    r.first = difference(DifferenceKind::control_flow, add_u32, 3);
    r.first->emulated = add_u32 + 1;
    r.first->other = st + 1;
    EXPECT_EQ(text(r), begin + "line 17\n" + ends);
    for (const bool taken : {false, true}) {
        r.first->branch = bra;
        r.first->branch_taken = taken;
        EXPECT_EQ(text(r), begin + "line 17\n  its last branch: k.ptx:11  @!%p1, emulated " +
                               (taken ? "taken\n" : "not taken\n") + ends);
    }
    r.first->branch = validate::no_branch;
    for (const uint64_t number : {uint64_t{0}, r.program.operations.size() + 1}) {
        r.first->other = number;
        EXPECT_EQ(text(r), begin + "nothing more\n" + ends);
    }
    r.first->other = to_f64 + 1;
    EXPECT_EQ(text(r), begin + "line 19\n" + ends);
    // The last one is the end of the kernel, at its brace.
    r.first->other = r.program.operations.size();
    EXPECT_EQ(text(r), begin + "line 22\n" + ends);
}

TEST(TextReport, AByteOfMemory) {
    Report r = report();
    r.first = difference(DifferenceKind::memory, 0, 0);
    r.first->buffer = "out";
    r.first->offset = 17;
    r.first->emulated = 1;
    r.first->other = 0xff;
    EXPECT_EQ(text(r),
              "DIFFERS  k.ptx  memory at the end: buffer out byte 17: emulated 0x01, GPU X 0xff\n" +
                  ends);
}

TEST(TextReport, WhatNoOrderGives) {
    Report r = report();
    r.first = difference(DifferenceKind::order, st, 2);
    r.first->emulated = 0x53f800000;  // of more bits than the access has
    r.first->other = 0x40000000;
    EXPECT_EQ(text(r),
              "DIFFERS  k.ptx:17  st.global.f32   step 42, CTA (1,2,3), warp 4\n"
              "  lane 2 finds 0x3f800000 (1) in memory, where GPU X found 0x40000000 (2): no order "
              "of the other\n  threads that its run allows puts that there\n" +
                  ends);
    r.first->racing = validate::RacingStore{st, {4, 5, 6}, 7};
    EXPECT_EQ(text(r),
              "DIFFERS  k.ptx:17  st.global.f32   step 42, CTA (1,2,3), warp 4\n"
              "  lane 2 finds 0x3f800000 (1) in memory, where GPU X found 0x40000000 (2): no order "
              "of the other\n  threads that its run allows puts that there\n"
              "  k.ptx:17 stores there too, CTA (4,5,6), warp 7: a race, where nothing orders the\n"
              "  two (lockwarp check)\n" +
                  ends);
    r.first->racing.reset();
    // Of each width, what does not belong to it left out.
    constexpr uint64_t emulated = 0x8123456789abcdef, other = 0xfedcba9876543210;
    struct Row {
        isa::Type type;
        const char *emulated, *other;
    };
    for (const Row& row : std::initializer_list<Row>{
             {isa::Type::b8, "0xef", "0x10"},
             {isa::Type::u16, "0xcdef", "0x3210"},
             {isa::Type::b32, "0x89abcdef", "0x76543210"},
             {isa::Type::s64, "0x8123456789abcdef", "0xfedcba9876543210"},
             {isa::Type::none, "0x8123456789abcdef", "0xfedcba9876543210"}}) {
        r.first->emulated = emulated;
        r.first->other = other;
        r.program.operations[st].mod.type[0] = row.type;
        EXPECT_NE(text(r).find("  lane 2 finds " + std::string(row.emulated) +
                               " in memory, where GPU X found " + row.other + ": no order"),
                  std::string::npos)
            << text(r);
    }
}

TEST(TextReport, Faults) {
    Report r = report();
    r.first = difference(DifferenceKind::fault, st, 2);
    r.first->what = "the emulator trapped";
    EXPECT_EQ(text(r), "DIFFERS  k.ptx\n  the emulator trapped\n" + ends);
    r.trap.emplace();
    r.trap->kind = warp::TrapKind::misaligned;
    r.trap->operation = st;
    r.trap->cta = {1, 2, 3};
    r.trap->warp = 4;
    r.trap->step = 42;
    EXPECT_EQ(text(r),
              "DIFFERS  k.ptx:17  st.global.f32   step 42, CTA (1,2,3), warp 4\n"
              "  the emulator trapped\n" +
                  ends);
    r.first.reset();
    r.same_fault = true;
    r.fault = "CUDA_ERROR_MISALIGNED_ADDRESS";
    const std::string begin =
        "TRAP  k.ptx:17  st.global.f32   step 42, CTA (1,2,3), warp 4\n  both fault: the "
        "emulator: " +
        std::string(warp::trap_name(warp::TrapKind::misaligned));
    const std::string end =
        "\n  GPU X: CUDA_ERROR_MISALIGNED_ADDRESS\nGPU X, sm_90, driver 580.1, 1980 MHz\n";
    EXPECT_EQ(text(r), begin + end);
    r.trap->detail = "must be a multiple of 4";
    EXPECT_EQ(text(r), begin + ", must be a multiple of 4" + end);
}

TEST(TextReport, WhatWasCompared) {
    Report r = report();
    r.counts.masked = 12;
    r.counts.unwritten = 1;
    r.counts.taken = 2000;
    r.counts.places = 1;
    r.by_digest = true;
    r.varying_bytes = 1024;
    r.unknown_memory = {{0x1000, 1000}, {0x2000, 24}};
    const std::string begin =
        "identical: 1,234,567 register values compared, 999 memory bytes; 1,000 and 0 different; "
        "masked 12; never written 1; taken 2,000; ";
    const std::string end =
        "registers by a digest of 64 bits a lane\n"
        "1,024 bytes of memory differ between two runs on GPU X\n"
        "1,024 bytes of memory not compared: a register that nothing wrote\n"
        "GPU X, sm_90, driver 580.1, 1980 MHz\n";
    EXPECT_EQ(text(r), begin + "1 instruction with addresses left out\n" + end);
    r.counts.places = 2;
    EXPECT_EQ(text(r), begin + "2 instructions with addresses left out\n" + end);
}

TEST(TextReport, WhatWasNotComparedTheMostFirst) {
    Report r = report();
    const auto line = [&](uint32_t operation, const std::string& count) {
        return "  k.ptx:" + std::to_string(r.program.operations[operation].place.line) + "  " +
               r.spellings[operation] + ": " + count +
               " never written, taken from the GPU\n"
               "    it reads shared memory or a register that nothing wrote before\n";
    };
    r.by_operation[cvt].unwritten = 5;
    r.by_operation[mul].unwritten = 5000;
    EXPECT_NE(
        text(r).find("different\nnot compared:\n" + line(mul, "5,000") + line(cvt, "5") + "GPU X,"),
        std::string::npos)
        << text(r);
    // At most eight.
    for (uint32_t i = 0; i < 8; ++i) r.by_operation[i].unwritten = 100 + i;
    r.by_operation[mul].unwritten = 0;
    r.by_operation[st].masked = 7;
    const std::string eight = text(r);
    EXPECT_EQ(eight.find(line(cvt, "102")) < eight.find(line(mov, "100")), true) << eight;
    EXPECT_NE(eight.find("st.global.f32: 7 masked"), std::string::npos) << eight;
    EXPECT_EQ(eight.find("more instructions"), std::string::npos) << eight;
    r.by_operation[rsqrt].taken = 3;
    EXPECT_EQ(text(r).find("rsqrt"), std::string::npos);
    EXPECT_NE(text(r).find("\n  and 1 more instructions\nGPU X,"), std::string::npos) << text(r);
}

TEST(TextReport, WhatTheCompilerComputed) {
    Report r = report();
    const isa::Operation& o = r.program.operations[rsqrt];
    warp::Folded f;
    f.operation = rsqrt;
    f.place.line = 18;
    f.value = 0x3f800000;
    f.instruction = 0x40000000;
    const std::string spelled = "  k.ptx:18  " + std::string(isa::row(o.op).name) +
                                std::string(isa::row(o.mod.type[0]).name);
    const std::string one = spelled + ": 0x3f800000 (1), the instruction's is 0x40000000 (2)\n";
    const std::string begin = "of constants, with the values that NVIDIA's compiler computes:\n";
    EXPECT_EQ(validate::folded_text(r.program, {}, "k.ptx"), "");
    EXPECT_EQ(validate::folded_text(r.program, {f}, "k.ptx"), begin + one);
    warp::Folded divisor = f;
    divisor.divisor = true;
    EXPECT_EQ(validate::folded_text(r.program, {divisor}, "k.ptx"),
              begin + spelled +
                  ": by the reciprocal 0x3f800000 (1), the instruction's is 0x40000000 (2)\n");
    std::string eight = begin;
    for (int i = 0; i < 8; ++i) eight += one;
    EXPECT_EQ(validate::folded_text(r.program, std::vector(8, f), "k.ptx"), eight);
    EXPECT_EQ(validate::folded_text(r.program, std::vector(10, f), "k.ptx"),
              eight + "  and 2 more instructions\n");
    r.folded = {f};
    EXPECT_NE(text(r).find("different\n" + begin + one), std::string::npos) << text(r);
}

// A run of both sides says it, not only a report made by hand.
TEST(TextReport, OfARunHasWhatTheCompilerComputed) {
    validate::EmulatorEngine engine(isa::Arch::sm_90, false, 1);
    const launch::Case c = lies::case_of(
        ".reg .f32 %f<2>; .reg .b64 %d<2>;\nld.param.u64 %d1, [out];\n"
        "rsqrt.approx.f32 %f1, 0f43000000;\nst.global.f32 [%d1], %f1;\nret;\n");
    const Report r = run_lockstep(c, isa::Arch::sm_90, engine, {});
    EXPECT_EQ(r.problem, "");
    EXPECT_NE(text(r).find("k.ptx:8  rsqrt"), std::string::npos) << text(r);
    EXPECT_NE(text(r).find("the instruction's is 0x3db504f2"), std::string::npos) << text(r);
}

TEST(TextReport, DevicesWithAndWithoutADriver) {
    gpu::Device d;
    d.name = "the emulator";
    d.number = 80;
    EXPECT_EQ(validate::device_text(d), "the emulator, sm_80");
    d.driver = "13.0";
    EXPECT_EQ(validate::device_text(d), "the emulator, sm_80, driver 13.0");
    d.clock_mhz = 1;
    EXPECT_EQ(validate::device_text(d), "the emulator, sm_80, driver 13.0, 1 MHz");
}

TEST(TextReport, DigitsInGroups) {
    for (const auto& [n, said] :
         std::vector<std::pair<uint64_t, std::string>>{{0, "0"},
                                                       {999, "999"},
                                                       {1000, "1,000"},
                                                       {123456, "123,456"},
                                                       {1234567, "1,234,567"},
                                                       {UINT64_MAX, "18,446,744,073,709,551,615"}})
        EXPECT_EQ(validate::grouped(n), said);
}

}  // namespace
