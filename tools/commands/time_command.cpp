// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/time_command.hpp"
#include "tools/nvcc_options.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <cstdio>
#include <memory>

#include "emu/warp/cluster.hpp"
#include "launch/state.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/report.hpp"
#include "tools/report/report_options.hpp"
#include "tools/report/time_report.hpp"
#include "validate/clocks.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

constexpr uint64_t max_items = 20'000'000;
constexpr uint64_t max_events = 2'000'000;

std::string names_of_machines() {
    std::string out;
    for (const timing::Machine& m : timing::machines())
        out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", m.name, isa::row(m.arch).name);
    return out;
}

// The cycle model that is named, or that of the machine that the launch file is for.
launch::Result<const timing::Machine*> choose_machine(const std::string& name,
                                                      const launch::Input& in) {
    const timing::Machine* const machine = name.empty() ? nullptr : timing::machine_named(name);
    if (!name.empty() && machine == nullptr)
        return launch::failure("\"" + name +
                               "\" has no cycle model; these have one: " + names_of_machines());
    if (machine != nullptr) return machine;
    const launch::Result<isa::Arch> arch = launch::choose_arch(in, "");
    if (!arch) return tl::unexpected(arch.error());
    if (const timing::Machine* const of_arch = timing::machine_of(*arch)) return of_arch;
    return launch::failure(fmt::format("{} has no cycle model; --arch takes: {}",
                                       isa::row(*arch).name, names_of_machines()));
}

// What the launches before this one leave.
launch::Result<launch::State> state_before(const std::vector<launch::Input>& all, size_t number,
                                           isa::Arch arch) {
    launch::Result<launch::State> state = launch::make_state(all[number].launch);
    for (size_t i = 0; state && i < number; ++i) {
        const launch::Result<isa::Program> program = launch::resolve(all[i], arch);
        if (!program) return tl::unexpected(program.error());
        launch::Result<void> ran = launch::advance(*state, all[i], *program, &interrupt_flag());
        if (!ran) return launch::failure(ran);
    }
    return state;
}

// The CTAs that one multiprocessor has, as they are run: whole clusters, of each of which the first
// CTA is its.
struct Portion {
    uint64_t slab = 1;    // CTAs side by side that are of whole clusters
    uint64_t stride = 1;  // from one of its CTAs to the next
    uint64_t share = 0;   // CTAs that run
};

// Runs all CTAs, or those of one multiprocessor.
warp::Result listen(const TimeCommand& o, const Timed& t, const launch::State& state,
                    warp::Launch launch, timing::Listener& listener, const Portion& part) {
    std::atomic<uint64_t> ended{0}, retired{0};
    std::vector<uint8_t> variables = launch::variables_before(state, t.in, *t.program);
    launch.variables = &variables;
    launch.observers = {&listener};
    launch.progress = &ended;
    launch.retired = &retired;
    launch.stop = &interrupt_flag();
    const Progress progress(ended, part.share, retired);
    if (o.all) return exec::launch(*t.program, launch);
    warp::Result result;
    const uint64_t ctas = launch.grid.count();
    for (uint64_t cta = 0; cta < ctas; cta += part.stride) {
        launch.first_cta = cta;
        launch.ctas = part.slab;
        variables = launch::variables_before(state, t.in, *t.program);
        result = exec::launch(*t.program, launch);
        if (result.refusal || result.trap || listener.full()) break;
    }
    return result;
}

// done, or the exit status with what was wrong said.
int say_end(const Timed& t, const warp::Result& result, uint64_t share) {
    if (result.refusal) return refuse(t.in.launch.path + ": " + result.refusal->what);
    if (!result.trap) return done;
    const bool was_stopped = result.trap->kind == warp::TrapKind::stopped;
    fmt::print("{}", was_stopped ? stopped_report(t.in, *t.program, result, share)
                                 : trap_report(t.in, *t.program, *result.trap));
    return was_stopped ? interrupted : differs_or_trapped;
}

