// SPDX-License-Identifier: Apache-2.0
// lockwarp check: what it prints in each format, suppressions, exit statuses, and its tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "emu/check/check.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

using Json = nlohmann::json;

const std::string early = LOCKWARP_SOURCE_DIR "/tests/questions/in_flight.json";
const std::string early_ptx = LOCKWARP_SOURCE_DIR "/tests/questions/in_flight.ptx";
const std::string beyond = LOCKWARP_SOURCE_DIR "/tests/faults/shared_beyond.json";
const std::string right = LOCKWARP_SOURCE_DIR "/gpu/kernels/mma_m16n8k16.json";

Ended check(const Folder& folder, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check");
    return run(folder, arguments);
}

Json json_of(const Ended& e) { return Json::parse(e.out); }

// Kernels are slow under the sanitizers: every third shows whether what looks at them is sound.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t share = 3;
#else
constexpr size_t share = 1;
#endif

TEST(Check, TheFirstLineIsTheAnswerAndTheStatusSaysIt) {
    const Folder folder;
    const Ended wrong = check(folder, {early, "--check", "sync"});
    EXPECT_EQ(wrong.status, 1) << wrong.err;
    const std::string answer = early_ptx +
                               ":25: error: reads what line 20 copies, which its thread has not "
                               "waited for [sync/copy-not-awaited]\n";
    EXPECT_TRUE(wrong.out.starts_with(answer)) << wrong.out;
    EXPECT_TRUE(wrong.out.ends_with("\n" + early + ": 1 error\n")) << wrong.out;
    const Ended none = check(folder, {right, "--check", "sync,memory"});
    EXPECT_EQ(none.status, 0) << none.err;
    EXPECT_EQ(none.out, right + ": nothing was found\n");
    const Ended both = check(folder, {early, right, "--check", "sync"});
    EXPECT_EQ(both.status, 1);
    EXPECT_TRUE(both.out.starts_with(answer + "2 launch files: 1 error\n")) << both.out;
}

// A kernel with a line of it gone or changed, and the first line that is said of it.
TEST(Check, NamesTheMistakeInTheFirstLine) {
    struct Row {
        std::vector<std::pair<std::string, std::string>> texts;
        std::string answer;
    };
    const std::string all = " of C = A*B [mapping/explained]";
    const std::vector<Row> rows{
        {{{"{%r128, %r129}, {%f", "{%r129, %r128}, {%f"}},
         "255: error: the registers b0 and b1 of line 255 are swapped: explains all 2,048 "
         "elements" +
             all},
        {{{"and.b32  \t%r96, %r1, 15;", "shr.u32 \t%r96, %r2, 1;"}},
         "247: error: the row addresses of ldmatrix of A at lines 247 and 262 are wrong: row "
         "lane%16, half lane/16 is right (rows 80 bytes apart): explains all 4,096 elements" +
             all},
        {{{"setp.lt.s32 \t%p5, %r172, %r13;",
           "add.s32 %r172, %r172, 1; setp.lt.s32 %p5, %r172, %r13;"}},
         "284: error: the k loop is too short: its bound at line 284 is 1 too low: explains all "
         "4,096 elements" +
             all},
        {{{"cp.async.wait_group 1;\n\t// end inline asm\n\tbar.sync \t0;",
           "cp.async.wait_group 1;\n\t// end inline asm\n"}},
         "247: error: reads what line 70 copies, with no barrier since its thread waited for it "
         "[sync/copy-no-barrier]"},
        {{{"mov.f32 \t%f75, %f73;", ""}},
         "255: error: computes with register %f75, which nothing has written; line 321 stores what "
         "comes of it [uninitialised/stored]"},
        {{{"xor.b32  \t%r95, %r94, %r92;", "mov.b32  \t%r95, %r92;"}},
         "252: error: the swizzle of B's tile is missing at the ldmatrix of lines 252 and 267 and "
         "not at the cp.async (64 bytes: address bits 7 to 8 into 4 to 5): explains all 4,096 "
         "elements" +
             all},
    };
    const std::string tile = LOCKWARP_SOURCE_DIR "/tests/faults/mapping/tile";
    std::ifstream in(tile + ".sm_80.ptx");
    const std::string right_text{std::istreambuf_iterator<char>(in), {}};
    for (size_t i = 0; i < rows.size(); i += share) {
        const Row& row = rows[i];
        std::string text = right_text;
        for (const auto& [from, to] : row.texts) {
            size_t count = 0;
            for (size_t at = text.find(from); at != std::string::npos;
                 at = text.find(from, at + to.size()))
                text.replace(at, from.size(), to), ++count;
            EXPECT_GE(count, 1u) << from;
        }
        const Folder folder;
        folder.write("k.ptx", text);
        const Ended e = check(folder, {"k.ptx", tile + ".json"});
        EXPECT_EQ(e.status, 1) << e.err;
        EXPECT_EQ(e.out.substr(0, e.out.find('\n')), "k.ptx:" + row.answer);
    }
}

