// SPDX-License-Identifier: Apache-2.0
// The launch file: every field, good and bad. A message names the file, the field and what was
// expected.
#include "launch/launch_file.hpp"
#include "launch/described.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "emu/lockwarp.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

using Fields = std::map<std::string, std::string>;

// A good launch file, with some fields replaced; an empty text takes the field away.
std::string text_with(const Fields& changed) {
    Fields fields{{"schema", R"("lockwarp-launch/1")"},
                  {"ptx", R"("k.ptx")"},
                  {"grid", "[2, 3, 4]"},
                  {"block", "[32]"},
                  {"buffers", R"({"A": {"bytes": 64, "init": {"fill": 1}}, "B": {"bytes": 32}})"},
                  {"args", R"([{"buffer": "A", "offset": 16}])"},
                  {"outputs", R"(["A"])"}};
    for (const auto& [name, value] : changed) fields[name] = value;
    std::string text = "{";
    for (const auto& [name, value] : fields)
        if (!value.empty()) text += (text.size() > 1 ? ", \"" : "\"") + name + "\": " + value;
    return text + "}";
}

std::string problem_of(const std::string& text) {
    LaunchFile file;
    return take(parse_launch_file(text, "x.json"), file);
}

// "x.json:1:COLUMN: " and the message.
void expect_at_line_1(const std::string& problem, const std::string& message) {
    const std::string line = "x.json:1:";
    ASSERT_TRUE(problem.starts_with(line)) << problem << "\n  expected " << message;
    const size_t end = problem.find_first_not_of("0123456789", line.size());
    ASSERT_NE(end, std::string::npos);
    EXPECT_NE(end, line.size()) << problem;
    EXPECT_TRUE(problem.substr(end).starts_with(": " + message)) << problem << "\nis not\n"
                                                                 << message;
}

TEST(LaunchFile, ReadsEveryField) {
    LaunchFile f;
    ASSERT_EQ(take(parse_launch_file(text_with({{"entry", R"("k")"},
                                                {"arch", R"("sm_80")"},
                                                {"dynamic_shared", "49152"},
                                                {"cluster", "[2, 1]"},
                                                {"non_portable_cluster", "true"},
                                                {"cooperative", "true"},
                                                {"functions", R"({"f": "0x10", "$g": 24,
                                                                  "comment": "two"})"},
                                                {"args",
                                                 R"([{"buffer": "A", "offset": 16}, {"s32": -5},
       {"f16": 1.5}, {"u16": 15360}, {"f32": "0x7fc00001"}, {"f64": "-inf"}, {"s64": -1},
       {"u64": 18446744073709551615},
       {"bytes": "0000000000000000ff00", "pointers": {"0": "B"}},
       {"bytes": "00000000000000000000", "pointers": {"2": {"buffer": "B", "offset": 8}}}])"}}),
                                     "folder/x.json"),
                   f),
              "");
    EXPECT_EQ(f.folder, "folder");
    EXPECT_EQ(f.arch, "sm_80");
    ASSERT_EQ(f.launches.size(), 1u);
    const Kernel& k = f.launches[0];
    EXPECT_EQ(k.ptx, "k.ptx");
    EXPECT_EQ(k.entry, "k");
    EXPECT_EQ(k.grid.count(), 24u);
    EXPECT_EQ(k.block.x, 32u);
    EXPECT_EQ(k.block.y, 1u);
    EXPECT_EQ(k.dynamic_shared, 49152u);
    EXPECT_TRUE(k.cooperative);
    ASSERT_TRUE(k.cluster.has_value());
    EXPECT_EQ(k.cluster->x, 2u);
    EXPECT_EQ(k.cluster->count(), 2u);
    EXPECT_TRUE(k.non_portable_cluster);
    ASSERT_EQ(k.functions.size(), 2u);
    EXPECT_EQ(k.functions[0].name, "f");
    EXPECT_EQ(k.functions[0].address, 16u);
    EXPECT_EQ(k.functions[1].name, "$g");
    EXPECT_EQ(k.functions[1].address, 24u);
    ASSERT_EQ(f.outputs.size(), 1u);
    EXPECT_EQ(f.outputs[0].name, "A");
    ASSERT_EQ(f.buffers.size(), 2u);
    EXPECT_EQ(f.buffers[0].bytes, 64u);
    EXPECT_EQ(f.buffers[0].init.fill, 1);
    using Bytes = std::vector<uint8_t>;
    ASSERT_EQ(k.arguments.size(), 10u);
    EXPECT_EQ(k.arguments[0].pointers[0].offset, 16u);
    EXPECT_EQ(k.arguments[1].bytes, (Bytes{0xfb, 0xff, 0xff, 0xff}));
    EXPECT_EQ(k.arguments[2].bytes, (Bytes{0x00, 0x3e}));
    EXPECT_EQ(k.arguments[3].bytes, (Bytes{0x00, 0x3c}));
    EXPECT_EQ(k.arguments[4].bytes, (Bytes{1, 0, 0xc0, 0x7f}));
    EXPECT_EQ(k.arguments[5].bytes, (Bytes{0, 0, 0, 0, 0, 0, 0xf0, 0xff}));
    EXPECT_EQ(k.arguments[6].bytes, Bytes(8, 0xff));
    EXPECT_EQ(k.arguments[7].bytes, Bytes(8, 0xff));
    EXPECT_EQ(k.arguments[8].bytes[8], 0xff);
    EXPECT_EQ(k.arguments[9].pointers[0].at, 2u);
    EXPECT_EQ(k.arguments[9].pointers[0].offset, 8u);
}

