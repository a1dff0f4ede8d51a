// SPDX-License-Identifier: Apache-2.0
// Engines in processes of their own: the same answers, and one that fails is another's beginning.
#include <sys/wait.h>

#include <gtest/gtest.h>
#include <atomic>
#include <csignal>
#include <thread>

#include "gpu/driver.hpp"
#include "launch/input.hpp"
#include "tests/gpu/child_support.hpp"
#include "tests/results.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::child {

namespace {

TEST(Child, GivesTheDevice) {
    const auto engine = fake();
    const gpu::Device& device = engine->device();
    EXPECT_EQ(device.name, "a fake");
    EXPECT_EQ(device.driver, "version 1");
    EXPECT_EQ(device.number, 90u);
    EXPECT_EQ(device.memory, uint64_t{141} << 30);
    EXPECT_NE(static_cast<pid_t>(device.clock_mhz), getpid());
    EXPECT_EQ(kill(static_cast<pid_t>(device.clock_mhz), 0), 0);
}

TEST(Child, MemoryComesBackAsItWasWritten) {
    const auto engine = fake();
    constexpr size_t piece = 16u << 20;
    for (const size_t bytes : {size_t{0}, size_t{1}, (size_t{5} << 20) + 3, piece, piece + 1,
                               2 * piece, 2 * piece + 1, 3 * piece - 1, (size_t{100} << 20) + 5})
        expect_round_trip(*engine, bytes);
}

TEST(Child, PartsOfABufferAreWrittenAndRead) {
    const auto engine = fake();
    const uint64_t address = engine->allocate(100);
    const std::vector<uint8_t> in = pattern(20);
    std::vector<uint8_t> out(40);
    ASSERT_EQ(sentence_of(engine->clear(address, 100)), "");
    EXPECT_EQ(sentence_of(engine->write(address + 80, in)), "");
    EXPECT_EQ(sentence_of(engine->read(address + 60, out)), "");
    EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin() + 20));
    EXPECT_EQ(sentence_of(engine->write(address + 81, in)),
              "20 bytes at 0x10000000051 are not memory that the "
              "engine's process has");
    EXPECT_NE(sentence_of(engine->read(address - 1, out)), "");
    EXPECT_NE(sentence_of(engine->clear(address, 101)), "");
    EXPECT_NE(sentence_of(engine->clear(address, UINT64_MAX)), "");
}

TEST(Child, MemoryAtAnAddress) {
    const auto engine = fake();
    constexpr uint64_t address = 0x7000000;
    EXPECT_TRUE(engine->allocate_at(address, 20));
    EXPECT_FALSE(engine->allocate_at(address, 20));
    EXPECT_FALSE(engine->allocate_at(uint64_t{1} << 50, 20));
    const std::vector<uint8_t> in = pattern(20);
    std::vector<uint8_t> out(20);
    EXPECT_EQ(sentence_of(engine->write(address, in)), "");
    EXPECT_EQ(sentence_of(engine->read(address, out)), "");
    EXPECT_EQ(in, out);
    EXPECT_NE(sentence_of(engine->clear(uint64_t{1} << 50, 1)), "");
    engine->release(address);
    EXPECT_NE(sentence_of(engine->clear(address, 1)), "");
}

TEST(Child, TheEnginesErrorsArrive) {
    const auto engine = fake();
    const uint64_t address = engine->allocate(100);
    std::vector<uint8_t> bytes(13);
    EXPECT_EQ(sentence_of(engine->write(address, bytes)), "thirteen bytes");
    EXPECT_EQ(sentence_of(engine->read(address, bytes)), "thirteen bytes read");
    EXPECT_EQ(sentence_of(engine->clear(address, 13)), "thirteen zeros");
    EXPECT_EQ(sentence_of(engine->clear(address, 12)), "");
    EXPECT_EQ(engine->allocate(UINT64_MAX), 0u);
}

