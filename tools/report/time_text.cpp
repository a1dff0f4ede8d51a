// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "lanes/answer.hpp"
#include "launch/source_text.hpp"
#include "tools/report/time_report.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

using timing::Pipe;
using timing::Report;
using timing::Stall;
using validate::grouped;

std::string_view source_line(const Timed& t, uint32_t operation) {
    const uint32_t wanted = t.program->operations[operation].place.line;
    std::string_view rest = t.in.source;
    for (uint32_t line = 1; line < wanted; ++line) {
        const size_t end = rest.find('\n');
        if (end == std::string_view::npos) return {};
        rest.remove_prefix(end + 1);
    }
    rest = rest.substr(0, rest.find('\n'));
    const size_t begin = rest.find_first_not_of(" \t");
    return begin == std::string_view::npos ? std::string_view{} : rest.substr(begin);
}

// Without what is not to be printed as it is, and no longer than `most`.
std::string shortened(std::string_view text, size_t most) {
    std::string out;
    for (const char c : text) out += c >= ' ' && c < 127 ? c : ' ';
    if (out.size() > most) out = out.substr(0, most - 3) + "...";
    return out;
}

// Where an instruction comes from: "gemm.cu:42"; empty: it is not known.
std::string origin(const Timed& t, uint32_t operation) {
    return launch::short_place(ptx::places_of(t.sources, t.program->operations[operation].place));
}

// `head`, the instruction, and where it comes from at the end of the line.
std::string with_origin(const Timed& t, uint32_t operation, const std::string& head) {
    const size_t room = lanes::line_columns - head.size();
    std::string from = origin(t, operation);
    if (from.size() > room / 2) from = "..." + from.substr(from.size() - room / 2 + 3);
    if (from.empty()) return head + shortened(source_line(t, operation), room) + "\n";
    const std::string text = shortened(source_line(t, operation), room - from.size() - 2);
    return fmt::format("{}{:<{}}  {}\n", head, text, room - from.size() - 2, from);
}

uint64_t stalled(const timing::OperationReport& o) {
    return std::accumulate(o.stalls.begin(), o.stalls.end(), uint64_t{0});
}

Stall worst(const timing::OperationReport& o) {
    return static_cast<Stall>(std::ranges::max_element(o.stalls) - o.stalls.begin());
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

// The `lines` source lines whose instructions wait the most; empty where there is no line
// information.
std::string source_lines(const Timed& t, unsigned lines) {
    struct Sum {
        uint64_t issues = 0, waited = 0;
    };
    std::map<std::string, Sum> sums;
    for (uint32_t i = 0; i < t.report.operations.size(); ++i) {
        const timing::OperationReport& o = t.report.operations[i];
        const std::string from = origin(t, i);
        if (o.issues == 0 || from.empty()) continue;
        sums[from].issues += o.issues;
        sums[from].waited += stalled(o);
    }
    if (sums.empty()) return {};
    std::vector<std::pair<std::string, Sum>> hot(sums.begin(), sums.end());
    std::ranges::stable_sort(hot, std::greater{}, [](const auto& s) { return s.second.waited; });
    std::string out = "\n  issued     waited  source line\n";
    for (size_t i = 0; i < std::min<size_t>(lines, hot.size()); ++i)
        out += fmt::format("{:>8} {:>10}  {}\n", grouped(hot[i].second.issues),
                           grouped(hot[i].second.waited),
                           shortened(hot[i].first, lanes::line_columns - 21));
    return out;
}

// How the numbers behind it are known: instructions by the weakest of their rows.
std::string evidence_text(const Timed& t) {
    std::map<timing::Evidence, uint64_t> counts;
    uint64_t all = 0;
    for (size_t i = 0; i < t.report.operations.size(); ++i) {
        const timing::Lowered& m = t.lowering.operations[i];
        if (m.action == timing::Action::free) continue;
        counts[m.how] += t.report.operations[i].issues;
        all += t.report.operations[i].issues;
    }
    std::string out;
    for (const auto& [how, count] : counts)
        if (count != 0)
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ",
                               percent(static_cast<double>(count) / static_cast<double>(all)),
                               timing::text_of(how));
    return out;
}

