// SPDX-License-Identifier: Apache-2.0
// The commands that need a GPU, on one that stands for it: lockwarp exec puts the emulator's driver
// where they look for NVIDIA's. Where the two have different architectures shared memory begins
// elsewhere, and that is a difference.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>

#include "tests/tools/process.hpp"

#ifndef __SANITIZE_ADDRESS__  // what exec loads before a program would come before its runtime
namespace lockwarp::tools {
namespace {

std::string storing_kernel(const std::string& line_15) {
    return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b32 %r<6>; .reg .b64 %d<3>; .shared .align 4 .b8 tile[64];
ld.param.u64 %d1, [p];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 64, %r1;
add.u32 %r4, %r3, 5;
add.u32 %r5, %r4, %r3;
mul.wide.u32 %d2, %r3, 4;
add.u64 %d1, %d1, %d2;
st.global.u32 [%d1], %r5;
)" + line_15 +
           "\nret; }\n";
}

class GpuCommands : public testing::Test {
  protected:
    void SetUp() override {
        const auto write = [&](const std::string& name, const std::string& line, int ctas) {
            folder.write(name + ".ptx", storing_kernel(line));
            folder.write(name + ".json", R"({"schema": "lockwarp-launch/1", "ptx": ")" + name +
                                             R"(.ptx", "grid": [)" + std::to_string(ctas) +
                                             R"(], "block": [64], "buffers": {"A": {"zeros": 1024}},
                             "args": [{"buffer": "A"}], "outputs": ["A"]})");
        };
        write("k", "", 4);
        write("small", "", 1);
        write("differs", "mov.u32 %r1, tile;", 4);
        write("traps", "trap;", 4);
        folder.write("wrong.json", "{");
    }
    // The machine: "sm_80", or "sm_80 2" of two.
    Ended on(const std::string& machine, std::vector<std::string> words,
             const std::vector<std::string>& environment = {}) {
        const size_t blank = machine.find(' ');
        const std::string devices = blank == std::string::npos ? "1" : machine.substr(blank + 1);
        words.insert(words.begin(), {"exec", "--arch", machine.substr(0, blank), "--devices",
                                     devices, "--", lockwarp::tools::program()});
        return run(folder, words, environment);
    }
    Folder folder;
};

const std::string a100 = "NVIDIA A100-SXM4-80GB, sm_80, driver CUDA 13.0, 1410 MHz\n";
const std::string h200 = "NVIDIA H200, sm_90, driver CUDA 13.0, 1980 MHz\n";

TEST_F(GpuCommands, ValidateComparesWhatIsChosen) {
    struct Row {
        std::vector<std::string> options;
        const char* values;
    };
    // 4 CTAs of 2 warps; 8 registers of each lane are written.
    for (const Row& row : std::vector<Row>{{{}, "2,048"},
                                           {{"--words"}, "2,048"},
                                           {{"--digests"}, "2,048"},
                                           {{"--final"}, "0"},
                                           {{"--only", "add"}, "768"},
                                           {{"--only", "add,mad"}, "1,024"},
                                           {{"--lines", "10-11"}, "512"},
                                           {{"--lines", "10,12-13"}, "768"},
                                           {{"--ctas", "3"}, "512"},
                                           {{"--ctas", "1-2", "--warps", "1"}, "512"},
                                           {{"--warps", "0-1,31"}, "2,048"},
                                           {{"--arch", "sm_86"}, "2,048"}}) {
        std::vector<std::string> words{"validate", "k.json"};
        words.insert(words.end(), row.options.begin(), row.options.end());
        const Ended e = on("sm_80", words);
        std::string line;
        for (const std::string& word : row.options) line += word + " ";
        EXPECT_EQ(e.status, 0) << line << e.err;
        const bool by_digest = line == "--digests ";
        EXPECT_EQ(e.out, std::string("identical: ") + row.values +
                             " register values compared, 1,024 memory bytes; 0 and 0 different\n" +
                             (by_digest ? "registers by a digest of 64 bits a lane\n" : "") + a100)
            << line;
    }
    const Ended stats =
        on("sm_80", {"validate", LOCKWARP_SOURCE_DIR "/gpu/kernels/attention.json", "--stats"});
    EXPECT_NE(stats.out.find("\nseconds: kernel compiled"), std::string::npos) << stats.out;
    const size_t begin = stats.out.find("\n  emulator beside the GPU ");
    ASSERT_NE(begin, std::string::npos) << stats.out;
    double together = 0, alone = 0, times = 0;
    ASSERT_EQ(std::sscanf(stats.out.c_str() + begin,
                          "\n  emulator beside the GPU %lf, emulator alone %lf: %lf times",
                          &together, &alone, &times),
              3)
        << stats.out;
    // Of numbers with three digits behind the point.
    EXPECT_LE(times * (alone - 0.001), together + 0.001) << stats.out;
    EXPECT_GE((times + 0.01) * (alone + 0.001), together - 0.001) << stats.out;
    const Ended steps = on("sm_80", {"validate", "k.json", "--max-steps", "3"});
    EXPECT_EQ(steps.status, 1) << steps.out;
    EXPECT_TRUE(steps.out.starts_with("DIFFERS  k.ptx:9  mad.lo.u32   step 0, ")) << steps.out;
}

