// SPDX-License-Identifier: Apache-2.0
// Engines in processes of their own: the same answers, and nothing that happens there harms this
// process.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>
#include <vector>

#include "gpu/child.hpp"
#include "gpu/driver.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"

namespace {

using namespace lockwarp;
using gpu::Engine;
using gpu::Fault;
using gpu::Outcome;
using Clock = std::chrono::steady_clock;

constexpr double short_limit = 0.3;  // seconds
constexpr auto short_wait = std::chrono::milliseconds(300);

// Seen by the test and by the children it makes.
struct Counters {
    std::atomic<int> opened = 0;
    std::atomic<int> max_opened = 1 << 30;  // the opener fails from then on
    std::atomic<int> destroyed = 0;
    std::atomic<int> endless = 0;
    std::atomic<bool> slow_end = false;
};

// Mapped before any child is made.
Counters* const shared_counters =
    new (mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
        Counters;

Counters& counters() { return *shared_counters; }

std::string described(const gpu::Job& job) {
    std::string text(job.entry);
    for (const uint32_t n : {job.grid.x, job.grid.y, job.grid.z, job.block.x, job.block.y,
                             job.block.z, job.dynamic_shared})
        text += " " + std::to_string(n);
    for (const uint8_t byte : job.parameters) text += "," + std::to_string(byte);
    return text;
}

// Its kernels are names of entries.
class Fake : public Engine {
  public:
    ~Fake() override {
        if (counters().slow_end) std::this_thread::sleep_for(2 * short_wait);
        ++counters().destroyed;
    }
    const gpu::Device& device() const override { return device_; }

    uint64_t allocate(uint64_t bytes) override {
        if (bytes > uint64_t{1} << 32) return 0;
        const uint64_t address = next_;
        next_ += bytes + 4096;
        memory_[address].resize(bytes);
        return address;
    }

    bool allocate_at(uint64_t address, uint64_t bytes) override {
        return address < next_ && memory_.try_emplace(address, bytes).second;
    }

    void release(uint64_t address) override {
        if (memory_.erase(address) != 1) _exit(7);
    }

    launch::Result<void> write(uint64_t address, std::span<const uint8_t> bytes) override {
        if (bytes.size() == 13) return launch::failure("thirteen bytes");
        if (bytes.size() == 14) _exit(14);
        if (!bytes.empty()) std::memcpy(at(address), bytes.data(), bytes.size());
        return {};
    }

    launch::Result<void> clear(uint64_t address, uint64_t bytes) override {
        if (bytes == 13) return launch::failure("thirteen zeros");
        if (bytes != 0) std::memset(at(address), 0, bytes);
        return {};
    }

    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        if (bytes.size() == 13) return launch::failure("thirteen bytes read");
        if (!bytes.empty()) std::memcpy(bytes.data(), at(address), bytes.size());
        return {};
    }

    gpu::Ran compile(const gpu::Job& job) override {
        if (job.ptx == "long") std::this_thread::sleep_for(std::chrono::seconds(60));
        if (job.ptx == "a while") std::this_thread::sleep_for(2 * short_wait);
        if (job.ptx == "wrong") return {Outcome::refused, "wrong text"};
        if (job.ptx == "dies") _exit(5);
        return {};
    }

    gpu::Ran run(const gpu::Job& job) override {
        if (job.entry == "fault") return {Outcome::faulted, "as asked", Fault::misaligned_address};
        if (job.entry == "hang itself") return {Outcome::hung, "as asked"};
        if (job.entry == "exit") _exit(3);
        if (job.entry == "kill") raise(SIGKILL);
        if (job.entry == "echo") return {Outcome::refused, std::string(job.ptx)};
        if (job.entry == "describe") return {Outcome::refused, described(job)};
        if (job.entry == "print") return print();
        if (job.entry == "files") return {Outcome::refused, files()};
        if (job.entry == "endless") {
            counters().endless = getpid();
            while (true) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return {};
    }

  private:
    uint8_t* at(uint64_t address) {
        const auto found = std::prev(memory_.upper_bound(address));
        return found->second.data() + (address - found->first);
    }

    static gpu::Ran print() {
        std::puts("from the child");
        std::fflush(stdout);
        return {};
    }

    static std::string files() {
        std::string text;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
            text += entry.path().filename().string() + " ";
        return text;
    }

    // Its process's number is its clock, so that a test knows the process.
    gpu::Device device_{.name = "a fake",
                        .driver = "version 1",
                        .number = 90,
                        .clock_mhz = static_cast<uint32_t>(getpid()),
                        .memory = uint64_t{141} << 30};
    std::map<uint64_t, std::vector<uint8_t>> memory_;
    uint64_t next_ = uint64_t{1} << 40;
};

std::unique_ptr<Engine> open_fake(std::string& why) {
    if (++counters().opened <= counters().max_opened) return std::make_unique<Fake>();
    why = "no more fakes";
    return nullptr;
}

std::unique_ptr<Engine> fake(double limit_seconds = 60) {
    std::string why;
    auto engine = gpu::open_in_child(open_fake, {limit_seconds}, why);
    EXPECT_NE(engine, nullptr) << why;
    return engine;
}

gpu::Ran run(Engine& engine, std::string_view entry, std::string_view ptx = {}) {
    return engine.run({.ptx = ptx,
                       .entry = entry,
                       .grid = {1, 2, 3},
                       .block = {4, 5, 6},
                       .dynamic_shared = 7,
                       .parameters = {8, 9, 255}});
}

std::vector<uint8_t> pattern(size_t bytes) {
    std::vector<uint8_t> out(bytes);
    for (size_t i = 0; i < bytes; ++i)
        out[i] = static_cast<uint8_t>((i * 0x9e3779b97f4a7c15u) >> 56);
    return out;
}

void expect_round_trip(Engine& engine, size_t bytes) {
    const std::vector<uint8_t> in = pattern(bytes);
    std::vector<uint8_t> out(bytes, 0x55);
    const uint64_t address = engine.allocate(bytes);
    ASSERT_NE(address, 0u) << bytes;
    EXPECT_EQ(sentence_of(engine.write(address, in)), "") << bytes;
    EXPECT_EQ(sentence_of(engine.read(address, out)), "") << bytes;
    EXPECT_TRUE(in == out) << bytes;
    EXPECT_EQ(sentence_of(engine.clear(address, bytes)), "") << bytes;
    EXPECT_EQ(sentence_of(engine.read(address, out)), "") << bytes;
    EXPECT_TRUE(out == std::vector<uint8_t>(bytes)) << bytes;
    engine.release(address);
}

bool is_gone(pid_t pid) { return kill(pid, 0) == -1 && errno == ESRCH; }

size_t open_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(files), end(files)));
}

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