uint64_t grid_cycles(const Report& r) { return r.sm_cycles; }

std::string first_line(const Timed& t) {
    const Report& r = t.report;
    return fmt::format("{} cycles per CTA, {} for the grid ({:.2f} us at {} MHz): {} on {} ({})\n",
                       grouped(r.cta_cycles), grouped(grid_cycles(r)), microseconds(r),
                       r.machine->mhz, t.program->entry, r.machine->name,
                       isa::row(r.machine->arch).name);
}

}  // namespace

double microseconds(const Report& r) {
    return static_cast<double>(grid_cycles(r)) / r.machine->mhz;
}

std::string time_text(const Timed& t, unsigned lines) {
    const Report& r = t.report;
    std::string out = first_line(t);
    out += fmt::format("{} CTA{}, {} on this SM, {} at once (limit: {}; {} registers a thread)\n",
                       grouped(r.grid_ctas), r.grid_ctas == 1 ? "" : "s", grouped(r.sm_ctas),
                       r.residency.ctas, timing::text_of(r.residency.limit), r.residency.registers);
    if (r.simulated < r.sm_ctas)
        out +=
            fmt::format("{} of the SM's CTAs were simulated, the others are taken as like them\n",
                        grouped(r.simulated));
    if (r.clock_cycles != 0)
        out += fmt::format("{} cycles between the program's first clock read and its last\n",
                           grouped(r.clock_cycles));
    if (r.products != 0)
        out += fmt::format("tensor cores at {} of their peak: {} multiply-adds\n",
                           percent(r.tensor_share), grouped(r.products));
    out += fmt::format("{} instructions of the PTX, {} of the machine\ncosts: {}\n",
                       grouped(r.retired), grouped(r.issued), evidence_text(t));

    out += "\npipe        in use\n";
    for (size_t p = 1; p < r.use.size(); ++p)
        if (r.use[p] > 0.0005)
            out += fmt::format("{:<10} {:>7}\n", timing::text_of(static_cast<Pipe>(p)),
                               percent(r.use[p]));
    uint64_t waited = std::accumulate(r.stalls.begin(), r.stalls.end(), uint64_t{0});
    out += "\nwhy warps wait       cycles of warps\n";
    std::vector<size_t> order(r.stalls.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return r.stalls[a] > r.stalls[b]; });
    for (const size_t s : order)
        if (r.stalls[s] != 0)
            out += fmt::format(
                "{:<18} {:>15} {:>7}\n", timing::text_of(static_cast<Stall>(s)),
                grouped(r.stalls[s]),
                percent(static_cast<double>(r.stalls[s]) / static_cast<double>(waited)));

    std::vector<uint32_t> hot(r.operations.size());
    std::iota(hot.begin(), hot.end(), 0u);
    std::ranges::stable_sort(hot, [&](uint32_t a, uint32_t b) {
        return stalled(r.operations[a]) > stalled(r.operations[b]);
    });
    out += "\nline    issued     waited  most for            instruction\n";
    for (size_t i = 0; i < std::min<size_t>(lines, hot.size()); ++i) {
        const timing::OperationReport& o = r.operations[hot[i]];
        if (stalled(o) == 0) break;
        const std::string head =
            fmt::format("{:>5} {:>8} {:>10}  {:<18}  ", t.program->operations[hot[i]].place.line,
                        grouped(o.issues), grouped(stalled(o)), timing::text_of(worst(o)));
        out += with_origin(t, hot[i], head);
    }
    out += source_lines(t, lines);
    std::string conflicts;
    for (uint32_t i = 0; i < r.operations.size(); ++i) {
        const timing::OperationReport& o = r.operations[i];
        if (o.wavefronts <= o.ideal) continue;
        const std::string head =
            fmt::format("{:>5} {:>10} {:>10}  ", t.program->operations[i].place.line,
                        grouped(o.wavefronts), grouped(o.ideal));
        conflicts += with_origin(t, i, head);
    }
    if (!conflicts.empty())
        out += "\nbank conflicts\n line wavefronts   least  instruction\n" + conflicts;
    return out;
}

