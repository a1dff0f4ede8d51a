// SPDX-License-Identifier: Apache-2.0
// Launch files to fill in, of kernels without debug information: the whole text, parameters by the
// fields that the code reads, and what a launch file lacks.
#include "launch/skeleton.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "emu/lockwarp.hpp"
#include "launch/variables.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

using Tree = nlohmann::ordered_json;

std::string skeleton_of(const std::string& text, const std::vector<std::string>& names) {
    const ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty()) << text;
    std::vector<isa::Program> programs;
    for (const std::string& name : names)
        programs.push_back(isa::resolve(parsed.module, isa::Arch::sm_90, name).program);
    return skeleton(parsed.module, programs, "dir/k.ptx", {});
}

constexpr const char* module = R"(.version 7.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.global .align 4 .u32 _ZN1n5countE[3];
.global .align 1 .u8 flag;
.const .align 8 .f64 _ZL5scale = 0d3FF0000000000000;
.visible .entry _Z5firstPfPKdijlxdfyh(.param .u64 out, .param .u64 a_name_that_is_long,
  .param .b32 n, .param .b32 m, .param .b64 e, .param .u64 g, .param .b64 h, .param .b32 i,
  .param .u64 j, .param .u8 k$1) .reqntid 8, 4
{
.reg .b64 %d<4>; .reg .b32 %r<3>; .shared .align 4 .b8 tile[64];
ld.param.u64 %d1, [out];
ld.param.u64 %d2, [a_name_that_is_long];
ld.global.u32 %r1, [%d2];
st.global.u32 [%d1], %r1;
st.shared.u32 [tile], %r1;
ret;
}
.visible .entry second(.param .u64 .ptr .global .align 16 p, .param .f32 x, .param .b16 y)
{
ret;
}
)";

TEST(Skeleton, OfOneKernel) {
    const std::string is = R"json({
  "schema": "lockwarp-launch/1",
  "ptx": "dir/k.ptx",
  "entry": "_Z5firstPfPKdijlxdfyh",
  "comment": [
    "first(float*, double const*, int, unsigned int, long, long long, double, float, unsigned long long, unsigned char)",
    "the block must be 8 x 4 x 1",
    "64 bytes of static shared memory; it has dynamic shared memory: fill in dynamic_shared",
    "__device__ n::count, 12 bytes: it may be set in \"variables\"",
    "__device__ flag, 1 byte: it may be set in \"variables\"",
    "__constant__ scale, 8 bytes: it may be set in \"variables\"",
    "__shared__ tile, 64 bytes"
  ],
  "grid": [1, 1, 1],
  "block": [8, 4, 1],
  "dynamic_shared": 0,
  "buffers": {
    "out": {"bytes": 0, "init": "undefined", "comment": "fill in the bytes of this float*"},
    "p1": {"bytes": 0, "init": {"fill": 0}, "comment": "fill in the bytes of this double const*"}
  },
  "args": [
    {"buffer": "out", "comment": "parameter 0, 8 bytes, aligned to 8: float*"},
    {"buffer": "p1", "comment": "parameter 1, 8 bytes, aligned to 8: double const*"},
    {"s32": 0, "comment": "parameter 2, 4 bytes, aligned to 4: int"},
    {"u32": 0, "comment": "parameter 3, 4 bytes, aligned to 4: unsigned int"},
    {"s64": 0, "comment": "parameter 4, 8 bytes, aligned to 8: long"},
    {"s64": 0, "comment": "parameter 5, 8 bytes, aligned to 8: long long"},
    {"f64": 0, "comment": "parameter 6, 8 bytes, aligned to 8: double"},
    {"f32": 0, "comment": "parameter 7, 4 bytes, aligned to 4: float"},
    {"u64": 0, "comment": "parameter 8, 8 bytes, aligned to 8: unsigned long long"},
    {"u8": 0, "comment": "parameter 9, 1 byte, aligned to 1: unsigned char"}
  ],
  "outputs": ["out"]
}
)json";
    EXPECT_EQ(skeleton_of(module, {"_Z5firstPfPKdijlxdfyh"}), is);
}

