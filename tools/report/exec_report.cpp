// SPDX-License-Identifier: Apache-2.0
#include "tools/report/exec_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace lockwarp::tools {

namespace {

using Json = nlohmann::json;

ExecKernel& kernel_of(ExecReport& report, const std::string& name) {
    const auto found = std::ranges::find_if(
        report.kernels, [&](const ExecKernel& k) { return k.checked.name == name; });
    if (found != report.kernels.end()) return *found;
    report.kernels.emplace_back().checked.name = name;
    return report.kernels.back();
}

void add(ExecReport& report, const Json& line) {
    ExecKernel& k = kernel_of(report, line.value("kernel", "?"));
    if (line.contains("finding")) {
        CheckedFinding f;
        f.check = line.value("check", "");
        f.kind = line.value("kind", "");
        f.severity = line.value("error", true) ? check::Severity::error : check::Severity::note;
        f.message = line.value("message", "");
        f.text = line.value("text", "") + "\n";
        k.checked.findings.push_back(std::move(f));
        return;
    }
    ++k.launches;
    k.cycles += line.value("cycles", uint64_t{0});
    k.nanoseconds += line.value("nanoseconds", uint64_t{0});
    if (k.checked.stopped.empty()) k.checked.stopped = line.value("trap", "");
    if (line.contains("heap")) report.blocks[line.value("heap", "")] = line.value("blocks", 0u);
}

struct Totals {
    uint64_t launches = 0, traps = 0;
    CheckCounts found;
};

Totals counts_of(const ExecReport& report) {
    Totals out;
    for (const ExecKernel& k : report.kernels) {
        const CheckCounts c = counts_of(k.checked);
        out.launches += k.launches;
        out.traps += k.checked.stopped.empty() ? 0 : 1;
        out.found.errors += c.errors;
        out.found.notes += c.notes;
    }
    return out;
}

std::string plural(uint64_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

ExecReport read_exec_report(const std::string& path) {
    ExecReport report;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const Json j = Json::parse(line, nullptr, false);
        if (j.is_object()) add(report, j);
    }
    return report;
}

std::string exec_answer(const ExecReport& report) {
    const Totals c = counts_of(report);
    if (c.launches == 0) return "exec: no kernel was launched: nothing was checked\n";
    std::string out = fmt::format(
        "exec: {} of {}: {}", c.launches == 1 ? "1 launch" : fmt::format("{} launches", c.launches),
        plural(report.kernels.size(), "kernel"), plural(c.found.errors, "error"));
    if (c.found.notes != 0) out += ", " + plural(c.found.notes, "note");
    if (c.traps != 0) out += ", " + plural(c.traps, "trap");
    uint64_t blocks = 0;
    for (const auto& [heap, left] : report.blocks) blocks += left;
    if (blocks != 0)
        out += fmt::format("; {} of malloc {} never freed", plural(blocks, "block"),
                           blocks == 1 ? "was" : "were");
    return out + "\n";
}

std::string exec_times(const ExecReport& report) {
    std::vector<ExecKernel> all = report.kernels;
    std::ranges::stable_sort(all, std::ranges::greater{}, &ExecKernel::nanoseconds);
    std::string out =
        fmt::format("{:>10} {:>14} {:>12}  {}\n", "launches", "cycles of SMs", "us", "kernel");
    // A template's name may be longer than a line: it goes on below.
    constexpr size_t indent = 40, width = 60;
    for (const ExecKernel& k : all) {
        const std::string_view name = k.checked.name;
        out += fmt::format("{:>10} {:>14} {:>12.2f}  {}\n", k.launches, k.cycles,
                           static_cast<double>(k.nanoseconds) / 1000, name.substr(0, width));
        for (size_t at = width; at < name.size(); at += width)
            out += std::string(indent, ' ') + std::string(name.substr(at, width)) + '\n';
    }
    return out;
}

std::string exec_junit(const ExecReport& report) {
    CheckReport out;
    for (const ExecKernel& k : report.kernels) out.files.push_back(k.checked);
    return check_junit(out);
}

bool is_clean(const ExecReport& report) {
    const Totals c = counts_of(report);
    return c.launches != 0 && c.found.errors == 0 && c.traps == 0;
}

}  // namespace lockwarp::tools
