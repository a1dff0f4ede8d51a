// SPDX-License-Identifier: Apache-2.0
// What the engine asks of NVIDIA's driver, of which driver/noted.cpp keeps a list. Each test is a
// process of its own: the next one's driver may be another.
#include "gpu/driver.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace lockwarp;

struct Noted {
    Noted() {
        // By this name the engine finds what is loaded.
        void* const library = dlopen(LOCKWARP_NOTED_DRIVER, RTLD_NOW | RTLD_LOCAL);
        EXPECT_NE(library, nullptr) << dlerror();
        notes = reinterpret_cast<const char* (*)()>(dlsym(library, "noted"));
        std::string why;
        engine = gpu::open_device(0, why);
        EXPECT_NE(engine, nullptr) << why;
    }
    const char* (*notes)() = nullptr;
    std::unique_ptr<gpu::Engine> engine;
};

// Exits with 0 where nothing in the test has failed.
void in_a_process(const std::function<void(Noted&)>& test) {
    EXPECT_EXIT(
        {
            Noted driver;
            if (driver.engine != nullptr) test(driver);
            _exit(testing::Test::HasFailure() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

const std::string text =
    ".target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n";
const std::string ptx = ".version 8.0\n" + text;

gpu::Job job(const std::string& of) {
    return {
        .ptx = of, .entry = "k", .grid = {}, .block = {}, .parameters = std::vector<uint8_t>(8)};
}

TEST(Driver, SaysWhatTheDeviceIs) {
    in_a_process([](Noted& d) {
        EXPECT_STREQ(d.notes(), "name in 127\n");
        EXPECT_EQ(d.engine->device().name, "Noted");
        EXPECT_EQ(d.engine->device().number, 90u);
        EXPECT_EQ(d.engine->device().clock_mhz, 1980u);
        EXPECT_EQ(d.engine->device().memory, 16000u);
        if (!std::filesystem::exists("/proc/driver/nvidia/version")) {
            EXPECT_EQ(d.engine->device().driver, "CUDA 12.8");
        }
    });
}

// 12.8 reads PTX 8.7.
TEST(Driver, IsGivenNoTextThatIsTooNew) {
    in_a_process([](Noted& d) {
        for (const char* const version : {".version 9.0\n", ".version 8.7\n", ".version 8.0\n"}) {
            d.notes();
            EXPECT_EQ(d.engine->compile(job(version + text)).outcome, gpu::Outcome::done);
            const std::string notes = d.notes();
            EXPECT_NE(notes.find(version[9] == '9' ? ": .version 8.7\n" : version),
                      std::string::npos)
                << notes;
        }
    });
}

TEST(Driver, LoadsAFreshModuleForEachLaunch) {
    in_a_process([](Noted& d) {
        const std::string load = ": .version 8.0\n";
        gpu::Job kept = job(ptx), fresh = job(ptx);
        fresh.fresh = true;
        d.notes();
        d.engine->run(kept);
        EXPECT_EQ(d.notes(), "load 1" + load + "launch of 1\n");
        d.engine->run(kept);
        EXPECT_STREQ(d.notes(), "launch of 1\n");
        d.engine->run(fresh);
        EXPECT_EQ(d.notes(), "unload 1\nload 2" + load + "launch of 2\n");
        d.engine->compile(fresh);
        EXPECT_EQ(d.notes(), "unload 2\nload 3" + load);
        // What was compiled for it is fresh once.
        d.engine->run(fresh);
        EXPECT_STREQ(d.notes(), "launch of 3\n");
        d.engine->run(fresh);
        EXPECT_EQ(d.notes(), "unload 3\nload 4" + load + "launch of 4\n");
        d.engine->compile(kept);
        d.engine->run(kept);
        EXPECT_STREQ(d.notes(), "launch of 4\n");
    });
}

TEST(Driver, LaunchesWithAttributes) {
    in_a_process([](Noted& d) {
        d.engine->run(job(ptx));
        d.notes();
        gpu::Job cooperative = job(ptx), clusters = job(ptx);
        cooperative.cooperative = true;
        clusters.cluster = warp::Dim3{2, 1, 1};
        for (const gpu::Job& j : {cooperative, clusters}) {
            EXPECT_EQ(d.engine->run(j).outcome, gpu::Outcome::done);
            EXPECT_STREQ(d.notes(), "launch with attributes of 1\n");
        }
        clusters.non_portable_cluster = true;
        clusters.dynamic_shared = 64;
        d.engine->run(clusters);
        EXPECT_STREQ(d.notes(), "attribute 8: 64\nattribute 14: 1\nlaunch with attributes of 1\n");
    });
}

// The stack is made no smaller than 2048 bytes, though there is memory for 1000, and never twice.
TEST(Driver, AsksForAStack) {
    in_a_process([](Noted& d) {
        d.engine->run(job(ptx));
        for (const auto& [bytes, said] : {std::pair{1024u, ""},
                                          {2048u, "limit 0: 2048\n"},
                                          {2048u, ""},
                                          {16384u, "limit 0: 2048\n"},
                                          {16384u, ""}}) {
            d.notes();
            gpu::Job j = job(ptx);
            j.stack_bytes = bytes;
            d.engine->run(j);
            EXPECT_EQ(d.notes(), said + std::string("launch of 1\n")) << bytes;
        }
    });
}

// What is larger than 1 MB goes through two buffers, which are made once.
TEST(Driver, LargeTransfersGoThroughTwoBuffers) {
    in_a_process([](Noted& d) {
        std::string made;
        for (int i = 0; i < 2; ++i) made += "host memory 8388608, flags 0\nstream, flags 0\n";
        constexpr size_t mib = size_t{1} << 20;
        d.notes();
        for (const size_t bytes : {mib, mib + 1, 20 * mib, mib + 1}) {
            std::vector<uint8_t> in(bytes), out(bytes);
            for (size_t i = 0; i < bytes; ++i) in[i] = static_cast<uint8_t>(i * 7 + i / 4096);
            const uint64_t at = d.engine->allocate(bytes);
            EXPECT_TRUE(d.engine->write(at, in).has_value());
            EXPECT_TRUE(d.engine->read(at, out).has_value());
            EXPECT_TRUE(in == out) << bytes;
            d.engine->release(at);
            EXPECT_EQ(d.notes(), bytes == mib ? "to device 1048576\nto host 1048576\n"
                                              : std::exchange(made, ""));
        }
    });
}

}  // namespace