TEST(Skeleton, OfTwoKernels) {
    const Tree j = Tree::parse(skeleton_of(module, {"second", "_Z5firstPfPKdijlxdfyh"}));
    std::vector<std::string> names;
    for (const auto& [name, value] : j.items()) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"schema", "ptx", "buffers", "launches", "outputs"}));
    ASSERT_EQ(j["launches"].size(), 2u);
    EXPECT_EQ(j["launches"][0].dump(),
              R"({"entry":"second","comment":["second","the kernel states no size of its block: )"
              R"(fill it in","0 bytes of static shared memory; it has dynamic shared memory: fill )"
              R"(in dynamic_shared","__device__ n::count, 12 bytes: it may be set in )"
              R"(\"variables\"","__device__ flag, 1 byte: it may be set in \"variables\"",)"
              R"("__constant__ scale, 8 bytes: it may be set in \"variables\""],"grid":[1,1,1],)"
              R"("block":[128,1,1],"dynamic_shared":0,"args":[{"buffer":"p","comment":"parameter 0)"
              R"(, 8 bytes, aligned to 8"},{"f32":0,"comment":"parameter 1, 4 bytes, aligned to 4)"
              R"("},{"u16":0,"comment":"parameter 2, 2 bytes, aligned to 2"}]})");
    EXPECT_EQ(j["launches"][1]["args"].size(), 10u);
    EXPECT_EQ(j["buffers"]["p"].dump(),
              R"({"bytes":0,"init":{"fill":0},"comment":"fill in the bytes"})");
    EXPECT_EQ(j["buffers"].size(), 3u);
    EXPECT_EQ(j["outputs"], Tree({"p", "out"}));
}

TEST(Skeleton, BlocksOfKernels) {
    const auto block = [](const std::string& directives) {
        const Tree j =
            Tree::parse(skeleton_of(".version 7.8\n.target sm_90\n.address_size 64\n"
                                    ".global .u32 v;\n.entry k() " +
                                        directives + " { ret; }\n",
                                    {"k"}));
        EXPECT_EQ(j["comment"][2], "0 bytes of static shared memory");
        return j["block"].dump() + " " + j["comment"][1].get<std::string>();
    };
    EXPECT_EQ(block(""), "[128,1,1] the kernel states no size of its block: fill it in");
    EXPECT_EQ(block(".maxntid 64, 2, 3"),
              "[64,2,3] the block has at most the threads of 64 x 2 x 3");
    EXPECT_EQ(block(".reqntid 5"), "[5,1,1] the block must be 5 x 1 x 1");
}

// Names of parameters as they are, where those are short; what is no ASCII, as JSON escapes it.
TEST(Skeleton, NamesOfBuffers) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 7.8\n.target sm_90\n.address_size 64\n.entry k(.param .u64 twelve_of_it, "
        ".param .u64 thirteen_ofit, .param .u64 dollar$) {\n.reg .b64 %d<4>; .reg .b32 %r;\n"
        "ld.param.u64 %d1, [twelve_of_it]; ld.param.u64 %d2, [thirteen_ofit]; "
        "ld.param.u64 %d3, [dollar$]; ld.global.u32 %r, [%d1]; ld.global.u32 %r, [%d2]; "
        "ld.global.u32 %r, [%d3]; ret; }\n");
    const std::vector<isa::Program> one{isa::resolve(parsed.module, isa::Arch::sm_90, "k").program};
    const std::string text = skeleton(parsed.module, one, "dir\\\"\xc3\xa4,:\".ptx", {});
    std::vector<std::string> names;
    const Tree j = Tree::parse(text);
    for (const auto& [name, value] : j["buffers"].items()) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"twelve_of_it", "p1", "p2"}));
    EXPECT_NE(text.find("  \"ptx\": \"dir\\\\\\\"\\u00e4,:\\\".ptx\",\n"), std::string::npos)
        << text;
}

