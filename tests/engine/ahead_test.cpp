// SPDX-License-Identifier: Apache-2.0
// Launches that begin before the one before them has ended, and what makes that one end.
#include "engine/ahead.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/engine/support.hpp"

namespace lockwarp::engine {
namespace {

struct Seen {
    uint32_t before = 0, after = 0;  // of x, by a thread of the last CTA
    unsigned finished = 0;           // how often
};

// The launch before puts 1 into x. `line` stands between two looks at x.
Seen seen(const std::string& line, uint32_t ctas = 1, bool late = false) {
    const std::string text =
        ".version 8.6\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 .ptr .global .align 16 at) {\n"
        ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<3>;\n"
        ".shared .align 128 .b8 sm[256];\n.local .align 16 .b8 own[16];\n"
        "ld.param.u64 %rd1, [at];\nmov.u32 %r1, 7;\nmov.u32 %r8, 16;\n"
        "mbarrier.init.shared.b64 [sm+128], 1;\n"
        "ld.global.u32 %r2, [%rd1];\n" +
        line + "\nld.global.u32 %r3, [%rd1];\nst.global.v2.u32 [%rd1+8], {%r2, %r3};\nret;\n}\n";
    const Context context = make_context("sm_90");
    const Given<Module> module = load(context, text);
    EXPECT_EQ(module.message, "") << line;
    const lockwarp_kernel& kernel = *kernel_of(module.value).value;
    Seen out;
    constexpr uint64_t address = 0x10000;
    std::vector<uint8_t> memory(256);
    warp::Launch launch;
    launch.grid.x = ctas;
    launch.parameters.resize(kernel.program.parameter_bytes);
    std::memcpy(launch.parameters.data(), &address, sizeof address);
    launch.buffers.push_back({"x", address, memory});
    Ahead ahead(kernel, [&] {
        memory[0] = 1;
        ++out.finished;
    });
    const auto ready = exec::make_ready(kernel.program, false, false);
    const warp::Result result = exec::inspect(*ready, launch, ahead, {late});
    EXPECT_FALSE(result.refusal || result.trap) << line;
    std::memcpy(&out.before, &memory[8], sizeof out.before);
    std::memcpy(&out.after, &memory[12], sizeof out.after);
    return out;
}

// Whether what a line does has the launch before end.
struct Row {
    const char* line;
    bool ends;
};
constexpr Row rows[] = {
    {"griddepcontrol.wait;", true},
    {"griddepcontrol.launch_dependents;", false},
    {"add.u32 %r1, %r1, 1;", false},
    {"ld.global.u32 %r1, [%rd1+16];", false},
    {"ld.acquire.gpu.global.u32 %r1, [%rd1+16];", false},
    {"st.global.u32 [%rd1+16], %r1;", true},
    {"st.u32 [%rd1+16], %r1;", true},
    {"st.shared.u32 [sm], %r1;", false},
    {"st.local.u32 [own], %r1;", false},
    {"red.global.add.u32 [%rd1+16], %r1;", true},
    {"atom.global.add.u32 %r4, [%rd1+16], %r1;", true},
    {"atom.shared.add.u32 %r4, [sm], %r1;", false},
    {"cp.async.ca.shared.global [sm], [%rd1+16], 16;\ncp.async.wait_all;", false},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd1], %r8, "
     "[sm+128];",
     false},
    {"cp.async.bulk.global.shared::cta.bulk_group [%rd1+16], [sm], 16;", true},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1+16], [sm], 16;", true},
    {"cp.async.bulk.prefetch.L2.global [%rd1], 16;", false},
    {"mbarrier.arrive.shared.b64 %rd2, [sm+128];", false},
    {"prefetch.global.L2 [%rd1];", false},
};

TEST(Ahead, TheLaunchBeforeEndsWhereThisOneWaitsOrWritesGlobalMemory) {
    for (const Row& row : rows)
        for (const bool late : {false, true}) {
            const Seen s = seen(row.line, 1, late);
            EXPECT_EQ(s.before, 0u) << row.line;
            EXPECT_EQ(s.after, row.ends ? 1u : 0u) << row.line;
            EXPECT_EQ(s.finished, 1u) << row.line;  // by the look's own store, if not before
        }
}

TEST(Ahead, ItEndsOnceForAllCtas) {
    const Seen s = seen("griddepcontrol.wait;\ngriddepcontrol.wait;", 5);
    EXPECT_EQ(s.before, 1u);
    EXPECT_EQ(s.after, 1u);
    EXPECT_EQ(s.finished, 1u);
}

// Other ways to know that it has come far enough are as good as the instruction.
TEST(Ahead, ALoopThatLooksForWhatItWritesComesToItsEnd) {
    for (const char* const load : {"ld.volatile.global.u32", "ld.acquire.gpu.global.u32"}) {
        const Seen s = seen("again:\n" + std::string(load) +
                            " %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra again;");
        EXPECT_EQ(s.before, 0u) << load;
        EXPECT_EQ(s.after, 1u) << load;
    }
}

}  // namespace
}  // namespace lockwarp::engine
