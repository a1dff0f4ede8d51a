// SPDX-License-Identifier: Apache-2.0
#include "tools/report/fidelity_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "evidence/fidelity.hpp"
#include "tools/report/summary_json.hpp"
#include "validate/recording.hpp"

namespace lockwarp::tools {

namespace {

constexpr uint64_t most_bytes = uint64_t{1} << 26;

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
    if (launch::Problem why = launch::read_file(path, most_bytes, bytes); !why.empty()) return why;
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
    if (launch::Problem why = launch::read_file(path, most_bytes, bytes); !why.empty()) return why;
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

std::string literal(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
        out += plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
    return out + "\"";
}

constexpr std::string_view before = R"(// Made by: lockwarp fidelity --from tests/golden
#include <array>

#include "evidence/fidelity.hpp"

namespace lockwarp::evidence {

namespace {

// clang-format off
)";

constexpr std::string_view after = R"(// clang-format on

}  // namespace

std::span<const RecordedRow> recorded_rows() { return rows; }

}  // namespace lockwarp::evidence
)";

}  // namespace

launch::Problem recorded_source(const std::string& folder, std::string& cpp, size_t& rows) {
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
    rows = all.size();
    cpp = before;
    // A function for each machine, so that a row names it in a letter.
    std::vector<std::array<std::string, 3>> machines;
    std::string lines;
    for (const auto& [key, counts] : all) {
        const auto& [instruction, arch, device, driver] = key;
        const std::array<std::string, 3> machine{arch, device, driver};
        const auto known = std::ranges::find(machines, machine);
        const auto index = static_cast<size_t>(known - machines.begin());
        if (known == machines.end()) machines.push_back(machine);
        lines += fmt::format("    on_{}({}, {}", index, literal(instruction), counts.values);
        lines += counts.different == 0 ? "),\n" : fmt::format(", {}),\n", counts.different);
    }
    for (size_t i = 0; i < machines.size(); ++i)
        cpp += fmt::format(
            "constexpr RecordedRow on_{}(std::string_view instruction, uint64_t values,\n"
            "                           uint64_t different = 0) {{\n"
            "    return {{instruction, {}, {}, {}, values, different}};\n}}\n\n",
            i, literal(machines[i][0]), literal(machines[i][1]), literal(machines[i][2]));
    cpp += fmt::format("constexpr std::array<RecordedRow, {}> rows{}", rows,
                       rows == 0 ? "{};\n" : "{{\n");
    cpp += lines;
    if (rows != 0) cpp += "}};\n";
    cpp += after;
    return {};
}

}  // namespace lockwarp::tools
