// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/child_support.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "tests/results.hpp"

namespace lockwarp::child {

namespace {

// Mapped before any child is made.
Counters* const shared_counters =
    new (mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
        Counters;

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

}  // namespace

Counters& counters() { return *shared_counters; }

std::unique_ptr<Engine> open_fake(std::string& why) {
    if (++counters().opened <= counters().max_opened) return std::make_unique<Fake>();
    why = "no more fakes";
    return nullptr;
}

std::unique_ptr<Engine> fake(double limit_seconds) {
    std::string why;
    auto engine = gpu::open_in_child(open_fake, {limit_seconds}, why);
    EXPECT_NE(engine, nullptr) << why;
    return engine;
}

gpu::Ran run(Engine& engine, std::string_view entry, std::string_view ptx) {
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

}  // namespace lockwarp::child
