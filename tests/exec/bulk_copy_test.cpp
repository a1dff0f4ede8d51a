// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk and cp.reduce.async.bulk of bytes, st.async, red.async, clusterlaunchcontrol,
// against what the PTX manual says of them and what an H200 answered.
#include <bit>
#include <cstring>
#include <random>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

Given on_sm_90(uint32_t threads = 32) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = threads;
    return given;
}

// In a cluster of one CTA.
Given in_a_cluster() {
    Given given = on_sm_90();
    given.cluster = warp::Dim3{};
    return given;
}

std::string module_of(const std::string& body) {
    std::string text = kernel(
        ".shared .align 128 .b8 sm[4096]; .shared .align 8 .b64 bar[2];\n"
        ".reg .u32 %m, %n; .reg .u64 %i;\n" +
            body,
        {}, "sm_90");
    return text.replace(text.find(".version 8.0"), 12, ".version 8.6");
}

std::string fault(const std::string& body) {
    Given given = on_sm_90();
    given.buffers = {Bytes(4096), Bytes(4096)};
    return fault_of(run(program_of(module_of(body), given.arch), std::move(given)).result);
}

Words random_words(uint32_t seed, size_t count) {
    std::mt19937 random(seed);
    Words out(count);
    for (uint32_t& w : out) w = static_cast<uint32_t>(random());
    return out;
}

// The lane 0 of the CTA does `what`; all wait for the barrier's phase 0.
std::string one_does(const std::string& what, unsigned bytes) {
    return "setp.eq.u32 %p1, %r1, 0;\n"
           "@%p1 mbarrier.init.shared.b64 [bar], 1;\n"
           "bar.sync 0;\n"
           "@%p1 " +
           what +
           "\n"
           "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], " +
           std::to_string(bytes) +
           ";\n"
           "wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
           "@!%p2 bra wait;\n";
}

TEST(BulkCopy, BringsBytesToSharedMemoryAndToTheBarrier) {
    for (const char* const space : {".shared::cluster", ".shared::cta"})
        for (const unsigned bytes : {16u, 48u, 128u, 512u}) {
            const Words in = random_words(bytes, 256);
            const Words out = results_of_text(
                module_of(one_does(std::string("cp.async.bulk") + space +
                                       ".global.mbarrier::complete_tx::bytes [sm+64], [%rd1+32], " +
                                       std::to_string(bytes) + ", [bar];",
                                   bytes) +
                          "mov.u32 %m, sm; mad.lo.u32 %m, %r1, 4, %m;\n"
                          "ld.shared.b32 %r2, [%m+64]; st.global.b32 [%rd2], %r2;\n"),
                in, on_sm_90(128));
            for (unsigned t = 0; t < 128; ++t)
                EXPECT_EQ(out[t], t * 4 < bytes ? in[8 + t] : 0) << space << bytes << " word " << t;
        }
}

// Bytes may come before they are expected, and a phase with too many ends when the expectation
// catches up.
TEST(BulkCopy, BytesMayComeBeforeTheyAreExpected) {
    const Words in = random_words(7, 64);
    const Words out = results_of_text(
        module_of("setp.eq.u32 %p1, %r1, 0;\n"
                  "@%p1 mbarrier.init.shared.b64 [bar], 1;\n"
                  "bar.sync 0;\n"
                  "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], "
                  "[%rd1], 64, [bar];\n"
                  "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm+64], "
                  "[%rd1+64], 32, [bar];\n"
                  "bar.sync 0;\n"
                  "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;\n"
                  "selp.b32 %r2, 1, 0, %p2;\n"
                  "bar.sync 0;\n"
                  "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 96;\n"
                  "bar.sync 0;\n"
                  "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;\n"
                  "selp.b32 %r3, 2, 0, %p2; add.u32 %r2, %r2, %r3;\n"
                  "st.global.b32 [%rd2], %r2;\n"),
        in, on_sm_90());
    EXPECT_EQ(out, Words(32, 2));
}

