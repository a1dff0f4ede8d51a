// SPDX-License-Identifier: Apache-2.0
// lockwarp fidelity, and the table that it makes from recordings.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "emu/lockwarp.hpp"
#include "programs/suite.hpp"
#include "tests/results.hpp"
#include "tests/tools/process.hpp"
#include "tools/commands/fidelity_command.hpp"
#include "tools/report/fidelity_table.hpp"
#include "tools/report/summary_json.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/recording.hpp"

namespace lockwarp::tools {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(FidelityCommand, ALineForEachArchitecture) {
    const Folder folder;
    const Ended e = run_here(folder, {"fidelity"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(too_wide(e.out), "");
    for (const isa::ArchRow& a : isa::arch_rows)
        EXPECT_TRUE(contains(e.out, std::string(a.name) + ": ")) << a.name;
}

TEST(FidelityCommand, ALineForEachInstructionOfOne) {
    const Folder folder;
    for (const isa::ArchRow& a : isa::arch_rows) {
        const Ended e = run_here(folder, {"fidelity", "--arch", std::string(a.name)});
        EXPECT_EQ(e.status, 0) << e.err;
        EXPECT_EQ(too_wide(e.out), "");
        EXPECT_TRUE(e.out.starts_with(std::string(a.name) + ": "));
        EXPECT_TRUE(contains(e.out, "\nmma.m16n8k16.f32.f16.f16.f32 "));
        EXPECT_TRUE(contains(e.out, "\nldmatrix "));
        EXPECT_TRUE(contains(e.out, "wgmma"));
    }
    const Ended wrong = run_here(folder, {"fidelity", "--arch", "sm_12"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_TRUE(contains(wrong.err, "sm_12")) << wrong.err;
}

TEST(FidelityCommand, HelpSaysWhatTheWordsMean) {
    const Folder folder;
    const Ended e = run_here(folder, {"fidelity", "--help"});
    EXPECT_EQ(e.status, 0);
    EXPECT_EQ(too_wide(e.out), "");
    EXPECT_TRUE(contains(e.out, fidelity_help()));
}

TEST(FidelityCommand, Json) {
    const Folder folder;
    const Ended e = run_here(folder, {"fidelity", "--json"});
    EXPECT_EQ(e.status, 0);
    const nlohmann::json j = nlohmann::json::parse(e.out);
    EXPECT_EQ(j["schema"], "lockwarp-fidelity/1");
    ASSERT_EQ(j["architectures"].size(), isa::arch_rows.size());
    for (const nlohmann::json& of : j["architectures"]) {
        size_t all = 0;
        for (const auto& [word, n] : of["counts"].items()) all += n.get<size_t>();
        EXPECT_EQ(of["instructions"].size(), all);
        EXPECT_GT(all, 200u);
    }
}

programs::SuiteProgram program(const std::string& name) {
    for (programs::SuiteProgram& p : programs::suite(isa::Arch::sm_90))
        if (p.name == name) return std::move(p);
    ADD_FAILURE() << name;
    return {};
}

// A recording with the emulator as the machine.
std::string recorded(const std::string& name, isa::Arch machine) {
    const programs::SuiteProgram p = program(name);
    validate::EmulatorEngine engine(machine);
    validate::Answer answer;
    run_lockstep(p.c, machine, engine, {}, &answer);
    answer.device.name = "a \"machine\"";
    answer.device.driver = "1.0";
    const std::vector<uint8_t> bytes = validate::write_recording(
        {p.name + ".ptx", p.ptx, std::string(isa::row(machine).name), "a test", p.c, answer});
    return {bytes.begin(), bytes.end()};
}

TEST(FidelityTable, IsWhatTheRecordingsHold) {
    const Folder folder;
    folder.write("brev.lwr", recorded("brev", isa::Arch::sm_90));
    folder.write("other.json", "{}");
    folder.write("notes.txt", "ignored");
    RecordedTable table;
    ASSERT_EQ(take(recorded_table(folder.path.string()), table), "");
    EXPECT_GT(table.rows, 5u);
    EXPECT_TRUE(contains(table.text, "\tsm_90\ta \"machine\"\t1.0\t")) << table.text;
    // Each lane of 16 warps.
    EXPECT_TRUE(contains(table.text, "\nbrev.b32\tsm_90\ta \"machine\"\t1.0\t512\t0\n"))
        << table.text;
    EXPECT_TRUE(contains(table.text, "\nret\tsm_90\ta \"machine\"\t1.0\t0\t0\n")) << table.text;
    // Twice the recordings, twice the values.
    folder.write("again.lwr", recorded("brev", isa::Arch::sm_90));
    ASSERT_EQ(take(recorded_table(folder.path.string()), table), "");
    EXPECT_TRUE(contains(table.text, "\t1024\t0\n")) << table.text;
}

TEST(FidelityTable, SaysWhatDiffers) {
    const Folder folder;
    validate::Recording r;
    const std::string file = recorded("brev", isa::Arch::sm_90);
    ASSERT_EQ(
        take(validate::read_recording({reinterpret_cast<const uint8_t*>(file.data()), file.size()}),
             r),
        "");
    // One bit of the first result of brev: the record of warp 0, lane 0.
    std::vector<uint8_t>& words = r.answer.tracks[0].words;
    const isa::Resolved resolved = isa::resolve(r.c.module, isa::Arch::sm_90, "k");
    size_t at = 0;
    for (size_t i = 0; i + 8 <= words.size(); i += 8) {
        uint64_t number = 0;
        std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(i), 8,
                    reinterpret_cast<uint8_t*>(&number));
        if (number != 0 && number <= resolved.program.operations.size() &&
            resolved.program.operations[number - 1].op == isa::Op::brev && i % 256 == 0) {
            at = i + 256;
            break;
        }
    }
    ASSERT_NE(at, 0u);
    words[at] ^= 1;
    const std::vector<uint8_t> changed = validate::write_recording(r);
    folder.write("brev.lwr", {changed.begin(), changed.end()});
    RecordedTable table;
    ASSERT_EQ(take(recorded_table(folder.path.string()), table), "");
    EXPECT_TRUE(contains(table.text, "\t512\t1\n")) << table.text;
    // What has no results of its own is not said to be identical.
    EXPECT_FALSE(contains(table.text, "\nret\t")) << table.text;
}

TEST(FidelityTable, AddsReportsOfFuzz) {
    const Folder folder;
    validate::Summary summary;
    summary.command = "fuzz";
    gpu::Device device;
    device.name = "NVIDIA H200";
    device.driver = "580";
    device.number = 90;
    summary.devices = {device};
    summary.cases = 1;
    summary.counts.values = 96;
    summary.counts.different = 1;
    summary.instructions["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"].values = 64;
    summary.instructions["brev.b32"].values = 32;
    summary.instructions["brev.b32"].different = 1;
    summary.instructions["popc.b32"].values = 1;
    summary.instructions["clz.b32"].masked = 1;  // and nothing was compared
    folder.write("fuzz.json", summary_json(summary));
    RecordedTable table;
    ASSERT_EQ(take(recorded_table(folder.path.string()), table), "");
    EXPECT_EQ(table.rows, 3u);
    EXPECT_TRUE(contains(table.text, "\npopc.b32\tsm_90\tNVIDIA H200\t580\t1\t0\n")) << table.text;
    EXPECT_FALSE(contains(table.text, "clz.b32")) << table.text;
    EXPECT_TRUE(
        contains(table.text, "\nmma.m16n8k16.f32.f16.f16.f32\tsm_90\tNVIDIA H200\t580\t64\t0\n"))
        << table.text;
    EXPECT_TRUE(contains(table.text, "\nbrev.b32\tsm_90\tNVIDIA H200\t580\t32\t1\n")) << table.text;
    // A field of a line is plain text.
    for (const char* odd : {"a\tb", "\n", "\x7f", "\xc3\xa9"})
        for (std::string* const of : {&summary.devices[0].name, &summary.devices[0].driver}) {
            const std::string before = std::exchange(*of, odd);
            folder.write("fuzz.json", summary_json(summary));
            EXPECT_TRUE(contains(take(recorded_table(folder.path.string()), table),
                                 "a device whose name or driver is not plain text"))
                << odd;
            *of = before;
        }
    for (const char* plain : {"", " ", "~"}) {
        summary.devices[0].driver = plain;
        folder.write("fuzz.json", summary_json(summary));
        EXPECT_EQ(take(recorded_table(folder.path.string()), table), "");
    }
    summary.devices[0].driver = device.driver;
    // Whose result it is must be known.
    device.number = 80;
    summary.devices.push_back(device);
    folder.write("fuzz.json", summary_json(summary));
    EXPECT_TRUE(contains(take(recorded_table(folder.path.string()), table), "several machines"));
}

TEST(FidelityTable, RefusesWhatIsDamaged) {
    const Folder folder;
    std::string file = recorded("brev", isa::Arch::sm_90);
    file.back() = static_cast<char>(file.back() ^ 1);
    folder.write("brev.lwr", file);
    RecordedTable table;
    EXPECT_TRUE(contains(take(recorded_table(folder.path.string()), table), "brev.lwr"));
    EXPECT_FALSE(recorded_table((folder.path / "none").string()));
}

TEST(FidelityTable, TheCommittedOneIsThatOfTheCommittedRecordings) {
    const std::string golden = LOCKWARP_SOURCE_DIR "/tests/golden";
    RecordedTable table;
    if (!std::filesystem::exists(golden) || std::filesystem::is_empty(golden))
        GTEST_SKIP() << "no recordings in tests/golden";
    ASSERT_EQ(take(recorded_table(golden), table), "");
    EXPECT_GT(table.rows, 0u);
    std::ifstream file(LOCKWARP_SOURCE_DIR "/evidence/recorded.tsv");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_TRUE(text.str() == table.text)
        << "make it anew: lockwarp fidelity --from tests/golden > evidence/recorded.tsv";
}

}  // namespace
}  // namespace lockwarp::tools
