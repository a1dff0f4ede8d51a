// SPDX-License-Identifier: Apache-2.0
// lockwarp special, with the emulator in a GPU's place.
#include "tests/results.hpp"
#include "tools/commands/special_command.hpp"

#include <gtest/gtest.h>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(SpecialCommand, EveryFormIsComparedAndReported) {
    const Folder folder;
    const Ended e = run(folder, {"special", "--emulator", "--count", "64", "--json", "s.json"});
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_TRUE(e.out.starts_with("identical: 30 forms, 1,920 operands\n")) << e.out;
    EXPECT_EQ(too_wide(e.out), "");
    EXPECT_TRUE(contains(e.out, "\n  div.full.ftz.f32                 64 pairs    identical, "))
        << e.out;
    const Ended shown = run(folder, {"report", "show", "s.json"});
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_TRUE(contains(shown.out, "rsqrt.approx.ftz.f64")) << shown.out;
}

TEST(SpecialCommand, FormsAreChosenByTheirBeginning) {
    std::vector<gpu::SpecialForm> forms;
    EXPECT_EQ(take(chosen_forms({"tanh.approx.f16", "div"}), forms), "");
    EXPECT_EQ(forms.size(), 5u);
    EXPECT_EQ(take(chosen_forms({"ex"}), forms),
              "'ex' is not a special function; `lockwarp special --list` prints them");
    const Folder folder;
    const Ended list = run(folder, {"special", "--list", "lg2"});
    EXPECT_EQ(list.status, 0);
    EXPECT_EQ(list.out, "lg2.approx.f32\nlg2.approx.ftz.f32\n");
    EXPECT_EQ(run(folder, {"special", "--emulator", "frob"}).status, 2);
    EXPECT_EQ(run(folder, {"special", "--emulator", "--count", "0"}).status, 2);
    const Ended none = run(folder, {"special", "--emulator", "tanh.approx.f16", "--from", "70000"});
    EXPECT_EQ(none.status, 2);
    EXPECT_TRUE(none.out.starts_with("FAILED: 1 of 1 form, 0 operands not compared\n")) << none.out;
}

TEST(SpecialCommand, NeedsAGpu) {
    const Folder folder;
    const Ended e = run(folder, {"special", "--count", "1"}, {"CUDA_VISIBLE_DEVICES="});
    EXPECT_EQ(e.status, 77);
    EXPECT_TRUE(e.err.starts_with("error: special needs a GPU: ")) << e.err;
}

TEST(SpecialCommand, ADifferenceIsPrintedInHexAndAsValue) {
    validate::SpecialReport r;
    r.form = gpu::special_forms[1];
    r.name = "ex2.approx.ftz.f32";
    r.operands = uint64_t{1} << 32;
    r.chunks = 4096;
    r.different_on_gpu = 5892;
    r.different_chunks = 64;
    r.shown.push_back({1, {0x3f800001, 0}, 0x40000001, 0x40000000, 0x40000000});
    r.shown.push_back({2, {0x3f800002, 0}, 0x40000001, 0x40000001, 0x40000000});
    validate::SpecialReport same = r;
    same.name = "lg2.approx.ftz.f32";
    same.form = gpu::special_forms[3];
    same.different_on_gpu = same.different_chunks = 0;
    const std::string text = special_text({r, same}, {}, {"tanh.approx.bf16"});
    EXPECT_EQ(too_wide(text), "");
    EXPECT_TRUE(
        text.starts_with("DIFFERS: 1 of 2 forms, 8,589,934,592 operands\n"
                         "  ex2.approx.ftz.f32    4,294,967,296 operands DIFFERS, all\n"))
        << text;
    EXPECT_TRUE(
        contains(text,
                 "ex2.approx.ftz.f32: 5,892 of 4,294,967,296 operands differ from the "
                 "model on the GPU,\n  64 of 4,096 digests of 2^20 from the model here\n"
                 "  0x3f800001 (1.00000012)\n    instruction 0x40000001 (2.00000024)\n"
                 "    model       0x40000000 (2)\n  0x3f800002 (1.00000024)\n"
                 "    instruction 0x40000001 (2.00000024)\n"
                 "    model       0x40000001 (2.00000024) on the GPU, 0x40000000 (2) here\n"))
        << text;
    EXPECT_TRUE(contains(text, "not instructions of this machine:\n  tanh.approx.bf16\n"));
}

}  // namespace
}  // namespace lockwarp::tools