// This process stays the one that asks; and where it has no standard input its files have its
// number.
TEST(Child, TheOneThatAsksIsTheOneThatWasThere) {
    EXPECT_EXIT(
        {
            close(STDIN_FILENO);
            const auto engine = fake();
            expect_round_trip(*engine, 100);
            _exit(testing::Test::HasFailure() ? 4 : 3);
        },
        testing::ExitedWithCode(3), "");
}

TEST(Child, NothingIsLeftOfIt) {
    const size_t files = open_files();
    const int destroyed = counters().destroyed;
    for (int i = 0; i < 3; ++i) {
        auto engine = fake();
        expect_round_trip(*engine, 100);
        const auto pid = static_cast<pid_t>(engine->device().clock_mhz);
        engine.reset();
        EXPECT_TRUE(is_gone(pid));
        // Ended by itself: it was not killed.
        EXPECT_EQ(counters().destroyed, destroyed + i + 1);
    }
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_files(), files);
}

TEST(Child, HoldsOnlyItsOwnFiles) {
    const auto other = fake();
    const auto engine = fake();
    // The seventh is the listing's own.
    EXPECT_EQ(std::ranges::count(run(*engine, "files").what, ' '), 7);
}

TEST(Child, OneOutlivesAnother) {
    auto first = fake();
    auto second = fake();
    auto third = fake();
    const int destroyed = counters().destroyed;
    first.reset();
    EXPECT_EQ(counters().destroyed, destroyed + 1);
    expect_round_trip(*second, 100);
    EXPECT_EQ(run(*third, "kill").outcome, Outcome::faulted);
    expect_round_trip(*second, 100);
    expect_round_trip(*third, 100);
    second.reset();
    EXPECT_EQ(counters().destroyed, destroyed + 2);
    expect_round_trip(*third, 100);
}

TEST(Child, TwoThreadsUseTwoAtOnce) {
    const auto first = fake();
    const auto second = fake();
    const auto use = [](Engine& engine) {
        for (int i = 0; i < 20; ++i) {
            expect_round_trip(engine, 30000);
            EXPECT_EQ(run(engine, "anything").outcome, Outcome::done);
        }
    };
    std::thread one(use, std::ref(*first));
    std::thread two(use, std::ref(*second));
    one.join();
    two.join();
}

