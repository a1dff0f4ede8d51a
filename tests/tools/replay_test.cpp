// SPDX-License-Identifier: Apache-2.0
// lockwarp record on the emulator in a GPU's place, and lockwarp replay as a process.
#include <gtest/gtest.h>

#include "emu/isa/arch.hpp"
#include "tests/results.hpp"
#include "tests/tools/process.hpp"
#include "tools/commands/record_command.hpp"
#include "tools/commands/replay_command.hpp"
#include "tools/commands/run_command.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/recording.hpp"

namespace lockwarp::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kernels = LOCKWARP_SOURCE_DIR "/gpu/kernels/";

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

struct Recorded {
    int status = -1;
    std::string out;
};

// Records a launch file on the emulator as the engine's architecture, for `arch`.
Recorded record(const Folder& folder, const std::string& launch, const std::string& name,
                isa::Arch of_engine = isa::Arch::sm_90,
                const std::vector<std::string>& only = {"mma"}) {
    RecordOptions options;
    options.files = {launch};
    options.out = (folder.path / name).string();
    options.only = only;
    launch::Result<launch::Input> in = launch::read_input(options.files, "");
    EXPECT_TRUE(in);
    validate::EmulatorEngine engine(of_engine);
    testing::internal::CaptureStdout();
    Recorded r;
    r.status = record_on(engine, isa::Arch::sm_90, std::move(*in), options);
    r.out = testing::internal::GetCapturedStdout();
    return r;
}

Recorded record_kernel(const Folder& folder, const std::string& kernel, const std::string& name,
                       isa::Arch of_engine = isa::Arch::sm_90) {
    return record(folder, kernels + kernel + ".json", name, of_engine);
}

