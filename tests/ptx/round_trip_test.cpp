// SPDX-License-Identifier: Apache-2.0
// parse(print(tree)) == tree on whole programs.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/hardware/recordings.hpp"
#include "tests/ptx/support.hpp"

namespace lockwarp::ptx {
namespace {

// How often `word` stands in a text.
size_t count_of(std::string_view word, const std::string& text) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
        ++count;
    return count;
}

size_t instructions_in(const Block& block) {
    size_t count = 0;
    for (const Statement& statement : block.body) {
        if (std::holds_alternative<Instruction>(statement.node)) ++count;
        if (const auto* inner = std::get_if<Block>(&statement.node))
            count += instructions_in(*inner);
    }
    return count;
}

TEST(RoundTrip, EveryConstruct) {
    const std::string text = std::string(header) + R"(
.file 1 "a.cu", 1, 2
.visible .func (.param .b32 r) f (.param .b32 a) .noreturn;
.extern .func g .abi_preserve 4;
.alias f, g;
.pragma "a";
.weak .const .align 8 .v2 .f64 c[2] = {1.5, 0d3FF0000000000000, -2.5, 0f3F800000};
.visible .global .attribute(.managed) .u64 t[] = {f, generic(t)+8, 0xFF00(t+4), -1, {1, {}}};
.extern .shared .align 16 .b8 dyn[];
.global .samplerref s = {filter_mode = nearest};
.visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 4 .b8 q[8])
.maxntid 128, 1, 1 .minnctapersm 2 .explicitcluster .pragma "nounroll";
{
    .reg .b32 %r<16>, x; .reg .pred p; .local .v4 .b32 stack[2][3];
    .loc 1 2 3, function_name L+4, inlined_at 1 5 6
L:  @!p bra.uni L;
T:  .branchtargets L, T1; C: .calltargets f; P: .callprototype (.param .b32 _) _ () .noreturn;
    { .reg .b32 x; T1: { mov.b32 x, %tid.x; } }
    call.uni (x), f, (%r1, -1, 0f00000000), P;
    setp.lt.s32 p|_, %r1, 9223372036854775808, !p;
    mov.b64 {%r1, _}, (0-9223372036854775807-1);
    ld.global [t-8], [64], [s, {%r1, %r2}], t+4, {x}|p;
    .pragma "nounroll";
}
)";
    expect_round_trip(text, "every construct");
}

// Output of nvcc 13.0: relocatable code with calls, tables and constants; debug sections; line
// numbers with inlining. The form of Triton's.
TEST(RoundTrip, CompilerOutput) {
    const std::filesystem::path directory =
        std::filesystem::path(LOCKWARP_SOURCE_DIR) / "tests/ptx/data";
    const std::vector<std::filesystem::path> paths = ptx_files(directory);
    EXPECT_EQ(paths.size(), 4U);
    for (const auto& path : paths) expect_round_trip(read_file(path), path.string());
}

TEST(RoundTrip, CompilerOutputIsReadInFull) {
    const std::string text =
        read_file(std::filesystem::path(LOCKWARP_SOURCE_DIR) / "tests/ptx/data/calls.ptx");
    const Module module = parse(text).module;
    size_t instructions = 0;
    size_t bodies = 0;
    for (const auto& item : module.items) {
        const auto* function = std::get_if<Function>(&item);
        if (function == nullptr || !function->has_body) continue;
        ++bodies;
        instructions += instructions_in(function->body);
    }
    EXPECT_EQ(bodies, count_of("\n{\n", text));
    // nvcc begins the line of an instruction with a tab and a lower-case letter or a guard. So do
    // the lines of call arguments, called functions and prototypes.
    size_t lines = count_of("\n\t@", text) - count_of("\n\tparam", text) -
                   count_of("\n\tprototype", text) - count_of("\n\tvprintf", text);
    for (char letter = 'a'; letter <= 'z'; ++letter)
        lines += count_of(std::string("\n\t") + letter, text);
    EXPECT_EQ(instructions, lines);
    EXPECT_GT(instructions, 50U);
}

TEST(RoundTrip, ProjectKernels) {
    const std::vector<std::filesystem::path> paths =
        ptx_files(std::filesystem::path(LOCKWARP_SOURCE_DIR) / "gpu/kernels");
    EXPECT_GE(paths.size(), 1U);
    for (const auto& path : paths) expect_round_trip(read_file(path), path.string());
}

TEST(RoundTrip, RecordedPrograms) {
    size_t programs = 0;
    for (const char* folder : {"alu", "mma", "move", "wmma"})
        for (const std::string& name : hardware::names(folder)) {
            expect_round_trip(hardware::read(name).ptx, name);
            ++programs;
        }
    EXPECT_EQ(programs, 232U);
}

}  // namespace
}  // namespace lockwarp::ptx
