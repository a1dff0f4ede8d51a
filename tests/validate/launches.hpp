// SPDX-License-Identifier: Apache-2.0
// Launches of a kernel by its body, for orders and schedules.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "launch/input.hpp"
#include "validate/orders.hpp"

namespace lockwarp::validate {

// Launches from files in a folder of their own.
struct Launches {
    // body: of a kernel of `arch` with %rd1 = D, %rd2 = D + 4 * the thread's number in the grid,
    // %r1 = %tid.x, %r2 = %ctaid.x; `shape`: of the launch file, from "grid" on. Each file is one
    // launch of it.
    Launches(const std::string& body, const std::vector<std::string>& shapes,
             const std::string& arch = "sm_80") {
        const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                             ("lockwarp_orders." + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "k.ptx") << ".version 8.0\n.target " + arch +
                                               "\n.address_size 64\n"
                                               ".shared .align 128 .b8 tile[1024];\n"
                                               ".visible .global .align 4 .u32 seen[4]; "
                                               ".visible .global .b8 odd[5];\n"
                                               ".visible .entry k(.param .u64 out)\n{\n"
                                               ".reg .b32 %r<16>; .reg .b64 %rd<8>; "
                                               ".reg .pred %p<4>; .reg .f32 %f<4>;\n"
                                               "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                                               "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
                                               "mad.lo.u32 %r3, %r2, %r3, %r1;\n"
                                               "mul.wide.u32 %rd2, %r3, 4;\n"
                                               "add.u64 %rd2, %rd2, %rd1;\n" +
                                               body + "\nret;\n}\n";
        std::string text = R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","arch":")" + arch +
                           R"(","buffers":{"D":{"zeros":1024},"E":{"zeros":64}})" + rest(shapes);
        std::ofstream(folder / "k.json") << text;
        auto loaded = launch::load_all({(folder / "k.json").string()}, "", {});
        std::filesystem::remove_all(folder);
        if (!loaded) {
            ADD_FAILURE() << loaded.error().sentence;
            return;
        }
        steps = std::move(*loaded);
        auto state = launch::make_state(steps.front().in.launch);
        EXPECT_TRUE(state.has_value());
        if (state) first = std::move(*state);
    }

    // One shape is that of the file, several are its launches.
    static std::string rest(const std::vector<std::string>& shapes) {
        const std::string args = R"("args":[{"buffer":"D"}])";
        if (shapes.size() == 1) return "," + args + "," + shapes[0] + "}";
        std::string out = R"(,"launches":[)";
        for (size_t i = 0; i < shapes.size(); ++i)
            out += (i == 0 ? "{" : ",{") + args + "," + shapes[i] + "}";
        return out + "]}";
    }

    Left with(std::vector<std::vector<warp::GiveWay>> places,
              const OrderLimits& limits = {}) const {
        return run_in_order(steps, first, {0, std::move(places)}, limits);
    }

    std::vector<launch::Loaded> steps;
    launch::State first;
};

inline const std::string two_warps = R"("grid":[1,1,1],"block":[64,1,1])";

// Each thread gives 100 more than its number to its partner in the other warp, and takes the
// partner's from line 19.
inline const std::string partners = R"(mov.u32 %r4, tile;
mad.lo.u32 %r5, %r1, 4, %r4;
xor.b32 %r6, %r1, 32;
mad.lo.u32 %r6, %r6, 4, %r4;
add.u32 %r7, %r1, 100; st.shared.u32 [%r5], %r7;
ld.shared.u32 %r8, [%r6];
st.global.u32 [%rd2], %r8;)";

}  // namespace lockwarp::validate