// Each message begins with the line and the column of what is wrong.
TEST(LaunchFile, ErrorsHaveTheirPlace) {
    const std::string top =
        "{\n  \"schema\": \"lockwarp-launch/1\", \"ptx\": \"k.ptx\",\n"
        "  \"grid\": [1], \"block\": [32],\n  ";
    const struct {
        std::string rest, message;
    } cases[] = {
        {"\"gird\": [1]}", "x.json:4:3: field 'gird': is not known; did you mean 'grid'?"},
        {"\"qq\": 1}",
         "x.json:4:3: field 'qq': is not known; known here: schema, ptx, entry, arch, grid, block, "
         "dynamic_shared, cluster, non_portable_cluster, cooperative, tensorMaps, buffers, "
         "variables, functions, "
         "args, launches, outputs, expect"},
        {"\"grid\": [2]}", "x.json:4:3: 'grid' stands twice in one object, first on line 3"},
        {"\"buffers\": {\"A\": {\"bytes\": 1}, \"A\": {\"bytes\": 2}}}",
         "x.json:4:34: 'A' stands twice in one object, first on line 4"},
        {"\"dynamic_shared\": 18446744073709551616}",
         "x.json:4:21: a whole number of more than 64 bits"},
        {"\"dynamic_shared\":\n\n -9223372036854775809}",
         "x.json:6:2: a whole number of more than 64 bits"},
        {"\"args\": [{\"f64\": 1e999}]}", "x.json:4:20: a number beyond the largest f64"},
        {"\"args\": [\n{\"s32\": 1},\n   {\"s33\": 1}]}",
         "x.json:6:4: field 'args[1]': 's33' is not buffer, bytes, struct, tensorMap or one of "},
        {"\"args\": [{\"f16\": 70000}]}",
         "x.json:4:20: field 'args[0].f16': a number that f16 has, or \"inf\", is expected, not "
         "70000"},
        {"\"buffers\": {\"A\": {\"bytes\": 4, \"init\": {\"sequence\":\n"
         "{\"type\": \"s32\", \"divide\": 0}}}}}",
         "x.json:5:27: field 'buffers.A.init.sequence.divide': a number other than 0 is expected"},
        {"\"buffers\": {\"A\": {\"bytes\": 4, \"int\": {}}}}",
         "x.json:4:33: field 'buffers.A.int': is not known; did you mean 'init'?"},
        {"\"buffers\": {\"A\\u0000\": {\"bytes\": 4}}}",
         "x.json:4:26: field 'buffers.A?': a name of letters"},
        {"\"buffers\": {\"\\u001b[31m\": {\"bytes\": 4}}}",
         "x.json:4:29: field 'buffers.?[31m': a name of letters"},
        {"\"entry\": \"k\\u0000\"}",
         "x.json:4:12: field 'entry': a text without control characters is expected"},
        {"\"buffers\": {\"Ab\": {\"bytes\": 4}},\n \"args\": [{\"buffer\": \"Aa\"}]}",
         "x.json:5:11: field 'args[0]': there is no buffer 'Aa'; did you mean 'Ab'?"},
        {"\"comment\": [\"of anything\", 5]}", ""},
    };
    for (const auto& c : cases) {
        const std::string problem = problem_of(top + c.rest);
        EXPECT_TRUE(problem.starts_with(c.message) && problem.empty() == c.message.empty())
            << c.rest << "\n  " << problem;
    }
}

