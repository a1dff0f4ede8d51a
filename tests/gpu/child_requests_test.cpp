// SPDX-License-Identifier: Apache-2.0
// What passes between an engine in a process of its own and the one that asks it: every field of a
// request, the edges of what it holds, and its refusals to the letter.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gpu/child.hpp"
#include "gpu/child_process.hpp"
#include "tests/results.hpp"

namespace {

using namespace lockwarp;
using gpu::Outcome;
using std::chrono::milliseconds;

std::string text_of(const warp::Dim3& d) {
    return " " + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
}

// Each field of a job.
std::string text_of(const gpu::Job& job) {
    std::string out = std::string(job.ptx) + "|" + std::string(job.entry) + "|";
    out += text_of(job.grid) + text_of(job.block) + " " + std::to_string(job.dynamic_shared);
    for (const uint8_t byte : job.parameters) out += ":" + std::to_string(byte);
    out += " O" + std::to_string(job.optimization) + " stack " + std::to_string(job.stack_bytes);
    if (job.fresh) out += " fresh";
    if (job.cluster) out += " cluster" + text_of(*job.cluster);
    if (job.non_portable_cluster) out += " non-portable";
    if (job.cooperative) out += " cooperative";
    return out;
}

constexpr uint64_t first_address = 0x10000;

// Answers with what it was asked.
class Echo : public gpu::Engine {
  public:
    const gpu::Device& device() const override { return device_; }
    uint64_t allocate(uint64_t bytes) override {
        if (bytes == 666) _exit(6);
        const uint64_t address = next_;
        next_ += bytes;  // one behind the other, with nothing between
        return address;
    }
    bool allocate_at(uint64_t address, uint64_t bytes) override {
        return address == 0x5000 && bytes == 16;
    }
    void release(uint64_t address) override { released_ = address; }
    launch::Result<void> write(uint64_t address, std::span<const uint8_t> bytes) override {
        if (bytes[0] == 7) std::this_thread::sleep_for(milliseconds(250));
        if (bytes[0] == 9) return launch::failure("");
        if (bytes[0] == 8)
            return launch::failure("write " + std::to_string(address) + " " +
                                   std::to_string(bytes.size()));
        return {};
    }
    launch::Result<void> clear(uint64_t address, uint64_t bytes) override {
        return launch::failure("clear " + std::to_string(address) + " " + std::to_string(bytes) +
                               ", released " + std::to_string(released_));
    }
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(address + i);
        return {};
    }
    gpu::Ran compile(const gpu::Job& job) override {
        if (job.entry == "compile") return {Outcome::refused, "compile " + text_of(job)};
        if (job.entry == "faults when compiled")
            return {Outcome::faulted, "compile", gpu::Fault::illegal_instruction};
        if (job.entry == "compiles for ever") std::this_thread::sleep_for(std::chrono::hours(1));
        return {};
    }
    gpu::Ran run(const gpu::Job& job) override {
        if (job.entry == "runs a while") std::this_thread::sleep_for(milliseconds(250));
        if (job.entry == "runs for ever") std::this_thread::sleep_for(std::chrono::hours(1));
        if (job.entry == "no such outcome") return {static_cast<Outcome>(5), ""};
        if (job.entry == "no such fault") return {Outcome::done, "", static_cast<gpu::Fault>(6)};
        if (job.entry.starts_with("fault "))
            return {Outcome::refused, "", static_cast<gpu::Fault>(job.entry.back() - '0')};
        if (job.entry.starts_with("outcome "))
            return {static_cast<Outcome>(job.entry.back() - '0'), "what"};
        return {Outcome::refused, text_of(job)};
    }
    launch::Result<std::vector<uint8_t>> encode(const isa::TensorMap& map) override {
        if (map.address == 1) return launch::failure("not this map");
        if (map.address == 2) return std::vector<uint8_t>(127, 1);
        if (map.address == 3) return std::vector<uint8_t>(129, 1);
        if (map.address == 4) return std::vector<uint8_t>();
        std::vector<uint8_t> out(isa::tensor_map_bytes);
        for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(map.address + i);
        return out;
    }

  private:
    gpu::Device device_{.name = "echo", .driver = "1", .number = 7, .clock_mhz = 8, .memory = 9};
    uint64_t next_ = first_address;
    uint64_t released_ = 0;
};

