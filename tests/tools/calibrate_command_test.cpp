// SPDX-License-Identifier: Apache-2.0
// What lockwarp calibrate prints and writes: lists, kernels, what the emulator's own clock says,
// and the model beside a file of rows.
#include "tools/commands/calibrate_command.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "programs/clock_probe.hpp"
#include "tests/tools/process.hpp"

namespace {

using namespace lockwarp;
using tools::Ended;
using tools::Folder;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

TEST(Calibrate, TheAnswerThenTheProductsThenTheRest) {
    validate::Probes p;
    p.device = {"NVIDIA H200", "580.159.04", 90, 1980, uint64_t{150} << 30};
    p.rows["add.s32 chains1"] = {{1, 4.01}, {16, 8.3}};
    p.rows["mma.m16n8k16.f32.f16.f16.f32 chains1"] = {{1, 25.102}, {8, 25.4}};
    p.rows["mma.m16n8k16.f32.f16.f16.f32 chains4"] = {{1, 6.367}, {16, 24.76}};
    const std::string text = tools::calibrate_text(
        p, {{"movmatrix chains1, 1 warps", std::string(300, 'x') + "\nsecond line"}});
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "measured: 3 rows of 6 values; 1 failed");
    for (; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
    EXPECT_NE(text.find("25.1      6.19\n"), std::string::npos) << text;
    EXPECT_LT(text.find("mma.m16n8k16"), text.find("add.s32"));
    EXPECT_EQ(text.find("second line"), std::string::npos);
    EXPECT_TRUE(tools::calibrate_text({}, {}).starts_with("FAILED"));
}

TEST(Calibrate, WhatFailedIsOneLineThatAnyTerminalShows) {
    validate::Probes p;
    p.rows["a"] = {{1, 2.0}};
    const auto failed = [&](const std::string& why) {
        const auto lines = lines_of(tools::calibrate_text(p, {{"first", "ok"}, {"key", why}}));
        EXPECT_EQ(lines[0], "measured: 1 rows of 1 values; 2 failed");
        EXPECT_EQ(lines[lines.size() - 4], "failed: first");
        EXPECT_EQ(lines[lines.size() - 3], "  ok");
        EXPECT_EQ(lines[lines.size() - 2], "failed: key");
        return lines.back();
    };
    EXPECT_EQ(failed("a ~z\x7f\t\xc3\nmore"), "  a ~z???");
    EXPECT_EQ(failed(std::string(60, 'x')), "  " + std::string(60, 'x'));
    EXPECT_EQ(failed(std::string(61, 'x')), "  " + std::string(60, 'x'));
    EXPECT_EQ(lines_of(tools::calibrate_text({}, {{"k", "w"}}))[0],
              "FAILED: 0 rows of 0 values; 1 failed");
}

TEST(Calibrate, ListsKeysAndWarps) {
    const Folder folder;
    const Ended two = run_here(folder, {"calibrate", "--list", "--only", "add.s32"});
    EXPECT_EQ(two.status, 0) << two.err;
    EXPECT_EQ(two.out, "add.s32 chains1  1,4,8,16,32\nadd.s32 chains4  1,4,8,16,32\n");
    // All of an architecture, where none is chosen; of sm_90, where it is not said.
    const auto lines = lines_of(run_here(folder, {"calibrate", "--list", "--arch", "sm_70"}).out);
    const auto probes = programs::clock_probes(isa::Arch::sm_70);
    ASSERT_EQ(lines.size(), probes.size());
    for (size_t i = 0; i < lines.size(); ++i)
        EXPECT_TRUE(lines[i].starts_with(probes[i].key + "  ")) << lines[i];
    const std::vector<std::string> words{"calibrate", "--list", "--only", "mbarrier,wgmma"};
    const auto hopper = programs::clock_probes(isa::Arch::sm_90, {"mbarrier", "wgmma"});
    ASSERT_GT(hopper.size(), 0u);
    EXPECT_EQ(lines_of(run_here(folder, words).out).size(), hopper.size());
}

TEST(Calibrate, WritesEachKernelToAFile) {
    const Folder folder;
    const std::vector<std::string> only{"ldmatrix.x4>mma", "add.s32"};
    const auto probes = programs::clock_probes(isa::Arch::sm_90, only);
    ASSERT_GT(probes.size(), 2u);
    const Ended silent =
        run_here(folder, {"calibrate", "--ptx", "kernels", "--only", "ldmatrix.x4>mma,add.s32"});
    EXPECT_EQ(silent.status, 0) << silent.err;
    EXPECT_EQ(silent.out, "");
    EXPECT_EQ(folder.names("kernels").size(), probes.size());
    for (const programs::Probe& p : probes) {
        std::string name = "kernels/" + p.key + ".ptx";
        // Of what a shell would take for something else nothing stands in it.
        for (char& c : name)
            if (std::string_view(" >:+").find(c) != std::string_view::npos) c = '_';
        EXPECT_EQ(folder.read(name), p.ptx) << name;
    }
    const Ended listed =
        run_here(folder, {"calibrate", "--ptx", "more", "--list", "--only", "add.s32 chains1"});
    EXPECT_EQ(listed.out, "add.s32 chains1  1,4,8,16,32\n");
    EXPECT_EQ(folder.names("more"), std::vector<std::string>{"add.s32_chains1.ptx"});
    folder.write("file", "");
    const Ended refused = run_here(folder, {"calibrate", "--ptx", "file", "--only", "add.s32"});
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.err.find("file"), std::string::npos) << refused.err;
}