#ifndef __SANITIZE_ADDRESS__  // child.hpp says why
TEST(Child, TwoThreadsOpenAndLoseTheirs) {
    const auto use = [](std::string_view bad) {
        for (int i = 0; i < 4; ++i) {
            const auto engine = fake();
            for (int j = 0; j < 4; ++j) {
                expect_round_trip(*engine, 30000);
                EXPECT_EQ(run(*engine, bad).outcome, Outcome::faulted);
            }
        }
    };
    std::thread one(use, "fault");
    std::thread two(use, "kill");
    one.join();
    two.join();
}
#endif

TEST(Child, LivesLongerThanTheThreadThatOpenedIt) {
    std::unique_ptr<Engine> engine;
    std::thread([&] { engine = fake(); }).join();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const int opened = counters().opened;
    expect_round_trip(*engine, 100);
    EXPECT_EQ(counters().opened, opened);
}

TEST(Child, TakesNoNoticeOfInterrupts) {
    const auto engine = fake();
    const auto pid = static_cast<pid_t>(engine->device().clock_mhz);
    const uint64_t address = engine->allocate(5);
    kill(pid, SIGINT);
    kill(pid, SIGTERM);
    EXPECT_EQ(sentence_of(engine->clear(address, 5)), "");
}

// Signals that the engine waits for come to it, and no other thread of the process takes them.
TEST(Child, LeavesSignalsToItsEngine) {
    std::string why;
    const auto engine = gpu::open_in_child(
        [](std::string& said) -> std::unique_ptr<Engine> {
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, SIGUSR1);
            pthread_sigmask(SIG_BLOCK, &one, nullptr);
            std::this_thread::sleep_for(short_wait / 4);  // the others have begun
            kill(getpid(), SIGUSR1);
            const timespec patience{.tv_sec = 5, .tv_nsec = 0};
            said = "no signal";
            if (sigtimedwait(&one, nullptr, &patience) != SIGUSR1) return nullptr;
            return std::make_unique<Fake>();
        },
        {short_limit * 100}, why);
    EXPECT_NE(engine, nullptr) << why;
}

#ifndef __SANITIZE_ADDRESS__  // child.hpp says why
// Threads of this process that look for symbols have no end there: a driver that loads and unloads
// a library does not wait for them.
TEST(Child, LoadsLibrariesWhateverItsParentBound) {
    std::atomic<bool> enough = false;
    std::vector<std::jthread> threads(2);
    for (std::jthread& thread : threads)
        thread = std::jthread([&] {
            while (!enough) dlsym(RTLD_DEFAULT, "lockwarp_no_such_symbol");
        });
    for (int i = 0; i < 8; ++i) {
        std::string why;
        const auto engine = gpu::open_in_child(
            [](std::string& said) -> std::unique_ptr<Engine> {
                alarm(10);
                void* const library = dlopen(LOCKWARP_LOADED_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
                if (library == nullptr || dlclose(library) != 0) {
                    said = dlerror();
                    return nullptr;
                }
                alarm(0);
                return std::make_unique<Fake>();
            },
            {}, why);
        EXPECT_NE(engine, nullptr) << why;
    }
    enough = true;
}
#endif

TEST(Child, WritesNothingToStandardOutput) {
    testing::internal::CaptureStdout();
    std::printf("once");  // in the buffer that the child has a copy of
    auto engine = fake();
    run(*engine, "print");
    engine.reset();
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "once");
}

// A process opens a child and is killed, while the child is idle or busy; the child must go too.
void expect_end_with_parent(bool busy) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    counters().endless = 0;
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        const auto engine = fake(0);
        const auto pid = static_cast<pid_t>(engine->device().clock_mhz);
        if (write(ends[1], &pid, sizeof pid) != sizeof pid) _exit(1);
        if (busy) run(*engine, "endless");
        while (true) pause();
    }
    close(ends[1]);
    pid_t child = 0;
    ASSERT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    close(ends[0]);
    while (busy && counters().endless != child)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(kill(child, 0), 0);
    kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    const auto begin = Clock::now();
    while (waitpid(child, nullptr, WNOHANG) == 0 && Clock::now() - begin < std::chrono::seconds(20))
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
    EXPECT_TRUE(is_gone(child));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(Child, EndsWithItsParentWhenIdle) { expect_end_with_parent(false); }
TEST(Child, EndsWithItsParentWhenBusy) { expect_end_with_parent(true); }

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
