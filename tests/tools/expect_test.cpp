// SPDX-License-Identifier: Apache-2.0
// Launch files as tests: several launches on one memory, variables, and what is expected.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/process.hpp"
#include "tools/report/last_store.hpp"

namespace lockwarp::tools {
namespace {

using nlohmann::json;

// add: each thread of one CTA adds its number to out[tid]. twice: doubles them, and counts its runs
// in a variable. table: reads through an array of addresses.
constexpr const char* module = R"(.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 _ZL5count = 40;
.visible .const .align 4 .u32 step = 1;
.entry add(.param .u64 out) {
.reg .b32 %r<6>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
ld.global.u32 %r2, [%rd1]; ld.const.u32 %r3, [step]; mad.lo.s32 %r4, %r1, %r3, %r2;
st.global.u32 [%rd1], %r4; ld.global.u32 %r5, [_ZL5count]; add.s32 %r5, %r5, 1;
st.global.u32 [_ZL5count], %r5; ret; }
.entry twice(.param .align 8 .b8 s[16]) {
.reg .b32 %r<6>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [s+8]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
ld.global.u32 %r2, [%rd1]; ld.param.u32 %r3, [s]; mul.lo.s32 %r2, %r2, %r3;
st.global.u32 [%rd1], %r2; ld.global.u32 %r5, [_ZL5count]; add.s32 %r5, %r5, 1;
st.global.u32 [_ZL5count], %r5; ret; }
.entry table(.param .u64 pointers) {
.reg .b32 %r<6>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [pointers]; ld.global.u64 %rd2, [%rd1+16]; ld.global.u32 %r1, [%rd2];
ld.global.u64 %rd3, [%rd1+8]; st.global.u32 [%rd3], %r1; ret; }
)";

std::string file(const std::string& rest) {
    return R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1], "block": [4],
 "buffers": {"out": {"zeros": 16}, "P": {"zeros": 24, "pointers": {"8": "out",
             "16": {"buffer": "B", "offset": 4}}}, "B": {"bytes": 8, "init": {"hex": "0100000007000000"}}},
)" + rest + "}";
}

constexpr const char* both = R"("launches": [{"entry": "add", "args": [{"buffer": "out"}]},
  {"entry": "twi", "args": [{"struct": [{"s32": 2}, {"pointer": "out"}]}]}])";

Ended run_file(const std::string& rest, std::vector<std::string> options = {}) {
    const Folder folder;
    folder.write("k.ptx", module);
    folder.write("k.json", file(rest));
    options.insert(options.begin(), {"run", "k.json"});
    return run_here(folder, options);
}

std::string with(const std::string& launches, const std::string& expect) {
    return launches + ", \"expect\": [" + expect + "]";
}