// A tile taken from beyond the matrix: the cause stands before the trap that it ends in.
TEST(Check, NamesTheMistakeThatEndsInATrap) {
    const Folder folder;
    std::ifstream in(LOCKWARP_SOURCE_DIR "/tests/faults/mapping/tile.sm_80.ptx");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"%ctaid.x", "%ctaid.z0"},
                                   {"%ctaid.y", "%ctaid.x"},
                                   {"%ctaid.z0", "%ctaid.y"}})
        for (size_t at = text.find(from); at != std::string::npos; at = text.find(from))
            text.replace(at, from.size(), to);
    folder.write("k.ptx", text);
    std::ifstream launch(LOCKWARP_SOURCE_DIR "/tests/faults/mapping/tile.json");
    Json j = Json::parse(launch);
    j["ptx"] = "k.ptx";
    j["grid"] = {3, 2, 1};
    j["buffers"]["B"]["bytes"] = 96 * 128 * 2;
    j["buffers"]["C"]["bytes"] = 64 * 96 * 4;
    j["args"][3] = {{"s32", 96}};
    j["expect"][0]["shape"] = {64, 96, 128};
    folder.write("k.json", j.dump());
    const Ended e = check(folder, {"k.json"});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_TRUE(
        e.out.starts_with("k.ptx:47: error: %ctaid.x and %ctaid.y are exchanged at the 8 "
                          "lines from 47 to 302: explains all "))
        << e.out;
    EXPECT_NE(e.out.find(" [memory/out-of-bounds]\n"), std::string::npos) << e.out;
}

TEST(Check, WrongInputIsStatusTwo) {
    const Folder folder;
    folder.write("bad.json", R"({"schema": "lockwarp-launch/1", "grid": 0})");
    EXPECT_EQ(check(folder, {"none.json"}).status, 2);
    const Ended bad = check(folder, {early, "bad.json"});
    EXPECT_EQ(bad.status, 2);
    EXPECT_NE(bad.out.find("bad.json:1"), std::string::npos) << bad.out;
    EXPECT_NE(bad.out.find("2 errors"), std::string::npos) << "the other is checked" << bad.out;
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{early, "--check", "rubbish"},
          {early, "--format", "yaml"},
          {early, "--suppress", "none.txt"},
          {early, "--output", "no/folder/x"}}) {
        const Ended e = check(folder, arguments);
        EXPECT_EQ(e.status, 2) << e.out;
        EXPECT_FALSE(e.err.empty());
    }
}

TEST(Check, PatternsStandForTheirFiles) {
    const Folder folder;
    const Ended e =
        check(folder, {LOCKWARP_SOURCE_DIR "/tests/faults/shared_*.json", "--format", "json"});
    EXPECT_EQ(e.status, 1) << e.err;
    EXPECT_GE(json_of(e)["files"].size(), 2u);
}

// It reads 16 bytes at a time of a swizzled tile, in an order that is not known.
TEST(Check, WgmmaHasNoBankConflictsOfItsOwn) {
    const Folder folder;
    const Json j = json_of(
        check(folder, {LOCKWARP_SOURCE_DIR "/gpu/kernels/wgmma_gemm.json", "--format", "json"}));
    EXPECT_EQ(j["files"].size(), 1u);
    for (const Json& f : j["findings"]) {
        EXPECT_EQ(f["severity"], "note") << f.dump(1);
        EXPECT_NE(f["kind"], "bank-conflict") << f.dump(1);
    }
}