TEST_F(GpuCommands, ValidateRefusesWhatIsNoRange) {
    const std::string ctas = ": expected a number or a range, such as 0-3, x fastest";
    const std::string warps = ": expected numbers and ranges from 0 to 31, such as 0,2-3";
    const std::string lines = ": expected numbers and ranges, such as 40-80,95";
    struct Row {
        std::string option, value, error;
    };
    for (const Row& row : std::vector<Row>{{"--ctas", "x", ctas},
                                           {"--ctas", "1-", ctas},
                                           {"--ctas", "2-1", ctas},
                                           {"--ctas", "1,2", ctas},
                                           {"--ctas", "1-2x", ctas},
                                           {"--ctas", "-1", ctas},
                                           {"--ctas", "18446744073709551616", ctas},
                                           {"--ctas", "1-18446744073709551616", ctas},
                                           {"--warps", "32", warps},
                                           {"--warps", "0-32", warps},
                                           {"--warps", "0-18446744073709551615", warps},
                                           {"--warps", "32,0", warps},
                                           {"--warps", "0,", warps},
                                           {"--warps", "3-1", warps},
                                           {"--lines", "x", lines},
                                           {"--lines", "9,8-7", lines}}) {
        const Ended e = run_here(folder, {"validate", "k.json", row.option + "=" + row.value});
        EXPECT_EQ(e.status, 2) << row.option << row.value;
        EXPECT_EQ(e.err, "error: " + row.option + " " + row.value + row.error + "\n");
    }
}

TEST_F(GpuCommands, ValidateSumsUpSeveral) {
    struct Row {
        std::string machine;
        std::vector<std::string> words;
        int status;
        std::string end;
    };
    const std::string bytes = ", 2,048 memory bytes; 0 and 0 different\n";
    for (const Row& row : std::vector<Row>{
             {"sm_80",
              {"k.json", "small.json"},
              0,
              "identical: 2 launch files; 2,560 register values compared" + bytes + a100},
             {"sm_80 2",
              {"k.json", "small.json", "--gpus", "all", "--jobs", "1"},
              0,
              "identical: 2 launch files; 2,560 register values compared" + bytes + a100},
             {"sm_80 2",
              {"k.json", "small.json", "--gpus", "1,0", "--jobs", "4"},
              0,
              "identical: 2 launch files; 2,560 register values compared" + bytes + a100},
             {"sm_80",
              {"k.json", "small.json", "--shard", "2/2"},
              0,
              "identical: 512 register values compared, 1,024 memory bytes; 0 and 0 different\n" +
                  a100},
             {"sm_90",
              {"k.json", "differs.json", "--arch", "sm_80", "--save", "s"},
              1,
              h200 + "differs: differs.json\n"},
             {"sm_80",
              {"k.json", "traps.json"},
              1,
              "DIFFERS: 1 of 2 launch files; 2,048 register values compared, 1,024 memory bytes; 0 "
              "and 0 different\n" +
                  a100 + "differs: traps.json\n"},
             {"sm_80",
              {"small.json", "k.json", "--ctas", "2"},
              2,
              "FAILED: 1 of 2 launch files not compared, 0 different; 512 register values "
              "compared, "
              "1,024 memory bytes; 0 and 0 different\n" +
                  a100 + "not compared: small.json\n"}}) {
        std::vector<std::string> words = row.words;
        words.insert(words.begin(), "validate");
        words.insert(words.end(), {"--json", "r.json"});
        const Ended e = on(row.machine, words);
        EXPECT_EQ(e.status, row.status) << row.end << e.err;
        EXPECT_TRUE(e.out.ends_with(row.end)) << e.out;
        // The report says the same.
        const Ended shown = run_here(folder, {"report", "show", "r.json"});
        EXPECT_EQ(shown.status, row.status) << shown.out;
        const auto report = nlohmann::json::parse(folder.read("r.json"));
        EXPECT_EQ(report["command"], "validate");
        EXPECT_EQ(report["devices"].size(), 1u);
    }
    EXPECT_EQ(folder.names("s").size(), 1u) << "a recording of the difference";
}