TEST(Calibrate, OnTheEmulatorWithTheWarpsThatAreChosen) {
    const Folder folder;
    const Ended e = run_here(folder, {"calibrate", "--emulator", "--arch", "sm_80", "--only",
                                      "add.s32", "--warps", "1,8", "--out", "rows.json"});
    EXPECT_EQ(e.status, 0) << e.err;
    const auto lines = lines_of(e.out);
    ASSERT_EQ(lines.size(), 4u) << e.out;
    EXPECT_EQ(lines[0], "measured: 2 rows of 4 values");
    EXPECT_EQ(lines[1], "the emulator as sm_80, sm_80");
    EXPECT_TRUE(lines[2].starts_with("cycles ") && lines[2].ends_with(" latency  interval"));
    const auto rows = nlohmann::json::parse(folder.read("rows.json"));
    EXPECT_EQ(rows["device"]["number"], 80);
    EXPECT_EQ(rows["date"].get<std::string>().size(), 10u);
    ASSERT_EQ(rows["rows"].size(), 2u);
    for (const auto& [key, row] : rows["rows"].items()) {
        EXPECT_TRUE(key.starts_with("add.s32 chains"));
        EXPECT_EQ(row.size(), 2u);
        EXPECT_TRUE(row.contains("1") && row.contains("8")) << key;
    }
    // A number of warps that the probe does not have.
    const Ended none =
        run_here(folder, {"calibrate", "--emulator", "--only", "add.s32", "--warps", "2"});
    EXPECT_EQ(none.status, 1);
    EXPECT_TRUE(none.out.starts_with("FAILED: 0 rows of 0 values\n")) << none.out;
}

