// SPDX-License-Identifier: Apache-2.0
// The order of a block: whatever depends on something stands behind it, in the kernels of
// gpu/kernels and in small blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "emu/lockwarp.hpp"
#include "emu/timing/lowering.hpp"

namespace {

using namespace lockwarp;
using timing::Action;
using timing::Lowered;
using timing::Lowering;

// Nothing goes past it.
bool is_wall(const Lowered& m) {
    constexpr std::array free_to_move{Action::free, Action::plain, Action::tensor,
                                      Action::load, Action::store, Action::copy};
    return std::ranges::find(free_to_move, m.action) == free_to_move.end() ||
           timing::is_fence(m.kind) || m.fence != 0 || m.kind == timing::Kind::wait ||
           m.kind == timing::Kind::registers || m.kind == timing::Kind::warp_barrier;
}

bool in_shared(const isa::Operation& o) {
    return o.mod.space == ptx::Space::shared || isa::row(o.op).shared_only;
}

// Why j must stand behind i, which is before it in the program; "": it need not.
std::string reason(const isa::Program& p, const Lowering& l, uint32_t i, uint32_t j) {
    const isa::Operation& a = p.operations[i];
    const isa::Operation& b = p.operations[j];
    const Lowered& x = l.operations[i];
    const Lowered& y = l.operations[j];
    if (is_wall(x) || is_wall(y)) return "a wall";
    for (uint32_t u = b.first_use + b.written; u < b.first_use + b.written + b.read; ++u)
        if (l.sources[u] == i) return "its value";
    // What the block leaves in a register is not there before others have read what was.
    for (uint32_t u = b.first_use; u < b.first_use + b.written; ++u)
        for (uint32_t v = a.first_use + a.written; v < a.first_use + a.written + a.read; ++v)
            if (l.sources[u] == Lowering::outside && l.sources[v] == Lowering::outside &&
                p.uses[u] == p.uses[v])
                return "its register";
    const auto stores = [](const Lowered& m) {
        return m.action == Action::store || m.action == Action::copy;
    };
    const auto touches = [&](const Lowered& m) { return stores(m) || m.action == Action::load; };
    if (touches(x) && touches(y) && (stores(x) || stores(y)) && in_shared(a) == in_shared(b))
        return "memory";
    return "";
}

// Compares each pair of each block; gives how many must keep their order, and how many others
// changed places.
std::pair<size_t, size_t> check(const isa::Program& p, const std::string& name) {
    const Lowering l = timing::lower(p, *timing::machine_named("sm_90"));
    size_t kept = 0, moved = 0;
    for (const timing::Block& block : l.blocks) {
        const uint32_t n = block.last - block.first + 1;
        std::vector<uint32_t> sorted = block.order;
        std::ranges::sort(sorted);
        for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(sorted[i], block.first + i) << name;
        std::vector<uint32_t> place(n);
        for (uint32_t at = 0; at < n; ++at) place[block.order[at] - block.first] = at;
        for (uint32_t i = 0; i < n; ++i)
            for (uint32_t j = i + 1; j < std::min(n, i + 200); ++j) {
                const std::string why = reason(p, l, block.first + i, block.first + j);
                kept += !why.empty();
                moved += place[j] < place[i];
                if (!why.empty() && place[j] < place[i])
                    ADD_FAILURE() << name << ": " << block.first + j << " stands before "
                                  << block.first + i << ": " << why;
            }
    }
    return {kept, moved};
}

TEST(Schedule, KeepsTheOrderOfWhatDependsOnEachOther) {
    size_t kernels = 0, kept = 0, moved = 0;
    for (const auto& file :
         std::filesystem::directory_iterator(LOCKWARP_SOURCE_DIR "/gpu/kernels")) {
        if (file.path().extension() != ".ptx" || file.file_size() > 60000) continue;
        std::ifstream in(file.path());
        std::ostringstream text;
        text << in.rdbuf();
        const ptx::Parsed parsed = ptx::parse(text.str());
        for (const std::string& entry : isa::entries(parsed.module)) {
            const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, entry);
            if (!r.diagnostics.empty()) continue;
            const auto [in_order, others] = check(r.program, file.path().filename().string());
            kept += in_order;
            moved += others;
            ++kernels;
        }
    }
    EXPECT_GT(kernels, 50u);
    EXPECT_GT(kept, 50000u);
    EXPECT_GT(moved, 5000u);
}

