// SPDX-License-Identifier: Apache-2.0
// lockwarp init: launch files to fill in, and what one lacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <utility>

#include "emu/lockwarp.hpp"
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
    const Ended e = run_here(folder, {"init", "k.ptx", entry});
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
    const Ended gaps = run_here(folder, {"init", "k.json"});
    EXPECT_EQ(gaps.status, 1) << gaps.err;
    EXPECT_TRUE(gaps.out.starts_with("eighteen: k.json:")) << gaps.out;
    EXPECT_TRUE(gaps.out.ends_with("buffer 'p17' has 0 bytes\n")) << gaps.out;
    j["buffers"]["p17"]["bytes"] = 256 * 4;
    j["args"][3]["u32"] = 5;
    folder.write("k.json", j.dump());
    EXPECT_EQ(run_here(folder, {"init", "k.json"}).out, "complete: k.json\n");
    const Ended ran = run_here(folder, {"run", "k.json", "--print", "p17:s64:1x2"});
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
    EXPECT_EQ(run_here(folder, {"init", "k.json"}).status, 0);
    EXPECT_EQ(run_here(folder, {"run", "k.json"}).status, 0);
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
    EXPECT_EQ(run_here(folder, {"init", "k.ptx"}).status, 2);
    EXPECT_EQ(run_here(folder, {"init", "k.ptx", "nothing"}).status, 2);
    EXPECT_EQ(run_here(folder, {"init", "none.ptx"}).status, 2);
    EXPECT_EQ(run_here(folder, {"init", "k.json", "scale"}).status, 2);
}

// What the kernel only stores to need not have a value before it.
TEST(Init, WhatIsOnlyStoredToIsUndefined) {
    const Folder folder;
    folder.write("k.ptx", R"(.version 7.0
.target sm_80
.address_size 64
.entry k(.param .u64 out, .param .u64 both, .param .u64 in, .param .u64 sum, .param .u64 kept,
         .param .u64 unused) {
.reg .b64 %d<12>; .reg .b32 %r<4>; .reg .pred %p;
ld.param.u64 %d1, [out]; ld.param.u64 %d2, [both]; ld.param.u64 %d3, [in];
ld.param.u64 %d4, [sum]; ld.param.u64 %d5, [kept];
cvta.to.global.u64 %d6, %d1;
mov.u32 %r1, %tid.x;
mul.wide.u32 %d7, %r1, 4;
loop: add.u64 %d8, %d6, %d7;
ld.global.u32 %r2, [%d3];
st.global.u32 [%d8+4], %r2;
add.u64 %d6, %d6, 128;
setp.lt.u64 %p, %d6, %d8;
@%p bra loop;
ld.global.u32 %r3, [%d2];
st.global.u32 [%d2], %r3;
red.global.add.u32 [%d4], %r3;
st.global.u64 [%d2+8], %d5;
st.global.u32 [%d5], %r3;
ret; }
)");
    const Json j = init(folder, "k");
    EXPECT_EQ(j["buffers"]["out"]["init"], "undefined");
    for (const char* name : {"both", "in", "sum", "kept"})
        EXPECT_EQ(j["buffers"][name]["init"], Json({{"fill", 0}})) << name;
}

TEST(Init, WhatALaunchFileLacks) {
    const Folder folder;
    put(folder, "launches.sm_80.ptx");
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "split",
  "grid": [1], "block": [32], "buffers": {"A": {"bytes": 64}}, "args": [{"buffer": "A"}]})");
    const Ended e = run_here(folder, {"init", "k.json"});
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

