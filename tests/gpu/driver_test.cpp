// SPDX-License-Identifier: Apache-2.0
// What the engine asks of NVIDIA's driver, of which driver/noted.cpp keeps a list, and what it
// makes of the answers. Each test is a process of its own: the next one's driver may be another.
#include "gpu/driver.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/driver/noted.hpp"
#include "tests/results.hpp"

namespace {

using namespace lockwarp;
using gpu::Outcome;

// The driver with no function, with those of an old one, with all.
constexpr std::array<const char*, 3> libraries{LOCKWARP_NOTED_DRIVERS};
enum Functions : size_t { none, old, all };

struct Noted {
    explicit Noted(Functions functions = all) {
        // By this name the engine finds what is loaded.
        void* const library = dlopen(libraries[functions], RTLD_NOW | RTLD_LOCAL);
        EXPECT_NE(library, nullptr) << dlerror();
        using Get = noted::Driver* (*)();
        driver = reinterpret_cast<Get>(dlsym(library, "noted_driver"))();
    }
    void open(unsigned processes = 1) {
        engine = gpu::open_device(0, why, processes);
        EXPECT_NE(engine, nullptr) << why;
    }
    // What was asked since the last call of this.
    std::string notes() const { return std::exchange(driver->notes, ""); }
    void fail(const std::string& function, int error = 7, int successes = 0,
              int failures = 1 << 30) const {
        driver->failing = function;
        driver->error = error;
        driver->successes = successes;
        driver->failures = failures;
    }

    noted::Driver* driver = nullptr;
    std::string why;
    std::unique_ptr<gpu::Engine> engine;
};

// Exits with 0 where nothing in the test has failed; GoogleTest says nothing in such a process.
[[noreturn]] void run_and_exit(const std::function<void()>& test) {
    test();
    const testing::TestResult& result =
        *testing::UnitTest::GetInstance()->current_test_info()->result();
    for (int i = 0; i < result.total_part_count(); ++i)
        std::fprintf(stderr, "line %d: %s\n", result.GetTestPartResult(i).line_number(),
                     result.GetTestPartResult(i).message());
    _exit(testing::Test::HasFailure() ? 1 : 0);
}
void alone(const std::function<void()>& test) {
    EXPECT_EXIT(run_and_exit(test), testing::ExitedWithCode(0), "");
}

void in_a_process(const std::function<void(Noted&)>& test, Functions functions = all) {
    alone([&] {
        Noted driver(functions);
        driver.open();
        if (driver.engine != nullptr) test(driver);
    });
}

const std::string text =
    ".target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n";
const std::string ptx = ".version 8.0\n" + text;

gpu::Job job(const std::string& of) {
    return {
        .ptx = of, .entry = "k", .grid = {}, .block = {}, .parameters = std::vector<uint8_t>(8)};
}

TEST(Driver, SaysWhatTheDeviceIs) {
    alone([] {
        Noted d;
        d.driver->major = 8;
        d.driver->minor = 6;
        d.driver->version = 25020;
        d.open();
        EXPECT_EQ(d.notes(), "name in 127\n");
        EXPECT_EQ(d.engine->device().name, "Noted");
        EXPECT_EQ(d.engine->device().number, 86u);
        EXPECT_EQ(d.engine->device().clock_mhz, 1980u);
        EXPECT_EQ(d.engine->device().memory, 16000u);
        if (!std::filesystem::exists("/proc/driver/nvidia/version")) {
            EXPECT_EQ(d.engine->device().driver, "CUDA 25.2");
        }
    });
}

TEST(Driver, WhatTheDriverDoesNotSayIsNothing) {
    alone([] {
        Noted d;
        d.driver->knows = false;
        d.open();
        EXPECT_EQ(d.engine->device().number, 0u);
        EXPECT_EQ(d.engine->device().clock_mhz, 0u);
        EXPECT_EQ(d.engine->device().memory, 0u);
    });
}

TEST(Driver, TheModulesVersionIsAWordOfDigitsAndPoints) {
    EXPECT_EQ(gpu::module_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                  "580.159.04  Release Build  (root@h)  Mon Mar 10 00:00:00 2025\n"
                                  "GCC version:  gcc version 12.3.0 (Ubuntu)\n"),
              "580.159.04");
    EXPECT_EQ(gpu::module_version("version 1.23 of 2024 is 20240310 and 12.34"), "12.34");
    EXPECT_EQ(gpu::module_version("5.8.0"), "5.8.0");
    EXPECT_EQ(gpu::module_version("version 580.159a, 580:1.59"), "");
    EXPECT_EQ(gpu::module_version(""), "");
}

