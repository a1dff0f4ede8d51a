// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/why_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "launch/files.hpp"
#include "tools/commands/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/first_error.hpp"
#include "tools/report/products.hpp"
#include "tools/report/why_report.hpp"
#include "tools/report/why_subject.hpp"
#include "tools/signals.hpp"

namespace lockwarp::tools {

namespace {

struct Report {
    std::string text, svg;
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    int status = done;
};

bool is_explained(const why::Answer& a) {
    const uint64_t wrong = a.map.wrong();
    return wrong == 0 || (!a.explanations.empty() && a.explanations.front().all(wrong));
}

launch::Result<void> answer_one(const std::vector<launch::Loaded>& steps,
                                const launch::Expectation& e, const launch::State& state,
                                uint64_t rows, uint64_t columns, Report& out) {
    launch::Result<why::Subject> subject = why_subject(steps, e, state, rows, columns);
    if (!subject) return launch::failure(subject);
    subject->stop = &interrupt_flag();
    // A race or an undefined value moves no element from one place to another: where there is one,
    // two mistakes at a time are not looked for.
    const auto error = first_error(steps, state, &interrupt_flag());
    why::Limits limits;
    limits.pairs = !error;
    const launch::Result<why::Answer> answer = why::ask(*subject, limits);
    if (!answer) return tl::unexpected(answer.error());
    const std::string name = e.product ? formula(*e.product) : e.name;
    nlohmann::ordered_json entry = why_json(name, *subject, *answer);
    if (error && !is_explained(*answer)) {
        out.text += error->text;
        entry["check"] = {{"check", error->check}, {"kind", error->kind}, {"text", error->text}};
    }
    out.text += why_text(name, *subject, *answer);
    out.json.push_back(std::move(entry));
    if (answer->map.wrong() == 0) return {};
    out.status = differs_or_trapped;
    if (out.svg.empty()) out.svg = error_map_svg(name, answer->map);
    return {};
}

launch::Result<Report> make_report(const WhyOptions& o) {
    uint64_t rows = 0, columns = 0;
    if (!o.shape.empty() && !parse_sizes(o.shape, {&rows, &columns}))
        return launch::failure("--shape " + o.shape + ": ROWSxCOLUMNS is expected");
    const auto steps = launch::load_all(o.files, o.arch, o.nvcc);
    if (!steps) return tl::unexpected(steps.error());
    const launch::LaunchFile& file = steps->front().in.launch;
    const launch::Result<launch::State> state = launch::make_state(file);
    if (!state) return tl::unexpected(state.error());
    const auto list = why_expectations(o.product, file, *state);
    if (!list) return tl::unexpected(list.error());
    Report out;
    // Expectations that do not hold come first.
    for (const launch::Expectation& e : *list)
        if (launch::Result<void> said = answer_one(*steps, e, *state, rows, columns, out); !said)
            return launch::failure(said);
    return out;
}

}  // namespace

int why_command(const WhyOptions& o) {
    const launch::Result<Report> report = make_report(o);
    if (!report) return refuse(report.error());
    if (o.json == "-")
        fmt::print("{}\n", report->json.dump(2));
    else
        fmt::print("{}", report->text);
    if (std::fflush(stdout) != 0) return refuse("the output could not be written");
    launch::Outputs outputs;
    launch::Result<void> written;
    if (!o.json.empty() && o.json != "-")
        written = outputs.add(o.json, std::string_view(report->json.dump(2) + "\n"));
    if (written && !o.svg.empty()) written = outputs.add(o.svg, std::string_view(report->svg));
    if (written) written = outputs.commit();
    if (!written) return refuse(written.error());
    return report->status;
}

void add_why(CLI::App& app, int& status) {
    const auto shared = std::make_shared<WhyOptions>();
    WhyOptions& o = *shared;
    CLI::App* why = app.add_subcommand(
        "why", "Name the mistake behind a wrong matrix: swapped registers, a missing swizzle");
    why->add_option("FILES", o.files,
                    "a launch file that expects something (\"expect\"), or a source (.ptx, .cu) "
                    "and a launch file: the source takes the place of the one that it names")
        ->required();
    add_nvcc_options(*why, o.nvcc);
    why->add_option("--arch", o.arch, "the machine to model, as run takes it");
    why->add_option(
           "--product", o.product,
           "what the result should be, as run takes it: "
           "D=A*B:MxNxK:AB_TYPE:D_TYPE[:ulp=N|absolute=X|relative=X]; in place of what the "
           "launch file expects")
        ->type_name("SPEC")
        ->allow_extra_args(false);
    why->add_option("--shape", o.shape,
                    "rows and columns of a matrix that is expected without a "
                    "product")
        ->type_name("ROWSxCOLUMNS");
    why->add_option("--svg", o.svg, "write the map of the errors as a picture")->type_name("FILE");
    why->add_option("--json", o.json,
                    "write the answer as JSON; -: to stdout, in place of the text")
        ->type_name("FILE");
    why->callback([shared, &status] { status = why_command(*shared); });
}

}  // namespace lockwarp::tools