// What fits in 100 columns, with a comma behind it, stands on one line, and nothing else does.
TEST(Skeleton, LinesAreAsLongAsTheyMayBe) {
    std::set<size_t> longest, broken;  // columns of lines, and of what was broken into lines
    for (size_t letters = 1; letters <= 100; ++letters) {
        const std::string name(letters, 'k');
        const std::string text = skeleton_of(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry " + name +
                "(.param .u64 p, .param .align 4 .b8 s[8]) .reqntid 5 {\n.reg .b32 %r<3>;\n"
                "ld.param.u32 %r1, [s]; ld.param.u32 %r2, [s+4];\nret; }\n"
                ".entry " +
                name + "i(.param .u64 p) { ret; }\n",
            {name, name + "i"});
        std::vector<std::string> open{""};  // what stands so far of the structures that are open
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);) {
            const std::string said = line.substr(line.find_first_not_of(' '));
            const bool closes = said[0] == '}' || said[0] == ']';
            const bool opens = said.ends_with('{') || said.ends_with('[');
            if (!closes && !opens && line.find_first_of("{[") != std::string::npos)
                longest.insert(line.size() - line.ends_with(','));
            if (closes) {
                std::string whole = open.back();
                whole.pop_back();  // a space
                whole += said;
                open.pop_back();
                if (open.size() > 1) broken.insert(whole.size() - whole.ends_with(','));
                open.back() += whole.substr(whole.find_first_not_of(' ')) + " ";
            } else if (opens) {
                open.push_back(line);
            } else {
                open.back() += said + " ";
            }
        }
    }
    EXPECT_EQ(*longest.rbegin(), 99u);
    EXPECT_EQ(*broken.begin(), 100u);
}

// A parameter of bytes, by what is read of it.
Tree structure(unsigned bytes, unsigned alignment, const std::string& body) {
    return Tree::parse(skeleton_of(
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .align " +
            std::to_string(alignment) + " .b8 p[" + std::to_string(bytes) +
            "]) {\n.reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<5>;\n" +
            ".shared .b64 bar;\n" + body + "\nret; }\n",
        {"k"}));
}

std::string fields(unsigned bytes, unsigned alignment, const std::string& body) {
    Tree argument = structure(bytes, alignment, body)["args"][0];
    const std::string words = "parameter 0, " + std::to_string(bytes) +
                              (bytes == 1 ? " byte" : " bytes") + ", aligned to " +
                              std::to_string(alignment);
    EXPECT_EQ(argument["comment"].get<std::string>().substr(0, words.size()), words);
    std::string more = argument["comment"].get<std::string>().substr(words.size());
    argument.erase("comment");
    return argument.dump() + more;
}

std::string zeros(unsigned bytes) { return std::string(size_t{2} * bytes, '0'); }

TEST(Skeleton, StructsByTheFieldsThatAreRead) {
    EXPECT_EQ(fields(1, 1, ""), R"({"struct":[]})");
    EXPECT_EQ(fields(2, 1, ""), R"({"struct":[{"pad":2}]})");
    EXPECT_EQ(fields(1, 1, "ld.param.u8 %h1, [p];"), R"({"struct":[{"u8":0,"comment":"byte 0"}]})");
    EXPECT_EQ(fields(16, 8, "ld.param.u32 %r1, [p]; ld.param.b64 %d1, [p+8];"),
              R"({"struct":[{"u32":0,"comment":"byte 0"},{"u64":0,"comment":"byte 8"}]})");
    EXPECT_EQ(fields(24, 8, "ld.param.s32 %r1, [p+12];"),
              R"({"struct":[{"pad":12},{"s32":0,"comment":"byte 12"},{"pad":8}]})");
    EXPECT_EQ(fields(6, 2, "ld.param.u32 %r1, [p];"), "{\"bytes\":\"" + zeros(6) + "\"}");
    EXPECT_EQ(fields(8, 4, "ld.param.u32 %r1, [p+2];"),
              R"({"struct":[{"pad":2},{"bytes":"00000000","comment":"byte 2"},{"pad":2}]})");
    EXPECT_EQ(fields(32, 16,
                     "ld.param.v2.f32 {%f1, %f2}, [p+8]; "
                     "ld.param.v4.b32 {%r1, %r2, %r3, %r4}, [p+16];"),
              R"({"struct":[{"pad":8},{"f32":[0,0],"comment":"byte 8"},)"
              R"({"u32":[0,0,0,0],"comment":"byte 16"}]})");
    const Tree pointers = structure(24, 8,
                                    "ld.param.u64 %d1, [p]; ld.param.u64 %d2, [p+16]; "
                                    "st.global.u32 [%d2], %r1;");
    EXPECT_EQ(pointers["args"][0]["struct"].dump(),
              R"([{"u64":0,"comment":"byte 0"},{"pad":8},{"pointer":"p_16","comment":"byte 16"}])");
    EXPECT_EQ(pointers["buffers"].dump(),
              R"({"p_16":{"bytes":0,"init":{"fill":0},"comment":"fill in the bytes"}})");
    EXPECT_EQ(pointers["outputs"].dump(), R"(["p_16"])");
}