TEST(Driver, WithoutSomeOfItsFunctions) {
    alone([] {
        if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) return;
        std::string why;
        EXPECT_EQ(gpu::open_device(0, why), nullptr);
        EXPECT_EQ(why, "no NVIDIA driver is installed (libcuda.so.1)");
    });
    alone([] {
        Noted d(none);
        EXPECT_EQ(gpu::open_device(0, d.why), nullptr);
        EXPECT_EQ(d.why, "the NVIDIA driver is too old");
    });
    in_a_process(
        [](Noted& d) {
            gpu::Job cooperative = job(ptx);
            cooperative.cooperative = true;
            const gpu::Ran ran = d.engine->run(cooperative);
            EXPECT_EQ(ran.outcome, Outcome::refused);
            EXPECT_EQ(ran.what,
                      "the NVIDIA driver is too old for a cooperative launch or one with clusters");
            EXPECT_EQ(d.engine->run(job(ptx)).outcome, Outcome::done);
            const auto map = d.engine->encode({});
            ASSERT_FALSE(map.has_value());
            EXPECT_EQ(map.error().sentence, "the NVIDIA driver is too old for tensor maps");
            EXPECT_FALSE(d.engine->allocate_at(0x10000000, 1));
            std::vector<uint8_t> large(size_t{3} << 20, 5), out(large.size());
            const uint64_t at = d.engine->allocate(large.size());
            d.notes();
            EXPECT_EQ(sentence_of(d.engine->write(at, large)), "");
            EXPECT_EQ(sentence_of(d.engine->read(at, out)), "");
            EXPECT_EQ(d.notes(), "to device 3145728\nto host 3145728\n");
            EXPECT_TRUE(large == out);
        },
        old);
}

TEST(Driver, WhereItCannotBeOpened) {
    const std::string unusable = "GPU 0 cannot be used";
    for (const auto& [function, why] :
         {std::pair{"cuInit", std::string("the NVIDIA driver does not start: error 7")},
          {"cuDeviceGetCount", "there is no NVIDIA GPU"},
          {"cuDeviceGet", unusable},
          {"cuDevicePrimaryCtxRetain", unusable},
          {"cuCtxSetCurrent", unusable}})
        alone([&] {
            Noted d;
            d.fail(function);
            EXPECT_EQ(gpu::open_device(0, d.why), nullptr) << function;
            EXPECT_EQ(d.why, why);
        });
    alone([] {
        Noted d;
        d.fail("cuInit");
        d.driver->explains = false;
        EXPECT_EQ(gpu::open_device(0, d.why), nullptr);
        EXPECT_EQ(d.why, "the NVIDIA driver does not start: unknown error");
    });
    alone([] {
        Noted d;
        EXPECT_EQ(gpu::open_device(1, d.why), nullptr);
        EXPECT_EQ(d.why, "GPU 1: there are 1");
    });
}

// 12.8 reads PTX 8.7.
TEST(Driver, IsGivenNoTextThatIsTooNew) {
    in_a_process([](Noted& d) {
        for (const char* const version : {".version 9.0\n", ".version 8.7\n", ".version 8.0\n"}) {
            d.notes();
            EXPECT_EQ(d.engine->compile(job(version + text)).outcome, Outcome::done);
            const std::string notes = d.notes();
            EXPECT_NE(notes.find(version[9] == '9' ? ": .version 8.7\n" : version),
                      std::string::npos)
                << notes;
        }
    });
}