// Each as soon as it has ended.
TEST_F(GpuCommands, ValidateSaysEachOfSeveral) {
    const Ended e = on("sm_90", {"validate", "k.json", "differs.json", "small.json", "--arch",
                                 "sm_80", "--ctas", "1-2", "--jobs", "1"});
    EXPECT_EQ(e.status, 2) << e.err;
    const std::regex text(
        "identical  k\\.json  1,024 register values, 1,024 memory bytes, [0-9]+\\.[0-9] s\n"
        "differs\\.json  [0-9]+\\.[0-9] s\nDIFFERS  differs\\.ptx:15  mov\\.u32   step 9, "
        "CTA \\(1,0,0\\), warp 0\n[\\s\\S]*\n"
        "NOT COMPARED  small\\.json\nsmall\\.json: the grid has no CTA 1\n\n"
        "FAILED: 1 of 3 launch files not compared, 1 different; [^\n]*\n" +
        h200 + "differs: differs\\.json\nnot compared: small\\.json\n");
    EXPECT_TRUE(std::regex_match(e.out, text)) << e.out;
}

// While the next one runs.
TEST_F(GpuCommands, ValidateSaysEachAtOnce) {
    folder.write(
        "endless.ptx",
        storing_kernel("again: add.u32 %r5, %r5, 1; st.global.u32 [%d1], %r5; bra again;"));
    std::string launch = folder.read("small.json");
    folder.write("endless.json", launch.replace(launch.find("small"), 5, "endless"));
    const Started started =
        start(folder, {"exec", "--arch", "sm_80", "--", lockwarp::tools::program(), "validate",
                       "small.json", "endless.json", "--jobs", "1"});
    const std::string said = "identical  small.json  ";
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool is_said = false;
    while (!is_said && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        std::ifstream out(started.out);
        std::stringstream text;
        text << out.rdbuf();
        is_said = text.str().starts_with(said);
    }
    EXPECT_EQ(::kill(started.child, SIGINT), 0);
    EXPECT_TRUE(is_said);
    EXPECT_EQ(finish(started).status, 130);
}

TEST_F(GpuCommands, TheGpusThatAreNamed) {
    struct Row {
        std::string machine, gpus;
        int status;
        std::string error;
    };
    const std::string expected = ": expected all, or numbers such as 0,2";
    for (const Row& row :
         std::vector<Row>{{"sm_80", "0", 0, ""},
                          {"sm_80 3", "2", 0, ""},
                          {"sm_80", "1", 77, "validate needs a GPU: GPU 1: there are 1"},
                          {"sm_80 2", "0,3", 2, "GPU 3: there are 2"},
                          {"sm_80", "x", 2, "--gpus x" + expected},
                          {"sm_80", "0,", 2, "--gpus 0," + expected},
                          {"sm_80", "1024", 2, "--gpus 1024" + expected}}) {
        const Ended e = on(row.machine, {"validate", "small.json", "--gpus", row.gpus});
        EXPECT_EQ(e.status, row.status) << row.gpus;
        EXPECT_EQ(e.err, row.error.empty() ? "" : "error: " + row.error + "\n") << row.gpus;
    }
    // One that was skipped has a report, too.
    EXPECT_EQ(on("sm_80", {"validate", "small.json", "--gpus", "1", "--json", "r.json"}).status,
              77);
    EXPECT_EQ(run_here(folder, {"report", "show", "r.json"}).status, 77);
    const Ended arch = on("sm_80", {"validate", "small.json", "--arch", "sm_1"});
    EXPECT_EQ(arch.status, 2);
    EXPECT_EQ(arch.err, "error: --arch sm_1 is not modelled\n");
}

