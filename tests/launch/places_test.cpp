// SPDX-License-Identifier: Apache-2.0
// Where the parts of a launch file stand in it.
#include <gtest/gtest.h>

#include <algorithm>

#include "launch/launch_file.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

// Where each part stands, for what is said of it later.
TEST(LaunchFile, PlacesOfItsParts) {
    const std::string text = R"({"schema": "lockwarp-launch/1", "grid": [1], "block": [1],
"arch": "sm_80", "buffers": {"A": {"bytes": 16, "init": {"files": {"8": "y", "0":
  "x"}}}, "P": {"bytes": 24, "pointers": {"8": "A",
  "16": {"buffer": "A", "offset": 4}}, "init":
  "zeros"}},
"variables": {"v": {"bytes": 4, "init": "zeros"}}, "launches": [{"ptx": "a",
  "entry": "e"}, {"ptx":
    "b", "args": [{"s32": 1},
      {"struct": [{"u32": 2}, {"pad": 4}, {"pointer": "P"}]}]}],
"outputs": ["v",
   "P"], "expect": [{"buffer": "A", "is": "zeros"},
   {"variable": "v", "is":
   "zeros"}]}
)";
    LaunchFile f;
    ASSERT_EQ(take(parse_launch_file(text, "x.json"), f), "");
    const auto is_at = [&](ptx::Place place, const std::string& part) {
        const size_t at = text.find(part);
        ASSERT_NE(at, std::string::npos) << part;
        const size_t line = text.rfind('\n', at);
        EXPECT_EQ(place.line,
                  1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'))
            << part;
        EXPECT_EQ(place.column, line == std::string::npos ? at + 1 : at - line) << part;
    };
    is_at(f.arch_place, "\"sm_80\"");
    is_at(f.buffers[0].place, R"({"bytes": 16)");
    is_at(f.buffers[0].init.place, R"({"files")");
    is_at(f.buffers[0].init.files[0].place, "\"x\"");
    is_at(f.buffers[0].init.files[1].place, "\"y\"");
    is_at(f.buffers[1].place, R"({"bytes": 24)");
    is_at(f.buffers[1].init.place, "\"zeros\"}},");
    is_at(f.buffers[1].pointers[0].place, "\"A\",\n");
    is_at(f.buffers[1].pointers[1].place, R"({"buffer": "A", "offset")");
    is_at(f.launches[0].variables[0].place, R"({"bytes": 4, "init")");
    is_at(f.launches[0].place, R"({"ptx": "a")");
    is_at(f.launches[0].ptx_place, "\"a\"");
    is_at(f.launches[0].entry_place, "\"e\"");
    is_at(f.launches[1].place, "{\"ptx\":\n");
    is_at(f.launches[1].ptx_place, "\"b\"");
    is_at(f.launches[1].arguments[0].place, R"({"s32": 1})");
    is_at(f.launches[1].arguments[1].place, R"({"struct")");
    is_at(f.outputs[0].place, "\"v\",\n");
    is_at(f.outputs[1].place, R"("P"], "expect")");
    is_at(f.expectations[0].place, R"({"buffer": "A", "is")");
    is_at(f.expectations[0].init.place, R"("zeros"},)");
    is_at(f.expectations[1].place, R"({"variable")");
    is_at(f.expectations[1].init.place, R"("zeros"}]})");
}

}  // namespace
}  // namespace lockwarp::launch
