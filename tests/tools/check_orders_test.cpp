// SPDX-License-Identifier: Apache-2.0
// What lockwarp check says of results that depend on an order or a schedule: whose turn it is, the
// line, the element, and how often it looks.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

using Json = nlohmann::json;

// %rd1 = D, %rd2 = D + 4 * %tid.x, %r1 = %tid.x, %r3 = tile + 4 * %tid.x, %r4 = of the thread of
// the other warp.
std::string kernel_of(const std::string& body) {
    return R"(.version 8.0
.target sm_90
.address_size 64
.shared .align 128 .b8 tile[512];
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<12>; .reg .b64 %rd<6>; .reg .pred %p<4>;
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;
mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2;
xor.b32 %r4, %r1, 32; mad.lo.u32 %r4, %r4, 4, %r2; add.u32 %r5, %r1, 100;
)" + body + "\nret;\n}\n";
}

// Of all CTAs but (1,2,1) nothing is left.
const std::string one_cta = R"(mov.u32 %r7, %ctaid.x; setp.ne.u32 %p1, %r7, 1; @%p1 exit;
mov.u32 %r7, %ctaid.y; setp.ne.u32 %p1, %r7, 2; @%p1 exit;
mov.u32 %r7, %ctaid.z; setp.ne.u32 %p1, %r7, 1; @%p1 exit;
)";
const std::string partners =
    "st.shared.u32 [%r3], %r5;\nld.shared.u32 %r6, [%r4];\n"
    "st.global.u32 [%rd2], %r6;";

// `launches`: of the launch file, from "grid" on.
Json checked(const std::string& body, const std::string& launches, const std::string& check,
             const std::vector<std::string>& options = {}, const std::string& buffers = "") {
    const Folder folder;
    folder.write("k.ptx", kernel_of(body));
    const std::string block = launches.find("block") == std::string::npos ? R"("block":[64],)" : "";
    folder.write("k.json", R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","arch":"sm_90",)" +
                               block + R"("buffers":{"D":{"zeros":1024})" + buffers +
                               R"(},"args":[{"buffer":"D"}],)" + launches + "}");
    std::vector<std::string> words{"check", "k.json", "--format", "json", "--check", check};
    words.insert(words.end(), options.begin(), options.end());
    const Ended e = run_here(folder, words);
    EXPECT_EQ(e.err, "");
    const Json j = Json::parse(e.out, nullptr, false);
    if (!j.is_object()) return Json{{"findings", Json::array()}};
    EXPECT_EQ(e.status, j["files"][0]["errors"] == 0 ? 0 : 1);
    return j;
}

std::string only_message(const Json& j) {
    EXPECT_EQ(j["findings"].size(), 1u) << j.dump(1);
    return j["findings"].empty() ? "" : j["findings"][0]["message"].get<std::string>();
}

constexpr const char* cube = R"("grid":[2,3,2])";
const std::string other_way = "; the other way round it gives another result: ";

TEST(CheckOrders, NameTheWarpOfItsCtaAndItsLaunch) {
    for (const std::string& launches :
         {std::string(cube), R"("launches":[{"grid":[1]},{)" + std::string(cube) + "}]"}) {
        const Json j = checked(one_cta + partners, launches, "order", {"--orders", "8"});
        const std::string message = only_message(j);
        const Json& f = j["findings"][0];
        EXPECT_EQ(f["check"].get<std::string>() + "/" + f["kind"].get<std::string>(),
                  "order/result");
        EXPECT_EQ(f["cta"], (Json{1, 2, 1}));
        EXPECT_EQ(f["warp"], 0);
        const std::string launch = launches == cube ? "" : ", launch 1";
        std::smatch match;
        const std::regex text(
            R"(D\[0\] depends on the order of warps and CTAs: 0x00000000 in the usual order, )"
            R"(0x00000084 where warp 0 of CTA \(1,2,1\) gives way before line (\d+) \(step (\d+)\))" +
            launch + R"(; (\d+) of 8 orders give another result, the first by --order \d+)");
        ASSERT_TRUE(std::regex_match(message, match, text)) << message;
        EXPECT_EQ(f["ptx_line"], std::stoi(match[1]));
        EXPECT_EQ(f["step"], std::stoi(match[2]));
        EXPECT_EQ(f["count"], std::stoi(match[3]));
    }
}