TEST_F(GpuCommands, RecordsReplay) {
    const auto recorded = [](const std::string& file, const std::string& values) {
        return "recorded: " + file + ", [0-9,]+ bytes: " + values +
               " register values, 1,024 memory bytes\nidentical: " + values +
               " register values compared, 1,024 memory bytes; 0 and 0 different\n" + a100;
    };
    struct Row {
        std::vector<std::string> words;
        std::string text, replayed;
    };
    for (const Row& row : std::vector<Row>{
             {{"k.json"}, recorded("k\\.lwr", "2,048"), "k.lwr"},
             {{"k.ptx", "small.json"}, recorded("small\\.lwr", "512"), "small.lwr"},
             {{"k.json", "--out", "a.lwr", "--only", "add"}, recorded("a\\.lwr", "768"), "a.lwr"},
             {{"k.json", "--final"}, recorded("k\\.lwr", "0"), "k.lwr"},
             {{"k.json", "small.json", "--out", "o"},
              recorded("o/k\\.lwr", "2,048") + recorded("o/small\\.lwr", "512"),
              "o"}}) {
        std::vector<std::string> words = row.words;
        words.insert(words.begin(), "record");
        const Ended e = on("sm_80", words);
        EXPECT_EQ(e.status, 0) << e.err;
        EXPECT_TRUE(std::regex_match(e.out, std::regex(row.text))) << e.out;
        const Ended replay = run_here(folder, {"replay", row.replayed});
        EXPECT_EQ(replay.status, 0) << replay.out;
    }
    const Ended traps = on("sm_80", {"record", "traps.json", "k.json", "--out", "o"});
    EXPECT_EQ(traps.status, 0) << traps.err;
    EXPECT_TRUE(
        run_here(folder, {"replay", "o/traps.lwr"}).out.starts_with("TRAP  traps.ptx:15  "));
    const Ended two = on("sm_80 2", {"record", "k.json", "--gpus", "all"});
    EXPECT_EQ(two.status, 2);
    EXPECT_EQ(two.err, "error: --gpus all: a recording is of one GPU\n");
    EXPECT_EQ(run_here(folder, {"record"}).err, "error: record: give a launch file, or --suite\n");
    const Ended suite = on("sm_80", {"record", "--suite", "--only", "brkpt,fns", "--out", "suite"});
    EXPECT_EQ(suite.status, 0) << suite.err;
    EXPECT_EQ(folder.names("suite"), std::vector<std::string>{"fns.lwr"});
    // One that differs is recorded, and what comes behind it.
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"record", "--suite", "--only", "brev,fns"}, {"record", "k.json", "small.json"}}) {
        std::vector<std::string> all = words;
        all.insert(all.end(), {"--max-steps", "3", "--out", "both"});
        const Ended differs = on("sm_80", all);
        EXPECT_EQ(differs.status, 1) << differs.err;
    }
    EXPECT_EQ(folder.names("both"),
              (std::vector<std::string>{"brev.lwr", "fns.lwr", "k.lwr", "small.lwr"}));
}

// What was compiled for a launch is kept where the text names a line of it.
TEST_F(GpuCommands, CompiledSourcesAreKeptWhereTheyAreNamed) {
    std::string launch = folder.read("k.json");
    launch.replace(launch.find("k.ptx"), 5, "k.cu");
    folder.write("cu.json", launch);
    folder.write("k.cu", "");
    folder.write("nvcc", "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && cp " +
                             (folder.path / "k.ptx").string() + " \"$2\"; shift; done\n");
    const std::filesystem::path nvcc = folder.path / "nvcc", tmp = folder.path / "tmp";
    std::filesystem::permissions(nvcc, std::filesystem::perms::owner_all);
    for (const char* command : {"validate", "record"})
        for (const bool differs : {false, true}) {
            std::filesystem::remove_all(tmp);
            std::filesystem::create_directory(tmp);
            std::vector<std::string> words{command, "cu.json"};
            if (differs) words.insert(words.end(), {"--max-steps", "3"});
            const Ended e = on("sm_80", words, {"NVCC=" + nvcc.string(), "TMPDIR=" + tmp.string()});
            EXPECT_EQ(e.status, differs ? 1 : 0) << e.err;
            const std::vector<std::string> kept = folder.names("tmp");
            ASSERT_EQ(kept.size(), differs ? 1u : 0u) << command << e.out;
            if (!differs) continue;
            const std::string ptx = (tmp / kept[0] / "k.ptx").string();
            EXPECT_NE(e.out.find("DIFFERS  " + ptx + ":9"), std::string::npos) << e.out;
            EXPECT_EQ(folder.read("tmp/" + kept[0] + "/k.ptx"), folder.read("k.ptx"));
        }
}