// It is told where to put its words, how many there may be, and how much to optimize.
TEST(Driver, SaysWhyItDoesNotCompile) {
    in_a_process([](Noted& d) {
        d.fail("cuModuleLoadDataEx");
        d.notes();
        gpu::Job j = job(ptx);
        j.optimization = 2;
        gpu::Ran ran = d.engine->compile(j);
        EXPECT_EQ(ran.outcome, Outcome::refused);
        EXPECT_EQ(ran.what, "error 7\nline 1; unknown");
        EXPECT_EQ(d.notes(), "option 5\noption 6: 8191\noption 7: 2\n");
        j.ptx = ".version 9.0\n";
        ran = d.engine->run(j);
        EXPECT_EQ(ran.outcome, Outcome::refused);
        EXPECT_EQ(ran.what,
                  "error 7\nline 1; unknown\nits .version is newer than this driver's 8.7, and was "
                  "lowered to that");
        j = job(ptx);
        d.fail("");
        EXPECT_EQ(d.engine->run(j).outcome, Outcome::done);
        d.fail("cuModuleLoadDataEx");
        j.fresh = true;
        EXPECT_EQ(d.engine->run(j).outcome, Outcome::refused);
    });
}

TEST(Driver, LoadsAFreshModuleForEachLaunch) {
    in_a_process([](Noted& d) {
        const std::string load = ": .version 8.0\n", other = ptx + "// another",
                          third = ptx + "// a third";
        gpu::Job kept = job(ptx), fresh = job(ptx);
        fresh.fresh = true;
        d.notes();
        EXPECT_EQ(d.engine->run(fresh).outcome, Outcome::done);
        EXPECT_EQ(d.notes(), "load 1" + load + "unload 1\nload 2" + load + "launch of 2\n");
        kept.ptx = fresh.ptx = other;
        d.engine->run(kept);
        EXPECT_EQ(d.notes(), "load 3" + load + "launch of 3\n");
        d.engine->run(kept);
        EXPECT_EQ(d.notes(), "launch of 3\n");
        d.engine->run(fresh);
        EXPECT_EQ(d.notes(), "unload 3\nload 4" + load + "launch of 4\n");
        d.engine->compile(fresh);
        EXPECT_EQ(d.notes(), "unload 4\nload 5" + load);
        // What was compiled for it is fresh once.
        d.engine->run(fresh);
        EXPECT_EQ(d.notes(), "launch of 5\n");
        d.engine->run(fresh);
        EXPECT_EQ(d.notes(), "unload 5\nload 6" + load + "launch of 6\n");
        d.engine->compile(kept);
        d.engine->run(kept);
        EXPECT_EQ(d.notes(), "launch of 6\n");
        // What was refused is not what was compiled.
        d.fail("cuModuleLoadDataEx");
        EXPECT_EQ(d.engine->compile(fresh).outcome, Outcome::refused);
        d.fail("");
        d.notes();
        d.engine->run(fresh);
        EXPECT_EQ(d.notes(), "load 7" + load + "unload 7\nload 8" + load + "launch of 8\n");
        fresh.ptx = third;
        d.engine->compile(fresh);
        EXPECT_EQ(d.notes(), "load 9" + load);
    });
}

size_t count_of(const std::string& what, const std::string& all) {
    size_t count = 0;
    for (size_t at = 0; (at = all.find(what, at)) != std::string::npos; ++at) ++count;
    return count;
}

// Of 64 texts; with the next all are unloaded.
TEST(Driver, KeepsSoManyModules) {
    in_a_process([](Noted& d) {
        const auto run = [&](int number, size_t loads, size_t unloads) {
            d.notes();
            d.engine->run(job(ptx + "//" + std::to_string(number)));
            const std::string notes = d.notes();
            EXPECT_EQ(count_of("\nload", "\n" + notes), loads) << number << '\n' << notes;
            EXPECT_EQ(count_of("unload", notes), unloads) << number << '\n' << notes;
        };
        for (int i = 0; i < 64; ++i) run(i, 1, 0);
        for (int i = 0; i < 64; ++i) run(i, 0, 0);
        run(64, 1, 64);
        for (int i = 0; i < 63; ++i) run(i, 1, 0);
        run(64, 0, 0);
        d.notes();
        d.engine.reset();
        const std::string notes = d.notes();
        EXPECT_EQ(count_of("unload", notes), 64u);
        EXPECT_TRUE(notes.ends_with("context released\n")) << notes;
    });
}

