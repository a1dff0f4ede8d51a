// SPDX-License-Identifier: Apache-2.0
// Accesses to blocks of malloc, at and around their ends, before and after free.
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "emu/warp/heap.hpp"
#include "tests/check/said.hpp"

namespace lockwarp::check::heap_test {
namespace {

using namespace brief;

constexpr const char* declared =
    ".extern .func (.param .b64 block) malloc(.param .b64 bytes);"
    ".extern .func free(.param .b64 block);";

std::string takes(const std::string& reg, uint64_t bytes) {
    return "{ .param .b64 bytes; .param .b64 block; st.param.b64 [bytes], " +
           std::to_string(bytes) + "; call.uni (block), malloc, (bytes); ld.param.b64 " + reg +
           ", [block]; }\n";
}

std::string gives(const std::string& reg) {
    return "{ .param .b64 block; st.param.b64 [block], " + reg + "; call.uni free, (block); }\n";
}

Lines of(const std::string& body, uint32_t grid = 1) {
    return brief::said(body, {.checks = "memory", .block = 1, .grid = grid, .outside = declared},
                       {.lanes = true, .count = true, .message = true});
}

TEST(Heap, TheEndsOfABlock) {
    struct Row {
        const char* access;
        uint64_t past;  // 0: none
    };
    for (const Row& row : std::initializer_list<Row>{{"st.global.u8 [%rd10], %r10", 0},
                                                     {"st.global.u32 [%rd10+16], %r10", 0},
                                                     {"st.global.u8 [%rd10+19], %r10", 0},
                                                     {"st.global.u8 [%rd10+20], %r10", 1},
                                                     {"st.global.u8 [%rd10+29], %r10", 10},
                                                     {"st.global.u64 [%rd10+16], %rd11", 4},
                                                     {"st.global.u32 [%rd10+20], %r10", 4},
                                                     {"ld.global.u32 %r10, [%rd10+16]", 0},
                                                     {"ld.u32 %r10, [%rd10+20]", 4},
                                                     {"ld.global.u64 %rd11, [%rd10+16]", 4}}) {
        const std::string text = row.access;
        const std::string does = text.starts_with("st") ? "stores to " : "loads from ";
        EXPECT_EQ(of(takes("%rd10", 20) + "mov.u32 %r10, 0; mov.u64 %rd11, 0;\n" + text + ";\n" +
                     gives("%rd10")),
                  row.past == 0
                      ? Lines{}
                      : Lines{"3 beyond-block 1, 1 1: " + does + std::to_string(row.past) +
                              " bytes past the 20 that line 2 asked for"})
            << text;
    }
}

TEST(Heap, WhatHasBeenFreed) {
    const std::string use = "st.global.u32 [%rd10+4], 7;\n";
    EXPECT_EQ(of(takes("%rd10", 8) + gives("%rd10") + use),
              Lines{"3 use-after-free 2, 1 1: stores to a block that line 3 has freed"});
    EXPECT_EQ(of(takes("%rd10", 8) + use + gives("%rd10")), Lines{});
    // Taken again.
    EXPECT_EQ(of(takes("%rd10", 8) + gives("%rd10") + takes("%rd11", 8) + use + gives("%rd11")),
              Lines{});
    EXPECT_EQ(of(takes("%rd10", 8) + gives("%rd10") + takes("%rd11", 4) + use + gives("%rd11")),
              Lines{"4 beyond-block 3, 1 1: stores to 4 bytes past the 4 that line 4 asked for"});
    // Behind a freed block: not its own.
    EXPECT_EQ(of(takes("%rd10", 8) + gives("%rd10") + "st.global.u32 [%rd10+8], 7;\n"),
              Lines{"3 beyond-block 1, 1 1: stores to 4 bytes past the 8 that line 2 asked for"});
    // Of two blocks each its own.
    EXPECT_EQ(of(takes("%rd10", 8) + takes("%rd11", 8) + gives("%rd11") + use + gives("%rd10")),
              Lines{});
    EXPECT_EQ(of(takes("%rd10", 8) + takes("%rd11", 8) + gives("%rd10") + use + gives("%rd11")),
              Lines{"4 use-after-free 3, 1 1: stores to a block that line 4 has freed"});
}

TEST(Heap, BlocksThatAreLeft) {
    const std::string one = takes("%rd10", 8), two = takes("%rd11", 8);
    EXPECT_EQ(of(one), Lines{"~1 leak, 1: 1 calls of malloc, 0 of free: 1 blocks are left"});
    EXPECT_EQ(of(one + gives("%rd10")), Lines{});
    EXPECT_EQ(of(one + two + gives("%rd10")),
              Lines{"~1 leak, 1: 2 calls of malloc, 1 of free: 1 blocks are left"});
    EXPECT_EQ(of(one + two),
              Lines{"~1 leak, 1, 2 times: 2 calls of malloc, 0 of free: 2 blocks are left"});
    EXPECT_EQ(of(one, 3),
              Lines{"~1 leak, 1, 3 times: 3 calls of malloc, 0 of free: 3 blocks are left"});
}

// Who runs CTAs, each of which takes a while.
struct Threads : warp::Observer {
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        const std::scoped_lock one(mutex);
        ids.insert(std::this_thread::get_id());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return nullptr;
    }
    std::mutex mutex;
    std::set<std::thread::id> ids;
};

// A CTA may use what another has taken: what is said follows the order of the run.
TEST(Heap, CtasFollowOneAnother) {
    Threads threads;
    EXPECT_EQ(brief::said(takes("%rd10", 8) + gives("%rd10"), {.checks = "memory",
                                                               .block = 1,
                                                               .grid = 40,
                                                               .outside = declared,
                                                               .observer = &threads,
                                                               .threads = 4}),
              Lines{});
    EXPECT_EQ(threads.ids.size(), 1u);
}

// Another launch takes what this one has freed, as soon as it is.
struct OtherLaunch : warp::Observer {
    struct OfCta : warp::CtaObserver {
        explicit OfCta(OtherLaunch& l) : of(l) {}
        void heap(const warp::HeapEvent& e) override {
            if (!e.frees) return;
            EXPECT_EQ(of.heap.allocate(of.bytes), e.address);
        }
        OtherLaunch& of;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(*this);
    }
    explicit OtherLaunch(uint64_t n) : bytes(n) {}
    uint64_t bytes;
    warp::Heap heap{isa::heap_base, 4096};
};

TEST(Heap, WhatAnotherLaunchTakes) {
    const std::string body = takes("%rd10", 8) + gives("%rd10") + "st.global.u32 [%rd10+4], 7;\n";
    const auto said = [&](uint64_t bytes) {
        OtherLaunch other(bytes);
        return brief::said(body,
                           {.checks = "memory",
                            .block = 1,
                            .outside = declared,
                            .heap = &other.heap,
                            .observer = &other},
                           {.message = true});
    };
    EXPECT_EQ(said(8), Lines{});
    EXPECT_EQ(said(4), Lines{"3 beyond-block: stores to 4 bytes past the 4 that another launch "
                             "asked for"});
}

// Beside the heap nothing is a block's.
TEST(Heap, OtherMemory) {
    EXPECT_EQ(of(takes("%rd10", 8) + "st.global.u32 [%rd1], 7;\n" + gives("%rd10")), Lines{});
    EXPECT_EQ(of("st.global.u32 [%rd1], 7;\n"), Lines{});
}

}  // namespace
}  // namespace lockwarp::check::heap_test
