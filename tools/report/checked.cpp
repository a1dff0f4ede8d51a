// SPDX-License-Identifier: Apache-2.0
#include "tools/report/checked.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emu/ptx/space_name.hpp"
#include "tools/report/findings.hpp"
#include "tools/report/shown.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

using check::Severity;

namespace {

constexpr std::array formats{
    CheckFormat{"text", check_text},     CheckFormat{"json", check_json},
    CheckFormat{"sarif", check_sarif},   CheckFormat{"junit", check_junit},
    CheckFormat{"github", check_github},
};

struct GravityRow {
    std::string_view check;
    std::string_view kind = {};  // empty: every other one
};

// What is likelier to be the cause of the others comes first.
constexpr std::array gravest_first{
    GravityRow{"sync"},
    GravityRow{"memory", "beyond-variable"},
    GravityRow{"memory", "beyond-row"},
    GravityRow{"mapping", "explained"},
    GravityRow{"race-shared"},
    GravityRow{"race-global"},
    GravityRow{"uninitialised"},
    GravityRow{"memory"},
    GravityRow{"trap"},
    GravityRow{"order"},
    GravityRow{"mapping"},
};

CheckedSite checked_site(const launch::Input& in, const isa::Program& program,
                         const ptx::SourceMap& sources, const check::Site& site) {
    const ptx::Place at = program.operations[*site.operation].place;
    return {launch::named_ptx(in), at.line, at.column, ptx::places_of(sources, at), site};
}

std::string counted_text(const CheckCounts& c) {
    std::string out;
    const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    if (c.errors != 0) add(counted(c.errors, "error"));
    if (c.notes != 0) add(counted(c.notes, "note"));
    if (out.empty()) add("nothing was found");
    if (c.suppressed != 0) add(fmt::format("{} suppressed", c.suppressed));
    return out;
}

std::string file_counts(const CheckedFile& f) {
    if (!f.refused.empty()) return f.name + ": could not be run";
    return f.name + ": " + counted_text(counts_of(f)) + (f.stopped.empty() ? "" : "; " + f.stopped);
}

}  // namespace

std::span<const CheckFormat> check_formats() { return formats; }

CheckCounts counts_of(const CheckedFile& file) {
    CheckCounts out;
    for (const CheckedFinding& f : file.findings)
        ++(f.suppressed ? out.suppressed : f.severity == Severity::error ? out.errors : out.notes);
    return out;
}

CheckCounts counts_of(const CheckReport& report) {
    CheckCounts out;
    for (const CheckedFile& f : report.files) {
        const CheckCounts c = counts_of(f);
        out.errors += c.errors;
        out.notes += c.notes;
        out.suppressed += c.suppressed;
    }
    return out;
}

CheckedFinding checked_finding(const launch::Input& in, const isa::Program& program,
                               const ptx::SourceMap& sources, const check::Found& found) {
    const check::Finding& f = found.finding;
    CheckedFinding out;
    out.check = found.check->name;
    out.kind = f.kind;
    out.severity = f.severity;
    out.ptx = launch::named_ptx(in);
    if (f.here.operation) out.here = checked_site(in, program, sources, f.here);
    if (f.other && f.other->operation) out.other = checked_site(in, program, sources, *f.other);
    if (f.space != ptx::Space::none) {
        out.space = ptx::name_of(f.space);
        out.address = f.address;
        out.bytes = f.bytes;
        out.object = found.object.name;
        out.offset = found.object.offset;
        out.element = found.object.element;
    }
    out.count = f.count;
    out.message = clean_line(f.message);
    out.hint = clean_line(f.hint);
    out.text = finding_text(in, program, found);
    return out;
}

std::pair<bool, size_t> gravity_of(const CheckedFinding& f) {
    const auto row = std::ranges::find_if(gravest_first, [&](const GravityRow& r) {
        return r.check == f.check && (r.kind.empty() || r.kind == f.kind);
    });
    return {f.severity != Severity::error, row - gravest_first.begin()};
}

std::string check_answer(const CheckReport& report) {
    const CheckedFinding* gravest = nullptr;
    for (const CheckedFile& file : report.files)
        for (const CheckedFinding& f : file.findings)
            if (!f.suppressed && f.severity == Severity::error &&
                (gravest == nullptr || gravity_of(f) < gravity_of(*gravest)))
                gravest = &f;
    if (gravest == nullptr) return check_counts(report);
    return gravest->text.substr(0, gravest->text.find('\n'));
}

std::string check_counts(const CheckReport& report) {
    if (report.files.size() == 1) return clean_line(file_counts(report.files[0]));
    size_t refused = 0, stopped = 0;
    for (const CheckedFile& f : report.files) {
        refused += f.refused.empty() ? 0 : 1;
        stopped += f.stopped.empty() ? 0 : 1;
    }
    std::string out = fmt::format("{}: {}", counted(report.files.size(), "launch file"),
                                  counted_text(counts_of(report)));
    if (refused != 0) out += fmt::format("; {} could not be run", refused);
    if (stopped != 0) out += fmt::format("; {} did not end", stopped);
    return out;
}

// An error that is said says it all: it comes first, and the counts last.
std::string check_text(const CheckReport& report) {
    const bool is_one = report.files.size() == 1, has_error = counts_of(report).errors != 0;
    const std::string counts = check_counts(report) + "\n";
    std::string out;
    if (!has_error) out += counts;
    if (has_error && !is_one) out += check_answer(report) + "\n" + counts;
    for (const CheckedFile& f : report.files) {
        const CheckCounts c = counts_of(f);
        const bool says = c.errors + c.notes != 0 || !f.refused.empty() || !f.stopped.empty();
        if (says && !is_one) out += "\n" + clean_line(file_counts(f)) + "\n";
        for (const CheckedFinding& one : f.findings)
            if (!one.suppressed) out += one.text;
        out += clean(f.refused);
    }
    if (has_error && is_one) out += counts;
    for (const std::string& s : report.unused_suppressions) out += clean_line(s) + "\n";
    return out;
}

}  // namespace lockwarp::tools