TEST(Check, ATrapIsAFinding) {
    const Folder folder;
    const Json j = json_of(check(folder, {beyond, "--format", "json", "--check", "performance"}));
    ASSERT_EQ(j["findings"].size(), 1u) << j.dump(1);
    EXPECT_EQ(j["findings"][0]["check"], "memory");
    EXPECT_EQ(j["findings"][0]["kind"], "out-of-bounds");
    EXPECT_EQ(j["findings"][0]["ptx_line"], 13);
    EXPECT_EQ(j["findings"][0]["address"], 1 << 20);  // that the program stores to
}

TEST(Check, EveryTrapHasItsKind) {
    for (const check::TrapRow& row : check::trap_rows()) {
        if (row.check.empty()) continue;
        const check::CheckRow* const check = check::check_named(row.check);
        ASSERT_NE(check, nullptr) << row.check;
        EXPECT_NE(std::ranges::find(check->kinds, row.kind, &check::KindRow::kind),
                  check->kinds.end())
            << row.kind;
    }
}

TEST(Check, JsonHasBothSides) {
    const Folder folder;
    const Json j = json_of(check(folder, {early, "--format", "json", "--check", "sync"}));
    EXPECT_EQ(j["schema"], "lockwarp-check/1");
    ASSERT_EQ(j["findings"].size(), 1u);
    const Json& f = j["findings"][0];
    EXPECT_EQ(f["check"], "sync");
    EXPECT_EQ(f["kind"], "copy-not-awaited");
    EXPECT_EQ(f["severity"], "error");
    EXPECT_EQ(f["ptx_line"], 25);
    EXPECT_EQ(f["other"]["ptx_line"], 20);
    EXPECT_EQ(f["warp"], 1);
    EXPECT_EQ(f["lanes"], "0-31");
    EXPECT_EQ(f["count"], 64);
    EXPECT_EQ(f["object"]["name"], "tile");
    EXPECT_FALSE(f["message"].get<std::string>().empty());
    EXPECT_FALSE(f["hint"].get<std::string>().empty());
    EXPECT_EQ(j["files"][0]["errors"], 1);
}

// SARIF 2.1.0, sections 3.13 (sarifLog) to 3.30 (region): what the standard requires of what is
// written, and that rules are referred to rightly.
// What of the schema of SARIF 2.1.0 (sarif-schema-2.1.0.json, "definitions") the report uses: the
// properties of each object, '*' those that are required, and what theirs are; "[]" is a list. All
// of these objects allow no other property.
struct SarifProperty {
    std::string object, property, is;
    bool required = false;
};
const std::vector<SarifProperty>& sarif_properties() {
    static const std::vector<SarifProperty> rows{
        {"log", "$schema", "text"},
        {"log", "version", "text", true},
        {"log", "runs", "run[]", true},
        {"run", "tool", "tool", true},
        {"run", "invocations", "invocation[]"},
        {"run", "results", "result[]"},
        {"tool", "driver", "toolComponent", true},
        {"toolComponent", "name", "text", true},
        {"toolComponent", "version", "text"},
        {"toolComponent", "rules", "reportingDescriptor[]"},
        {"reportingDescriptor", "id", "text", true},
        {"reportingDescriptor", "shortDescription", "multiformatMessageString"},
        {"reportingDescriptor", "defaultConfiguration", "reportingConfiguration"},
        {"multiformatMessageString", "text", "text", true},
        {"reportingConfiguration", "level", "level"},
        {"invocation", "executionSuccessful", "truth", true},
        {"invocation", "toolExecutionNotifications", "notification[]"},
        {"notification", "message", "message", true},
        {"notification", "level", "level"},
        {"message", "text", "text"},
        {"result", "message", "message", true},
        {"result", "ruleId", "text"},
        {"result", "ruleIndex", "number"},
        {"result", "level", "level"},
        {"result", "locations", "location[]"},
        {"result", "relatedLocations", "location[]"},
        {"result", "occurrenceCount", "number"},
        {"result", "suppressions", "suppression[]"},
        {"result", "properties", "any"},
        {"suppression", "kind", "text", true},
        {"location", "id", "number"},
        {"location", "message", "message"},
        {"location", "physicalLocation", "physicalLocation"},
        {"physicalLocation", "artifactLocation", "artifactLocation"},
        {"physicalLocation", "region", "region"},
        {"artifactLocation", "uri", "text"},
        {"region", "startLine", "number"},
        {"region", "startColumn", "number"},
    };
    return rows;
}

