// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/calibrate_command.hpp"
#include "launch/files.hpp"
#include "lockwarp/version.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/progress.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/report.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"
#include "validate/modelled.hpp"

namespace lockwarp::tools {

namespace {

constexpr unsigned times = 3;  // runs, of which the shortest counts

constexpr std::string_view calibrate_help =
    "Each probe is a kernel of one CTA that reads the clock, runs one kind of instruction and "
    "reads\n"
    "the clock again; the value of a row is the cycles of one instruction of a warp. latency: one\n"
    "chain of dependent instructions, one warp; interval: from one instruction to the next on one "
    "of\n"
    "the four sub-cores.";

std::string first_line(const std::string& text) {
    std::string line = text.substr(0, text.find('\n'));
    if (line.size() > 60) line.resize(60);
    for (char& c : line)
        if (c < ' ' || c > '~') c = '?';
    return line;
}

// "ldmatrix.x4 stride128 latency" -> "ldmatrix.x4_stride128_latency.ptx"
std::string file_name(const std::string& key) {
    std::string name = key;
    for (char& c : name)
        if (c == ' ' || c == '>' || c == ':' || c == '+') c = '_';
    return name + ".ptx";
}

launch::Result<void> write_kernels(const std::vector<programs::Probe>& probes,
                                   const std::string& folder) {
    if (launch::Result<void> made = launch::make_folder(folder); !made) return made;
    launch::Outputs outputs;
    for (const programs::Probe& p : probes) {
        const std::string path = (std::filesystem::path(folder) / file_name(p.key)).string();
        if (launch::Result<void> added = outputs.add(path, std::string_view(p.ptx)); !added)
            return added;
    }
    return outputs.commit();
}

launch::Result<Engines> open_engines(const CalibrateCommand& command, isa::Arch arch) {
    if (!command.emulator) return open_gpus(command.engine, 1);
    Engines out;
    out.arch = arch;
    out.all.push_back(std::make_unique<validate::EmulatorEngine>(arch, false, 1));
    return out;
}

std::string cycles(double n, int digits) { return n < 0 ? "-" : fmt::format("{:.{}f}", n, digits); }

int against(const CalibrateCommand& o, isa::Arch arch) {
    const launch::Result<std::string> text = launch::read_text(o.against, uint64_t{1} << 26);
    if (!text) return refuse(text.error());
    const launch::Result<validate::Probes> read = validate::read_probes(*text);
    if (!read) return refuse(o.against + ": " + read.error().sentence);
    const validate::Probes& measured = *read;
    const timing::Machine* const machine = timing::machine_of(arch);
    if (machine == nullptr) return refuse("that architecture has no cycle model");
    validate::Comparison c = validate::compare_probes(measured, *machine, o.only);
    if (c.rows.empty()) return refuse("nothing to compare: no row of the file is a probe here");
    fmt::print("mean error {:.1f}% over {} values: the model of {} beside {}\n", 100 * c.mean_error,
               c.rows.size(), machine->name, measured.device.name);
    std::ranges::stable_sort(c.rows, [](const auto& a, const auto& b) {
        return std::abs(a.error()) > std::abs(b.error());
    });
    fmt::print("{:<60} {:>5} {:>9} {:>9} {:>8}\n", "worst rows", "warps", "measured", "model", "");
    for (size_t i = 0; i < std::min<size_t>(o.lines, c.rows.size()); ++i)
        fmt::print("{:<60} {:>5} {:>9.2f} {:>9.2f} {:>+7.1f}%\n", c.rows[i].key, c.rows[i].warps,
                   c.rows[i].measured, c.rows[i].modelled, 100 * c.rows[i].error());
    for (const std::string& key : c.left_out) fmt::print("left out: {}\n", key);
    return done;
}

}  // namespace

void add_calibrate(CLI::App& app, int& status) {
    const auto shared = std::make_shared<CalibrateCommand>();
    CalibrateCommand& o = *shared;
    CLI::App* calibrate =
        app.add_subcommand("calibrate", "Measure how many cycles instructions take on a GPU");
    calibrate
        ->add_option("--only", o.only,
                     "these probes: the beginnings of their keys, mma,ldmatrix.x4")
        ->type_name("KEYS")
        ->delimiter(',')
        ->allow_extra_args(false);
    calibrate
        ->add_option("--warps", o.warps, "with so many warps, of those that a probe has: 1,4,32")
        ->type_name("LIST")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1u, 32u));
    calibrate->add_option("--out", o.out, "write the rows as JSON")->type_name("FILE");
    calibrate->add_option("--ptx", o.ptx, "write the kernels, each to a file; measure nothing")
        ->type_name("DIR");
    calibrate
        ->add_option("--arch", o.arch,
                     "of --list, --ptx and --emulator: this architecture (default: sm_90)")
        ->type_name("ARCH");
    calibrate->add_flag("--list", o.list, "print the keys and the numbers of warps");
    calibrate->add_flag("--emulator", o.emulator,
                        "without a GPU: the kernels on the emulator, by its own clock");
    calibrate
        ->add_option("--against", o.against,
                     "hold the model of --arch against rows that --out wrote; measure nothing")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    calibrate->add_option("--lines", o.lines, "of --against: rows to list, the worst first")
        ->type_name("N")
        ->capture_default_str();
    add_engine_options(*calibrate, o.engine);
    calibrate->footer(std::string(calibrate_help));
    calibrate->callback([shared, &status] { status = calibrate_command(*shared); });
}

