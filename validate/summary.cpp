// SPDX-License-Identifier: Apache-2.0
#include "validate/summary.hpp"

#include <algorithm>
#include <tuple>

namespace lockwarp::validate {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A run of digits at the front, taken off, without its leading zeros.
std::string_view take_number(std::string_view& text) {
    size_t end = 0;
    while (end < text.size() && is_digit(text[end])) ++end;
    std::string_view number = text.substr(0, end);
    text.remove_prefix(end);
    while (number.size() > 1 && number[0] == '0') number.remove_prefix(1);
    return number;
}

uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

void accumulate(Counts& sum, const Counts& more) {
    sum.values = plus(sum.values, more.values);
    sum.different = plus(sum.different, more.different);
    sum.masked = plus(sum.masked, more.masked);
    sum.unwritten = plus(sum.unwritten, more.unwritten);
    sum.taken = plus(sum.taken, more.taken);
    sum.places = plus(sum.places, more.places);
    sum.memory_bytes = plus(sum.memory_bytes, more.memory_bytes);
    sum.memory_different = plus(sum.memory_different, more.memory_different);
    sum.faults = plus(sum.faults, more.faults);
}

auto identity(const gpu::Device& d) {
    return std::tie(d.name, d.number, d.driver, d.memory, d.clock_mhz);
}

bool result_before(const CaseResult& a, const CaseResult& b) { return name_before(a.name, b.name); }

void join_devices(std::vector<gpu::Device>& all, const std::vector<gpu::Device>& more) {
    all.insert(all.end(), more.begin(), more.end());
    std::ranges::stable_sort(all, {}, identity);
    const auto same = [](const gpu::Device& a, const gpu::Device& b) {
        return identity(a) == identity(b);
    };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
}

// Puts both in order; a sentence where a seed is in two of the ranges.
std::string join_seeds(std::vector<Seeds>& all, const std::vector<Seeds>& more) {
    std::vector<Seeds> ordered = all;
    ordered.insert(ordered.end(), more.begin(), more.end());
    std::erase_if(ordered, [](const Seeds& s) { return s.count == 0; });
    std::ranges::sort(ordered, {}, &Seeds::first);
    std::vector<Seeds> joined;
    for (const Seeds& s : ordered) {
        if (!joined.empty() && s.first - joined.back().first < joined.back().count)
            return "seed " + std::to_string(s.first) + " is in both";
        if (!joined.empty() && s.first - joined.back().first == joined.back().count &&
            s.count <= UINT64_MAX - joined.back().count)
            joined.back().count += s.count;
        else
            joined.push_back(s);
    }
    all = std::move(joined);
    return {};
}

}  // namespace

bool name_before(std::string_view a, std::string_view b) {
    std::string_view x = a, y = b;
    while (!x.empty() && !y.empty()) {
        if (is_digit(x[0]) && is_digit(y[0])) {
            const std::string_view m = take_number(x), n = take_number(y);
            if (m.size() != n.size()) return m.size() < n.size();
            if (m != n) return m < n;
        } else {
            if (x[0] != y[0]) return x[0] < y[0];
            x.remove_prefix(1);
            y.remove_prefix(1);
        }
    }
    if (x.empty() != y.empty()) return x.empty();
    return a < b;
}

std::string merge(Summary& sum, const Summary& more) {
    const bool first = sum.command.empty() && sum.cases == 0;
    if (!first && sum.command != more.command)
        return "a report of '" + more.command + "' cannot be added to one of '" + sum.command + "'";
    if (!first && (sum.skipped.empty() != more.skipped.empty()))
        return "one of the runs was skipped: " + sum.skipped + more.skipped;
    std::vector<CaseResult> results = sum.results;
    results.insert(results.end(), more.results.begin(), more.results.end());
    std::ranges::stable_sort(results, result_before);
    const auto twice = std::ranges::adjacent_find(results, {}, &CaseResult::name);
    if (twice != results.end()) return "'" + twice->name + "' is in both";
    std::vector<Seeds> seeds = sum.seeds;
    if (std::string why = join_seeds(seeds, more.seeds); !why.empty()) return why;

    sum.command = more.command;
    sum.skipped = more.skipped;
    join_devices(sum.devices, more.devices);
    sum.cases = plus(sum.cases, more.cases);
    accumulate(sum.counts, more.counts);
    for (const auto& [spelling, counts] : more.instructions)
        accumulate(sum.instructions[spelling], counts);
    sum.results = std::move(results);
    sum.seeds = std::move(seeds);
    sum.seconds = std::max(sum.seconds, more.seconds);
    return {};
}

void add(Summary& sum, const CaseResult& result, bool keep) {
    CaseResult added = result;
    if (added.verdict == Verdict::identical && !compared(added.counts)) {
        added.verdict = Verdict::failed;
        added.text = "nothing was compared\n";
    }
    sum.cases = plus(sum.cases, 1);
    accumulate(sum.counts, added.counts);
    sum.seconds += added.seconds;
    if (!keep && added.verdict == Verdict::identical) return;
    const auto at = std::ranges::upper_bound(sum.results, added, result_before);
    sum.results.insert(at, std::move(added));
}

void add_instructions(Summary& sum, const Report& report) {
    for (size_t i = 0; i < report.by_operation.size(); ++i) {
        const Counts& counts = report.by_operation[i];
        if (compared(counts) || counts.masked != 0 || counts.unwritten != 0 || counts.taken != 0)
            accumulate(sum.instructions[report.spellings[i]], counts);
    }
}

CaseResult result_of(const std::string& name, const Report& report, const std::string& file) {
    CaseResult out;
    out.name = name;
    out.counts = report.counts;
    if (!report.problem.empty() || !report.diagnostics.empty()) {
        out.verdict = Verdict::failed;
        out.text = report.problem;
        out.file = file;
        if (!report.diagnostics.empty()) {
            out.line = report.diagnostics[0].place.line;
            out.text = report.diagnostics[0].message;
        }
        out.text += '\n';
        return out;
    }
    if (!report.first && !report.trap) return out;
    out.verdict = Verdict::differs;
    out.file = file;
    const bool at_instruction = report.first && report.first->kind != DifferenceKind::memory &&
                                report.first->kind != DifferenceKind::fault;
    if (at_instruction) {
        out.line = report.program.operations[report.first->operation].place.line;
        out.instruction = report.spellings[report.first->operation];
        out.source = ptx::places_of(report.sources,
                                    report.program.operations[report.first->operation].place);
    } else if (report.trap) {
        out.line = report.trap->place.line;
        out.source = ptx::places_of(report.sources, report.trap->place);
    }
    return out;
}

Verdict verdict(const Summary& s) {
    const auto any = [&](Verdict v) {
        return std::ranges::find(s.results, v, &CaseResult::verdict) != s.results.end();
    };
    if (s.cases == 0 || any(Verdict::failed)) return Verdict::failed;
    if (any(Verdict::differs) || different(s.counts)) return Verdict::differs;
    return compared(s.counts) ? Verdict::identical : Verdict::failed;
}

std::string_view name_of(Verdict v) {
    switch (v) {
        case Verdict::identical:
            return "identical";
        case Verdict::differs:
            return "differs";
        case Verdict::failed:
            break;
    }
    return "failed";
}

bool compared(const Counts& c) { return c.values != 0 || c.memory_bytes != 0 || c.faults != 0; }

bool different(const Counts& c) { return c.different != 0 || c.memory_different != 0; }

}  // namespace lockwarp::validate