TEST(BulkCopy, StoresAndReducesIntoGlobalMemory) {
    const Words in = random_words(3, 32);
    struct Case {
        const char* what;
        uint32_t (*of)(uint32_t there, uint32_t given);
    };
    const Case cases[] = {
        {"cp.async.bulk.global.shared::cta.bulk_group", [](uint32_t, uint32_t b) { return b; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32",
         [](uint32_t a, uint32_t b) { return a + b; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32",
         [](uint32_t a, uint32_t b) {
             return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
         }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32",
         [](uint32_t a, uint32_t b) { return a > b ? a : b; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32",
         [](uint32_t a, uint32_t b) { return a & b; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32",
         [](uint32_t a, uint32_t b) { return a ^ b; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32",
         [](uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.dec.u32",
         [](uint32_t a, uint32_t b) { return a == 0 || a > b ? b : a - 1; }},
    };
    for (const Case& c : cases) {
        const Words out = results_of_text(
            module_of(
                "ld.global.b32 %r2, [%rd1]; cvt.u64.u32 %i, %r1; mad.lo.u64 %i, %i, 4, %rd1;\n"
                "ld.global.b32 %r2, [%i];\n"
                "mul.lo.u32 %r3, %r1, 123456789; st.global.b32 [%rd2], %r3;\n"
                "mov.u32 %m, sm; mad.lo.u32 %m, %r1, 4, %m; st.shared.b32 [%m], %r2;\n"
                "fence.proxy.async; bar.sync 0;\n"
                "setp.eq.u32 %p1, %r1, 0;\n"
                "@%p1 " +
                std::string(c.what) +
                " [%rd4], [sm], 128;\n"
                "@%p1 cp.async.bulk.commit_group;\n"
                "@%p1 cp.async.bulk.wait_group 0;\n"),
            in, on_sm_90());
        for (uint32_t t = 0; t < 32; ++t)
            EXPECT_EQ(out[t], c.of(t * 123456789, in[t])) << c.what << " word " << t;
    }
}

TEST(BulkCopy, SendsAndReducesWithinTheCta) {
    const Words in = random_words(5, 32);
    for (const bool reduces : {false, true}) {
        const Words out = results_of_text(
            module_of(
                "cvt.u64.u32 %i, %r1; mad.lo.u64 %i, %i, 4, %rd1; ld.global.b32 %r2, [%i];\n"
                "mov.u32 %m, sm; mad.lo.u32 %m, %r1, 4, %m; st.shared.b32 [%m], %r2;\n"
                "st.shared.b32 [%m+128], %r1; bar.sync 0;\n" +
                one_does(
                    std::string(reduces ? "cp.reduce" : "cp") +
                        ".async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes" +
                        (reduces ? ".add.u32" : "") + " [sm+128], [sm], 128, [bar];",
                    128) +
                "ld.shared.b32 %r3, [%m+128]; st.global.b32 [%rd2], %r3;\n"),
            in, in_a_cluster());
        for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], in[t] + (reduces ? t : 0));
    }
}

// Subnormals stay, of f32 too, and NaN is as an H200 gives it.
TEST(BulkCopy, FloatsAreRoundedToNearest) {
    struct Case {
        const char* type;
        uint32_t there, given, sum;
    };
    const Case cases[] = {
        {".f32", 0x3f800000, 0x33800000, 0x3f800000},  // a tie, to even
        {".f32", 0x3f800001, 0x33800000, 0x3f800002},
        {".f32", 0x00000001, 0x00000001, 0x00000002},  // subnormals stay
        {".f32", 0x7f800000, 0xff800000, 0x7fffffff},
        {".f32", 0x7fc12345, 0x3f800000, 0x7fffffff},
        {".noftz.f16", 0x00010001, 0x7c003c00, 0x7c003c00},
        {".noftz.f16", 0x7e01fc00, 0x00007c00, 0x7fff7fff},
        {".noftz.bf16", 0x3f800001, 0x3f800001, 0x40000002},
    };
    for (const Case& c : cases) {
        const Words out = results_of_text(
            module_of("mov.b32 %r2, " + std::to_string(c.there) +
                      "; st.global.b32 [%rd2], %r2; mov.b32 %r2, " + std::to_string(c.given) +
                      ";\nmov.u32 %m, sm; mad.lo.u32 %m, %r1, 4, %m; st.shared.b32 [%m], %r2;\n"
                      "bar.sync 0; setp.eq.u32 %p1, %r1, 0;\n"
                      "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add" +
                      std::string(c.type) + " [%rd4], [sm], 128;\n"),
            {}, on_sm_90());
        EXPECT_EQ(out, Words(32, c.sum)) << c.type << std::hex << c.there << " + " << c.given;
    }
}

// A NaN in f64 is not quieted; of two the copy's is kept (measured on an H200).
TEST(BulkCopy, ASumOfTwoNansIsThatOfTheCopy) {
    constexpr uint32_t there = 0xfffbd52f, given = 0xfff500f8, value = 0x3ff00000;
    const auto sum = [](uint32_t memory, uint32_t copy) {
        const Words out = results_of_text(
            module_of("and.b32 %r4, %r1, 1; setp.eq.u32 %p2, %r4, 1;\n"
                      "selp.b32 %r2, " +
                      std::to_string(memory) +
                      ", 1, %p2;\n"
                      "st.global.b32 [%rd2], %r2;\n"
                      "selp.b32 %r2, " +
                      std::to_string(copy) +
                      ", 2, %p2;\n"
                      "mov.u32 %m, sm; mad.lo.u32 %m, %r1, 4, %m; st.shared.b32 [%m], %r2;\n"
                      "bar.sync 0; setp.eq.u32 %p1, %r1, 0;\n"
                      "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%rd4], "
                      "[sm], 128;\n"),
            {}, on_sm_90());
        return out[1] + (uint64_t{out[0]} << 32);
    };
    EXPECT_EQ(sum(there, given), given + (uint64_t{2} << 32));
    EXPECT_EQ(sum(there, value), there + (uint64_t{1} << 32));
    EXPECT_EQ(sum(value, given), given + (uint64_t{2} << 32));
}

TEST(BulkCopy, StoresOfThreadsAreCounted) {
    const Words out = results_of_text(
        module_of("setp.eq.u32 %p1, %r1, 0; mov.u32 %m, sm; mad.lo.u32 %n, %r1, 8, %m;\n"
                  "@%p1 st.shared.b32 [sm+1024], 5;\n"
                  "@%p1 mbarrier.init.shared.b64 [bar], 1;\n"
                  "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 384;\n"
                  "bar.sync 0;\n"
                  "mul.lo.u32 %r2, %r1, 3;\n"
                  "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%n], {%r1, %r2}, "
                  "[bar];\n"
                  "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
                  "[sm+1024], %r1, [bar];\n"
                  "wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
                  "@!%p2 bra wait;\n"
                  "ld.shared.b32 %r3, [%n]; ld.shared.b32 %r4, [%n+4]; ld.shared.b32 %r5, "
                  "[sm+1024];\n"
                  "mad.lo.u32 %r3, %r4, 1000, %r3; mad.lo.u32 %r3, %r5, 1000000, %r3;\n"
                  "st.global.b32 [%rd2], %r3;\n"),
        {}, in_a_cluster());
    for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t + 3 * t * 1000 + 501 * 1000000) << t;
}

TEST(BulkCopy, Faults) {
    const std::string load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
    const std::string begin =
        "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; mov.u32 %r2, 8;\n@%p1 ";
    const std::pair<std::string, std::string> cases[] = {
        {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [sm], %r2, [bar];",
         "illegal instruction: the launch has no clusters"},
        {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [sm], [sm+16], "
         "16, [bar];",
         "illegal instruction: the launch has no clusters"},
        {"multimem.ld_reduce.global.add.u32 %r3, [%rd1];",
         "address out of bounds: not memory that several GPUs share"},
        {load + "[sm], [%rd1+8], 16, [bar];", "misaligned address: must be a multiple of 16"},
        {load + "[sm+4], [%rd1], 16, [bar];", "misaligned address: must be a multiple of 16"},
        {load + "[sm], [%rd1+4080], 32, [bar];",
         "address out of bounds: 32 bytes, 32 bytes at offset 4080 reach past the end of buffer "
         "'A' "
         "(4096 bytes)"},
        {load + "[sm], [%rd1], 16, [bar+4];", "misaligned address: must be a multiple of 8"},
    };
    for (const auto& [what, words] : cases)
        EXPECT_TRUE(fault(begin + what + "\n").starts_with(words)) << what << "\n"
                                                                   << fault(begin + what + "\n");
}

// Of a size in a register an H200 takes bits 4 to 19.
TEST(BulkCopy, SizesAreCutToTheirField) {
    const Words in = random_words(11, 32);
    for (const auto& [size, taken] : {std::pair{24u, 16u}, {1048608u, 32u}, {15u, 0u}}) {
        const Words out = results_of_text(
            module_of("mov.u32 %n, " + std::to_string(size) + ";\n" +
                      one_does("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                               "[sm], [%rd1], %n, [bar];",
                               taken) +
                      "mov.u32 %m, sm; mad.lo.u32 %m, %r1, 4, %m;\n"
                      "ld.shared.b32 %r2, [%m]; st.global.b32 [%rd2], %r2;\n"),
            in, on_sm_90());
        for (unsigned t = 0; t < 32; ++t) EXPECT_EQ(out[t], t * 4 < taken ? in[t] : 0) << size;
    }
}

// CUB's BlockLoadToShared copies none of a short array's bytes to an address that is no multiple of
// 16, and of an empty one from nowhere. An H100 takes it, and a prefetch of none; of a multiple of
// 16 bytes both fault there.
TEST(BulkCopy, OfNoBytesNoAddressCounts) {
    const std::string load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
    for (const std::string& what :
         {load + "[sm+7], [%rd1], %n, [bar];", load + "[sm], [%rd1+7], %n, [bar];",
          load + "[sm], [%i], %n, [bar];",
          std::string("cp.async.bulk.global.shared::cta.bulk_group [%rd1+7], [sm], %n;"),
          std::string("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%i], [sm+7], "
                      "%n;")}) {
        const Words out =
            results_of_text(module_of("mov.u32 %n, 15; mov.u64 %i, 0;\n" + one_does(what, 0) +
                                      "ld.shared.b32 %r2, [sm+4];\n"
                                      "st.global.b32 [%rd2], %r2;\n"),
                            random_words(11, 32), on_sm_90());
        for (const uint32_t word : out) EXPECT_EQ(word, 0u) << what;
        EXPECT_EQ(fault("mov.u32 %n, 15; mov.u64 %i, 0;\n" + one_does(what, 0)), "") << what;
    }
    const std::string prefetch = "cp.async.bulk.prefetch.L2.global [%rd1+8], %n;\n";
    EXPECT_EQ(fault("mov.u32 %n, 15;\n" + prefetch), "");
    EXPECT_TRUE(fault("mov.u32 %n, 16;\n" + prefetch)
                    .starts_with("misaligned address: must be a multiple of 16"));
    EXPECT_TRUE(fault("mov.u32 %n, 16;\n" + one_does(load + "[sm+7], [%rd1], %n, [bar];", 16))
                    .starts_with("misaligned address: must be a multiple of 16"));
    EXPECT_EQ(fault("mov.u32 %n, 0;\n" + one_does(load + "[sm], [%rd1], %n, [bar+4];", 0)), "");
    EXPECT_TRUE(fault("mov.u32 %n, 16;\n" + one_does(load + "[sm], [%rd1], %n, [bar+4];", 16))
                    .starts_with("misaligned address: must be a multiple of 8"));
}

// An H200's st and red at an address of its own memory.
TEST(Multimem, StoresAndReducesInOrdinaryMemory) {
    const Words out =
        results_of_text(module_of("multimem.st.relaxed.sys.global.u32 [%rd2], %r1;\n"
                                  "multimem.red.relaxed.sys.global.add.u32 [%rd2], 7;\n"),
                        {}, on_sm_90());
    for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t + 7);
}

// Bytes beyond 2^20 - 1 either way: an H200 answers with a launch failure.
TEST(BulkCopy, TheCountOfBytesHasABound) {
    EXPECT_TRUE(fault("setp.eq.u32 %p1, %r1, 0; @!%p1 exit; mbarrier.init.shared.b64 [bar], 1;\n"
                      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048575;\n"
                      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1;\n")
                    .find("1048576 bytes to come at an mbarrier: at most 1048575 either way") !=
                std::string::npos);
}

// What listeners hear of copies: their bytes, the mbarrier, and the groups.
struct Heard : warp::Observer {
    struct OfCta : warp::CtaObserver {
        explicit OfCta(Heard& h) : all(h) {}
        void bulk(const warp::BulkEvent& e) override {
            std::string text = e.step == warp::CopyStep::issued      ? "issued"
                               : e.step == warp::CopyStep::committed ? "committed"
                                                                     : "awaited";
            text += " by " + std::to_string(e.who.lanes) + " group " + std::to_string(e.group[0]);
            if (e.sources_only) text += " sources";
            for (const warp::BulkRange& r : e.ranges)
                text += std::string(r.store ? " writes " : " reads ") + std::to_string(r.bytes) +
                        (r.space == ptx::Space::shared ? " shared" : " global");
            for (const warp::BulkArrival& a : e.arrivals)
                text += " brings " + std::to_string(a.bytes);
            all.events.push_back(text);
        }
        Heard& all;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(*this);
    }
    std::vector<std::string> events;
};

TEST(BulkCopy, ListenersHearOfThem) {
    Heard heard;
    Given given = in_a_cluster();
    given.observers = {&heard};
    results_of_text(
        module_of("setp.eq.u32 %p1, %r1, 0; @!%p1 exit;\n"
                  "mbarrier.init.shared.b64 [bar], 1;\n"
                  "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sm], [%rd4], 64, "
                  "[bar];\n"
                  "cp.async.bulk.global.shared::cta.bulk_group [%rd4], [sm], 32;\n"
                  "cp.async.bulk.commit_group;\n"
                  "cp.async.bulk.commit_group;\n"
                  "cp.async.bulk.wait_group.read 1;\n"
                  "cp.async.bulk.wait_group 0;\n"
                  "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [sm], %r1, [bar];\n"),
        {}, given);
    EXPECT_EQ(heard.events, (std::vector<std::string>{
                                "issued by 1 group 0 reads 64 global writes 64 shared brings 64",
                                "issued by 1 group 0 reads 32 shared writes 32 global",
                                "committed by 1 group 0",
                                "committed by 1 group 1",
                                "awaited by 1 group 1 sources",
                                "awaited by 1 group 2",
                                "issued by 1 group 2 writes 4 shared brings 4",
                            }));
}

// Of each 16 bytes those that the mask names are written; nothing else of them is looked at.
TEST(BulkCopy, WritesTheBytesOfItsMask) {
    for (const uint32_t mask : {0xffffu, 0u, 1u, 0x8000u, 0xfffeu, 0x7fffu, 0x0ff0u, 0xa5c3u})
        for (const bool late : {false, true}) {
            const std::string body =
                "mov.u32 %m, sm; mad.lo.u32 %m, %r1, 4, %m; st.shared.b32 [%m], %r1;\n"
                "setp.eq.u32 %p1, %r1, 0; bar.sync 0;\n"
                ".reg .b16 %mask; mov.b16 %mask, " +
                std::to_string(mask) +
                ";\n@%p1 cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd2], [sm], 48, "
                "%mask;\n"
                "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n";
            std::string text =
                kernel(".shared .align 128 .b8 sm[4096]; .reg .u32 %m;\n" + body, {}, "sm_100");
            text.replace(text.find(".version 8.0"), 12, ".version 8.6");
            Given given;
            given.arch = isa::Arch::sm_100;
            given.schedule = {late, UINT32_MAX};
            // The last byte that the mask names is the buffer's last.
            const size_t used = mask == 0 ? 0 : 32 + static_cast<size_t>(std::bit_width(mask));
            given.buffers = {Bytes(16), Bytes(used == 0 ? 16 : used, 0xee)};
            const isa::Program program = program_of(text, given.arch);
            const Bytes out = run_well(program, std::move(given)).buffers[1];
            for (size_t i = 0; i < out.size(); ++i)
                ASSERT_EQ(out[i], (mask >> i % 16 & 1) == 0 ? 0xee
                                  : i % 4 == 0              ? i / 4
                                                            : 0)
                    << std::hex << mask << " " << i;
        }
}

// A byte of its mask beyond the memory, or a place that is no multiple of 16, is a trap: what later
// lanes copy is not copied.
TEST(BulkCopy, WhatItsMaskNamesMustBeThere) {
    const std::pair<std::string, std::string> rows[] = {
        {"4096", "address out of bounds"}, {"8", "misaligned"}, {"0", ""}};
    for (const auto& [apart, expected] : rows) {
        std::string text = kernel(
            ".shared .align 128 .b8 sm[4096]; .reg .u32 %m; .reg .b16 %mask;\n"
            "mov.u32 %m, sm; mad.lo.u32 %m, %r1, 4, %m; st.shared.b32 [%m], %r1; bar.sync 0;\n"
            "mov.b16 %mask, 0x8001; setp.lt.u32 %p1, %r1, 2; setp.eq.u32 %p2, %r1, 0;\n"
            "mul.wide.u32 %rd5, %r1, 32; add.u64 %rd5, %rd5, %rd4; @%p2 add.u64 %rd5, %rd4, " +
                apart +
                ";\n@%p1 cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd5], [sm], 32, "
                "%mask;\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n",
            {}, "sm_100");
        text.replace(text.find(".version 8.0"), 12, ".version 8.6");
        Given given;
        given.arch = isa::Arch::sm_100;
        given.buffers = {Bytes(16), Bytes(64, 0xee)};
        const Outcome o = run(program_of(text, given.arch), std::move(given));
        EXPECT_EQ(fault_of(o.result).substr(0, expected.size()), expected);
        EXPECT_EQ(o.result.trap.has_value(), !expected.empty());
        for (size_t i = 0; i < 64; ++i)
            EXPECT_EQ(o.buffers[1][i], !expected.empty() || (0x8001 >> i % 16 & 1) == 0 ? 0xee
                                       : i % 4 == 0                                     ? i % 32 / 4
                                                                                        : 0)
                << apart << " " << i;
    }
}

// A CTA asks for the launch of another, whose work it would do, until none is given: each piece of
// the work is done once, whoever does it.
std::string stealing(const std::string& space, const std::string& address,
                     const std::string& barrier) {
    std::string text = kernel(
        ".shared .align 16 .b8 sm[64]; .shared .align 8 .b64 bar;\n"
        ".reg .b128 %q; .reg .u32 %x, %parity; .reg .u64 %g, %h;\n"
        "mov.u32 %x, %ctaid.x; mov.u32 %parity, 0;\n"
        "mov.u64 %g, sm; cvta.shared.u64 %g, %g; mov.u64 %h, bar; cvta.shared.u64 %h, %h;\n"
        "setp.eq.u32 %p1, %r1, 0;\n"
        "@%p1 mbarrier.init.shared.b64 [bar], 1;\n"
        "bar.sync 0;\n"
        "again:\n"
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n"
        "@%p1 clusterlaunchcontrol.try_cancel.async" +
            space + ".mbarrier::complete_tx::bytes.b128 [" + address + "], [" + barrier +
            "];\n"
            "mad.lo.u32 %r4, %x, 32, %r1; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd1, %rd4;\n"
            "atom.global.add.u32 %r5, [%rd4], 1;\n"
            "wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], %parity;\n"
            "@!%p2 bra wait;\n"
            "xor.b32 %parity, %parity, 1;\n"
            "ld.shared.b128 %q, [sm];\n"
            "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q;\n"
            "@!%p3 bra done;\n"
            "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %x, %q;\n"
            "fence.proxy.async.shared::cta;\n"
            "bar.sync 0;\n"
            "bra again;\n"
            "done:\n",
        {}, "sm_100");
    return text.replace(text.find(".version 8.0"), 12, ".version 8.6");
}

TEST(LaunchControl, EachPieceOfWorkIsDoneOnce) {
    const struct {
        std::string space, address, barrier;
    } places[] = {{".shared::cta", "sm", "bar"}, {"", "%g", "%h"}};
    for (const auto& p : places)
        for (const bool late : {false, true}) {
            Given given;
            given.arch = isa::Arch::sm_100;
            given.grid.x = 5;
            given.schedule = {late, UINT32_MAX};
            given.buffers = {Bytes(5 * 128), Bytes(128)};
            const isa::Program program =
                program_of(stealing(p.space, p.address, p.barrier), given.arch);
            const Outcome outcome = run_well(program, std::move(given));
            EXPECT_EQ(words_of(outcome.buffers[0]), Words(160, 1)) << p.address << late;
        }
}

// The answer is 16 bytes at a multiple of as many, and the barrier's another.
TEST(LaunchControl, AnswersIntoSharedMemory) {
    const auto asked = [](const std::string& address, const std::string& barrier) {
        Given given;
        given.arch = isa::Arch::sm_100;
        given.buffers = {Bytes(128), Bytes(128)};
        return fault_of(
            run(program_of(stealing("", address, barrier), given.arch), std::move(given)).result);
    };
    EXPECT_NE(asked("%g+8", "%h").find("misaligned"), std::string::npos) << asked("%g+8", "%h");
    EXPECT_NE(asked("%g", "%h+4").find("misaligned"), std::string::npos) << asked("%g", "%h+4");
    EXPECT_NE(asked("%rd1", "%h").find(".shared"), std::string::npos) << asked("%rd1", "%h");
    EXPECT_NE(asked("%g", "%rd1").find(".shared"), std::string::npos) << asked("%g", "%rd1");
}

// A request that was not granted names no CTA: all elements are written.
TEST(LaunchControl, NamesNoCtaWhereNoneWasGiven) {
    std::string text = kernel(
        ".reg .b128 %q; mov.u64 %rd4, 0; mov.b128 %q, {%rd4, %rd4};\n"
        "mov.u32 %r2, 7; mov.u32 %r3, 7; mov.u32 %r4, 7; mov.u32 %r5, 7;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, %r4, _}, %q;\n"
        "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5;\n"
        "st.global.u32 [%rd2], %r2;\n",
        {}, "sm_100");
    text.replace(text.find(".version 8.0"), 12, ".version 8.6");
    Given given;
    given.arch = isa::Arch::sm_100;
    EXPECT_EQ(results_of_text(text, Words(32), std::move(given)), Words(32, 7));
}

}  // namespace

}  // namespace lockwarp::exec