// A cluster's tracks are in memory at a time.
TEST_F(GpuCommands, MemoryForTracks) {
    folder.write("large.ptx", R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b32 %r<5>; .reg .b64 %d<2>;
ld.param.u64 %d1, [p];
ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];
ret; }
)");
    folder.write("large.json", R"({"schema": "lockwarp-launch/1", "ptx": "large.ptx", "grid": [8],
"cluster": [8], "block": [1024], "buffers": {"A": {"zeros": 16}}, "args": [{"buffer": "A"}]})");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"validate", "large.json", "--words"},
          {"record", "large.json"}}) {
        std::vector<std::string> few = words, enough = words;
        few.insert(few.end(), {"--trace-mb", "3"});
        enough.insert(enough.end(), {"--trace-mb", "4"});
        const Ended refused = on("sm_90", few), good = on("sm_90", enough);
        EXPECT_EQ(refused.status, 2) << refused.out;
        EXPECT_EQ(refused.err,
                  "error: large.json: too little memory for tracks: they take 4 MB at least, and "
                  "may take 3 MB (--trace-mb)\n");
        EXPECT_EQ(good.status, 0) << good.err;
    }
}

// In each of 300 rounds the 32 warps leave two records of two words, of 256 bytes for 32 lanes: 9.8
// MB.
TEST_F(GpuCommands, RegistersWhoseTracksDoNotFitAreComparedByDigests) {
    folder.write("long.ptx", R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b32 %r<3>; .reg .b64 %d<2>; .reg .pred %q;
ld.param.u64 %d1, [p];
mov.u32 %r1, 0;
L: add.u32 %r1, %r1, 1;
setp.lt.u32 %q, %r1, 300;
@%q bra L;
st.global.u32 [%d1], %r1;
ret; }
)");
    folder.write("long.json", R"({"schema": "lockwarp-launch/1", "ptx": "long.ptx", "grid": [1],
"block": [1024], "buffers": {"A": {"zeros": 4}}, "args": [{"buffer": "A"}]})");
    const std::string compared =
        "identical: 616,448 register values compared, 4 memory bytes; 0 and 0 different\n";
    const std::string digests = "registers by a digest of 64 bits a lane\n";
    struct Row {
        std::vector<std::string> options;
        std::string how;
    };
    for (const Row& row : std::vector<Row>{{{}, ""},
                                           {{"--digests"}, digests},
                                           {{"--trace-mb", "2"}, digests},
                                           {{"--trace-mb", "2", "--words"}, ""}}) {
        std::vector<std::string> words{"validate", "long.json"};
        words.insert(words.end(), row.options.begin(), row.options.end());
        const Ended e = on("sm_80", words);
        EXPECT_EQ(e.status, 0) << e.err;
        EXPECT_EQ(e.out, compared + row.how + a100) << row.options.size();
    }
}

// A driver that compiles at one level of its optimizer alone.
TEST_F(GpuCommands, TheCompilersLevelIsTheOneThatIsAskedFor) {
    std::filesystem::create_symlink(LOCKWARP_FAKE_GPU, folder.path / "libcuda.so.1");
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"validate", "small.json"},
             {"record", "small.json"},
             {"measure", "small.json", "--runs", "2"},
             {"special", "lg2.approx.f32", "--count", "64"},
             {"calibrate", "--only", "add.s32", "--warps", "1"},
             {"fuzz", "--cases", "1", "--instructions", "5", "--ctas", "1"}}) {
        for (const std::string level : {"4", "1"}) {
            const std::vector<std::string> environment{"LD_LIBRARY_PATH=" + folder.path.string(),
                                                       "LOCKWARP_FAKE_GPU_DRIVER=" LOCKWARP_LIBCUDA,
                                                       "LOCKWARP_ARCH=sm_80",
                                                       "FAKE_GPU_LEVEL=" + level};
            std::vector<std::string> with = words;
            with.insert(with.end(), {"--optimize", "1"});
            const Ended usual = run(folder, words, environment);
            const Ended asked = run(folder, with, environment);
            EXPECT_EQ(usual.status == 0, level == "4") << words[0] << usual.out << usual.err;
            EXPECT_EQ(asked.status == 0, level == "1") << words[0] << asked.out << asked.err;
        }
    }
}