TEST(Child, JobsArriveWhole) {
    const auto engine = fake();
    EXPECT_EQ(run(*engine, "describe", "text").what, "describe 1 2 3 4 5 6 7,8,9,255");
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{5000}, size_t{3} << 20}) {
        const std::string text(bytes, 'x');
        const gpu::Ran ran = run(*engine, "echo", text);
        EXPECT_EQ(ran.outcome, Outcome::refused);
        EXPECT_TRUE(ran.what == text) << bytes;
    }
    EXPECT_EQ(run(*engine, "anything").outcome, Outcome::done);
}

TEST(Child, AFaultEndsTheChildAndAnotherBegins) {
    const int opened = counters().opened;
    const auto engine = fake();
    const uint64_t old = engine->allocate(64);
    const gpu::Ran ran = run(*engine, "fault");
    EXPECT_EQ(ran.outcome, Outcome::faulted);
    EXPECT_EQ(ran.what, "as asked");
    EXPECT_EQ(ran.fault, Fault::misaligned_address);
    EXPECT_TRUE(is_gone(static_cast<pid_t>(engine->device().clock_mhz)));
    std::vector<uint8_t> bytes(64);
    EXPECT_NE(sentence_of(engine->write(old, bytes)), "");
    EXPECT_NE(sentence_of(engine->read(old, bytes)), "");
    EXPECT_NE(sentence_of(engine->clear(old, 64)), "");
    engine->release(old);
    EXPECT_EQ(counters().opened, opened + 1);
    expect_round_trip(*engine, 64);
    EXPECT_EQ(counters().opened, opened + 2);
    // The fake's process would end if this reached it.
    const uint64_t other = engine->allocate(1);
    engine->release(old + 1);
    EXPECT_EQ(sentence_of(engine->clear(other, 1)), "");
    EXPECT_EQ(run(*engine, "hang itself").outcome, Outcome::hung);
    EXPECT_NE(sentence_of(engine->clear(other, 1)), "");
}

TEST(Child, AKernelWithoutEndIsHung) {
    const auto engine = fake(short_limit);
    const uint64_t old = engine->allocate(64);
    const auto begin = Clock::now();
    const gpu::Ran ran = run(*engine, "endless");
    EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(300));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
    EXPECT_EQ(ran.outcome, Outcome::hung);
    EXPECT_EQ(ran.what, "no end after 0.3 s");
    EXPECT_TRUE(is_gone(counters().endless));
    EXPECT_NE(sentence_of(engine->clear(old, 64)), "");
    EXPECT_EQ(run(*engine, "anything").outcome, Outcome::done);
    expect_round_trip(*engine, 1000);
}

// The limit is the kernel's: compiling has its own, and no kernel is at fault there.
TEST(Child, CompilingHasALimitOfItsOwn) {
    std::string why;
    const auto engine = gpu::open_in_child(
        open_fake, {.limit_seconds = short_limit, .compile_seconds = 3 * short_limit}, why);
    ASSERT_NE(engine, nullptr) << why;
    gpu::Job job;
    job.entry = "k";
    job.ptx = "a while";
    EXPECT_EQ(engine->run(job).outcome, Outcome::done);
    job.ptx = "long";
    const gpu::Ran late = engine->run(job);
    EXPECT_EQ(late.outcome, Outcome::uncompiled);
    EXPECT_EQ(late.what, "not compiled after 0.9 s");
    job.ptx = "wrong";
    EXPECT_EQ(engine->run(job).outcome, Outcome::refused);
    EXPECT_EQ(engine->run(job).what, "wrong text");
    job.ptx = "dies";
    const gpu::Ran died = engine->compile(job);
    EXPECT_EQ(died.outcome, Outcome::uncompiled);
    EXPECT_EQ(died.fault, Fault::none);
    job.ptx = "good";
    EXPECT_EQ(engine->compile(job).outcome, Outcome::done);
    EXPECT_EQ(engine->run(job).outcome, Outcome::done);
}

