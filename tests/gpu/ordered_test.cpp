// SPDX-License-Identifier: Apache-2.0
// Which instructions depend on an order, by lines that say it behind them; and how many words a
// record has.
#include "gpu/ordered.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "emu/ptx/printer.hpp"
#include "gpu/trace.hpp"

namespace {

using namespace lockwarp;
using gpu::Ordered;

constexpr auto names =
    std::to_array<const char*>({"none", "weak", "load", "store", "change", "block", "result"});

struct Chosen {
    isa::Program program;
    ptx::Module module;
    gpu::Orders orders;
};

Chosen chosen(const std::string& text) {
    ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message << "\n" << text;
    isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(resolved.diagnostics.empty())
        << resolved.diagnostics[0].place.line << ": " << resolved.diagnostics[0].message << "\n"
        << text;
    Chosen out{std::move(resolved.program), std::move(parsed.module), {}};
    out.orders = gpu::choose_ordered(out.program, out.module);
    return out;
}

std::string kernel(const std::string& body) {
    return ".version 8.6\n.target sm_90\n.address_size 64\n"
           ".extern .func (.param .b64 block) malloc(.param .b64 bytes);\n"
           ".extern .func free(.param .b64 block);\n"
           ".func f() { ret; }\n"
           ".func (.param .b64 back) g(.param .b64 given) { ret; }\n"
           ".visible .entry k(.param .u64 out)\n{\n"
           ".reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .b128 %q<4>;\n"
           ".reg .f32 %f<8>; .reg .f64 %g<4>; .reg .pred %p<8>;\n" +
           body + "ret;\n}\n";
}

// What each line says behind "//", "none" where it says nothing.
void expect_as_said(const std::string& body) {
    const std::string text = kernel(body);
    const Chosen c = chosen(text);
    std::vector<std::string> lines{""};
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    ASSERT_EQ(c.orders.size(), c.program.operations.size()) << text;
    for (size_t i = 0; i < c.orders.size(); ++i) {
        const std::string& line = lines.at(c.program.operations[i].place.line);
        const size_t at = line.find("//");
        EXPECT_EQ(names.at(static_cast<size_t>(c.orders[i])),
                  at == std::string::npos ? "none" : line.substr(at + 2))
            << line;
    }
}

void expect_nothing_ordered(const std::string& body) {
    EXPECT_TRUE(chosen(kernel(body)).orders.empty()) << body;
}

TEST(Ordered, EachKindOfAccess) {
    expect_as_said(
        "ld.param.u64 %rd1, [out];\n"
        "ld.volatile.global.u32 %r1, [%rd1];//load\n"
        "ld.relaxed.gpu.global.u32 %r1, [%rd1];//load\n"
        "ld.acquire.sys.u32 %r1, [%rd1];//load\n"
        "ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];//load\n"
        "ld.volatile.u32 %r1, [%rd1];//load\n"
        "ld.volatile.shared.u32 %r1, [%r2];//weak\n"
        "ld.relaxed.cta.shared.u32 %r1, [%r2];//weak\n"
        "ld.weak.global.u32 %r1, [%rd1];//weak\n"
        "ld.global.u32 %r1, [%rd1];//weak\n"
        "ld.global.v2.u32 {%r3, %r4}, [%rd1];//weak\n"
        "ld.shared.u32 %r1, [%r2];//weak\n"
        "ld.u32 %r1, [%rd1];//weak\n"
        "ld.relaxed.gpu.global.b128 %q1, [%rd1];//load\n"
        "ld.global.b128 %q1, [%rd1];//weak\n"
        "ld.local.u32 %r1, [%r2];\n"
        "ld.const.u32 %r1, [%r2];\n"
        "st.volatile.global.u32 [%rd1], %r1;//store\n"
        "st.relaxed.gpu.global.u32 [%rd1], %r1;//store\n"
        "st.release.gpu.u32 [%rd1], %r1;//store\n"
        "st.volatile.shared.u32 [%r2], %r1;//store\n"
        "st.mmio.relaxed.sys.global.u32 [%rd1], %r1;//store\n"
        "st.global.u32 [%rd1], %r1;\n"
        "st.weak.global.u32 [%rd1], %r1;\n"
        "st.local.u32 [%r2], %r1;\n"
        "atom.global.add.u32 %r1, [%rd1], 1;//change\n"
        "atom.shared.add.u32 %r1, [%r2], 1;//change\n"
        "atom.add.u32 _, [%rd1], 1;//change\n"
        "atom.global.exch.b128 %q1, [%rd1], %q2;\n"
        "atom.global.cas.b64 %rd2, [%rd1], %rd3, %rd4;//change\n"
        "red.global.add.u32 [%rd1], 1;//change\n"
        "red.shared.or.b32 [%r2], 1;//change\n"
        "red.global.add.f32 [%rd1], %f1;//change\n"
        "add.u32 %r1, %r1, 1;\n"
        "add.f32 %f1, %f2, %f3;\n"
        "ld.global.f32 %f1, [%rd1];//weak\n"
        "ld.local.f32 %f1, [%r2];\n"
        "st.global.f32 [%rd1], %f1;\n");
}

// Integers that are added or the like leave the same in any order: alone they are not ordered.
TEST(Ordered, WhatAloneMakesAnOrder) {
    const std::string load = "ld.global.u32 %r1, [%rd1];";
    expect_nothing_ordered(load + "\nst.global.u32 [%rd1], %r1;\n");
    expect_nothing_ordered(load + "\nred.global.add.u32 [%rd1], 1;\n");
    expect_nothing_ordered(load + "\nred.shared.min.s32 [%r2], 1;\n");
    expect_nothing_ordered(load + "\nst.release.gpu.global.u32 [%rd1], %r1;\n");
    expect_nothing_ordered(load + "\natom.global.exch.b128 %q1, [%rd1], %q2;\n");
    expect_nothing_ordered("ld.volatile.shared.u32 %r1, [%r2];\n");
    const auto alone = [&](const std::string& line) {
        expect_as_said(load + "//weak\n" + line + "\n");
    };
    alone("red.global.add.f32 [%rd1], %f1;//change");
    alone("red.global.add.f64 [%rd1], %g1;//change");
    alone("red.global.add.noftz.f16x2 [%rd1], %r1;//change");
    alone("atom.global.add.u32 %r1, [%rd1], 1;//change");
    alone("ld.volatile.global.u32 %r1, [%rd1];//load");
    alone("red.global.add.u32 [%rd1], 1;//change\nred.global.add.f32 [%rd1], %f1;//change");
}

// A call of malloc and the load of its result, the next instruction.
TEST(Ordered, BlocksOfMalloc) {
    expect_as_said(
        "ld.global.u32 %r1, [%rd1];//weak\n"
        "{ .param .b64 bytes; .param .b64 block;\n"
        "st.param.b64 [bytes], %rd3;\n"
        "call.uni (block), malloc, (bytes);//block\n"
        "ld.param.b64 %rd2, [block];//result\n"
        "ld.param.b64 %rd4, [block]; }\n"
        "{ .param .b64 block;\n"
        "st.param.b64 [block], %rd2;\n"
        "call.uni free, (block);\n"
        "}\n"
        "call f;\n"
        "mov.u64 %rd5, %rd2;\n");
    expect_as_said(
        "ld.global.u32 %r1, [%rd1];//weak\n"
        "{ .param .b64 bytes; .param .b64 block;\n"
        "st.param.b64 [bytes], %rd3;\n"
        "call.uni (block), malloc, (bytes);//block\n"
        "ld.param.b64 %rd2, [block];//result\n"
        "st.global.u64 [%rd1], %rd2; }\n");
    // Of no other function.
    expect_nothing_ordered(
        "{ .param .b64 given; .param .b64 back;\n"
        "st.param.b64 [given], %rd3;\n"
        "call.uni (back), g, (given);\n"
        "ld.param.b64 %rd2, [back]; }\n");
    // Where it is not the next, nothing says which block a lane was given.
    expect_nothing_ordered(
        "{ .param .b64 bytes; .param .b64 block;\n"
        "st.param.b64 [bytes], %rd3;\n"
        "call.uni (block), malloc, (bytes);\n"
        "mov.u32 %r1, 3;\n"
        "ld.param.b64 %rd2, [block]; }\n");
    expect_nothing_ordered(
        "{ .param .b64 bytes; .param .b64 block;\n"
        "st.param.b64 [bytes], %rd3;\n"
        "call.uni (block), malloc, (bytes);\n"
        "}\n");
    // Nor where the address comes in two halves.
    expect_nothing_ordered(
        "{ .param .b64 bytes; .param .b64 block;\n"
        "st.param.b64 [bytes], %rd3;\n"
        "call.uni (block), malloc, (bytes);\n"
        "ld.param.v2.b32 {%r1, %r2}, [block]; }\n");
}

// A loop that only waits: what it loads is ordered, though it is not strong. `said`: of its loads.
void expect_loop(const std::string& body, bool waits) {
    if (!waits) expect_nothing_ordered(body);
    std::string marked, line;
    std::istringstream in(body);
    while (std::getline(in, line)) {
        const bool load = line.starts_with("ld.");
        marked += line + (load ? waits ? "//load" : "//weak" : "") + "\n";
    }
    expect_as_said(marked + "red.global.add.f32 [%rd9], %f1;//change\n");
}

TEST(Ordered, LoopsThatWait) {
    const std::string end = "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n";
    for (const char* load : {"ld.global.u32 %r1, [%rd1];\n", "ld.shared.u32 %r1, [%r2];\n",
                             "ld.volatile.shared.u32 %r1, [%r2];\n", "ld.u32 %r1, [%rd1+4];\n"})
        expect_loop(std::string("L:\n") + load + end, true);
    const std::string load = "ld.global.u32 %r1, [%rd1];\n";
    const auto waits = [&](const std::string& loop) { expect_loop("L:\n" + loop, true); };
    const auto does_not = [&](const std::string& loop) { expect_loop("L:\n" + loop, false); };
    waits(load + "setp.ne.u32 %p1, %r1, %r2;\n@!%p1 bra L;\n");
    waits(load +
          "and.b32 %r3, %r1, %r2;\nxor.b32 %r4, %r3, 5;\nsetp.ne.u32 %p1, %r4, 0;\n@%p1 bra L;\n");
    // The branch that leaves stands before the one that goes back.
    waits(load + "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra OUT;\nbra L;\nOUT:\n");
    waits(load + "bar.warp.sync -1;\n" + end);
    waits(
        "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r3, [%rd2];\nadd.u32 %r4, %r1, %r3;\n"
        "setp.ne.u32 %p1, %r4, 0;\n@%p1 bra L;\n");
    // Others of its registers may change.
    waits(load + "add.u32 %r7, %r7, 1;\n" + end);
    does_not(load + "st.global.u32 [%rd3], %r7;\n" + end);
    does_not(load + "st.shared.u32 [%r7], %r7;\n" + end);
    does_not(load + "cp.async.ca.shared.global [%r7], [%rd3], 4;\n" + end);
    does_not(load + "call f;\n" + end);
    for (const char* update : {"red.global.add.u32 [%rd3], 1;\n", "red.shared.or.b32 [%r7], 1;\n"})
        expect_nothing_ordered("L:\n" + load + update + end);
    does_not(load + "add.u64 %rd1, %rd1, 4;\n" + end);
    does_not("add.u64 %rd1, %rd1, 4;\n" + load + end);
    // An address that is computed anew each time stays the same.
    waits("add.u64 %rd1, %rd2, 4;\n" + load + end);
    waits(load + "mov.u64 %rd1, %rd2;\n" + end);
    does_not(load + "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 10;\n@%p1 bra L;\n");
    does_not(load +
             "add.u32 %r7, %r7, 1;\nadd.u32 %r8, %r7, %r1;\nsetp.lt.u32 %p1, %r8, 10;\n"
             "@%p1 bra L;\n");
    does_not(load + "setp.lt.u32 %p1, %r8, 10;\n@%p1 bra L;\n");
    does_not(load + "bra L;\n");
    does_not(
        load +
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 mov.u32 %r7, 1;\nsetp.lt.u32 %p2, %r8, 10;\n@%p2 bra L;\n");
    // Other loads decide too, which are not of common memory or not of one place.
    for (const char* other :
         {"ld.local.u32 %r3, [%r5];\n", "ld.const.u32 %r3, [%r5];\n", "ld.param.u32 %r3, [out];\n",
          "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r5];\n",
          "add.u64 %rd2, %rd2, 4;\nld.global.u32 %r3, [%rd2];\n",
          "ld.global.u32 %r3, [%rd2];\nadd.u64 %rd2, %rd2, 4;\n"})
        for (const bool first : {false, true}) {
            const std::string loop = "L:\n" + (first ? other + load : load + other) +
                                     "add.u32 %r4, %r1, %r3;\nsetp.eq.u32 %p1, %r4, 0;\n"
                                     "@%p1 bra L;\n";
            const std::string text = kernel(loop + "red.global.add.f32 [%rd9], %f1;\n");
            const Chosen c = chosen(text);
            EXPECT_EQ(std::ranges::count(c.orders, Ordered::load), 0) << text;
            EXPECT_GE(std::ranges::count(c.orders, Ordered::weak), 1) << text;
        }
    // It decides what is read with it, and nothing else.
    does_not(load + "add.u32 %r3, %r8, %r1;\nsetp.lt.u32 %p1, %r8, 10;\n@%p1 bra L;\n");
    // By what the round before it left, from register to register.
    waits(
        "and.pred %p3, %p2, %p2;\nsetp.ne.u32 %p2, %r1, %r3;\nmov.u32 %r3, %r4;\n"
        "mov.u32 %r4, %r5;\nmov.u32 %r5, 5;\n" +
        load + "@%p3 bra L;\n");
    waits("mov.u32 %r6, %r5;\nmov.u32 %r5, %r4;\nmov.u32 %r4, %r3;\nmov.u32 %r3, %r1;\n" + load +
          "setp.ne.u32 %p1, %r6, 0;\n@%p1 bra L;\n");
    // Before the loop, and behind it.
    expect_loop(load + "L:\nadd.u32 %r7, %r1, 1;\nsetp.lt.u32 %p1, %r7, 10;\n@%p1 bra L;\n", false);
    expect_loop("L:\nsetp.lt.u32 %p1, %r1, 10;\n@%p1 bra L;\n" + load, false);
    // Forwards.
    expect_loop(load + "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nmov.u32 %r2, 1;\nL:\n", false);
    // By what another loop of the same load would decide.
    expect_loop("K:\nL:\n" + load + end +
                    "st.global.u32 [%rd3], %r1;\nsetp.eq.u32 %p2, %r7, 0;\n"
                    "@%p2 bra K;\n",
                true);
}

// So long a loop is not looked at.
TEST(Ordered, ALoopThatWaitsHasAtMost100Instructions) {
    for (const bool first : {false, true})
        for (const size_t operations : {99u, 100u, 101u, 102u}) {
            std::string rest;
            for (size_t i = 3; i < operations; ++i) rest += "mov.u32 %r7, 1;\n";
            const std::string load = "ld.global.u32 %r1, [%rd1];\n";
            expect_loop("L:\n" + (first ? load + rest : rest + load) +
                            "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n",
                        operations <= 100);
        }
}

struct Words {
    const char* line;
    uint64_t none, change;
    bool keeps;
};

// The number, the registers; of a change two more, and what was in memory where no register has it.
TEST(Ordered, WordsOfARecord) {
    for (const Words& row : std::initializer_list<Words>{
             {"atom.global.add.u32 %r1, [%rd1], 1;", 2, 4, false},
             {"atom.global.add.u32 _, [%rd1], 1;", 1, 4, true},
             {"red.global.add.u32 [%rd1], 1;", 1, 4, true},
             {"red.global.add.f64 [%rd1], %g1;", 1, 4, true},
             {"atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f3, %f4};", 3, 5, false},
             {"atom.global.v2.f32.add {%f1, _}, [%rd1], {%f3, %f4};", 2, 6, true},
             {"atom.global.v4.f32.add {_, _, _, %f1}, [%rd1], {%f3, %f4, %f5, %f6};", 2, 8, true},
             {"red.global.v4.f32.add [%rd1], {%f3, %f4, %f5, %f6};", 1, 7, true}}) {
        const Chosen c = chosen(kernel(std::string(row.line) + "\n"));
        const isa::Operation& o = c.program.operations[0];
        EXPECT_EQ(gpu::keeps_old(o), row.keeps) << row.line;
        EXPECT_EQ(gpu::record_words(o, Ordered::none), row.none) << row.line;
        EXPECT_EQ(gpu::record_words(o, Ordered::load), row.none) << row.line;
        EXPECT_EQ(gpu::record_words(o, Ordered::change), row.change) << row.line;
        EXPECT_EQ(gpu::record_words(c.program, {}, 0), row.none) << row.line;
        EXPECT_EQ(gpu::record_words(c.program, {Ordered::change, Ordered::none}, 0), row.change);
    }
    const Chosen c = chosen(kernel("ld.global.v2.u32 {%r1, %r2}, [%rd1];\nmov.u32 %r1, 2;\n"));
    EXPECT_EQ(gpu::record_words(c.program, {Ordered::weak, Ordered::result, Ordered::none}, 0), 3u);
    EXPECT_EQ(gpu::record_words(c.program, {Ordered::weak, Ordered::result, Ordered::none}, 1), 3u);
    EXPECT_EQ(gpu::record_words(c.program, {}, 1), 2u);
}

// What a loop of a hundred operations waits for is waited for, wherever in it the load stands.
TEST(Ordered, LoopsHaveALimit) {
    const auto movs = [](size_t n) {
        std::string out;
        for (size_t i = 0; i < n; ++i) out += "mov.u32 %r9, 1;\n";
        return out;
    };
    for (const size_t before : {0u, 1u, 50u, 97u, 98u})
        for (const size_t operations : {3u, 99u, 100u, 101u, 102u}) {
            if (before + 3 > operations) continue;
            SCOPED_TRACE(std::to_string(before) + " " + std::to_string(operations));
            const std::string body = "ld.param.u64 %rd1, [out];\nL:\n" + movs(before) +
                                     "ld.global.u32 %r1, [%rd1]; //load\n" +
                                     movs(operations - before - 3) +
                                     "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n";
            if (operations <= 100)
                expect_as_said(body);
            else
                expect_nothing_ordered(body);
        }
}

// The text around a change: where it is, between two tickets; of what no register of its own has
// what was in memory.
TEST(Ordered, WhatIsWrittenAroundAChange) {
    struct Row {
        const char* line;
        const char* address;  // what makes %lw_a
        const char* changed;  // the line as it is traced
        std::vector<std::string> old;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"atom.global.add.u32 %r1, [%rd1+8], 1;",
              "add.s64 %lw_a, %rd1, 8;",
              "atom.global.add.u32 %r1, [%rd1+8], 1;",
              {}},
             {"atom.global.add.u32 _, [v+4], 1;",
              "mov.u64 %lw_a, V;",
              "atom.global.add.u32 %lw_b32_0, [v+4], 1;",
              {"b32 %lw_b32_0"}},
             {"red.shared.or.b32 [%r2+-4], 1;",
              "cvt.u64.u32 %lw_a, %r2; add.s64 %lw_a, %lw_a, -4;",
              "atom.shared.or.b32 %lw_b32_0, [%r2+-4], 1;",
              {"b32 %lw_b32_0"}},
             {"red.add.f64 [%rd1], %g1;",
              "add.s64 %lw_a, %rd1, 0;\nisspacep.shared %lw_q, %lw_a; @%lw_q or.b64 %lw_a, %lw_a, "
              "-9223372036854775808;",
              "atom.add.f64 %lw_b64_0, [%rd1], %g1;",
              {"b64 %lw_b64_0"}},
             {"red.global.add.noftz.f16 [%rd1], %h1;",
              "add.s64 %lw_a, %rd1, 0;",
              "atom.global.add.noftz.f16 %lw_b16_0, [%rd1], %h1;",
              {"b16 %lw_b16_0"}},
             {"atom.global.v2.f32.add {_, %f1}, [%rd1], {%f3, %f4};",
              "add.s64 %lw_a, %rd1, 0;",
              "atom.global.v2.f32.add {%lw_b32_0, %f1}, [%rd1], {%f3, %f4};",
              {"b32 %lw_b32_0", "b32 %f1"}},
             {"atom.global.v4.f32.add {%f1, _, %f2, _}, [%rd1], {%f3, %f4, %f5, %f6};",
              "add.s64 %lw_a, %rd1, 0;",
              "atom.global.v4.f32.add {%f1, %lw_b32_1, %f2, %lw_b32_3}, [%rd1], "
              "{%f3, %f4, %f5, %f6};",
              {"b32 %f1", "b32 %lw_b32_1", "b32 %f2", "b32 %lw_b32_3"}},
             {"red.global.v2.f32.add [%rd1], {%f3, %f4};",
              "add.s64 %lw_a, %rd1, 0;",
              "atom.global.v2.f32.add {%lw_b32_0, %lw_b32_1}, [%rd1], {%f3, %f4};",
              {"b32 %lw_b32_0", "b32 %lw_b32_1"}}}) {
        std::string text = kernel(std::string(row.line) + "\n");
        text.insert(text.find(".extern"), ".global .u32 u; .global .u32 v[4];\n");
        const Chosen c = chosen(text);
        const isa::Operation& o = c.program.operations[0];
        std::string address = row.address;
        if (const size_t at = address.find('V'); at != std::string::npos)
            address.replace(at, 1, std::to_string(o.address[0].offset));
        EXPECT_EQ(gpu::before_change(c.program, o, "@%lw_g "),
                  address + "\n@%lw_g atom.global.add.u32 %lw_i, [%lw_c], 1; membar.gl;\n")
            << row.line;
        ptx::Instruction changed = *gpu::instructions_of(c.module, c.program)[0];
        gpu::with_old_values(changed, o);
        EXPECT_EQ(ptx::print(changed), row.changed);
        std::string stored = "mov.b64 %lw_v, {%lw_i, %lw_j};\n";
        uint64_t at = 3;
        const auto add = [&](const std::string& type, const std::string& reg) {
            stored +=
                "st.global." + type + " [%lw_d+" + std::to_string(256 * at++) + "], " + reg + ";\n";
        };
        add("b64", "%lw_v");
        add("b64", "%lw_a");
        for (const std::string& old : row.old) add(old.substr(0, 3), old.substr(4));
        EXPECT_EQ(gpu::stored_change(c.program, o, 3), stored) << row.line;
    }
    EXPECT_EQ(gpu::after_change("@%lw_g "),
              "membar.gl; @%lw_g atom.global.add.u32 %lw_j, [%lw_c], 1;\n");
    EXPECT_EQ(gpu::after_result("@%lw_g "),
              "membar.gl; @%lw_g atom.global.add.u32 %lw_j, [%lw_c], 1; membar.gl;\n");
    EXPECT_EQ(gpu::stored_result(2), "st.global.u32 [%lw_d+512], %lw_j;\n");
}

}  // namespace