TEST(Init, AStructByDebugInformation) {
    const Folder folder;
    put(folder, "launches_G.sm_80.ptx");
    const Json j = init(folder, "scaled");
    EXPECT_EQ(j["args"][0]["comment"], "parameter 0 'p', 472 bytes, aligned to 8: Scaled");
    const Json& fields = j["args"][0]["struct"];
    ASSERT_EQ(fields.size(), 6u) << fields;
    EXPECT_EQ(fields[0], Json::parse(R"({"struct": [{"s32": 0, "comment": "terms"},
                                         {"s32": 0, "comment": "stride"}],
                              "comment": "shape: Shape"})"));
    EXPECT_EQ(fields[1], Json::parse(R"({"pointer": "in", "comment": "in"})"));
    EXPECT_EQ(fields[3], Json::parse(R"({"f32": 0, "comment": "scale"})"));
    EXPECT_EQ(fields[4], Json::parse(R"({"u8": [0, 0, 0, 0], "comment": "flags"})"));
    EXPECT_EQ(fields[5], Json::parse(R"({"pad": 440,
                              "comment": "strides[0] to strides[54]: long long"})"));
    EXPECT_EQ(j["buffers"]["in"]["init"]["random"]["type"], "f32");
    EXPECT_EQ(j["buffers"]["out"]["comment"], "fill in the bytes of this float*");
    EXPECT_EQ(j["outputs"], Json({"out"}));
}

// Members of every kind, in a struct of their own alignment and in a packed one.
TEST(Init, EveryKindOfMember) {
    const Folder folder;
    const auto text = launch::read_text(LOCKWARP_SOURCE_DIR "/tests/tools/data/members_G.sm_90.ptx",
                                        uint64_t{1} << 28);
    ASSERT_TRUE(text);
    folder.write("k.ptx", *text);
    const Json j = init(folder, "members");
    const std::string expected_text =
        *launch::read_text(LOCKWARP_SOURCE_DIR "/tests/tools/data/members.json", 1 << 20);
    const Json expected = Json::parse(expected_text);
    EXPECT_EQ(j["args"], expected["args"]) << j["args"].dump(1);
    EXPECT_EQ(j["buffers"], expected["buffers"]) << j["buffers"].dump(1);
    EXPECT_EQ(j["comment"], expected["comment"]) << j["comment"].dump(1);
}

