// SPDX-License-Identifier: Apache-2.0
// One launch file of lockwarp validate, with the emulator in the GPU's place, sound or wrong: what
// is said, counted, saved and refused, of one launch and of several.
#include "tools/commands/validate_launch.hpp"

#include <gtest/gtest.h>

#include "launch/state.hpp"
#include "tests/tools/process.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/recording.hpp"

namespace lockwarp::tools {
namespace {

using validate::Verdict;

// Three kernels of one buffer: lines 6, 15 and 24 begin them.
constexpr const char* adding = R"(.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 launches;
.visible .entry first(.param .u64 data)
{
	.reg .b32 %r<4>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
	ld.global.u32 %r2, [%rd1];
	add.u32 %r2, %r2, 1;
	st.global.u32 [%rd1], %r2;
	ret;
}
.visible .entry second(.param .u64 data)
{
	.reg .b32 %r<4>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
	ld.global.u32 %r2, [%rd1];
	xor.b32 %r2, %r2, 5;
	st.global.u32 [%rd1], %r2;
	ret;
}
.visible .entry misaligned(.param .u64 data)
{
	.reg .b32 %r<4>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [data];
	ld.global.u32 %r2, [%rd1+1];
	ret;
}
)";

// Of one entry the tracks are wrong: a value of their first record.
class WrongAt : public validate::EmulatorEngine {
  public:
    explicit WrongAt(std::string entry)
        : EmulatorEngine(isa::Arch::sm_80, false, 1), entry_(std::move(entry)) {}
    gpu::Ran run(const gpu::Job& job) override {
        is_wrong_ = job.entry == entry_;
        levels.push_back(job.optimization);
        return EmulatorEngine::run(job);
    }
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        launch::Result<void> done = EmulatorEngine::read(address, bytes);
        if (is_wrong_ && bytes.size() > 1024) bytes[256] ^= 1;
        return done;
    }
    std::vector<int> levels;

  private:
    std::string entry_;
    bool is_wrong_ = false;
};

struct Ran {
    explicit Ran(const std::vector<std::string>& entries, gpu::Engine& engine,
                 bool has_stats = false, unsigned ctas = 1) {
        folder.write("k.ptx", adding);
        std::string launches;
        for (const std::string& entry : entries)
            launches += std::string(launches.empty() ? "" : ",") + R"({"entry":")" + entry +
                        R"(","grid":[)" + std::to_string(ctas) +
                        R"(,1,1],"block":[32,1,1],"args":[{"buffer":"D"}]})";
        folder.write("k.json", R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","arch":"sm_80",)"
                               R"("buffers":{"D":{"zeros":128}},"outputs":["D"],"launches":[)" +
                                   launches + "]}");
        options.save = (folder.path / "saved").string();
        options.stats = has_stats;
        auto loaded = launch::load_all({(folder.path / "k.json").string()}, "", {});
        if (!loaded) {
            ADD_FAILURE() << loaded.error().sentence;
            return;
        }
        std::vector<launch::Input> steps;
        for (launch::Loaded& step : *loaded) steps.push_back(std::move(step.in));
        out = run_one({options, {}, isa::Arch::sm_80}, "k.json", std::move(steps), engine);
    }

    const std::string& text() const { return out.result.text; }
    std::string ptx() const { return (folder.path / "k.ptx").string(); }

    Folder folder;
    ValidateOptions options;
    Outcome out;
};

constexpr const char* counted = " 128 memory bytes; 0 and 0 different\n";

TEST(ValidateLaunch, OneThatIsIdentical) {
    validate::EmulatorEngine engine(isa::Arch::sm_80, false, 1);
    const Ran r({"first"}, engine);
    EXPECT_EQ(r.out.status, done);
    EXPECT_FALSE(r.out.refused.has_value());
    EXPECT_EQ(r.out.result.name, "k.json");
    EXPECT_EQ(r.out.result.verdict, Verdict::identical);
    EXPECT_TRUE(r.text().starts_with("identical: ")) << r.text();
    EXPECT_NE(r.text().find(counted), std::string::npos) << r.text();
    EXPECT_EQ(r.text().find("seconds:"), std::string::npos);
    EXPECT_EQ(r.out.result.counts.memory_bytes, 128u);
    EXPECT_EQ(r.out.result.counts.values, 6u * 32);  // all but the store and the end
    EXPECT_EQ(r.out.counted.instructions.at("add.u32").values, 32u);
    EXPECT_GT(r.out.result.seconds, 0);
    EXPECT_TRUE(r.folder.names("saved").empty());
    const Ran stats({"first"}, engine, true);
    EXPECT_NE(stats.text().find("\nseconds: kernel compiled and run on the GPU "),
              std::string::npos)
        << stats.text();
    EXPECT_NE(stats.text().find(" windows, 8 steps\n"), std::string::npos) << stats.text();
}