std::string calibrate_text(const validate::Probes& measured,
                           const std::vector<FailedProbe>& failed) {
    size_t values = 0;
    for (const auto& [key, row] : measured.rows) values += row.size();
    std::string out = fmt::format("{}: {} rows of {} values{}\n",
                                  values == 0 ? "FAILED" : "measured", measured.rows.size(), values,
                                  failed.empty() ? "" : fmt::format("; {} failed", failed.size()));
    out += validate::device_text(measured.device) + "\n";
    out += fmt::format("{:<70} {:>9} {:>9}\n", "cycles", "latency", "interval");
    const auto summary = validate::summarize(measured);
    for (const bool mma : {true, false})
        for (const auto& [name, s] : summary)
            if (name.starts_with("mma") == mma)
                out += fmt::format("{:<70} {:>9} {:>9}\n", name, cycles(s.latency, 1),
                                   cycles(s.interval, 2));
    for (const FailedProbe& f : failed)
        out += fmt::format("failed: {}\n  {}\n", f.key, first_line(f.why));
    return out;
}

namespace {

// --list and --ptx: what would run, without a GPU.
int show_probes(const CalibrateCommand& command, isa::Arch arch) {
    const std::vector<programs::Probe> probes = programs::clock_probes(arch, command.only);
    if (probes.empty()) return refuse("--only: no probe's key begins so");
    if (command.list)
        for (const programs::Probe& p : probes)
            fmt::print("{}  {}\n", p.key, fmt::join(p.warps, ","));
    if (command.ptx.empty()) return done;
    const launch::Result<void> written = write_kernels(probes, command.ptx);
    return written ? done : refuse(written.error());
}

validate::Probes run_probes(const CalibrateCommand& command,
                            const std::vector<programs::Probe>& probes, gpu::Engine& engine,
                            std::vector<FailedProbe>& failed) {
    validate::Probes measured;
    measured.version = version;
    measured.date = today();
    measured.device = engine.device();
    std::atomic<uint64_t> ended{0};
    const Progress progress(ended, probes.size(), "probes");
    validate::ProbeMemory memory;
    for (const programs::Probe& p : probes) {
        for (const unsigned warps : p.warps) {
            if (!command.warps.empty() &&
                std::ranges::find(command.warps, warps) == command.warps.end())
                continue;
            if (interrupted_now()) return measured;
            const launch::Result<double> cycles =
                validate::measure(engine, p, warps, times, command.engine.optimization, memory);
            if (!cycles) {
                // A refused kernel is refused with any number of warps.
                failed.push_back(
                    {fmt::format("{}, {} warps", p.key, warps), cycles.error().sentence});
                break;
            }
            measured.rows[p.key][warps] = *cycles;
        }
        ++ended;
    }
    return measured;
}

}  // namespace

int calibrate_command(const CalibrateCommand& command) {
    isa::Arch arch = isa::default_arch;
    if (!command.arch.empty()) {
        const std::optional<isa::Arch> named = isa::arch_named(command.arch);
        if (!named) return refuse("--arch " + command.arch + " is not modelled");
        arch = *named;
    }
    if (!command.against.empty()) return against(command, arch);
    if (command.list || !command.ptx.empty()) return show_probes(command, arch);
    for (const std::string& only : command.only)
        if (std::ranges::all_of(isa::arch_rows, [&](const isa::ArchRow& a) {
                return programs::clock_probes(a.arch, {only}).empty();
            }))
            return refuse("--only " + only + ": no probe's key begins so");
    const launch::Result<Engines> engines = open_engines(command, arch);
    if (!engines) return refuse(engines.error());
    if (engines->all.empty()) {
        spdlog::error("calibrate needs a GPU: {}", engines->no_gpu);
        return no_gpu;
    }
    const std::vector<programs::Probe> probes = programs::clock_probes(engines->arch, command.only);
    if (probes.empty()) return refuse("this machine has none of these instructions");
    std::vector<FailedProbe> failed;
    const validate::Probes measured = run_probes(command, probes, *engines->all[0], failed);
    if (interrupted_now()) return interrupted;
    if (!command.out.empty()) {
        const launch::Result<void> written =
            launch::write_text(command.out, validate::probes_json(measured));
        if (!written) return refuse(written.error());
    }
    fmt::print("{}", calibrate_text(measured, failed));
    return measured.rows.empty() ? differs_or_trapped : done;
}

}  // namespace lockwarp::tools