// Damaged debug information: a launch file comes out, and whatever it says it is one.
TEST(Init, DamagedDebugInformation) {
    const std::string text = *launch::read_text(
        LOCKWARP_SOURCE_DIR "/tests/tools/data/members_G.sm_90.ptx", uint64_t{1} << 28);
    ptx::Parsed parsed = ptx::parse(text);
    const isa::Program program = isa::resolve(parsed.module, isa::Arch::sm_90, "members").program;
    std::mt19937 random(3);
    size_t with_names = 0;
    for (int round = 0; round < 400; ++round) {
        ptx::Module damaged = parsed.module;
        for (auto& item : damaged.items) {
            auto* d = std::get_if<ptx::Directive>(&item);
            if (d == nullptr || d->name != ".section") continue;
            std::string& data = d->operands[1].text;
            for (int i = 0; i < 1 + round % 4; ++i) {
                const size_t at = random() % data.size();
                if (data[at] >= '0' && data[at] <= '9')
                    data[at] = static_cast<char>('0' + random() % 10);
            }
        }
        const std::string made =
            launch::skeleton(damaged, std::span(&program, 1), "k.ptx", ptx::debug_info(damaged));
        const Json j = Json::parse(made, nullptr, false);
        ASSERT_TRUE(j.is_object()) << made;
        ASSERT_EQ(j["args"].size(), 6u);
        ASSERT_LT(made.size(), 100'000u);
        with_names += made.find("'packed'") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(with_names, 0u);
}

// An instruction that is known but not executed does not stand in the way.
TEST(Init, OfAKernelThatOnlyAGpuExecutes) {
    const Folder folder;
    const std::string before = "tcgen05.fence::before_thread_sync;\n";
    const std::string after = "tcgen05.fence::after_thread_sync;\n";
    const std::string warning =
        "k.ptx:5: Instruction 'tcgen05.fence::before_thread_sync' is not executed yet; the launch "
        "file is for a GPU";
    for (const auto& [body, words] :
         {std::pair(before, warning + "\n"), std::pair(before + before, warning + "\n"),
          std::pair(before + after + "{" + after + "}", warning + " (2 such)\n")}) {
        folder.write("k.ptx",
                     ".version 8.6\n.target sm_100a\n.address_size 64\n"
                     ".entry k(.param .u64 out) {\n" +
                         body + "ret; }\n");
        const Ended e = run_here(folder, {"init", "k.ptx"});
        ASSERT_EQ(e.status, 0) << e.err;
        EXPECT_NE(e.err.find(words), std::string::npos) << e.err;
        EXPECT_EQ(Json::parse(e.out)["args"].size(), 1u) << e.out;
    }
}

// What is beside it on its line, or beneath it in its column, stays: by the call of a function its
// shared memory is the kernel's.
TEST(Init, OnlyWhatAGpuAloneExecutesIsLeftOut) {
    const Folder folder;
    for (const char* body : {"tcgen05.fence::before_thread_sync; call f;",
                             "tcgen05.fence::before_thread_sync;\ncall f;",
                             "{ tcgen05.fence::before_thread_sync; }\ncall f;"}) {
        folder.write("k.ptx", std::string(".version 8.6\n.target sm_100a\n.address_size 64\n"
                                          ".func f() {\n.shared .b8 tile[64]; .reg .b32 %r;\n"
                                          "mov.u32 %r, tile;\nret; }\n"
                                          ".entry k(.param .u64 out) {\n") +
                                  body + "\nret; }\n");
        const Ended e = run_here(folder, {"init", "k.ptx"});
        ASSERT_EQ(e.status, 0) << e.err;
        EXPECT_NE(e.out.find("64 bytes of static shared memory"), std::string::npos) << e.out;
    }
}

// Where a tensor map is, and what the instructions say of it.
TEST(Init, TensorMaps) {
    const Folder folder;
    folder.write("k.ptx", R"(.version 8.0
.target sm_90
.address_size 64
.entry k(.param .align 64 .b8 maps[320], .param .align 64 .b8 one[128]) {
.reg .b64 %a<4>; .reg .b32 %r; .reg .b32 %n;
ld.param.u32 %n, [maps+128];
mov.b64 %a0, maps;
add.s64 %a1, %a0, 192;
cvta.param.u64 %a2, %a1;
prefetch.tensormap [%a2];
mov.b64 %a3, one;
cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%a3, {%r, %r, %r}];
ret; }
)");
    const Ended e = run_here(folder, {"init", "k.ptx"});
    ASSERT_EQ(e.status, 0) << e.err;
    const Json j = Json::parse(e.out);
    const Json& fields = j["args"][0]["struct"];
    ASSERT_EQ(fields.size(), 4u) << fields;
    EXPECT_EQ(fields[0]["pad"], 128);
    EXPECT_EQ(fields[1]["u32"], 0);
    EXPECT_EQ(fields[2]["pad"], 60);
    EXPECT_EQ(fields[3]["bytes"].get<std::string>().size(), 256u);
    EXPECT_EQ(fields[3]["comment"],
              "byte 192: a tensor map: {\"tensorMap\": NAME} of tensorMaps in its place; "
              "prefetch.tensormap "
              "at line 10");
    EXPECT_EQ(j["args"][1]["comment"],
              "parameter 1, 128 bytes, aligned to 64; a tensor map: {\"tensorMap\": NAME} of "
              "tensorMaps in its place; cp.async.bulk.prefetch.tensor.3d.L2.global.tile (3 "
              "dimensions, tile) "
              "at line 12");
}

// What two values have in common when numbers, names and comments are left out.
Json structure(const Json& j) {
    Json out = j;
    if (j.is_object()) {
        out.erase("comment");
        for (auto& member : out.items()) member.value() = structure(member.value());
    } else if (j.is_array()) {
        for (Json& item : out) item = structure(item);
    } else {
        return nullptr;
    }
    return out;
}

// The skeleton with what a committed file has in its places.
Json filled(Json skeleton, const Json& given) {
    EXPECT_EQ(structure(skeleton["args"]), structure(given["args"]));
    skeleton["args"] = given["args"];
    for (const char* name : {"grid", "block"}) skeleton[name] = given[name];
    return skeleton;
}

// The launch files of gpu/kernels are what init prints, with sizes, values and what is expected.
TEST(Init, CommittedFilesAreFilledSkeletons) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> files{
        {"eighteen", {"eighteen"}},
        {"grouped", {"grouped"}},
        {"scaled", {"scaled"}},
        {"split_combine", {"split", "combine"}}};
    const std::string text =
        *launch::read_text(std::string(kernels) + "launches.sm_80.ptx", uint64_t{1} << 28);
    const std::string debug =
        *launch::read_text(std::string(kernels) + "launches_G.sm_80.ptx", uint64_t{1} << 28);
    const ptx::Module module = ptx::parse(text).module;
    const ptx::DebugInfo info = ptx::debug_info(ptx::parse(debug).module);
    const Folder folder;
    folder.write("launches.sm_80.ptx", text);
    for (const auto& [name, entries] : files) {
        std::vector<isa::Program> programs;
        for (const std::string& entry : entries)
            programs.push_back(isa::resolve(module, isa::Arch::sm_80, entry).program);
        Json made = Json::parse(launch::skeleton(module, programs, "launches.sm_80.ptx", info));
        const Json given = Json::parse(
            *launch::read_text(kernels + ("launches_" + name + ".json"), uint64_t{1} << 20));
        EXPECT_EQ(made["ptx"], given["ptx"]);
        for (const auto& buffer : made["buffers"].items()) {
            ASSERT_TRUE(given["buffers"].contains(buffer.key())) << name << " " << buffer.key();
            Json fields = buffer.value();
            fields.erase("comment");
            for (const auto& member : fields.items())
                EXPECT_TRUE(given["buffers"][buffer.key()].contains(member.key()))
                    << name << " " << buffer.key() << " " << member.key();
        }
        for (const Json& output : made["outputs"])
            EXPECT_NE(std::ranges::find(given["outputs"], output), given["outputs"].end());
        made["buffers"] = given["buffers"];
        if (given.contains("launches")) {
            ASSERT_EQ(made["launches"].size(), given["launches"].size());
            for (size_t i = 0; i < entries.size(); ++i) {
                EXPECT_EQ(made["launches"][i]["entry"], given["launches"][i]["entry"]);
                made["launches"][i] = filled(made["launches"][i], given["launches"][i]);
            }
        } else {
            EXPECT_EQ(made["entry"], given["entry"]);
            made = filled(made, given);
        }
        made["expect"] = given["expect"];
        folder.write(name + ".json", made.dump());
        const Ended ran = run_here(folder, {"run", name + ".json"});
        EXPECT_EQ(ran.status, 0) << name << ran.out << ran.err;
    }
}