TEST(Child, InterruptedWaitsGoOn) {
    struct sigaction nothing {
    }, before{};
    nothing.sa_handler = [](int) {};
    sigaction(SIGUSR1, &nothing, &before);
    const auto engine = fake(short_limit);
    const pthread_t here = pthread_self();
    std::atomic<bool> end = false;
    std::thread noise([&] {
        while (!end) {
            pthread_kill(here, SIGUSR1);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    expect_round_trip(*engine, 50u << 20);
    const auto begin = Clock::now();
    EXPECT_EQ(run(*engine, "endless").outcome, Outcome::hung);
    EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(300));
    expect_round_trip(*engine, 1000);
    end = true;
    noise.join();
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(Child, AProcessThatDiesIsAFault) {
    const auto engine = fake();
    gpu::Ran ran = run(*engine, "exit");
    EXPECT_EQ(ran.outcome, Outcome::faulted);
    EXPECT_EQ(ran.fault, Fault::launch_failed);
    EXPECT_EQ(ran.what, "the process died: exit status 3");
    expect_round_trip(*engine, 10);
    ran = run(*engine, "kill");
    EXPECT_EQ(ran.outcome, Outcome::faulted);
    EXPECT_EQ(ran.fault, Fault::launch_failed);
    EXPECT_EQ(ran.what, "the process died: Killed");
    const uint64_t address = engine->allocate(100);
    EXPECT_EQ(sentence_of(engine->write(address, std::vector<uint8_t>(14))),
              "the process died: exit status 14");
    EXPECT_NE(sentence_of(engine->clear(address, 1)), "");
    expect_round_trip(*engine, 10);
}

TEST(Child, OneThatCannotBeOpenedSaysWhy) {
    std::string why;
    EXPECT_EQ(gpu::open_in_child(
                  [](std::string& reason) {
                      reason = "it is not there";
                      return std::unique_ptr<Engine>();
                  },
                  {}, why),
              nullptr);
    EXPECT_EQ(why, "it is not there");
    EXPECT_EQ(gpu::open_in_child([](std::string&) { return std::unique_ptr<Engine>(); }, {}, why),
              nullptr);
    EXPECT_NE(why, "");
    EXPECT_EQ(
        gpu::open_in_child([](std::string&) -> std::unique_ptr<Engine> { _exit(9); }, {}, why),
        nullptr);
    EXPECT_EQ(why, "the process died: exit status 9");
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST(Child, OneThatCannotBeOpenedAgainSaysWhy) {
    const auto engine = fake();
    run(*engine, "fault");
    counters().max_opened = counters().opened.load();
    EXPECT_EQ(engine->allocate(1), 0u);
    EXPECT_FALSE(engine->allocate_at(0x7000000, 1));
    const gpu::Ran ran = run(*engine, "anything");
    EXPECT_EQ(ran.outcome, Outcome::refused);
    EXPECT_EQ(ran.what, "no more fakes");
    counters().max_opened = 1 << 30;
    expect_round_trip(*engine, 1);
}

// Longer than the fifth of a second after which one is killed that does not begin to end.
TEST(Child, HasTimeToEnd) {
    const int destroyed = counters().destroyed;
    auto engine = fake();
    counters().slow_end = true;
    engine.reset();
    counters().slow_end = false;
    EXPECT_EQ(counters().destroyed, destroyed + 1);
}

// While it waits: what is asked next finds it gone, and what comes after begins another.
TEST(Child, OneThatDiesBetweenRequests) {
    const auto engine = fake();
    const auto pid = static_cast<pid_t>(engine->device().clock_mhz);
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(engine->allocate(1), 0u);
    expect_round_trip(*engine, 10);
}

TEST(Child, IsInterruptedAndGoesOn) {
    std::string why;
    auto engine = gpu::open_in_child(
        [](std::string& reason) {
            struct sigaction nothing {};
            nothing.sa_handler = [](int) {};
            sigaction(SIGUSR1, &nothing, nullptr);
            return open_fake(reason);
        },
        {60}, why);
    ASSERT_NE(engine, nullptr) << why;
    const auto pid = static_cast<pid_t>(engine->device().clock_mhz);
    const uint64_t address = engine->allocate(10);
    const int destroyed = counters().destroyed;
    const auto interrupt = [&] {
        for (int i = 0; i < 20; ++i) {
            ASSERT_EQ(kill(pid, SIGUSR1), 0);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    };
    interrupt();
    EXPECT_EQ(sentence_of(engine->write(address, pattern(10))), "") << "it is the same one";
    interrupt();
    engine.reset();
    EXPECT_EQ(counters().destroyed, destroyed + 1);
}

std::unique_ptr<Engine> emulator_in_child() {
    std::string why;
    return gpu::open_in_child(
        [](std::string&) {
            return std::make_unique<validate::EmulatorEngine>(isa::Arch::sm_90, false, 1);
        },
        {}, why);
}

TEST(ChildEmulator, LockstepIsAsWithoutTheChild) {
    auto loaded = launch::load({LOCKWARP_SOURCE_DIR "/gpu/kernels/mma_ldmatrix.json"}, "sm_90");
    ASSERT_TRUE(loaded);
    launch::Case c;
    ASSERT_EQ(take(launch::make_case(loaded->in.launch, loaded->in.module, loaded->program), c),
              "");
    validate::EmulatorEngine here(isa::Arch::sm_90, false, 1);
    const auto there = emulator_in_child();
    ASSERT_NE(there, nullptr);
    const validate::Report a = run_lockstep(c, isa::Arch::sm_90, here, {});
    const validate::Report b = validate::run_lockstep(c, isa::Arch::sm_90, *there, {});
    EXPECT_EQ(b.problem, "");
    EXPECT_FALSE(b.first.has_value());
    EXPECT_GT(b.counts.values, 32u);
    EXPECT_EQ(text_report(a, here.device(), "k"), text_report(b, there->device(), "k"));
}

TEST(ChildEmulator, RefusalsAndTrapsArrive) {
    validate::EmulatorEngine here(isa::Arch::sm_90, false, 1);
    const auto there = emulator_in_child();
    ASSERT_NE(there, nullptr);
    for (const size_t bytes : {size_t{0}, size_t{1}, (size_t{5} << 20) + 3})
        expect_round_trip(*there, bytes);
    const std::string head = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n";
    for (const std::string& body : {std::string("{ ad.s32; }"), std::string("{ trap; }")}) {
        const std::string text = head + body;
        const gpu::Job job{
            .ptx = text, .entry = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .parameters = {}};
        const gpu::Ran a = here.run(job);
        const gpu::Ran b = there->run(job);
        EXPECT_NE(a.outcome, Outcome::done);
        EXPECT_EQ(a.outcome, b.outcome);
        EXPECT_EQ(a.what, b.what);
        EXPECT_EQ(a.fault, b.fault);
        EXPECT_NE(b.what, "");
    }
}

// A GPU, where there is one: transfers around the sizes at which their way changes.
TEST(ChildDriver, TransfersComeBackAsTheyWereWritten) {
    std::string why;
    const auto engine =
        gpu::open_in_child([](std::string& w) { return gpu::open_device(0, w); }, {}, why);
    if (engine == nullptr) GTEST_SKIP() << why;
    constexpr size_t mib = size_t{1} << 20;
    for (const size_t bytes : {size_t{0}, size_t{1}, mib, mib + 1, 8 * mib, 8 * mib + 3, 16 * mib,
                               16 * mib + 1, 24 * mib - 1, 100 * mib + 5})
        expect_round_trip(*engine, bytes);
}

}  // namespace

}  // namespace lockwarp::child
