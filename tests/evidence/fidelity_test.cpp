// SPDX-License-Identifier: Apache-2.0
// What is said of an instruction, and that it is no more than there is evidence for.
#include "evidence/fidelity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "emu/lockwarp.hpp"
#include "emu/num/dot.hpp"
#include "programs/suite.hpp"
#include "tests/results.hpp"

namespace {

using namespace lockwarp;
using evidence::Fidelity;
using evidence::FidelityRow;
using evidence::RecordedRow;

FidelityRow row_of(const std::vector<FidelityRow>& rows, std::string_view instruction) {
    const auto found = std::ranges::find(rows, instruction, &FidelityRow::instruction);
    EXPECT_NE(found, rows.end()) << instruction;
    return found == rows.end() ? FidelityRow{} : *found;
}

constexpr std::string_view mma = "mma.m16n8k16.f32.f16.f16.f32";

TEST(Fidelity, HasARowForEveryRowOfTheTables) {
    for (const isa::ArchRow& a : isa::arch_rows) {
        const std::vector<FidelityRow> rows = evidence::fidelity(a.arch, {});
        // Forms of mma, wmma.mma and wgmma stand there as variants, of wgmma by types.
        const auto of_variants = std::ranges::count_if(isa::forms(), [](const isa::Form& f) {
            return f.op == isa::Op::mma || f.op == isa::Op::wmma_mma || f.op == isa::Op::wgmma_mma;
        });
        EXPECT_EQ(rows.size(), isa::mma_variants().size() + isa::wmma_variants().size() +
                                   isa::warpgroup_types.size() + isa::forms().size() -
                                   static_cast<size_t>(of_variants) +
                                   isa::opcodes_not_executed().size());
        for (const FidelityRow& r : rows) {
            EXPECT_NE(r.fidelity, Fidelity::exact) << r.instruction << ": nothing is recorded";
            EXPECT_EQ(r.values, 0u);
            EXPECT_NE(r.fidelity == Fidelity::not_executed, !r.source.empty()) << r.instruction;
        }
    }
}

TEST(Fidelity, OfTheMatrixTablesIsTheirEvidence) {
    const auto on = [](isa::Arch arch) { return row_of(evidence::fidelity(arch, {}), mma); };
    EXPECT_EQ(on(isa::Arch::sm_90).fidelity, Fidelity::measured);
    // Published results are of one block of products; of a chain of blocks the literature speaks.
    EXPECT_EQ(on(isa::Arch::sm_80).fidelity, Fidelity::literature);
    EXPECT_EQ(
        row_of(evidence::fidelity(isa::Arch::sm_80, {}), "mma.m16n8k8.f32.f16.f16.f32").fidelity,
        Fidelity::replayed);
    EXPECT_EQ(on(isa::Arch::sm_75).fidelity, Fidelity::not_supported);
    EXPECT_EQ(
        on(isa::Arch::sm_80).source,
        num::find_dot_row(isa::Arch::sm_80, 16, 8, 16, isa::Type::f16, isa::Type::f32)->source);
}

TEST(Fidelity, OfWmmaIsItsArithmeticsAndItsFragments) {
    constexpr std::string_view f16 = "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32";
    constexpr std::string_view load =
        "wmma.load.a.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.f16";
    const auto on = [](isa::Arch arch, std::string_view instruction) {
        return row_of(evidence::fidelity(arch, {}), instruction);
    };
    EXPECT_EQ(on(isa::Arch::sm_90, f16).fidelity, Fidelity::measured);
    EXPECT_EQ(on(isa::Arch::sm_90, load).fidelity, Fidelity::measured);
    EXPECT_EQ(on(isa::Arch::sm_90, load).source, "H200");
    for (const isa::Arch arch : {isa::Arch::sm_75, isa::Arch::sm_80, isa::Arch::sm_89}) {
        EXPECT_EQ(on(arch, f16).fidelity, Fidelity::literature);
        EXPECT_NE(on(arch, f16).source.find("fragments: ptxas"), std::string::npos);
        EXPECT_EQ(on(arch, load).fidelity, Fidelity::literature);
    }
    EXPECT_NE(on(isa::Arch::sm_70, load).source.find("derived"), std::string::npos);
    EXPECT_EQ(on(isa::Arch::sm_75, "wmma.mma.m16n16k16.row.row.f32.bf16.bf16.f32").fidelity,
              Fidelity::not_supported);
    EXPECT_EQ(evidence::recorded_name("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), f16);
    EXPECT_EQ(
        evidence::recorded_name("wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32.satfinite"),
        "wmma.mma.m16n16k16.row.col.s32.u8.u8.s32");
    EXPECT_EQ(
        evidence::recorded_name("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
        "wmma.mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc");
    const std::vector<RecordedRow> recorded{{f16, "sm_90", "NVIDIA H200", "580", 4000, 0}};
    EXPECT_EQ(row_of(evidence::fidelity(isa::Arch::sm_90, recorded), f16).fidelity,
              Fidelity::exact);
}

TEST(Fidelity, IsExactWhereEverySpellingIsRecorded) {
    std::vector<RecordedRow> recorded{
        {"brev.b32", "sm_90", "NVIDIA H200", "580", 100, 0},
        {mma, "sm_90", "NVIDIA H200", "580", 4000, 0},
    };
    EXPECT_EQ(row_of(evidence::fidelity(isa::Arch::sm_90, recorded), mma).fidelity,
              Fidelity::exact);
    FidelityRow brev = row_of(evidence::fidelity(isa::Arch::sm_90, recorded), "brev.b32|.b64");
    EXPECT_EQ(brev.fidelity, Fidelity::literature);
    EXPECT_EQ(brev.recorded, 1u);
    EXPECT_EQ(brev.spellings, 2u);
    recorded.push_back({"brev.b64", "sm_90", "NVIDIA H200", "580", 100, 0});
    brev = row_of(evidence::fidelity(isa::Arch::sm_90, recorded), "brev.b32|.b64");
    EXPECT_EQ(brev.fidelity, Fidelity::exact);
    EXPECT_EQ(brev.values, 200u);
    EXPECT_EQ(brev.source, "NVIDIA H200, driver 580");
    // Of another architecture it says nothing.
    EXPECT_EQ(row_of(evidence::fidelity(isa::Arch::sm_89, recorded), "brev.b32|.b64").fidelity,
              Fidelity::literature);
    // A difference outweighs everything that is identical, from whichever machine.
    recorded.push_back({"brev.b64", "sm_90", "another", "580", 100, 1});
    recorded.push_back({mma, "sm_90", "another", "580", 100, 1});
    EXPECT_EQ(row_of(evidence::fidelity(isa::Arch::sm_90, recorded), "brev.b32|.b64").fidelity,
              Fidelity::inexact);
    EXPECT_EQ(row_of(evidence::fidelity(isa::Arch::sm_90, recorded), mma).fidelity,
              Fidelity::inexact);
}

TEST(Fidelity, OfTheApproximateFunctionsIsAnH200s) {
    const auto on = [](isa::Arch arch, std::string_view instruction) {
        return row_of(evidence::fidelity(arch, {}), instruction);
    };
    for (const std::string_view i :
         {"ex2.approx{.ftz}.f32", "rcp.approx.ftz.f64", "div.full{.ftz}.f32"}) {
        EXPECT_EQ(on(isa::Arch::sm_90, i).fidelity, Fidelity::measured) << i;
        EXPECT_EQ(on(isa::Arch::sm_80, i).fidelity, Fidelity::inexact) << i;
        EXPECT_EQ(on(isa::Arch::sm_80, i).source, "as on an H200") << i;
    }
    EXPECT_EQ(on(isa::Arch::sm_90, "rsqrt.approx.f64").fidelity, Fidelity::literature);
    EXPECT_EQ(on(isa::Arch::sm_80, "tanh.approx.bf16").fidelity, Fidelity::not_supported);
    EXPECT_EQ(on(isa::Arch::sm_80, "sqrt<rnd>{.ftz}.f32").fidelity, Fidelity::literature);
}

TEST(Fidelity, NamesOfRecordingsAreThoseOfTheTables) {
    EXPECT_EQ(evidence::recorded_name("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), mma);
    EXPECT_EQ(evidence::recorded_name("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32"),
              "mma.m16n8k32.s32.u8.s8.s32");
    EXPECT_EQ(evidence::recorded_name("add.f32"), "add.f32");
}

TEST(Fidelity, OfAProgramIsWhatItsInstructionsAre) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %r<9>;\nmov.b32 %r1, 0;\n"
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r1, %r1, %r1}, "
        "{%r1, %r1}, {%r1, %r1};\n"
        "activemask.b32 %r3;\nadd.u32 %r1, %r1, 1;\nadd.u32 %r1, %r1, 2;\nret;\n}\n");
    ASSERT_TRUE(parsed.diagnostics.empty());
    const isa::Resolved old = isa::resolve(parsed.module, isa::Arch::sm_80, "k");
    ASSERT_TRUE(old.diagnostics.empty()) << old.diagnostics[0].message;
    const auto notes = evidence::less_than_exact(old.program, parsed.module, {});
    ASSERT_EQ(notes.size(), 5u);
    EXPECT_EQ(notes[0].instruction, "activemask.b32");
    EXPECT_EQ(notes[0].fidelity, Fidelity::inexact);
    EXPECT_EQ(notes[1].instruction, "mma.m16n8k16.f16.f16.f16.f16");
    EXPECT_EQ(notes[2].instruction, "add.u32");
    EXPECT_EQ(notes[2].count, 2u);
    // On an H200 the mma was measured, and what is recorded is exact.
    const isa::Resolved hopper = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    const std::vector<RecordedRow> recorded{
        {"add.u32", "sm_90", "NVIDIA H200", "580", 10, 0},
        {"mov.b32", "sm_90", "NVIDIA H200", "580", 10, 0},
        {"ret", "sm_90", "NVIDIA H200", "580", 0, 0},
    };
    const auto fewer = evidence::less_than_exact(hopper.program, parsed.module, recorded);
    ASSERT_EQ(fewer.size(), 1u);
    EXPECT_EQ(fewer[0].instruction, "activemask.b32");
}

TEST(Recorded, ATableIsReadAsItIsWritten) {
    const std::vector<RecordedRow> rows{{"add.f32", "sm_90", "a \"machine\"", "1.0", 7, 2},
                                        {"ret", "sm_90", "a \"machine\"", "1.0", 0, 0}};
    const std::string text = evidence::write_recorded(rows);
    std::vector<RecordedRow> table;
    ASSERT_EQ(take(evidence::read_recorded(text), table), "");
    ASSERT_EQ(table.size(), 2u);
    EXPECT_EQ(table[0].device, "a \"machine\"");
    EXPECT_EQ(table[0].values, 7u);
    EXPECT_EQ(evidence::write_recorded(table), text);
}

TEST(Recorded, ALineThatIsNoRowIsNamed) {
    const std::string header = std::string(evidence::recorded_header) + "\n";
    const auto problem = [&](const std::string& rows) {
        return sentence_of(evidence::read_recorded(header + rows));
    };
    EXPECT_EQ(problem("ret\tsm_90\tH200\t580\t1\t0\n"), "");
    for (const char* row : {"\n", "ret\n", "ret\tsm_90\tH200\t580\t1\n",
                            "ret\tsm_90\tH200\t580\t1\t0\t0\n", "ret\tsm_9\tH200\t580\t1\t0\n",
                            "ret\tsm_90\t\t580\t1\t0\n", "ret\tsm_90\tH200\t580\t-1\t0\n",
                            "ret\tsm_90\tH200\t580\t1x\t0\n", "ret\tsm_90\tH200\t580\t1\t2\n"})
        EXPECT_TRUE(problem(row).starts_with("line 2: ")) << row;
    const std::string row = "ret\tsm_90\tH200\t580\t1\t0\n";
    EXPECT_TRUE(problem(row + row).starts_with("line 3: "));
    EXPECT_TRUE(problem(row + "add.f32\tsm_90\tH200\t580\t1\t0\n").starts_with("line 3: "));
    EXPECT_TRUE(sentence_of(evidence::read_recorded(row)).starts_with("line 1: "));
}

TEST(Fidelity, RecordedRowsAreSortedAndOfKnownInstructions) {
    ASSERT_GT(evidence::recorded_rows().size(), 10000u);
    std::set<std::string> known;
    for (const isa::MmaVariant& v : isa::mma_variants()) known.insert(std::string(v.key));
    for (const isa::WmmaVariant& v : isa::wmma_variants()) known.insert(std::string(v.key));
    const auto key = [](const RecordedRow& r) {
        return std::tuple(r.instruction, r.arch, r.device, r.driver);
    };
    const std::span<const RecordedRow> rows = evidence::recorded_rows();
    for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_TRUE(i == 0 || key(rows[i - 1]) < key(rows[i])) << rows[i].instruction;
        EXPECT_TRUE(isa::arch_named(rows[i].arch).has_value()) << rows[i].arch;
        EXPECT_TRUE((!rows[i].instruction.starts_with("mma.") &&
                     !rows[i].instruction.starts_with("wmma.mma.")) ||
                    known.contains(std::string(rows[i].instruction)))
            << rows[i].instruction;
        EXPECT_LE(rows[i].different, rows[i].values);
    }
}

TEST(Fidelity, RowsOfOneInstructionAreThoseOfTheTable) {
    const std::span<const RecordedRow> rows = evidence::recorded_rows();
    const auto fields = [](const RecordedRow& r) {
        return std::tuple(r.instruction, r.arch, r.device, r.driver, r.values, r.different);
    };
    size_t compared = 0;
    for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        while (end < rows.size() && rows[end].instruction == rows[begin].instruction) ++end;
        const std::vector<RecordedRow> found = evidence::recorded_rows_of(rows[begin].instruction);
        EXPECT_TRUE(std::ranges::equal(found, rows.subspan(begin, end - begin), {}, fields, fields))
            << rows[begin].instruction;
        compared += found.size();
    }
    EXPECT_EQ(compared, rows.size());
    for (const char* none : {"", "a", "add.f", "add.f3", "mma", "zzz", "~"})
        EXPECT_TRUE(evidence::recorded_rows_of(none).empty()) << none;
}

}  // namespace
