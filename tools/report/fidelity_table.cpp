// SPDX-License-Identifier: Apache-2.0
#include "tools/report/fidelity_table.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "evidence/fidelity.hpp"
#include "tools/report/summary_json.hpp"
#include "validate/recording.hpp"

namespace lockwarp::tools {

namespace {

constexpr uint64_t max_bytes = uint64_t{1} << 26;

// instruction, arch, device, driver
using Key = std::tuple<std::string, std::string, std::string, std::string>;
using Rows = std::map<Key, validate::Counts>;

void add(Rows& rows, const std::string& spelling, std::string_view arch, const gpu::Device& device,
         const validate::Counts& counts) {
    rows[{evidence::recorded_name(spelling), std::string(arch), device.name, device.driver}] +=
        counts;
}

launch::Problem add_recording(const std::string& path, Rows& rows) {
    std::vector<uint8_t> bytes;
    if (launch::Problem why = launch::read_file(path, max_bytes, bytes); !why.empty()) return why;
    validate::Recording recording;
    if (std::string why = validate::read_recording(bytes, recording); !why.empty())
        return path + ": " + why;
    const std::optional<isa::Arch> arch = isa::arch_named(recording.arch);
    if (!arch) return path + ": " + recording.arch + " is not modelled";
    const validate::Report report = validate::replay(recording.c, *arch, recording.answer, {});
    if (!report.problem.empty()) return path + ": " + report.problem;
    if (!report.diagnostics.empty()) return path + ": " + report.diagnostics[0].message;
    // The last operation is the exit that every program ends with.
    for (size_t i = 0; i + 1 < report.program.operations.size(); ++i) {
        const validate::Counts& counts = report.by_operation[i];
        // What writes no register is seen by what is read afterwards.
        const bool silent = report.program.operations[i].written == 0 && !report.first;
        if (counts.values != 0 || silent)
            add(rows, report.spellings[i], isa::row(*arch).name, recording.answer.device, counts);
    }
    return {};
}

launch::Problem add_report(const std::string& path, Rows& rows) {
    std::vector<uint8_t> bytes;
    if (launch::Problem why = launch::read_file(path, max_bytes, bytes); !why.empty()) return why;
    const std::string text(bytes.begin(), bytes.end());
    if (text.find("\"lockwarp-report/") == std::string::npos) return {};
    validate::Summary summary;
    if (launch::Problem why = parse_summary(text, path, summary); !why.empty()) return why;
    if (summary.instructions.empty()) return {};
    if (summary.devices.empty()) return path + ": names no device";
    std::string_view arch;
    for (const isa::ArchRow& a : isa::arch_rows)
        if (a.number == summary.devices[0].number) arch = a.name;
    if (arch.empty()) return path + ": its device is not modelled";
    for (const gpu::Device& d : summary.devices)
        if (d.number != summary.devices[0].number || d.driver != summary.devices[0].driver)
            return path + ": is of several machines, so that no result is of one";
    for (const auto& [spelling, counts] : summary.instructions)
        if (counts.values != 0) add(rows, spelling, arch, summary.devices[0], counts);
    return {};
}

// A field of a line.
bool is_plain(const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

launch::Problem recorded_table(const std::string& folder, std::string& table, size_t& rows) {
    std::error_code failed;
    std::filesystem::recursive_directory_iterator it(folder, failed);
    if (failed) return folder + ": " + failed.message();
    std::vector<std::string> paths;
    for (; it != std::filesystem::recursive_directory_iterator(); it.increment(failed)) {
        if (failed) return folder + ": " + failed.message();
        paths.push_back(it->path().string());
    }
    std::ranges::sort(paths);
    Rows all;
    for (const std::string& path : paths) {
        launch::Problem why;
        if (path.ends_with(".lwr")) why = add_recording(path, all);
        if (path.ends_with(".json")) why = add_report(path, all);
        if (!why.empty()) return why;
    }
    std::vector<evidence::RecordedRow> out;
    for (const auto& [key, counts] : all) {
        const auto& [instruction, arch, device, driver] = key;
        if (!is_plain(device) || !is_plain(driver))
            return folder + ": a device whose name or driver is not plain text";
        out.push_back({instruction, arch, device, driver, counts.values, counts.different});
    }
    rows = out.size();
    table = evidence::write_recorded(out);
    return {};
}

}  // namespace lockwarp::tools
