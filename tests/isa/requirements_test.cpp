// SPDX-License-Identifier: Apache-2.0
// What single modifiers, operands and constants demand: as ptxas 13.0 answers, target by target and
// version by version.
#include <set>

#include "emu/isa/requirements.hpp"

#include "tests/isa/instances.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

std::string answer(const std::string& instruction, std::string_view target,
                   std::string_view version) {
    const Resolved r = resolved(module_with({instruction}, target, version), Arch::sm_90);
    return r.diagnostics.empty() ? "" : r.diagnostics[0].message;
}

TEST(Requirements, TheLeastTargetAndVersion) {
    struct {
        std::string instruction;
        uint16_t target, version;
    } const rows[] = {
        {"ld.shared::cta.b32 %b32_1, [sh];", 70, 78},
        {"ld.shared::cluster.b32 %b32_1, [sh];", 90, 78},
        {"ld.param::entry.b32 %b32_1, [pa];", 70, 83},
        {"ld.global.L1::evict_last.b32 %b32_1, [%u64_39];", 70, 74},
        {"ld.global.L2::cache_hint.b32 %b32_1, [%u64_39], %b64_1;", 80, 74},
        {"ld.global.L2::128B.b32 %b32_1, [%u64_39];", 75, 74},
        {"ld.global.L2::256B.b32 %b32_1, [%u64_39];", 80, 74},
        {"fence.acq_rel.cluster;", 90, 78},
        {"cp.async.ca.shared::cta.global [sh], [%u64_39], 16;", 80, 70},
        {"cp.async.ca.shared.global [sh], [%u64_39], 16, %pred_1;", 80, 75},
        {"cvta.param.u64 %u64_1, %u64_2;", 70, 77},
        {"bar.cta.sync 0;", 70, 78},
        {"barrier.cluster.wait.acquire;", 90, 80},
        {"cvt.ftz.f32.bf16 %f32_1, %b16_1;", 90, 78},
        {"mov.u32 %u32_1, %clusterid.x;", 90, 78},
        {"mov.u32 %u32_1, %aggr_smem_size;", 90, 81},
        {"mov.u32 %u32_1, %reserved_smem_offset_cap;", 80, 76},
        {"mov.u64 %u64_1, %current_graph_exec;", 70, 80},
        {"mov.pred %pred_1, %is_explicit_cluster;", 90, 78},
        {"mbarrier.arrive.shared.b64 %b64_1, [sh];", 80, 70},
        {"mbarrier.arrive.shared.b64 _, [sh];", 80, 71},
        {"mbarrier.arrive.shared.b64 %b64_1, [sh], 2;", 90, 78},
        {"mbarrier.arrive.noComplete.shared.b64 %b64_1, [sh], 2;", 80, 70},
        {"mbarrier.arrive.relaxed.cta.shared.b64 %b64_1, [sh];", 90, 86},
        {"mbarrier.arrive.shared::cluster.b64 _, [sh];", 90, 80},
        {"mbarrier.test_wait.acquire.cta.shared.b64 %pred_1, [sh], %b64_1;", 80, 80},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [%u64_39], 16, "
         "[sh];",
         90, 80},
        {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sh], [%u64_39], 16, [sh];",
         90, 86},
        {"createpolicy.fractional.L2::evict_last.b64 %b64_1, 0.5;", 80, 74},
        {"discard.global.L2 [%u64_39], 128;", 80, 74},
        {"membar.proxy.alias;", 70, 75},
        {"nanosleep.u32 20;", 70, 62},
        {"abs.f16 %f16_1, %f16_2;", 70, 65},
    };
    constexpr std::pair<std::string_view, uint16_t> targets[] = {
        {"sm_70", 70}, {"sm_75", 75}, {"sm_80", 80}, {"sm_86", 86}, {"sm_89", 89}, {"sm_90", 90}};
    for (const auto& row : rows) {
        for (const auto& [name, number] : targets)
            EXPECT_EQ(answer(row.instruction, name, "9.0").empty(), number >= row.target)
                << row.instruction << " on " << name << ": "
                << answer(row.instruction, name, "9.0");
        for (const int version : {60, 62, 65, 70, 71, 74, 75, 76, 77, 78, 80, 81, 83, 86}) {
            const std::string text =
                std::to_string(version / 10) + "." + std::to_string(version % 10);
            EXPECT_EQ(answer(row.instruction, "sm_90", text).empty(), version >= row.version)
                << row.instruction << " in " << text;
        }
    }
}

