// SPDX-License-Identifier: Apache-2.0
// lockwarp init: launch files to fill in, and what one lacks.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launch/files.hpp"
#include "launch/skeleton.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

using Json = nlohmann::json;

constexpr const char* kernels = LOCKWARP_SOURCE_DIR "/gpu/kernels/";

// A folder with gpu/kernels' PTX of that name as k.ptx.
void put(const Folder& folder, const std::string& ptx) {
    const auto text = launch::read_text(kernels + ptx, uint64_t{1} << 28);
    ASSERT_TRUE(text);
    folder.write("k.ptx", *text);
}

Json init(const Folder& folder, const std::string& entry) {
    const Ended e = run(folder, {"init", "k.ptx", entry});
    EXPECT_EQ(e.status, 0) << e.err;
    folder.write("k.json", e.out);
    return Json::parse(e.out, nullptr, false);
}

TEST(Init, ManyParametersAndEmptyStructs) {
    const Folder folder;
    put(folder, "launches.sm_80.ptx");
    Json j = init(folder, "eighteen");
    ASSERT_TRUE(j.is_object());
    EXPECT_EQ(j["entry"], "eighteen");
    ASSERT_EQ(j["args"].size(), 18u);
    for (size_t i = 0; i < 18; i += 2) EXPECT_EQ(j["args"][i]["struct"], Json::array()) << i;
    EXPECT_EQ(j["args"][1]["u32"], 0);
    EXPECT_EQ(j["args"][15]["u8"], 0);
    EXPECT_EQ(j["args"][17]["buffer"], "p17");
    EXPECT_EQ(j["args"][17]["comment"], "parameter 17, 8 bytes, aligned to 8");
    EXPECT_EQ(j["outputs"], Json({"p17"}));
    // Its only gap is the size of the buffer.
    const Ended gaps = run(folder, {"init", "k.json"});
    EXPECT_EQ(gaps.status, 1) << gaps.err;
    EXPECT_TRUE(gaps.out.starts_with("eighteen: k.json:")) << gaps.out;
    EXPECT_TRUE(gaps.out.ends_with("buffer 'p17' has 0 bytes\n")) << gaps.out;
    j["buffers"]["p17"]["bytes"] = 256 * 4;
    j["args"][3]["u32"] = 5;
    folder.write("k.json", j.dump());
    EXPECT_EQ(run(folder, {"init", "k.json"}).out, "complete: k.json\n");
    const Ended ran = run(folder, {"run", "k.json", "--print", "p17:s64:1x2"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_NE(ran.out.find(" 5 6\n"), std::string::npos) << ran.out;
}

TEST(Init, AStructByTheFieldsThatAreRead) {
    const Folder folder;
    put(folder, "launches.sm_80.ptx");
    Json j = init(folder, "scaled");
    ASSERT_EQ(j["args"].size(), 1u);
    const Json& fields = j["args"][0]["struct"];
    ASSERT_EQ(fields.size(), 6u) << fields;
    EXPECT_EQ(fields[0]["u32"], Json({0, 0}));
    EXPECT_EQ(fields[1]["pointer"], "p0_8");
    EXPECT_EQ(fields[2]["pointer"], "p0_16");
    EXPECT_EQ(fields[3]["f32"], 0);
    EXPECT_EQ(fields[4]["pad"], 436);
    EXPECT_EQ(fields[5]["u64"], 0);
    EXPECT_EQ(fields[5]["comment"], "byte 464");
    for (const char* name : {"p0_8", "p0_16"}) j["buffers"][name]["bytes"] = 4096;
    folder.write("k.json", j.dump());
    EXPECT_EQ(run(folder, {"init", "k.json"}).status, 0);
    EXPECT_EQ(run(folder, {"run", "k.json"}).status, 0);
}

TEST(Init, NamesTypesBlocksAndVariables) {
    const Folder folder;
    folder.write("k.ptx", R"(.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 more[];
.const .align 4 .b8 _ZL4taps[64];
.entry _Z5scalePfPKdi4Mapsf(.param .u64 a, .param .u64 b, .param .u32 n,
  .param .align 64 .b8 m[128], .param .f32 x) .maxntid 64, 2, 1 {
.reg .b32 %r; .shared .align 4 .b8 fixed[512]; mov.u32 %r, fixed; mov.u32 %r, more; ret; }
.entry other() { ret; }
)");
    const Json j = init(folder, "scale");
    EXPECT_EQ(j["entry"], "_Z5scalePfPKdi4Mapsf");
    EXPECT_EQ(j["block"], Json({64, 2, 1}));
    EXPECT_EQ(j["args"][0]["buffer"], "a");
    EXPECT_EQ(j["args"][2]["s32"], 0);
    EXPECT_EQ(j["args"][3]["bytes"].get<std::string>().size(), 256u);
    EXPECT_NE(j["args"][3]["comment"].get<std::string>().find("tensor map"), std::string::npos);
    EXPECT_EQ(j["args"][4]["f32"], 0);
    EXPECT_EQ(j["args"][1]["comment"], "parameter 1, 8 bytes, aligned to 8: double const*");
    EXPECT_EQ(j["outputs"], Json({"a"}));
    const std::string notes = j["comment"].dump();
    for (const char* part :
         {"scale(float*, double const*, int, Maps, float)", "64 x 2 x 1",
          "512 bytes of static shared memory", "dynamic_shared", "__constant__ taps, 64 bytes"})
        EXPECT_NE(notes.find(part), std::string::npos) << part << "\n" << notes;
    EXPECT_EQ(run(folder, {"init", "k.ptx"}).status, 2);
    EXPECT_EQ(run(folder, {"init", "k.ptx", "nothing"}).status, 2);
    EXPECT_EQ(run(folder, {"init", "none.ptx"}).status, 2);
    EXPECT_EQ(run(folder, {"init", "k.json", "scale"}).status, 2);
}

TEST(Init, WhatALaunchFileLacks) {
    const Folder folder;
    put(folder, "launches.sm_80.ptx");
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "split",
  "grid": [1], "block": [32], "buffers": {"A": {"bytes": 64}}, "args": [{"buffer": "A"}]})");
    const Ended e = run(folder, {"init", "k.json"});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_NE(e.out.find("split: argument 3: parameter 'split_param_3' of 4 bytes has none\n"),
              std::string::npos)
        << e.out;
    EXPECT_NE(e.out.find("no outputs are named and nothing is expected"), std::string::npos);
}

