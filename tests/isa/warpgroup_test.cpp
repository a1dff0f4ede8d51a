// SPDX-License-Identifier: Apache-2.0
// wgmma: what is accepted, and the words for what is not (ptxas 13.0).
#include "emu/isa/warpgroup.hpp"

#include <gtest/gtest.h>

#include <set>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "tests/print.hpp"

namespace lockwarp::isa {
namespace {

struct Module {
    std::string target = "sm_90a";
    std::string version = "8.4";
};

std::string text_of(const std::string& line, const Module& m) {
    return ".version " + m.version + "\n.target " + m.target + R"(
.address_size 64
.visible .entry k()
{
.reg .f32 %f<8>; .reg .b32 %a<8>; .reg .b64 %da, %db; .reg .pred %q;
)" + line + "\nret;\n}\n";
}

// The first error; "" where there is none.
std::string error_of(const std::string& line, const Module& m = {}) {
    const ptx::Parsed parsed = ptx::parse(text_of(line, m));
    if (!parsed.diagnostics.empty()) return parsed.diagnostics[0].message;
    const Arch arch = arch_named(m.target).value_or(Arch::sm_90);
    const Resolved resolved = resolve(parsed.module, arch, "k");
    return resolved.diagnostics.empty() ? "" : resolved.diagnostics[0].message;
}

constexpr const char* f = " {%f0,%f1,%f2,%f3}";
constexpr const char* s = " {%a0,%a1,%a2,%a3}";
constexpr const char* h = " {%a0,%a1}";
const std::string mma = "wgmma.mma_async.sync.aligned";

TEST(WarpgroupSyntax, WhatIsAccepted) {
    for (const std::string& line : {
             mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q,1,1,0,0;",
             mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,1,-1,1,0,1;",
             mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,!%q,-1,-1,1,1;",
             mma + ".m64n8k16.f32.bf16.bf16" + f + "," + s + ",%db,%q,1,1,0;",
             mma + ".m64n8k16.f32.f16.f16" + s + ",%da,5,%q,1,1,0,0;",
             mma + ".m64n8k16.f16.f16.f16" + h + ",%da,%db,%q,1,1,0,0;",
             mma + ".m64n8k8.f32.tf32.tf32" + f + ",%da,%db,%q,1,1;",
             mma + ".m64n8k32.f32.e4m3.e5m2" + f + ",%da,%db,%q,1,1;",
             mma + ".m64n8k32.f16.e4m3.e5m2" + h + "," + s + ",%db,%q,1,1;",
             mma + ".m64n8k32.s32.s8.u8" + s + ",%da,%db,%q;",
             mma + ".m64n8k32.satfinite.s32.s8.s8" + s + ",%da,%db,%q;",
             mma + ".m64n8k32.s32.s8.s8.satfinite" + s + ",%da,%db,%q;",
             mma + ".m64n8k256.s32.b1.b1.and.popc" + s + ",%da,%db,%q;",
             mma + ".f32.f16.f16.m64n8k16" + f + ",%da,%db,%q,1,1,0,0;",
             std::string("wgmma.mma_async.sync.m64n8k16.f32.f16.f16") + f + ",%da,%db,%q,1,1,0,0;",
             std::string("wgmma.fence.sync.aligned;"),
             std::string("wgmma.fence.sync;"),
             std::string("wgmma.commit_group.sync.aligned;"),
             std::string("wgmma.wait_group.sync.aligned 0;"),
             std::string("wgmma.wait_group.sync.aligned 65;"),
         })
        EXPECT_EQ(error_of(line), "") << line;
}

TEST(WarpgroupSyntax, TheWordsForWhatIsNot) {
    const std::string floats = "'wgmma.mma_async with floating point types'";
    const std::string integers = "'wgmma.mma_async with integer types'";
    const std::string mismatch = "Arguments mismatch for instruction 'wgmma.mma_async'";
    const std::string types = "Unexpected instruction types specified for 'wgmma.mma_async'";
    const Module old{"sm_90a", "8.0"}, older{"sm_90", "7.8"}, plain{"sm_90", "8.0"},
        ampere{"sm_80", "8.0"};
    struct Row {
        std::string line;
        std::string words;
        Module module = {};
    };
    for (const Row& row : std::vector<Row>{
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q,1,1,0;", mismatch},
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q;", mismatch},
             {mma + ".m64n8k16.f32.f16.f16" + f + "," + s + ",%db,%q,1,1,0,0;", mismatch},
             {mma + ".m64n8k8.f32.tf32.tf32" + f + ",%da,%db,%q,1,1,0,0;", mismatch},
             {mma + ".m64n8k32.s32.s8.s8" + s + ",%da,%db,%q,1,1;", mismatch},
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%a0,%db,%q,1,1,0,0;", mismatch},
             {mma + ".m64n8k16.f32.f16.f16" + f + "," + f + ",%db,%q,1,1,0;", mismatch},
             {mma + ".m64n8k32.s32.s8.s8" + f + ",%da,%db,%q;", mismatch},
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q,%a0,1,0,0;", mismatch},
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q,0,1,0,0;",
              "Argument 4 of instruction " + floats +
                  ": unexpected value '0', expected to be -1 or 1"},
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q,-2,1,0,0;",
              "Argument 4 of instruction " + floats +
                  ": unexpected value '-2', expected to be -1 or 1"},
             {mma + ".m64n8k16.f32.f16.f16" + f + "," + s + ",%db,%q,1,3,0;",
              "Argument 5 of instruction " + floats +
                  ": unexpected value '3', expected to be -1 or 1"},
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q,1,1,2,0;",
              "Argument 6 of instruction " + floats +
                  ": unexpected value '2', expected to be 0 or 1"},
             {mma + ".m64n12k16.f32.f16.f16" + f + ",%da,%db,%q,1,1,0,0;",
              "Unknown modifier '.m64n12k16'"},
             {mma + ".m64n264k16.f32.f16.f16" + f + ",%da,%db,%q,1,1,0,0;",
              "Unknown modifier '.m64n264k16'"},
             {mma + ".m64n40k256.s32.b1.b1.and.popc" + s + ",%da,%db,%q;",
              "Unknown modifier '.m64n40k256'"},
             {mma + ".m64n8k8.f32.f16.f16" + f + ",%da,%db,%q,1,1,0,0;",
              "Illegal instruction types specified for " + floats + " with shape '.m64n8k8'"},
             {mma + ".m64n8k16.f32.tf32.tf32" + f + ",%da,%db,%q,1,1;",
              "Illegal instruction types specified for " + floats + " with shape '.m64n8k16'"},
             {mma + ".m64n40k32.s32.s8.s8" + s + ",%da,%db,%q;",
              "Illegal matrix shape '.m64n40k32' for instruction " + integers},
             {mma + ".m64n8k16.s32.s8.s8" + s + ",%da,%db,%q;",
              "Illegal matrix shape '.m64n8k16' for instruction " + integers},
             {mma + ".m64n8k16.f16.bf16.bf16" + h + ",%da,%db,%q,1,1,0,0;", types},
             {mma + ".m64n8k16.f32.f16.bf16" + f + ",%da,%db,%q,1,1,0,0;", types},
             {mma + ".m64n8k32.s32.s8.s8.and.popc" + s + ",%da,%db,%q;", types},
             {mma + ".m64n8k32.s32.s8.u8" + s + ",%da,%db,%q;",
              "Feature 'WGMMA with mixed integer types' requires PTX ISA .version 8.4 or later",
              old},
             {mma + ".m64n8k256.s32.b1.b1.xor.popc" + s + ",%da,%db,%q;",
              "Incorrect operations specified for wgmma.mma_async with boolean type with shape "
              "'.m64n8k256'"},
             {mma + ".m64n8k256.s32.b1.b1" + s + ",%da,%db,%q;",
              "Unexpected number of operations specified for wgmma.mma_async with boolean type "
              "with shape '.m64n8k256'"},
             {mma + ".m64n8k16.satfinite.f32.f16.f16" + f + ",%da,%db,%q,1,1,0,0;",
              "Illegal modifier '.satfinite' for instruction " + floats},
             {mma + ".m64n8k16.f32.f16.f16 {_,%f1,%f2,%f3},%da,%db,%q,1,1,0,0;",
              "Sink '_' not allowed as a source operand"},
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q,1,1,0,0;",
              "Instruction " + floats + " not supported on .target 'sm_90'", plain},
             {mma + ".m64n8k32.s32.s8.s8" + s + ",%da,%db,%q;",
              "Instruction " + integers + " not supported on .target 'sm_80'", ampere},
             {mma + ".m64n8k16.f32.f16.f16" + f + ",%da,%db,%q,1,1,0,0;",
              "Feature 'WGMMA with floating point types' requires PTX ISA .version 8.0 or later",
              older},
             {"wgmma.fence.sync.aligned;", "Feature 'WGMMA' requires PTX ISA .version 8.0 or later",
              older},
             {"wgmma.commit_group.sync.aligned;",
              "Instruction 'wgmma.commit_group' not supported on .target 'sm_90'", plain},
             {"wgmma.wait_group.sync.aligned -1;",
              "Argument 0 of instruction 'wgmma.wait_group': unexpected value '-1', expected to "
              "be non-negative integer"},
             {"wgmma.wait_group.sync.aligned %a0;",
              "Arguments mismatch for instruction 'wgmma.wait_group'"},
             {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16" + std::string(f) +
                  ",%da,%db,%a0,2,%q,1,1,0,0;",
              "Argument 4 of instruction 'Sparse wgmma.mma_async with floating point types': "
              "unexpected value '2', expected to be 0 or 1"},
         })
        EXPECT_EQ(error_of(row.line, row.module), row.words) << row.line;
}

TEST(WarpgroupVariants, EachHasItsKeyOnce) {
    std::set<std::string_view> keys;
    for (const WarpgroupVariant& v : warpgroup_variants()) {
        EXPECT_TRUE(keys.insert(v.key()).second) << v.key();
        const WarpgroupTypes& t = *v.types;
        EXPECT_EQ(find_warpgroup(t.d, t.a, t.b, v.n, t.k), &v);
        EXPECT_EQ(unsigned{t.k} * bits(t.a), 256u);
    }
    EXPECT_EQ(warpgroup_variants()[15].key(), "wgmma.m64n128k16.f16.f16.f16");
    EXPECT_EQ(warpgroup_variants().back().key(), "wgmma.m64n256k256.s32.b1.b1.and.popc");
    EXPECT_EQ(find_warpgroup(Type::f32, Type::f16, Type::f16, 12, 16), nullptr);
    EXPECT_EQ(find_warpgroup(Type::s32, Type::s8, Type::s8, 40, 32), nullptr);
}

}  // namespace
}  // namespace lockwarp::isa
