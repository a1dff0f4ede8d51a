// SPDX-License-Identifier: Apache-2.0
// tests/faults/*/*.ptx: kernels with one mistake each, `wrong`, and what they should be, `right`.
// A comment at the end of a line of `wrong` names what is found there: "//! CHECK/KIND" an error,
// "//~ CHECK/KIND" a note. "// launch: grid 2 block 64" says how they run.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "emu/exec/schedule.hpp"
#include "tests/check/fault_kernels.hpp"

namespace lockwarp::check {
namespace {

using namespace fault;

struct Said {
    uint32_t line = 0;
    std::string what;  // CHECK/KIND
    Severity severity = Severity::error;
    uint32_t other = 0;  // the line of the other side
    auto operator<=>(const Said&) const = default;
};

std::string check_of(const Said& s) { return s.what.substr(0, s.what.find('/')); }

// A race is between two lines; which of them came first depends on the order of the run.
bool is_same(const Said& expected, const Said& found) {
    if (expected.severity != found.severity) return false;
    if (expected.line == found.line && expected.what == found.what) return true;
    return check_of(expected).starts_with("race-") && check_of(expected) == check_of(found) &&
           (expected.line == found.line || expected.line == found.other);
}

std::ostream& operator<<(std::ostream& out, const Said& s) {
    return out << "line " << s.line << ": " << (s.severity == Severity::error ? "error " : "note ")
               << s.what;
}

// What the comments of a file expect.
std::set<Said> expected_of(const std::string& text) {
    std::set<Said> out;
    std::istringstream lines(text);
    std::string line;
    for (uint32_t number = 1; std::getline(lines, line); ++number)
        for (const auto& [mark, severity] :
             {std::pair{"//! ", Severity::error}, std::pair{"//~ ", Severity::note}})
            if (const size_t at = line.find(mark); at != std::string::npos)
                out.insert({number, line.substr(at + 4), severity, 0});
    return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& of) {
    std::string name = of.param;
    std::ranges::replace(name, '/', '_');
    return name;
}

class Faults : public testing::TestWithParam<std::string> {
  protected:
    static std::string path() {
        return std::string(LOCKWARP_SOURCE_DIR) + "/tests/faults/" + GetParam() + ".ptx";
    }

    // What an entry of the file leaves in `out` with that schedule; the name of its trap.
    static std::pair<std::vector<uint8_t>, std::string> left_by(const std::string& entry,
                                                                bool late) {
        const std::string text = text_of(path());
        const auto parsed = ptx::parse(text);
        const auto resolved = isa::resolve(parsed.module, isa::Arch::sm_90, entry);
        std::vector<uint8_t> out(1 << 16), in(1 << 16);
        warp::Launch launch = launch_of(text, resolved.program, out, in);
        launch.threads = 1;
        const warp::Result result = exec::launch(resolved.program, launch, exec::Schedule{late});
        EXPECT_FALSE(result.refusal) << result.refusal->what;
        return {out, result.trap ? std::string(warp::trap_name(result.trap->kind)) : ""};
    }