TEST(Init, SeveralKernels) {
    const Folder folder;
    put(folder, "launches_G.sm_80.ptx");
    const Ended e = run_here(folder, {"init", "k.ptx", "split", "combine"});
    ASSERT_EQ(e.status, 0) << e.err;
    const Json j = Json::parse(e.out);
    ASSERT_EQ(j["launches"].size(), 2u);
    EXPECT_EQ(j["launches"][0]["args"][2]["buffer"], "parts");
    EXPECT_EQ(j["launches"][1]["args"][0]["buffer"], "parts");
    // What lies between them is no output.
    EXPECT_EQ(j["outputs"], Json({"D"}));
    // Without names and types of the source nothing is shared.
    put(folder, "launches.sm_80.ptx");
    const Ended plain = run_here(folder, {"init", "k.ptx", "split", "combine"});
    EXPECT_EQ(Json::parse(plain.out)["buffers"].size(), 5u) << plain.out;
}

TEST(Init, KernelsThatAreTests) {
    const Folder folder;
    std::vector<std::string> words{"run"};
    for (const char* name : {"eighteen", "grouped", "scaled", "split_combine"})
        words.push_back(kernels + std::string("launches_") + name + ".json");
    const Ended e = run_here(folder, words);
    EXPECT_EQ(e.status, 0) << e.out << e.err;
    EXPECT_TRUE(
        e.out.ends_with("as expected: 4 of 4 launch files as expected, 0 failed, 0 not run\n"))
        << e.out;
}

}  // namespace
}  // namespace lockwarp::tools
