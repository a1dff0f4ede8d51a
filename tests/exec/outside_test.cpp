// SPDX-License-Identifier: Apache-2.0
// Waits for memory that others than the grid change: who is asked, when, and what follows.
#include <cstring>

#include "emu/isa/waiting.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// Each thread waits until the first word of `in` is not 0, and adds it to the first of `out`.
std::string wait_for(const std::string& load) {
    return kernel("L:\n" + load + R"(
setp.eq.u32 %p1, %r2, 0;
@%p1 bra L;
atom.global.add.u32 %r3, [%rd4], %r2;
ret;)");
}

const std::string strong = "ld.relaxed.sys.global.u32 %r2, [%rd1];";

// Stores to a word of a launch's memory when it was asked so many times; before that it says that
// somebody may.
struct Host : warp::Outside {
    bool may_change(uint64_t progress) override {
        progresses.push_back(progress);
        if (progresses.size() >= after && word != nullptr) *word = 5;
        return progresses.size() < gives_up;
    }
    uint32_t* word = nullptr;
    size_t after = 3;
    size_t gives_up = 100;
    std::vector<uint64_t> progresses;
};

struct Ran {
    warp::Result result;
    Words out;
    std::vector<uint64_t> progresses;
};

Ran run_with(const std::string& text, Host host, uint32_t ctas = 1, unsigned threads = 1,
             uint32_t cluster = 1) {
    const isa::Program program = program_of(text, isa::Arch::sm_90);
    Words in{0, 0, 0, 0}, out(4, 0);
    host.word = in.data();
    warp::Launch l;
    l.grid.x = ctas;
    l.block.x = 32;
    if (cluster != 1) l.cluster = warp::Dim3{cluster, 1, 1};
    l.threads = threads;
    l.outside = &host;
    l.buffers = {
        {"in", buffer_address(0), {reinterpret_cast<uint8_t*>(in.data()), 4 * in.size()}},
        {"out", buffer_address(1), {reinterpret_cast<uint8_t*>(out.data()), 4 * out.size()}}};
    const uint64_t addresses[] = {buffer_address(0), buffer_address(1)};
    l.parameters.resize(sizeof addresses);
    std::memcpy(l.parameters.data(), addresses, sizeof addresses);
    Ran ran;
    ran.result = exec::launch(program, l);
    ran.out = out;
    ran.progresses = host.progresses;
    return ran;
}

TEST(Outside, IsAskedWhenAllWaitForGlobalMemory) {
    for (const unsigned threads : {1u, 2u})
        for (const uint32_t ctas : {1u, 7u}) {
            const Ran ran = run_with(wait_for(strong), {}, ctas, threads);
            EXPECT_EQ(fault_of(ran.result), "");
            EXPECT_EQ(ran.out[0], 5 * 32 * ctas);
            // Nothing moved between the three times.
            EXPECT_EQ(ran.progresses, std::vector(3, ran.progresses.at(0))) << threads;
        }
}

TEST(Outside, SaysThatItIsADeadlock) {
    Host host;
    host.after = 1000;
    host.gives_up = 4;
    const Ran ran = run_with(wait_for(strong), host, 3);
    EXPECT_EQ(fault_of(ran.result).find("deadlock: waits for 0x10000000"), 0u)
        << fault_of(ran.result);
    EXPECT_EQ(ran.progresses.size(), 4u);
    EXPECT_EQ(ran.out[0], 0u);
}

// A kernel that comes on between two waits tells so.
TEST(Outside, HearsOfProgress) {
    const std::string text = kernel(R"(
mov.u32 %r4, 0;
L:
ld.volatile.global.u32 %r2, [%rd1];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra L;
st.volatile.global.u32 [%rd4], %r2;
N:
ld.volatile.global.u32 %r2, [%rd1+4];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra N;
st.volatile.global.u32 [%rd4+4], %r2;
ret;)");
    Host host;
    host.gives_up = 6;
    const Ran ran = run_with(text, host);
    EXPECT_EQ(ran.out, (Words{5, 0, 0, 0}));
    ASSERT_EQ(ran.progresses.size(), 6u);
    const uint64_t first = ran.progresses[0], then = ran.progresses[3];
    EXPECT_NE(first, then);
    EXPECT_EQ(ran.progresses, (std::vector<uint64_t>{first, first, first, then, then, then}));
}

TEST(Outside, IsAskedOfWaitsByTheClockAndInClusters) {
    const std::string by_clock =
        wait_for("nanosleep.u32 50;\nmov.u64 %rd5, %globaltimer;\n" + strong);
    EXPECT_EQ(run_with(by_clock, {}).out[0], 160u);
    const Ran ran = run_with(wait_for(strong), {}, 4, 2, 2);
    EXPECT_EQ(fault_of(ran.result), "");
    EXPECT_EQ(ran.out[0], 640u);
}