std::string compare_text(const std::vector<Timed>& all) {
    std::string out;
    const auto line = [&](std::string_view name, auto&& value) {
        out += fmt::format("{:<20}", name);
        for (const Timed& t : all) out += fmt::format(" {:>15}", value(t));
        out += "\n";
    };
    const auto best =
        std::ranges::min_element(all, {}, [](const Timed& t) { return microseconds(t.report); });
    if (best != all.end())
        out +=
            fmt::format("{} is the fastest of {}: {:.2f} us for {}\n", best->report.machine->name,
                        all.size(), microseconds(best->report), best->program->entry);
    line("", [](const Timed& t) { return isa::row(t.report.machine->arch).name; });
    line("product", [](const Timed& t) { return t.report.machine->name; });
    line("cycles per CTA", [](const Timed& t) { return grouped(t.report.cta_cycles); });
    line("cycles of the grid", [](const Timed& t) { return grouped(t.report.sm_cycles); });
    line("microseconds",
         [](const Timed& t) { return fmt::format("{:.2f}", microseconds(t.report)); });
    line("CTAs at once", [](const Timed& t) { return std::to_string(t.report.residency.ctas); });
    for (size_t p = 1; p < static_cast<size_t>(Pipe::count_); ++p) {
        const bool used =
            std::ranges::any_of(all, [&](const Timed& t) { return t.report.use[p] > 0.0005; });
        if (used)
            line(fmt::format("{} in use", timing::text_of(static_cast<Pipe>(p))),
                 [&](const Timed& t) { return percent(t.report.use[p]); });
    }
    for (size_t s = 0; s < static_cast<size_t>(Stall::count_); ++s) {
        const bool any =
            std::ranges::any_of(all, [&](const Timed& t) { return t.report.stalls[s] != 0; });
        if (any)
            line(timing::text_of(static_cast<Stall>(s)),
                 [&](const Timed& t) { return grouped(t.report.stalls[s]); });
    }
    return out;
}

std::string timeline_text(const Timed& t, const Window& w) {
    constexpr size_t label = 36;
    constexpr uint64_t wide = lanes::line_columns - label;
    const uint64_t scale = std::max<uint64_t>(1, (w.cycles + wide - 1) / wide);
    const uint64_t end = w.from + w.cycles;
    std::string rows;
    size_t count = 0;
    for (const timing::Event& e : t.report.events) {
        const bool wanted =
            w.sub_core ? e.warp % timing::sub_cores == w.number : e.warp == w.number;
        if (!wanted || e.issue >= end || e.done < w.from) continue;
        ++count;
        std::string bar((w.cycles + scale - 1) / scale, ' ');
        const auto put = [&](uint64_t from, uint64_t to, char c) {
            for (uint64_t cycle = std::max(from, w.from); cycle < std::min(to, end); ++cycle)
                bar[(cycle - w.from) / scale] = c;
        };
        put(e.waits, e.issue, '.');
        put(e.issue + 1, e.done, '=');
        if (e.done < end && e.done >= w.from) put(e.done, e.done + 1, '>');
        put(e.issue, e.issue + 1, 'I');
        const std::string head =
            fmt::format("{:>6} {}", t.program->operations[e.operation].place.line,
                        w.sub_core ? fmt::format("w{:<3}", e.warp) : "");
        rows += fmt::format("{:<{}}",
                            head + shortened(source_line(t, e.operation), label - 1 - head.size()),
                            label) +
                bar.substr(0, bar.find_last_not_of(' ') + 1) + "\n";
    }
    std::string out =
        fmt::format("{} instruction{} of {} {}, cycles {} to {}{}\n", count, count == 1 ? "" : "s",
                    w.sub_core ? "sub-core" : "warp", w.number, w.from, end - 1,
                    scale == 1 ? "" : fmt::format(", {} a column", scale));
    out += ". waits   I issues   = executes   > a dependent instruction may issue\n";
    std::string ruler;
    for (uint64_t c = 0; c * scale < w.cycles; c += 10)
        ruler += fmt::format("{:<10}", w.from + c * scale);
    out += std::string(label, ' ') + ruler.substr(0, ruler.find_last_not_of(' ') + 1) + "\n";
    return out + rows;
}

}  // namespace lockwarp::tools