// Counts the objects that were looked at.
size_t expect_sarif(const Json& j, const std::string& is) {
    if (is == "any") return 0;
    if (is.ends_with("[]")) {
        EXPECT_TRUE(j.is_array()) << is;
        size_t out = 0;
        for (const Json& one : j) out += expect_sarif(one, is.substr(0, is.size() - 2));
        return out;
    }
    if (is == "text" || is == "truth" || is == "number" || is == "level") {
        const bool level = j == "error" || j == "note" || j == "warning" || j == "none";
        EXPECT_TRUE(is == "text"     ? j.is_string()
                    : is == "truth"  ? j.is_boolean()
                    : is == "number" ? j.is_number_unsigned()
                                     : level)
            << is << " " << j;
        return 0;
    }
    EXPECT_TRUE(j.is_object()) << is << " " << j;
    size_t out = 1, known = 0;
    for (const SarifProperty& p : sarif_properties()) {
        if (p.object != is) continue;
        EXPECT_TRUE(!p.required || j.contains(p.property)) << is << " lacks " << p.property;
        if (!j.contains(p.property)) continue;
        ++known;
        out += expect_sarif(j[p.property], p.is);
    }
    EXPECT_EQ(known, j.size()) << is << " has others: " << j;
    return out;
}

TEST(Check, SarifIsAsTheStandardSays) {
    const Folder folder;
    folder.write("bad.json", "{");
    folder.write("known.txt", "memory/out-of-bounds\n");
    const Json bad = json_of(
        check(folder, {early, beyond, "bad.json", "--format", "sarif", "--suppress", "known.txt"}));
    EXPECT_GT(expect_sarif(bad, "log"), 50u);
    EXPECT_EQ(bad["runs"][0]["invocations"][0]["executionSuccessful"], false);
    EXPECT_EQ(bad["runs"][0]["invocations"][0]["toolExecutionNotifications"].size(), 1u);

    const Ended e = check(folder, {early, beyond, "--format", "sarif"});
    const Json j = json_of(e);
    expect_sarif(j, "log");
    EXPECT_EQ(j["version"], "2.1.0");
    ASSERT_EQ(j["runs"].size(), 1u);
    const Json& run = j["runs"][0];
    const Json& driver = run["tool"]["driver"];
    EXPECT_TRUE(driver["name"].is_string());
    std::set<std::string> ids;
    for (const Json& rule : driver["rules"]) {
        EXPECT_TRUE(ids.insert(rule["id"].get<std::string>()).second) << rule.dump();
        EXPECT_FALSE(rule["shortDescription"]["text"].get<std::string>().empty());
    }
    ASSERT_GE(run["results"].size(), 2u);
    for (const Json& r : run["results"]) {
        EXPECT_EQ(driver["rules"][r["ruleIndex"].get<size_t>()]["id"], r["ruleId"]);
        EXPECT_TRUE(r["level"] == "error" || r["level"] == "note") << r["level"];
        EXPECT_FALSE(r["message"]["text"].get<std::string>().empty());
        EXPECT_GE(r["occurrenceCount"].get<int>(), 1);
        for (const char* list : {"locations", "relatedLocations"})
            for (const Json& l : r.value(list, Json::array())) {
                const Json& physical = l["physicalLocation"];
                const auto uri = physical["artifactLocation"]["uri"].get<std::string>();
                EXPECT_EQ(uri.find_first_of(" %\\"), std::string::npos) << uri;
                if (physical.contains("region")) {
                    EXPECT_GE(physical["region"]["startLine"].get<int>(), 1);
                }
            }
    }
    EXPECT_EQ(run["invocations"][0]["executionSuccessful"], true);
}