TEST(LaunchFile, FieldsThatAreWrong) {
    const struct {
        std::string field, value, expected;
    } cases[] = {
        {"schema", "", "field 'schema': is missing"},
        {"schema", R"("lockwarp-launch/2")", "field 'schema': \"lockwarp-launch/1\" is expected"},
        {"schema", "1", "field 'schema': a text is expected, not 1"},
        {"ptx", "", "field 'ptx': is missing"},
        {"ptx", "[]", "field 'ptx': a text is expected, not []"},
        {"grid", "", "field 'grid': is missing"},
        {"grid", "[]", "field 'grid': [x, y, z] is expected, not []"},
        {"grid", "[1, 2, 3, 4]", "field 'grid': [x, y, z] is expected"},
        {"grid", "[-1]", "field 'grid': a whole number from 0 to 4294967295 is expected, not -1"},
        {"grid", "[1.5]", "field 'grid': a whole number"},
        {"grid", "[4294967296]", "field 'grid': a whole number"},
        {"block", "", "field 'block': is missing"},
        {"block", "32", "field 'block': [x, y, z] is expected, not 32"},
        {"entry", "5", "field 'entry': a text is expected, not 5"},
        {"arch", "80", "field 'arch': a text is expected, not 80"},
        {"cooperative", "1", "field 'cooperative': true or false is expected, not 1"},
        {"dynamic_shared", "-1", "field 'dynamic_shared': a whole number"},
        {"dynamic_shared", "99999999999", "field 'dynamic_shared': a whole number"},
        {"buffers", "[]", "field 'buffers': an object of buffers by name is expected"},
        {"buffers", R"({"../A": {"bytes": 1}})", "field 'buffers.../A': a name of letters"},
        {"buffers", R"({"": {"bytes": 1}})", "field 'buffers.': a name of letters"},
        {"buffers", R"({"A": 5})", "field 'buffers.A': an object is expected, not 5"},
        {"buffers", R"({"A": {}})", "field 'buffers.A.bytes': is missing"},
        {"buffers", R"({"A": {"bytes": "64"}})", "field 'buffers.A.bytes': a whole number"},
        {"buffers", R"({"A": {"bytes": 18446744073709551615}})",
         "field 'buffers.A.bytes': a whole"},
        {"buffers", R"({"A": {"bytes": 99999999999999999999}})", "a whole number of more than"},
        {"args", "{}", "field 'args': a list is expected"},
        {"args", "[5]", "field 'args[0]': an object such as"},
        {"args", R"([{"s33": 1}])",
         "field 'args[0]': 's33' is not buffer, bytes, struct, tensorMap or one of"},
        {"args", R"([{"s32": 1, "u32": 2}])", "field 'args[0]': 's32' has to stand alone"},
        {"args", R"([{"buffer": "Z"}])", "field 'args[0]': there is no buffer 'Z'"},
        {"args", R"([{"buffer": "A", "offset": 65}])", "field 'args[0].offset': 65 is past buffer"},
        {"args", R"([{"buffer": "A", "offset": -1}])", "field 'args[0].offset': a whole number"},
        {"args", R"([{"s32": 2147483648}])", "field 'args[0].s32': a whole number of type s32"},
        {"args", R"([{"s32": -2147483649}])", "field 'args[0].s32': a whole number of type s32"},
        {"args", R"([{"u8": 256}])", "field 'args[0].u8': a whole number of type u8 is expected"},
        {"args", R"([{"u32": -1}])", "field 'args[0].u32': a whole number of type u32 is expected"},
        {"args", R"([{"s32": 1.5}])",
         "field 'args[0].s32': a whole number of type s32 is expected"},
        {"args", R"([{"f32": "one"}])", "field 'args[0].f32': a number, or a text of at most 8"},
        {"args", R"([{"f16": "0x12345"}])",
         "field 'args[0].f16': a number, or a text of at most 4"},
        {"args", R"([{"f32": true}])", "field 'args[0].f32': a number is expected, not true"},
        {"args", R"([{"bytes": "123"}])", "field 'args[0].bytes': an even number of hexadecimal"},
        {"args", R"([{"bytes": "zz"}])", "field 'args[0].bytes': an even number of hexadecimal"},
        {"args", R"([{"bytes": "00", "pointers": []}])", "field 'args[0].pointers': an object"},
        {"args", R"([{"bytes": "00", "pointers": {"0": "A"}}])",
         "field 'args[0].pointers.0': 8 bytes there do not fit 1"},
        {"args", R"([{"bytes": "0000000000000000", "pointers": {"x": "A"}}])",
         "field 'args[0].pointers.x': the key must be a byte offset"},
        {"args", R"([{"bytes": "0000000000000000", "pointers": {"0": "Z"}}])",
         "field 'args[0]': there is no buffer 'Z'"},
        {"outputs", "5", "field 'outputs': a list of buffers and variables is expected"},
        {"outputs", "[5]", "field 'outputs': a text is expected, not 5"},
        {"outputs", R"(["A", "A"])", "field 'outputs': 'A' is there twice"},
    };
    for (const auto& c : cases)
        expect_at_line_1(problem_of(text_with({{c.field, c.value}})), c.expected);
}

