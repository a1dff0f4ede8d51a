// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/special_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/summary_text.hpp"
#include "validate/emulator_engine.hpp"

namespace lockwarp::tools {

namespace {

using validate::SpecialReport;

constexpr std::string_view special_help =
    "On the GPU each result of the instruction is compared with that of the model, compiled for\n"
    "the GPU from the same source as the emulator's. On this machine the emulator's own model\n"
    "is compared by a digest of every 2^20 results; where one differs, the operands are fetched.";

std::string noun(const gpu::SpecialForm& f) { return gpu::is_quotient(f) ? "pairs" : "operands"; }

std::string extent(const gpu::SpecialForm& f, uint64_t operands) {
    if (operands != gpu::operand_count(f)) return "of " + validate::grouped(gpu::operand_count(f));
    switch (gpu::operands_of(f)) {
        case gpu::Operands::all:
            return "all";
        case gpu::Operands::upper_words:
            return "all upper words; the lower one is not read";
        case gpu::Operands::sample:
            break;
    }
    return "structured and random";
}

std::string differences(const SpecialReport& r) {
    std::string out = fmt::format(
        "\n{}: {} of {} {} differ from the model on the GPU,\n"
        "  {} of {} digests of 2^20 from the model here\n",
        r.name, validate::grouped(r.different_on_gpu), validate::grouped(r.operands), noun(r.form),
        validate::grouped(r.different_chunks), validate::grouped(r.chunks));
    for (const validate::SpecialDifference& d : r.shown) {
        const auto value = [&](uint64_t bits) {
            return validate::special_value(r.form.type, bits);
        };
        out += fmt::format("  {}\n    instruction {}\n",
                           validate::special_operand(r.form, d.operand), value(d.instruction));
        if (d.gpu_model == d.host_model)
            out += fmt::format("    model       {}\n", value(d.host_model));
        else
            out += fmt::format("    model       {} on the GPU, {} here\n", value(d.gpu_model),
                               value(d.host_model));
    }
    return out;
}

validate::CaseResult result_of(const SpecialReport& r, const std::string& name) {
    validate::CaseResult out;
    out.name = name;
    out.instruction = r.name;
    out.counts.values = r.operands;
    out.counts.different = std::max(r.different_on_gpu, r.different_chunks);
    out.seconds = r.gpu_seconds + r.host_seconds;
    if (!r.problem.empty()) {
        out.verdict = validate::Verdict::failed;
        out.text = r.problem;
    } else if (!r.identical()) {
        out.verdict = validate::Verdict::differs;
        out.text = differences(r);
    }
    return out;
}

launch::Result<Engines> open_engines(const SpecialCommand& command) {
    if (!command.emulator) return open_gpus(command.engines, 1);
    Engines out;
    out.arch = isa::default_arch;
    out.all.push_back(std::make_unique<validate::EmulatorEngine>(out.arch, false, command.threads));
    return out;
}

}  // namespace

void add_special(CLI::App& app, int& status) {
    const auto shared = std::make_shared<SpecialCommand>();
    SpecialCommand& o = *shared;
    CLI::App* special = app.add_subcommand(
        "special", "Compare the special functions with a GPU's, over all their operands");
    special->add_option("FORMS", o.forms,
                        "ex2, rcp.approx, tanh.approx.f32, ...: these forms (default: every form "
                        "that the GPU has)");
    add_engine_options(*special, o.engines);
    special->add_flag(
        "--emulator", o.emulator,
        "without a GPU: the kernels on the emulator, as sm_90; slow, so give --count");
    special->add_option("--from", o.first, "begin with operand number N (default: 0)")
        ->type_name("N");
    special->add_option("--count", o.count, "so many operands of each form (default: all)")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    special->add_option("--threads", o.threads, "cores to use (default: all)")
        ->type_name("N")
        ->check(CLI::Range(1u, 1024u));
    add_report_options(*special, o.reports);
    special->add_flag("--list", o.list, "print the forms");
    special->footer(std::string(special_help));
    special->callback([shared, &status] { status = special_command(*shared); });
}

launch::Result<std::vector<gpu::SpecialForm>> chosen_forms(const std::vector<std::string>& names) {
    std::vector<gpu::SpecialForm> out;
    const auto meant = [](const gpu::SpecialForm& f, const std::string& name) {
        const gpu::Spelling s = gpu::spelling(f);
        return s.view() == name || s.view().starts_with(name + ".");
    };
    for (const std::string& name : names)
        if (std::ranges::none_of(gpu::special_forms, [&](const auto& f) { return meant(f, name); }))
            return launch::failure(
                "'" + name + "' is not a special function; `lockwarp special --list` prints them");
    for (const gpu::SpecialForm& f : gpu::special_forms)
        if (names.empty() ||
            std::ranges::any_of(names, [&](const std::string& n) { return meant(f, n); }))
            out.push_back(f);
    return out;
}

std::string special_text(const std::vector<SpecialReport>& reports,
                         const std::vector<gpu::Device>& devices,
                         const std::vector<std::string>& absent) {
    uint64_t operands = 0;
    uint64_t different = 0;
    uint64_t failed = 0;
    for (const SpecialReport& r : reports) {
        operands += r.operands;
        failed += !r.problem.empty();
        different += r.problem.empty() && !r.identical();
    }
    const std::string counts =
        fmt::format("{} form{}, {} operands", reports.size(), reports.size() == 1 ? "" : "s",
                    validate::grouped(operands));
    std::string out = failed != 0 || reports.empty()
                          ? fmt::format("FAILED: {} of {} not compared\n", failed, counts)
                      : different != 0 ? fmt::format("DIFFERS: {} of {}\n", different, counts)
                                       : fmt::format("identical: {}\n", counts);
    for (const gpu::Device& d : devices) out += validate::device_text(d) + "\n";
    for (const SpecialReport& r : reports)
        out += r.problem.empty() ? fmt::format("  {:<21} {:>13} {:<8} {}, {}\n", r.name,
                                               validate::grouped(r.operands), noun(r.form),
                                               r.identical() ? "identical" : "DIFFERS",
                                               extent(r.form, r.operands))
                                 : fmt::format("  {:<21} FAILED: {}\n", r.name, r.problem);
    if (!absent.empty()) {
        out += "not instructions of this machine:\n";
        for (const std::string& name : absent) out += "  " + name + "\n";
    }
    for (const SpecialReport& r : reports)
        if (r.problem.empty() && !r.identical()) out += differences(r);
    return out;
}

namespace {

// Every form on every engine; ends early where it was interrupted.
void sweep(const SpecialCommand& command, const std::vector<gpu::SpecialForm>& forms,
           std::span<gpu::Engine* const> sides, std::vector<SpecialReport>& reports,
           validate::Summary& summary) {
    std::atomic<uint64_t> ended{0};
    validate::SpecialOptions options;
    options.first = command.first;
    options.count = command.count;
    options.threads = command.threads;
    options.optimization = command.engines.optimization;
    options.stop = &interrupt_flag();
    options.done = &ended;
    uint64_t total = 0;
    for (const gpu::SpecialForm& f : forms) total += validate::swept_operands(f, options);
    {
        const Progress progress(ended, total, "operands");
        for (const gpu::SpecialForm& f : forms) {
            const auto of_form = validate::sweep_special(f, sides, options);
            if (interrupted_now()) break;
            for (size_t e = 0; e < of_form.size(); ++e) {
                SpecialReport r = of_form[e];
                summary.instructions[r.name] += result_of(r, r.name).counts;
                if (sides.size() != 1) r.name = fmt::format("{}, GPU {}", r.name, e);
                validate::add(summary, result_of(r, r.name), true);
                reports.push_back(std::move(r));
            }
        }
    }
    if (interrupted_now())
        spdlog::error("stopped after {} operands", validate::grouped(ended.load()));
}

}  // namespace

int special_command(const SpecialCommand& command) {
    launch::Result<std::vector<gpu::SpecialForm>> forms = chosen_forms(command.forms);
    if (!forms) return refuse(forms.error());
    if (command.list) {
        for (const gpu::SpecialForm& f : *forms) fmt::print("{}\n", gpu::spelling(f).view());
        return done;
    }
    const launch::Result<Engines> engines = open_engines(command);
    if (!engines) return refuse(engines.error());
    if (engines->all.empty())
        return skip("special", "special needs a GPU: " + engines->no_gpu, command.reports);
    std::vector<std::string> absent;
    std::erase_if(*forms, [&](const gpu::SpecialForm& f) {
        if (isa::has(engines->arch, f.target)) return false;
        absent.emplace_back(gpu::spelling(f).view());
        return true;
    });
    if (forms->empty()) return refuse("this machine has none of these instructions");
    std::vector<gpu::Engine*> sides;
    std::vector<gpu::Device> devices;
    for (const auto& engine : engines->all) {
        sides.push_back(engine.get());
        devices.push_back(engine->device());
    }
    std::vector<SpecialReport> reports;
    validate::Summary summary;
    summary.command = "special";
    sweep(command, *forms, sides, reports, summary);
    if (interrupted_now()) return interrupted;
    for (const gpu::Device& d : devices)
        if (std::ranges::find(summary.devices, d) == summary.devices.end())
            summary.devices.push_back(d);
    for (const validate::CaseResult& r : summary.results) summary.seconds += r.seconds;
    fmt::print("{}", special_text(reports, devices, absent));
    if (const launch::Result<void> written = write_reports(summary, command.reports); !written)
        return refuse(written.error());
    return status_of(validate::verdict(summary));
}

}  // namespace lockwarp::tools