// Two launches of one kernel that adds to a buffer: the first finds it undefined, the second does
// not; and what the first did not store to is undefined for the second, too.
TEST(Check, UndefinedBuffersLastFromLaunchToLaunch) {
    const Folder folder;
    folder.write("k.ptx", R"(.version 7.0
.target sm_80
.address_size 64
.entry put(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %d<4>; ld.param.u64 %d1, [p];
mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
st.global.u32 [%d3], %r1; ret; }
.entry grow(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %d<4>; ld.param.u64 %d1, [p];
mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
ld.global.u32 %r2, [%d3];
add.u32 %r2, %r2, 1;
st.global.u32 [%d3], %r2; ret; }
)");
    const auto findings = [&](int put, int grown) {
        Json j = Json::parse(R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1],
            "buffers": {"p": {"type": "u32", "shape": [4, 16], "init": "undefined"}},
            "args": [{"buffer": "p"}], "launches": []})");
        j["launches"].push_back({{"entry", "put"}, {"block", {put}}});
        j["launches"].push_back({{"entry", "grow"}, {"block", {grown}}});
        folder.write("k.json", j.dump());
        return json_of(check(folder, {"k.json", "--format", "json", "--check", "uninitialised"}));
    };
    EXPECT_EQ(findings(64, 64)["findings"].size(), 0u);
    const Json more = findings(32, 64);
    ASSERT_EQ(more["findings"].size(), 1u) << more.dump(1);
    EXPECT_EQ(more["findings"][0]["kind"], "stored");
    EXPECT_EQ(more["findings"][0]["ptx_line"], 10);
    EXPECT_EQ(more["findings"][0]["object"]["element"], "p[2][0]");
    const Ended ran = run(folder, {"run", "k.json", "--check=uninitialised"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_NE(ran.out.find("buffer p + 128 = p[2][0]"), std::string::npos) << ran.out;
}

// A mapping mistake is found at its line, with what should stand there; a wrong loop in a kernel
// without a product is a result that nothing explains.
TEST(Check, AWrongResultHasItsReason) {
    const Folder folder;
    std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/faults/mapping/tile.sm_80.ptx");
    std::stringstream stream;
    stream << file.rdbuf();
    std::string text = stream.str();
    const std::string right_text = "{%r128, %r129}, {%f";
    const size_t at = text.find(right_text);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, right_text.size(), "{%r129, %r128}, {%f");
    folder.write("kernel.ptx", text);
    const std::string launch = LOCKWARP_SOURCE_DIR "/tests/faults/mapping/tile.json";
    const Ended e = check(folder, {"kernel.ptx", launch, "--check", "mapping", "--format", "json"});
    EXPECT_EQ(e.status, 1) << e.err;
    const Json j = json_of(e);
    ASSERT_EQ(j["findings"].size(), 1u) << j.dump(1);
    const Json& f = j["findings"][0];
    EXPECT_EQ(f["check"], "mapping");
    EXPECT_EQ(f["kind"], "explained");
    EXPECT_EQ(f["ptx_line"], 255);
    EXPECT_EQ(f["count"], 2048);
    EXPECT_TRUE(f["message"].get<std::string>().starts_with(
        "the registers b0 and b1 of line 255 are swapped: explains all 2,048 elements of C = A*B"))
        << f["message"];
    ASSERT_EQ(f["changes"].size(), 1u);
    EXPECT_NE(f["changes"][0]["is"].get<std::string>().find("{%r129, %r128}"), std::string::npos);
    EXPECT_NE(f["changes"][0]["becomes"][0].get<std::string>().find("{%r128, %r129}"),
              std::string::npos);
    EXPECT_EQ(f["hint"], "line 255: " + f["changes"][0]["becomes"][0].get<std::string>());
    const Ended said = check(folder, {"kernel.ptx", launch, "--check", "mapping"});
    EXPECT_NE(said.out.find("\n+   mma.sync"), std::string::npos) << said.out;
    EXPECT_EQ(check(folder, {launch, "--check", "mapping"}).status, 0);

    // Where another mistake is beside it, what explains most.
    const std::string store = "st.global.f32 \t[%rd47], %f75;";
    const size_t stored = text.find(store);
    ASSERT_NE(stored, std::string::npos);
    text.insert(stored, "mul.f32 %f75, %f75, 0f40A00000; ");
    folder.write("kernel.ptx", text);
    const Json most =
        json_of(check(folder, {"kernel.ptx", launch, "--check", "mapping", "--format", "json"}));
    ASSERT_EQ(most["findings"].size(), 1u) << most.dump(1);
    EXPECT_EQ(most["findings"][0]["kind"], "unexplained");
    const std::string message = most["findings"][0]["message"];
    EXPECT_TRUE(message.starts_with("2,048 of 4,096 elements of C = A*B are not as expected; C["))
        << message;
    EXPECT_TRUE(message.ends_with(
        "; the best explanation, the lanes' addresses of the ldmatrix of B at line 252: the quads "
        "are exchanged: lane^8, explains 1,536 of 2,048 (and breaks 2,048)"))
        << message;

    folder.write("k.ptx", R"(.version 7.0
.target sm_80
.address_size 64
.global .align 4 .u32 n;
.entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %d<4>; ld.param.u64 %d1, [p];
mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
st.global.u32 [%d3], %r1; st.global.u32 [n], %r1; ret; }
)");
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1],
        "block": [64], "buffers": {"p": {"zeros": 256}}, "args": [{"buffer": "p"}],
        "expect": [{"buffer": "p", "is": {"values": {"u32": [5]}}},
                   {"variable": "n", "is": {"values": {"u32": [7]}}}]})");
    const Json no = json_of(check(folder, {"k.json", "--check", "mapping", "--format", "json"}));
    ASSERT_EQ(no["findings"].size(), 2u) << no.dump(1);
    EXPECT_EQ(no["findings"][0]["kind"], "unexplained");
    EXPECT_EQ(no["findings"][0]["object"]["element"], "p[63]");
    EXPECT_EQ(no["findings"][0]["object"]["offset"], 252);
    EXPECT_EQ(no["findings"][0]["space"], "global");
    EXPECT_EQ(no["findings"][0]["address"].get<uint64_t>() % 256, 252u);
    EXPECT_FALSE(no["findings"][1].contains("space"));
    EXPECT_TRUE(no["findings"][0]["message"].get<std::string>().starts_with(
        "63 of 64 elements of p are not as expected; p[63]: "))
        << no["findings"][0]["message"];
    EXPECT_TRUE(no["findings"][1]["message"].get<std::string>().starts_with(
        "1 of 1 elements of n are not as expected"));
    folder.write("bad.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1],
        "block": [64], "buffers": {"p": {"zeros": 256}}, "args": [{"buffer": "p"}],
        "expect": [{"buffer": "p", "is": {"file": "none.bin"}}]})");
    EXPECT_EQ(check(folder, {"bad.json"}).status, 2);
}

