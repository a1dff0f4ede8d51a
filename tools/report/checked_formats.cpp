// SPDX-License-Identifier: Apache-2.0
// The reports of lockwarp check that programs read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lanes/answer.hpp"
#include "launch/source_text.hpp"
#include "lockwarp/version.hpp"
#include "tools/report/checked.hpp"
#include "tools/report/findings.hpp"
#include "tools/report/summary_github.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

using check::Severity;

namespace {

using Ordered = nlohmann::ordered_json;

std::string dumped(const Ordered& j) {
    return j.dump(1, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

std::string_view name_of(Severity s) { return s == Severity::error ? "error" : "note"; }

Ordered source_json(const ptx::SourcePlace& p) {
    Ordered j;
    j["file"] = launch::shown_file(p.file);
    j["line"] = p.line;
    if (p.column != 0) j["column"] = p.column;
    if (!p.function.empty()) j["function"] = p.function;
    return j;
}

// The members of one side.
void add_site(Ordered& j, const CheckedSite& s) {
    j["ptx"] = s.ptx;
    j["ptx_line"] = s.ptx_line;
    if (!s.source.empty()) j["source"] = source_json(s.source[0]);
    for (size_t i = 1; i < s.source.size(); ++i)
        j["inlined_at"].push_back(source_json(s.source[i]));
    if (s.site.step == 0 && s.site.lanes == 0) return;  // it is of no one warp
    j["cta"] = s.site.cta;
    j["warp"] = s.site.warp;
    if (s.site.lanes != 0) j["lanes"] = lanes_text(s.site.lanes);
    if (s.site.step != 0) j["step"] = s.site.step;
}

Ordered finding_json(const CheckedFile& file, const CheckedFinding& f) {
    Ordered j;
    j["file"] = file.name;
    j["check"] = f.check;
    j["kind"] = f.kind;
    j["severity"] = name_of(f.severity);
    if (f.here)
        add_site(j, *f.here);
    else
        j["ptx"] = f.ptx;
    if (!f.space.empty()) {
        j["space"] = f.space;
        j["address"] = f.address;
        if (f.bytes != 0) j["bytes"] = f.bytes;
    }
    if (!f.object.empty()) {
        j["object"] = {{"name", f.object}, {"offset", f.offset}};
        if (!f.element.empty()) j["object"]["element"] = f.element;
    }
    if (f.other) add_site(j["other"], *f.other);
    j["count"] = f.count;
    j["message"] = f.message;
    if (!f.hint.empty()) j["hint"] = f.hint;
    for (const ChangedLine& c : f.changes)
        j["changes"].push_back(
            {{"ptx", c.ptx}, {"ptx_line", c.at.line}, {"is", c.is}, {"becomes", c.becomes}});
    return j;
}

// A path as the URI of SARIF: relative paths stay relative.
std::string uri_of(const std::string& path) {
    std::string out = path.starts_with('/') ? "file://" : "";
    for (const char c : path) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') ||
                           std::string_view("-._~/").find(c) != std::string_view::npos;
        if (plain)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
    return out;
}

Ordered physical(const std::string& file, uint32_t line, uint32_t column) {
    Ordered j;
    j["artifactLocation"]["uri"] = uri_of(file);
    if (line != 0) j["region"]["startLine"] = line;
    if (line != 0 && column != 0) j["region"]["startColumn"] = column;
    return {{"physicalLocation", j}};
}

// The source's line where it is known: what a reviewer has before them.
Ordered best_location(const CheckedSite& s) {
    const ptx::SourcePlace* const place = launch::own_place(s.source);
    if (place == nullptr || place->line == 0) return physical(s.ptx, s.ptx_line, s.ptx_column);
    return physical(launch::shown_file(place->file), place->line, place->column);
}

Ordered related(const CheckedFinding& f) {
    Ordered all = Ordered::array();
    const auto add = [&](Ordered location, const std::string& text) {
        location["id"] = all.size();
        location["message"]["text"] = text;
        all.push_back(std::move(location));
    };
    if (f.here && !f.here->source.empty())
        add(physical(f.here->ptx, f.here->ptx_line, f.here->ptx_column), "the PTX");
    if (f.other) {
        add(best_location(*f.other), "the other side");
        if (!f.other->source.empty())
            add(physical(f.other->ptx, f.other->ptx_line, f.other->ptx_column),
                "the PTX of the other side");
    }
    return all;
}

Ordered sarif_rules() {
    Ordered rules = Ordered::array();
    for (const check::CheckRow& row : check::checks())
        for (const check::KindRow& k : row.kinds) {
            Ordered rule;
            rule["id"] = fmt::format("{}/{}", row.name, k.kind);
            rule["shortDescription"]["text"] = k.finds;
            rule["defaultConfiguration"]["level"] = name_of(k.severity);
            rules.push_back(std::move(rule));
        }
    return rules;
}

Ordered sarif_result(const CheckedFile& file, const CheckedFinding& f, const Ordered& rules) {
    Ordered j;
    const std::string id = f.check + "/" + f.kind;
    j["ruleId"] = id;
    for (size_t i = 0; i < rules.size(); ++i)
        if (rules[i]["id"] == id) j["ruleIndex"] = i;
    j["level"] = name_of(f.severity);
    const std::string element = f.element.empty() ? "" : " (" + f.element + ")";
    j["message"]["text"] = f.message + element + (f.hint.empty() ? "" : ". " + f.hint);
    j["locations"].push_back(f.here ? best_location(*f.here) : physical(f.ptx, 0, 0));
    if (Ordered all = related(f); !all.empty()) j["relatedLocations"] = std::move(all);
    j["occurrenceCount"] = f.count;
    if (f.suppressed) j["suppressions"].push_back({{"kind", "external"}});
    j["properties"]["launchFile"] = file.name;
    return j;
}

std::string xml(std::string_view text) { return lanes::escaped(clean(text)); }
std::string xml_value(std::string_view text) { return lanes::escaped(clean_line(text)); }

std::string junit_case(const CheckedFile& f) {
    const CheckCounts c = counts_of(f);
    std::string out =
        fmt::format("    <testcase name=\"{}\" classname=\"lockwarp.check\" time=\"{:.3f}\"",
                    xml_value(f.name), std::isfinite(f.seconds) ? f.seconds : 0.0);
    std::string errors, notes, first;
    for (const CheckedFinding& one : f.findings) {
        if (one.suppressed) continue;
        const bool is_error = one.severity == Severity::error;
        if (is_error && first.empty())
            first = fmt::format("{}/{}: {}", one.check, one.kind, one.message);
        (is_error ? errors : notes) += one.text;
    }
    const std::string wrong = f.refused + f.stopped;
    if (wrong.empty() && errors.empty() && notes.empty()) return out + "/>\n";
    out += ">\n";
    if (!wrong.empty())
        out += fmt::format("      <error message=\"{}\" type=\"not-run\">{}</error>\n",
                           xml_value(wrong.substr(0, wrong.find('\n'))), xml(wrong));
    else if (c.errors != 0)
        out += fmt::format("      <failure message=\"{}\" type=\"check\">{}</failure>\n",
                           xml_value(first), xml(errors));
    if (!notes.empty()) out += fmt::format("      <system-out>{}</system-out>\n", xml(notes));
    return out + "    </testcase>\n";
}

std::string annotation(const CheckedFile& file, const CheckedFinding& f) {
    std::string place;
    if (f.here) {
        const CheckedSite& s = *f.here;
        const ptx::SourcePlace* const own = launch::own_place(s.source);
        const bool has_source = own != nullptr && own->line != 0;
        place = fmt::format("file={},line={},",
                            github_property(has_source ? launch::shown_file(own->file) : s.ptx),
                            has_source ? own->line : s.ptx_line);
    } else {
        place = fmt::format("file={},", github_property(f.ptx));
    }
    return fmt::format("::{} {}title={}::{}\n", f.severity == Severity::error ? "error" : "notice",
                       place, github_property(fmt::format("{}/{}: {}", f.check, f.kind, file.name)),
                       github_message(f.text));
}

}  // namespace

std::string check_json(const CheckReport& report) {
    Ordered j;
    j["schema"] = "lockwarp-check/1";
    j["answer"] = check_answer(report);
    j["counts"] = check_counts(report);
    j["findings"] = Ordered::array();
    j["files"] = Ordered::array();
    for (const CheckedFile& f : report.files) {
        const CheckCounts c = counts_of(f);
        Ordered file{{"name", f.name},
                     {"errors", c.errors},
                     {"notes", c.notes},
                     {"suppressed", c.suppressed},
                     {"seconds", std::isfinite(f.seconds) ? f.seconds : 0.0}};
        if (!f.refused.empty()) file["refused"] = f.refused;
        if (!f.stopped.empty()) file["stopped"] = f.stopped;
        j["files"].push_back(std::move(file));
        for (const CheckedFinding& one : f.findings)
            if (!one.suppressed) j["findings"].push_back(finding_json(f, one));
    }
    if (!report.unused_suppressions.empty()) j["unused_suppressions"] = report.unused_suppressions;
    return dumped(j);
}

std::string check_sarif(const CheckReport& report) {
    const Ordered rules = sarif_rules();
    Ordered invocation{{"executionSuccessful", true}};
    Ordered results = Ordered::array();
    for (const CheckedFile& f : report.files) {
        for (const CheckedFinding& one : f.findings) results.push_back(sarif_result(f, one, rules));
        if (const std::string wrong = f.refused + f.stopped; !wrong.empty()) {
            invocation["executionSuccessful"] = false;
            Ordered notification{{"level", "error"}};
            notification["message"]["text"] = f.name + ": " + clean(wrong);
            invocation["toolExecutionNotifications"].push_back(std::move(notification));
        }
    }
    Ordered driver{{"name", "lockwarp"}, {"version", std::string(version)}, {"rules", rules}};
    Ordered run;
    run["tool"]["driver"] = std::move(driver);
    run["invocations"].push_back(std::move(invocation));
    run["results"] = std::move(results);
    const Ordered all{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Ordered::array({run})}};
    return dumped(all);
}

std::string check_junit(const CheckReport& report) {
    size_t failures = 0, errors = 0;
    double seconds = 0;
    for (const CheckedFile& f : report.files) {
        const bool wrong = !f.refused.empty() || !f.stopped.empty();
        errors += wrong ? 1 : 0;
        failures += !wrong && counts_of(f).errors != 0 ? 1 : 0;
        seconds += f.seconds;
    }
    const std::string totals =
        fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\"",
                    report.files.size(), failures, errors, seconds);
    std::string out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockwarp\" {}>\n"
        "  <testsuite name=\"lockwarp check\" {} skipped=\"0\">\n",
        totals, totals);
    for (const CheckedFile& f : report.files) out += junit_case(f);
    return out + "  </testsuite>\n</testsuites>\n";
}

std::string check_github(const CheckReport& report) {
    std::string out = check_answer(report) + "\n";
    for (const CheckedFile& f : report.files) {
        if (const std::string wrong = f.refused + f.stopped; !wrong.empty())
            out += fmt::format("::error title={}::{}\n", github_property(f.name),
                               github_message(wrong));
        for (const CheckedFinding& one : f.findings)
            if (!one.suppressed) out += annotation(f, one);
    }
    return out;
}

}  // namespace lockwarp::tools
