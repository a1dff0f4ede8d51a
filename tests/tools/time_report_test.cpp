// SPDX-License-Identifier: Apache-2.0
// What lockwarp time prints of a report that is made by hand: every line of it, the timeline, and
// the picture of the pipes.
#include "tools/report/time_report.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"

namespace lockwarp::tools {
namespace {

using timing::Pipe;
using timing::Stall;

constexpr auto at(Pipe p) { return static_cast<size_t>(p); }
constexpr auto at(Stall s) { return static_cast<size_t>(s); }

constexpr const char* long_line =
    "mul.lo.u32 %r2, %r1, 3; // this line is longer than what fits beside its numbers";

// Lines 7 to 10: add, mul, bar, ret.
Timed timed(isa::Arch arch = isa::Arch::sm_80) {
    Timed t;
    t.in.source =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %r<4>;\n\tadd.u32 %r1,\t%r2, 1;\n  " +
        std::string(long_line) + "\nbar.sync 0;\nret;\n}\n";
    const ptx::Parsed parsed = ptx::parse(t.in.source);
    isa::Resolved resolved = isa::resolve(parsed.module, arch, "k");
    EXPECT_TRUE(resolved.diagnostics.empty());
    t.program = std::make_unique<isa::Program>(std::move(resolved.program));
    t.report.machine = timing::machine_of(arch);
    t.lowering.program = t.program.get();
    t.lowering.operations.resize(t.program->operations.size());
    t.report.operations.resize(t.program->operations.size());
    return t;
}

Timed full() {
    Timed t = timed();
    timing::Report& r = t.report;
    r.residency = {2, timing::Limit::shared, 33};
    r.grid_ctas = 1000;
    r.sm_ctas = 10;
    r.simulated = 4;
    r.cta_cycles = 1234;
    r.sm_cycles = 1'410'000;
    r.clock_cycles = 5000;
    r.issued = 7;
    r.retired = 6;
    r.products = 4096;
    r.tensor_share = 0.125;
    r.use[at(Pipe::alu)] = 0.25;
    r.use[at(Pipe::tensor)] = 1;
    r.use[at(Pipe::shared)] = 0.0004;  // too little to be said
    r.stalls[at(Stall::wait)] = 250;
    r.stalls[at(Stall::barrier)] = 750;
    r.operations[0].issues = 3;
    r.operations[0].stalls[at(Stall::wait)] = 100;
    r.operations[0].stalls[at(Stall::barrier)] = 150;
    r.operations[1].issues = 5;
    r.operations[1].wavefronts = 8;
    r.operations[1].ideal = 2;
    r.operations[1].stalls[at(Stall::barrier)] = 1600;
    r.operations[2].issues = 8;
    r.operations[2].wavefronts = r.operations[2].ideal = 4;
    r.operations[3].issues = 1000;
    t.lowering.operations[0].how = isa::Evidence::measured;
    t.lowering.operations[1].how = isa::Evidence::guessed;
    t.lowering.operations[2].how = isa::Evidence::measured;
    t.lowering.operations[3].action = timing::Action::free;  // costs nothing: not among the costs
    return t;
}

constexpr const char* first_lines =
    "1,234 cycles per CTA, 1,410,000 for the grid (1000.00 us at 1410 MHz): k on A100 (sm_80)\n"
    "1,000 CTAs, 10 on this SM, 2 at once (limit: shared memory; 33 registers a thread)\n";

TEST(TimeText, EveryLine) {
    const Timed t = full();
    ASSERT_EQ(t.report.machine->mhz, 1410);
    EXPECT_EQ(microseconds(t.report), 1000);
    const std::string text = time_text(t, 10);
    EXPECT_EQ(text, std::string(first_lines) +
                        "4 of the SM's CTAs were simulated, the others are taken as like them\n"
                        "5,000 cycles between the program's first clock read and its last\n"
                        "tensor cores at 12.5% of their peak: 4,096 multiply-adds\n"
                        "6 instructions of the PTX, 7 of the machine\n"
                        "costs: 68.8% measured, 31.2% guessed\n"
                        "\npipe        in use\n"
                        "alu          25.0%\n"
                        "tensor      100.0%\n"
                        "\nwhy warps wait       cycles of warps\n"
                        "barrier                        750   75.0%\n"
                        "wait                           250   25.0%\n"
                        "\nline    issued     waited  most for            instruction\n"
                        "    8        5      1,600  barrier             " +
                        std::string(long_line).substr(0, 50) +
                        "...\n"
                        "    7        3        250  barrier             add.u32 %r1, %r2, 1;\n"
                        "\nbank conflicts\n line wavefronts   least  instruction\n"
                        "    8          8          2  " +
                        std::string(long_line).substr(0, 68) + "...\n");
    // The first one of the instructions that wait.
    const std::string one = time_text(t, 1);
    EXPECT_NE(one.find("\n    8        5      1,600"), std::string::npos);
    EXPECT_EQ(one.find("\n    7 "), std::string::npos);
}

TEST(TimeText, WhatIsNotThereIsNotSaid) {
    Timed t = timed();
    t.report.grid_ctas = t.report.sm_ctas = t.report.simulated = 1;
    t.report.operations[0].issues = 1;
    EXPECT_EQ(time_text(t, 10),
              "0 cycles per CTA, 0 for the grid (0.00 us at 1410 MHz): k on A100 (sm_80)\n"
              "1 CTA, 1 on this SM, 1 at once (limit: grid; 0 registers a thread)\n"
              "0 instructions of the PTX, 0 of the machine\ncosts: 100.0% guessed\n"
              "\npipe        in use\n\nwhy warps wait       cycles of warps\n"
              "\nline    issued     waited  most for            instruction\n");
}

TEST(TimeText, WhatCannotBePrintedIsABlank) {
    const std::string expected = time_text(full(), 10);
    for (const char c : {'\x01', '\x1f', '\x7f', '\x80', '\xff'}) {
        Timed t = full();
        std::ranges::replace(t.in.source, '\t', c);
        t.in.source.replace(t.in.source.find(c), 1, "\t");  // the indentation
        EXPECT_EQ(time_text(t, 10), expected) << int{c};
    }
}

// Where there is line information the waits are summed by line as well.
TEST(TimeText, LinesOfTheSource) {
    Timed t = full();
    t.sources.files = {"", "src/gemm.cu"};
    const auto start = [&](uint32_t operation, uint32_t line) {
        t.sources.links.push_back({1, line, 0, 0, ptx::no_link});
        t.sources.starts.push_back({t.program->operations[operation].place,
                                    static_cast<uint32_t>(t.sources.links.size() - 1)});
    };
    start(0, 42);
    start(1, 43);
    start(2, 42);
    t.sources.starts.push_back({t.program->operations[3].place, ptx::no_link});
    t.report.operations[0].issues = 1;
    const std::string text = time_text(t, 10);
    EXPECT_NE(text.find("\n  issued     waited  source line\n"
                        "       5      1,600  src/gemm.cu:43\n"
                        "       9        250  src/gemm.cu:42\n"),
              std::string::npos)
        << text;
    // At the end of a line of 100 columns, two behind the instruction.
    const std::string head = "    8        5      1,600  barrier             ";
    const size_t begin = text.find(head);
    ASSERT_NE(begin, std::string::npos);
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    EXPECT_EQ(line.size(), 100u);
    EXPECT_TRUE(line.ends_with("...  src/gemm.cu:43")) << line;
    EXPECT_EQ(time_text(t, 1).find("src/gemm.cu:42\n"), std::string::npos);
    // A long name: no line is wider than 100 columns, and of the name there is its end, in half of
    // what is behind the numbers.
    for (const size_t length : {size_t{21}, size_t{50}, size_t{150}}) {
        t.sources.files = {"", std::string(length, 'n') + ".cu"};
        const std::string wide = time_text(t, 10);
        EXPECT_NE(wide.find("\n       5      1,600  nnn"), std::string::npos);
        EXPECT_NE(wide.find(" 3...  ...nnnnnnnnnnnnnnnnn.cu:43\n"), std::string::npos) << wide;
        std::istringstream lines(wide);
        size_t widest = 0;
        for (std::string one; std::getline(lines, one);) widest = std::max(widest, one.size());
        EXPECT_EQ(widest, 100u);
    }
    t.sources.files = {"", std::string(20, 'n') + ".cu"};
    EXPECT_NE(time_text(t, 10).find(" 3...  " + std::string(20, 'n') + ".cu:43\n"),
              std::string::npos);
}

TEST(TimeText, ArchitecturesSideBySide) {
    std::vector<Timed> all;
    all.push_back(full());
    all.push_back(timed(isa::Arch::sm_90));
    all[1].report.sm_cycles = uint64_t{all[1].report.machine->mhz} * 500;
    all[1].report.cta_cycles = 99;
    all[1].report.residency.ctas = 7;
    all[1].report.use[at(Pipe::fma)] = 0.5;
    all[1].report.stalls[at(Stall::membar)] = 12345;
    const auto row = [](const char* name, const std::string& a, const std::string& b) {
        return fmt::format("{:<20} {:>15} {:>15}\n", name, a, b);
    };
    EXPECT_EQ(compare_text(all),
              "H200 is the fastest of 2: 500.00 us for k\n" + row("", "sm_80", "sm_90") +
                  row("product", "A100", "H200") + row("cycles per CTA", "1,234", "99") +
                  row("cycles of the grid", "1,410,000",
                      fmt::format("{},{:03}", all[1].report.sm_cycles / 1000,
                                  all[1].report.sm_cycles % 1000)) +
                  row("microseconds", "1000.00", "500.00") + row("CTAs at once", "2", "7") +
                  row("alu in use", "25.0%", "0.0%") + row("fma in use", "0.0%", "50.0%") +
                  row("tensor in use", "100.0%", "0.0%") + row("wait", "250", "0") +
                  row("barrier", "750", "0") + row("membar", "0", "12,345"));
}

// Columns from the 37th on are cycles.
TEST(TimeText, Timeline) {
    Timed t = timed();
    t.report.events = {{10, 12, 16, 0, 0, 0, Stall::wait},
                       {12, 12, 13, 1, 5, 1, Stall::wait},
                       {12, 20, 40, 2, 4, 1, Stall::barrier},
                       {50, 50, 60, 3, 0, 0, Stall::wait}};
    const std::string legend =
        ". waits   I issues   = executes   > a dependent instruction may issue\n";
    const std::string indent(36, ' ');
    EXPECT_EQ(timeline_text(t, {false, 0, 10, 20}),
              "1 instruction of warp 0, cycles 10 to 29\n" + legend + indent +
                  "10        20\n     7 add.u32 %r1, %r2, 1;         ..I===>\n");
    // What is done before its begin, and what issues at its end, are not in a window.
    EXPECT_TRUE(timeline_text(t, {false, 0, 16, 34}).starts_with("1 instruction of "));
    EXPECT_TRUE(timeline_text(t, {false, 0, 17, 33}).starts_with("0 instructions of "));
    EXPECT_TRUE(timeline_text(t, {false, 0, 17, 34}).starts_with("1 instruction of "));
    // Warps 0 and 4 are of one sub-core, and are named.
    EXPECT_EQ(timeline_text(t, {true, 0, 0, 64}),
              "3 instructions of sub-core 0, cycles 0 to 63\n" + legend + indent +
                  "0         10        20        30        40        50        60\n"
                  "     7 w0  add.u32 %r1, %r2, 1;     " +
                  std::string(10, ' ') +
                  "..I===>\n"
                  "     9 w4  bar.sync 0;              " +
                  std::string(12, ' ') + "........I" + std::string(19, '=') +
                  ">\n"
                  "    10 w0  ret;                     " +
                  std::string(50, ' ') + "I" + std::string(9, '=') + ">\n");
    EXPECT_EQ(timeline_text(t, {true, 1, 0, 64}),
              "1 instruction of sub-core 1, cycles 0 to 63\n" + legend + indent +
                  "0         10        20        30        40        50        60\n"
                  "     8 w5  mul.lo.u32 %r2, %r1, ...             I>\n");
    // 64 columns hold two cycles each, from one more cycle on.
    EXPECT_EQ(timeline_text(t, {false, 0, 0, 65}),
              "2 instructions of warp 0, cycles 0 to 64, 2 a column\n" + legend + indent +
                  "0         20        40        60\n"
                  "     7 add.u32 %r1, %r2, 1;              .I=>\n"
                  "    10 ret;                         " +
                  std::string(25, ' ') + "I====>\n");
}

TEST(TimeTrace, AnEventForEachWaitAndEachInstruction) {
    Timed t = timed();
    t.report.events = {{10, 12, 16, 0, 3, 2, Stall::barrier}, {12, 12, 13, 1, 5, 1, Stall::wait}};
    t.lowering.operations[0].pipe = Pipe::alu;
    t.lowering.operations[1].pipe = Pipe::imad;
    EXPECT_EQ(nlohmann::json::parse(trace_json(t)), nlohmann::json::parse(R"({"traceEvents":[
        {"name":"barrier","cat":"stall","ph":"X","ts":10,"dur":2,"pid":2,"tid":3,
         "args":{"before":"line 7"}},
        {"name":"line 7","cat":"alu","ph":"X","ts":12,"dur":1,"pid":2,"tid":3,
         "args":{"line":7,"result_after":4}},
        {"name":"line 8","cat":"imad","ph":"X","ts":12,"dur":1,"pid":1,"tid":5,
         "args":{"line":8,"result_after":1}}],
        "displayTimeUnit":"ns","otherData":{"unit":"a microsecond here is a cycle"}})"));
}

// 900 by 320 at (50, 40); a legend line of 18 for each pipe that is used, beside it.
TEST(TimePicture, OfThePipes) {
    Timed t = timed();
    t.report.bucket_cycles = 100;
    t.report.use[at(Pipe::alu)] = 0.5;
    t.report.use_over_time[at(Pipe::alu)] = {0, 1};
    t.report.use[at(Pipe::fma)] = 0.004;  // too little to be drawn
    t.report.use_over_time[at(Pipe::fma)] = {1, 1};
    t.report.use[at(Pipe::imad)] = 0.005;
    t.report.use_over_time[at(Pipe::imad)] = {0.25, 2};
    t.report.use[at(Pipe::tensor)] = 1;
    t.report.use_over_time[at(Pipe::tensor)] = {0.5, 0.75};
    const auto pipe = [](const char* colour, const char* dashes, const char* points, int y,
                         const char* text) {
        return fmt::format(
            "<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"2\" stroke-dasharray=\"{1}\" "
            "points=\"{2}\"/><text x=\"960\" y=\"{3}\" fill=\"{0}\">{4}</text>",
            colour, dashes, points, y, text);
    };
    EXPECT_EQ(
        use_svg(t),
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1090 400\" width=\"1090\" "
        "height=\"400\" role=\"img\"><title>k: use of the pipes over time</title>"
        "<style>text{font:13px sans-serif}</style><rect width=\"1090\" height=\"400\" "
        "fill=\"#fff\"/><text x=\"50\" y=\"24\">k on A100: use of the pipes, of one SM</text>"
        "<rect x=\"50\" y=\"40\" width=\"900\" height=\"320\" fill=\"none\" stroke=\"#333\"/>" +
            pipe("#0072b2", "", "275.0,360.0 725.0,40.0 ", 56, "alu 50%") +
            pipe("#d55e00", "", "275.0,280.0 725.0,40.0 ", 74, "imad 0%") +
            pipe("#009e73", "6 3", "275.0,200.0 725.0,120.0 ", 92, "tensor 100%") +
            "<text x=\"44\" y=\"364\" text-anchor=\"end\">0%</text>"
            "<text x=\"44\" y=\"284\" text-anchor=\"end\">25%</text>"
            "<text x=\"44\" y=\"204\" text-anchor=\"end\">50%</text>"
            "<text x=\"44\" y=\"124\" text-anchor=\"end\">75%</text>"
            "<text x=\"44\" y=\"44\" text-anchor=\"end\">100%</text>"
            "<text x=\"50\" y=\"380\">cycle 0</text><text x=\"950\" y=\"380\" "
            "text-anchor=\"end\">cycle 200</text></svg>\n");
}

}  // namespace
}  // namespace lockwarp::tools