    // What all checks find in an entry of the file.
    static std::set<Said> found_in(const std::string& entry, unsigned threads) {
        const std::string text = text_of(path());
        const auto parsed = ptx::parse(text);
        EXPECT_TRUE(parsed.diagnostics.empty());
        const auto resolved = isa::resolve(parsed.module, isa::Arch::sm_90, entry);
        for (const auto& d : resolved.diagnostics) ADD_FAILURE() << d.place.line << d.message;
        const isa::Program& program = resolved.program;
        std::string refusal;
        const std::vector<Found> found =
            fault::found_in(text, parsed.module, program, threads, refusal);
        EXPECT_EQ(refusal, "");
        std::set<Said> said;
        for (const Found& f : found) {
            if (!f.finding.here.operation) continue;
            const uint32_t line = program.operations[*f.finding.here.operation].place.line;
            const auto& other = f.finding.other;
            said.insert(
                {line, std::string(f.check->name) + "/" + std::string(f.finding.kind),
                 f.finding.severity,
                 other && other->operation ? program.operations[*other->operation].place.line : 0});
        }
        return said;
    }
};

// Errors that are found beside the one meant: the same mistake seen by another check. What is read
// without a barrier has no value yet, what is copied without one is a race, and what leaves its
// variable meets what is not its own.
bool is_of_another_check(const std::set<Said>& expected, const Said& s) {
    if (s.what.starts_with("sync/copy-")) return true;
    const std::set<std::string> all{"race-shared", "race-global", "sync", "uninitialised",
                                    "memory"};
    return all.contains(check_of(s)) && std::ranges::all_of(expected, [&](const Said& e) {
               return all.contains(check_of(e)) && check_of(e) != check_of(s);
           });
}

TEST_P(Faults, AreFoundWhereTheyAre) {
    const std::set<Said> expected = expected_of(text_of(path()));
    ASSERT_FALSE(expected.empty());
    for (const unsigned threads : {1u, 4u}) {
        const std::set<Said> found = found_in("wrong", threads);
        const auto in = [](const std::set<Said>& all, auto is) {
            return std::ranges::any_of(all, is);
        };
        for (const Said& s : expected)
            EXPECT_TRUE(in(found, [&](const Said& f) { return is_same(s, f); }))
                << "not found: " << s;
        for (const Said& f : found)
            EXPECT_TRUE(in(expected, [&](const Said& s) { return is_same(s, f); }) ||
                        f.severity == Severity::note || is_of_another_check(expected, f))
                << f;
    }
}

TEST_P(Faults, AreNotInTheRightOnes) {
    const std::set<Said> expected = expected_of(text_of(path()));
    for (const Said& s : found_in("right", 2)) {
        EXPECT_EQ(s.severity, Severity::note) << s;
        EXPECT_FALSE(std::ranges::any_of(expected, [&](const Said& e) { return e.what == s.what; }))
            << s;
    }
}

// Where a wait is missing, a copy that is done as late as it may be gives another result.
TEST_P(Faults, LateCopiesShowAMissingWait) {
    EXPECT_EQ(left_by("right", false), left_by("right", true));
    const std::set<std::string> waits{"races/bulk_no_wait",
                                      "races/bulk_source_never_committed",
                                      "races/bulk_source_overwritten",
                                      "races/copy_wait_too_few",
                                      "sync/copy_not_awaited",
                                      "sync/copy_not_committed",
                                      "sync/copy_source_overwritten",
                                      "sync/copy_wait_for_one_too_few"};
    if (!waits.contains(GetParam())) return;
    EXPECT_NE(left_by("wrong", false), left_by("wrong", true));
}

// Each kind of each check has a kernel with that mistake, but for those that are named here.
TEST(FaultKinds, HaveAKernelEach) {
    std::set<std::string> shown;
    for (const std::string& name : names())
        for (const Said& s : expected_of(
                 text_of(std::string(LOCKWARP_SOURCE_DIR) + "/tests/faults/" + name + ".ptx")))
            shown.insert(s.what);
    const std::set<std::string> elsewhere{
        "memory/stack",               // tests/exec: calls too deep
        "trap/breakpoint",            // tests/faults/breakpoint.ptx
        "performance/unused-shared",  // tests/tools/questions_test.cpp; it has no line
        "race-shared/incomplete",     // it has no line
        "race-global/incomplete",
        "order/result",              // tests/tools/orders_test.cpp
        "order/schedule",            // tests/tools/schedules_test.cpp
        "sync/product-not-awaited",  // tests/faults/specialised
        "mapping/explained",         // tests/faults/mapping, tests/tools/check_test.cpp
        "mapping/unexplained",
        "uninitialised/metadata-zero",  // tests/check/metadata_test.cpp
    };
    for (const CheckRow& row : checks())
        for (const KindRow& kind : row.kinds) {
            const std::string what = std::string(row.name) + "/" + std::string(kind.kind);
            EXPECT_NE(shown.contains(what), elsewhere.contains(what)) << what;
        }
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace lockwarp::check
