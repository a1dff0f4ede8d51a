// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/report_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/summary_json.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

namespace {

int status_of(const validate::Summary& s) {
    return s.skipped.empty() ? tools::status_of(validate::verdict(s)) : no_gpu;
}

bool flushed() { return std::fflush(stdout) == 0; }

int merge(const ReportCommand& command) {
    validate::Summary sum;
    for (const std::string& path : command.files) {
        const launch::Result<validate::Summary> one = read_summary(path);
        if (!one) return refuse(one.error());
        if (std::string why = validate::merge(sum, *one); !why.empty())
            return refuse(path + " and the reports before it: " + clean_line(why));
    }
    if (command.options.json.empty()) fmt::print("{}", summary_json(sum));
    fmt::print(command.options.json.empty() ? stderr : stdout, "{}\n",
               answer(sum, command.files.size()));
    // The answer comes before GitHub's annotations.
    if (!flushed()) return refuse("stdout: cannot be written");
    if (const launch::Result<void> written = write_reports(sum, command.options); !written)
        return refuse(written.error());
    return status_of(sum);
}

int show(const ReportCommand& command) {
    const launch::Result<validate::Summary> s = read_summary(command.file);
    if (!s) return refuse(s.error());
    fmt::print("{}", summary_text(*s));
    if (!flushed()) return refuse("stdout: cannot be written");
    return status_of(*s);
}

}  // namespace

void add_report(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ReportCommand>();
    ReportCommand& command = *shared;
    CLI::App* report = app.add_subcommand(
        "report", "Add up, print or convert reports of validate, replay and fuzz (--json)");
    report->require_subcommand(1);
    CLI::App* merge = report->add_subcommand(
        "merge", "Add up the reports of shards: the report of one run of everything");
    merge->add_option("FILES", command.files, "reports of one command; no case may be in two")
        ->required()
        ->type_name("FILE");
    merge
        ->add_option("--out,--json", command.options.json,
                     "write the merged report here and print the answer (default: the report to "
                     "stdout, the answer to stderr)")
        ->type_name("FILE");
    add_ci_options(*merge, command.options);
    merge->callback([shared, &status] { status = tools::merge(*shared); });
    CLI::App* show = report->add_subcommand("show", "Print a report as text");
    show->add_option("FILE", command.file, "a report")->required()->type_name("");
    show->callback([shared, &status] { status = tools::show(*shared); });
}

}  // namespace lockwarp::tools