std::unique_ptr<gpu::Engine> echo(const gpu::ChildOptions& options = {}) {
    std::string why;
    auto engine =
        gpu::open_in_child([](std::string&) { return std::make_unique<Echo>(); }, options, why);
    EXPECT_NE(engine, nullptr) << why;
    return engine;
}

gpu::Job job_of(std::string_view entry) {
    return {.ptx = "text",
            .entry = entry,
            .grid = {1, 2, 3},
            .block = {4, 5, 6},
            .parameters = {0, 255}};
}

TEST(ChildRequests, EachFieldOfAJobArrives) {
    const auto engine = echo();
    gpu::Job job = job_of("k");
    const std::string begin = "text|k| 1,2,3 4,5,6 0:0:255";
    EXPECT_EQ(engine->run(job).what, begin + " O4 stack 0");
    job.dynamic_shared = 77;
    job.optimization = 2;
    job.stack_bytes = 4096;
    EXPECT_EQ(engine->run(job).what, "text|k| 1,2,3 4,5,6 77:0:255 O2 stack 4096");
    job = job_of("k");
    job.fresh = true;
    EXPECT_EQ(engine->run(job).what, begin + " O4 stack 0 fresh");
    job = job_of("k");
    job.cluster = warp::Dim3{7, 8, 9};
    EXPECT_EQ(engine->run(job).what, begin + " O4 stack 0 cluster 7,8,9");
    job.non_portable_cluster = true;
    EXPECT_EQ(engine->run(job).what, begin + " O4 stack 0 cluster 7,8,9 non-portable");
    job = job_of("k");
    job.cooperative = true;
    EXPECT_EQ(engine->run(job).what, begin + " O4 stack 0 cooperative");
    // To the compiler as well; and where it refuses nothing runs.
    job = job_of("compile");
    job.cluster = warp::Dim3{1, 1, 2};
    job.optimization = 0;
    for (const gpu::Ran& ran : {engine->compile(job), engine->run(job)}) {
        EXPECT_EQ(ran.outcome, Outcome::refused);
        EXPECT_EQ(ran.what, "compile text|compile| 1,2,3 4,5,6 0:0:255 O0 stack 0 cluster 1,1,2");
    }
    EXPECT_EQ(engine->compile(job_of("k")).outcome, Outcome::done);
}

TEST(ChildRequests, EachOutcomeAndFaultComesBack) {
    const auto engine = echo();
    for (int i = 0; i <= 4; ++i) {
        const std::string entry = "outcome " + std::to_string(i);
        const gpu::Ran ran = engine->run(job_of(entry));
        EXPECT_EQ(static_cast<int>(ran.outcome), i);
        EXPECT_EQ(ran.what, "what");
    }
    for (int i = 0; i <= 5; ++i) {
        const std::string entry = "fault " + std::to_string(i);
        EXPECT_EQ(static_cast<int>(engine->run(job_of(entry)).fault), i);
    }
    const gpu::Ran compiled = engine->compile(job_of("faults when compiled"));
    EXPECT_EQ(compiled.outcome, Outcome::faulted);
    EXPECT_EQ(compiled.fault, gpu::Fault::illegal_instruction);
    // What there is none of: the process went wrong.
    for (const char* entry : {"no such outcome", "no such fault"}) {
        const gpu::Ran ran = engine->run(job_of(entry));
        EXPECT_EQ(ran.outcome, Outcome::faulted) << entry;
        EXPECT_EQ(ran.fault, gpu::Fault::launch_failed) << entry;
        EXPECT_TRUE(ran.what.starts_with("the process died: ")) << ran.what;
    }
}

// An outcome that loses the engine's memory loses it here; the others keep it.
TEST(ChildRequests, MemoryStaysUnlessTheEngineLostIt) {
    const auto engine = echo();
    for (const int outcome : {0, 1, 2, 3, 4}) {
        const uint64_t address = engine->allocate(16);
        const std::string entry = "outcome " + std::to_string(outcome);
        engine->run(job_of(entry));
        std::vector<uint8_t> bytes(16);
        const bool lost = outcome == 2 || outcome == 3;
        EXPECT_EQ(engine->read(address, bytes).has_value(), !lost) << outcome;
    }
}