// done, or the exit status with everything said.
int time_one(const TimeCommand& o, const std::string& name, uint64_t events, uint64_t from,
             Timed& t) {
    launch::Result<std::vector<launch::Input>> all = launch::read_inputs(o.files, {}, o.nvcc);
    if (!all) return refuse(all.error());
    if (o.launch > all->size() || (o.launch == 0 && all->size() > 1))
        return refuse(fmt::format("{}: it has {} launches: choose one with --launch 1 to {}",
                                  o.files.back(), all->size(), all->size()));
    const size_t number = o.launch == 0 ? 0 : o.launch - 1;
    t.in = (*all)[number];
    const launch::Result<const timing::Machine*> machine = choose_machine(name, t.in);
    if (!machine) return refuse(machine.error());
    const isa::Arch arch = (*machine)->arch;
    launch::Result<isa::Program> program = launch::resolve(t.in, arch);
    if (!program) return refuse(program.error());
    t.program = std::make_unique<isa::Program>(std::move(*program));
    launch::Result<launch::State> state = state_before(*all, number, arch);
    if (!state) return refuse(state.error());
    launch::Result<warp::Launch> prepared =
        launch::make_launch(t.in.launch, t.in.kernel(), *t.program, state->memory);
    if (!prepared) return refuse(prepared.error());
    t.block_threads = prepared->block.count();
    if (prepared->cooperative)
        return refuse(t.in.launch.path +
                      ": the cycle model has no CTAs that wait for each other (cooperative)");
    t.sources = ptx::source_map(t.in.module);
    t.lowering = timing::lower(*t.program, **machine);
    if (std::string why = warp::cluster_refusal(*t.program, prepared->grid, prepared->cluster,
                                                prepared->non_portable_cluster);
        !why.empty())
        return refuse(t.in.launch.path + ": " + why);
    Portion part;
    part.slab = warp::clusters_of(*t.program, prepared->grid, prepared->cluster).slab();
    part.stride = ((*machine)->sms + part.slab - 1) / part.slab * part.slab;
    timing::Listener listener(t.lowering, part.stride, max_items, o.cold);
    const uint64_t ctas = prepared->grid.count();
    part.share = o.all ? ctas : (ctas + part.stride - 1) / part.stride * part.slab;
    const warp::Result result = listen(o, t, *state, *prepared, listener, part);
    if (const int status = say_end(t, result, part.share); status != done) return status;
    timing::Options options;
    options.registers = o.registers;
    options.events = events;
    options.from_cycle = from;
    t.report = timing::simulate(t.lowering, *prepared, listener, options);
    if (t.report.cut)
        spdlog::warn(
            "the run is longer than the model keeps: the first {} instructions of warps "
            "are timed",
            max_items);
    return done;
}

// A measured launch beside its prediction.
struct PointBeside {
    Point point;
    uint64_t ctas = 0;  // of an SM
    double error() const { return point.predicted / point.measured - 1; }
};

// Pairs of points that differ by more than this share are expected in the measured order.
constexpr double clear_difference = 0.15;

int against(const TimeCommand& o) {
    const launch::Result<std::string> text = launch::read_text(o.against, uint64_t{1} << 26);
    if (!text) return refuse(text.error());
    const launch::Result<validate::Clocks> read = validate::read_clocks(*text);
    if (!read) return refuse(o.against + ": " + read.error().sentence);
    const validate::Clocks& clocks = *read;
    std::vector<PointBeside> all;
    for (const validate::ClockPoint& p : clocks.points) {
        TimeCommand one = o;
        one.files = {p.launch};
        Timed t;
        if (const int status = time_one(one, o.arch.empty() ? clocks.arch : o.arch, 0, 0, t);
            status != done)
            return status;
        all.push_back({{p.name, static_cast<double>(t.report.sm_cycles), p.sm_cycles}, p.sm_ctas});
    }
    if (all.empty()) return refuse(o.against + ": it has no points");
    double sum = 0;
    for (const PointBeside& p : all) sum += std::abs(p.error());
    size_t pairs = 0, right = 0;
    std::string wrong_pairs;
    for (const PointBeside& a : all)
        for (const PointBeside& b : all) {
            if (a.point.measured <= b.point.measured * (1 + clear_difference)) continue;
            ++pairs;
            if (a.point.predicted > b.point.predicted)
                ++right;
            else
                wrong_pairs += fmt::format("  {} over {}\n", a.point.name, b.point.name);
        }
    std::string out = fmt::format(
        "mean error {:.1f}% over {} launches; order right in {} of {} pairs that differ by over "
        "15%\n",
        100 * sum / static_cast<double>(all.size()), all.size(), validate::grouped(right),
        validate::grouped(pairs));
    out += fmt::format("{}, {}, driver {}, {} MHz, {}; cycles of an SM\n", clocks.device,
                       clocks.arch, clocks.driver, clocks.mhz, clocks.date);
    out += fmt::format("{:<44} {:>12} {:>10} {:>10} {:>8}\n", "launch", "CTAs of an SM", "measured",
                       "predicted", "");
    for (const PointBeside& p : all)
        out += fmt::format("{:<44} {:>12} {:>10.0f} {:>10.0f} {:>+7.1f}%\n", p.point.name, p.ctas,
                           p.point.measured, p.point.predicted, 100 * p.error());
    if (!wrong_pairs.empty()) out += "in the wrong order:\n" + wrong_pairs;
    if (!o.scatter.empty()) {
        std::vector<Point> points;
        for (const PointBeside& p : all) points.push_back(p.point);
        const std::string title =
            fmt::format("Cycles of an SM: the model beside {}, {}", clocks.device, clocks.date);
        const launch::Result<void> written =
            launch::write_text(o.scatter, scatter_svg(points, title));
        if (!written) return refuse(written.error());
    }
    fmt::print("{}", out);
    return done;
}

// "3" or "sub-core:1".
bool parse_window(const TimeCommand& o, Window& w) {
    std::string_view text = o.timeline;
    constexpr std::string_view prefix = "sub-core:";
    w.sub_core = text.starts_with(prefix);
    if (w.sub_core) text.remove_prefix(prefix.size());
    if (text.empty() || text.size() > 4) return false;
    for (const char c : text) {
        if (c < '0' || c > '9') return false;
        w.number = 10 * w.number + static_cast<unsigned>(c - '0');
    }
    w.from = o.from;
    w.cycles = o.cycles;
    return !w.sub_core || w.number < timing::sub_cores;
}

}  // namespace