TEST(Driver, LaunchesWithAttributes) {
    in_a_process([](Noted& d) {
        d.engine->run(job(ptx));
        d.notes();
        gpu::Job cooperative = job(ptx), clusters = job(ptx);
        cooperative.cooperative = true;
        clusters.cluster = warp::Dim3{2, 3, 4};
        for (const auto& [j, attributes] :
             {std::pair{cooperative, "2: 1 0 0"}, {clusters, "4: 2 3 4"}}) {
            EXPECT_EQ(d.engine->run(j).outcome, Outcome::done);
            EXPECT_EQ(d.notes(),
                      std::string("attribute ") + attributes + "\nlaunch with attributes of 1\n");
        }
        clusters.non_portable_cluster = true;
        clusters.cooperative = true;
        clusters.dynamic_shared = 64;
        d.engine->run(clusters);
        EXPECT_EQ(d.notes(),
                  "attribute 8: 64\nattribute 14: 1\nattribute 2: 1 0 0\nattribute 4: 2 3 4\n"
                  "launch with attributes of 1\n");
    });
}

// Each where it is aligned in the launch's bytes, of the entry that was asked for.
TEST(Driver, ParametersAreWhereTheirTypesPlaceThem) {
    in_a_process([](Noted& d) {
        const std::string own =
            ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 v;\n"
            ".func f(.param .u8 x) { ret; }\n"
            ".visible .entry other(.param .u64 x, .param .u64 y) { ret; }\n"
            ".visible .entry k(.param .u8 a, .param .u8 b, .param .u64 c, .param .u16 d,\n"
            ".param .align 16 .b8 e[3], .param .u32 f) { ret; }\n";
        gpu::Job j = job(own);
        // Those that are not given are zeros.
        j.parameters.resize(33);
        for (size_t i = 0; i < 33; ++i) j.parameters[i] = static_cast<uint8_t>(i + 1);
        d.driver->parameters = 6;
        for (int time = 0; time < 2; ++time) {
            d.notes();
            EXPECT_EQ(d.engine->run(j).outcome, Outcome::done);
            const std::string notes = d.notes();
            EXPECT_TRUE(
                notes.ends_with("parameter 1\nparameter 2\nparameter 9\nparameter 17\n"
                                "parameter 33\nparameter 0\nlaunch of 1\n"))
                << notes;
        }
        j.entry = "other";
        d.driver->parameters = 2;
        EXPECT_EQ(d.engine->run(j).outcome, Outcome::done);
        EXPECT_EQ(d.notes(), "parameter 1\nparameter 9\nlaunch of 1\n");
    });
}

TEST(Driver, WhatFailsInALaunchIsSaid) {
    in_a_process([](Noted& d) {
        gpu::Job plain = job(ptx), clusters = job(ptx);
        plain.dynamic_shared = 64;
        clusters.cluster = warp::Dim3{2, 1, 1};
        clusters.non_portable_cluster = true;
        struct Row {
            const char* function;
            const gpu::Job& job;
            const char* what;
        };
        for (const Row& row : std::initializer_list<Row>{
                 {"cuModuleGetFunction", plain, "error 7"},
                 {"cuFuncSetAttribute 8", plain, "dynamic shared memory: error 7"},
                 {"cuFuncSetAttribute 14", clusters, "clusters that are not portable: error 7"},
                 {"cuLaunchKernel", plain, "error 7"},
                 {"cuLaunchKernelEx", clusters, "error 7"}}) {
            d.fail(row.function);
            const gpu::Ran ran = d.engine->run(row.job);
            EXPECT_EQ(ran.outcome, Outcome::refused) << row.function;
            EXPECT_EQ(ran.what, row.what) << row.function;
            EXPECT_EQ(ran.fault, gpu::Fault::none);
        }
        for (const auto& [error, fault] : {std::pair{700, gpu::Fault::illegal_address},
                                           {715, gpu::Fault::illegal_instruction},
                                           {716, gpu::Fault::misaligned_address},
                                           {717, gpu::Fault::address_space},
                                           {719, gpu::Fault::launch_failed},
                                           {1, gpu::Fault::launch_failed}}) {
            d.fail("cuCtxSynchronize", error);
            const gpu::Ran ran = d.engine->run(plain);
            EXPECT_EQ(ran.outcome, Outcome::faulted);
            EXPECT_EQ(ran.what, "error " + std::to_string(error));
            EXPECT_EQ(ran.fault, fault) << error;
        }
        d.driver->explains = false;
        EXPECT_EQ(d.engine->run(plain).what, "driver error 1");
    });
}

