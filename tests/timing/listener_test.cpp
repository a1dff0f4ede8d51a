// SPDX-License-Identifier: Apache-2.0
// What the model of time hears of a run: of each instruction the wavefronts of shared memory, the
// lines and sectors of global memory, and the barriers that it comes to.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/lockwarp.hpp"
#include "emu/timing/listener.hpp"
#include "emu/timing/timing.hpp"

namespace lockwarp::listener_test {
namespace {

struct Heard {
    explicit Heard(const std::string& body, const std::string& target = "sm_90a") {
        const ptx::Parsed parsed =
            ptx::parse(".version 8.3\n.target " + target +
                       "\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
                       ".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<20>; .reg .pred %p<4>;\n"
                       ".shared .align 128 .b8 s[4096]; .local .align 4 .b8 stack[64];\n"
                       "ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;\n"
                       "add.u64 %d1, %d0, %d1; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;\n" +
                       body + "\nret;\n}\n");
        EXPECT_TRUE(parsed.diagnostics.empty()) << body;
        isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
        EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << body;
        program = std::move(r.program);
        lowering = timing::lower(program, *timing::machine_named("sm_90"));
    }
    // After a run of so many threads and CTAs.
    void run(timing::Listener& listener, uint32_t threads = 32, uint32_t ctas = 1,
             uint32_t cluster = 0) {
        std::vector<uint8_t> buffer(1 << 16);
        warp::Launch l;
        l.grid = {ctas, 1, 1};
        l.block = {threads, 1, 1};
        if (cluster != 0) l.cluster = {cluster, 1, 1};
        const uint64_t address = 0x10000000;
        l.parameters.resize(8);
        std::memcpy(l.parameters.data(), &address, 8);
        l.buffers.push_back({"p", address, buffer});
        l.observers = {&listener};
        l.threads = 1;
        const warp::Result result = exec::launch(program, l);
        EXPECT_FALSE(result.refusal || result.trap);
    }
    // The items of a warp of which there is anything to tell.
    std::string items(const timing::CtaStreams& cta, size_t warp = 0) const {
        std::string out;
        size_t arrival = 0;
        for (const timing::Item& i : cta.warps.at(warp).items) {
            std::string text;
            const auto add = [&](const char* name, unsigned value) {
                if (value != 0) text += " " + std::to_string(value) + name;
            };
            add("w", i.wavefronts);
            add("l", i.lines);
            add("s", i.sectors);
            if (i.map != 0) text += " map " + std::to_string(i.map);
            if (i.touched == timing::Touched::both) text += " both";
            using timing::Touched;
            EXPECT_EQ(i.touched, i.wavefronts != 0 && i.lines != 0 ? Touched::both
                                 : i.wavefronts != 0               ? Touched::shared
                                 : i.lines != 0                    ? Touched::global
                                                                   : Touched::nothing);
            if (i.dram) text += " dram";
            if (i.arrives) text += " at " + std::to_string(cta.warps[warp].arrivals.at(arrival++));
            if (i.remote) text += " remote";
            if (text.empty()) continue;
            out += (out.empty() ? "" : ", ") +
                   std::string(isa::row(program.operations[i.operation].op).name) + text;
        }
        EXPECT_EQ(arrival, cta.warps[warp].arrivals.size());
        return out;
    }
    static std::string openings(const timing::CtaStreams& cta) {
        std::string out;
        for (const timing::Opening& o : cta.openings)
            out += (out.empty() ? "" : ", ") + std::to_string(o.barrier) + (o.all ? " all " : " ") +
                   std::to_string(o.arrivals) + " of " + std::to_string(o.warps);
        return out;
    }