// Warp 0 does nothing, and warp 1 comes before warp 2: it gives way before it begins, which no step
// tells.
TEST(CheckOrders, NameAnotherWarpThanTheFirst) {
    for (const unsigned threads : {96u, 90u}) {
        const Json j = checked(
            "setp.lt.u32 %p1, %r1, 32; @%p1 exit;\n"
            "xor.b32 %r4, %r1, 96; mad.lo.u32 %r4, %r4, 4, %r2;\n" +
                partners,
            R"("grid":[1],"block":[)" + std::to_string(threads) + "]", "order", {"--orders", "8"});
        EXPECT_NE(only_message(j).find("warp 1 of CTA (0,0,0) gives way before line 8 (step 0)"),
                  std::string::npos);
        const Json& f = j["findings"][0];
        EXPECT_EQ(f["cta"], (Json{0, 0, 0}));
        EXPECT_EQ(f["warp"], 1);
        EXPECT_EQ(f["lanes"], "0-31");
    }
}

// A CTA that gives way does so before its first instruction.
TEST(CheckOrders, NameACta) {
    const Json j = checked(
        "setp.ne.u32 %p1, %r1, 0; @%p1 exit; mov.u32 %r6, %ctaid.x;\n"
        "ld.relaxed.gpu.global.u32 %r7, [%rd1]; mad.lo.u32 %r7, %r7, 3, %r6; add.u32 %r7, %r7, 1;\n"
        "st.relaxed.gpu.global.u32 [%rd1], %r7;",
        R"("grid":[2])", "order", {"--orders", "8"});
    EXPECT_NE(only_message(j).find("CTA (0,0,0) gives way before it begins"), std::string::npos);
    const Json& f = j["findings"][0];
    EXPECT_EQ(f.contains("warp") || f.contains("step") || f.contains("ptx_line"), false) << f;
}

TEST(CheckOrders, ARaceIsTurnedRoundInItsOwnCta) {
    EXPECT_NE(only_message(checked(one_cta + partners, cube, "race-shared")).find(other_way + "D["),
              std::string::npos);
    // A barrier leaves no race, and what is the same either way is not said.
    std::string same = partners;
    same.replace(same.find("%r6;", same.find("st.global")), 4, "%r5;");
    EXPECT_EQ(only_message(checked(one_cta + same, cube, "race-shared")).find("the other way"),
              std::string::npos);
}

// Of two CTAs the one that came first comes later as a whole.
TEST(CheckOrders, ARaceOfTwoCtas) {
    const std::string body =
        "mov.u32 %r6, %ctaid.y; mov.u32 %r7, %ctaid.z; mad.lo.u32 %r6, %r7, 3, %r6;\n"
        "setp.ne.u32 %p1, %r1, 0; @%p1 exit;\nsetp.eq.u32 %p2, %r6, 1; setp.eq.u32 %p3, %r6, 5;\n"
        "mov.u32 %r7, %ctaid.x; setp.eq.u32 %p1, %r7, 0; @%p1 exit;\n"
        "@%p2 ld.global.u32 %r8, [%rd1];\n@%p2 st.global.u32 [%rd1+512], %r8;\n"
        "@%p3 st.global.u32 [%rd1], 9;";
    EXPECT_NE(only_message(checked(body, cube, "race-global")).find(other_way + "D[128]"),
              std::string::npos);
}

// The effects of four races are shown; each is a line that reads and a line that writes.
TEST(CheckOrders, NoMoreRacesThanFourAreTurnedRound) {
    std::string body;
    for (int i = 0; i < 6; ++i) {
        const std::string at = std::to_string(i * 4);
        body += "setp.eq.u32 %p1, %r1, 32;\n@%p1 st.shared.u32 [tile+" + at + "], " +
                std::to_string(i + 1) +
                ";\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ld.shared.u32 %r6, [tile+" + at +
                "];\n@%p1 st.global.u32 [%rd1+" + at + "], %r6;\n";
    }
    const Json j = checked(body, R"("grid":[1])", "race-shared");
    ASSERT_EQ(j["findings"].size(), 6u);
    const auto is_turned = [](const Json& f) {
        return f["message"].get<std::string>().find("the other way") != std::string::npos;
    };
    EXPECT_EQ(std::count_if(j["findings"].begin(), j["findings"].end(), is_turned), 4);
}

// Who then waits for ever says nothing about results.
TEST(CheckOrders, WhatDoesNotEndTheOtherWayRoundIsNotSaid) {
    const std::string message = only_message(
        checked("setp.ge.u32 %p1, %r1, 32; @%p1 bra WAIT;\nst.shared.u32 [tile], 1;\nexit;\n"
                "WAIT: ld.volatile.shared.u32 %r6, [tile];\nsetp.eq.u32 %p2, %r6, 0;\n"
                "@%p2 bra WAIT;\nst.global.u32 [%rd1], %r6;",
                R"("grid":[1])", "race-shared"));
    EXPECT_EQ(message.find("the other way"), std::string::npos) << message;
}

const std::string early_reader =
    "st.shared.u32 [%r3], %r5;\ncp.async.ca.shared.global [%r3], [%rd2+512], 4;\n"
    "ld.shared.u32 %r6, [%r3];\nst.global.u32 [%rd2], %r6;\ncp.async.wait_all;";

