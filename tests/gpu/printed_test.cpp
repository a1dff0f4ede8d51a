// SPDX-License-Identifier: Apache-2.0
// The kernels that are made of a kernel, whole: beside each PTX file of tests/gpu/printed what is
// made of it, to the letter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "emu/ptx/printer.hpp"
#include "gpu/clocked.hpp"
#include "gpu/instrument.hpp"
#include "gpu/trace.hpp"

namespace lockwarp::printed_test {
namespace {

std::string read_text(const std::string& name) {
    const std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/gpu/printed/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Kernel {
    ptx::Module module;
    isa::Program program;
};

Kernel kernel_of(const std::string& text) {
    ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty())
        << parsed.diagnostics[0].place.line << ": " << parsed.diagnostics[0].message;
    isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(resolved.diagnostics.empty())
        << resolved.diagnostics[0].place.line << ": " << resolved.diagnostics[0].message;
    return {std::move(parsed.module), std::move(resolved.program)};
}

Kernel kernel_in(const std::string& name) { return kernel_of(read_text(name)); }

gpu::Traced all_of(const Kernel& k, const std::vector<std::string>& opcodes = {}) {
    return gpu::choose_traced(k.program, opcodes, k.module);
}

// What is printed is a kernel that resolves as well.
void expect_printed(const std::string& name, const std::string& printed) {
    const std::string expected = read_text(name);
    EXPECT_FALSE(expected.empty()) << name;
    EXPECT_EQ(printed, expected) << name;
    const Kernel again = kernel_of(printed);
    EXPECT_EQ(ptx::print(again.module), printed);
}

TEST(Printed, ATracedKernel) {
    const Kernel k = kernel_in("straight.ptx");
    const gpu::TracedKernel traced = gpu::trace_kernel(k.module, k.program, all_of(k));
    expect_printed("straight.traced.ptx", traced.ptx);
    // mov, setp, add, sub, mad, mul, cvt, mov, mov, mov
    EXPECT_EQ(traced.longest, 2u + 3 + 2 + 2 + 2 + 2 + 2 + 2 + 3 + 3);
    EXPECT_FALSE(traced.tickets);
}

TEST(Printed, ATracedKernelOfSomeOpcodes) {
    const Kernel k = kernel_in("straight.ptx");
    const gpu::TracedKernel traced =
        gpu::trace_kernel(k.module, k.program, all_of(k, {"not", "wgmma", "st"}));
    expect_printed("straight.some.ptx", traced.ptx);
    EXPECT_EQ(traced.longest, 5u);
}

TEST(Printed, ADigestedKernel) {
    const Kernel k = kernel_in("straight.ptx");
    expect_printed("straight.digest.ptx", gpu::digest_kernel(k.module, k.program, all_of(k)));
}

TEST(Printed, APlainKernel) {
    const Kernel k = kernel_in("straight.ptx");
    expect_printed("straight.plain.ptx", gpu::plain_kernel(k.module, k.program));
}

TEST(Printed, AClockedKernel) {
    const Kernel k = kernel_in("straight.ptx");
    expect_printed("straight.clocked.ptx", gpu::clocked_kernel(k.module, k.program));
}

// Wherever a thread ends it leaves its clocks: at each exit, and at the end of the text where it
// may come there.
TEST(Printed, EveryEndOfAClockedKernel) {
    struct Row {
        const char* body;
        int ends;
        bool at_end_of_text;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"", 1, true},
             {"ret;\n", 1, false},
             {"exit;\n", 1, false},
             {"mov.u32 %r1, 1;\n", 1, true},
             {"mov.u32 %r1, 1;\nret;\n", 1, false},
             {"@%p1 ret;\n", 2, true},
             {"@!%p1 exit;\n", 2, true},
             {"@%p1 exit;\nexit;\n", 2, false},
             {"L:\nbra L;\n", 0, false},
             {"L:\n@%p1 bra L;\n", 1, true},
             {"bra L;\nL:\n", 1, true},
             {"bra L;\nret;\nL:\n", 2, true},
             {"bra L;\nmov.u32 %r1, 1;\nL:\nret;\n", 1, false},
             {"L: mov.u32 %r1, 1;\nbra M;\nM: bra L;\n", 0, false},
             {"T: .branchtargets L, M;\nbrx.idx %r1, T;\nL:\nret;\nM:\n", 2, true},
             {"T: .branchtargets L, M;\nbrx.idx %r1, T;\nL:\nM:\nret;\n", 1, false},
             {"L:\nM:\nT: .branchtargets L, M;\nbrx.idx %r1, T;\n", 0, false}}) {
        const Kernel k = kernel_of(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 "
            "%r<8>; .reg .pred %p<2>;\n" +
            std::string(row.body) + "}\n");
        const std::string clocked = gpu::clocked_kernel(k.module, k.program);
        kernel_of(clocked);
        int ends = 0;
        for (size_t at = 0; (at = clocked.find("mov.u64 %lw_e, %clock64", at)) != std::string::npos;
             ++at)
            ++ends;
        EXPECT_EQ(ends, row.ends) << row.body << clocked;
        // The block of the end is the last in the text: two braces, and nothing else.
        std::string last = clocked.substr(clocked.find_last_of(';') + 1);
        std::erase_if(last, [](char c) { return c != '}'; });
        EXPECT_EQ(last == "}}", row.at_end_of_text) << row.body << clocked;
    }
}

