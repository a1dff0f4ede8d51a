// SPDX-License-Identifier: Apache-2.0
// lockwarp capture, and validate of a program: beside what stands for a GPU
// (tests/cuda/beside/fake_gpu.cpp).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/personality.h>

#include <chrono>
#include <thread>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

const std::vector<std::string> fake{"LOCKWARP_FAKE_GPU_DRIVER=" LOCKWARP_LIBCUDA};

// Under the sanitizers: what `exec` preloads comes before the runtime of the command too.
std::vector<std::string> fake_under_exec() {
    std::vector<std::string> out = fake;
    out.emplace_back("ASAN_OPTIONS=verify_asan_link_order=0");
    return out;
}

TEST(Beside, AProgramsLaunchesAreComparedWithTheGpus) {
    const Folder folder;
    const Ended ended = run(
        folder, {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM}, fake);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out, "x[3] = 42\n");
    EXPECT_NE(ended.err.find("launch 1, twice: identical, 16 bytes"), std::string::npos)
        << ended.err;
    EXPECT_NE(ended.err.find("identical: 1 launch\n"), std::string::npos) << ended.err;
}

// What the driver linked of PTX, as for Numba's kernels, has that PTX; a difference is found there
// too.
TEST(Beside, LinkedKernelsAreComparedToo) {
    for (const bool wrong : {false, true}) {
        const Folder folder;
        std::vector<std::string> environment = fake;
        if (wrong) environment.emplace_back("FAKE_GPU_LAUNCH=1");
        const Ended ended = run(
            folder,
            {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, "joined"},
            environment);
        EXPECT_EQ(ended.status, wrong ? 1 : 0) << ended.err;
        EXPECT_EQ(ended.out, "x[3] = 42\n");
        EXPECT_NE(ended.err.find(wrong ? "launch 1, twice: DIFFERS: 1 of"
                                       : "launch 1, twice: identical, 20 bytes"),
                  std::string::npos)
            << ended.err;
    }
}

// A kernel's own launches, copies and fills belong to its launch.
TEST(Beside, WhatKernelsLaunchIsComparedToo) {
    for (const bool wrong : {false, true}) {
        const Folder folder;
        std::vector<std::string> environment = fake;
        if (wrong) environment.emplace_back("FAKE_GPU_LAUNCH=1");
        const Ended ended = run(folder,
                                {"validate", "--driver", LOCKWARP_FAKE_GPU, "--save", "different",
                                 "--", LOCKWARP_DRIVER_PROGRAM, "launches"},
                                environment);
        EXPECT_EQ(ended.status, wrong ? 1 : 0) << ended.err;
        if (!wrong) {
            EXPECT_EQ(ended.out, "x[0] = 42, x[1] = 0, x[2] = 6\nx[3] = 42\n");
        }
        EXPECT_NE(ended.err.find(wrong ? "launch 1, launches: DIFFERS: 1 of 56 bytes"
                                       : "launch 1, launches: identical, 56 bytes"),
                  std::string::npos)
            << ended.err;
        // A launch file would run without them.
        EXPECT_FALSE(std::filesystem::exists(folder.path / "different/000001.launches.json"));
    }
    const Folder folder;
    const auto with = [&](const std::string& word) {
        return run(folder,
                   {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, word},
                   fake);
    };
    // Of what the device's runtime says, the driver knows most.
    const Ended asks = with("asks");
    EXPECT_EQ(asks.status, 0) << asks.err;
    EXPECT_NE(asks.err.find("launch 1, asks: identical, 56 bytes"), std::string::npos) << asks.err;
    for (const std::string word : {"texts", "refused"}) {
        const Ended ended = with(word);
        EXPECT_EQ(ended.status, 2) << ended.err;
        EXPECT_NE(ended.err.find("launch 1, " + word +
                                 ": not compared: it asks the device's runtime for what the GPU "
                                 "alone knows"),
                  std::string::npos)
            << ended.err;
    }
    const Ended captured = run(folder,
                               {"capture", "--out", "launches", "--driver", LOCKWARP_FAKE_GPU, "--",
                                LOCKWARP_DRIVER_PROGRAM, "launches"},
                               fake);
    EXPECT_NE(captured.err.find("launch 1, launches: not captured: it launches kernels, which a "
                                "launch file does not have"),
              std::string::npos)
        << captured.err;
}