TEST(ChildRequests, OnlyBytesOfOneAllocationAreTouched) {
    const auto engine = echo();
    const uint64_t a = engine->allocate(100);
    const uint64_t b = engine->allocate(20);
    ASSERT_EQ(a, first_address);
    ASSERT_EQ(b, a + 100);
    EXPECT_TRUE(engine->allocate_at(0x5000, 16));
    struct Row {
        uint64_t address, bytes;
        bool is_there;
    };
    for (const Row& row : std::initializer_list<Row>{
             {a, 100, true},      {a, 101, false},        {a, 120, false},       {a - 1, 1, false},
             {a - 1, 0, false},   {a + 1, 99, true},      {a + 1, 100, false},   {a + 99, 1, true},
             {a + 99, 2, false},  {b, 20, true},          {b, 0, true},          {b, 21, false},
             {b + 20, 0, true},   {b + 20, 1, false},     {b + 21, 0, false},    {0x5000, 16, true},
             {0x5000, 17, false}, {0x4fff, 1, false},     {0x5010, 0, true},     {0x5010, 1, false},
             {0, 1, false},       {a, UINT64_MAX, false}, {UINT64_MAX, 2, false}}) {
        std::array<char, 32> hex{};
        std::snprintf(hex.data(), hex.size(), "0x%llx",
                      static_cast<unsigned long long>(row.address));
        const std::string refused = std::to_string(row.bytes) + " bytes at " + hex.data() +
                                    " are not memory that the engine's process has";
        const std::string reached = "clear " + std::to_string(row.address) + " " +
                                    std::to_string(row.bytes) + ", released 0";
        EXPECT_EQ(sentence_of(engine->clear(row.address, row.bytes)),
                  row.is_there ? reached : refused);
        if (row.bytes > 200) continue;
        std::vector<uint8_t> bytes(row.bytes, 3);
        EXPECT_EQ(sentence_of(engine->write(row.address, bytes)), row.is_there ? "" : refused);
        EXPECT_EQ(sentence_of(engine->read(row.address, bytes)), row.is_there ? "" : refused);
        for (size_t i = 0; i < bytes.size(); ++i)
            ASSERT_EQ(bytes[i], row.is_there ? static_cast<uint8_t>(row.address + i) : 3);
    }
    EXPECT_FALSE(engine->allocate_at(0x5000, 17));
    EXPECT_FALSE(engine->allocate_at(0x6000, 16));
    // What is released is the engine's to know, and no longer here.
    engine->release(b);
    EXPECT_EQ(sentence_of(engine->clear(a, 1)),
              "clear 65536 1, released " + std::to_string(first_address + 100));
    EXPECT_NE(sentence_of(engine->clear(b, 1)), "");
}

TEST(ChildRequests, PiecesOfATransferAreAskedInTheirPlaces) {
    const auto engine = echo();
    const uint64_t bytes = 3 * gpu::piece_bytes + 5;
    const uint64_t address = engine->allocate(bytes);
    std::vector<uint8_t> read(bytes);
    ASSERT_EQ(sentence_of(engine->read(address, read)), "");
    for (size_t i = 0; i < bytes; i += 997) ASSERT_EQ(read[i], static_cast<uint8_t>(address + i));
    // The error of any piece is the transfer's, and the next request has its own answer.
    for (const uint64_t piece : {0u, 2u, 3u}) {
        std::vector<uint8_t> written(bytes);
        written[piece * gpu::piece_bytes] = 8;
        EXPECT_EQ(sentence_of(engine->write(address, written)),
                  "write " + std::to_string(address + piece * gpu::piece_bytes) + " " +
                      std::to_string(piece == 3 ? 5 : gpu::piece_bytes));
        EXPECT_EQ(sentence_of(engine->clear(address, 1)), "clear 65536 1, released 0");
    }
    std::vector<uint8_t> silent(1, 9);
    EXPECT_EQ(sentence_of(engine->write(address, silent)), "the engine's process does not say why");
}

TEST(ChildRequests, TensorMapsAreEncodedThere) {
    const auto engine = echo();
    isa::TensorMap map{};
    map.address = 200;
    std::vector<uint8_t> out;
    ASSERT_EQ(take(engine->encode(map), out), "");
    ASSERT_EQ(out.size(), 128u);
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<uint8_t>(200 + i));
    map.address = 1;
    EXPECT_EQ(take(engine->encode(map), out), "not this map");
    for (const uint64_t wrong : {2, 3}) {
        map.address = wrong;
        EXPECT_EQ(take(engine->encode(map), out),
                  "the engine's process gives a tensor map of another size");
    }
    map.address = 4;
    ASSERT_EQ(take(engine->encode(map), out), "");
    EXPECT_TRUE(out.empty());
}