TEST(LaunchFile, InitsThatAreWrong) {
    const struct {
        std::string init, expected;
    } cases[] = {
        {"5",
         ": one of {\"file\"}, {\"files\"}, {\"hex\"}, {\"fill\"}, {\"zeros\"}, {\"values\"}, "
         "{\"random\"}, {\"sequence\"} is expected, or \"zeros\", or of a buffer "
         "\"undefined\""},
        {"{}", ": one of {\"file\"}"},
        {R"({"fill": 0, "hex": "00"})", ": one of {\"file\"}"},
        {R"({"zero": 0})", ".zero': is not known; did you mean 'zeros'?"},
        {R"({"fill": 256})", ".fill': a whole number from 0 to 255 is expected, not 256"},
        {R"({"hex": "0"})", ".hex': an even number of hexadecimal digits is expected"},
        {R"({"hex": ""})", ".hex': at least one byte is expected"},
        {R"({"hex": 5})", ".hex': a text is expected, not 5"},
        {R"({"file": 5})", ".file': a text is expected, not 5"},
        {R"({"random": 5})", ".random': an object is expected"},
        {R"({"random": {}})", ".random.type': is missing"},
        {R"({"random": {"type": "f17"}})", ".random.type': 'f17' is not a type; one of b8, b16"},
        {R"({"random": {"type": "f16", "distribution": "cauchy"}})",
         ".random.distribution': 'uniform' or 'normal' is expected, not 'cauchy'"},
        {R"({"random": {"type": "f16", "seed": -1}})", ".random.seed': a whole number"},
        {R"({"random": {"type": "f16", "min": "0"}})", ".random.min': a number is expected"},
        {R"({"random": {"type": "f16", "min": 2, "max": 1}})", ".random.min': is above max"},
        {R"({"sequence": 5})", ".sequence': an object is expected"},
        {R"({"sequence": {}})", ".sequence.type': is missing"},
        {R"({"sequence": {"type": "f16", "divide": 0.0}})",
         ".sequence.divide': a number other than 0 is expected"},
        {R"({"zeros": false})", ".zeros': true is expected"},
        {R"({"values": [1]})", ".values': an object such as"},
        {R"({"values": {"s33": [1]}})", ".values': 's33' is not a type"},
        {R"({"values": {"s8": [1, 128]}})", ".values.s8[1]': a whole number of type s8"},
        {R"({"files": {}})", ".files': an object {\"byte offset\": \"file\"} is expected"},
        {R"({"files": {"x": "a.bin"}})", ".files.x': the key must be a byte offset"},
        {R"({"files": {"0": 5}})", ".files.0': a text is expected, not 5"},
        {R"({"sequence": {"type": "f16", "step": null}})",
         ".sequence.step': a number is expected, not null"},
    };
    for (const auto& c : cases) {
        const std::string problem =
            problem_of(text_with({{"buffers", R"({"A": {"bytes": 64, "init": )" + c.init + "}}"}}));
        expect_at_line_1(problem, "field 'buffers.A.init");
        EXPECT_NE(problem.find(c.expected), std::string::npos) << c.init << "\n  " << problem;
    }
}