    isa::Program program;
    timing::Lowering lowering;
};

std::string heard(const std::string& body, bool cold = false) {
    Heard h(body);
    timing::Listener listener(h.lowering, 1, 1'000'000, cold);
    h.run(listener);
    EXPECT_EQ(listener.ctas().size(), 1u);
    EXPECT_TRUE(listener.ctas()[0]->ended);
    return h.items(*listener.ctas()[0]);
}

TEST(Heard, AccessesOfGlobalMemory) {
    const std::string stride = "mul.wide.u32 %d2, %r0, ", then = "; add.u64 %d2, %d0, %d2; ";
    const std::string load = "ld.global.u32 %r3, [%d1];", store = "st.global.u32 [%d1], %r0;";
    EXPECT_EQ(heard(load), "ld 1l 4s");
    EXPECT_EQ(heard(load + load), "ld 1l 4s, ld 1l");  // L1 has it
    EXPECT_EQ(heard(store + store), "st 1l 4s, st 1l 4s");
    EXPECT_EQ(heard(store + load), "st 1l 4s, ld 1l 4s");
    EXPECT_EQ(heard(load + store + load), "ld 1l 4s, st 1l 4s, ld 1l");
    // The schedule turns these about; L1 hears of them as they stand.
    EXPECT_EQ(heard(stride + "32" + then + "ld.global.u32 %r3, [%d2];" + load), "ld 1l, ld 8l 32s");
    EXPECT_EQ(heard(stride + "128" + then + "ld.global.u32 %r3, [%d2];" + load),
              "ld 1l 3s, ld 32l 32s");
    EXPECT_EQ(heard(stride + "16" + then + "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d2];"),
              "ld 4l 16s");
    EXPECT_EQ(heard("ld.global.u32 %r3, [%d0+124];ld.global.u32 %r3, [%d0+128];"),
              "ld 1l 1s, ld 1l 1s");
    // Of an atomic the load and the store are one.
    EXPECT_EQ(heard("atom.global.add.u32 %r3, [%d1], 1;atom.global.add.u32 %r3, [%d1], 1;"),
              "atom 1l 4s, atom 1l 4s");
    EXPECT_EQ(heard("red.global.add.u32 [%d0], 1;"), "red 1l 1s");
    // The stack is L1's.
    EXPECT_EQ(heard("st.local.u32 [stack+4], %r0; ld.local.u32 %r3, [stack+4];"),
              heard("st.local.u32 [stack+8], %r0; ld.local.u32 %r3, [stack+8];"));
    EXPECT_EQ(heard("st.local.u32 [stack+4], %r0;").find('s', 3), std::string::npos);
    // Nobody: nothing.
    EXPECT_EQ(heard("setp.eq.u32 %p1, %r0, 99; @%p1 ld.global.u32 %r3, [%d1];"), "");
    EXPECT_EQ(heard("setp.eq.u32 %p1, %r0, 9; @%p1 ld.global.u32 %r3, [%d1];"), "ld 1l 1s");
}

// What L2 has not seen comes from memory, where it begins empty.
TEST(Heard, WhatComesFromMemory) {
    const std::string load = "ld.global.u32 %r3, [%d1];", store = "st.global.u32 [%d1], %r0;";
    EXPECT_EQ(heard(load + load, true), "ld 1l 4s dram, ld 1l");
    EXPECT_EQ(heard(store + load, true), "st 1l 4s dram, ld 1l 4s");
    EXPECT_EQ(heard("ld.global.u32 %r3, [%d0];ld.global.u32 %r3, [%d0+96];", true),
              "ld 1l 1s dram, ld 1l 1s");
    EXPECT_EQ(heard("ld.global.u32 %r3, [%d0];ld.global.u32 %r3, [%d0+128];", true),
              "ld 1l 1s dram, ld 1l 1s dram");
}

TEST(Heard, AccessesOfSharedMemory) {
    EXPECT_EQ(heard("ld.shared.u32 %r3, [%r2];"), "ld 1w");
    EXPECT_EQ(heard("ld.shared.u32 %r3, [%r1];"), "ld 1w");
    EXPECT_EQ(heard("mad.lo.u32 %r4, %r0, 8, %r1; ld.shared.u32 %r3, [%r4];"), "ld 2w");
    EXPECT_EQ(heard("mad.lo.u32 %r4, %r0, 128, %r1; st.shared.u32 [%r4], %r0;"), "st 32w");
    EXPECT_EQ(heard("mad.lo.u32 %r4, %r0, 16, %r1; ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4];"),
              "ld 4w");
    EXPECT_EQ(heard("cvta.shared.u64 %d3, s; ld.u32 %r3, [%d3];"), "ld 1w");
    EXPECT_EQ(heard("atom.shared.add.u32 %r3, [%r2], 1;"), "atom 1w");
    EXPECT_EQ(heard("cp.async.ca.shared.global [%r2], [%d1], 4; cp.async.wait_all;"),
              "cp.async 1w 1l 4s both");
}

// Of fragments of 16-bit elements in shared memory tiles of 8 rows of 16 bytes are read together,
// in as many columns as the matrix has; of others each access by itself. L1 keeps what ld brings.
TEST(Heard, Fragments) {
    const auto load = [](const std::string& what) {
        return "wmma.load." + what + " {%r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10}, " +
               (what.find("shared") != std::string::npos ? "[s];" : "[%d0];");
    };
    // 32 x 16: two columns of 32 rows, 32 bytes apart: four of 8, each in two wavefronts.
    EXPECT_EQ(heard(load("a.sync.aligned.row.m32n8k16.shared.f16")), "wmma.load 16w");
    // 16 lines of 64 bytes: four columns of 16, eight of which lie in four wavefronts.
    EXPECT_EQ(heard(load("a.sync.aligned.col.m32n8k16.shared.f16")), "wmma.load 32w");
    EXPECT_EQ(heard(load("b.sync.aligned.col.m8n32k16.shared.f16")), "wmma.load 16w");
    EXPECT_EQ(heard(load("b.sync.aligned.row.m8n32k16.shared.f16")), "wmma.load 32w");
    // 512 bytes of global memory, each time from L2.
    const std::string global = load("a.sync.aligned.row.m16n16k16.global.f16");
    const std::string once = heard(global);
    EXPECT_TRUE(once.starts_with("wmma.load ") && once.find('w', 10) == std::string::npos) << once;
    EXPECT_EQ(heard(global + global), once + ", " + once);
    EXPECT_EQ(heard("ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d0];" + global), "ld 1l 1s, " + once);
}

TEST(Heard, Barriers) {
    const auto of = [](const std::string& body, uint32_t threads, uint32_t cluster = 0) {
        Heard h(body);
        timing::Listener listener(h.lowering, 1, 1'000'000, false);
        h.run(listener, threads, std::max(cluster, 1u), cluster);
        const timing::CtaStreams& cta = *listener.ctas().at(0);
        std::string out = Heard::openings(cta);
        for (size_t w = 0; w < cta.warps.size(); ++w) out += "; " + h.items(cta, w);
        return out;
    };
    EXPECT_EQ(of("bar.sync 0;", 32), "0 all 1 of 1; bar.sync at 0");
    EXPECT_EQ(of("bar.sync 0;", 64), "0 all 2 of 3; bar.sync at 0; bar.sync at 0");
    EXPECT_EQ(of("bar.sync 3, 64;", 64), "3 2 of 3; bar.sync at 0; bar.sync at 0");
    EXPECT_EQ(
        of("bar.sync 0; bar.sync 0;", 64),
        "0 all 2 of 3, 0 all 2 of 3; bar.sync at 0, bar.sync at 1; bar.sync at 0, bar.sync at 1");
    EXPECT_EQ(of("setp.lt.u32 %p1, %r0, 32; @%p1 bar.arrive 1, 64; @!%p1 bar.sync 1, 64;"
                 "bar.sync 2, 64;",
                 64),
              "1 2 of 3, 2 2 of 3; bar.sync at 0, bar.sync at 1; bar.sync at 0, bar.sync at 1");
    EXPECT_EQ(of("barrier.cluster.arrive; barrier.cluster.wait;", 64, 2),
              "16 2 of 3; barrier.cluster.wait at 0; barrier.cluster.wait at 0");
    // Phases of mbarriers.
    const std::string made = "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [s], 32;";
    const std::string arrive = "mbarrier.arrive.shared.b64 %d4, [s];";
    const auto wait = [](int parity) {
        return "W" + std::to_string(parity) + ": mbarrier.try_wait.parity.shared.b64 %p2, [s], " +
               std::to_string(parity) + "; @!%p2 bra W" + std::to_string(parity) + ";";
    };
    EXPECT_EQ(of(made + arrive + wait(0), 32),
              "17 1 of 0; mbarrier.init 1w, mbarrier.arrive 2w at 0, mbarrier.test_wait 2w at 0");
    EXPECT_EQ(of(made + arrive + wait(0) + arrive + wait(1), 32),
              "17 1 of 0, 17 1 of 0; mbarrier.init 1w, mbarrier.arrive 2w at 0, mbarrier.test_wait "
              "2w at 0, "
              "mbarrier.arrive 2w at 1, mbarrier.test_wait 2w at 1");
    EXPECT_EQ(of(made + arrive + wait(0) + "mbarrier.test_wait.parity.shared.b64 %p2, [s], 0;", 32),
              "17 1 of 0; mbarrier.init 1w, mbarrier.arrive 2w at 0, mbarrier.test_wait 2w at 0, "
              "mbarrier.test_wait 2w at 0");
    EXPECT_EQ(of(made + arrive + "mbarrier.test_wait.shared.b64 %p2, [s], %d4;", 32),
              "17 1 of 0; mbarrier.init 1w, mbarrier.arrive 2w at 0, mbarrier.test_wait 2w at 0");
    // Of one lane: its own state of the phase.
    const std::string lane =
        "setp.eq.u32 %p3, %r0, 9; @%p3 mbarrier.init.shared.b64 [s], 1; bar.warp.sync -1;";
    const std::string both =
        "@%p3 mbarrier.arrive.shared.b64 %d4, [s]; @%p3 mbarrier.test_wait.shared.b64 %p2, [s], "
        "%d4;";
    EXPECT_EQ(of(lane + both + both, 32),
              "17 1 of 0, 17 1 of 0; mbarrier.init 1w, mbarrier.arrive 1w at 0, "
              "mbarrier.test_wait 1w at 0, mbarrier.arrive 1w at 1, mbarrier.test_wait 1w at 1");
    EXPECT_EQ(of(lane + "@%p3 mbarrier.arrive_drop.shared.b64 %d4, [s];", 32),
              "17 1 of 0; mbarrier.init 1w, mbarrier.arrive_drop 1w at 0");
    EXPECT_EQ(of(lane + "mapa.shared::cluster.u32 %r6, %r1, 0;"
                        "@%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];",
                 32),
              "17 1 of 0; mbarrier.init 1w, mbarrier.arrive 1w at 0 remote");
    // A wait that finds no end is left out: the program asks again. Before any arrival there is
    // nothing to wait for.
    EXPECT_EQ(of(made + "mbarrier.test_wait.parity.shared.b64 %p2, [s], 0;", 32),
              "; mbarrier.init 1w");
    EXPECT_EQ(of(made + "mbarrier.test_wait.parity.shared.b64 %p2, [s], 1;", 32),
              "; mbarrier.init 1w, mbarrier.test_wait 2w");
    // Of lanes that a guard kept out there is no arrival.
    EXPECT_EQ(of(made + "setp.eq.u32 %p3, %r0, 99; @%p3 " + arrive, 32), "; mbarrier.init 1w");
    EXPECT_EQ(of(made + arrive + "mbarrier.inval.shared.b64 [s];", 32),
              "17 1 of 0; mbarrier.init 1w, mbarrier.arrive 2w at 0, mbarrier.inval 2w");
}

// A copy of bytes brings sectors, and an arrival at its mbarrier.
TEST(Heard, BulkCopies) {
    const auto of = [](uint64_t at, uint64_t bytes) {
        return heard(
            "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [s], 1;"
            "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d4, [s], " +
            std::to_string(bytes) +
            "; @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            "[s+128], [%d0+" +
            std::to_string(at) + "], " + std::to_string(bytes) + ", [s];");
    };
    const std::string arrives = "mbarrier.init 1w, mbarrier.arrive 1w at 0, ";
    EXPECT_EQ(of(0, 16), arrives + "cp.async.bulk.shared::cluster.global 1s at 0");
    EXPECT_EQ(of(0, 32), arrives + "cp.async.bulk.shared::cluster.global 1s at 0");
    EXPECT_EQ(of(16, 32), arrives + "cp.async.bulk.shared::cluster.global 2s at 0");
    EXPECT_EQ(of(16, 16), arrives + "cp.async.bulk.shared::cluster.global 1s at 0");
    EXPECT_EQ(of(32, 1024), arrives + "cp.async.bulk.shared::cluster.global 32s at 0");
    EXPECT_EQ(of(16, 1024), arrives + "cp.async.bulk.shared::cluster.global 33s at 0");
}

// Which tensor map an instruction goes by: the first executed lane's address tells them apart.
TEST(Heard, TensorMaps) {
    EXPECT_EQ(heard("prefetch.tensormap [%d0]; prefetch.tensormap [%d0+128];"
                    "prefetch.tensormap [%d0];"),
              "prefetch map 1, prefetch map 2, prefetch map 1");
    Heard h(
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
        "[%d2, {%r4}], [%r5];\n"
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d2, {%r4}], [%r1];\n"
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%d2, {%r4}], [%r1];\n"
        "cp.async.bulk.prefetch.tensor.1d.L2.global [%d3, {%r4}];\n"
        "add.u64 %d2, %d3, %d1;\n");
    timing::Listener listener(h.lowering, 1, 1000, false);
    warp::CtaPlace place;
    auto cta = listener.begin(place);
    ASSERT_NE(cta, nullptr);
    std::vector<uint8_t> registers(1 << 16);
    const auto set = [&](const std::string& name, unsigned lane, uint64_t value) {
        for (const isa::Register& r : h.program.registers)
            if (r.name == name) std::memcpy(registers.data() + r.ref + lane * size_t{8}, &value, 8);
    };
    for (unsigned lane = 0; lane < 32; ++lane) {
        set("%d2", lane, 0x1000 + 0x100 * lane);
        set("%d3", lane, 0x1000 + 0x100 * lane + 64);
    }
    uint32_t first = 0;
    while (h.program.operations[first].op != isa::Op::tensor_load) ++first;
    const auto retire = [&](uint32_t operation, uint32_t lanes) {
        warp::Retired e{};
        e.program = &h.program;
        e.operation = operation;
        e.active = ~0u;
        e.executed = lanes;
        e.registers = registers.data();
        cta->retired(e);
    };
    retire(first, 0x10);      // lane 4's
    retire(first, 0x30);      // the same
    retire(first, 0x20);      // lane 5's
    retire(first + 1, 0x20);  // lane 5's again
    retire(first + 2, 0x10);  // lane 4's again
    retire(first + 3, 0x10);  // lane 4's of another register
    retire(first + 3, 0x11);  // lane 0's of that
    retire(first, 0);         // nobody's
    retire(first + 4, ~0u);   // goes by none
    cta->ended();
    listener.take(place, std::move(cta));
    std::string maps;
    for (const timing::Item& i : listener.ctas().at(0)->warps.at(0).items)
        maps += std::to_string(i.map) + " ";
    EXPECT_EQ(maps, "1 1 2 2 1 3 4 0 0 ");
    EXPECT_EQ(listener.ctas()[0]->maps, (std::vector<uint64_t>{0x1400, 0x1500, 0x1440, 0x1040}));
}

// A block that was run as a whole stands in the schedule's order, from its first operation to its
// last; one that the run did not come to the end of, or in which an item is left out, in the
// program's.
TEST(Heard, BlocksInTheirOrder) {
    // The load is scheduled first.
    const std::string block =
        "prmt.b32 %r4, %r0, %r1, 1; prmt.b32 %r5, %r4, %r2, 1;"
        "ld.global.u32 %r6, [%d1]; prmt.b32 %r7, %r6, %r5, 1;"
        "st.global.u32 [%d1], %r7;";
    const auto order = [&](const std::string& body, uint64_t most = 1000) {
        Heard h(body);
        timing::Listener listener(h.lowering, 1, most, false);
        h.run(listener);
        std::string out;
        for (const timing::Item& i : listener.ctas().at(0)->warps.at(0).items) {
            const isa::Operation& o = h.program.operations[i.operation];
            const std::string name(isa::row(o.op).name);
            if (o.place.line > 9 && (name == "prmt" || name == "ld" || name == "st"))
                out += (out.empty() ? "" : " ") + name;
        }
        return out;
    };
    const std::string begin = "bra A;\nA: ", scheduled = "ld prmt prmt prmt st";
    EXPECT_EQ(order(begin + block), scheduled);
    EXPECT_EQ(order(begin + block + "bra B; B:" + block), scheduled + " " + scheduled);
    EXPECT_EQ(order("mov.u32 %r8, 0; " + begin + block +
                    "add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 3; @%p1 bra A;"),
              scheduled + " " + scheduled + " " + scheduled);
    // Cut: the prefix and the branch are seven items.
    EXPECT_EQ(order(begin + block, 7), "");
    EXPECT_EQ(order(begin + block, 10), "prmt prmt ld");
    EXPECT_EQ(order(begin + block, 12), "prmt prmt ld prmt st");
    // A question that found no end of a phase is not there.
    EXPECT_EQ(order("setp.eq.u32 %p3, %r0, 0; @%p3 mbarrier.init.shared.b64 [s], 1;" + begin +
                    block + "mbarrier.test_wait.parity.shared.b64 %p2, [s], 0;" + block),
              "prmt prmt ld prmt st prmt prmt ld prmt st");
}

// Every stride-th CTA is heard, and no more than there is room for.
TEST(Heard, ChosenCtas) {
    Heard h("add.u32 %r3, %r0, 1; ld.global.u32 %r3, [%d1];");
    for (const uint64_t stride : {1u, 2u, 3u, 7u}) {
        timing::Listener listener(h.lowering, stride, 1'000'000, false);
        h.run(listener, 32, 7);
        std::vector<uint64_t> ctas, expected;
        for (const timing::CtaStreams* c : listener.ctas()) ctas.push_back(c->cta);
        for (uint64_t i = 0; i < 7; i += stride) expected.push_back(i);
        EXPECT_EQ(ctas, expected) << stride;
        // L1 is one for all of them.
        for (size_t i = 0; i < ctas.size(); ++i)
            EXPECT_EQ(h.items(*listener.ctas()[i]), i == 0 ? "ld 1l 4s" : "ld 1l");
    }
    timing::Listener all(h.lowering, 1, 1'000'000, false);
    h.run(all);
    const size_t each = all.ctas().at(0)->warps[0].items.size();
    for (const size_t most : {size_t{1}, each - 1, each, each + 1, 2 * each, 2 * each + 1}) {
        timing::Listener listener(h.lowering, 1, most, false);
        h.run(listener, 32, 7);
        const auto ctas = listener.ctas();
        ASSERT_EQ(ctas.size(), most < each + 1 ? 1u : most < 2 * each + 1 ? 2u : 3u) << most;
        EXPECT_EQ(ctas[0]->warps[0].items.size(), std::min(most, each)) << most;
        EXPECT_EQ(ctas[0]->ended, most > each) << most;
        // Nothing of others is listened to in vain.
        warp::CtaPlace next;
        next.index = 7;
        EXPECT_EQ(listener.begin(next), nullptr);
    }
}

}  // namespace
}  // namespace lockwarp::listener_test
