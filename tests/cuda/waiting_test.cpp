// SPDX-License-Identifier: Apache-2.0
// Kernels that wait for what the program does after it has launched them.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "driver.hpp"

namespace lockwarp::test {
namespace {

constexpr int not_ready = 600;

const auto cuMemHostAlloc = entry<int(void**, size_t, unsigned)>("cuMemHostAlloc");
const auto cuStreamCreate = entry<int(Handle*, unsigned)>("cuStreamCreate");
const auto cuStreamDestroy = entry<int(Handle)>("cuStreamDestroy");
const auto cuStreamQuery = entry<int(Handle)>("cuStreamQuery");
const auto cuStreamSynchronize = entry<int(Handle)>("cuStreamSynchronize");
const auto cuStreamWaitEvent = entry<int(Handle, Handle, unsigned)>("cuStreamWaitEvent");
const auto cuEventCreate = entry<int(Handle*, unsigned)>("cuEventCreate");
const auto cuEventRecord = entry<int(Handle, Handle)>("cuEventRecord");
const auto cuEventQuery = entry<int(Handle)>("cuEventQuery");
const auto cuEventSynchronize = entry<int(Handle)>("cuEventSynchronize");
const auto cuMemsetD32Async = entry<int(Address, unsigned, size_t, Handle)>("cuMemsetD32Async");
const auto cuMemcpyHtoDAsync =
    entry<int(Address, const void*, size_t, Handle)>("cuMemcpyHtoDAsync");

// Waits until x[0] is not 0, then stores x[0] + 1 to x[1].
const std::string wait_ptx = R"( .reg .pred %q;
L: ld.volatile.global.u32 %r0, [%p0];
 setp.eq.u32 %q, %r0, 0;
 @%q bra L;
 add.u32 %r0, %r0, 1;
 st.volatile.global.u32 [%p0+4], %r0;)";

class Waiting : public Cuda {
  protected:
    void SetUp() override {
        Cuda::SetUp();
        void* memory = nullptr;
        ASSERT_EQ(cuMemHostAlloc(&memory, 64, 0), success);
        words = static_cast<volatile uint32_t*>(memory);
        for (int i = 0; i < 16; ++i) words[i] = 0;
        ASSERT_EQ(cuStreamCreate(&stream, 1), success);
        ASSERT_EQ(cuStreamCreate(&other, 1), success);
    }
    Address of_host() const { return reinterpret_cast<Address>(words); }
    int launch(Handle f, Address x, Handle in, unsigned ctas = 1, unsigned threads = 1) {
        void* parameters[] = {&x};
        return cuLaunchKernel(f, ctas, 1, 1, threads, 1, 1, 0, in, parameters, nullptr);
    }
    // What nothing but time brings.
    static bool comes(const std::function<bool()>& is_there) {
        for (int i = 0; i < 10'000 && !is_there(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return is_there();
    }

    volatile uint32_t* words = nullptr;
    Handle stream = nullptr, other = nullptr;
};

TEST_F(Waiting, ForTheHostGoesOnBesideIt) {
    const Handle f = kernel(wait_ptx);
    const Address x = allocate(8);
    Handle event = nullptr;
    ASSERT_EQ(cuEventCreate(&event, 0), success);
    ASSERT_EQ(launch(f, of_host(), stream), success);
    EXPECT_EQ(cuStreamQuery(stream), not_ready);
    // What comes behind it waits, and what another stream is asked for does not.
    ASSERT_EQ(cuMemsetD32Async(x, 7, 1, stream), success);
    ASSERT_EQ(cuEventRecord(event, stream), success);
    EXPECT_EQ(cuEventQuery(event), not_ready);
    ASSERT_EQ(cuMemsetD32Async(x + 4, 8, 1, other), success);
    EXPECT_EQ(cuStreamSynchronize(other), success);
    EXPECT_EQ(read<uint32_t>(x, 2), (std::vector<uint32_t>{0, 8}));
    EXPECT_EQ(words[1], 0u);
    words[0] = 41;
    EXPECT_EQ(cuEventSynchronize(event), success);
    EXPECT_EQ(words[1], 42u);
    EXPECT_EQ(read<uint32_t>(x, 2), (std::vector<uint32_t>{7, 8}));
    EXPECT_EQ(cuStreamQuery(stream), success);
    // After that all is done when it is asked for, as before.
    ASSERT_EQ(launch(f, of_host(), stream), success);
    EXPECT_EQ(cuStreamQuery(stream), success);
}

// Neither side calls anything of CUDA meanwhile.
TEST_F(Waiting, InTurnWithTheHost) {
    const Handle f = kernel(R"( .reg .pred %q;
 mov.u32 %r1, 1;
N:
L: ld.acquire.sys.global.u32 %r0, [%p0];
 setp.ne.u32 %q, %r0, %r1;
 @%q bra L;
 st.release.sys.global.u32 [%p0+4], %r1;
 add.u32 %r1, %r1, 1;
 setp.le.u32 %q, %r1, 50;
 @%q bra N;)");
    ASSERT_EQ(launch(f, of_host(), stream), success);
    for (uint32_t i = 1; i <= 50; ++i) {
        words[0] = i;
        ASSERT_TRUE(comes([&] { return words[1] == i; })) << i;
    }
    EXPECT_EQ(cuStreamSynchronize(stream), success);
}

TEST_F(Waiting, ForACopyInAnotherStream) {
    const Address x = allocate(8);
    ASSERT_EQ(launch(kernel(wait_ptx), x, stream), success);
    const uint32_t one = 1;
    ASSERT_EQ(cuMemcpyHtoDAsync(x, &one, 4, other), success);
    EXPECT_EQ(cuStreamSynchronize(stream), success);
    EXPECT_EQ(read<uint32_t>(x, 2), (std::vector<uint32_t>{1, 2}));
}

// Many CTAs, so that every core has some that wait.
TEST_F(Waiting, ForAnotherKernel) {
    const Address x = allocate(8);
    ASSERT_EQ(launch(kernel(wait_ptx), x, stream, 50, 64), success);
    ASSERT_EQ(launch(kernel(" atom.global.add.u32 %r0, [%p0], 5;"), x, other), success);
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(read<uint32_t>(x, 2), (std::vector<uint32_t>{5, 6}));
}

// Two that wait, each for the one that was asked for after it.
TEST_F(Waiting, OfSeveralAtATime) {
    const Handle f = kernel(wait_ptx);
    ASSERT_EQ(launch(f, of_host() + 4, stream), success);
    ASSERT_EQ(launch(f, of_host(), other), success);
    EXPECT_EQ(cuStreamQuery(other), not_ready);
    words[0] = 1;
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(words[2], 3u);
}

// What is behind it in its stream is done though nobody waits for it.
TEST_F(Waiting, IsFollowedByWhatIsBehindIt) {
    const Handle f = kernel(wait_ptx);
    ASSERT_EQ(launch(f, of_host(), stream), success);
    ASSERT_EQ(launch(f, of_host() + 4, stream), success);
    Handle event = nullptr;
    ASSERT_EQ(cuEventCreate(&event, 0), success);
    ASSERT_EQ(cuEventRecord(event, stream), success);
    ASSERT_EQ(cuStreamWaitEvent(other, event, 0), success);
    ASSERT_EQ(launch(f, of_host() + 8, other), success);
    EXPECT_EQ(words[3], 0u);
    words[0] = 1;
    EXPECT_TRUE(comes([&] { return words[3] == 4; })) << words[3];
    EXPECT_EQ(cuCtxSynchronize(), success);
}

TEST_F(Waiting, InAGraph) {
    Handle graph = nullptr, node = nullptr, after = nullptr, exec = nullptr;
    struct KernelNode {
        Handle function;
        unsigned grid[3], block[3], shared;
        void** parameters;
        void** extra;
    };
    Address x = of_host();
    void* parameters[] = {&x};
    KernelNode made{kernel(wait_ptx), {1, 1, 1}, {32, 1, 1}, 0, parameters, nullptr};
    ASSERT_EQ(entry<int(Handle*, unsigned)>("cuGraphCreate")(&graph, 0), success);
    using Add = int(Handle*, Handle, const Handle*, size_t, const KernelNode*);
    const auto add = entry<Add>("cuGraphAddKernelNode", 11000);
    ASSERT_EQ(add(&node, graph, nullptr, 0, &made), success);
    x += 4;
    ASSERT_EQ(add(&after, graph, &node, 1, &made), success);
    ASSERT_EQ(
        (entry<int(Handle*, Handle, uint64_t)>("cuGraphInstantiateWithFlags")(&exec, graph, 0)),
        success);
    ASSERT_EQ((entry<int(Handle, Handle)>("cuGraphLaunch")(exec, stream)), success);
    EXPECT_EQ(cuStreamQuery(stream), not_ready);
    words[0] = 1;
    EXPECT_EQ(cuStreamSynchronize(stream), success);
    EXPECT_EQ(words[2], 3u);
}

// What it does wrong after the program has gone on is the error of what comes then.
TEST_F(Waiting, FailsLater) {
    const Handle f = kernel(wait_ptx + "\n mov.u64 %p1, 64;\n st.global.u32 [%p1], %r0;");
    testing::internal::CaptureStderr();
    ASSERT_EQ(launch(f, of_host(), stream), success);
    words[0] = 1;
    EXPECT_EQ(cuStreamSynchronize(stream), illegal_address);
    EXPECT_EQ(cuCtxSynchronize(), illegal_address);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("out of bounds"), std::string::npos);
}

// A wait that looks at the clock too, and one whose lanes part.
TEST_F(Waiting, WithPauses) {
    const Handle f = kernel(R"( .reg .pred %q; .reg .b32 %lane; .reg .b64 %at;
 mov.u32 %lane, %tid.x;
 mul.wide.u32 %at, %lane, 4;
 add.u64 %at, %p0, %at;
L: nanosleep.u32 100;
 mov.u64 %p1, %globaltimer;
 ld.relaxed.sys.global.u32 %r0, [%at];
 setp.eq.u32 %q, %r0, 0;
 @%q bra L;
 bar.warp.sync -1;
 @!%q st.global.u32 [%at+32], %p1;)");
    ASSERT_EQ(launch(f, of_host(), stream, 1, 8), success);
    EXPECT_EQ(cuStreamQuery(stream), not_ready);
    for (int i = 0; i < 8; ++i) words[i] = 1;
    EXPECT_EQ(cuStreamSynchronize(stream), success);
    for (int i = 8; i < 16; ++i) EXPECT_NE(words[i], 0u) << i;
}

// The program waits as well, and nobody is left who could do something.
TEST_F(Waiting, InVainIsADeadlock) {
    testing::internal::CaptureStderr();
    ASSERT_EQ(launch(kernel(wait_ptx), of_host(), stream), success);
    EXPECT_EQ(cuStreamSynchronize(stream), launch_timeout);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("deadlock"), std::string::npos);
}

