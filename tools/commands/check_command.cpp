// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/check_command.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "emu/lockwarp.hpp"
#include "launch/described.hpp"
#include "launch/files.hpp"
#include "launch/state.hpp"
#include "tools/commands/commands.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/order_options.hpp"
#include "tools/progress.hpp"
#include "tools/report/checked.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/report_options.hpp"
#include "tools/report/suppressions.hpp"
#include "tools/report/wrong_results.hpp"
#include "tools/signals.hpp"
#include "validate/orders.hpp"
#include "validate/schedules.hpp"

namespace lockwarp::tools {

namespace {

// Races whose effect is shown, of launches that retired no more instructions and whose buffers have
// no more bytes.
constexpr unsigned max_effects = 4;
constexpr uint64_t max_repeated = 20'000'000;
constexpr uint64_t max_kept_bytes = uint64_t{128} << 20;

constexpr uint64_t max_suppressions = uint64_t{1} << 20;  // bytes of the file

std::string format_names() {
    std::string out;
    for (const CheckFormat& f : check_formats())
        out += fmt::format("{}{}", out.empty() ? "" : ", ", f.name);
    return out;
}

std::string checks_help() {
    std::string out = "which, with commas (default: all)";
    for (const check::CheckRow& row : check::checks())
        out += fmt::format("; {}: {}", row.name, row.finds);
    return out;
}

// A name that is no file but a pattern stands for the files that it fits.
std::vector<std::string> expanded(const std::vector<std::string>& names) {
    std::vector<std::string> out;
    for (const std::string& name : names) {
        glob_t found{};
        const bool is_pattern = name.find_first_of("*?[") != std::string::npos;
        if (is_pattern && !std::filesystem::exists(name) &&
            ::glob(name.c_str(), 0, nullptr, &found) == 0)
            out.insert(out.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
        else
            out.push_back(name);
        ::globfree(&found);
    }
    return out;
}

uint64_t bytes_of(const launch::State& state) {
    uint64_t out = 0;
    for (const std::vector<uint8_t>& bytes : state.memory.bytes) out += bytes.size();
    return out;
}

// Whether the launches may run several times more, on copies of what they begin with.
bool may_repeat(std::span<const launch::Loaded> steps, const launch::State& state) {
    const bool any = std::ranges::any_of(steps, [](const launch::Loaded& step) {
        return std::ranges::any_of(step.program.operations, [](const isa::Operation& o) {
            return validate::is_asynchronous(o.op);
        });
    });
    return any && bytes_of(state) <= max_kept_bytes;
}

// "D[3][5]", where the launch file gives the buffer's shape.
std::string element_name(const launch::LaunchFile& file, const launch::Memory& memory,
                         const validate::OrderDifference& d) {
    const launch::BufferField* const b = file.find_buffer(d.name);
    if (b == nullptr) return validate::element_text(d);
    const uint64_t begin = memory.addresses[static_cast<size_t>(b - file.buffers.data())];
    const uint64_t address = begin + d.index * d.bytes;
    for (const check::Shape& s : launch::described(file, memory).shapes)
        if (const std::string element = s.element(address - s.address); !element.empty())
            return d.name + element;
    return validate::element_text(d);
}

std::string schedule_text(const launch::Loaded& step, const validate::ScheduleDifference& d,
                          const std::string& element) {
    const auto value = [](const std::string& text) { return text.empty() ? "none" : text; };
    std::string what = "asynchronous instructions, done where somebody waits for them, give";
    std::string reader;
    if (d.operation != UINT32_MAX) {
        const uint32_t line = step.program.operations[d.operation].place.line;
        if (d.reader)
            reader = fmt::format("reads what line {} brings, with no wait for it: ", line);
        what = fmt::format("line {}, done where somebody waits for it, gives", line);
    }
    return fmt::format("{}{} another result: {} is {}, and {} where it is done at once", reader,
                       what, element, value(d.what.is), value(d.what.was));
}

// Every launch of a launch file, with what the checks say of each.
struct Runner {
    const CheckOptions& options;
    const std::vector<const check::CheckRow*>& rows;
    CheckedFile out;
    check::Described described;     // the buffers, before the next launch
    bool left_its_buffers = false;  // a launch trapped at such an address
    uint64_t retired = 0;           // instructions of all launches

    void run(const std::vector<std::string>& files);
    bool run_step(const launch::Loaded& step, launch::State& state);
    // Runs the launch again, the earlier side of races coming later, and says what that changes.
    void show_effects(const launch::Loaded& step, const launch::State& before,
                      uint64_t instructions, std::vector<check::Found>& found) const;
    void try_orders(std::span<const launch::Loaded> steps, const launch::State& first);
    // With asynchronous instructions done early and late.
    void try_schedules(std::span<const launch::Loaded> steps, const launch::State& first,
                       const validate::Left& left);
    // Holds the result against what the launch file expects.
    void compare(const std::vector<launch::Loaded>& steps, const launch::State& first,
                 const launch::State& last, bool trapped);
    bool is_chosen(std::string_view check) const {
        return std::ranges::find(rows, check::check_named(check)) != rows.end();
    }
    validate::OrderLimits limits() const { return {options.max_steps, &interrupt_flag()}; }
    void refuse_with(const launch::Error& why) { out.refused = text_of(why); }
};

// What warps may take of another run: many times what they took of the first one on average. Who
// waits for something that no longer comes in that order never ends.
uint64_t step_limit(const launch::Loaded& step, uint64_t instructions, uint64_t at_least) {
    const launch::Kernel& k = step.in.kernel();
    const uint64_t warps = k.grid.count() * ((k.block.count() + 31) / 32);
    return at_least + 16 * (instructions / warps);
}

bool did_not_end(const validate::Left& left) {
    return left.trap.starts_with(warp::trap_name(warp::TrapKind::step_limit));
}

void Runner::show_effects(const launch::Loaded& step, const launch::State& before,
                          uint64_t instructions, std::vector<check::Found>& found) const {
    validate::OrderLimits bounded = limits();
    if (bounded.max_steps == 0) bounded.max_steps = step_limit(step, instructions, 200'000);
    const std::span<const launch::Loaded> one(&step, 1);
    std::optional<validate::Left> usual;
    unsigned shown = 0;
    for (check::Found& f : found) {
        const bool is_race = f.check->name.starts_with("race-") && f.finding.other.has_value() &&
                             f.finding.severity == check::Severity::error;
        if (!is_race || shown == max_effects) continue;
        ++shown;
        const warp::Dim3& grid = step.in.kernel().grid;
        const check::Site& other = *f.finding.other;
        const uint64_t cta =
            other.cta[0] + uint64_t{grid.x} * (other.cta[1] + uint64_t{grid.y} * other.cta[2]);
        warp::GiveWay place{cta, other.warp, other.step};
        if (other.cta != f.finding.here.cta) place = {cta, warp::GiveWay::no_warp, 0};
        using Places = std::vector<std::vector<warp::GiveWay>>;
        if (!usual) usual = validate::run_in_order(one, before, {.places = Places(1)}, bounded);
        const validate::Left turned =
            validate::run_in_order(one, before, {.places = Places{{place}}}, bounded);
        if (did_not_end(*usual) || did_not_end(turned)) continue;
        if (usual->stopped || turned.stopped || usual->refused || turned.refused) return;
        if (const auto d = validate::difference(one, *usual, turned))
            f.finding.message +=
                "; the other way round it gives another result: " + validate::element_text(*d);
    }
}

// As a finding of the first launch in which somebody gives way.
void Runner::try_orders(std::span<const launch::Loaded> steps, const launch::State& first) {
    const validate::OrdersResult r = validate::try_orders(steps, first, options.orders, limits());
    if (r.stopped) out.stopped = why_interrupted();
    if (!r.pair) return;
    const validate::OrderPair& pair = *r.pair;
    size_t at = 0;
    while (at + 1 < pair.places.size() && pair.places[at].empty()) ++at;
    check::Finding f;
    f.kind = "result";
    if (!pair.places[at].empty()) {
        const warp::GiveWay& p = pair.places[at].front();
        const warp::Dim3& grid = steps[at].in.kernel().grid;
        f.here.cta = {static_cast<uint32_t>(p.cta % grid.x),
                      static_cast<uint32_t>(p.cta / grid.x % grid.y),
                      static_cast<uint32_t>(p.cta / grid.x / grid.y)};
        if (p.warp != warp::GiveWay::no_warp) {
            f.here.warp = p.warp;
            f.here.step = p.step;
            // Before its first instruction no step tells that it is a warp's: its lanes do. The
            // last warp, which may have fewer, has none to give way to there.
            if (p.step == 0) f.here.lanes = warp::all_lanes;
        }
        if (pair.operations[at].front() != UINT32_MAX) f.here.operation = pair.operations[at][0];
    }
    f.count = r.different;
    // The lines of the text as clauses.
    f.message = validate::orders_text(steps, r);
    f.message.pop_back();
    for (size_t end = f.message.find("\n  "); end != std::string::npos;
         end = f.message.find("\n  "))
        f.message.replace(end, 3, f.message.substr(0, end).ends_with("where") ? " " : "; ");
    const ptx::SourceMap sources = ptx::source_map(steps[at].in.module);
    out.findings.push_back(checked_finding(steps[at].in, steps[at].program, sources,
                                           {check::check_named("order"), std::move(f), {}}));
}

// As a finding of the instruction that reads too early; where none does, of the late one.
void Runner::try_schedules(std::span<const launch::Loaded> steps, const launch::State& first,
                           const validate::Left& left) {
    validate::OrderLimits bounded = limits();
    if (bounded.max_steps == 0)
        for (const launch::Loaded& step : steps)
            bounded.max_steps = std::max(bounded.max_steps, step_limit(step, retired, 10'000'000));
    const validate::SchedulesResult r = validate::try_schedules(steps, first, bounded, &left);
    if (r.stopped) out.stopped = why_interrupted();
    if (!r.difference) return;
    const validate::ScheduleDifference& d = *r.difference;
    const launch::Loaded& step = steps[d.launch];
    check::Finding f;
    f.kind = "schedule";
    f.message = schedule_text(step, d, element_name(steps.front().in.launch, first.memory, d.what));
    if (d.operation != UINT32_MAX) f.here.operation = d.operation;
    if (d.reader) {
        f.other = f.here;
        f.here = {d.reader->operation, d.reader->cta, d.reader->warp, d.reader->lanes,
                  d.reader->step};
        f.other->cta = f.here.cta;
        f.hint = "wait for it first";
    }
    const ptx::SourceMap sources = ptx::source_map(step.in.module);
    out.findings.push_back(checked_finding(step.in, step.program, sources,
                                           {check::check_named("order"), std::move(f), {}}));
}

void Runner::compare(const std::vector<launch::Loaded>& steps, const launch::State& first,
                     const launch::State& last, bool trapped) {
    // Where the order of threads is left open, the error is that, likelier than two others
    // together.
    const bool is_ordered = std::ranges::none_of(out.findings, [](const CheckedFinding& f) {
        return f.severity == check::Severity::error &&
               (f.check == "sync" || f.check.starts_with("race-"));
    });
    launch::Result<std::vector<CheckedFinding>> found =
        wrong_results(steps, first, last, trapped, is_ordered && !trapped, interrupt_flag());
    if (!found) return refuse_with(found.error());
    if (interrupted_now()) out.stopped = why_interrupted();
    for (CheckedFinding& f : *found) {
        launch::keep_if_named(steps.front().in, f.text);
        out.findings.push_back(std::move(f));
    }
}

// false: the launches after it do not run.
bool Runner::run_step(const launch::Loaded& step, launch::State& state) {
    launch::Result<warp::Launch> made =
        launch::make_launch(step.in.launch, step.in.kernel(), step.program, state.memory);
    if (!made) return refuse_with(made.error()), false;
    warp::Launch& launch = *made;
    std::vector<uint8_t> variables = launch::variables_before(state, step.in, step.program);
    launch.variables = &variables;
    launch.stop = &interrupt_flag();
    launch.threads = options.threads;
    if (options.max_steps != 0) launch.max_steps = options.max_steps;
    warp::TurnOrder order;
    if (options.order) {
        order.seed = *options.order;
        launch.order = &order;
    }
    const check::Checking checking(rows, step.program, launch, &step.in.module, described);
    const bool is_small = bytes_of(state) <= max_kept_bytes;
    const std::optional<launch::State> before = is_small ? std::optional(state) : std::nullopt;
    std::atomic<uint64_t> ended{0}, instructions{0};
    launch.progress = &ended;
    launch.retired = &instructions;
    warp::Result result;
    {
        const Progress progress(ended, launch.grid.count(), instructions);
        result = exec::launch(step.program, launch);
    }
    if (result.refusal) {
        refuse_with(launch::failure(step.in.launch.path + ": " + result.refusal->what).value());
        return false;
    }
    launch::keep_variables(state, step.in, step.program, variables);
    described = checking.described();
    std::vector<check::Found> found = checking.found(result);
    if (result.trap)
        if (std::optional<check::Found> trap = checking.found(*result.trap))
            found.insert(found.begin(), std::move(*trap));
    retired += instructions;
    if (before && !result.trap && instructions <= max_repeated)
        show_effects(step, *before, instructions, found);
    const ptx::SourceMap sources = ptx::source_map(step.in.module);
    for (const check::Found& f : found) {
        out.findings.push_back(checked_finding(step.in, step.program, sources, f));
        launch::keep_if_named(step.in, out.findings.back().text);
    }
    if (!result.trap) return true;
    const warp::TrapKind kind = result.trap->kind;
    if (kind == warp::TrapKind::stopped) out.stopped = why_interrupted();
    left_its_buffers = kind == warp::TrapKind::out_of_bounds || kind == warp::TrapKind::misaligned;
    return false;
}

void Runner::run(const std::vector<std::string>& files) {
    const auto begin = std::chrono::steady_clock::now();
    out.name = files.back();
    const launch::Result<std::vector<launch::Loaded>> steps =
        launch::load_all(files, options.arch, options.nvcc);
    if (!steps) return refuse_with(steps.error());
    for (const launch::Loaded& step : *steps)
        if (auto held = launch::lay_out(step.in.launch, step.in.kernel(), step.program); !held)
            return refuse_with(held.error());
    launch::Result<launch::State> made = launch::make_state(steps->front().in.launch);
    if (!made) return refuse_with(made.error());
    validate::Left left;
    left.state = std::move(*made);
    launch::State& state = left.state;
    described = launch::described(steps->front().in.launch, state.memory);
    const bool both = is_chosen("order") && may_repeat(*steps, state);
    const bool compares = !steps->front().in.launch.expectations.empty() && is_chosen("mapping");
    const std::optional<launch::State> first =
        options.orders != 0 || compares || both ? std::optional(state) : std::nullopt;
    bool ended = true;
    for (const launch::Loaded& step : *steps)
        if (ended = run_step(step, state); !ended) break;
    const auto goes_on = [&] { return out.refused.empty() && out.stopped.empty(); };
    if (options.orders != 0 && goes_on()) try_orders(*steps, *first);
    if (both && ended && retired <= max_repeated && goes_on()) try_schedules(*steps, *first, left);
    if (compares && (ended || left_its_buffers) && goes_on())
        compare(*steps, *first, state, !ended);
    std::ranges::stable_sort(out.findings, {}, gravity_of);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

CheckReport check_all(const CheckOptions& options, const std::vector<const check::CheckRow*>& rows,
                      const std::vector<std::vector<std::string>>& cases) {
    CheckReport report;
    for (const std::vector<std::string>& files : cases) {
        if (interrupted_now()) break;
        Runner runner{options, rows, {}, {}};
        runner.run(files);
        report.files.push_back(std::move(runner.out));
    }
    return report;
}

int status_of(const CheckReport& report) {
    if (interrupted_now()) return interrupted;
    if (std::ranges::any_of(report.files, [](const CheckedFile& f) { return !f.refused.empty(); }))
        return wrong_input;
    return counts_of(report).errors != 0 ? differs_or_trapped : done;
}

// To stdout, or the report to its file and the answer to stdout.
int write_report(const CheckOptions& options, const CheckReport& report) {
    const auto format = std::ranges::find(check_formats(), options.format, &CheckFormat::name);
    const std::string text = format->write(report);
    if (options.output.empty()) {
        fmt::print("{}", text);
    } else {
        if (auto written = launch::write_text(options.output, text); !written)
            return refuse(written.error());
        fmt::print("{}\n", check_answer(report));
        if (counts_of(report).errors != 0) fmt::print("{}\n", check_counts(report));
    }
    if (std::fflush(stdout) != 0) return refuse("the output could not be written");
    return status_of(report);
}

}  // namespace

void add_check(CLI::App& app, int& status) {
    const auto shared = std::make_shared<CheckOptions>();
    CheckOptions& o = *shared;
    CLI::App* check = app.add_subcommand(
        "check", "Run launch files on the emulator and say what is wrong with the program");
    check
        ->add_option("FILES", o.files,
                     "launch files, or patterns of their names; or a source (.ptx, .cu) and a "
                     "launch file: the source takes the place of the one that it names")
        ->required();
    add_nvcc_options(*check, o.nvcc);
    check->add_option("--check", o.check, checks_help())->type_name("NAMES");
    check->add_option("--format", o.format, format_names() + " (default: text)")
        ->type_name("FORMAT");
    check->add_option("--output", o.output, "write the report to a file, and the answer to stdout")
        ->type_name("FILE");
    check
        ->add_option("--suppress", o.suppress,
                     "what is known and meant, a line each: CHECK[/KIND] [FILE[:LINE]], of the PTX "
                     "or its source; '#' begins a comment")
        ->type_name("FILE");
    check->add_option("--arch", o.arch, "the machine to model (default: the launch file's)")
        ->type_name("ARCH");
    check
        ->add_option("--max-steps", o.max_steps,
                     "trap when a warp has retired N instructions (default: no limit)")
        ->type_name("N")
        ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
    check->add_option("--threads", o.threads, "cores to use (default: all)")
        ->type_name("N")
        ->check(CLI::Range(1u, 1024u));
    add_order_options(*check, o.order, o.orders);
    check->callback([shared, &status] { status = check_command(*shared); });
}

int check_command(const CheckOptions& options) {
    const check::Chosen chosen = check::choose(options.check);
    if (!chosen.wrong.empty())
        return refuse(fmt::format("--check {}: {}", options.check, chosen.wrong));
    if (chosen.rows.empty()) return refuse("--check: which?");
    if (std::ranges::find(check_formats(), options.format, &CheckFormat::name) ==
        check_formats().end())
        return refuse(fmt::format("--format {}: there is no such format; there are {}",
                                  options.format, format_names()));
    std::vector<Suppression> suppressions;
    if (!options.suppress.empty()) {
        const launch::Result<std::string> text =
            launch::read_text(options.suppress, max_suppressions);
        if (!text) return refuse(text.error());
        launch::Result<std::vector<Suppression>> parsed =
            parse_suppressions(*text, options.suppress);
        if (!parsed) return refuse(parsed.error());
        suppressions = std::move(*parsed);
    }
    if (!options.output.empty())
        if (auto held = check_output(options.output); !held) return refuse(held.error());
    const std::vector<std::string> files = expanded(options.files);
    std::vector<std::vector<std::string>> cases;
    if (files.size() == 2 && !files[0].ends_with(".json"))
        cases.push_back(files);
    else
        for (const std::string& f : files) cases.push_back({f});
    CheckReport report = check_all(options, chosen.rows, cases);
    suppress(report, suppressions);
    return write_report(options, report);
}

}  // namespace lockwarp::tools