TEST(Skeleton, TensorMapsInParameters) {
    const std::string words = "a tensor map: {\"tensorMap\": NAME} of tensorMaps in its place";
    EXPECT_EQ(fields(128, 64, ""), "{\"bytes\":\"" + zeros(128) + "\"}; " + words);
    EXPECT_EQ(fields(128, 32, ""), R"({"struct":[{"pad":128}]})");
    EXPECT_EQ(fields(128, 128, "ld.param.u32 %r1, [p+4];"),
              R"({"struct":[{"pad":4},{"u32":0,"comment":"byte 4"},{"pad":120}]})");
    EXPECT_EQ(fields(192, 64, ""), R"({"struct":[{"pad":192}]})");
    const std::string map = "mov.b64 %d1, p; ";
    EXPECT_EQ(fields(128, 16, map + "prefetch.tensormap [%d1]; ld.param.u32 %r1, [p];"),
              "{\"bytes\":\"" + zeros(128) + "\"}; " + words + "; prefetch.tensormap at line 7");
    const auto placed = [&](unsigned at, const std::string& uses) {
        return "{\"bytes\":\"" + zeros(128) + "\",\"comment\":\"byte " + std::to_string(at) +
               ": a tensor map: {\\\"tensorMap\\\": NAME} of tensorMaps in its place" + uses +
               "\"}";
    };
    const std::string use = "; prefetch.tensormap at line 7";
    EXPECT_EQ(fields(384, 64,
                     map + "add.u64 %d2, %d1, 64; add.u64 %d3, %d1, 256; "
                           "prefetch.tensormap [%d3]; prefetch.tensormap [%d2]; "
                           "prefetch.tensormap [%d2]; ld.param.u32 %r1, [p+100]; "
                           "ld.param.u32 %r2, [p+192]; ld.param.u32 %r3, [p+4];"),
              "{\"struct\":[{\"pad\":4},{\"u32\":0,\"comment\":\"byte 4\"},{\"pad\":56}," +
                  placed(64, use + use) + ",{\"u32\":0,\"comment\":\"byte 192\"},{\"pad\":60}," +
                  placed(256, use) + "]}");
    EXPECT_EQ(fields(160, 32, map + "add.u64 %d2, %d1, 33; prefetch.tensormap [%d2];"),
              R"({"struct":[{"pad":160}]})")
        << "a map does not fit behind it";
    EXPECT_EQ(fields(160, 32, map + "add.u64 %d2, %d1, 32; prefetch.tensormap [%d2];"),
              "{\"struct\":[{\"pad\":32}," + placed(32, use) + "]}");
    EXPECT_EQ(fields(256, 64,
                     map + "add.u64 %d2, %d1, 64; prefetch.tensormap [%d1]; "
                           "prefetch.tensormap [%d2];"),
              "{\"struct\":[" + placed(0, use) + ",{\"pad\":128}]}")
        << "of two that overlap the first";
}

