// SPDX-License-Identifier: Apache-2.0
// What tests of the lockstep compare.
#pragma once

#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"

namespace lockwarp::lockstep {

inline launch::Case case_of(const std::string& launch_file) {
    auto loaded = launch::load({LOCKWARP_SOURCE_DIR "/gpu/kernels/" + launch_file}, "sm_90");
    launch::Case c;
    if (!loaded) {
        ADD_FAILURE() << loaded.error().sentence;
        return c;
    }
    EXPECT_EQ(take(launch::make_case(loaded->in.launch, loaded->in.module, loaded->program), c),
              "");
    return c;
}

// A kernel of one buffer from its text.
inline launch::Case case_of_text(const std::string& body, uint32_t threads, size_t bytes) {
    ptx::Parsed parsed = ptx::parse(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" +
        body + "\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty());
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.block = {threads, 1, 1};
    c.parameters.resize(8);
    c.patches = {{0, 0, 0}};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(bytes)};
    return c;
}

}  // namespace lockwarp::lockstep
