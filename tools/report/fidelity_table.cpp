// SPDX-License-Identifier: Apache-2.0
#include "tools/report/fidelity_table.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "evidence/fidelity.hpp"
#include "launch/files.hpp"
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

launch::Result<void> add_recording(const std::string& path, Rows& rows) {
    launch::Result<std::vector<uint8_t>> bytes = launch::read_file(path, max_bytes);
    if (!bytes) return launch::failure(bytes);
    const launch::Result<validate::Recording> read = validate::read_recording(*bytes);
    if (!read) return launch::failure(path + ": " + read.error().sentence);
    const validate::Recording& recording = *read;
    const std::optional<isa::Arch> arch = isa::arch_named(recording.arch);
    if (!arch) return launch::failure(path + ": " + recording.arch + " is not modelled");
    const validate::Report report = validate::replay(recording.c, *arch, recording.answer, {});
    if (!report.problem.empty()) return launch::failure(path + ": " + report.problem);
    if (!report.diagnostics.empty())
        return launch::failure(path + ": " + report.diagnostics[0].message);
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

launch::Result<void> add_report(const std::string& path, Rows& rows) {
    launch::Result<std::string> text = launch::read_text(path, max_bytes);
    if (!text) return launch::failure(text);
    if (text->find("\"lockwarp-report/") == std::string::npos) return {};
    launch::Result<validate::Summary> parsed = parse_summary(*text, path);
    if (!parsed) return launch::failure(parsed);
    const validate::Summary& summary = *parsed;
    if (summary.instructions.empty()) return {};
    if (summary.devices.empty()) return launch::failure(path + ": names no device");
    std::string_view arch;
    for (const isa::ArchRow& a : isa::arch_rows)
        if (a.number == summary.devices[0].number) arch = a.name;
    if (arch.empty()) return launch::failure(path + ": its device is not modelled");
    for (const gpu::Device& d : summary.devices)
        if (d.number != summary.devices[0].number || d.driver != summary.devices[0].driver)
            return launch::failure(path + ": is of several machines, so that no result is of one");
    for (const auto& [spelling, counts] : summary.instructions)
        if (counts.values != 0) add(rows, spelling, arch, summary.devices[0], counts);
    return {};
}

// A field of a line.
bool is_plain(const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

launch::Result<RecordedTable> recorded_table(const std::string& folder) {
    std::error_code failed;
    std::filesystem::recursive_directory_iterator it(folder, failed);
    if (failed) return launch::failure(folder + ": " + failed.message());
    std::vector<std::string> paths;
    for (; it != std::filesystem::recursive_directory_iterator(); it.increment(failed)) {
        if (failed) return launch::failure(folder + ": " + failed.message());
        paths.push_back(it->path().string());
    }
    std::ranges::sort(paths);
    Rows all;
    for (const std::string& path : paths) {
        launch::Result<void> added;
        if (path.ends_with(".lwr")) added = add_recording(path, all);
        if (path.ends_with(".json")) added = add_report(path, all);
        if (!added) return launch::failure(added);
    }
    std::vector<evidence::RecordedRow> out;
    for (const auto& [key, counts] : all) {
        const auto& [instruction, arch, device, driver] = key;
        if (!is_plain(device) || !is_plain(driver))
            return launch::failure(folder + ": a device whose name or driver is not plain text");
        out.push_back({instruction, arch, device, driver, counts.values, counts.different});
    }
    return RecordedTable{evidence::write_recorded(out), out.size()};
}

}  // namespace lockwarp::tools
