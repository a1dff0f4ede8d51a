// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/validate_launch.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <mutex>

#include "launch/state.hpp"
#include "tools/commands/record_command.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/report/failure.hpp"
#include "tools/signals.hpp"
#include "validate/compiler.hpp"

namespace lockwarp::tools {

Outcome refused(const std::string& name, launch::Error why) {
    Outcome out;
    out.status = wrong_input;
    out.result.name = name;
    out.result.verdict = validate::Verdict::failed;
    out.result.text = text_of(why);
    out.refused = std::move(why);
    return out;
}

namespace {

// The first name that is free: diff-0001.lwr, diff-0002.lwr, ...
std::string free_name(const std::string& folder) {
    for (unsigned i = 1;; ++i) {
        const auto path = std::filesystem::path(folder) / fmt::format("diff-{:04}.lwr", i);
        std::error_code error;
        if (!std::filesystem::exists(path, error)) return path.string();
    }
}

// Saves what differed. Returns the line that says so.
std::string save_difference(const Job& job, const launch::Input& in, launch::Case& c,
                            const validate::Report& report, validate::Answer answer) {
    static std::mutex names;
    const std::lock_guard guard(names);
    if (report.tracks) {
        // Its CTA alone tells the difference.
        answer.tracks = {*report.tracks};
        answer.outputs.clear();
    } else {
        answer.tracks.clear();
    }
    const std::string path = free_name(job.options.save);
    if (const launch::Result<void> made = launch::make_folder(job.options.save); !made)
        return "no recording: " + made.error().sentence + "\n";
    const launch::Result<uint64_t> written =
        write_recorded(path, in, job.arch, std::move(c), std::move(answer));
    if (!written) return "no recording: " + written.error().sentence + "\n";
    return "replay: lockwarp replay " + path + "\n";
}

std::string statistics(const validate::Report& r) {
    const validate::Seconds& s = r.seconds;
    const double beside = s.traced - s.compile;
    return fmt::format(
        "seconds: kernel compiled and run on the GPU {:.3f}, traced kernel the first time {:.3f}\n"
        "  emulator beside the GPU {:.3f}, emulator alone {:.3f}: {:.2f} times; {} windows, {} "
        "steps\n",
        s.start, s.compile, beside, s.alone, beside / s.alone, r.windows,
        validate::grouped(r.statistics.instructions));
}

// One launch; bytes: what the buffers hold before it.
Outcome run_launch(const Job& job, const std::string& name, launch::Input in,
                   std::vector<std::vector<uint8_t>> bytes, gpu::Engine& engine) {
    Outcome out;
    const auto begin = std::chrono::steady_clock::now();
    out.result.name = name;
    const auto refuse = [&](launch::Error why) { return refused(name, std::move(why)); };
    const launch::Result<isa::Program> program = launch::resolve(in, job.arch);
    if (!program) return refuse(program.error());
    launch::Result<launch::Case> made =
        launch::make_case(in.launch, in.kernel(), in.module, *program, std::move(bytes));
    if (!made) return refuse(made.error());
    launch::Case& c = *made;
    validate::Answer answer;
    const validate::Compared compared = validate::compare(c, job.arch, engine, job.how, &answer);
    const validate::Report& report = compared.report;
    if (!report.diagnostics.empty()) return refuse(launch::refused(in, report.diagnostics));
    out.left_out = report.nothing && job.options.of_a_program;
    if (out.left_out) return out;
    if (!report.problem.empty())
        return refuse(launch::failure(in.launch.path + ": " + report.problem).value());
    out.result = validate::result_of(name, report, in.ptx_path);
    out.result.text = validate::text_report(report, engine.device(), in.ptx_path);
    if (compared.differed) {
        const std::string difference =
            compared.differed->problem.empty()
                ? validate::text_report(*compared.differed, engine.device(), in.ptx_path)
                : compared.differed->problem + "\n";
        out.result.compiler = validate::compilers_doing(*compared.differed);
        out.result.text =
            fmt::format("identical at --optimize 0; the compiler's: {}\n{}at --optimize {}: {}",
                        out.result.compiler, out.result.text, job.how.optimization, difference);
    }
    out.ordered = report.ordered;
    launch::keep_if_named(in, out.result.text + out.result.file);
    if (job.options.stats) out.result.text += statistics(report);
    validate::add_instructions(out.counted, report);
    if (report.first || report.same_fault) out.status = differs_or_trapped;
    const validate::Report& differed = compared.differed ? *compared.differed : report;
    if (differed.first) out.result.text += save_difference(job, in, c, differed, std::move(answer));
    out.result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return out;
}

// Adds the outcome of one launch of several to that of all.
void add_launch(Outcome& all, Outcome one, const std::string& entry) {
    all.status = one.status;
    all.refused = std::move(one.refused);
    all.result.verdict = one.result.verdict;
    all.result.text += entry + ": " + one.result.text;
    all.result.file = one.result.file;
    all.result.line = one.result.line;
    all.result.instruction = one.result.instruction;
    all.result.counts += one.result.counts;
    all.result.seconds += one.result.seconds;
    if (all.result.compiler.empty()) all.result.compiler = one.result.compiler;
    for (const auto& [spelling, counts] : one.counted.instructions)
        all.counted.instructions[spelling] += counts;
}

}  // namespace

Outcome run_one(const Job& job, const std::string& name, std::vector<launch::Input> steps,
                gpu::Engine& engine) {
    Outcome all;
    all.result.name = name;
    const size_t count = steps.size();
    launch::State state;
    if (launch::Result<launch::State> made = launch::make_state(steps[0].launch); made)
        state = std::move(*made);
    else
        return refused(name, std::move(made.error()));
    for (size_t i = 0; i < count && all.status == done; ++i) {
        launch::Input& in = steps[i];
        launch::carry_variables(state, in, in.module);
        if (count == 1)
            return run_launch(job, name, std::move(in), std::move(state.memory.bytes), engine);
        const launch::Result<isa::Program> program = launch::resolve(in, job.arch);
        if (!program) return refused(name, program.error());
        add_launch(all, run_launch(job, name, in, state.memory.bytes, engine), program->entry);
        if (i + 1 == count || all.status != done) continue;
        if (launch::Result<void> ran = launch::advance(state, in, *program, &interrupt_flag());
            !ran)
            return refused(name, std::move(ran.error()));
    }
    return all;
}

}  // namespace lockwarp::tools