// The end of a function's text is not the thread's.
TEST(Printed, AFunctionOfAClockedKernelThatFallsOffItsEnd) {
    for (const std::string end : {"", "ret;\n"}) {
        const Kernel k = kernel_of(
            ".version 7.0\n.target sm_80\n.address_size 64\n.func f()\n{\n.reg .b32 %r;\n"
            "mov.u32 %r, 1;\n" +
            end + "}\n.visible .entry k()\n{\ncall.uni f;\nret;\n}\n");
        const std::string clocked = gpu::clocked_kernel(k.module, k.program);
        const size_t entry = clocked.find(".entry");
        EXPECT_EQ(clocked.substr(0, entry).find("lw_"), std::string::npos) << clocked;
        EXPECT_NE(clocked.find("mov.u64 %lw_e, %clock64", entry), std::string::npos) << clocked;
    }
}

TEST(Printed, RoundingsWrittenOut) {
    const Kernel k = kernel_in("straight.ptx");
    expect_printed("straight.rounded.ptx", ptx::print(gpu::with_explicit_rounding(k.module)));
}

TEST(Printed, FunctionsOfATracedKernel) {
    const Kernel k = kernel_in("calls.ptx");
    const gpu::TracedKernel traced = gpu::trace_kernel(k.module, k.program, all_of(k));
    expect_printed("calls.traced.ptx", traced.ptx);
}

TEST(Printed, FunctionsOfADigestedKernel) {
    const Kernel k = kernel_in("calls.ptx");
    expect_printed("calls.digest.ptx", gpu::digest_kernel(k.module, k.program, all_of(k)));
}

TEST(Printed, FunctionsOfAClockedKernel) {
    const Kernel k = kernel_in("calls.ptx");
    expect_printed("calls.clocked.ptx", gpu::clocked_kernel(k.module, k.program));
}

TEST(Printed, TicketsOfATracedKernel) {
    for (const char* name : {"order", "calls"}) {
        const Kernel k = kernel_in(name + std::string(".ptx"));
        const gpu::Orders orders = gpu::choose_ordered(k.program, k.module);
        gpu::Traced traced = all_of(k);
        for (size_t i = 0; i < orders.size(); ++i)
            traced[i] = traced[i] || orders[i] == gpu::Ordered::change;
        const gpu::TracedKernel kernel = gpu::trace_kernel(k.module, k.program, traced, orders);
        expect_printed(name + std::string(".tickets.ptx"), kernel.ptx);
        EXPECT_TRUE(kernel.tickets);
    }
}

// Straight code looks at its window once for as many records as 64 words hold.
TEST(Printed, WordsThatAreWrittenAtOnce) {
    struct Row {
        std::string body;
        uint64_t longest;
        size_t looks;
    };
    const auto repeated = [](size_t n, const std::string& text) {
        std::string out;
        for (size_t i = 0; i < n; ++i) out += text;
        return out;
    };
    const std::string two = "mov.u32 %r1, 1;\n";
    const std::string five = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];\n";
    for (const Row& row : std::initializer_list<Row>{{"", 0, 0},
                                                     {two, 2, 1},
                                                     {repeated(32, two), 64, 1},
                                                     {repeated(33, two), 64, 2},
                                                     {repeated(64, two), 64, 2},
                                                     {repeated(65, two), 64, 3},
                                                     {repeated(30, two) + five, 60, 2},
                                                     {repeated(12, five), 60, 1},
                                                     {repeated(12, five) + two + two, 64, 1},
                                                     {repeated(13, five), 60, 2},
                                                     {two + "L:\n" + five, 5, 2},
                                                     {two + "bar.sync 0;\n" + two, 4, 1},
                                                     {two + "@%p1 bra L;\n" + two + "L:\n", 2, 2},
                                                     {two + "{\n" + five + "}\n" + two, 5, 3},
                                                     {two + "@%p1 " + five + two, 5, 3}}) {
        const Kernel k = kernel_of(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 "
            "%r<8>; .reg .b64 %rd<2>; .reg .pred %p<2>;\n" +
            row.body + "ret;\n}\n");
        const gpu::TracedKernel traced = gpu::trace_kernel(k.module, k.program, all_of(k));
        EXPECT_EQ(traced.longest, row.longest) << row.body;
        size_t looks = 0;
        for (size_t at = 0; (at = traced.ptx.find("selp.b64 %lw_d", at)) != std::string::npos; ++at)
            ++looks;
        EXPECT_EQ(looks, row.looks) << row.body;
    }
}