TEST(Check, JunitHasACaseForEachFile) {
    const Folder folder;
    folder.write("bad.json", "{");
    const Ended e = check(folder, {early, right, "bad.json", "--format", "junit", "--output",
                                   "check.xml", "--check", "sync"});
    EXPECT_EQ(e.status, 2) << e.err;
    EXPECT_EQ(e.out, early_ptx +
                         ":25: error: reads what line 20 copies, which its thread has not waited "
                         "for [sync/copy-not-awaited]\n"
                         "3 launch files: 1 error; 1 could not be run\n");
    const std::string xml = folder.read("check.xml");
    EXPECT_NE(xml.find("tests=\"3\" failures=\"1\" errors=\"1\""), std::string::npos) << xml;
    EXPECT_NE(xml.find("message=\"sync/copy-not-awaited: reads what line 20 copies, which its "
                       "thread has not waited for\""),
              std::string::npos)
        << xml;
}

TEST(Check, GithubGetsAnAnnotationForEachFinding) {
    const Folder folder;
    const Ended e = check(folder, {early, "--format", "github"});
    EXPECT_NE(e.out.find("\n::error file=" + early_ptx + ",line=25,title=sync/copy-not-awaited"),
              std::string::npos)
        << e.out;
}

// GitHub's workflow commands: of a property also ':' and ',' are escaped, of a message '%' and line
// breaks.
TEST(Check, GithubsCommandsAreEscaped) {
    const Folder folder;
    std::ifstream file(early);
    std::stringstream text;
    text << file.rdbuf();
    Json j = Json::parse(text.str());
    j["ptx"] = early_ptx;
    folder.write("a,b: 100%.json", j.dump());
    const Ended e = check(folder, {"a,b: 100%.json", "--format", "github", "--check", "sync"});
    EXPECT_NE(e.out.find("title=sync/copy-not-awaited%3A a%2Cb%3A 100%25.json::"),
              std::string::npos)
        << e.out;
    std::istringstream lines(e.out);
    std::string line;
    std::getline(lines, line);
    size_t commands = 0;
    while (std::getline(lines, line)) {
        EXPECT_TRUE(line.starts_with("::")) << line;
        EXPECT_NE(line.find("%0A"), std::string::npos) << line;
        ++commands;
    }
    EXPECT_EQ(commands, 1u);
}

