// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/replay_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>

#include "launch/files.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/summary_text.hpp"
#include "tools/shard.hpp"
#include "validate/recording.hpp"

namespace lockwarp::tools {

namespace {

namespace fs = std::filesystem;
using validate::CaseResult;
using validate::Verdict;

// The recordings of a folder; below: and of the folders in it.
launch::Result<void> list_folder(const fs::path& folder, bool below,
                                 std::vector<std::string>& out) {
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    while (!error && entry != fs::directory_iterator()) {
        const fs::path path = entry->path();
        std::error_code dangling;
        if (fs::is_directory(path, dangling)) {
            if (below)
                if (launch::Result<void> listed = list_folder(path, false, out); !listed)
                    return listed;
        } else if (path.extension() == ".lwr") {
            out.push_back(path.string());
        }
        entry.increment(error);
    }
    if (error) return launch::failure(folder.string() + ": " + error.message());
    return {};
}

// One recording beside the emulator. What it was made on, and its instructions, are added.
CaseResult replay_one(const std::string& path, const validate::Options& how,
                      validate::Summary& summary) {
    const auto begin = std::chrono::steady_clock::now();
    CaseResult result;
    result.name = path;
    result.verdict = Verdict::failed;
    launch::Result<std::vector<uint8_t>> bytes = launch::read_file(path, validate::max_recorded);
    if (!bytes) {
        result.text = bytes.error().sentence;
        return result;
    }
    const launch::Result<validate::Recording> read = validate::read_recording(*bytes);
    if (!read) {
        result.text = path + ": " + read.error().sentence;
        return result;
    }
    bytes->clear();
    bytes->shrink_to_fit();
    const validate::Recording& r = *read;
    const validate::Report report = validate::replay(r.c, *isa::arch_named(r.arch), r.answer, how);
    result = validate::result_of(path, report, r.name);
    // The recorded fault is what the emulator was to give.
    if (report.same_fault) result.verdict = Verdict::identical;
    // Diagnostics there are none: read_recording has resolved the program.
    result.text = result.verdict == Verdict::failed
                      ? path + ": " + report.problem
                      : validate::text_report(report, r.answer.device, r.name);
    if (r.answer.optimization != how.optimization && result.verdict != Verdict::failed)
        result.text += fmt::format("recorded at --optimize {}\n", r.answer.optimization);
    validate::add_instructions(summary, report);
    if (std::ranges::find(summary.devices, r.answer.device) == summary.devices.end())
        summary.devices.push_back(r.answer.device);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

// The answer over several.
std::string answer_over(const validate::Summary& s) {
    const auto of = [&](Verdict v) {
        return std::ranges::count(s.results, v, &CaseResult::verdict);
    };
    const std::string all = counted(s.cases, "recording");
    const std::string compared =
        fmt::format("{} register values compared, {} memory bytes",
                    validate::grouped(s.counts.values), validate::grouped(s.counts.memory_bytes));
    std::string out;
    if (of(Verdict::failed) != 0)
        out = fmt::format("FAILED: {} of {} not compared, {} different; {}\n", of(Verdict::failed),
                          all, of(Verdict::differs), compared);
    else if (of(Verdict::differs) != 0)
        out = fmt::format("DIFFERS: {} of {}, {}\n", of(Verdict::differs), all, compared);
    else
        out = fmt::format("identical: {}, {}\n", all, compared);
    if (validate::different(s.counts))
        out += fmt::format("{} register values and {} memory bytes different\n",
                           validate::grouped(s.counts.different),
                           validate::grouped(s.counts.memory_different));
    if (s.counts.masked != 0 || s.counts.taken != 0)
        out += fmt::format("not compared: masked {}; taken {}\n",
                           validate::grouped(s.counts.masked), validate::grouped(s.counts.taken));
    if (s.counts.unwritten != 0)
        out +=
            fmt::format("not compared: never written {}\n", validate::grouped(s.counts.unwritten));
    for (const gpu::Device& d : s.devices) out += validate::device_text(d) + "\n";
    for (const CaseResult& r : s.results)
        if (r.verdict == Verdict::differs)
            out += fmt::format("\n{}:\n{}", clean_line(r.name), clean(r.text));
    return out;
}

}  // namespace

launch::Result<std::vector<std::string>> find_recordings(const std::vector<std::string>& named) {
    std::vector<std::string> out;
    for (const std::string& name : named) {
        std::error_code error;
        if (!fs::is_directory(name, error)) {
            out.push_back(name);
            continue;
        }
        std::vector<std::string> found;
        if (launch::Result<void> listed = list_folder(name, true, found); !listed)
            return launch::failure(listed);
        if (found.empty()) return launch::failure(name + ": no recordings (*.lwr) in it");
        std::ranges::sort(found, validate::name_before);
        out.insert(out.end(), found.begin(), found.end());
    }
    // By whatever way to its folder (a link may lead back): it is compared, and counted, once.
    std::set<std::string> seen;
    std::erase_if(out, [&](const std::string& path) {
        std::error_code error;
        const fs::path parent = fs::path(path).parent_path();
        const fs::path folder = fs::canonical(parent.empty() ? "." : parent, error);
        const fs::path whole = folder / fs::path(path).filename();
        return !seen.insert(error ? path : whole.string()).second;
    });
    return out;
}

void add_replay(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ReplayOptions>();
    ReplayOptions& o = *shared;
    CLI::App* replay = app.add_subcommand(
        "replay", "Compare the emulator with what a GPU gave (lockwarp record); needs no GPU");
    replay->add_option("FILES", o.files, "recordings (.lwr), or folders of them")
        ->required()
        ->type_name("FILE");
    replay
        ->add_option("--max-steps", o.max_steps,
                     "trap when a warp has retired N instructions (default: no limit)")
        ->type_name("N")
        ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
    replay->add_option("--threads", o.threads, "cores to use (default: all)")
        ->type_name("N")
        ->check(CLI::Range(1u, 1024u));
    add_shard_option(*replay, o.shard);
    add_report_options(*replay, o.reports);
    replay->callback([shared, &status] { status = replay_command(*shared); });
}

int replay_command(const ReplayOptions& options) {
    const launch::Result<std::vector<std::string>> found = find_recordings(options.files);
    if (!found) return refuse(found.error());
    const launch::Result<Shard> shard = choose_shard(options.shard);
    if (!shard) return refuse(shard.error());
    const Part part = part_of(*shard, found->size());
    if (part.count == 0)
        return refuse(fmt::format("{}: {} are too few for so many shards", shard_text(*shard),
                                  counted(found->size(), "recording")));
    const auto first = found->begin() + static_cast<std::ptrdiff_t>(part.first);
    const std::vector<std::string> files(first, first + static_cast<std::ptrdiff_t>(part.count));
    if (const launch::Result<void> held = check_reports(options.reports); !held)
        return refuse(held.error());
    validate::Options how;
    how.threads = options.threads;
    if (options.max_steps != 0) how.max_steps = options.max_steps;
    how.stop = &interrupt_flag();
    validate::Summary summary;
    summary.command = "replay";
    std::string only;  // the text of a single recording's result
    {
        std::atomic<uint64_t> ended{0};
        const Progress progress(ended, files.size(), "recordings");
        for (const std::string& path : files) {
            const CaseResult result = replay_one(path, how, summary);
            if (interrupted_now()) break;
            if (result.verdict == Verdict::failed) spdlog::error("{}", result.text);
            only = result.text;
            validate::add(summary, result, true);
            ++ended;
        }
    }
    if (interrupted_now()) {
        // What was finished is said.
        if (summary.cases != 0) fmt::print("{}", answer_over(summary));
        spdlog::error("stopped after {} of {}", validate::grouped(summary.cases),
                      counted(files.size(), "recording"));
        return interrupted;
    }
    const Verdict verdict = validate::verdict(summary);
    if (files.size() > 1)
        fmt::print("{}", answer_over(summary));
    else if (verdict != Verdict::failed)
        fmt::print("{}", clean(only));
    if (const launch::Result<void> written = write_reports(summary, options.reports); !written)
        return refuse(written.error());
    return status_of(verdict);
}

}  // namespace lockwarp::tools