TEST(ChildRequests, ATextThatIsTooLongIsRefused) {
    const auto engine = echo();
    gpu::Job job = job_of("k");
    // Never read: its length alone is looked at.
    job.ptx = std::string_view(job.ptx.data(), gpu::max_text);
    for (const gpu::Ran& ran : {engine->run(job), engine->compile(job)}) {
        EXPECT_EQ(ran.outcome, Outcome::refused);
        EXPECT_EQ(ran.what, std::to_string(gpu::max_text + 3) + " bytes are too many");
    }
    EXPECT_EQ(engine->run(job_of("k")).outcome, Outcome::refused);
}

// A wish to stop ends what runs or is compiled, soon and at no limit; other requests go on.
TEST(ChildRequests, AWishToStopEndsARun) {
    for (const char* entry : {"runs for ever", "compiles for ever"})
        for (const double limit : {0.0, 60.0}) {
            std::atomic<bool> stop = false;
            const auto engine =
                echo({.limit_seconds = limit, .compile_seconds = limit, .stop = &stop});
            std::thread later([&] {
                std::this_thread::sleep_for(milliseconds(30));
                stop = true;
            });
            const auto begin = std::chrono::steady_clock::now();
            const gpu::Ran ran = engine->run(job_of(entry));
            EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
            later.join();
            EXPECT_EQ(ran.what, "stopped") << entry;
            EXPECT_EQ(ran.outcome, entry[0] == 'r' ? Outcome::hung : Outcome::uncompiled);
            EXPECT_EQ(ran.fault, gpu::Fault::none);
            EXPECT_EQ(engine->allocate(1), first_address);
        }
}

// Where nobody wishes it, nothing ends before its limit.
TEST(ChildRequests, WithoutAWishToStopARunGoesOn) {
    const std::atomic<bool> stop = false;
    for (const double limit : {0.0, 60.0}) {
        const auto engine = echo({.limit_seconds = limit, .stop = &stop});
        EXPECT_TRUE(engine->run(job_of("runs a while")).what.starts_with("text|runs a while"));
    }
}

// However long it takes: half of a transfer is of no use.
TEST(ChildRequests, AWishToStopEndsNoTransfer) {
    const std::atomic<bool> stop = true;
    const auto engine = echo({.stop = &stop});
    const uint64_t address = engine->allocate(16);
    const std::vector<uint8_t> slow(16, 7);
    EXPECT_EQ(sentence_of(engine->write(address, slow)), "");
    EXPECT_EQ(sentence_of(engine->clear(address, 16)), "clear 65536 16, released 0");
}

TEST(ChildRequests, TheLimitIsSaidAsItWasGiven) {
    const auto engine = echo({.limit_seconds = 0.25, .compile_seconds = 0.125});
    gpu::Ran ran = engine->run(job_of("runs for ever"));
    EXPECT_EQ(ran.what, "no end after 0.25 s");
    EXPECT_EQ(ran.outcome, Outcome::hung);
    ran = engine->run(job_of("compiles for ever"));
    EXPECT_EQ(ran.what, "not compiled after 0.125 s");
    EXPECT_EQ(ran.outcome, Outcome::uncompiled);
}

int lowest_free_file() {
    const int file = dup(STDIN_FILENO);
    close(file);
    return file;
}