TEST(Printed, ParametersOfATracedKernel) {
    const gpu::TraceWindow window{.first = 7, .words = 100, .first_cta = 3, .ctas = 2};
    const auto words_of = [](const std::vector<uint8_t>& bytes, size_t from) {
        std::vector<uint64_t> out((bytes.size() - from) / 8);
        std::memcpy(out.data(), bytes.data() + from, out.size() * 8);
        return out;
    };
    using Words = std::vector<uint64_t>;
    const gpu::TracedKernel kernel{"", 5, false};
    // A word of all lanes has 256 bytes, and there are 64 sinks.
    EXPECT_EQ(gpu::slack_of(kernel, window), 10u);
    EXPECT_EQ(gpu::slack_of(kernel, {0, 100, 3, 2}), 5u);
    EXPECT_EQ(gpu::slack_of(kernel, {1, 100, 3, 2}), 10u);
    EXPECT_EQ(gpu::bytes_before(kernel), 64u * 5 * 256);
    EXPECT_EQ(gpu::bytes_before({"", 5, true}), 64u * 5 * 256 + 256);
    EXPECT_EQ(gpu::trace_bytes(window, 10, 3), 2u * 3 * 110 * 256);
    const Words expected{0x100000,  3,       2,       110 * 256,
                         105 * 256, 7 * 256, 5 * 256, 0x100000 - 64 * 5 * 256};
    for (size_t own = 0; own < 18; ++own) {
        const std::vector<uint8_t> parameters(own, 0xab);
        const std::vector<uint8_t> all =
            gpu::trace_parameters(parameters, 0x100000, window, kernel);
        const size_t at = (own + 7) / 8 * 8;
        ASSERT_EQ(all.size(), at + 64);
        for (size_t i = 0; i < at; ++i) EXPECT_EQ(all[i], i < own ? 0xab : 0);
        EXPECT_EQ(words_of(all, at), expected);
        const std::vector<uint8_t> clocked = gpu::clocked_parameters(parameters, 0x123456789a);
        ASSERT_EQ(clocked.size(), at + 8);
        for (size_t i = 0; i < at; ++i) EXPECT_EQ(clocked[i], i < own ? 0xab : 0);
        EXPECT_EQ(words_of(clocked, at), Words{0x123456789a});
    }
    std::vector<uint8_t> bytes(2 * gpu::slot_bytes + 5);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
    const std::vector<gpu::Clocked> slots = gpu::clocked_slots(bytes);
    ASSERT_EQ(slots.size(), 2u);
    EXPECT_EQ(slots[0].begin, 0x0706050403020100u);
    EXPECT_EQ(slots[1].begin, 0x2726252423222120u);
    EXPECT_EQ(slots[1].end, 0x2f2e2d2c2b2a2928u);
    EXPECT_EQ(slots[1].place, 0x3736353433323130u);
}

// The whole module's instructions by operation; the end of a function stands in no text.
TEST(Printed, InstructionsOfAProgram) {
    const Kernel k = kernel_in("calls.ptx");
    const auto instructions = gpu::instructions_of(k.module, k.program);
    ASSERT_EQ(instructions.size(), k.program.operations.size());
    std::string opcodes;
    for (const ptx::Instruction* i : instructions)
        opcodes += i == nullptr ? "-\n" : i->opcode + " ";
    EXPECT_EQ(opcodes,
              "ld mov st call mov st call ld mov st call ld st -\n"
              "ld setp ret setp bra add st call ld ret exit -\n"
              "ld setp exit bra add add st ret -\n");
    const gpu::Traced traced = all_of(k);
    std::string marks;
    for (size_t i = 0; i < traced.size(); ++i) {
        marks += traced[i] ? 'x' : '.';
        if (instructions[i] == nullptr) marks += '\n';
    }
    // What writes a register.
    EXPECT_EQ(marks, "xx..x..xx..x..\nxx.x.x..x...\nxx..xx...\n");
    const gpu::Traced some = all_of(k, {"setp", "st", "add"});
    EXPECT_EQ(std::ranges::count(some, true), 6);
}

}  // namespace
}  // namespace lockwarp::printed_test