// A launch is run again only where copies of what it begins with are not too large: 128 MiB.
// What was under way says nothing, and the result is not gone into.
TEST(CheckOrders, NothingIsComparedBehindATimeLimit) {
    const Folder folder;
    folder.write("k.ptx", kernel_of("mov.u32 %r6, 0;\nL: add.u32 %r6, %r6, 1;\n"
                                    "setp.lt.u32 %p1, %r6, 3000;\n@%p1 bra L;\n"
                                    "st.global.u32 [%rd1], %r6;"));
    folder.write("k.json", R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","arch":"sm_90",
        "grid":[1],"block":[64],"buffers":{"D":{"zeros":4}},"args":[{"buffer":"D"}],
        "expect":[{"buffer":"D","is":{"values":{"u32":[5]}}}]})");
    const std::vector<std::string> words{"check", "k.json", "--check", "mapping"};
    EXPECT_NE(run(folder, words).out.find("[mapping/unexplained]"), std::string::npos);
    std::vector<std::string> stopped = words;
    stopped.insert(stopped.end(), {"--orders", "1000000", "--time-limit", "0.5"});
    const Ended e = run(folder, stopped);
    EXPECT_EQ(e.status, 130);
    EXPECT_EQ(e.out, "k.json: nothing was found; the time limit was reached\n");
}

TEST(CheckOrders, LargeBuffersAreNotKept) {
    constexpr uint64_t most = (uint64_t{128} << 20) - 1024;
    for (const uint64_t bytes : {most, most + 1}) {
        const std::string more = R"(,"E":{"zeros":)" + std::to_string(bytes) + "}";
        const Json schedule = checked(early_reader, R"("grid":[1])", "order", {}, more);
        EXPECT_EQ(schedule["findings"].size(), bytes == most ? 1u : 0u) << bytes;
        const Json race = checked(partners, R"("grid":[1])", "race-shared", {}, more);
        EXPECT_EQ(only_message(race).find("the other way") != std::string::npos, bytes == most)
            << bytes;
    }
}

// The copy itself is late: nobody reads too early.
TEST(CheckOrders, ACopyOfWhatIsOverwritten) {
    const Json j = checked(
        "setp.eq.u32 %p1, %r1, 0;\nst.shared.u32 [%r3], %r5; fence.proxy.async; bar.sync 0;\n"
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;\n"
        "cp.async.bulk.commit_group;\nst.shared.u32 [%r3], 7;\ncp.async.bulk.wait_group 0;",
        R"("grid":[1])", "order");
    EXPECT_EQ(only_message(j),
              "line 14, done where somebody waits for it, gives another result: D[0] is "
              "0x00000007, and 0x00000064 where it is done at once");
    EXPECT_EQ(j["findings"][0]["ptx_line"], 14);
    EXPECT_FALSE(j["findings"][0].contains("hint"));
}

TEST(CheckOrders, AnEarlyReader) {
    const Json j = checked(early_reader, R"("grid":[1])", "order");
    EXPECT_EQ(only_message(j),
              "reads what line 13 brings, with no wait for it: line 13, done where somebody waits "
              "for it, gives another result: D[0] is 0x00000064, and 0x00000000 where it is done "
              "at once");
    const Json& f = j["findings"][0];
    EXPECT_EQ(f["ptx_line"], 14);
    EXPECT_EQ(f["other"]["ptx_line"], 13);
    EXPECT_EQ(f["hint"], "wait for it first");
    EXPECT_EQ(f["warp"], 0);
    EXPECT_EQ(f["lanes"], "0-31");
    EXPECT_EQ(f["cta"], (Json{0, 0, 0}));
}

// A file of that very name is no pattern; a pattern that fits none is a name.
TEST(CheckOrders, NamesWithBrackets) {
    const Folder folder;
    folder.write("k.ptx", kernel_of(""));
    const std::string file =
        R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","grid":[1],"block":[64],)"
        R"("buffers":{"D":{"zeros":1024}},"args":[{"buffer":"D"}]})";
    folder.write("a1.json", file);
    folder.write("a2.json", file);
    EXPECT_EQ(run_here(folder, {"check", "a[12].json", "--check", "sync"}).out,
              "2 launch files: nothing was found\n");
    folder.write("a[12].json", file);
    EXPECT_EQ(run_here(folder, {"check", "a[12].json", "--check", "sync"}).out,
              "a[12].json: nothing was found\n");
    const Ended none = run_here(folder, {"check", "b*.json"});
    EXPECT_EQ(none.status, 2);
    EXPECT_NE(none.out.find("b*.json: No such file"), std::string::npos) << none.out;
}

}  // namespace
}  // namespace lockwarp::tools