TEST(Replay, ARecordingIsIdentical) {
    const Folder folder;
    const Recorded r = record_kernel(folder, "mma_m16n8k16", "one.lwr");
    EXPECT_EQ(r.status, 0);
    const std::string size = std::to_string(fs::file_size(folder.path / "one.lwr"));
    const std::string grouped =
        size.substr(0, size.size() - 3) + "," + size.substr(size.size() - 3);
    const std::string counts = ": 128 register values compared, 1,024 memory bytes; 0 and 0 ";
    EXPECT_TRUE(r.out.starts_with("recorded: " + (folder.path / "one.lwr").string() + ", " +
                                  grouped + " bytes: 128 register values, 1,024 memory bytes\n" +
                                  "identical" + counts))
        << r.out;
    const Ended e = run(folder, {"replay", "one.lwr", "--threads", "1"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(e.err, "");
    EXPECT_EQ(e.out, "identical" + counts + "different\nthe emulator as sm_90, sm_90\n");
}

TEST(Replay, AFolderOfThem) {
    const Folder folder;
    fs::create_directories(folder.path / "set/more/deeper");
    record_kernel(folder, "mma_m16n8k16", "set/b.lwr");
    record_kernel(folder, "mma_ldmatrix", "set/more/a.lwr");
    record_kernel(folder, "mma_ldmatrix", "set/more/deeper/not.lwr");
    folder.write("set/notes.txt", "not a recording");
    fs::create_symlink(folder.path / "set/b.lwr", folder.path / "set/c.lwr");
    const Ended e = run(folder, {"replay", "set", "--json", "r.json"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(e.out,
              "identical: 3 recordings, 320 register values compared, 3,072 memory bytes\n"
              "the emulator as sm_90, sm_90\n");
    EXPECT_TRUE(contains(folder.read("r.json"), "set/more/a.lwr"));
    // One named twice is one.
    EXPECT_TRUE(run(folder, {"replay", "set/b.lwr", "set"}).out.starts_with("identical: 3 "));
    std::vector<std::string> found;
    EXPECT_EQ(take(find_recordings({(folder.path / "set").string()}), found), "");
    ASSERT_EQ(found.size(), 3u);
    EXPECT_TRUE(found[0].ends_with("set/b.lwr") && found[2].ends_with("set/more/a.lwr"));
}

TEST(Replay, ALinkThatLeadsBackAddsNothing) {
    const Folder folder;
    fs::create_directory(folder.path / "set");
    record_kernel(folder, "mma_m16n8k16", "set/a.lwr");
    folder.write("set/damaged.lwr", folder.read("set/a.lwr").substr(0, 100));
    fs::create_symlink(".", folder.path / "set/loop");
    for (const std::vector<std::string>& named : {std::vector<std::string>{"set"},
                                                  {"set", "set/loop"},
                                                  {"set/a.lwr", "./set/loop", "set"}}) {
        std::vector<std::string> words{"replay"};
        words.insert(words.end(), named.begin(), named.end());
        const Ended e = run(folder, words);
        EXPECT_EQ(e.status, 2);
        EXPECT_TRUE(e.out.starts_with("FAILED: 1 of 2 recordings not compared, ")) << e.out;
        EXPECT_EQ(std::ranges::count(e.err, '\n'), 1) << e.err;
    }
}

TEST(Replay, InParts) {
    const Folder folder;
    fs::create_directory(folder.path / "set");
    for (const char* name : {"set/a.lwr", "set/b.lwr", "set/c.lwr"})
        record_kernel(folder, "mma_m16n8k16", name);
    EXPECT_TRUE(run(folder, {"replay", "set", "--shard", "1/2"})
                    .out.starts_with("identical: 2 recordings, "));
    EXPECT_TRUE(
        run(folder, {"replay", "set", "--shard", "2/2"}).out.starts_with("identical: 128 "));
    const Ended e = run(folder, {"replay", "set", "--shard", "4/4"});
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.err, "error: shard 4/4 (--shard): 3 recordings are too few for so many shards\n");
}

TEST(Replay, ADifferenceIsShown) {
    const Folder folder;
    const Recorded r = record_kernel(folder, "gemm_sm80", "differs.lwr", isa::Arch::sm_80);
    EXPECT_EQ(r.status, 1) << "recorded all the same";
    EXPECT_TRUE(contains(r.out, "\nDIFFERS  gemm.sm_80.ptx:")) << r.out;
    const Ended one = run(folder, {"replay", "differs.lwr"});
    EXPECT_EQ(one.status, 1) << one.err;
    EXPECT_EQ(r.out.substr(r.out.find('\n') + 1), one.out) << "as it was when it was recorded";
    record_kernel(folder, "mma_ldmatrix", "same.lwr");
    const Ended two = run(folder, {"replay", "same.lwr", "differs.lwr"});
    EXPECT_EQ(two.status, 1);
    EXPECT_TRUE(two.out.starts_with("DIFFERS: 1 of 2 recordings, ")) << two.out;
    EXPECT_TRUE(contains(two.out, "\n\ndiffers.lwr:\n" + one.out)) << two.out;
    EXPECT_EQ(too_wide(two.out), "");
}

TEST(Replay, WhatCannotBeRead) {
    const Folder folder;
    record_kernel(folder, "mma_m16n8k16", "good.lwr");
    std::string bytes = folder.read("good.lwr");
    bytes[bytes.size() / 2] ^= 4;
    folder.write("damaged.lwr", bytes);
    bytes[bytes.size() / 2] ^= 4;
    folder.write("cut.lwr", bytes.substr(0, bytes.size() - 1));
    bytes[3] = 5;
    folder.write("newer.lwr", bytes);
    folder.write("text.lwr", "no recording, a text\n");
    folder.write("empty.lwr", "");
    fs::create_directory(folder.path / "folder");
    const std::pair<const char*, const char*> rows[] = {
        {"damaged.lwr", "damaged.lwr: damaged (checksum)"},
        {"cut.lwr", "cut.lwr: cut off"},
        {"newer.lwr", "newer.lwr: made by a newer Lockwarp (format 5; this one reads 4)"},
        {"text.lwr", "text.lwr: not a Lockwarp recording"},
        {"empty.lwr", "empty.lwr: not a Lockwarp recording"},
        {"folder", "folder: no recordings (*.lwr) in it"},
        {"missing.lwr", "missing.lwr: No such file or directory"},
        {"/dev/zero", "/dev/zero: not a regular file"},
    };
    for (const auto& [file, message] : rows) {
        const Ended e = run(folder, {"replay", file});
        EXPECT_EQ(e.status, 2) << file;
        EXPECT_EQ(e.out, "") << file;
        EXPECT_EQ(e.err, "error: " + std::string(message) + "\n");
    }
    // The others are compared.
    const Ended e = run(folder, {"replay", "damaged.lwr", "good.lwr"});
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.err, "error: damaged.lwr: damaged (checksum)\n");
    EXPECT_TRUE(e.out.starts_with("FAILED: 1 of 2 recordings not compared, 0 different; 128 "))
        << e.out;
    EXPECT_EQ(run(folder, {"replay"}).status, 2);
}

TEST(Replay, ComparingNothingIsAFailure) {
    const Folder folder;
    record_kernel(folder, "mma_m16n8k16", "good.lwr");
    const std::string text = folder.read("good.lwr");
    validate::Recording r;
    ASSERT_EQ(
        take(validate::read_recording({reinterpret_cast<const uint8_t*>(text.data()), text.size()}),
             r),
        "");
    r.answer.outputs.clear();
    r.answer.tracks.clear();
    r.answer.traced.clear();
    const std::vector<uint8_t> bytes = validate::write_recording(r);
    folder.write("nothing.lwr", {bytes.begin(), bytes.end()});
    const Ended e = run(folder, {"replay", "nothing.lwr"});
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.out, "");
    EXPECT_EQ(e.err, "error: nothing.lwr: nothing was compared\n");
}

TEST(Replay, StepsMayBeLimited) {
    const Folder folder;
    record_kernel(folder, "mma_m16n8k16", "one.lwr");
    const Ended e = run(folder, {"replay", "one.lwr", "--max-steps", "10"});
    EXPECT_EQ(e.status, 1);
    EXPECT_TRUE(e.out.starts_with("DIFFERS")) << e.out;
}

// A recording of a loop that is told, afterwards, of rounds enough for minutes: it says how far it
// came, and so it was not ended from outside.
TEST(Replay, ALimitOfTimeEndsIt) {
    const Folder folder;
    folder.write("k.ptx", R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .pred %p; .reg .b32 %r<3>; .reg .b64 %rd;
ld.param.u64 %rd, [p];
ld.param.u32 %r1, [n];
AGAIN: sub.u32 %r1, %r1, 1;
setp.ne.u32 %p, %r1, 0;
@%p bra AGAIN;
st.global.u32 [%rd], %r1;
ret;
}
)");
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "k",
"grid": [1, 1, 1], "block": [32, 1, 1], "args": [{"buffer": "out"}, {"u32": 1}],
"buffers": {"out": {"bytes": 4}}, "outputs": ["out"]})");
    ASSERT_EQ(
        record(folder, (folder.path / "k.json").string(), "one.lwr", isa::Arch::sm_90, {}).status,
        0);
    const std::string bytes = folder.read("one.lwr");
    auto recording =
        validate::read_recording({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    ASSERT_TRUE(recording);
    std::fill_n(recording->c.parameters.begin() + 8, 4, uint8_t{255});
    const std::vector<uint8_t> longer = write_recording(*recording);
    folder.write("long.lwr", {longer.begin(), longer.end()});
    const Ended e = run(folder, {"replay", "one.lwr", "long.lwr", "one.lwr", "--time-limit", "1"});
    EXPECT_EQ(e.status, 130);
    EXPECT_TRUE(e.out.starts_with("identical: 1 recording, ")) << e.out;
    EXPECT_EQ(e.err, "error: stopped after 1 of 2 recordings\nerror: the time limit was reached\n");
}

TEST(Record, NeedsAGpu) {
    const Folder folder;
    const std::string launch = std::string(kernels) + "mma_m16n8k16.json";
    const Ended e = run(folder, {"record", launch}, {"CUDA_VISIBLE_DEVICES="});
    EXPECT_EQ(e.status, 77);
    EXPECT_TRUE(e.err.starts_with("error: record needs a GPU: ")) << e.err;
    EXPECT_EQ(e.out, "");
    EXPECT_EQ(folder.names(), std::vector<std::string>{});
    // What is wrong with the input is said first.
    EXPECT_EQ(run(folder, {"record", "missing.json"}).status, 2);
}

TEST(Record, WritesWhereItIsTold) {
    const Folder folder;
    RecordOptions options;
    options.files = {std::string(kernels) + "mma_m16n8k16.json"};
    options.out = (folder.path / "no/such/folder/x.lwr").string();
    launch::Result<launch::Input> in = launch::read_input(options.files, "");
    ASSERT_TRUE(in);
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    EXPECT_EQ(record_on(engine, isa::Arch::sm_90, std::move(*in), options), wrong_input);
    EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(Record, HelpFits) {
    const Folder folder;
    for (const char* command : {"record", "replay"}) {
        const Ended e = run(folder, {command, "--help"});
        EXPECT_EQ(e.status, 0);
        EXPECT_EQ(too_wide(e.out), "");
        EXPECT_GT(e.out.size(), 300u);
    }
}

}  // namespace
}  // namespace lockwarp::tools
