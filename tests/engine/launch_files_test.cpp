// SPDX-License-Identifier: Apache-2.0
// Every launch file of gpu/kernels through the C face and through the C++ one: the same bits.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "emu/lockwarp.hpp"
#include "launch/input.hpp"
#include "tests/engine/support.hpp"
#include "tests/results.hpp"

namespace lockwarp::engine {
namespace {

// One launch by the C face; its buffers have the launch file's addresses.
lockwarp_status run_step(const lockwarp_kernel* kernel, const warp::Launch& l) {
    lockwarp_launch_options o{};
    o.struct_size = sizeof o;
    const uint32_t grid[] = {l.grid.x, l.grid.y, l.grid.z};
    const uint32_t block[] = {l.block.x, l.block.y, l.block.z};
    std::memcpy(o.grid, grid, sizeof grid);
    std::memcpy(o.block, block, sizeof block);
    o.dynamic_shared = l.dynamic_shared;
    o.threads = l.threads;
    if (l.cluster) {
        const uint32_t cluster[] = {l.cluster->x, l.cluster->y, l.cluster->z};
        std::memcpy(o.cluster, cluster, sizeof cluster);
    }
    o.flags = (l.cooperative ? LOCKWARP_COOPERATIVE : 0) |
              (l.non_portable_cluster ? LOCKWARP_NON_PORTABLE_CLUSTER : 0);
    o.parameters = l.parameters.data();
    o.parameter_bytes = l.parameters.size();
    std::vector<lockwarp_range> ranges;
    for (const warp::Buffer& b : l.buffers)
        ranges.push_back({b.bytes.data(), b.address, b.bytes.size(), b.name.c_str()});
    o.ranges = ranges.data();
    o.range_count = ranges.size();
    const Given<RunResult> given = run(kernel, o);
    EXPECT_EQ(given.message, "");
    return given.status;
}

// On one core: of some the order of CTAs shows.
warp::Launch launch_of(const launch::Loaded& step, launch::Memory& memory) {
    warp::Launch out;
    EXPECT_EQ(
        take(launch::make_launch(step.in.launch, step.in.kernel(), step.program, memory), out), "");
    out.threads = 1;
    return out;
}

void compare(const std::string& path) {
    SCOPED_TRACE(path);
    std::vector<launch::Loaded> steps;
    ASSERT_EQ(take(launch::load_all({path}, ""), steps), "");
    launch::Memory expected;
    launch::Memory actual;
    ASSERT_EQ(take(launch::place_buffers(steps[0].in.launch), expected), "");
    ASSERT_EQ(take(launch::place_buffers(steps[0].in.launch), actual), "");
    const std::vector<std::vector<uint8_t>> before = actual.bytes;
    const Context context = make_context(isa::row(steps[0].arch).name.data());
    std::map<std::string, Module> modules;
    std::map<std::string, std::vector<uint8_t>> variables;
    for (const launch::Loaded& step : steps) {
        warp::Launch plain = launch_of(step, expected);
        plain.variables = &variables[step.in.path];
        const warp::Result result = exec::launch(step.program, plain);
        ASSERT_TRUE(!result.refusal && !result.trap);
        Module& module = modules[step.in.path];
        if (module == nullptr) {
            Given<Module> loaded = load(context, step.in.source);
            ASSERT_EQ(loaded.message, "");
            module = std::move(loaded.value);
        }
        const Given<const lockwarp_kernel*> kernel = kernel_of(module, step.program.entry.c_str());
        ASSERT_EQ(kernel.message, "");
        ASSERT_EQ(run_step(kernel.value, launch_of(step, actual)), LOCKWARP_OK);
    }
    EXPECT_NE(actual.bytes, before) << "the kernel wrote nothing";
    EXPECT_EQ(actual.bytes, expected.bytes);
}

TEST(LaunchFiles, HaveTheSameBitsByTheCFace) {
    size_t compared = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(LOCKWARP_SOURCE_DIR "/gpu/kernels")) {
        if (entry.path().extension() != ".json") continue;
        compare(entry.path());
        ++compared;
    }
    EXPECT_GT(compared, 100u);
}

}  // namespace
}  // namespace lockwarp::engine