TEST(Requirements, TheAssemblersWords) {
    const std::pair<std::string, std::string> rows[] = {
        {"ld.shared.L1::evict_last.b32 %b32_1, [sh];",
         "Modifier '.evict_last' cannot be applied to '.shared' space for instruction 'ld'"},
        {"st.local.L2::cache_hint.b32 [lo], %b32_1, %b64_1;",
         "Modifier '.L2::cache_hint' cannot be applied to '.local' space for instruction 'st'"},
        {"ld.const.L2::64B.b32 %b32_1, [co];",
         "State space incorrect for feature 'cache prefetching'"},
        {"ld.global.cg.L1::evict_last.b32 %b32_1, [%u64_39];",
         "Modifier '.evict_last' cannot be combined with modifier '.cg'"},
        {"barrier.sync 16;", "Barrier number '16' out of range, expected to be in range [0..15]"},
        {"bar.sync 0, 33;",
         "Number of threads participating in barrier must be in multiple of warp size"},
        {"barrier.arrive 0, 0;",
         "Instruction 'barrier.arrive' requires a non-zero thread count argument"},
        {"cp.async.ca.shared.global [sh], [%u64_39], 5;",
         "Argument 2 of instruction 'cp': unexpected value '5', expected to be 4 or 8 or 16"},
        {"cp.async.cg.shared.global [sh], [%u64_39], 8;",
         "Argument 2 of instruction 'cp': unexpected value '8', expected to be 16"},
        {"cp.async.ca.shared.global [sh], [%u64_39], 4, 8;",
         "Argument 3 of instruction 'cp.async': value '8' out of range, expected to be in range "
         "[0..4]"},
        {"pmevent 16;",
         "Argument 0 of instruction 'pmevent': value '16' out of range, expected to be in range "
         "[0..15]"},
        {"mbarrier.arrive.shared::cluster.b64 %b64_1, [sh];",
         "Sink '_' is expected as a destination operand for instruction 'mbarrier' with "
         "'.shared::cluster'"},
        {"mbarrier.test_wait.shared.b64 _, [sh], %b64_1;",
         "Result discard mode is not allowed for instruction 'mbarrier'"},
        {"add.s32 _, %b32_1, %b32_2;", "Result discard mode is not allowed for instruction 'add'"},
        {"mad.lo.s32 _, %b32_1, %b32_2, %b32_3;",
         "Result discard mode is not allowed for instruction 'mad'"},
        {"shl.b32 _, %b32_1, %b32_2;", "Result discard mode is not allowed for instruction 'shl'"},
        {"mov.b32 _, %b32_1;", "Result discard mode is not allowed for instruction 'mov'"},
        {"shfl.sync.idx.b32 _, %b32_1, %b32_2, 31, -1;",
         "Result discard mode is not allowed for instruction 'shfl'"},
        {"match.any.sync.b32 _, %b32_1, -1;",
         "Result discard mode is not allowed for instruction 'match'"},
        {"ld.global.v2.b32 {_, _}, [%u64_39];", "Unable to infer type of vector elements"},
        {"setp.eq.u32 _|_, %b32_1, %b32_2;", "Parsing error near '_': syntax error"},
        {"ld.global.v2.b128 {%b128_1, %b128_2}, [%u64_39];",
         "Vector type too large, exceeds 128 bit limit"},
        {"mov.f32 %f32_1, %tid.x;", "Special register argument not allowed for instruction 'mov'"},
        {"ld.global.b64 %b128_1, [%u64_39];", "Arguments mismatch for instruction 'ld'"},
        {"mov.b128 %b128_1, {%b16_1, %b16_2, %b16_3, %b16_4, %b16_5, %b16_6, %b16_7, %b16_8};",
         "Illegal vector size: 8"},
        {"setmaxnreg.inc.sync.aligned.u32 64;",
         "Instruction 'setmaxnreg.inc' not supported on .target 'sm_90'"},
    };
    for (const auto& [instruction, words] : rows)
        EXPECT_EQ(answer(instruction, "sm_90", "9.0"), words) << instruction;
    EXPECT_EQ(answer("bar.sync 0, 0;", "sm_90", "9.0"), "") << "0 stands for all threads";
}