TEST(ValidateLaunch, SeveralAddUp) {
    validate::EmulatorEngine engine(isa::Arch::sm_80, false, 1);
    const Ran r({"first", "second", "first"}, engine);
    EXPECT_EQ(r.out.status, done) << r.text();
    EXPECT_EQ(r.out.result.verdict, Verdict::identical);
    EXPECT_EQ(r.out.result.counts.memory_bytes, 3u * 128);
    EXPECT_EQ(r.out.counted.instructions.at("add.u32").values, 2u * 32);
    EXPECT_EQ(r.out.counted.instructions.at("xor.b32").values, 32u);
    const size_t second = r.text().find("second: identical: ");
    EXPECT_TRUE(r.text().starts_with("first: identical: ")) << r.text();
    ASSERT_NE(second, std::string::npos) << r.text();
    EXPECT_NE(r.text().find("first: identical: ", second), std::string::npos) << r.text();
}

// What comes behind a launch that differs is not compared.
TEST(ValidateLaunch, TheFirstThatDiffersIsTheLast) {
    for (const bool alone : {true, false}) {
        WrongAt engine("second");
        const std::vector<std::string> entries =
            alone ? std::vector<std::string>{"second"}
                  : std::vector<std::string>{"first", "second", "first"};
        const Ran r(entries, engine);
        EXPECT_EQ(r.out.status, differs_or_trapped) << r.text();
        EXPECT_FALSE(r.out.refused.has_value());
        EXPECT_EQ(r.out.result.verdict, Verdict::differs);
        EXPECT_EQ(r.out.result.file, r.ptx());
        EXPECT_GE(r.out.result.line, 18u);
        EXPECT_LE(r.out.result.line, 22u);
        EXPECT_NE(r.text().find(alone ? "DIFFERS  " : "second: DIFFERS  "), std::string::npos);
        EXPECT_EQ(r.text().starts_with("first: identical: "), !alone) << r.text();
        EXPECT_EQ(r.text().find("first: ", 1), std::string::npos) << r.text();
        // The compiler is not at fault: it was asked without optimization as well.
        EXPECT_EQ(r.out.result.compiler, "");
        EXPECT_NE(std::ranges::find(engine.levels, 0), engine.levels.end());
        EXPECT_EQ(r.folder.names("saved"), std::vector<std::string>{"diff-0001.lwr"});
        EXPECT_NE(r.text().find("replay: lockwarp replay " + r.options.save + "/diff-0001.lwr\n"),
                  std::string::npos)
            << r.text();
        const Ended again = run(r.folder, {"replay", "saved/diff-0001.lwr"});
        EXPECT_EQ(again.status, 1) << again.err;
        EXPECT_NE(again.out.find("DIFFERS"), std::string::npos) << again.out;
    }
}

// A recording has the tracks of the CTA that shows the difference, however many the launch has.
TEST(ValidateLaunch, OneCtaTellsTheDifference) {
    WrongAt engine("second");
    const Ran r({"second"}, engine, false, 3);
    EXPECT_EQ(r.out.status, differs_or_trapped) << r.text();
    const std::string file = r.folder.read("saved/diff-0001.lwr");
    const auto recording =
        validate::read_recording({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
    ASSERT_TRUE(recording);
    ASSERT_EQ(recording->answer.tracks.size(), 1u);
    EXPECT_EQ(recording->answer.tracks[0].window.first_cta, 0u);
    EXPECT_EQ(recording->answer.tracks[0].window.ctas, 1u);
}

TEST(ValidateLaunch, ATrapOnBothSidesIsOneToo) {
    validate::EmulatorEngine engine(isa::Arch::sm_80, false, 1);
    const Ran r({"misaligned", "first"}, engine);
    EXPECT_EQ(r.out.status, differs_or_trapped);
    EXPECT_NE(r.text().find("both fault"), std::string::npos) << r.text();
    EXPECT_EQ(r.text().find("first: "), std::string::npos);
    EXPECT_TRUE(r.folder.names("saved").empty());
}

TEST(ValidateLaunch, WhatIsRefusedSaysWhy) {
    const Outcome out = refused("name", launch::failure("no such thing").value());
    EXPECT_EQ(out.status, wrong_input);
    EXPECT_EQ(out.result.name, "name");
    EXPECT_EQ(out.result.verdict, Verdict::failed);
    EXPECT_NE(out.result.text.find("no such thing"), std::string::npos);
    ASSERT_TRUE(out.refused.has_value());
    EXPECT_EQ(out.refused->sentence, "no such thing");
}

}  // namespace
}  // namespace lockwarp::tools