TEST(Expect, LaunchesOneAfterAnotherOnTheSameMemory) {
    const Ended e = run_file(with(both, R"(
        {"buffer": "out", "is": {"values": {"u32": [0, 2, 4, 6]}}},
        {"variable": "count", "is": {"values": {"u32": [42]}}},
        {"variable": "step", "is": {"values": {"u32": [1]}}})"));
    EXPECT_EQ(e.status, 0) << e.out << e.err;
    EXPECT_TRUE(
        e.out.starts_with("done: add on sm_80, 1 CTA, 12 instructions\n"
                          "done: twice on sm_80, 1 CTA, "))
        << e.out;
    EXPECT_NE(e.out.find("out: 4 values as expected\ncount: 1 value as expected\nstep: 1 value"),
              std::string::npos)
        << e.out;
}

TEST(Expect, VariablesAreSetAndStay) {
    const std::string set = std::string(R"("variables": {"step": {"init": {"values": {"u32": [3]}}},
        "count": {"init": {"zeros": true}}}, )");
    const Ended e = run_file(with(set + both, R"(
        {"buffer": "out", "type": "u32", "is": {"sequence": {"type": "u32", "step": 6}}},
        {"variable": "count", "is": {"values": {"u32": [2]}}},
        {"variable": "step", "is": {"values": {"u32": [3]}}})"));
    EXPECT_EQ(e.status, 0) << e.out << e.err;
    const Folder folder;
    folder.write("k.ptx", module);
    folder.write("k.json", file(set + both + R"(, "outputs": ["out", "count"])"));
    EXPECT_EQ(run_here(folder, {"run", "k.json", "--out", "o", "--print", "count:u32:1x1"}).status,
              0);
    EXPECT_EQ(folder.read("o/count.bin"), std::string("\2\0\0\0", 4));
    EXPECT_EQ(folder.read("o/out.bin"), std::string("\0\0\0\0\6\0\0\0\14\0\0\0\22\0\0\0", 16));
}

// Whichever stands first.
TEST(Expect, AVariableAlone) {
    const Ended e =
        run_file(with(both, R"({"variable": "count", "is": {"values": {"u32": [42]}}})"));
    EXPECT_EQ(e.status, 0) << e.out << e.err;
    EXPECT_NE(e.out.find("count: 1 value as expected\n"), std::string::npos) << e.out;
}

TEST(Expect, AddressesInBuffers) {
    const Ended e = run_file(with(R"("entry": "table", "args": [{"buffer": "P"}])",
                                  R"({"buffer": "out", "is": {"values": {"u32": [7, 0, 0, 0]}}})"));
    EXPECT_EQ(e.status, 0) << e.out << e.err;
}

TEST(Expect, EveryMismatchIsCountedAndTheWorstShown) {
    const Ended e = run_file(with(both, R"(
        {"buffer": "out", "is": {"values": {"s32": [0, 2, 5, 106]}}},
        {"buffer": "out", "type": "s32", "is": {"zeros": true}, "absolute": 5},
        {"variable": "count", "is": {"values": {"u32": [41]}}})"));
    EXPECT_EQ(e.status, 1) << e.out << e.err;
    EXPECT_NE(e.out.find("DIFFERS  out: 2 of 4 values are not as expected\n"
                         "  worst out[3]: 6 (0x00000006) is there, 106 (0x0000006a) is expected, "
                         "100 away\n"
                         "  last written by lane 3 of warp 0 of CTA (0,0,0), step 7, from %r2: "
                         "k.ptx:16\n"),
              std::string::npos)
        << e.out;
    EXPECT_NE(e.out.find("DIFFERS  out: 1 of 4 values"), std::string::npos) << e.out;
    // A variable that both launches write: the last of them counts.
    EXPECT_NE(e.out.find("DIFFERS  count: 1 of 1 values are not as expected\n"
                         "  worst count[0]: 42 (0x0000002a) is there, 41 (0x00000029) is expected, "
                         "1 away\n"
                         "  last written by lane 3 of warp 0 of CTA (0,0,0), step 10, from %r5: "
                         "k.ptx:17\n"),
              std::string::npos)
        << e.out;
    const Ended untouched = run_file(with(R"("entry": "table", "args": [{"buffer": "P"}])",
                                          R"({"buffer": "B", "is": {"zeros": true}})"));
    EXPECT_EQ(untouched.status, 1);
    EXPECT_NE(untouched.out.find("nothing has written it"), std::string::npos) << untouched.out;
}

// A store to shared memory at the same number is none to the buffer's byte.
TEST(LastStores, AreThoseToGlobalMemory) {
    LastStores last(1);
    last.begin_launch(0, {66});
    const auto listen = [&](ptx::Space space, bool store) {
        warp::Access a;
        a.space = space;
        a.store = store;
        a.lanes = 1u << 3;
        a.address[3] = 64;
        a.bytes_of_lane[3] = 4;
        warp::Retired e{};
        e.accesses = &a;
        e.access_count = 1;
        std::unique_ptr<warp::CtaObserver> cta = last.begin({});
        cta->retired(e);
        last.take({}, std::move(cta));
    };
    listen(ptx::Space::shared, true);
    listen(ptx::Space::global, false);
    EXPECT_FALSE(last.stores()[0]);
    listen(ptx::Space::global, true);
    ASSERT_TRUE(last.stores()[0]);
    EXPECT_EQ(last.stores()[0]->lane, 3u);
    EXPECT_EQ(last.stores()[0]->byte, 2u);
}

// Zeros of other signs are no distance away, and differ.
TEST(Expect, AMismatchWithoutADistance) {
    const Ended zero = run_file(
        with(R"("entry": "table", "args": [{"buffer": "P"}])",
             R"({"buffer": "out", "offset": 4, "is": {"values": {"f32": [0, -0.0, 0]}}})"));
    EXPECT_EQ(zero.status, 1) << zero.out << zero.err;
    EXPECT_NE(zero.out.find("DIFFERS  out: 1 of 3 values are not as expected\n"
                            "  worst out[2]: 0 (0x00000000) is there, -0 (0x80000000) is "
                            "expected, 0 away, 0 ulp\n"),
              std::string::npos)
        << zero.out;
}

TEST(Expect, SeveralFilesAreTests) {
    const Folder folder;
    folder.write("k.ptx", module);
    folder.write("good.json", file(with(both, R"({"buffer": "out", "offset": 4, "bytes": 4,
        "is": {"hex": "02000000"}})")));
    folder.write("bad.json", file(with(both, R"({"buffer": "out", "is": {"fill": 1}})")));
    folder.write("none.json", file(both));
    folder.write("wrong.json", "{");
    const Ended good =
        run_here(folder, {"run", "good.json", "--json", "r.json", "--junit", "r.xml"});
    EXPECT_EQ(good.status, 0) << good.out << good.err;
    const std::string xml = folder.read("r.xml");
    EXPECT_NE(xml.find("tests=\"1\" failures=\"0\" errors=\"0\""), std::string::npos);
    EXPECT_NE(xml.find("<property name=\"values compared\" value=\"4\"/>"), std::string::npos)
        << xml;
    EXPECT_EQ(xml.find("register values"), std::string::npos) << xml;
    const Ended bad =
        run_here(folder, {"run", "good.json", "bad.json", "-j", "2", "--json", "r.json"});
    EXPECT_EQ(bad.status, 1) << bad.out << bad.err;
    EXPECT_TRUE(bad.out.ends_with("FAILED: 1 of 2 launch files as expected, 1 failed, 0 not run\n"))
        << bad.out;
    const auto verdicts = [&](std::vector<std::string> files) {
        files.insert(files.begin(), "run");
        files.insert(files.end(), {"--json", "r.json"});
        (void)run_here(folder, files);
        const json report = json::parse(folder.read("r.json"));
        std::string out = report["verdict"];
        for (const json& r : report["results"])
            out += ", " + r["name"].get<std::string>() + " " + r["verdict"].get<std::string>();
        return out;
    };
    EXPECT_EQ(verdicts({"good.json"}), "identical, good.json identical");
    EXPECT_EQ(verdicts({"bad.json", "good.json"}),
              "differs, bad.json differs, good.json identical");
    EXPECT_EQ(verdicts({"good.json", "none.json"}),
              "failed, good.json identical, none.json failed");
    EXPECT_EQ(verdicts({"good.json", "wrong.json"}),
              "failed, good.json identical, wrong.json failed");
    EXPECT_EQ(verdicts({"bad.json", "wrong.json"}), "failed, bad.json differs, wrong.json failed");
    EXPECT_EQ(run_here(folder, {"run", "good.json", "none.json"}).status, 2);
    EXPECT_EQ(run_here(folder, {"run", "good.json", "wrong.json"}).status, 2);
    EXPECT_EQ(run_here(folder, {"run", "none.json"}).status, 0);
    EXPECT_EQ(run_here(folder, {"run", "none.json", "--junit", "r.xml"}).status, 2);
    EXPECT_EQ(run_here(folder, {"run", "good.json", "bad.json", "--shard", "1/2"}).status, 0);
    EXPECT_EQ(run_here(folder, {"run", "good.json", "bad.json", "--shard", "2/2"}).status, 1);
    EXPECT_EQ(run_here(folder, {"run", "good.json", "good.json"}).status, 2);
    EXPECT_EQ(run_here(folder, {"run", "good.json", "bad.json", "--print", "out:u32:1x4"}).status,
              2);
}

TEST(Expect, WhatIsWrongWithIt) {
    const struct {
        const char* expect;
        const char* message;
    } cases[] = {
        {"5", "field 'expect[0]': an object is expected, not 5"},
        {"{}", "field 'expect[0].buffer': is missing"},
        {R"({"buffer": "out"})", "field 'expect[0].is': is missing"},
        {R"({"buffer": "Z", "is": "zeros"})",
         "field 'expect[0]': there is no buffer or variable 'Z'"},
        {R"({"buffer": "B", "is": "zeros"}, {"buffer": "out", "offset": 17, "is": "zeros"})",
         "field 'expect[1]': 0 bytes from byte 17 on"},
        {R"(
{"buffer": "B", "is": "zeros"},
{"buffer": "out", "offset": 17, "is": "zeros"})",
         "field 'expect[1]': 0 bytes from byte 17 on"},
        {R"({"buffer": "out", "is": "zeros", "ulp": -1})", "field 'expect[0].ulp': a number that"},
        {R"({"buffer": "out", "is": "zeros", "ulp": 1, "exact": true})",
         "field 'expect[0].exact': stands alone"},
        {R"({"buffer": "out", "is": "zeros", "upl": 1})",
         "field 'expect[0].upl': is not known; did you mean 'ulp'?"},
        {R"({"buffer": "out", "offset": 17, "is": "zeros"})",
         "field 'expect[0]': 0 bytes from byte 17 on do not fit 'out' of 16 bytes"},
        {R"({"buffer": "out", "offset": 16, "is": "zeros"})",
         "field 'expect[0]': 0 bytes of 'out'"},
        {R"({"buffer": "out", "type": "u32", "bytes": 3, "is": "zeros"})",
         "field 'expect[0].bytes': a multiple of 4 is expected"},
        {R"({"buffer": "out", "is": {"file": "none.bin"}})",
         "field 'expect.is.init.file': none.bin: No such file"},
        {R"({"product": "D"})", "field 'expect[0].product': \"D = A*B\" is expected"},
        {R"({"product": "out = P*B", "shape": [1, 1], "types": {"A": "s8", "D": "s32"}})",
         "field 'expect[0].shape': [M, N, K] is expected"},
        {R"({"product": "out = P*B", "shape": [1, 1, 1], "types": {"D": "s32"}})",
         "field 'expect[0].types.A': is missing"},
        {R"({"product": "out = P*B", "shape": [4, 2, 1], "types": {"A": "s8", "D": "s32"}})",
         "field 'expect[0]': buffer 'out' has 16 bytes, 4x2 of s32 need 32"},
    };
    for (const auto& c : cases) {
        const Ended e = run_file(with(both, c.expect));
        EXPECT_EQ(e.status, 2) << c.expect << e.out;
        EXPECT_TRUE(e.err.starts_with("error: k.json:")) << e.err;
        EXPECT_NE(e.err.find(c.message), std::string::npos) << c.expect << "\n" << e.err;
    }
}

// A and B are 2x3 and 3x2 of s8, C of s32.
TEST(Expect, Products) {
    const std::string buffers = R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1],
 "block": [4], "entry": "add", "args": [{"buffer": "D"}], "buffers": {
 "A": {"bytes": 6, "init": {"values": {"s8": [1, 2, 3, 4, 5, 6]}}},
 "B": {"bytes": 6, "init": {"values": {"s8": [1, 0, 0, 1, 1, -1]}}},
 "C": {"bytes": 16, "init": {"values": {"s32": [0, 1, 2, 3]}}},
 "D": {"bytes": 16, "init": {"values": {"s32": [4, -1, 10, -1]}}}}, "expect": [)";
    const Folder folder;
    folder.write("k.ptx", module);
    const auto status = [&](const std::string& expect) {
        folder.write("k.json", buffers + expect + "]}");
        return run_here(folder, {"run", "k.json"}).status;
    };
    const std::string types = R"(, "shape": [2, 2, 3], "types": {"A": "s8", "D": "s32"}})";
    EXPECT_EQ(status(R"({"product": "D = A*B + C")" + types), 0);
    EXPECT_EQ(status(R"({"product": "D = A*B")" + types), 1);
    EXPECT_EQ(status(R"({"product": "D = A*B", "absolute": 3)" + types), 0);
    EXPECT_EQ(status(R"({"product": "D = A*B", "absolute": 2)" + types), 1);
    EXPECT_EQ(status(R"({"product": "D = A*B'")" + types), 1);
    EXPECT_NE(run_here(folder, {"run", "k.json"}).out.find("\n  worst D[1][0]: 12 "),
              std::string::npos);
}

}  // namespace
}  // namespace lockwarp::tools