// Nor where the program waits for something else that takes its time.
TEST_F(Waiting, WhileOthersWork) {
    const Handle f = kernel(wait_ptx);
    ASSERT_EQ(launch(f, of_host(), stream), success);
    ASSERT_EQ(launch(f, of_host() + 8, other), success);
    const auto rest = +[](void*) { std::this_thread::sleep_for(std::chrono::seconds(2)); };
    ASSERT_EQ(
        (entry<int(Handle, void (*)(void*), void*)>("cuLaunchHostFunc")(other, rest, nullptr)),
        success);
    words[2] = 1;
    EXPECT_EQ(cuStreamSynchronize(other), success);
    EXPECT_EQ(cuStreamQuery(stream), not_ready);
    words[0] = 1;
    EXPECT_EQ(cuStreamSynchronize(stream), success);
    EXPECT_EQ(words[1], 2u);
}

// Another thread of the program may, though this one waits.
TEST_F(Waiting, ForAnotherThreadOfTheProgram) {
    ASSERT_EQ(launch(kernel(wait_ptx), of_host(), stream), success);
    std::thread thread([this] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        words[0] = 1;
    });
    EXPECT_EQ(cuStreamSynchronize(stream), success);
    thread.join();
    EXPECT_EQ(words[1], 2u);
}