// What was compiled apart and linked as machine code (nvcc -rdc=true) has the PTX of its objects.
TEST(Beside, KernelsOfObjectsLinkedByTheCompilerAreComparedToo) {
    for (const bool wrong : {false, true}) {
        const Folder folder;
        std::vector<std::string> environment = fake;
        if (wrong) environment.emplace_back("FAKE_GPU_LAUNCH=1");
        const Ended ended =
            run(folder, {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_APART_PROGRAM},
                environment);
        EXPECT_EQ(ended.status, wrong ? 1 : 0) << ended.err;
        EXPECT_EQ(ended.out, "x[3] = 42\n");
        EXPECT_NE(ended.err.find(wrong ? "launch 1, apart: DIFFERS: 1 of"
                                       : "launch 1, apart: identical, 16 bytes"),
                  std::string::npos)
            << ended.err;
    }
}

// A graph's launch is done node by node, as the graph is then, and its kernels are launches as
// others are.
TEST(Beside, LaunchesOfGraphsAreTheirKernels) {
    for (const int wrong : {0, 2, 4}) {
        const Folder folder;
        std::vector<std::string> environment = fake;
        // The driver was given two more, which were captured.
        if (wrong != 0) environment.push_back(fmt::format("FAKE_GPU_LAUNCH={}", wrong + 2));
        const Ended ended =
            run(folder,
                {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, "graph"},
                environment);
        EXPECT_EQ(ended.status, wrong == 0 ? 0 : 1) << ended.err;
        if (wrong == 0) {
            EXPECT_EQ(ended.out, "20 20, 1 calls\n10 10, 2 calls\n10 5, 3 calls\n");
        }
        for (const int launch : {1, 2, 3, 4})
            EXPECT_NE(
                ended.err.find(fmt::format("launch {}, twice: {} bytes", launch,
                                           launch == wrong ? "DIFFERS: 1 of 16" : "identical, 16")),
                std::string::npos)
                << ended.err;
        EXPECT_EQ(ended.err.find("launch 5"), std::string::npos) << ended.err;
    }
    // Captured, one of them.
    const Folder folder;
    const Ended ended = run(folder,
                            {"capture", "--out", "launches", "--launch", "4", "--driver",
                             LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, "graph"},
                            fake);
    EXPECT_EQ(ended.status, 0) << ended.err;
    const Ended again = run(folder, {"run", "launches/000004.twice.json"});
    EXPECT_EQ(again.status, 0) << again.err << again.out;
}

// One bit of what the GPU wrote: found, with its place, and kept as a launch file.
TEST(Beside, OneBitThatDiffersIsFound) {
    const Folder folder;
    std::vector<std::string> environment = fake;
    environment.push_back("FAKE_GPU_LAUNCH=1");
    const Ended ended = run(folder,
                            {"validate", "--driver", LOCKWARP_FAKE_GPU, "--save", "different", "--",
                             LOCKWARP_DRIVER_PROGRAM},
                            environment);
    EXPECT_EQ(ended.status, 1) << ended.err;
    EXPECT_NE(ended.err.find("launch 1, twice: DIFFERS: 1 of 16 bytes; first memory at 0x"),
              std::string::npos)
        << ended.err;
    EXPECT_NE(ended.err.find(" + 0x0: GPU 0x"), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find("DIFFERS: 1 of 1 launch\n"), std::string::npos) << ended.err;
    const Ended again = run(folder, {"run", "different/000001.twice.json"});
    EXPECT_EQ(again.status, 1) << again.out;
}