// No more than the machine has memory for, and 2048 bytes at least: a context has 1024 by itself.
// Half of the memory is for the stacks of all processes and all threads.
TEST(Driver, AsksForAStack) {
    struct Row {
        int sms, threads;
        size_t memory;
        unsigned processes;
        uint64_t most;
    };
    for (const Row& row : std::initializer_list<Row>{{2, 4, 16000, 1, 2048},
                                                     {2, 4, 48000, 1, 3000},
                                                     {2, 4, 80000, 2, 2500},
                                                     {2, 4, 48000, 0, 3000},
                                                     {1, 1, 10001, 1, 5000},
                                                     {0, 5, 50000, 1, 5000},
                                                     {5, 0, 50000, 1, 5000},
                                                     {2, 4, size_t{1} << 40, 1, 1 << 16}})
        alone([&] {
            Noted d;
            d.driver->sms = row.sms;
            d.driver->sm_threads = row.threads;
            d.driver->memory = row.memory;
            d.open(row.processes);
            d.engine->run(job(ptx));
            const auto expect = [&](uint32_t wish, const std::string& said) {
                d.notes();
                gpu::Job j = job(ptx);
                j.stack_bytes = wish;
                d.engine->run(j);
                EXPECT_EQ(d.notes(), said + "launch of 1\n") << wish << ' ' << row.memory;
            };
            expect(1024, "");
            expect(1025, "limit 0: 2048\n");
            expect(1025, "");
            expect(2047, "limit 0: 2048\n");
            expect(1 << 16, "limit 0: " + std::to_string(row.most) + "\n");
            expect(1 << 16, "");
            expect(4096, "");
        });
}

// What the driver does not give it is asked for half of, down to 2048 bytes.
TEST(Driver, AsksForASmallerStack) {
    for (const auto& [largest, said] :
         {std::pair{7000, "limit 0: 20000\nlimit 0: 10000\nlimit 0: 5000\n"},
          {4000, "limit 0: 20000\nlimit 0: 10000\nlimit 0: 5000\nlimit 0: 2500\n"},
          {2100, "limit 0: 20000\nlimit 0: 10000\nlimit 0: 5000\nlimit 0: 2500\nlimit 0: 2048\n"},
          {0, "limit 0: 20000\nlimit 0: 10000\nlimit 0: 5000\nlimit 0: 2500\nlimit 0: 2048\n"}})
        alone([&] {
            Noted d;
            d.driver->memory = size_t{1} << 40;
            d.driver->largest_stack = static_cast<size_t>(largest);
            d.open();
            d.engine->run(job(ptx));
            d.notes();
            gpu::Job j = job(ptx);
            j.stack_bytes = 20000;
            EXPECT_EQ(d.engine->run(j).outcome, Outcome::done);
            EXPECT_EQ(d.notes(), std::string(said) + "launch of 1\n");
        });
}

TEST(Driver, Memory) {
    in_a_process([](Noted& d) {
        d.notes();
        // There is memory of no bytes as well.
        const uint64_t empty = d.engine->allocate(0), at = d.engine->allocate(16);
        EXPECT_NE(empty, 0u);
        EXPECT_EQ(d.notes(), "memory 1\nmemory 16\n");
        std::vector<uint8_t> bytes(16, 3), nothing;
        EXPECT_EQ(sentence_of(d.engine->write(empty, nothing)), "");
        EXPECT_EQ(sentence_of(d.engine->read(empty, nothing)), "");
        EXPECT_EQ(sentence_of(d.engine->clear(empty, 0)), "");
        EXPECT_EQ(d.notes(), "");
        EXPECT_EQ(sentence_of(d.engine->write(at, bytes)), "");
        EXPECT_EQ(sentence_of(d.engine->clear(at + 1, 14)), "");
        EXPECT_EQ(sentence_of(d.engine->read(at, bytes)), "");
        EXPECT_EQ(bytes, (std::vector<uint8_t>{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}));
        EXPECT_EQ(d.notes(), "to device 16\nfill 14\nto host 16\n");
        for (const char* const function :
             {"cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuMemsetD8_v2", "cuMemcpyDtoH_v2"}) {
            d.fail(function);
            const auto expect = [&](const launch::Result<void>& result, const std::string& own) {
                EXPECT_EQ(sentence_of(result), function == own ? "error 7" : "");
            };
            expect(d.engine->write(at, bytes), "cuMemcpyHtoD_v2");
            expect(d.engine->clear(at, 16), "cuMemsetD8_v2");
            expect(d.engine->read(at, bytes), "cuMemcpyDtoH_v2");
        }
        d.fail("cuMemAlloc_v2");
        EXPECT_EQ(d.engine->allocate(16), 0u);
        d.notes();
        d.engine->release(at);
        EXPECT_EQ(d.notes(), "free\n");
    });
}

