// SPDX-License-Identifier: Apache-2.0
#include "tools/report/wrong_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tools/report/expectation.hpp"
#include "tools/report/why_report.hpp"
#include "tools/report/why_subject.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

using validate::grouped;

// The bytes of buffers, and of the variables that are expected to be something.
struct Named {
    std::vector<std::vector<uint8_t>> variables;
    Buffers all;
};

Named named(const std::vector<launch::Loaded>& steps, const launch::State& state) {
    const launch::LaunchFile& file = steps.front().in.launch;
    Named out;
    for (size_t i = 0; i < file.buffers.size(); ++i)
        out.all[file.buffers[i].name] = state.memory.bytes[i];
    out.variables.reserve(file.expectations.size());
    for (const launch::Expectation& e : file.expectations) {
        if (out.all.contains(e.name)) continue;
        // The last module that has it.
        for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
            auto bytes = launch::variable_bytes(state, step->in, step->program, e.name);
            if (bytes.empty()) continue;
            out.variables.push_back(std::move(bytes));
            out.all[e.name] = out.variables.back();
            break;
        }
    }
    return out;
}

// Where the worst element lies.
void locate(const launch::LaunchFile& file, const launch::State& state, const Checked& worst,
            CheckedFinding& f) {
    const launch::BufferField* const b = file.find_buffer(worst.name);
    if (b == nullptr) return;
    f.space = "global";
    f.address = state.memory.addresses[static_cast<size_t>(b - file.buffers.data())] + worst.at;
    f.object = worst.name;
    f.offset = worst.at;
    f.element = worst.element;
}

// The instruction of a place, as a finding's line.
void put_line(const launch::Loaded& loaded, ptx::Place at, check::Finding& f) {
    const auto& all = loaded.program.operations;
    const auto same = std::ranges::find_if(all, [&](const isa::Operation& o) {
        return o.place.line == at.line && o.place.column == at.column;
    });
    if (same != all.end()) f.here.operation = static_cast<uint32_t>(same - all.begin());
}

// What explains it, as message, line and changes.
void put_why(const why::Subject& subject, const why::Answer& answer, const std::string& what,
             check::Finding& f, std::vector<ChangedLine>& changes) {
    const uint64_t wrong = answer.map.wrong();
    if (answer.explanations.empty()) return;
    const why::Explanation& best = answer.explanations.front();
    if (!best.all(wrong)) {
        f.message += "; the best explanation, " + words_of(best) + ", " + explains(best, wrong);
        return;
    }
    f.kind = "explained";
    f.message = fmt::format("{}: {} of {}", words_of(best), explains(best, wrong), what);
    changes = changed_lines(subject, best);
    if (!changes.empty())
        put_line(subject.loaded(), changes.front().at, f);
    else if (!best.parts.front().places.empty())
        put_line(subject.loaded(), best.parts.front().places.front(), f);
}

launch::Result<CheckedFinding> finding_of(const std::vector<launch::Loaded>& steps,
                                          const launch::Expectation& e, const launch::State& before,
                                          const Checked& worst, bool pairs,
                                          const std::atomic<bool>& stop) {
    const launch::LaunchFile& file = steps.front().in.launch;
    check::Finding f;
    f.kind = "unexplained";
    f.count = worst.different;
    f.message =
        fmt::format("{} of {} elements of {} are not as expected; {}: {}", grouped(worst.different),
                    grouped(worst.values), worst.what, worst.element, worst.worst);
    std::vector<ChangedLine> changes;
    const launch::Loaded* loaded = &steps.back();
    if (file.find_buffer(e.name) != nullptr) {
        launch::Result<why::Subject> subject = why_subject(steps, e, before, 0, 0);
        if (!subject) return launch::failure(subject);
        subject->stop = &stop;
        why::Limits limits;
        limits.pairs = pairs;
        const launch::Result<why::Answer> answer = why::ask(*subject, limits);
        if (!answer) return tl::unexpected(answer.error());
        loaded = &subject->loaded();
        put_why(*subject, *answer, worst.what, f, changes);
    }
    CheckedFinding out =
        checked_finding(loaded->in, loaded->program, ptx::source_map(loaded->in.module),
                        {check::check_named("mapping"), std::move(f), {}});
    locate(file, before, worst, out);
    constexpr size_t max_shown = 2;
    for (const ChangedLine& c : std::span(changes).first(std::min(max_shown, changes.size()))) {
        out.text += changed_text(c);
        for (const std::string& line : c.becomes)
            out.hint += fmt::format("{}line {}: {}", out.hint.empty() ? "" : "; ", c.at.line, line);
    }
    out.changes = std::move(changes);
    return out;
}

}  // namespace

launch::Result<std::vector<CheckedFinding>> wrong_results(const std::vector<launch::Loaded>& steps,
                                                          const launch::State& before,
                                                          const launch::State& after, bool trapped,
                                                          bool pairs,
                                                          const std::atomic<bool>& stop) {
    const launch::LaunchFile& file = steps.front().in.launch;
    const Named first = named(steps, before), last = named(steps, after);
    std::vector<CheckedFinding> out;
    for (const launch::Expectation& e : file.expectations) {
        if (launch::Result<void> held = check_fit(file, e, last.all); !held)
            return launch::failure(held);
        const launch::Result<Checked> checked = check_expectation(file, e, first.all, last.all);
        if (!checked) return tl::unexpected(checked.error());
        if (checked->different == 0) continue;
        launch::Result<CheckedFinding> f = finding_of(steps, e, before, *checked, pairs, stop);
        if (!f) return tl::unexpected(f.error());
        if (trapped && f->kind != "explained") continue;
        out.push_back(std::move(*f));
    }
    return out;
}

}  // namespace lockwarp::tools