// The first that is wrong with an instruction is said, and no more of it.
TEST(Requirements, OneMessageAnInstruction) {
    for (const std::string instruction :
         {"bar.sync 16, 33;", "cp.async.ca.shared.global [sh], [%u64_39], 5, 8;"}) {
        const Resolved r = resolved(module_with({instruction}, "sm_90", "9.0"), Arch::sm_90);
        EXPECT_EQ(r.diagnostics.size(), 1u) << messages(r.diagnostics);
    }
}

TEST(Requirements, WmmasTypesInTheAssemblersWords) {
    struct {
        std::string instruction, feature, target;
    } const rows[] = {
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%b32_1, %b32_2}, [%u64_39];",
         "WMMA with integer types", "sm_72"},
        {"wmma.load.b.sync.aligned.col.m8n8k32.global.u4 {%b32_1}, [%u64_39];",
         "WMMA with sub-byte integer types", "sm_75"},
        {"wmma.load.a.sync.aligned.row.m8n8k128.global.b1 {%b32_1}, [%u64_39];",
         "WMMA with bit types", "sm_75"},
        {"wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%b32_1, %b32_2}, "
         "{%b32_3}, "
         "{%b32_4}, {%b32_5, %b32_6};",
         "WMMA with bit types", "sm_75"},
    };
    for (const auto& row : rows) {
        const std::string feature = "Feature '" + row.feature + "' requires ";
        EXPECT_EQ(answer(row.instruction, "sm_70", "7.1"),
                  feature + ".target " + row.target + " or higher");
        EXPECT_EQ(answer(row.instruction, "sm_75", "6.2"),
                  feature + "PTX ISA .version 6.3 or later");
    }
}

TEST(Requirements, RegistersOf128Bits) {
    const auto declared = [](std::string_view version) {
        return messages(
            resolved(module_of(".reg .b128 %q<2>;", "sm_90", version), Arch::sm_90).diagnostics);
    };
    EXPECT_EQ(declared("8.3"), "");
    EXPECT_EQ(declared("8.2"),
              "6:12: Feature 'Type .b128' requires PTX ISA .version 8.3 or later\n");
}

TEST(Requirements, EveryRowIsMetBySomeSpelling) {
    std::set<const Requirement*> met;
    const auto meet = [&](std::string_view opcode, std::string_view modifiers) {
        for (const Requirement* d : demands(opcode, modifiers_of(modifiers))) met.insert(d);
    };
    for (const Form& form : forms())
        if (form.op != Op::mma && form.op != Op::wgmma_mma)  // millions, most of them no variant
            for (const std::string& modifiers : expansions(form)) meet(form.opcode, modifiers);
    for (const MmaVariant& v : mma_variants()) {
        const std::string text = instance(v);
        const size_t dot = text.find('.');
        meet("mma", text.substr(dot, text.find(' ') - dot));
    }
    for (const Requirement& q : requirements())
        EXPECT_TRUE(met.contains(&q)) << q.opcode << " " << q.modifier << " " << q.with;
}

}  // namespace
}  // namespace lockwarp::isa