// What differs because the GPU's compiler made one instruction of a mul and an add is told from
// what differs otherwise, and the program goes on with what the GPU gave.
TEST(Beside, MulAndAddMayBeFused) {
    const Folder folder;
    const auto with = [&](const char* fault, const char* kernel) {
        std::vector<std::string> environment = fake;
        environment.emplace_back(fault);
        return run(
            folder,
            {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, kernel},
            environment);
    };
    const Ended fused = with("FAKE_GPU_FUSES=1", "fused");
    EXPECT_EQ(fused.status, 0) << fused.err;
    EXPECT_NE(
        fused.err.find("launch 1, fused: identical where mul and add are not fused, 16 bytes; "
                       "1 differ as the GPU's compiler fused some\n"),
        std::string::npos)
        << fused.err;
    EXPECT_NE(fused.err.find("identical: 1 launch; 1 where mul and add without a rounding are not "
                             "fused\n"),
              std::string::npos)
        << fused.err;
    EXPECT_EQ(fused.out, "x[3] = 21\nx[0] = 5\n");
    // What it prints is seen once.
    const Ended talking = with("FAKE_GPU_FUSES=1", "talking");
    EXPECT_EQ(talking.status, 0) << talking.err;
    EXPECT_NE(talking.err.find("launch 1, talking: identical where mul and add are not fused"),
              std::string::npos)
        << talking.err;
    EXPECT_EQ(talking.out, "said\nx[3] = 21\n");
    // A kernel that has none, in a module that has; a launch that differs from itself.
    EXPECT_EQ(with("FAKE_GPU_FUSES=1", "twice").status, 1);
    const Ended once = with("FAKE_GPU_LAUNCH=1", "fused");
    EXPECT_EQ(once.status, 1);
    EXPECT_NE(once.err.find("launch 1, fused: DIFFERS: 1 of 16 bytes"), std::string::npos)
        << once.err;
}

// Functions lie elsewhere on the GPU: a table of them, and what a kernel took out of it and left in
// memory, are the emulator's there, and the GPU's where they are compared.
TEST(Beside, FunctionsHaveAddressesOfTheGpusOwn) {
    for (const char* const moved : {"0x10000000000", "0x40"}) {
        const Folder folder;
        std::vector<std::string> environment = fake;
        environment.push_back(std::string("FAKE_GPU_CODE=") + moved);
        const auto with = [&](std::vector<std::string> words) {
            words.insert(words.end(), {"--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM,
                                       "functions"});
            return run(folder, words, environment);
        };
        const Ended ended = with({"validate"});
        EXPECT_EQ(ended.status, 0) << moved << "\n" << ended.err;
        EXPECT_EQ(ended.out, "sum 4\nsum 8\n");
        EXPECT_NE(ended.err.find("identical: 2 launches\n"), std::string::npos) << ended.err;
        EXPECT_EQ(with({"capture", "--out", "launches"}).status, 0);
        for (const std::string name : {"000001.pick", "000002.again"}) {
            const Ended again = run(folder, {"run", "launches/" + name + ".json"});
            EXPECT_EQ(again.status, 0) << moved << "\n" << again.err << again.out;
            EXPECT_NE(again.out.find("as expected"), std::string::npos) << again.out;
        }
    }
}

// What the program gets of its ptxas is PTX, as under exec.
TEST(Beside, KeepsThePtxOfPtxas) {
    for (const bool keep : {true, false}) {
        const Folder folder;
        const std::string text = ".version 7.0\n";
        folder.write("kernel.ptx", text);
        std::vector<std::string> words{"validate"};
        if (keep) words.emplace_back("--keep-ptx");
        const std::string program = std::string(LOCKWARP_STAND_IN_PTXAS) +
                                    " kernel.ptx -o out && " + LOCKWARP_DRIVER_PROGRAM;
        words.insert(words.end(), {"--driver", LOCKWARP_FAKE_GPU, "--", "sh", "-c", program});
        const Ended ended = run(folder, words, fake);
        EXPECT_EQ(ended.status, 0) << ended.err;
        EXPECT_EQ(folder.read("out"), keep ? text + '\0' : "\177ELF of the machine");
    }
}