TEST(Driver, MemoryAtAnAddress) {
    in_a_process([](Noted& d) {
        d.notes();
        EXPECT_TRUE(d.engine->allocate_at(0x10000000, 16));
        EXPECT_EQ(d.notes(), "reserve\ncreate\nmap\naccess\n");
        EXPECT_FALSE(d.engine->allocate_at(0x10000000, 16));
        d.engine->release(0x10000000);
        EXPECT_EQ(d.notes(), "unmap\nrelease\n");
        d.engine.reset();
        EXPECT_EQ(d.notes(), "unreserve\ncontext released\n");
    });
}

TEST(Driver, EncodesTensorMaps) {
    in_a_process([](Noted& d) {
        isa::TensorMap map;
        for (const auto& [im2col, byte, function] :
             {std::tuple{false, 't', "cuTensorMapEncodeTiled"},
              {true, 'i', "cuTensorMapEncodeIm2col"}}) {
            map.im2col = im2col;
            d.fail("");
            const auto good = d.engine->encode(map);
            ASSERT_TRUE(good.has_value());
            EXPECT_EQ(*good, std::vector<uint8_t>(128, static_cast<uint8_t>(byte)));
            d.fail(function);
            const auto bad = d.engine->encode(map);
            ASSERT_FALSE(bad.has_value());
            EXPECT_EQ(bad.error().sentence, "error 7");
        }
    });
}

constexpr size_t mib = size_t{1} << 20;

std::vector<uint8_t> pattern(size_t bytes) {
    std::vector<uint8_t> out(bytes);
    for (size_t i = 0; i < bytes; ++i)
        out[i] = static_cast<uint8_t>((i * 0x9e3779b97f4a7c15u) >> 56);
    return out;
}

std::string parts(const std::string& way, size_t bytes) {
    std::string out;
    for (; bytes > 8 * mib; bytes -= 8 * mib) out += "to " + way + " 8388608 later\n";
    return out + "to " + way + " " + std::to_string(bytes) + " later\n";
}

// What is larger than 1 MB goes through two buffers, which are made once.
TEST(Driver, LargeTransfersGoThroughTwoBuffers) {
    in_a_process([](Noted& d) {
        std::string made;
        for (int i = 0; i < 2; ++i) made += "host memory 8388608, flags 0\nstream, flags 0\n";
        for (const size_t bytes : {mib, mib + 1, 8 * mib, 16 * mib, 37 * mib, mib + 1}) {
            const std::vector<uint8_t> in = pattern(bytes);
            std::vector<uint8_t> out(bytes);
            const uint64_t at = d.engine->allocate(bytes);
            d.notes();
            EXPECT_TRUE(d.engine->write(at, in).has_value());
            EXPECT_TRUE(d.engine->read(at, out).has_value());
            EXPECT_TRUE(in == out) << bytes;
            EXPECT_EQ(d.notes(), bytes == mib ? "to device 1048576\nto host 1048576\n"
                                              : std::exchange(made, "") + parts("device", bytes) +
                                                    parts("host", bytes));
            d.engine->release(at);
            d.notes();
        }
        d.engine.reset();
        const std::string freed = "stream destroyed\nhost memory freed\n";
        EXPECT_EQ(d.notes(), freed + freed + "context released\n");
    });
}