// It needs four files: whichever of them there is not, it says so and keeps none of the others.
TEST(ChildRequests, WhereTheirSharedBytesCannotGrow) {
    const gpu::Shared shared{memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                             uint64_t{1} << 20, nullptr};
    ASSERT_GE(shared.fd, 0);
    EXPECT_TRUE(gpu::grow(shared, 4096).has_value());
    EXPECT_EQ(gpu::size_of(shared), 4096u);
    ASSERT_EQ(fcntl(shared.fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    EXPECT_TRUE(gpu::grow(shared, 4096).has_value());
    const auto more = gpu::grow(shared, 8192);
    ASSERT_FALSE(more.has_value());
    EXPECT_EQ(more.error().sentence, "no 8192 bytes to share with the engine's process");
    const auto many = gpu::grow(shared, (uint64_t{1} << 20) + 1);
    ASSERT_FALSE(many.has_value());
    EXPECT_EQ(many.error().sentence, "1048577 bytes are too many");
    close(shared.fd);
}

TEST(ChildRequests, WhereThereAreNoMoreFiles) {
    const int free = lowest_free_file();
    ASSERT_GT(free, 0);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t spare = 0; spare < 4; ++spare) {
        const rlimit few{static_cast<rlim_t>(free) + spare, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        std::string why;
        const auto engine =
            gpu::open_in_child([](std::string&) { return std::make_unique<Echo>(); }, {}, why);
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        EXPECT_EQ(engine, nullptr);
        EXPECT_EQ(why, "no process for the engine: Too many open files");
        EXPECT_EQ(lowest_free_file(), free);
    }
    EXPECT_EQ(echo()->allocate(1), first_address);
}

// The files of an attempt that failed are closed at once: the next one must not lose sight of them.
TEST(ChildRequests, WhereThereAreNoMoreFilesForTheNextProcess) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int free = lowest_free_file();
    auto engine = echo();
    EXPECT_EQ(engine->run(job_of("outcome 2")).outcome, Outcome::faulted);
    EXPECT_EQ(lowest_free_file(), free);
    for (rlim_t spare = 0; spare < 4; ++spare) {
        const rlimit few{static_cast<rlim_t>(free) + spare, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        EXPECT_EQ(engine->allocate(1), 0u);
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        EXPECT_EQ(lowest_free_file(), free);
    }
    EXPECT_EQ(engine->allocate(1), first_address);
    engine.reset();
    EXPECT_EQ(lowest_free_file(), free);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// What a process that is forked may map; 0: as much as this one.
rlim_t most_of_forked = 0;

TEST(ChildRequests, WhereItsProcessCannotMapWhatTheyShare) {
    ASSERT_EQ(pthread_atfork(nullptr, nullptr,
                             [] {
                                 if (most_of_forked == 0) return;
                                 const rlimit few{most_of_forked, most_of_forked};
                                 if (setrlimit(RLIMIT_AS, &few) != 0) _exit(9);
                             }),
              0);
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ASSERT_GT(pages, 0u);
    most_of_forked = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + gpu::max_text / 2;
    std::string why;
    const auto engine =
        gpu::open_in_child([](std::string&) { return std::make_unique<Echo>(); }, {}, why);
    most_of_forked = 0;
    EXPECT_EQ(engine, nullptr);
    EXPECT_EQ(why, "the process died: exit status 126");
}
#endif

// How many more files a process that is forked may open; -1: as many as this one. What it shares
// with another lies where it would put its own.
int files_of_forked = -1;

// Three are kept, and /dev/null is opened.
TEST(ChildRequests, WhereItsProcessCannotKeepItsFiles) {
    ASSERT_EQ(pthread_atfork(nullptr, nullptr,
                             [] {
                                 if (files_of_forked < 0) return;
                                 for (const int fd : {4, 5})
                                     if (dup2(memfd_create("other", 0), fd) < 0) _exit(9);
                                 int last = 0;
                                 while (last >= 0 && last < 64) last = dup(STDIN_FILENO);
                                 const auto most = static_cast<rlim_t>(last + 1 + files_of_forked);
                                 const rlimit few{most, most};
                                 if (last < 0 || setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(9);
                             }),
              0);
    for (const int files : {0, 1, 2, 3}) {
        files_of_forked = files;
        std::string why;
        const auto engine =
            gpu::open_in_child([](std::string&) { return std::make_unique<Echo>(); }, {}, why);
        files_of_forked = -1;
        EXPECT_EQ(engine, nullptr);
        EXPECT_EQ(why, "the process died: exit status 126") << files;
    }
    files_of_forked = 4;
    std::string why;
    const auto engine =
        gpu::open_in_child([](std::string&) { return std::make_unique<Echo>(); }, {}, why);
    files_of_forked = -1;
    EXPECT_NE(engine, nullptr) << why;
}

// What it had is given back once: the memory and the files of another may stand there by then.
TEST(ChildRequests, WhatALostProcessHadIsNotGivenBackAgain) {
    auto engine = echo();
    EXPECT_EQ(engine->run(job_of("outcome 2")).outcome, Outcome::faulted);
    const auto other = echo();
    const uint64_t address = other->allocate(16);
    engine.reset();
    std::vector<uint8_t> bytes(16);
    EXPECT_EQ(sentence_of(other->write(address, bytes)), "");
    ASSERT_EQ(sentence_of(other->read(address, bytes)), "");
    EXPECT_EQ(bytes[15], static_cast<uint8_t>(address + 15));
    EXPECT_EQ(other->run(job_of("outcome 0")).what, "what");
}

// Of the memory that holds the text of a run.
uintmax_t bytes_for_text() {
    uintmax_t sum = 0;
    for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code none;
        if (read_symlink(file, none).string().find("lockwarp-text") != std::string::npos)
            sum += file_size(file, none);
    }
    return sum;
}

TEST(ChildRequests, MemoryForALongTextIsGivenBackWhenItHasRun) {
    const auto engine = echo();
    EXPECT_EQ(engine->allocate(666), 0u);
    const uint64_t address = engine->allocate(16);
    engine->run(job_of("k"));
    EXPECT_LT(bytes_for_text(), 4096u);
    const std::string text(size_t{3} << 20, 'x');
    gpu::Job job = job_of("k");
    job.ptx = text;
    EXPECT_EQ(engine->compile(job).outcome, Outcome::done);
    EXPECT_GE(bytes_for_text(), text.size());
    EXPECT_TRUE(engine->run(job).what.starts_with("xxx"));
    EXPECT_GT(bytes_for_text(), 0u);
    EXPECT_LE(bytes_for_text(), uintmax_t{1} << 20);
    // The process goes on, and what it holds.
    EXPECT_EQ(sentence_of(engine->clear(address, 16)), "clear 65536 16, released 0");
    EXPECT_EQ(engine->run(job).what.size(), engine->run(job_of("k")).what.size() + text.size() - 4);
}

// A process that went wrong says of its texts that they reach behind the memory for texts.
TEST(ChildRequests, TextsOutsideTheMemoryForThemAreNone) {
    constexpr uint64_t size = 4096;
    struct Row {
        std::array<uint64_t, 2> text;
        size_t name, driver;
    };
    for (const Row& row : std::initializer_list<Row>{{{8, 8}, 8, 8},
                                                     {{size - 8, 8}, size - 8, 8},
                                                     {{size - 8, 9}, size - 8, 0},
                                                     {{size - 8, size}, size - 8, 0},
                                                     {{size, 1}, size, 0},
                                                     {{size + 1, 1}, 0, 0},
                                                     {{8, UINT64_MAX}, 8, 0}}) {
        std::string why;
        const auto engine = gpu::open_in_child(
            [&](std::string&) -> std::unique_ptr<gpu::Engine> {
                // Of a child's files 3 is the socket and 5 the memory for texts.
                gpu::Reply reply;
                reply.text = row.text;
                if (ftruncate(5, size) != 0) _exit(9);
                send(3, &reply, sizeof reply, MSG_NOSIGNAL);
                recv(3, &reply, sizeof reply, 0);  // the parent closes its end
                _exit(0);
            },
            {}, why);
        ASSERT_NE(engine, nullptr) << why;
        EXPECT_EQ(engine->device().name.size(), row.name);
        EXPECT_EQ(engine->device().driver.size(), row.driver) << row.text[0] << ' ' << row.text[1];
    }
}

// A child that dies says how.
TEST(ChildRequests, HowAProcessDiedIsSaid) {
    std::string why;
    const auto open = [&](gpu::Opener opener) {
        EXPECT_EQ(gpu::open_in_child(std::move(opener), {}, why), nullptr);
        return why;
    };
    EXPECT_EQ(open([](std::string&) -> std::unique_ptr<gpu::Engine> { _exit(0); }),
              "the process died: exit status 0");
    EXPECT_EQ(open([](std::string&) -> std::unique_ptr<gpu::Engine> {
                  std::signal(SIGSEGV, SIG_DFL);
                  raise(SIGSEGV);
                  return nullptr;
              }),
              "the process died: Segmentation fault");
    EXPECT_EQ(open([](std::string&) -> std::unique_ptr<gpu::Engine> {
                  raise(SIGRTMIN + 2);
                  return nullptr;
              }),
              "the process died: signal " + std::to_string(SIGRTMIN + 2));
    EXPECT_EQ(open([](std::string&) { return std::unique_ptr<gpu::Engine>(); }),
              "the engine's process does not say why");
    // One that says nothing more and does not end is killed.
    EXPECT_EQ(open([](std::string&) -> std::unique_ptr<gpu::Engine> {
                  shutdown(3, SHUT_RDWR);
                  raise(SIGSTOP);
                  return nullptr;
              }),
              "the process died: Killed");
    // Where the system keeps no process that has ended, its status is lost.
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    EXPECT_EQ(open([](std::string&) -> std::unique_ptr<gpu::Engine> { _exit(0); }),
              "the process died: nobody knows why");
    std::signal(SIGCHLD, before);
}

}  // namespace