TEST(Check, WhatIsSuppressedIsNoError) {
    const Folder folder;
    for (const char* text :
         {"sync", "sync/copy-not-awaited", "sync in_flight.ptx  # meant", "sync in_flight.ptx:25",
          "# before\nsync questions/in_flight.ptx:20\n"}) {
        folder.write("known.txt", text);
        const Ended e = check(folder, {early, "--suppress", "known.txt", "--check", "sync"});
        EXPECT_EQ(e.status, 0) << text << e.out << e.err;
        EXPECT_EQ(e.out, early + ": nothing was found, 1 suppressed\n") << text;
    }
    for (const char* text :
         {"memory", "sync/copy-no-barrier", "sync flight.ptx:25", "sync in_flight.ptx:24"}) {
        folder.write("known.txt", text);
        const Ended e = check(folder, {early, "--suppress", "known.txt", "--check", "sync"});
        EXPECT_EQ(e.status, 1) << text << e.out << e.err;
        EXPECT_NE(e.out.find("known.txt:1: nothing was suppressed by \"" + std::string(text)),
                  std::string::npos)
            << e.out;
    }
    for (const char* text : {"rubbish", "sync/rubbish", "sync a.ptx:x", "sync a.ptx:1 more"}) {
        folder.write("known.txt", text);
        const Ended e = check(folder, {early, "--suppress", "known.txt", "--check", "sync"});
        EXPECT_EQ(e.status, 2) << text << e.out;
        EXPECT_NE(e.err.find("known.txt:1"), std::string::npos) << e.err;
    }
}

// What comes after it is not begun.
TEST(Check, ATimeLimitEndsIt) {
    const Folder folder;
    const std::string endless = LOCKWARP_SOURCE_DIR "/tests/faults/endless.json";
    const Ended e = check(folder, {endless, right, "--time-limit", "0.3", "--check", "sync"});
    EXPECT_EQ(e.status, 130) << e.out << e.err;
    EXPECT_TRUE(e.out.starts_with(endless + ": ")) << e.out;
    EXPECT_NE(e.out.find("the time limit was reached"), std::string::npos) << e.out;
}

// Every launch file of the project's kernels.
TEST(Check, FindsNoErrorInTheKernelsOfTheProject) {
    const Folder folder;
    std::set<std::string> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(LOCKWARP_SOURCE_DIR "/gpu/kernels"))
        if (entry.path().extension() == ".json") files.insert(entry.path().string());
    ASSERT_GE(files.size(), 120u);
    std::vector<std::string> words{"--format", "json"};
    size_t number = 0;
    for (const std::string& file : files)
        if (number++ % share == 0) words.push_back(file);
    const Json j = json_of(check(folder, words));
    EXPECT_EQ(j["files"].size(), words.size() - 2);
    for (const Json& file : j["files"]) {
        // Some have what the manual has not, and a GPU allows.
        const auto name = file["name"].get<std::string>();
        const bool is_wrong = name.ends_with("gpu/kernels/local_atomics.json") ||
                              name.find("left_barrier_") != std::string::npos ||
                              name.ends_with("gpu/kernels/sparse_metadata.json");
        EXPECT_EQ(file["errors"] != 0, is_wrong) << name;
        EXPECT_FALSE(file.contains("refused")) << file.dump();
    }
}

// docs/checks.md has a row for each kind, as the table of checks says it.
TEST(Check, TheDocumentListsEveryKind) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/docs/checks.md");
    std::stringstream text;
    text << file.rdbuf();
    std::string expected = "| check | kind | | what it finds |\n|---|---|---|---|\n";
    for (const check::CheckRow& row : check::checks())
        for (const check::KindRow& k : row.kinds)
            expected += "| `" + std::string(row.name) + "` | `" + std::string(k.kind) + "` | " +
                        (k.severity == check::Severity::error ? "error" : "note") + " | " +
                        std::string(k.finds) + " |\n";
    EXPECT_NE(text.str().find("\n" + expected + "\n"), std::string::npos)
        << "docs/checks.md should have\n"
        << expected;
}

}  // namespace
}  // namespace lockwarp::tools