// The stand-in's clock counts a warp's instructions.
TEST_F(GpuCommands, Measurements) {
    const Ended measured = on("sm_80", {"measure", "k.json", "small.json", "--runs", "2"});
    EXPECT_EQ(measured.status, 0) << measured.err;
    EXPECT_TRUE(measured.out.starts_with("measured: 2 launch files, median of 2 runs\n" + a100))
        << measured.out;
    const Ended two = on("sm_80 2", {"measure", "small.json", "--gpus", "0,1"});
    EXPECT_EQ(two.status, 2) << two.out;
    EXPECT_TRUE(two.err.ends_with("error: --gpus 0,1: kernels are measured on one GPU\n"))
        << two.err;
    const Ended special = on("sm_80", {"special", "lg2.approx.f32", "--count", "64"});
    EXPECT_EQ(special.status, 0) << special.err;
    EXPECT_TRUE(special.out.starts_with("identical: 1 form, 64 operands\n" + a100)) << special.out;
    const Ended calibrate = on("sm_80", {"calibrate", "--only", "add.s32", "--warps", "1"});
    EXPECT_EQ(calibrate.status, 0) << calibrate.err;
    EXPECT_TRUE(calibrate.out.starts_with("measured: 2 rows of 2 values\n" + a100))
        << calibrate.out;
}

TEST_F(GpuCommands, Fuzz) {
    const std::vector<std::string> words{"fuzz", "--cases", "2", "--instructions", "5", "--ctas",
                                         "1",    "--seed",  "4", "--jobs",         "2"};
    const Ended e = on("sm_80", words);
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_TRUE(e.out.starts_with("identical: 2 programs from seed 4\n")) << e.out;
    EXPECT_NE(e.out.find(a100), std::string::npos) << e.out;
}

TEST(Fuzz, PlainIsOfTheMachineThatIsAskedFor) {
    const Folder folder;
    for (const std::string arch : {"", "sm_80"}) {
        std::vector<std::string> words{"fuzz", "--plain", "--cases", "1", "--instructions", "1"};
        if (!arch.empty()) words.insert(words.end(), {"--arch", arch});
        const std::string machine = arch.empty() ? "sm_90" : arch;
        const Ended e = run(folder, words);
        EXPECT_EQ(e.status, 0) << e.err;
        EXPECT_NE(e.out.find("\nplain arithmetic of " + machine + ", " + machine + "\n"),
                  std::string::npos)
            << e.out;
    }
}

// Each in a folder of its own, by number: a launch file and its kernel, which can be run.
TEST_F(GpuCommands, FuzzSavesWhatDiffers) {
    std::vector<std::string> words{
        "fuzz",   "--cases", "1",      "--instructions", "5",      "--ctas",       "1",
        "--seed", "4",       "--arch", "sm_80",          "--only", "mma.m16n8k16", "--out"};
    words.emplace_back("found");
    const Ended e = on("sm_90", words);
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_TRUE(e.out.starts_with("DIFFERS in 1 instructions: 1 programs from seed 4\n")) << e.out;
    EXPECT_NE(e.out.find("\nseed 4: mov.u32, in its program\nDIFFERS  case.ptx:"),
              std::string::npos)
        << e.out;
    EXPECT_TRUE(e.out.ends_with("\ncases in found\n")) << e.out;
    EXPECT_EQ(folder.names("found"), std::vector<std::string>{"0001"});
    EXPECT_EQ(folder.names("found/0001"), (std::vector<std::string>{"case.json", "case.ptx"}));
    const Ended ran = run(folder, {"run", "found/0001/case.json"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_TRUE(ran.out.starts_with("done: k on sm_80, 1 CTA, ")) << ran.out;
    // Where there is no room for them.
    words.back() = "k.ptx";
    const Ended refused = on("sm_90", words);
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_TRUE(refused.err.ends_with("error: k.ptx/0001: Not a directory\n")) << refused.err;
    EXPECT_EQ(refused.out.find("cases in"), std::string::npos) << refused.out;
}

}  // namespace
}  // namespace lockwarp::tools
#endif
