// SPDX-License-Identifier: Apache-2.0
#include "tools/report/summary_junit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lanes/answer.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

using validate::CaseResult;
using validate::Summary;
using validate::Verdict;

namespace {

// Text or a value between quotes.
std::string escaped(std::string_view text) { return lanes::escaped(clean(text)); }

std::string value(std::string_view text) { return escaped(clean_line(text)); }

std::string_view first_line(std::string_view text) {
    return text.substr(0, std::min(text.find('\n'), text.size()));
}

// Results, and those that have none together.
std::vector<CaseResult> testcases(const Summary& s) {
    std::vector<CaseResult> out;
    const uint64_t others = s.cases - std::min<uint64_t>(s.cases, s.results.size());
    if (others != 0) {
        CaseResult& together = out.emplace_back();
        together.name = counted(others, s.command == "fuzz" ? "program" : "case");
        together.seconds = s.seconds;
        for (const CaseResult& r : s.results) together.seconds -= r.seconds;
        together.seconds = std::max(0.0, together.seconds);
    }
    out.insert(out.end(), s.results.begin(), s.results.end());
    const Verdict all = validate::verdict(s);
    const bool told = std::ranges::any_of(
        s.results, [](const CaseResult& r) { return r.verdict != Verdict::identical; });
    if (all != Verdict::identical && !told && s.skipped.empty()) {
        CaseResult& whole = out.emplace_back();
        whole.name = "all";
        whole.verdict = all;
        whole.text = answer(s) + "\n";
    }
    return out;
}

std::string property(std::string_view name, std::string_view text) {
    return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, value(text));
}

std::string testcase(const CaseResult& t, const std::string& command) {
    std::string out =
        fmt::format("    <testcase name=\"{}\" classname=\"lockwarp.{}\" time=\"{:.3f}\"",
                    value(t.name), value(command), t.seconds);
    if (!t.file.empty()) out += fmt::format(" file=\"{}\"", value(t.file));
    if (t.line != 0) out += fmt::format(" line=\"{}\"", t.line);
    if (t.verdict == Verdict::identical) return out + "/>\n";
    const std::string_view element = t.verdict == Verdict::differs ? "failure" : "error";
    const std::string message = t.text.empty() ? std::string(validate::name_of(t.verdict)) : t.text;
    return out + fmt::format(">\n      <{} message=\"{}\" type=\"{}\">{}</{}>\n    </testcase>\n",
                             element, value(first_line(message)),
                             t.instruction.empty() ? std::string(validate::name_of(t.verdict))
                                                   : value(t.instruction),
                             escaped(message), element);
}

// What only a comparison of each register counts.
std::string lockstep_properties(const Summary& s) {
    std::string out;
    out += property("register values undefined", std::to_string(s.counts.masked));
    out += property("register values never written", std::to_string(s.counts.unwritten));
    out += property("register values taken", std::to_string(s.counts.taken));
    out += property("memory bytes compared", std::to_string(s.counts.memory_bytes));
    out += property("memory bytes different", std::to_string(s.counts.memory_different));
    return out;
}

// Of a run that was not made.
std::string skipped_testcase(const Summary& s) {
    return fmt::format(
        "    <testcase name=\"all\" classname=\"lockwarp.{}\" time=\"0.000\">\n"
        "      <skipped message=\"{}\"/>\n    </testcase>\n",
        value(s.command), value(s.skipped));
}

}  // namespace

std::string summary_junit(const Summary& s) {
    const std::vector<CaseResult> all = testcases(s);
    const auto count = [&](Verdict v) { return std::ranges::count(all, v, &CaseResult::verdict); };
    const size_t skipped = s.skipped.empty() ? 0 : 1;
    const std::string totals = fmt::format(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\"", all.size() + skipped,
        count(Verdict::differs), count(Verdict::failed), s.seconds);
    std::string out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockwarp\" {}>\n"
        "  <testsuite name=\"lockwarp {}\" {} skipped=\"{}\">\n    <properties>\n",
        totals, value(s.command), totals, skipped);
    for (const gpu::Device& d : s.devices) {
        out += property("device", fmt::format("{}, sm_{}", d.name, d.number));
        if (!d.driver.empty()) out += property("driver", d.driver);
    }
    out += property("cases", std::to_string(s.cases));
    const bool has_registers = s.command != "run";
    const std::string values = has_registers ? "register values" : "values";
    out += property(values + " compared", std::to_string(s.counts.values));
    out += property(values + " different", std::to_string(s.counts.different));
    if (has_registers) out += lockstep_properties(s);
    out += "    </properties>\n";
    for (const CaseResult& t : all) out += testcase(t, s.command);
    if (skipped != 0) out += skipped_testcase(s);
    return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace lockwarp::tools