// Only one CTA looks at global memory; the others wait for it.
TEST(Outside, IsAskedForOthersInTheGrid) {
    const std::string text = kernel(R"(
mov.u32 %r5, %ctaid.x;
setp.ne.u32 %p2, %r5, 2;
@%p2 bra REST;
L:
ld.relaxed.sys.global.u32 %r2, [%rd1];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra L;
st.relaxed.gpu.global.u32 [%rd1+8], %r2;
REST:
ld.relaxed.gpu.global.u32 %r2, [%rd1+8];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra REST;
atom.global.add.u32 %r3, [%rd4], %r2;
ret;)");
    const Ran ran = run_with(text, {}, 3);
    EXPECT_EQ(fault_of(ran.result), "");
    EXPECT_EQ(ran.out[0], 480u);
    EXPECT_EQ(ran.progresses.size(), 3u);
}

// Nobody else reaches shared memory, nor a barrier.
TEST(Outside, IsNotAskedForWhatIsTheGridsOwn) {
    const std::array own{
        std::string(
            ".shared .align 8 .b64 s;\nst.shared.u64 [s], 0;\nL:\n"
            "ld.volatile.shared.u32 %r2, [s];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nret;"),
        std::string("setp.eq.u32 %p1, %r1, 3;\n@%p1 bra L;\nbarrier.sync 0, 64;\nL:\nret;")};
    for (const std::string& body : own) {
        const Ran ran = run_with(kernel(body), {});
        EXPECT_EQ(fault_of(ran.result).find("deadlock"), 0u) << fault_of(ran.result);
        EXPECT_EQ(ran.progresses.size(), 0u) << body;
    }
}

// Programs that may wait for what others do, as far as the text says.
TEST(Outside, IsForLoopsWithStrongLooks) {
    struct Row {
        bool may;
        std::string body;
    };
    const auto loop = [](const std::string& look) {
        return "L:\n" + look + "\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nret;";
    };
    const std::vector<Row> rows{
        {true, loop(strong)},
        {true, loop("ld.volatile.global.u32 %r2, [%rd1];")},
        {true, loop("ld.acquire.gpu.u32 %r2, [%rd1];")},
        {true, loop("atom.global.or.b32 %r2, [%rd1], 0;")},
        {true, loop("atom.cas.b32 %r2, [%rd1], 1, 0;")},
        {true, loop("ld.global.u32 %r2, [%rd1];\nmembar.sys;")},
        {true, loop("ld.u32 %r2, [%rd1];\nfence.acq_rel.sys;")},
        {true, "bra M;\nN:\nret;\nL:\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra M;\nbra N;\nM:\n" +
                   strong + "\nbra L;"},
        {false, loop("ld.global.u32 %r2, [%rd1];")},
        {false, loop("red.global.add.u32 [%rd1], 1;")},
        {false, loop(strong + "\nst.shared.u32 [%r1], %r2;")},
        {false, loop(strong + "\nred.global.add.u32 [%rd1+4], 1;")},
        {false, loop("setp.eq.u32 %p2, %r3, 0;\n@%p2 bra M;\nst.global.u32 [%rd1], 1;\nbra N;\n"
                     "M:\nst.global.u32 [%rd1], 2;\nN:\n" +
                     strong)},
        {true,
         loop("setp.eq.u32 %p2, %r3, 0;\n@%p2 bra M;\nst.global.u32 [%rd1], 1;\nM:\n" + strong)},
        {false, loop("st.volatile.global.u32 [%rd1], 1;")},
        {false, ".shared .align 8 .b64 s;\n" + loop("ld.volatile.shared.u32 %r2, [s];")},
        {false, strong + "\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nadd.u32 %r2, %r2, 1;\nL:\nret;"},
        {false, strong + loop("add.u32 %r2, %r2, 1;")},
        {false, "ret;"},
    };
    for (const Row& row : rows)
        EXPECT_EQ(isa::may_wait_outside(program_of(kernel(row.body), isa::Arch::sm_80)), row.may)
            << row.body;
    // A function may be called in a loop.
    const std::string function =
        ".func look(.param .b64 x) { .reg .b64 %a; .reg .b32 %v; ld.param.b64 %a, [x];"
        " ld.volatile.global.u32 %v, [%a]; ret; }";
    EXPECT_TRUE(isa::may_wait_outside(program_of(
        kernel("{ .param .b64 p;\nst.param.b64 [p], %rd1;\ncall look, (p); }\nret;", function),
        isa::Arch::sm_80)));
}

}  // namespace
}  // namespace lockwarp::exec
