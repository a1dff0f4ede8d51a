// SPDX-License-Identifier: Apache-2.0
// Instructions by name: CuTe's names word for word, parts of names, and what is said of others.
#include <gtest/gtest.h>

#include <map>

#include "lanes/instruction.hpp"
#include "lanes/questions.hpp"

namespace lockwarp::lanes::names_test {
namespace {

// The key; of what is none the message.
std::string found(std::string_view name, std::optional<isa::Arch> arch = std::nullopt) {
    const Found f = find(name, arch);
    EXPECT_EQ(f.instruction.has_value(), f.error.empty()) << name << f.error;
    return f.instruction ? f.instruction->key : "! " + f.error;
}

// `lockwarp list`: the line that counts them, and each with its name.
TEST(List, NamesEachInstruction) {
    for (const std::optional<isa::Arch> arch : {std::optional<isa::Arch>(), {isa::Arch::sm_80}}) {
        const std::string text = render(list(arch), Format::text).value_or("");
        for (const Instruction& i : all_instructions(arch))
            EXPECT_NE(text.find(" " + i.key), std::string::npos) << i.key;
    }
}

TEST(CuteNames, OfProducts) {
    const std::pair<const char*, const char*> rows[] = {
        {"SM80_16x8x16_F32F16F16F32_TN", "mma.m16n8k16.f32.f16.f16.f32"},
        {"SM80_16x8x8_F16F16F16F16_TN", "mma.m16n8k8.f16.f16.f16.f16"},
        {"SM80_16x8x8_F32BF16BF16F32_TN", "mma.m16n8k8.f32.bf16.bf16.f32"},
        {"SM80_16x8x4_F32TF32TF32F32_TN", "mma.m16n8k4.f32.tf32.tf32.f32"},
        {"SM80_8x8x4_F64F64F64F64_TN", "mma.m8n8k4.f64.f64.f64.f64"},
        {"SM80_16x8x32_S32S8S8S32_TN", "mma.m16n8k32.s32.s8.s8.s32"},
        {"SM80_16x8x32_S32U8S8S32_TN_SATURATE", "mma.m16n8k32.s32.u8.s8.s32"},
        {"SM80_16x8x64_S32S4U4S32_TN", "mma.m16n8k64.s32.s4.u4.s32"},
        {"SM80_16x8x256_S32U1U1S32_TN_XORPOPC", "mma.m16n8k256.s32.b1.b1.s32.xor.popc"},
        {"SM80_8x8x128_S32U1U1S32_TN_ANDPOPC", "mma.m8n8k128.s32.b1.b1.s32.and.popc"},
        {"SM89_16x8x32_F32E4M3E5M2F32_TN", "mma.m16n8k32.f32.e4m3.e5m2.f32"},
        {"SM70_8x8x4_F32F16F16F32_TN", "mma.m8n8k4.row.col.f32.f16.f16.f32"},
        {"SM70_8x8x4_F32F16F16F32_NT", "mma.m8n8k4.col.row.f32.f16.f16.f32"},
        {"SM70_8x8x4_F16F16F16F16_NN", "mma.m8n8k4.col.col.f16.f16.f16.f16"},
        {"SM70_8x8x4_F16F16F16F16_TT", "mma.m8n8k4.row.row.f16.f16.f16.f16"},
        {"SM80_8x8x4_C64C64C64C64_TN", "mma.m8n8k4.f64.f64.f64.f64"},
        {"SM80_8x8x4_GC64C64C64GC64_TN", "mma.m8n8k4.f64.f64.f64.f64"},
        {"SM90_16x8x8_C64C64C64C64_TN", "mma.m16n8k8.f64.f64.f64.f64"},
        {"SM90_64x8x16_F32F16F16_SS", "wgmma.m64n8k16.f32.f16.f16"},
        {"SM90_64x256x16_F32BF16BF16_RS", "wgmma.m64n256k16.f32.bf16.bf16"},
        {"SM90_64x24x32_F16E5M2E4M3_SS_TN", "wgmma.m64n24k32.f16.e5m2.e4m3"},
        {"SM90::GMMA::MMA_64x16x32_S32S8U8_RS_TN_SATURATE", "wgmma.m64n16k32.s32.s8.u8"},
        {"SM90_64x8x256_S32U1U1_SS_TN", "wgmma.m64n8k256.s32.b1.b1.and.popc"},
        {"SM75_U32x1_MOVM_T", "movmatrix.trans"},
        {"SM75_U32x1_LDSM_N", "ldmatrix.x1"},
        {"SM75_U32x2_LDSM_N", "ldmatrix.x2"},
        {"SM75_U32x4_LDSM_N", "ldmatrix.x4"},
        {"SM75_U16x2_LDSM_T", "ldmatrix.x1.trans"},
        {"SM75_U16x4_LDSM_T", "ldmatrix.x2.trans"},
        {"SM75_U16x8_LDSM_T", "ldmatrix.x4.trans"},
        {"SM90_U32x1_STSM_N", "stmatrix.x1"},
        {"SM90_U32x4_STSM_N", "stmatrix.x4"},
        {"SM90_U16x8_STSM_T", "stmatrix.x4.trans"},
    };
    for (const auto& [name, key] : rows) EXPECT_EQ(found(name), key) << name;
}

// Each differs from a name that is one in a word.
TEST(CuteNames, ThatAreNone) {
    for (const char* name : {"SM80_16x8x16_F32F16F16F32_NT",
                             "SM80_16x8x16_F32F16F16F32_NN",
                             "SM80_16x8x16_F32F16F16F32_TT",
                             "SM80_16x8x16_F32F16F16F32_XX",
                             "SM80_16x8x16_F32F16F16F32",
                             "SM80_16x8x16_F32F16F16_TN",
                             "SM80_16x8x16_F32F16F16F32F32_TN",
                             "SM80_16x8_F32F16F16F32_TN",
                             "SM80_16x8x16x1_F32F16F16F32_TN",
                             "SM80_16x8x_F32F16F16F32_TN",
                             "SM80_16x8xa_F32F16F16F32_TN",
                             "SM80_16x8x16_F32F16F17F32_TN",
                             "SM80_16x8x16_f32f16f16f32_TN",
                             "SM80_16x8x16_F32F16F16F32_TN_FAST",
                             "SM80_8x8x128_S32U1U1S32_TN_XORPOPC_SATURATE",
                             "SM70_8x8x4_F32F16F16F32_XY",
                             "SM90_64x8x16_F32F16F16F32_SS",
                             "SM90_64x8x16_F32F16_SS",
                             "SM90_64x8x16_F32F16F16_SS_NT",
                             "SM90_64x8x16_F32F16F16_SR",
                             "SM80_64x8x16_F32F16F16_SS",
                             "SM90_8x8x4_C64C64C64C64_TN_SATURATE",
                             "SM80_8x8x4_C64C64C64C64_TN_SATURATE",
                             "SM80_8x8x4_C64C64C64C64_NT",
                             "SM80_8x8x4_GC64C64C64GC64",
                             "SM90_16x8x8_C64C64C64C64_TN_X",
                             "SM80_16x8x8_C64C64C64C64_TN",
                             "SM90_16x8x8_GC64C64C64GC64_TN",
                             "SM75_U32x1_MOVM_N",
                             "SM75_U32x1_LDSM_T",
                             "SM75_U16x2_LDSM_N",
                             "SM75_U16x3_LDSM_T",
                             "SM90_U16x9_STSM_T",
                             "SM75_U32x2_LDSM_X",
                             "SM75_U32x4_LDXM_N",
                             "SM75_U32x10_LDSM_N",
                             "SM75_U32x_LDSM_N",
                             "SM75_U64x1_LDSM_N",
                             "SM90_U32x1_LDSM_N",
                             "SM75_U32x1_STSM_N",
                             "SM75_U32x1_LDSM",
                             "SM75_U32x1_LDSM_N_X",
                             "SM_",
                             "SM80_"})
        EXPECT_EQ(found(name), "! no CuTe operation '" + std::string(name) + "'") << name;
    EXPECT_TRUE(
        found("SM75_U32x3_LDSM_N")
            .starts_with("! no CuTe operation 'SM75_U32x3_LDSM_N'; the nearest:\n  ldmatrix.x"));
    EXPECT_TRUE(found("SM90_64x7x16_F32F16F16_SS")
                    .starts_with("! no CuTe operation 'SM90_64x7x16_F32F16F16_SS'; the nearest:\n"
                                 "  wgmma.m64n"));
}

TEST(NameParts, AsManyWordsAsTellOneFromAll) {
    const std::pair<const char*, const char*> rows[] = {
        {"m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32"},
        {"m16n8k16.f16", "mma.m16n8k16.f16.f16.f16.f16"},
        {"mma.m16n8k8.f32.f16", "mma.m16n8k8.f32.f16.f16.f32"},
        {"mma.sync.m16n8k32.row.col.s32.s8.s8.s32", "mma.m16n8k32.s32.s8.s8.s32"},
        {"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32", "mma.m16n8k32.s32.u8.u8.s32"},
        {"m16n8k32.s32.s8", "mma.m16n8k32.s32.s8.s8.s32"},
        {"m16n8k32.s32.u8", "mma.m16n8k32.s32.u8.u8.s32"},
        {"m8n8k4.f32.f16.f16.f32", "mma.m8n8k4.row.col.f32.f16.f16.f32"},
        {"m8n8k4.f32.f16.f16.f16", "mma.m8n8k4.row.col.f32.f16.f16.f16"},
        {"mma.m8n8k4.row.row.f32.f16.f16.f32", "mma.m8n8k4.row.row.f32.f16.f16.f32"},
        {"mma.sp.m16n8k32.f32.f16.f16.f32", "mma.sp.m16n8k32.f32.f16.f16.f32"},
        {"m8n8k128.s32.b1.b1.s32.xor.popc", "mma.m8n8k128.s32.b1.b1.s32.xor.popc"},
        {"wmma.m16n16k16.f32.f16.f16.f32", "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32"},
        {"wmma.m16n16k8.f32.tf32", "wmma.mma.m16n16k8.row.col.f32.tf32.tf32.f32"},
        {"wgmma.m64n8k16.f32.f16", "wgmma.m64n8k16.f32.f16.f16"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "wgmma.m64n8k16.f32.f16.f16"},
        {"ldmatrix.x1", "ldmatrix.x1"},
        {"ldmatrix.x4.trans", "ldmatrix.x4.trans"},
        {"ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16", "ldmatrix.x2"},
        {"stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "stmatrix.x2.trans"},
        {"movmatrix.sync.aligned.m8n8.trans.b16", "movmatrix.trans"},
        {"movmatrix", "movmatrix.trans"},
    };
    for (const auto& [name, key] : rows) EXPECT_EQ(found(name), key) << name;
}

TEST(NameParts, ThatFitSeveralOrNone) {
    EXPECT_EQ(found("ldmatrix"),
              "! 'ldmatrix' fits 3 instructions:\n  ldmatrix.x1\n  ldmatrix.x2\n  ldmatrix.x4");
    EXPECT_EQ(found("ldmatrix.trans"),
              "! 'ldmatrix.trans' fits 3 instructions:\n  ldmatrix.x1.trans\n  ldmatrix.x2.trans\n"
              "  ldmatrix.x4.trans");
    EXPECT_EQ(found("m8n8k128"),
              "! no instruction 'm8n8k128'; the nearest:\n  mma.m8n8k128.s32.b1.b1.s32.xor.popc\n"
              "  mma.m8n8k128.s32.b1.b1.s32.and.popc\n  mma.m8n8k16.s32.s8.s8.s32")
        << "what b1 does with its products has to be written";
    EXPECT_EQ(found("m16n8k16"),
              "! 'm16n8k16' fits 16 instructions:\n  mma.m16n8k16.f16.f16.f16.f16\n"
              "  mma.m16n8k16.f32.f16.f16.f32\n  mma.m16n8k16.f32.bf16.bf16.f32\n"
              "  mma.m16n8k16.f64.f64.f64.f64\n  mma.m16n8k16.s32.s8.s8.s32\n"
              "  mma.m16n8k16.s32.s8.u8.s32\n  mma.m16n8k16.s32.u8.s8.s32\n"
              "  mma.m16n8k16.s32.u8.u8.s32\n  and 8 more (lockwarp info)");
    EXPECT_EQ(found("wgmma.m64n8k16"),
              "! 'wgmma.m64n8k16' fits 3 instructions:\n  wgmma.m64n8k16.f16.f16.f16\n"
              "  wgmma.m64n8k16.f32.f16.f16\n  wgmma.m64n8k16.f32.bf16.bf16");
    EXPECT_EQ(found("m16n8k17.f32.f16"),
              "! no instruction 'm16n8k17.f32.f16'; the nearest:\n  mma.m16n8k16.f32.f16.f16.f32\n"
              "  mma.m16n8k8.f32.f16.f16.f32\n  mma.m16n8k16.f32.bf16.bf16.f32");
    EXPECT_EQ(found("mma.m16n8k15"),
              "! no instruction 'mma.m16n8k15'; the nearest:\n  mma.m16n8k16.f16.f16.f16.f16\n"
              "  mma.m16n8k16.f32.f16.f16.f32\n  mma.m16n8k16.f32.bf16.bf16.f32");
    EXPECT_EQ(found("ldmatrix.x3"),
              "! no instruction 'ldmatrix.x3'; the nearest:\n  ldmatrix.x1\n"
              "  ldmatrix.x2\n  ldmatrix.x4");
    EXPECT_EQ(found("ldmatrx.x4"),
              "! no instruction 'ldmatrx.x4'; the nearest:\n  ldmatrix.x4\n"
              "  ldmatrix.x4.trans\n  ldmatrix.x1");
    EXPECT_EQ(found("nothing.like.it.at.all"),
              "! no instruction 'nothing.like.it.at.all'; lockwarp info lists them");
    EXPECT_EQ(found(std::string(120, 'q')),
              "! no instruction '" + std::string(120, 'q') + "'; lockwarp info lists them");
    EXPECT_EQ(found(std::string(121, 'q')), "! no instruction '" + std::string(121, 'q') + "'");
    EXPECT_EQ(found(std::string(200, 'q')), "! no instruction '" + std::string(200, 'q') + "'");
    EXPECT_EQ(found(std::string(201, 'q')), "! a name of 201 characters is none");
    for (const char* name : {"", "...", "sync.aligned", "m8n8.shared.b16"})
        EXPECT_EQ(found(name), "! '" + std::string(name) + "' names no instruction");
}

TEST(NamesOfArchitectures, WhoseInstructionsTheyAre) {
    EXPECT_EQ(found("ldmatrix.x4", isa::Arch::sm_75), "ldmatrix.x4");
    std::string others;
    for (const isa::ArchRow& a : isa::arch_rows)
        if (a.number >= 75) others += (others.empty() ? "" : ", ") + std::string(a.name);
    EXPECT_EQ(found("ldmatrix.x4", isa::Arch::sm_70),
              "! sm_70 does not have ldmatrix.x4; these do: " + others);
    EXPECT_EQ(found("wgmma.m64n8k16.f32.f16.f16", isa::Arch::sm_80),
              "! sm_80 does not have wgmma.m64n8k16.f32.f16.f16; these do: sm_90");
    EXPECT_EQ(found("SM75_U32x4_LDSM_N", isa::Arch::sm_70),
              "! sm_70 does not have ldmatrix.x4; these do: " + others);
    EXPECT_EQ(find("ldmatrix.x4", isa::Arch::sm_75).instruction->arch, isa::Arch::sm_75);
    EXPECT_EQ(find("ldmatrix.x4", std::nullopt).instruction->arch, isa::Arch::sm_90);
    EXPECT_EQ(make("nothing", std::nullopt).error, "no instruction 'nothing'");
}

// Without one: sm_90 where it has it, else the first.
TEST(NamesOfArchitectures, EachListIsWhatCanBeMade) {
    std::map<isa::Arch, std::vector<std::string>> made;
    std::map<std::string, isa::Arch> usual;
    for (const std::string& key : all_keys())
        for (const isa::ArchRow& a : isa::arch_rows) {
            const Found f = make(key, a.arch);
            if (!f.instruction) continue;
            EXPECT_EQ(f.instruction->key, key);
            EXPECT_EQ(f.instruction->arch, a.arch);
            made[a.arch].push_back(key);
            if (usual.emplace(key, a.arch).second) continue;
            if (a.arch == isa::Arch::sm_90) usual[key] = a.arch;
        }
    EXPECT_EQ(usual.size(), all_keys().size());
    for (const Instruction& i : all_instructions(std::nullopt))
        EXPECT_EQ(i.arch, usual.at(i.key)) << i.key;
    for (const isa::ArchRow& a : isa::arch_rows) {
        std::vector<std::string> listed;
        for (const Instruction& i : all_instructions(a.arch)) {
            listed.push_back(i.key);
            EXPECT_EQ(i.arch, a.arch);
            const bool is_short = i.family == Family::wgmma || i.family == Family::wmma;
            for (const Operand& o : i.operands) EXPECT_TRUE(!is_short || o.held.empty()) << i.key;
        }
        EXPECT_EQ(listed, made[a.arch]) << a.name;
    }
}

}  // namespace
}  // namespace lockwarp::lanes::names_test
