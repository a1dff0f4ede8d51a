// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "launch/files.hpp"
#include "tools/exit_status.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/summary_github.hpp"
#include "tools/report/summary_json.hpp"
#include "tools/report/summary_junit.hpp"

namespace lockwarp::tools {

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// In one write, so that steps that end at the same time do not mix.
launch::Result<void> append(const std::string& path, const std::string& text) {
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return launch::failure(path + ": " + std::strerror(errno));
    size_t at = 0;
    launch::Result<void> written;
    while (at < text.size() && written) {
        const ssize_t n = ::write(file, text.data() + at, text.size() - at);
        if (n >= 0)
            at += static_cast<size_t>(n);
        else if (errno != EINTR)
            written = launch::failure(path + ": " + std::strerror(errno));
    }
    ::close(file);
    return written;
}

}  // namespace

void add_ci_options(CLI::App& command, ReportOptions& o) {
    command.add_option("--junit", o.junit, "write a JUnit XML report")->type_name("FILE");
    command.add_flag("--github", o.github,
                     "print GitHub's annotations and append to the job summary "
                     "(default: where GITHUB_ACTIONS is true)");
}

void add_report_options(CLI::App& command, ReportOptions& o) {
    command.add_option("--json", o.json, "write a report that lockwarp report reads and merges")
        ->type_name("FILE");
    add_ci_options(command, o);
}

launch::Result<void> check_output(const std::string& path) {
    launch::Outputs early;  // never made visible
    return early.add(path, std::string_view());
}

launch::Result<void> check_reports(const ReportOptions& o) {
    if (!o.json.empty() && o.json == o.junit)
        return launch::failure(o.json + ": --json and --junit are one file");
    for (const std::string& path : {o.json, o.junit})
        if (!path.empty())
            if (launch::Result<void> held = check_output(path); !held) return held;
    return {};
}

launch::Result<void> write_reports(const validate::Summary& s, const ReportOptions& o) {
    launch::Result<void> all;
    const auto keep = [&](launch::Result<void> written) {
        if (all) all = std::move(written);
    };
    if (!o.json.empty() && o.json == o.junit)
        return launch::failure(o.json + ": --json and --junit are one file");
    launch::Outputs outputs;
    if (!o.json.empty()) keep(outputs.add(o.json, summary_json(s)));
    if (!o.junit.empty()) keep(outputs.add(o.junit, summary_junit(s)));
    if (all) keep(outputs.commit());
    if (o.github || environment("GITHUB_ACTIONS") == "true") {
        fmt::print(stderr, "{}", github_annotations(s));
        const std::string path = environment("GITHUB_STEP_SUMMARY");
        if (!path.empty()) keep(append(path, github_markdown(s)));
    }
    return all;
}

int skip(const std::string& command, const std::string& why, const ReportOptions& o) {
    spdlog::error("{}", why);
    validate::Summary s;
    s.command = command;
    s.skipped = why;
    const launch::Result<void> written = write_reports(s, o);
    return written ? no_gpu : refuse(written.error());
}

}  // namespace lockwarp::tools
