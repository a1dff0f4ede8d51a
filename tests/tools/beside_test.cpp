// SPDX-License-Identifier: Apache-2.0
// lockwarp capture, and validate of a program: beside what stands for a GPU
// (tests/cuda/beside/fake_gpu.cpp).
#include <gtest/gtest.h>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

const std::vector<std::string> fake{"LOCKWARP_FAKE_GPU_DRIVER=" LOCKWARP_LIBCUDA};

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
}

}  // namespace
}  // namespace lockwarp::tools
