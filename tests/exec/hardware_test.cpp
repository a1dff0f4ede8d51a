// SPDX-License-Identifier: Apache-2.0
// Recorded programs against what an H200 answered, every output byte.
#include <algorithm>

#include "tests/exec/support.hpp"
#include "tests/hardware/recordings.hpp"

namespace lockwarp::exec::hardware_test {

namespace {

using Names = std::vector<std::string>;

void mma_names(Names& out) {
    for (const char* order : {"row.row", "row.col", "col.row", "col.col"})
        for (const char* types : {"f16.f16.f16.f16", "f32.f16.f16.f16", "f32.f16.f16.f32"})
            out.push_back(std::string("mma/m8n8k4.") + order + "." + types);
    for (const char* name :
         {"m16n8k8.f16.f16.f16.f16", "m16n8k16.f16.f16.f16.f16", "m16n8k8.f32.f16.f16.f32",
          "m16n8k16.f32.f16.f16.f32", "m16n8k8.f32.bf16.bf16.f32", "m16n8k16.f32.bf16.bf16.f32",
          "m16n8k4.f32.tf32.tf32.f32", "m16n8k8.f32.tf32.tf32.f32", "m8n8k4.f64.f64.f64.f64",
          "m16n8k4.f64.f64.f64.f64", "m16n8k8.f64.f64.f64.f64", "m16n8k16.f64.f64.f64.f64"})
        out.push_back(std::string("mma/") + name);
    for (const char* shape : {"m8n8k16", "m16n8k16", "m16n8k32"})
        for (const char* clamped : {"", ".satfinite"})
            for (const char* types : {"s8.s8", "s8.u8", "u8.s8", "u8.u8"})
                out.push_back(std::string("mma/") + shape + clamped + ".s32." + types + ".s32");
    for (const char* shape : {"m16n8k16", "m16n8k32"})
        for (const char* types : {"e4m3.e4m3", "e4m3.e5m2", "e5m2.e4m3", "e5m2.e5m2"})
            for (const char* result : {"f16", "f32"})
                out.push_back(std::string("mma/") + shape + "." + result + "." + types + "." +
                              result);
    for (const char* shape : {"m8n8k32", "m16n8k32", "m16n8k64"})
        for (const char* clamped : {"", ".satfinite"})
            for (const char* types : {"s4.s4", "s4.u4", "u4.s4", "u4.u4"})
                out.push_back(std::string("mma/") + shape + clamped + ".s32." + types + ".s32");
    for (const char* shape : {"m8n8k128", "m16n8k128", "m16n8k256"})
        for (const char* how : {"xor", "and"})
            out.push_back(std::string("mma/") + shape + "." + how + ".s32.b1.b1.s32");
    for (const char* types : {"f16.f16.f16.f16", "f32.f16.f16.f32", "f32.bf16.bf16.f32"})
        for (const char* shape : {"m16n8k16", "m16n8k32"})
            out.push_back(std::string("mma/sp.") + shape + "." + types);
    for (const char* shape : {"m16n8k32", "m16n8k64"})
        out.push_back(std::string("mma/sp.") + shape + ".s32.s8.s8.s32");
}

void wmma_names(Names& out) {
    const auto add = [&](std::string name) { out.push_back("wmma/wmma." + std::move(name)); };
    for (const char* orders : {"row.row", "row.col", "col.row", "col.col"}) {
        const std::string both = std::string(".") + orders + ".";
        const std::string c = both == ".row.row." || both == ".col.col." ? "col." : "row.";
        for (const char* shape : {"m16n16k16", "m32n8k16", "m8n32k16"}) {
            for (const char* types : {"f16.f16.f16", "f16.f16.f32", "f32.f16.f16", "f32.f16.f32"})
                add(shape + both + c + types);
            add(shape + both + "row.f32.bf16.f32");
        }
        add("m16n16k8" + both + "row.f32.tf32.f32");
        add("m8n8k4" + both + "row.f64.f64.f64");
    }
    for (const char* shape : {"m16n16k16", "m32n8k16", "m8n32k16"})
        for (const char* type : {"s8", "u8"}) {
            add(std::string(shape) + ".row.col.row.s32." + type + ".s32");
            add(std::string(shape) + ".col.row.col.satfinite.s32." + type + ".s32");
        }
    for (const char* type : {"s4", "u4"})
        add(std::string("m8n8k32.row.col.row.s32.") + type + ".s32");
    for (const char* how : {"xor", "and"})
        add(std::string("m8n8k128.row.col.row.s32.b1.s32.") + how + ".popc");
}

void move_names(Names& out) {
    for (const char* opcode : {"ldmatrix", "stmatrix"})
        for (const char* count : {".x1", ".x2", ".x4"})
            for (const char* order : {"", ".trans"})
                out.push_back(std::string("move/") + opcode + count + order);
}

void alu_names(Names& out) {
    for (const char* name : {"movmatrix",
                             "cvt.rn.f16x2.f32",
                             "cvt.rz.f16x2.f32",
                             "cvt.rn.relu.f16x2.f32",
                             "cvt.rn.bf16x2.f32",
                             "cvt.rz.bf16x2.f32",
                             "cvt.rna.tf32.f32",
                             "cvt.rn.tf32.f32",
                             "cvt.f32.f16",
                             "fma.rn.f16x2",
                             "fma.rn.bf16x2",
                             "add.f16x2",
                             "mul.f16x2",
                             "max.f16x2",
                             "fma.rn.f32",
                             "fma.rn.ftz.f32",
                             "add.rz.f32",
                             "max.f32",
                             "rcp.rn.f32",
                             "sqrt.rn.f32",
                             "prmt.b32",
                             "lop3.b32.0x96",
                             "shfl.bfly.3",
                             "shfl.idx",
                             "shfl.up",
                             "shfl.down",
                             "dp4a.s32.u32",
                             "cvt.rni.s32.f32",
                             "ex2.approx.ftz.f32",
                             "rcp.approx.ftz.f32",
                             "cvt.rn.satfinite.e4m3x2.f32",
                             "cvt.rn.satfinite.e5m2x2.f32",
                             "cvt.rn.f16x2.e4m3x2",
                             "cvt.rn.f16x2.e5m2x2"})
        out.push_back(std::string("alu/") + name);
}

Names executed() {
    Names out;
    mma_names(out);
    wmma_names(out);
    move_names(out);
    alu_names(out);
    return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::ranges::replace_if(
        name, [](char c) { return c == '.' || c == '/'; }, '_');
    return name;
}

class Recorded : public testing::TestWithParam<std::string> {};

TEST_P(Recorded, EveryOutputByteIsTheHardwares) {
    const hardware::Recording recorded = hardware::read(GetParam());
    ASSERT_GT(recorded.out.size(), 0u) << "nothing to compare";

    Given given;
    given.arch = isa::Arch::sm_90;
    given.grid.x = static_cast<uint32_t>(recorded.cases);
    given.block.x = recorded.threads;
    // A byte that the program leaves as it is differs from the recording in one of two runs.
    for (const uint8_t canary : {uint8_t{0x5a}, uint8_t{0xa5}}) {
        given.buffers = {bytes_of(recorded.in), Bytes(recorded.out.size() * 4, canary)};
        const Outcome outcome = run_well(program_of(recorded.ptx, given.arch, "k"), given);
        const Words actual = words_of(outcome.buffers[1]);
        size_t differences = 0;
        for (size_t i = 0; i < recorded.out.size(); ++i)
            if (actual[i] != recorded.out[i] && differences++ < 4)
                ADD_FAILURE() << "case " << i / recorded.out_words << ", word "
                              << i % recorded.out_words << ": 0x" << std::hex << actual[i]
                              << ", the H200 gave 0x" << recorded.out[i];
        EXPECT_EQ(differences, 0u) << "of " << recorded.out.size() << " words";
        EXPECT_EQ(words_of(outcome.buffers[0]), recorded.in);
    }
}

INSTANTIATE_TEST_SUITE_P(H200, Recorded, testing::ValuesIn(executed()), test_name);

TEST(Recordings, EachIsListedOnce) {
    Names listed = executed();
    std::ranges::sort(listed);
    Names recorded;
    for (const char* folder : {"alu", "mma", "move", "wmma"})
        for (std::string& name : hardware::names(folder)) recorded.push_back(std::move(name));
    EXPECT_EQ(listed, recorded);
    EXPECT_EQ(recorded.size(), 232u);
}

}  // namespace

}  // namespace lockwarp::exec::hardware_test