// The opcodes of a block in its order, with the line of each: "ld2".
std::string order_of(const std::vector<std::string>& lines) {
    std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<20>; "
        ".reg .b64 %d<20>; .reg .f32 %f<9>; .reg .pred %p<4>; .shared .align 16 .b8 s[64];\n";
    for (const std::string& line : lines) text += line + "\n";
    const ptx::Parsed parsed = ptx::parse(text + "ret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << text;
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << text;
    check(r.program, text);
    const Lowering l = timing::lower(r.program, *timing::machine_named("sm_90"));
    std::string out;
    for (const uint32_t at : l.blocks[0].order) {
        const isa::Operation& o = r.program.operations[at];
        if (o.op == isa::Op::ret || o.op == isa::Op::exit) continue;
        out += (out.empty() ? "" : " ") + std::string(isa::row(o.op).name) +
               std::to_string(o.place.line - 6);
    }
    return out;
}

// Loads go before what does not need them, as their latency is the longest way; of global memory
// before those of shared memory. Past a store to the same memory they do not: it has the pipe for
// two cycles, of which the second is another's.
TEST(Schedule, BringsLoadsForward) {
    const std::string work = "prmt.b32 %r4, %r0, %r1, 1;", use = "prmt.b32 %r6, %r5, %r4, 1;",
                      keep = "st.global.u32 [%d3], %r6;";
    const std::string shared = "ld.shared.u32 %r5, [%r9];", global = "ld.global.u32 %r5, [%d1];";
    EXPECT_EQ(order_of({work, shared, use, keep}), "ld2 prmt1 prmt3 st4");
    EXPECT_EQ(order_of({work, global, use, keep}), "ld2 prmt1 prmt3 st4");
    EXPECT_EQ(order_of({"ld.shared.u32 %r7, [%r9];", "ld.global.u32 %r5, [%d1];",
                        "prmt.b32 %r6, %r5, %r7, 1;", keep}),
              "ld2 ld1 prmt3 st4");
    const std::string store = "st.shared.u32 [%r10], %r0;", beyond = "st.global.u32 [%d2], %r0;";
    EXPECT_EQ(order_of({work, store, shared, use, keep}), "st2 prmt1 ld3 prmt4 st5");
    EXPECT_EQ(order_of({work, beyond, shared, use, keep}).substr(0, 3), "ld3");
    EXPECT_EQ(order_of({work, beyond, global, use, keep}), "st2 prmt1 ld3 prmt4 st5");
    EXPECT_EQ(order_of({work, store, global, use, keep}).substr(0, 3), "ld3");
    // A wall lets nothing past.
    for (const char* const wall : {"bar.sync 0;", "membar.gl;", "bar.warp.sync -1;",
                                   "cp.async.wait_all;", "mov.u32 %r12, %clock;"})
        EXPECT_TRUE(order_of({work, wall, global, use, keep}).starts_with("prmt1 ")) << wall;
    // A guarded result may be what was there before.
    EXPECT_EQ(
        order_of({"prmt.b32 %r5, %r0, %r1, 1;", work, "@%p1 ld.shared.u32 %r5, [%r9];", use, keep})
            .substr(0, 9),
        "prmt1 ld3");
}

// What only keeps its order may issue in the next cycle: before what is on a shorter way.
TEST(Schedule, WhatKeepsItsOrderWaitsForOneCycle) {
    const std::string other = "fma.rn.f32 %f1, %f2, %f3, %f4;",
                      keep = "st.global.f32 [%d3+8], %f1;";
    // A guarded result, and a carry.
    EXPECT_EQ(order_of({"prmt.b32 %r5, %r0, %r1, 1;", other, "@%p1 ld.shared.u32 %r5, [%r9];",
                        "prmt.b32 %r6, %r5, %r4, 1;", "st.global.u32 [%d3], %r6;", keep}),
              "prmt1 ld3 fma2 prmt4 st5 st6");
    EXPECT_EQ(order_of({"add.cc.u32 %r4, %r0, %r1;", other, "addc.u32 %r5, %r2, %r3;",
                        "prmt.b32 %r6, %r5, %r0, 1;", "prmt.b32 %r6, %r6, %r0, 1;",
                        "st.global.v2.u32 [%d3], {%r6, %r4};", keep}),
              "add1 addc3 fma2 prmt4 prmt5 st6 st7");
}

// Of what may issue in a cycle that goes first whose way to the end is longest, then what stands
// first. A pipe that is taken lets others go.
TEST(Schedule, TakesTheLongestWayFirst) {
    // prmt is 2 cycles of its pipe, an f32 product one of another.
    EXPECT_EQ(order_of({"prmt.b32 %r4, %r0, %r1, 1;", "prmt.b32 %r5, %r0, %r2, 1;",
                        "fma.rn.f32 %f1, %f2, %f3, %f4;", "prmt.b32 %r6, %r4, %r5, 1;",
                        "st.global.u32 [%d3], %r6;", "st.global.f32 [%d3], %f1;"}),
              "prmt1 fma3 prmt2 prmt4 st5 st6");
    // Three in a row go before one.
    EXPECT_EQ(order_of({"prmt.b32 %r7, %r0, %r3, 1;", "prmt.b32 %r4, %r0, %r1, 1;",
                        "prmt.b32 %r5, %r4, %r2, 1;", "prmt.b32 %r6, %r5, %r2, 1;",
                        "st.global.v2.u32 [%d3], {%r6, %r7};"}),
              "prmt2 prmt1 prmt3 prmt4 st5");
    // Alike, they stay.
    EXPECT_EQ(order_of({"prmt.b32 %r4, %r0, %r1, 1;", "prmt.b32 %r5, %r0, %r2, 1;",
                        "prmt.b32 %r6, %r0, %r3, 1;", "st.global.v2.u32 [%d3], {%r4, %r5};",
                        "st.global.u32 [%d3], %r6;"}),
              "prmt1 prmt2 prmt3 st4 st5");
}

}  // namespace