TEST(LaunchFile, BuffersWithAShape) {
    LaunchFile f;
    const auto read = [&](const std::string& buffer) {
        f = {};
        return take(
            parse_launch_file(
                text_with({{"buffers", R"({"A": )" + buffer + "}"}, {"args", ""}, {"outputs", ""}}),
                "x.json"),
            f);
    };
    ASSERT_EQ(read(R"({"type": "f16", "shape": [3, 5, 7], "stride": 8, "init": "undefined"})"), "");
    const BufferField& b = f.buffers[0];
    EXPECT_EQ(b.bytes, 2 * (14 * 8 + 7u)) << "the last row has no padding";
    EXPECT_EQ(b.init.kind, InitKind::undefined);
    std::vector<uint8_t> bytes;
    ASSERT_EQ(take(initial_bytes(f, b), bytes), "");
    EXPECT_EQ(bytes, std::vector<uint8_t>(b.bytes, 0xff));
    const check::Described d = described(f, {{bytes}, {0x10000}});
    ASSERT_EQ(d.undefined.size(), 1u);
    EXPECT_EQ(d.undefined[0].address, 0x10000u);
    EXPECT_EQ(d.undefined[0].bytes, b.bytes);
    ASSERT_EQ(d.shapes.size(), 1u);
    EXPECT_EQ(d.shapes[0].element(0), "[0][0][0]");
    EXPECT_EQ(d.shapes[0].element(2 * (8 * 5 * 2 + 8 * 3 + 6)), "[2][3][6]");
    EXPECT_EQ(d.shapes[0].element(2 * 7 + 1), "[0][0][7] byte 1") << "padding";
    EXPECT_EQ(d.shapes[0].element(2 * 8 * 15), "");
    ASSERT_EQ(read(R"({"bytes": 64, "init": {"random": {"type": "f32"}}})"), "");
    EXPECT_EQ(described(f, {{}, {0}}).shapes[0].element(20), "[5]");
    ASSERT_EQ(read(R"({"bytes": 64})"), "");
    EXPECT_TRUE(described(f, {{}, {0}}).shapes.empty());

    const auto wrong = [&](const std::string& buffer, const std::string& expected) {
        const std::string problem = read(buffer);
        EXPECT_NE(problem.find("field 'buffers.A" + expected), std::string::npos) << problem;
    };
    wrong(R"({"shape": [3]})", ".type': is missing beside shape");
    wrong(R"({"type": "f16"})", ".bytes': is missing");
    wrong(R"({"bytes": 8, "stride": 3})", ".stride': stands beside shape");
    wrong(R"({"type": "f16", "shape": []})", ".shape': the sizes of one to 8 dimensions");
    wrong(R"({"type": "f16", "shape": [3, 0]})", ".shape': is 0");
    wrong(R"({"type": "f16", "shape": [2, 3], "stride": 2})", ".stride': at least the 3 elements");
    wrong(R"({"type": "f16", "shape": [2, 3], "bytes": 8})", ".shape': has 12 bytes, the buffer 8");
    wrong(R"({"type": "u8", "shape": [17592186044416, 17592186044416]})", ".shape': is larger");
    wrong(R"({"bytes": 8, "init": "undefined", "pointers": {"0": "A"}})", ".pointers': an undef");
}

// What products and expectations say of the buffers that they are about.
TEST(LaunchFile, ShapesOfProducts) {
    LaunchFile f;
    ASSERT_EQ(
        take(parse_launch_file(text_with({{"buffers", R"({"A": {"bytes": 64}, "B": {"bytes": 64},
                                                 "D": {"bytes": 64}, "n": {"bytes": 8}})"},
                                          {"args", ""},
                                          {"outputs", ""},
                                          {"expect", R"([{"product": "D = A*B'", "shape": [4, 2, 8],
                                                  "types": {"A": "f16", "D": "f32"}},
                                                 {"buffer": "n", "type": "u32", "offset": 4,
                                                  "is": {"values": {"u32": [1]}}}])"}}),
                               "x.json"),
             f),
        "");
    const check::Described d = described(f, {{}, {0x100, 0x200, 0x300, 0x400}});
    ASSERT_EQ(d.shapes.size(), 4u);
    EXPECT_EQ(d.shapes[0].sizes, (std::vector<uint64_t>{4, 8}));
    EXPECT_EQ(d.shapes[1].sizes, (std::vector<uint64_t>{2, 8})) << "B' is stored N x K";
    EXPECT_EQ(d.shapes[2].sizes, (std::vector<uint64_t>{4, 2}));
    EXPECT_EQ(d.shapes[2].bytes, 4u);
    EXPECT_EQ(d.shapes[3].address, 0x404u);
    EXPECT_EQ(d.shapes[3].sizes, std::vector<uint64_t>{1});
}

