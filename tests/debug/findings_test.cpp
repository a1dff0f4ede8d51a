// SPDX-License-Identifier: Apache-2.0
// `break check` on the kernels of tests/faults: held where a check finds the mistake.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/debug/sessions.hpp"

namespace lockwarp::debug::findings_test {
namespace {

namespace fs = std::filesystem;

const fs::path faults = LOCKWARP_SOURCE_DIR "/tests/faults";

std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

unsigned number_behind(const std::string& text, const std::string& word, unsigned otherwise) {
    const size_t line = text.find("// launch:");
    const size_t at = text.find(word + " ", line);
    if (at == std::string::npos || at > text.find('\n', line)) return otherwise;
    return static_cast<unsigned>(std::stoul(text.substr(at + word.size())));
}

// Lines of the errors that the file's comments name, and their checks.
std::set<std::pair<uint32_t, std::string>> errors_of(const std::string& text) {
    std::set<std::pair<uint32_t, std::string>> out;
    std::istringstream lines(text);
    std::string line;
    for (uint32_t number = 1; std::getline(lines, line); ++number)
        if (const size_t at = line.find("//! "); at != std::string::npos)
            out.emplace(number, line.substr(at + 4, line.find('/', at + 4) - at - 4));
    return out;
}

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& e : fs::recursive_directory_iterator(faults)) {
        const std::string folder = e.path().parent_path().filename();
        if (e.path().extension() != ".ptx" || e.path().parent_path() == faults ||
            folder == "mapping" || folder == "trap")
            continue;
        const std::string text = text_of(e.path());
        if (!errors_of(text).empty() && number_behind(text, "undefined", 0) == 0 &&
            number_behind(text, "row", 0) == 0)
            out.push_back(fs::relative(e.path(), faults).replace_extension().string());
    }
    std::ranges::sort(out);
    return out;
}

Sessions session_of(const std::string& name, const std::string& entry) {
    const fs::path ptx = faults / (name + ".ptx");
    const std::string text = text_of(ptx);
    return Sessions::of_launch(
        text, fmt::format(R"({{"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": "{}",
 "arch": "sm_90", "grid": [{}, 1, 1], "block": [{}, 1, 1], "dynamic_shared": {},
 "buffers": {{"out": {{"bytes": 65536, "init": {{"fill": 0}}}},
              "in": {{"bytes": 65536, "init": {{"sequence": {{"type": "u32", "start": 1, "step": 7}}}}}}}},
 "args": [{{"buffer": "out"}}, {{"buffer": "in"}}], "outputs": ["out"]}})",
                          entry, number_behind(text, "grid", 1), number_behind(text, "block", 1),
                          number_behind(text, "shared", 0)));
}

class Findings : public testing::TestWithParam<std::string> {};

TEST_P(Findings, HoldTheRunWhereTheyAre) {
    const auto expected = errors_of(text_of(faults / (GetParam() + ".ptx")));
    Sessions s = session_of(GetParam(), "wrong");
    s.expect("break check", "Catchpoint 1");
    // Each stop with its line; of a race either side may come second.
    std::vector<std::pair<std::string, std::string>> stops;
    std::string text = s("run");
    for (int i = 0; i < 50 && text.find("The run is over") == std::string::npos; ++i) {
        stops.emplace_back(s("info line"), text);
        if (text.find("TRAP") != std::string::npos) break;
        text = s("continue");
    }
    for (const auto& [line, check] : expected) {
        const std::string at = fmt::format("k.ptx:{}", line);
        EXPECT_TRUE(std::ranges::any_of(
            stops,
            [&](const auto& stop) {
                const bool here = stop.first.find(at + ":") != std::string::npos ||
                                  (check.starts_with("race-") &&
                                   stop.second.find(at + "  ") != std::string::npos);
                return here && (stop.second.find("[" + check + "/") != std::string::npos ||
                                stop.second.find("TRAP") != std::string::npos);
            }))
            << "not held at " << at << " by " << check << "; the last stop: " << text;
    }
}

TEST_P(Findings, HoldNoRightKernel) {
    Sessions s = session_of(GetParam(), "right");
    s.expect("break check", "Catchpoint 1: no errors");
    s.expect("run", "The run is over.");
}

std::string test_name(const testing::TestParamInfo<std::string>& of) {
    std::string name = of.param;
    std::ranges::replace(name, '/', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Debug, Findings, testing::ValuesIn(names()), test_name);

TEST(DebugFindings, BackwardsByNameAndAll) {
    Sessions s = session_of("races/missing_barrier", "wrong");
    s.expect("break check nothing", "there is no check \"nothing\"");
    s.expect("catch check race-shared", "Catchpoint 1: 1 finding");
    s.expect("break check performance", "of no instruction");
    s.expect("run", "[race-shared/read-after-write]");
    s.expect("info line", "k.ptx:34:");
    const std::string found = s.expect("info findings", "[uninitialised/stored]");
    EXPECT_NE(found.find("[performance/unused-shared]"), std::string::npos) << found;
    s.expect("info break", "catch");
    s.expect("c", "The run is over.");
    s.expect("rc", "[race-shared/read-after-write]");
    s.expect("p %r11", "0x00000000");
}

}  // namespace
}  // namespace lockwarp::debug::findings_test