TEST(Init, TypesOfDemangledNames) {
    using Types = std::vector<std::string>;
    EXPECT_EQ(launch::parameter_types("f(int, float*)"), (Types{"int", "float*"}));
    EXPECT_EQ(launch::parameter_types("void a::f<b(1), c<int, 2>>(p<int, 3>, q&)"),
              (Types{"p<int, 3>", "q&"}));
    EXPECT_EQ(launch::parameter_types("(anonymous namespace)::f(x (*)(int, int), y)"),
              (Types{"x (*)(int, int)", "y"}));
    EXPECT_EQ(launch::parameter_types("f()"), Types{});
    EXPECT_EQ(launch::parameter_types("plain"), Types{});
}

TEST(Init, KernelsThatAreTests) {
    const Folder folder;
    std::vector<std::string> words{"run"};
    for (const char* name : {"eighteen", "grouped", "scaled", "split_combine"})
        words.push_back(kernels + std::string("launches_") + name + ".json");
    const Ended e = run(folder, words);
    EXPECT_EQ(e.status, 0) << e.out << e.err;
    EXPECT_TRUE(
        e.out.ends_with("as expected: 4 of 4 launch files as expected, 0 failed, 0 not run\n"))
        << e.out;
}

}  // namespace
}  // namespace lockwarp::tools