// C++ makes names that are longer than those of buffers may be.
TEST(LaunchFile, VariablesHaveTheNamesOfPtx) {
    const std::string name = "_ZN" + std::string(300, 'a') + "$1";
    const auto with = [&](const std::string& field) {
        return problem_of(
            text_with({{field, R"({"A": {"init": {"fill": 1}, "bytes": 4}, ")" + name +
                                   R"(": {"init": {"fill": 1}, "bytes": 4}})"}}));
    };
    EXPECT_EQ(with("variables"), "");
    EXPECT_NE(with("buffers"), "");
}

TEST(LaunchFile, TextsThatAreNoJson) {
    EXPECT_EQ(problem_of(""), "x.json:1:1: not JSON from here on");
    EXPECT_EQ(problem_of("{\n  \"a\": tru\n}"), "x.json:2:11: not JSON from here on");
    EXPECT_EQ(problem_of("[]"), "x.json:1:1: an object is expected, not []");
    EXPECT_EQ(problem_of("{\"grid\": [1e999]}"), "x.json:1:11: a number beyond the largest f64");
    EXPECT_TRUE(problem_of("{\"ptx\": \"\xff\xfe\"}").starts_with("x.json:1:"));
    EXPECT_FALSE(problem_of(std::string("{\0}", 3)).empty());
}

TEST(LaunchFile, DeepNestingIsSurvived) {
    const std::string open(100000, '[');
    EXPECT_EQ(problem_of(open), "x.json:1:65: nested too deeply");
    EXPECT_EQ(problem_of("\n\"" + open + "\\\"" + open + "\""),
              "x.json:2:1: an object is expected, not \"" + std::string(36, '[') + "...");
    EXPECT_FALSE(problem_of(open + std::string(100000, ']')).empty());
    EXPECT_FALSE(problem_of(text_with({{"grid", open + std::string(100000, ']')}})).empty());
    std::string objects;
    for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
    EXPECT_FALSE(problem_of(objects).empty());
}

TEST(LaunchFile, FilesOfBuffers) {
    LaunchFile f;
    ASSERT_EQ(
        take(parse_launch_file(
                 text_with({{"buffers", R"({"A": {"bytes": 7, "init": {"file": "no-such"}}})"},
                            {"args", ""},
                            {"outputs", ""}}),
                 "no/x.json"),
             f),
        "");
    std::vector<uint8_t> out;
    EXPECT_EQ(take(initial_bytes(f, f.buffers[0]), out),
              "no/x.json:1:34: field 'buffers.A.init.file': no/no-such: No such file or directory");
    f.buffers[0].init.file = "/";
    EXPECT_EQ(take(initial_bytes(f, f.buffers[0]), out),
              "no/x.json:1:34: field 'buffers.A.init.file': /: not a regular file");
    f.buffers[0].init.kind = InitKind::random;
    f.buffers[0].init.type = isa::Type::f32;
    EXPECT_EQ(
        take(initial_bytes(f, f.buffers[0]), out),
        "no/x.json:1:34: field 'buffers.A.bytes': 7 is not a multiple of 4, the bytes of f32");
}

// The arguments in the kernel's parameter space.
std::string prepared(const std::string& args, Prepared& out) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".entry k(.param .u32 n, .param .u64 a, .param .align 8 .b8 s[16]) {}\n");
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_80, "");
    LaunchFile f;
    EXPECT_EQ(take(parse_launch_file(text_with({{"args", args}}), "x.json"), f), "");
    return take(prepare(f, resolved.program), out);
}

TEST(LaunchFile, ArgumentsAreLaidOut) {
    Prepared p;
    ASSERT_EQ(prepared(R"([{"u32": 5}, {"buffer": "A", "offset": 16},
        {"bytes": "11000000000000000000000000000000", "pointers": {"8": "B"}}])",
                       p),
              "");
    ASSERT_EQ(p.launch.buffers.size(), 2u);
    const auto word = [&](size_t at) {
        uint64_t value = 0;
        std::copy_n(p.launch.parameters.begin() + static_cast<std::ptrdiff_t>(at), 8,
                    reinterpret_cast<uint8_t*>(&value));
        return value;
    };
    ASSERT_EQ(p.launch.parameters.size(), 32u);
    EXPECT_EQ(word(0), 5u);
    EXPECT_EQ(word(8), p.launch.buffers[0].address + 16);
    EXPECT_EQ(word(16), 0x11u);
    EXPECT_EQ(word(24), p.launch.buffers[1].address);
    EXPECT_GE(p.launch.buffers[1].address, p.launch.buffers[0].address + 64);
    EXPECT_EQ(p.launch.buffers[0].bytes.size(), 64u);
    EXPECT_EQ(p.launch.buffers[0].bytes[63], 1);
}

TEST(LaunchFile, ArgumentsThatDoNotFit) {
    Prepared p;
    EXPECT_EQ(
        prepared(R"([{"u32": 5}])", p),
        "x.json: field 'args': 1 given, the kernel k has 3; missing: a (8 bytes), s (16 bytes)");
    EXPECT_EQ(prepared(R"([{"u64": 5}, {"buffer": "A"}, {"bytes": ""}])", p),
              "x.json:1:11: field 'args[0]': u64 has 8 bytes, parameter 'n' (.u32) has 4");
    EXPECT_EQ(prepared(R"([{"u32": 5}, {"buffer": "A"}, {"bytes": "00"}])", p),
              "x.json:1:40: field 'args[2]': bytes has 1 bytes, parameter 's' (.b8) has 16");
}

// The bytes of one argument.
std::string argument(const std::string& json, Argument& out) {
    LaunchFile f;
    const std::string why =
        take(parse_launch_file(text_with({{"args", "[" + json + "]"}}), "x.json"), f);
    if (why.empty()) out = f.launches[0].arguments[0];
    return why;
}