// What is in shared memory nobody else changes: that is said at once.
TEST_F(Waiting, ForItselfIsADeadlockAtOnce) {
    const Handle f = kernel(R"( .reg .pred %q; .shared .align 4 .u32 s;
 st.shared.u32 [s], 0;
L: ld.volatile.shared.u32 %r0, [s];
 setp.eq.u32 %q, %r0, 0;
 @%q bra L;)");
    testing::internal::CaptureStderr();
    ASSERT_EQ(launch(f, of_host(), stream), success);
    EXPECT_EQ(cuStreamQuery(stream), launch_timeout);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("deadlock"), std::string::npos);
}

// 3: the kernel runs where the program ends.
[[noreturn]] void end_while_it_runs(const std::string& ptx) {
    Handle context = nullptr, module = nullptr, f = nullptr;
    void* memory = nullptr;
    const bool is_ready = cuInit(0) == success && cuCtxCreate(&context, 0, 0) == success &&
                          cuMemHostAlloc(&memory, 64, 0) == success &&
                          cuModuleLoadData(&module, kernel_ptx(ptx).c_str()) == success &&
                          cuModuleGetFunction(&f, module, "k") == success;
    void* parameters[] = {&memory};
    const bool is_left =
        is_ready && cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr) == success;
    std::exit(is_left && cuStreamQuery(nullptr) == not_ready ? 3 : 4);
}

TEST(WaitingDeathTest, EndsWithTheProgram) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(end_while_it_runs(wait_ptx), testing::ExitedWithCode(3), "");
    // One that counts its looks, so that it is not seen to wait.
    const std::string counts = R"( .reg .pred %q;
 mov.u32 %r1, 0;
L: add.u32 %r1, %r1, 1;
 ld.volatile.global.u32 %r0, [%p0];
 setp.eq.u32 %q, %r0, 0;
 @%q bra L;
 st.volatile.global.u32 [%p0+4], %r1;)";
    EXPECT_EXIT(end_while_it_runs(counts), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace lockwarp::test