// A GPU whose functions have small numbers, which may be anything elsewhere: a table holds them, a
// kernel leaves one in memory, and the host gives one to another kernel. Launch files say where
// they lie.
TEST(Beside, FunctionsMayHaveSmallNumbers) {
    std::vector<std::string> environment = fake;
    environment.emplace_back("FAKE_GPU_CODE=-0x7bffffffffc0");
    const auto with = [&](const Folder& folder, std::vector<std::string> words, const char* how) {
        words.insert(words.end(),
                     {"--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, how});
        return run(folder, words, environment);
    };
    for (const char* const how : {"functions", "passed"}) {
        const Folder folder;
        const Ended ended = with(folder, {"validate"}, how);
        EXPECT_EQ(ended.status, 0) << ended.err;
        EXPECT_NE(ended.err.find("identical: 2 launches\n"), std::string::npos) << ended.err;
        EXPECT_EQ(ended.out, how[0] == 'p' ? "seen 42\n" : "sum 4\nsum 8\n");
    }
    const Folder folder;
    EXPECT_EQ(with(folder, {"capture", "--out", "launches"}, "functions").status, 0);
    const Ended again = run(folder, {"run", "launches/000002.again.json"});
    EXPECT_EQ(again.status, 0) << again.err << again.out;
    EXPECT_NE(folder.read("launches/000002.again.json").find("\"four\": \"0x60\""),
              std::string::npos)
        << folder.read("launches/000002.again.json");
    // Without that it ends where it calls.
    std::string text = folder.read("launches/000002.again.json");
    text.replace(text.find("0x60"), 4, "0x68");
    folder.write("launches/000002.again.json", text);
    const Ended lost = run(folder, {"run", "launches/000002.again.json"});
    EXPECT_EQ(lost.status, 1);
    EXPECT_NE((lost.out + lost.err).find("the called address is no function"), std::string::npos)
        << lost.out << lost.err;
}

// What other kernels of a module do is no matter: textures, and malloc.
TEST(Beside, WhatAKernelMayComeToCounts) {
    const Folder folder;
    const Ended ended = run(
        folder,
        {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, "passed"}, fake);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_NE(ended.err.find("identical: 2 launches\n"), std::string::npos) << ended.err;
}

// What only looks like an address of a function is not taken for one: another function's, or none.
TEST(Beside, OneBitOfAnAddressOfAFunctionIsFound) {
    std::vector<std::string> environment = fake;
    environment.emplace_back("FAKE_GPU_LAUNCH=1");
    const Folder folder;
    const Ended ended =
        run(folder,
            {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, "passed"},
            environment);
    EXPECT_EQ(ended.status, 1) << ended.err;
    EXPECT_NE(ended.err.find("launch 1, leave: DIFFERS: 1 of"), std::string::npos) << ended.err;
}

// What malloc gave lies in a heap that no copy reaches.
TEST(Beside, BlocksOfMallocAreTheGpusOwn) {
    const Folder folder;
    const auto with = [&](std::vector<std::string> words) {
        words.insert(words.end(),
                     {"--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, "heap"});
        return run(folder, words, fake).err;
    };
    const std::string compared = with({"validate"});
    EXPECT_NE(compared.find("launch 1, get: identical, 16 bytes\n"), std::string::npos) << compared;
    const std::string captured = with({"capture", "--out", "launches"});
    const std::string why = ": it may reach what malloc gave, in the GPU's own heap\n";
    for (const std::string launch : {"2, look", "3, look", "4, give", "5, look", "6, get"}) {
        EXPECT_NE(compared.find("launch " + launch + ": not compared" + why), std::string::npos)
            << compared;
        EXPECT_NE(captured.find("launch " + launch + ": not captured" + why), std::string::npos)
            << captured;
    }
    // Where the block lies elsewhere, memory differs by its address.
    std::vector<std::string> environment = fake;
    environment.emplace_back("FAKE_GPU_LAUNCH=1");
    const Ended moved = run(folder,
                            {"validate", "--driver", LOCKWARP_FAKE_GPU, "--launch", "1", "--",
                             LOCKWARP_DRIVER_PROGRAM, "heap"},
                            environment);
    EXPECT_NE(moved.err.find("no launch was compared; 1 left out\n"), std::string::npos)
        << moved.err;
    EXPECT_NE(moved.err.find("launch 1, get: not compared: it calls malloc, whose blocks lie "
                             "elsewhere on the GPU\n"),
              std::string::npos)
        << moved.err;
}

// By tensor maps in a parameter and in memory; the second is changed by a kernel.
TEST(Beside, TensorMapsAreTheGpus) {
    const Folder folder;
    std::vector<std::string> environment = fake;
    environment.emplace_back("LOCKWARP_ARCH=sm_90");
    const Ended ended = run(
        folder, {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, "maps"},
        environment);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out, "box 51\nbox 179\n");
    EXPECT_NE(ended.err.find("identical: 3 launches\n"), std::string::npos) << ended.err;
}

// The emulator stands for the GPU on both sides: programs, and what records every register.
TEST(Beside, LockstepOfAProgram) {
    const Folder folder;
    std::vector<std::string> environment = fake_under_exec();
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"exec",       "--arch",   "sm_90",
                                       "--",         program(),  "validate",
                                       "--lockstep", "--driver", LOCKWARP_FAKE_GPU};
        words.insert(words.end(), more.begin(), more.end());
        words.insert(words.end(), {"--", LOCKWARP_DRIVER_PROGRAM, "maps"});
        return run(folder, words, environment);
    };
    const Ended ended = with({});
    EXPECT_NE(ended.err.find("captured: 3 launches\n"), std::string::npos) << ended.err;
    EXPECT_NE(ended.out.find("box 51\nbox 179\n"), std::string::npos) << ended.out;
    // Another process does not get the addresses that the sanitizer's allocator has for itself.
    if (sanitized) return;
    EXPECT_EQ(ended.status, 0) << ended.err << ended.out;
    EXPECT_NE(ended.out.find("identical: 3 launch files; 17 register values compared"),
              std::string::npos)
        << ended.out;
    const Ended kept = with({"--save", "launches", "--launch", "3"});
    EXPECT_EQ(kept.status, 0) << kept.err;
    EXPECT_NE(kept.err.find("captured: 1 launch in launches\n"), std::string::npos) << kept.err;
    EXPECT_NE(kept.out.find("identical: 8 register values compared"), std::string::npos)
        << kept.out;
    EXPECT_TRUE(std::filesystem::exists(folder.path / "launches" / "000003.box_at.json"));
}

// What differs by an order of threads is identical once the emulator takes the GPU's, and no
// difference; where nothing has an order, it stays one.
TEST(Beside, AnotherOrderOfThreadsIsNoDifference) {
    std::vector<std::string> environment = fake_under_exec();
    environment.emplace_back("FAKE_GPU_LAUNCH=1");
    const auto with = [&](const char* kernel) {
        const Folder folder;
        const Ended ended = run(folder,
                                {"exec", "--", program(), "validate", "--driver", LOCKWARP_FAKE_GPU,
                                 "--", LOCKWARP_DRIVER_PROGRAM, kernel},
                                environment);
        EXPECT_NE(ended.err.find("DIFFERS: 1 of 16 bytes"), std::string::npos) << ended.err;
        EXPECT_NE(ended.err.find("1 of 1 that differ, once more by every register, in the GPU's "
                                 "order:\n"),
                  std::string::npos)
            << ended.err;
        return ended;
    };
    const Ended added = with("added");
    const Ended twice = with("twice");
    EXPECT_EQ(twice.status, 1) << twice.err;
    EXPECT_NE(twice.err.find("\nDIFFERS: 1 of 1 launch\n"), std::string::npos) << twice.err;
    // The sanitizers' allocator does not give the program's address again.
    if (sanitized) return;
    EXPECT_EQ(added.status, 0) << added.err << added.out;
    EXPECT_NE(added.err.find("\nidentical: 1 launch; 1 in the GPU's order of its threads\n"),
              std::string::npos)
        << added.err;
    EXPECT_NE(twice.err.find("1 identical now, and no order of threads tells why not before\n"),
              std::string::npos)
        << twice.err;
}

// A program that goes on is asked to end with the command; what was compared is said.
TEST(Beside, AProgramEndsWithTheCommand) {
    const Folder folder;
    const std::string program =
        std::string("echo $$ >pid; ") + LOCKWARP_DRIVER_PROGRAM + "; exec sleep 1000";
    const Ended ended = run(
        folder,
        {"validate", "--driver", LOCKWARP_FAKE_GPU, "--time-limit", "3", "--", "sh", "-c", program},
        fake);
    EXPECT_EQ(ended.status, 130) << ended.err;
    EXPECT_NE(ended.err.find("identical: 1 launch\n"), std::string::npos) << ended.err;
    const int process = std::stoi(folder.read("pid"));
    EXPECT_NE(::kill(process, 0), 0);
}

// The command has its own memory where no GPU gives any, and the program as always.
TEST(Beside, ItsOwnMemoryIsNotWhereAProgramsMayLie) {
    const int before = ::personality(0xffffffff);
    if (before == -1 || ::personality(before | ADDR_COMPAT_LAYOUT) == -1)
        GTEST_SKIP() << "no other personality is allowed here";
    ::personality(before);
    const Folder folder;
    const Ended ended = run(
        folder,
        {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", "sh", "-c",
         "cat /proc/$PPID/personality /proc/self/personality; grep -c 'lib.*so' /proc/$PPID/maps "
         "> maps; grep -c '^7[ef].*so' /proc/$PPID/maps"},
        fake);
    EXPECT_EQ(ended.out, fmt::format("{:08x}\n{:08x}\n0\n", before | ADDR_COMPAT_LAYOUT, before));
    EXPECT_GT(std::stoi(folder.read("maps")), 0);
    // Begun by the loader it stays what it is.
    const Ended loaded = run(folder,
                             {"validate", "--driver", LOCKWARP_FAKE_GPU, "--",
                              "/lib64/ld-linux-x86-64.so.2", program(), "validate", "--help"},
                             fake);
    EXPECT_NE(loaded.out.find("Usage: lockwarp validate"), std::string::npos) << loaded.err;
}

// One that takes longer than the command itself has: a GPU's memory takes seconds to give back.
TEST(Beside, AProgramMayTakeItsTimeToEnd) {
    const Folder folder;
    const std::string program = std::string("trap 'kill $!; sleep 1.2; exit 3' TERM; ") +
                                LOCKWARP_DRIVER_PROGRAM + "; sleep 1000 & wait";
    const Ended ended = run(
        folder,
        {"validate", "--driver", LOCKWARP_FAKE_GPU, "--time-limit", "3", "--", "sh", "-c", program},
        fake);
    EXPECT_EQ(ended.status, 130) << ended.err;
    EXPECT_NE(ended.err.find("identical: 1 launch\n"), std::string::npos) << ended.err;
}

// One that does not end is killed by the second signal.
TEST(Beside, ASecondSignalEndsAProgramThatDoesNot) {
    const Folder folder;
    const Started command = start(folder,
                                  {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", "sh", "-c",
                                   "trap '' TERM; echo $$ >pid; while true; do sleep 0.1; done"},
                                  fake);
    const auto wait = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    while (folder.read("pid").empty()) wait(20);
    ::kill(command.child, SIGTERM);
    wait(900);
    EXPECT_EQ(::kill(command.child, 0), 0);
    ::kill(command.child, SIGTERM);
    const Ended ended = finish(command);
    EXPECT_EQ(ended.status, 130) << ended.err;
    // Before it may stand that nothing was compared.
    EXPECT_TRUE(ended.err.ends_with("error: interrupted\n")) << ended.err;
    // Whoever takes it over waits for it.
    const int process = std::stoi(folder.read("pid"));
    for (int i = 0; i < 100 && ::kill(process, 0) == 0; ++i) wait(50);
    EXPECT_NE(::kill(process, 0), 0);
}

// The driver gives a handle again, and the runtime may ask for it by ways of its own.
TEST(Beside, AHandleMayBeAnotherKernelsLater) {
    const auto with = [](const char* how, const char* seen, const char* second) {
        const Folder folder;
        std::vector<std::string> environment = fake;
        environment.emplace_back("FAKE_GPU_HANDLE=1");
        const Ended ended = run(
            folder, {"validate", "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, how},
            environment);
        EXPECT_EQ(ended.status, 0) << ended.err;
        EXPECT_EQ(ended.out, seen);
        EXPECT_NE(ended.err.find("launch 1, twice: identical"), std::string::npos) << ended.err;
        EXPECT_NE(ended.err.find(second), std::string::npos) << ended.err;
    };
    with("reused", "x[3] = 84\n", "launch 2, behind: identical");
    with("unloaded", "x[3] = 126\n", "launch 2, twice: identical");
}

// An empty kernel, as programs launch to warm up, has nothing to compare; alone it is no success.
TEST(Beside, LockstepLeavesEmptyKernelsOut) {
    std::vector<std::string> environment = fake_under_exec();
    const auto with = [&](const char* kernel) {
        const Folder folder;
        return run(folder,
                   {"exec", "--", program(), "validate", "--lockstep", "--kernel", kernel,
                    "--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, "warm", ""},
                   environment);
    };
    const Ended both = with("e");
    EXPECT_NE(both.err.find("captured: 2 launches\n"), std::string::npos) << both.err;
    EXPECT_NE(both.out.find("000001.empty.json: no instruction of the kernel is to be compared\n"),
              std::string::npos)
        << both.out;
    // The sanitizers' allocator does not give the program's address again.
    if (!sanitized) {
        EXPECT_EQ(both.status, 0) << both.err;
        EXPECT_NE(both.out.find("identical: 24 register values compared"), std::string::npos)
            << both.out;
    }
    const Ended empty = with("empty");
    EXPECT_EQ(empty.status, 2) << empty.out;
    EXPECT_NE(empty.err.find("no instruction of any launch is to be compared"), std::string::npos)
        << empty.err;
}

TEST(Beside, CapturedLaunchesRunAgainWithoutAGpu) {
    const Folder folder;
    const Ended ended = run(folder,
                            {"capture", "--out", "launches", "--driver", LOCKWARP_FAKE_GPU, "--",
                             LOCKWARP_DRIVER_PROGRAM},
                            fake);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_NE(ended.err.find("captured: 1 launch in launches"), std::string::npos) << ended.err;
    const Ended again = run(folder, {"run", "launches/000001.twice.json"});
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_NE(again.out.find("as expected"), std::string::npos) << again.out;
}

// An iterator that goes backward is the address behind an array, of which a kernel may have nothing
// else; of an array that a compiler knows, the address may stand in its text alone.
TEST(Beside, TheEndOfAnArrayAndANumberInTheTextLeadToIt) {
    for (const std::string kernel : {"behind", "fixed"}) {
        const Folder folder;
        const auto with = [&](std::vector<std::string> words) {
            words.insert(words.end(),
                         {"--driver", LOCKWARP_FAKE_GPU, "--", LOCKWARP_DRIVER_PROGRAM, kernel});
            return run(folder, words, fake);
        };
        const Ended ended = with({"validate"});
        EXPECT_EQ(ended.status, 0) << ended.err;
        EXPECT_EQ(ended.out, "x[3] = 42\n");
        EXPECT_NE(ended.err.find("launch 1, " + kernel + ": identical, 16 bytes"),
                  std::string::npos)
            << ended.err;
        EXPECT_EQ(with({"capture", "--out", "launches"}).status, 0);
        const Ended again = run(folder, {"run", "launches/000001." + kernel + ".json"});
        EXPECT_EQ(again.status, 0) << again.err;
        EXPECT_NE(again.out.find("as expected"), std::string::npos) << again.out;
    }
}

// DietGPU divides 256 MiB itself, and has tables of addresses in it. What an address there leads to
// is left out where it would be too much.
TEST(Beside, AddressesFarWithinMemoryLeadOn) {
    const auto with = [](const std::string& megabytes) {
        const Folder folder;
        const Ended ended = run(folder,
                                {"validate", "--driver", LOCKWARP_FAKE_GPU, "--max-memory",
                                 megabytes, "--", LOCKWARP_DRIVER_PROGRAM, "deep"},
                                fake);
        EXPECT_EQ(ended.out, "x[3] = 42\n");
        EXPECT_EQ(ended.status, megabytes == "3" ? 2 : 0) << ended.err;
        return ended.err;
    };
    const std::string all = with("13");
    EXPECT_NE(all.find(": identical, 12582928 bytes"), std::string::npos) << all;
    const std::string some = with("12");
    EXPECT_NE(some.find(": identical, 4194320 bytes"), std::string::npos) << some;
    const std::string none = with("3");
    EXPECT_NE(none.find(": not compared: it reaches more than 3 MiB"), std::string::npos) << none;
}

// Memory that grows, as an arena of tiny-cuda-nn's: a pointer into one mapping reaches the next.
// So they are where the driver says that they begin at 0, as an H200's does of the host's memory.
TEST(Beside, MappingsOneBehindAnotherAreOne) {
    std::vector<std::string> beginning = fake;
    beginning.emplace_back("FAKE_GPU_BEGIN=0");
    for (const auto& environment : {fake, beginning})
        for (const std::vector<std::string>& words :
             {std::vector<std::string>{"mapped"}, std::vector<std::string>{"behind", "mapped"}}) {
            const Folder folder;
            std::vector<std::string> line{"validate", "--driver", LOCKWARP_FAKE_GPU, "--",
                                          LOCKWARP_DRIVER_PROGRAM};
            line.insert(line.end(), words.begin(), words.end());
            const Ended ended = run(folder, line, environment);
            EXPECT_EQ(ended.status, 0) << ended.err;
            EXPECT_EQ(ended.out, "x[3] = 42\n");
            EXPECT_NE(ended.err.find(": identical, 4194304 bytes"), std::string::npos) << ended.err;
        }
}

// A kernel that waits for the program is left, and so is what runs beside it; what comes after them
// is compared. So it is where neither is asked for.
TEST(Beside, AKernelThatWaitsForTheProgramIsLeft) {
    const Folder folder;
    const auto with = [&](std::vector<std::string> options) {
        std::vector<std::string> words{"validate", "--driver", LOCKWARP_FAKE_GPU};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", LOCKWARP_DRIVER_PROGRAM, "waits"});
        return run(folder, words, fake);
    };
    const std::string after = "launch 3, twice: identical, 32 bytes";
    const Ended all = with({});
    EXPECT_EQ(all.status, 0) << all.err;
    EXPECT_EQ(all.out, "x[3] = 22, x[7] = 84\n");
    EXPECT_NE(all.err.find("launch 1, waits: not compared: it seems to wait for what the program "
                           "does next"),
              std::string::npos)
        << all.err;
    EXPECT_NE(all.err.find("launch 2: not compared: one that waits is under way"),
              std::string::npos)
        << all.err;
    EXPECT_NE(all.err.find(after), std::string::npos) << all.err;
    const Ended twice = with({"--kernel", "twice"});
    EXPECT_EQ(twice.status, 0) << twice.err;
    EXPECT_NE(twice.err.find("launch 2: not compared: one that waits"), std::string::npos)
        << twice.err;
    EXPECT_NE(twice.err.find(after), std::string::npos) << twice.err;
    const Ended second = with({"--launch", "2"});
    EXPECT_EQ(second.status, 2) << second.err;
    EXPECT_NE(second.err.find("launch 2: not compared: one that waits"), std::string::npos)
        << second.err;
    const Ended third = with({"--launch", "3"});
    EXPECT_EQ(third.status, 0) << third.err;
    EXPECT_NE(third.err.find(after), std::string::npos) << third.err;
}

TEST(Beside, WhatIsNotLookedAtIsNoSuccess) {
    const Folder folder;
    const auto with = [&](std::vector<std::string> options) {
        std::vector<std::string> words{"validate", "--driver", LOCKWARP_FAKE_GPU};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", LOCKWARP_DRIVER_PROGRAM});
        return run(folder, words, fake);
    };
    EXPECT_EQ(with({"--kernel", "thrice"}).status, 2);
    EXPECT_EQ(with({"--launch", "2"}).status, 2);
    EXPECT_EQ(with({"--kernel", "twi", "--launch", "1"}).status, 0);
    const Ended none = run(
        folder,
        {"capture", "--out", "x", "--driver", LOCKWARP_FAKE_GPU, "--", "sh", "-c", "exit 7"}, fake);
    EXPECT_EQ(none.status, 7);
    // Behind the program's name all is its own.
    const Ended own =
        run(folder, {"capture", "--out", "x", "--driver", LOCKWARP_FAKE_GPU, "sh", "-c", "exit 7"},
            fake);
    EXPECT_EQ(own.status, 7) << own.err;
}

}  // namespace
}  // namespace lockwarp::tools