TEST(LaunchFile, StructsHaveTheirNaturalLayout) {
    using Bytes = std::vector<uint8_t>;
    Argument a;
    ASSERT_EQ(argument(R"({"struct": [{"s32": 1}, {"pointer": "A"}, {"pad": 4}]})", a), "");
    EXPECT_EQ(a.bytes.size(), 24u);  // 4, 4 of padding, 8, 4, and up to a multiple of 8
    EXPECT_EQ(a.alignment, 8u);
    ASSERT_EQ(a.pointers.size(), 1u);
    EXPECT_EQ(a.pointers[0].at, 8u);
    ASSERT_EQ(argument(R"({"struct": []})", a), "");
    EXPECT_EQ(a.bytes, Bytes(1, 0));
    ASSERT_EQ(argument(R"({"struct": [{"u8": 7}, {"struct": [{"u8": 1}, {"u16": [2, 3]}]},
                                       {"struct": []}, {"f32": 1}, {"bytes": "0a0b0c"}]})",
                       a),
              "");
    EXPECT_EQ(a.bytes,
              (Bytes{7, 0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 10, 11, 12, 0}));
    ASSERT_EQ(argument(R"({"struct": [{"u8": 1}], "align": 16})", a), "");
    EXPECT_EQ(a.bytes.size(), 16u);
    ASSERT_EQ(
        argument(R"({"struct": [{"u64": 1}, {"struct": [{"buffer": "B", "offset": 8}]}]})", a), "");
    EXPECT_EQ(a.pointers[0].at, 8u);
    EXPECT_EQ(a.pointers[0].offset, 8u);
    const struct {
        const char* json;
        const char* message;
    } wrong[] = {
        {R"({"struct": 5})", "field 'args[0].struct': a list of fields is expected"},
        {R"({"struct": [{"s23": 1}]})",
         "field 'args[0].struct[0]': 's23' is not buffer, bytes, struct, tensorMap or one of"},
        {R"({"struct": [{"pad": -1}]})", "field 'args[0].struct[0].pad': a whole number"},
        {R"({"struct": [{"pad": 65536}, {"pad": 1}]})",
         "field 'args[0].struct[1]': more bytes than the parameters of a kernel have"},
        {R"({"struct": [], "align": 3})", "field 'args[0].align': a power of two is expected"},
        {R"({"struct": [{"pointer": "Z"}]})", "field 'args[0]': there is no buffer 'Z'"},
        {R"({"s32": []})", "field 'args[0].s32': at least one number is expected"},
    };
    for (const auto& c : wrong) expect_at_line_1(argument(c.json, a), c.message);
}