void add_time(CLI::App& app, int& status) {
    const auto shared = std::make_shared<TimeCommand>();
    TimeCommand& o = *shared;
    CLI::App* time =
        app.add_subcommand("time", "About how many cycles a launch takes, where they go, and why");
    time->add_option("FILES", o.files,
                     "LAUNCH.json, or a source (.ptx, .cu) and a launch file, as for run")
        ->expected(1, 2);
    add_nvcc_options(*time, o.nvcc);
    time->add_option("--launch", o.launch,
                     "which of the launches of a file that has several (default: its only one)")
        ->type_name("N")
        ->check(CLI::Range(1u, 10000u));
    time->add_option("--arch", o.arch,
                     "architecture (its first product) or product (default: the launch file's, "
                     "else the PTX's target): " +
                         names_of_machines())
        ->type_name("NAME");
    time->add_option("--compare", o.compare, "architectures or products side by side: sm_80,sm_90")
        ->delimiter(',')
        ->type_name("NAMES");
    time->add_option("--lines", o.lines, "instructions to list, those that wait longest first")
        ->type_name("N")
        ->capture_default_str();
    time->add_option("--timeline", o.timeline,
                     "a row an instruction, a column a cycle, of a warp (0, 1, ...) or of a "
                     "sub-core (sub-core:0 to 3)")
        ->type_name("WHICH");
    time->add_option("--from", o.from, "the timeline's first cycle")
        ->type_name("CYCLE")
        ->capture_default_str();
    time->add_option("--cycles", o.cycles, "the timeline's cycles")
        ->type_name("N")
        ->check(CLI::Range(1u, 1000000u))
        ->capture_default_str();
    time->add_option("--trace", o.trace, "write every instruction and wait for Perfetto")
        ->type_name("FILE");
    time->add_option("--svg", o.svg, "write a picture of the pipes' use over time")
        ->type_name("FILE");
    time->add_flag("--json", o.json, "everything, as JSON");
    time->add_option("--registers", o.registers,
                     "of a thread, as the assembler says (default: what lives at once in the PTX, "
                     "and 16)")
        ->type_name("N")
        ->check(CLI::Range(1u, 255u));
    time->add_option(
            "--against", o.against,
            "hold the model against cycles that lockwarp measure wrote to FILE; the launch "
            "files are those it names")
        ->type_name("FILE");
    time->add_option("--scatter", o.scatter, "of --against: write a picture")->type_name("FILE");
    time->add_flag("--cold", o.cold, "what is read first comes from DRAM (default: from L2)");
    time->add_flag("--all", o.all,
                   "run every CTA, not only those that one SM has: for kernels whose CTAs wait "
                   "for each other");
    time->callback([shared, &status] { status = time_command(*shared); });
}

int time_command(const TimeCommand& o) {
    if (!o.against.empty() && !o.files.empty())
        return refuse("--against names its launch files itself");
    if (!o.against.empty()) return against(o);
    if (o.files.empty()) return refuse("time: give a launch file");
    Window window;
    if (!o.timeline.empty() && !parse_window(o, window))
        return refuse("--timeline \"" + o.timeline + "\": a warp such as 0, or sub-core:0 to 3");
    if (!o.compare.empty()) {
        if (!o.arch.empty() || !o.timeline.empty() || !o.trace.empty() || !o.svg.empty() || o.json)
            return refuse("--compare stands alone");
        std::vector<Timed> all(o.compare.size());
        for (size_t i = 0; i < all.size(); ++i)
            if (const int status = time_one(o, o.compare[i], 0, 0, all[i]); status != done)
                return status;
        fmt::print("{}", compare_text(all));
        return done;
    }
    for (const std::string& path : {o.trace, o.svg})
        if (!path.empty())
            if (const launch::Result<void> held = check_output(path); !held)
                return refuse(held.error());
    Timed t;
    const bool events = !o.timeline.empty() || !o.trace.empty();
    // A wait that reaches into the window began before it.
    const uint64_t from = o.trace.empty() && o.from > 2000 ? o.from - 2000 : 0;
    if (const int status = time_one(o, o.arch, events ? max_events : 0, from, t); status != done)
        return status;
    const uint64_t warps = t.report.simulated * ((t.block_threads + 31) / 32);
    if (!o.timeline.empty() && !window.sub_core && window.number >= warps)
        return refuse(
            fmt::format("--timeline {}: the model ran warps 0 to {}", window.number, warps - 1));
    launch::Outputs outputs;
    launch::Result<void> written;
    if (!o.trace.empty()) written = outputs.add(o.trace, trace_json(t));
    if (written && !o.svg.empty()) written = outputs.add(o.svg, use_svg(t));
    if (written) written = outputs.commit();
    if (!written) return refuse(written.error());
    fmt::print("{}", o.json                ? time_json(t)
                     : !o.timeline.empty() ? timeline_text(t, window)
                                           : time_text(t, o.lines));
    return done;
}

}  // namespace lockwarp::tools
