// SPDX-License-Identifier: Apache-2.0
// All that checks find in the kernels of tests/faults, whole: what, where, by which lanes, how
// often and in which words. tests/check/findings has a file for each folder of kernels.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "tests/check/fault_kernels.hpp"

namespace lockwarp::check {
namespace {

using namespace fault;

std::string hex(uint64_t v) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(v));
    return text.data();
}

std::string said(const Site& s, const isa::Program& program) {
    std::string out = s.operation
                          ? "line " + std::to_string(program.operations[*s.operation].place.line)
                          : std::string("no line");
    out += ", CTA " + std::to_string(s.cta[0]) + "," + std::to_string(s.cta[1]) + "," +
           std::to_string(s.cta[2]) + ", warp " + std::to_string(s.warp);
    if (s.lanes != 0) out += ", lanes " + hex(s.lanes);
    if (s.step != 0) out += ", step " + std::to_string(s.step);
    return out;
}

std::string said(const Found& f, const isa::Program& program) {
    constexpr std::array spaces{"none",  "reg",   "sreg",   "const", "global",
                                "local", "param", "shared", "tex"};
    const Finding& x = f.finding;
    std::string out = std::string(x.severity == Severity::error ? "  error " : "  note ") +
                      std::string(f.check->name) + "/" + std::string(x.kind) + ": " +
                      said(x.here, program) + "\n";
    if (x.other) out += "    other: " + said(*x.other, program) + "\n";
    if (x.space != ptx::Space::none) {
        out += std::string("    ") + spaces.at(static_cast<size_t>(x.space)) + " " +
               hex(x.address) + ", bytes " + std::to_string(x.bytes);
        if (!f.object.name.empty())
            out += ", in " + f.object.name + " [" + hex(f.object.begin) + ", " + hex(f.object.end) +
                   ") + " + std::to_string(f.object.offset);
        if (!f.object.element.empty()) out += ", " + f.object.element;
        out += "\n";
    }
    if (x.count != 1) out += "    " + std::to_string(x.count) + " times\n";
    out += "    " + x.message + "\n";
    if (!x.hint.empty()) out += "    hint: " + x.hint + "\n";
    return out;
}

std::string found_by(const std::string& name, unsigned threads) {
    const std::string text =
        text_of(std::string(LOCKWARP_SOURCE_DIR) + "/tests/faults/" + name + ".ptx");
    const auto parsed = ptx::parse(text);
    std::string out;
    for (const char* entry : {"wrong", "right"}) {
        out += name.substr(name.find('/') + 1) + " " + entry + "\n";
        const auto resolved = isa::resolve(parsed.module, isa::Arch::sm_90, entry);
        EXPECT_TRUE(resolved.diagnostics.empty());
        std::string refusal;
        for (const Found& f : found_in(text, parsed.module, resolved.program, threads, refusal))
            out += said(f, resolved.program);
        EXPECT_EQ(refusal, "");
    }
    return out;
}

class Findings : public testing::TestWithParam<std::string> {};

TEST_P(Findings, AreWholeAndTheSameForAnyNumberOfThreads) {
    std::string all;
    for (const std::string& name : names()) {
        if (!name.starts_with(GetParam() + "/")) continue;
        const std::string one = found_by(name, 1);
        EXPECT_EQ(found_by(name, 3), one) << name;
        all += one;
    }
    const std::string expected =
        text_of(std::string(LOCKWARP_SOURCE_DIR) + "/tests/check/findings/" + GetParam() + ".txt");
    EXPECT_FALSE(expected.empty());
    if (all == expected) return;
    // To look at, and to put in its place where it is right.
    const std::string left = testing::TempDir() + "findings_" + GetParam() + ".txt";
    std::ofstream(left) << all;
    EXPECT_EQ(all, expected) << "what came out: " << left;
}

INSTANTIATE_TEST_SUITE_P(Folders, Findings,
                         testing::Values("memory", "performance", "races", "sync", "trap",
                                         "uninitialised"),
                         [](const auto& of) { return of.param; });

}  // namespace
}  // namespace lockwarp::check
