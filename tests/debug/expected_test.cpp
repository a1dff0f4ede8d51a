// SPDX-License-Identifier: Apache-2.0
// What `frag` says operands should be, on the mistakes of tests/faults/mapping.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/debug/sessions.hpp"
#include "tools/report/why_subject.hpp"

namespace lockwarp::debug::expected_test {
namespace {

const std::string root = LOCKWARP_SOURCE_DIR "/";

std::string text_of(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

// The kernel with that mistake; without a name as it should be.
Sessions session_of(const std::string& fault) {
    const auto all = nlohmann::json::parse(text_of(root + "tests/faults/mapping/faults.json"));
    std::string ptx = text_of(root + "tests/faults/mapping/tile.sm_80.ptx");
    bool found = fault.empty();
    for (const auto& f : all["faults"]) {
        if (f["name"] != fault || f["ptx"] != "tests/faults/mapping/tile.sm_80.ptx") continue;
        found = true;
        for (const auto& pair : f["texts"]) {
            const std::string right = pair[0], wrong = pair[1];
            const size_t at = ptx.find(right);
            EXPECT_NE(at, std::string::npos) << right;
            ptx.replace(at, right.size(), wrong);
        }
    }
    EXPECT_TRUE(found) << fault;
    auto json = nlohmann::json::parse(text_of(root + "tests/faults/mapping/tile.json"));
    json["ptx"] = "k.ptx";
    Sessions s = Sessions::of_launch(ptx, json.dump());
    s.session->expect(tools::subject_of({}));
    return s;
}

TEST(DebugExpected, TheRightKernelIsAsItShouldBe) {
    Sessions s = session_of("");
    s("b mma");
    s.expect("run", "k.ptx:255");
    for (int i = 0; i < 40 && !s.session->is_over(); ++i) {
        for (const char* operand : {"A", "B", "C"}) {
            const std::string text = s.expect(std::string("frag ") + operand, "As it should be: ");
            EXPECT_EQ(text.find('!'), std::string::npos) << text;
        }
        const std::string line = std::to_string(s.session->listing().line_of(s.session->view().pc));
        s("si");
        s.expect("frag D " + line, "As it should be: the sums of k 0-");
        s("c");
    }
}

// Without what is expected nothing is said.
TEST(DebugExpected, NothingIsSaidWhereNothingIsKnown) {
    Sessions s = session_of("");
    s.session->expect({});
    s("b mma");
    s("run");
    EXPECT_EQ(s("frag A").find("should"), std::string::npos);
    Sessions other("gemm_sm80.json");
    other.session->expect(tools::subject_of({}));
    other("b mma");
    other("run");
    EXPECT_EQ(other("frag A").find("should"), std::string::npos);
}

struct Fault {
    const char* name;
    const char* operand;
    const char* says;
    const char* other;  // which is as it should be; empty: none
};

void PrintTo(const Fault& f, std::ostream* out) { *out << f.name << ": " << f.operand; }

class Faulty : public testing::TestWithParam<Fault> {};

TEST_P(Faulty, OperandsAreMarked) {
    const Fault& f = GetParam();
    Sessions s = session_of(f.name);
    s("b mma");
    s("run");
    const std::string text = s.expect(std::string("frag ") + f.operand, f.says);
    EXPECT_NE(text.find("and what it should be"), std::string::npos) << text;
    EXPECT_NE(text.find("!"), std::string::npos);
    if (*f.other != 0) s.expect(std::string("frag ") + f.other, "As it should be: ");
}

INSTANTIATE_TEST_SUITE_P(
    Debug, Faulty,
    testing::Values(
        Fault{"b0 and b1 swapped", "B", "columns 16-23 and k 0-15 of B; 128 of 128 elements", "A"},
        Fault{"b0 and b1 swapped", "B",
              "lane 0, register 0[15:0]: B[8][16] = -0.5918, should be B[0][16] = -0.97266", "C"},
        Fault{"a1 and a2 swapped", "A", "rows 16-31 and k 0-15 of A; 128 of 256 elements", "B"},
        Fault{"a in another order", "A", "256 of 256 elements", "B"},
        Fault{".trans missing on B", "B", "112 of 128 elements", "A"},
        Fault{".trans too much on A", "A", "224 of 256 elements", "B"},
        Fault{"ldmatrix row lane/2", "A", "rows 16-31 and k 0-15 of A; 240 of 256 elements", "B"},
        Fault{"ldmatrix half lane/8%2", "A", "128 of 256 elements", "B"},
        Fault{"swizzle missing at ldmatrix", "B", "96 of 128 elements", "A"},
        Fault{"swizzle missing at cp.async", "B", "96 of 128 elements", "A"},
        Fault{"leading dimension of A is N", "A", "256 of 256 elements", "B"},
        Fault{"k of A off by 8", "A", "k 0-15 of A; 256 of 256 elements", "B"},
        Fault{"two: b0 and b1, a1 and a2", "B", "k 0-15 of B; 128 of 128 elements", "C"}),
    [](const auto& of) { return std::to_string(of.index); });

// Sums that are stored where others belong: A and B are right, D is not.
TEST(DebugExpected, SumsStoredElsewhere) {
    Sessions s = session_of("c1 and c2 swapped at the stores");
    s("b mma");
    s("run");
    s.expect("frag A", "As it should be: ");
    s.expect("frag B", "As it should be: ");
    const std::string line = std::to_string(s.session->listing().line_of(s.session->view().pc));
    s("si");
    s.expect("frag D " + line, "64 of 128 elements are not (!)");
}

}  // namespace
}  // namespace lockwarp::debug::expected_test
