// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/report_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/report/summary_json.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

namespace {

int wrong(const launch::Problem& problem) {
    spdlog::error("{}", problem);
    return wrong_input;
}

int status_of(const validate::Summary& s) {
    switch (validate::verdict(s)) {
        case validate::Verdict::identical:
            return done;
        case validate::Verdict::differs:
            return differs_or_trapped;
        case validate::Verdict::failed:
            break;
    }
    return wrong_input;
}

bool flushed() { return std::fflush(stdout) == 0; }

int merge(const ReportCommand& command) {
    validate::Summary sum;
    for (const std::string& path : command.files) {
        validate::Summary one;
        if (launch::Problem why = read_summary(path, one); !why.empty()) return wrong(why);
        if (std::string why = validate::merge(sum, one); !why.empty())
            return wrong(path + " and the reports before it: " + clean_line(why));
    }
    if (command.options.json.empty()) fmt::print("{}", summary_json(sum));
    fmt::print(command.options.json.empty() ? stderr : stdout, "{}\n",
               answer(sum, command.files.size()));
    // The answer comes before GitHub's annotations.
    if (!flushed()) return wrong("stdout: cannot be written");
    if (launch::Problem why = write_reports(sum, command.options); !why.empty()) return wrong(why);
    return status_of(sum);
}

int show(const ReportCommand& command) {
    validate::Summary s;
    if (launch::Problem why = read_summary(command.file, s); !why.empty()) return wrong(why);
    fmt::print("{}", summary_text(s));
    if (!flushed()) return wrong("stdout: cannot be written");
    return status_of(s);
}

}  // namespace

void add_report(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ReportCommand>();
    ReportCommand& command = *shared;
    CLI::App* report = app.add_subcommand(
        "report", "Add up, print or convert reports of validate, replay and fuzz (--json)");
    report->require_subcommand(1);
    report->footer(
        "Exit status: as that of the runs: 0 identical; 1 a difference; 2 a case could not be "
        "compared,\nor a report not read.");
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