// Where a buffer cannot be made there is none, and nobody tries again.
TEST(Driver, LargeTransfersGoWithoutBuffers) {
    const std::string memory = "host memory 8388608, flags 0\n", stream = "stream, flags 0\n";
    const std::string freed = "host memory freed\n", destroyed = "stream destroyed\n";
    struct Row {
        const char* function;
        int successes;
        std::string made, left;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"cuMemHostAlloc", 0, memory, ""},
             {"cuStreamCreate", 0, memory + stream, freed},
             {"cuMemHostAlloc", 1, memory + stream + memory, destroyed + freed},
             {"cuStreamCreate", 1, memory + stream + memory + stream, destroyed + freed + freed}})
        in_a_process([&](Noted& d) {
            const std::vector<uint8_t> in = pattern(9 * mib);
            std::vector<uint8_t> out(in.size());
            const uint64_t at = d.engine->allocate(in.size());
            d.fail(row.function, 7, row.successes);
            d.notes();
            EXPECT_EQ(sentence_of(d.engine->write(at, in)), "");
            EXPECT_EQ(d.notes(), row.made + "to device 9437184\n");
            EXPECT_EQ(sentence_of(d.engine->read(at, out)), "");
            EXPECT_EQ(d.notes(), "to host 9437184\n");
            EXPECT_TRUE(in == out);
            d.engine.reset();
            EXPECT_EQ(d.notes(), row.left + "context released\n");
        });
}

// The first error of all, and no further part behind it.
TEST(Driver, WhatFailsInALargeTransferIsSaid) {
    in_a_process([](Noted& d) {
        constexpr int parts = 4;
        std::vector<uint8_t> bytes(parts * 8 * mib);
        const uint64_t at = d.engine->allocate(bytes.size());
        EXPECT_EQ(sentence_of(d.engine->write(at, bytes)), "");
        const auto expect = [&](const char* function, int successes, bool fails, int written,
                                int read) {
            SCOPED_TRACE(function + std::string(" ") + std::to_string(successes));
            d.notes();
            d.fail(function, 7, successes, 1);
            EXPECT_EQ(sentence_of(d.engine->write(at, bytes)),
                      fails && written >= 0 ? "error 7" : "");
            EXPECT_EQ(count_of("to device", d.notes()), written < 0 ? parts : written);
            d.fail(function, 7, successes, 1);
            EXPECT_EQ(sentence_of(d.engine->read(at, bytes)), fails && read >= 0 ? "error 7" : "");
            EXPECT_EQ(count_of("to host", d.notes()), read < 0 ? parts : read);
        };
        // Each part waits, and at the end both buffers; when the first is read the next is asked
        // for.
        for (int good = 0; good < parts; ++good) {
            expect("cuMemcpyHtoDAsync_v2", good, true, good, -1);
            expect("cuMemcpyDtoHAsync_v2", good, true, -1, good);
            expect("cuStreamSynchronize", good, true, good, std::min(good + 2, parts));
        }
        for (int good = parts; good < parts + 2; ++good)
            expect("cuStreamSynchronize", good, true, parts, parts);
        expect("cuStreamSynchronize", parts + 2, false, parts, parts);
    });
}

// Another's context may be the current one whenever it is asked.
TEST(Driver, EachCallMakesItsContextTheCurrentOne) {
    in_a_process([](Noted& d) {
        const auto lost = [&]() -> gpu::Engine& {
            d.driver->current = nullptr;
            return *d.engine;
        };
        constexpr uint64_t fixed = 0x10000000;
        std::vector<uint8_t> bytes(2 * mib);
        const uint64_t at = lost().allocate(bytes.size());
        EXPECT_NE(at, 0u);
        EXPECT_TRUE(lost().allocate_at(fixed, 16));
        EXPECT_EQ(sentence_of(lost().write(at, bytes)), "");
        EXPECT_EQ(sentence_of(lost().clear(at, bytes.size())), "");
        EXPECT_EQ(sentence_of(lost().read(at, bytes)), "");
        EXPECT_TRUE(lost().encode({}).has_value());
        EXPECT_EQ(lost().compile(job(ptx)).outcome, Outcome::done);
        EXPECT_EQ(lost().run(job(ptx)).outcome, Outcome::done);
        lost().release(at);
        lost().release(fixed);
        d.driver->current = nullptr;
        d.engine.reset();
        EXPECT_EQ(count_of("without", d.notes()), 0u);
    });
}

}  // namespace