TEST(Skeleton, TypesInNames) {
    using Types = std::vector<std::string>;
    const std::pair<const char*, Types> rows[] = {
        {"f(int)", {"int"}},
        {"f(a<int, b<c>>, d)", {"a<int, b<c>>", "d"}},
        {"f(int, )", {"int"}},
        {"f(a,b,  c)", {"a", "b", "c"}},
        {"(anonymous namespace)::f(a, b)", {"a", "b"}},
        {"f({lambda(int, char)#1}, x)", {"{lambda(int, char)#1}", "x"}},
        {"f(int (&) [3], y)", {"int (&) [3]", "y"}},
        {"t<(a)1, 2>(x, y)", {"x", "y"}},
        {"n::(anonymous namespace)::f<(anonymous namespace)::t>((anonymous namespace)::t, u)",
         {"(anonymous namespace)::t", "u"}},
        {"f(int", {}},
        {"f", {}},
        {"f()", {}},
        {"", {}},
        {"f(a) [clone b(c)]", {"a"}},
    };
    for (const auto& [name, types] : rows) EXPECT_EQ(parameter_types(name), types) << name;
}

// What is missing, each alone.
TEST(MissingInLaunchFiles, EachGap) {
    std::string text = R"(.version 7.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.entry free(.param .u64 a, .param .u32 n) { ret; }
.entry most(.param .u64 a, .param .u32 n) .maxntid 8, 4, 2 { ret; }
.entry fixed(.param .u64 a, .param .u32 n) .reqntid 8, 4 { ret; }
)";
    const auto missing = [&](const std::string& entry, const std::string& block,
                             const std::string& rest) {
        Input in;
        const std::string file = R"({"schema": "lockwarp-launch/1", "ptx": "k", "entry": ")" +
                                 entry + R"(", "grid": [1], "block": )" + block + rest + "}";
        EXPECT_EQ(take(parse_launch_file(file, "x.json"), in.launch), "") << file;
        in.module = ptx::parse(text).module;
        std::vector<std::string> out =
            missing_in(in, isa::resolve(in.module, isa::Arch::sm_90, entry).program);
        for (std::string& s : out)
            if (s.starts_with("x.json:1:")) s = s.substr(s.find(": ") + 2);
        return out;
    };
    using Sentences = std::vector<std::string>;
    const std::string good = R"(, "dynamic_shared": 1, "buffers": {"A": {"bytes": 4}},
        "args": [{"buffer": "A"}, {"u32": 1}], "outputs": ["A"])";
    EXPECT_EQ(missing("free", "[1024]", good), Sentences{});
    EXPECT_EQ(missing("most", "[64]", good), Sentences{});
    EXPECT_EQ(
        missing("most", "[65]", good),
        Sentences{"the block has 65 threads, the block has at most the threads of 8 x 4 x 2"});
    EXPECT_EQ(missing("fixed", "[8, 4]", good), Sentences{});
    for (const char* block : {"[8, 4, 2]", "[4, 8]", "[32]"})
        EXPECT_EQ(missing("fixed", block, good).back(),
                  "the block is not what the kernel requires: the block must be 8 x 4 x 1");
    EXPECT_EQ(
        missing("free", "[1]", R"(, "buffers": {"A": {"bytes": 4}, "B": {"bytes": 0}},
        "args": [{"buffer": "A"}])"),
        (Sentences{"x.json: field 'args': 1 given, the kernel free has 2; missing: n (4 bytes)",
                   "argument 1: parameter 'n' of 4 bytes has none", "buffer 'B' has 0 bytes",
                   "the module has dynamic shared memory, dynamic_shared is 0",
                   "no outputs are named and nothing is expected"}));
    EXPECT_EQ(missing("free", "[1]", R"(, "dynamic_shared": 1, "buffers": {"A": {"bytes": 4}},
        "args": [{"buffer": "A"}, {"u32": 1}], "expect": [{"buffer": "A", "is": "zeros"}])"),
              Sentences{});
    text.erase(text.find(".extern"), text.find(".entry free") - text.find(".extern"));
    EXPECT_EQ(missing("free", "[1]", R"(, "buffers": {"A": {"bytes": 4}},
        "args": [{"buffer": "A"}, {"u32": 1}], "outputs": ["A"])"),
              Sentences{})
        << "it has no dynamic shared memory";
}

}  // namespace
}  // namespace lockwarp::launch