// The errors are those of the model over what was measured, the greatest first. More warps than a
// CTA has are left out, and what is no probe is not looked at.
TEST(Calibrate, TheModelBesideAFileOfRows) {
    const Folder folder;
    const auto file = [&](const std::string& rows) {
        folder.write("rows.json",
                     R"({"schema":"lockwarp-probes/1","version":"0","date":"2026-01-01","device":)"
                     R"({"name":"a GPU","driver":"","number":90,"clock_mhz":0,"memory":0},)"
                     R"("rows":{)" +
                         rows + "}}");
    };
    // So that no other probes are made.
    const std::vector<std::string> words{"calibrate", "--against", "rows.json", "--only",
                                         "add.s32"};
    file(R"("add.s32 chains1":{"1":0.5,"4":100},"add.s32 chains4":{"1":1,"4":4},)"
         R"("no such probe":{"1":3})");
    const auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = words;
        all.insert(all.end(), more.begin(), more.end());
        const Ended e = run_here(folder, all);
        EXPECT_EQ(e.status, 0) << e.err;
        return lines_of(e.out);
    };
    const auto all = with({});
    ASSERT_EQ(all.size(), 2u + 4);
    EXPECT_TRUE(all[0].ends_with("% over 4 values: the model of H200 beside a GPU")) << all[0];
    EXPECT_TRUE(all[1].starts_with("worst rows ")) << all[1];
    double sum = 0, before = INFINITY;
    for (size_t i = 2; i < 6; ++i) {
        double measured = 0, model = 0, error = 0;
        unsigned warps = 0;
        ASSERT_EQ(
            std::sscanf(all[i].c_str() + 60, "%u %lf %lf %lf%%", &warps, &measured, &model, &error),
            4)
            << all[i];
        EXPECT_NEAR(error, 100 * (model / measured - 1), 3) << all[i];
        EXPECT_LE(std::abs(error), before) << all[i];
        before = std::abs(error);
        sum += before;
    }
    EXPECT_NEAR(std::stod(all[0].substr(std::string("mean error ").size())), sum / 4, 0.2);
    // The first of them.
    const auto two = with({"--lines", "2"});
    EXPECT_EQ(two, std::vector(all.begin(), all.begin() + 4));
    EXPECT_EQ(with({"--lines", "0"}).size(), 2u);
    EXPECT_EQ(with({"--lines", "5"}), all);
    EXPECT_TRUE(
        run_here(folder, {"calibrate", "--against", "rows.json", "--only", "add.s32 chains1"})
            .out.find("over 2 values") != std::string::npos);
    const Ended without =
        run_here(folder, {"calibrate", "--against", "rows.json", "--arch", "sm_100"});
    EXPECT_EQ(without.status, 2) << without.out;
    EXPECT_NE(without.err.find("that architecture has no cycle model"), std::string::npos);
    file(R"("no such probe":{"1":3})");
    const Ended nothing = run_here(folder, words);
    EXPECT_EQ(nothing.status, 2);
    EXPECT_NE(nothing.err.find("no row of the file is a probe here"), std::string::npos);
    folder.write("rows.json", "{");
    const Ended wrong = run_here(folder, words);
    EXPECT_EQ(wrong.status, 2);
    EXPECT_NE(wrong.err.find("rows.json: "), std::string::npos) << wrong.err;
}

TEST(Calibrate, WrongWordsSayWhatIsWrong) {
    const Folder folder;
    struct Row {
        std::vector<std::string> words;
        const char* said;
    };
    for (const Row& row : std::initializer_list<Row>{
             {{"--arch", "sm_1"}, "--arch sm_1 is not modelled"},
             {{"--list", "--only", "nonsense"}, "--only: no probe's key begins so"},
             {{"--emulator", "--only", "nonsense"}, "--only nonsense: no probe's key begins so"},
             {{"--emulator", "--only", "add.s32,nonsense"},
              "--only nonsense: no probe's key begins so"},
             {{"--emulator", "--arch", "sm_80", "--only", "wgmma"},
              "this machine has none of these instructions"}}) {
        std::vector<std::string> words = row.words;
        words.insert(words.begin(), "calibrate");
        const Ended e = run_here(folder, words);
        EXPECT_EQ(e.status, 2) << row.said;
        EXPECT_NE(e.err.find(row.said), std::string::npos) << e.err;
        EXPECT_EQ(e.out, "") << row.said;
    }
}

}  // namespace