TEST(LaunchFile, BuffersOfAddresses) {
    LaunchFile f;
    ASSERT_EQ(take(parse_launch_file(text_with({{"buffers", R"({
        "A": {"zeros": 32, "pointers": {"16": "B", "0": {"buffer": "A", "offset": 8}}},
        "B": {"bytes": 16, "address": "0x123400"}, "C": {"bytes": 8, "init": "zeros",
        "address": 481036337152}, "D": {"bytes": 8, "init": {"zeros": true}}})"}}),
                                     "x.json"),
                   f),
              "");
    Memory m;
    ASSERT_EQ(take(place_buffers(f), m), "");
    ASSERT_EQ(m.addresses.size(), 4u);
    EXPECT_EQ(m.addresses[1], 0x123400u);
    EXPECT_EQ(m.addresses[2], 0x7000000000u);
    const auto word = [&](size_t at) {
        uint64_t value = 0;
        std::copy_n(m.bytes[0].begin() + static_cast<std::ptrdiff_t>(at), 8,
                    reinterpret_cast<uint8_t*>(&value));
        return value;
    };
    EXPECT_EQ(word(0), m.addresses[0] + 8);
    EXPECT_EQ(word(8), 0u);
    EXPECT_EQ(word(16), 0x123400u);
    // None lies within a megabyte of another.
    std::vector<uint64_t> sorted = m.addresses;
    std::ranges::sort(sorted);
    for (size_t i = 1; i < sorted.size(); ++i) EXPECT_GE(sorted[i] - sorted[i - 1], 1u << 20);
    const struct {
        const char* buffers;
        const char* message;
    } wrong[] = {
        {R"({"A": {"bytes": 16, "pointers": {"9": "A"}}})",
         "field 'buffers.A.pointers.9': 8 bytes there do not fit 16"},
        {R"({"A": {"bytes": 16, "pointers": {"0": "Z"}}})",
         "field 'buffers.A.pointers': there is no buffer 'Z'"},
        {R"({"A": {"bytes": 16, "pointers": {"0": {"buffer": "A", "offset": 17}}}})",
         "field 'buffers.A.pointers.offset': 17 is past buffer 'A' of 16 bytes"},
        {R"({"A": {"bytes": 16, "pointers": []}})", "field 'buffers.A.pointers': an object"},
        {R"({"A": {"bytes": 16, "address": 5}})",
         "field 'buffers.A.address': a multiple of 256 is expected"},
        {R"({"A": {"bytes": 16, "address": 0}})", "field 'buffers.A.address': a multiple of 256"},
        {R"({"A": {"bytes": 16, "address": "0x7e0000000000"}})",
         "field 'buffers.A.address': a multiple of 256"},
        {R"({"A": {"bytes": 16, "address": "0x7effffffff00"}, )"
         R"("C": {"bytes": 257, "address": "0x7fffffffff00"}})",
         "field 'buffers.C.address': a multiple of 256"},
        {R"({"A": {"bytes": 512, "address": "0x6fffffffff00"}})",
         "field 'buffers.A.address': a multiple of 256"},
        {R"({"A": {"bytes": 16, "address": "0xffffffffffffff00"}})",
         "field 'buffers.A.address': a multiple of 256"},
        {R"({"A": {"bytes": 16, "zeros": 16}})", "field 'buffers.A.zeros': stands for bytes"},
    };
    for (const auto& c : wrong)
        expect_at_line_1(problem_of(text_with({{"buffers", c.buffers}})), c.message);
    ASSERT_EQ(take(parse_launch_file(text_with({{"buffers", R"({
        "A": {"bytes": 512, "address": 256}, "B": {"bytes": 16, "address": 512}})"}}),
                                     "x.json"),
                   f),
              "");
    EXPECT_EQ(take(place_buffers(f), m),
              "x.json:2:51: field 'buffers.B.address': it overlaps buffer 'A'");
}

// What a launch sets goes before what was set before it, and stays for those behind it.
TEST(LaunchFile, VariablesOfSeveralLaunches) {
    LaunchFile f;
    ASSERT_EQ(take(parse_launch_file(
                       text_with({{"args", ""},
                                  {"variables",
                                   R"({"v": {"init": {"fill": 1}}, "w": {"init": {"fill": 2}}})"},
                                  {"launches", R"([
        {"variables": {"v": {"init": {"fill": 3}}}}, {}, {"variables": {"w": {"init": {"fill": 4}}}}])"}}),
                       "x.json"),
                   f),
              "");
    std::vector<std::string> all;
    for (const Kernel& k : f.launches) {
        std::string names;
        for (const BufferField& v : k.variables) names += v.name + (v.inherited ? " " : "! ");
        all.push_back(names);
    }
    EXPECT_EQ(all, (std::vector<std::string>{"v! w! ", "v w ", "w! v "}));
}

TEST(LaunchFile, SeveralLaunches) {
    LaunchFile f;
    ASSERT_EQ(take(parse_launch_file(text_with({{"args", ""}, {"launches", R"([
        {"entry": "split", "args": [{"buffer": "A"}]},
        {"ptx": "c.ptx", "grid": [1], "block": [64, 2], "dynamic_shared": 16, "args": []}])"}}),
                                     "x.json"),
                   f),
              "");
    ASSERT_EQ(f.launches.size(), 2u);
    EXPECT_EQ(f.launches[0].ptx, "k.ptx");
    EXPECT_EQ(f.launches[0].entry, "split");
    EXPECT_EQ(f.launches[0].grid.count(), 24u);
    EXPECT_EQ(f.launches[0].arguments.size(), 1u);
    EXPECT_EQ(f.launches[1].ptx, "c.ptx");
    EXPECT_EQ(f.launches[1].entry, "");
    EXPECT_EQ(f.launches[1].block.count(), 128u);
    EXPECT_EQ(f.launches[1].dynamic_shared, 16u);
    EXPECT_EQ(f.field(f.launches[1], "grid"), "launches[1].grid");
    const Kernel copy = f.launches[1];
    EXPECT_EQ(f.field(copy, "grid"), "grid");
    const struct {
        const char* launches;
        const char* message;
    } wrong[] = {
        {"[]", "field 'launches': a list of launches is expected"},
        {"[5]", "field 'launches[0]': an object is expected, not 5"},
        {R"([{"grit": [1]}])", "field 'launches[0].grit': is not known; did you mean 'grid'?"},
        {R"([{}, {"args": [{"buffer": "Z"}]}])",
         "field 'launches[1].args[0]': there is no buffer 'Z'"},
    };
    for (const auto& c : wrong)
        expect_at_line_1(problem_of(text_with({{"launches", c.launches}})), c.message);
    expect_at_line_1(problem_of(text_with({{"ptx", ""}, {"launches", "[{}]"}})),
                     "field 'launches[0].ptx': is missing");
}

}  // namespace
}  // namespace lockwarp::launch
