// SPDX-License-Identifier: Apache-2.0
// lockwarp exec: a program in place of this one, with a driver and a runtime for CUDA that run its
// kernels on the emulator. Nothing is left behind: the environment is that process's alone.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "emu/check/check.hpp"
#include "emu/isa/arch.hpp"
#include "launch/files.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/lanes_command.hpp"
#include "tools/commands/program.hpp"
#include "tools/exit_status.hpp"
#include "tools/order_options.hpp"
#include "tools/report/exec_report.hpp"
#include "tools/report/failure.hpp"

namespace lockwarp::tools {

namespace {

namespace fs = std::filesystem;

struct ExecCommand {
    std::string arch = "sm_80";
    int devices = 1;
    std::optional<uint64_t> order;
    std::optional<double> patience;  // seconds
    std::string async = "early";     // or "late"
    std::string check;               // names of checks; empty: none
    bool time = false;
    bool keep_ptx = false;
    std::string record;              // a folder; empty: none
    std::string junit;               // a file; empty: none
    std::vector<std::string> words;  // the program and its arguments
};

constexpr std::string_view start_name = "liblockwarp_start.so";

// The environment of the program.
void prepare(const ExecCommand& c, const fs::path& folder, const std::string& report) {
    put_before("LD_LIBRARY_PATH", folder.string());
    if (c.keep_ptx) preload_ptxas(folder);
    put_before("LD_PRELOAD", (folder / start_name).string());
    ::setenv("LOCKWARP_ARCH", c.arch.c_str(), 1);
    ::setenv("LOCKWARP_DEVICES", std::to_string(c.devices).c_str(), 1);
    const auto set = [](const char* variable, const std::string& value) {
        if (!value.empty()) ::setenv(variable, value.c_str(), 1);
    };
    set("LOCKWARP_EXEC_CHECK", c.check);
    set("LOCKWARP_EXEC_ORDER", c.order ? std::to_string(*c.order) : "");
    set("LOCKWARP_EXEC_PATIENCE", c.patience ? fmt::format("{}", *c.patience) : "");
    set("LOCKWARP_EXEC_ASYNC", c.async == "late" ? c.async : "");
    set("LOCKWARP_EXEC_TIME", c.time ? "1" : "");
    set("LOCKWARP_EXEC_RECORD", c.record.empty() ? "" : fs::absolute(c.record).string());
    set("LOCKWARP_EXEC_REPORT", report);
}

int exec_program(const ExecCommand& c) {
    if (!isa::arch_named(c.arch)) return refuse(unknown_architecture(c.arch));
    const fs::path folder = library_folder();
    if (folder.empty()) return refuse("no libcuda.so.1 beside lockwarp");
    if (!c.check.empty())
        if (const std::string wrong = check::choose(c.check).wrong; !wrong.empty())
            return refuse(wrong);
    if (c.async == "late" && (!c.check.empty() || c.time))
        return refuse("--async late: --check and --time are of the early schedule");
    std::error_code error;
    if (!c.record.empty() && !fs::create_directories(c.record, error) && error)
        return refuse(fmt::format("{}: {}", c.record, error.message()));
    if (c.check.empty() && !c.time && c.junit.empty()) {
        prepare(c, folder, {});
        return become(c.words);
    }
    std::string report = (fs::temp_directory_path() / "lockwarp-exec-XXXXXX").string();
    const int file = ::mkstemp(report.data());
    if (file < 0) return refuse(fmt::format("{}: {}", report, std::strerror(errno)));
    ::close(file);
    prepare(c, folder, report);
    const int status = run_program(c.words);
    const ExecReport found = read_exec_report(report);
    fs::remove(report, error);
    if (c.time) fmt::print(stderr, "{}", exec_times(found));
    if (!c.junit.empty()) {
        const launch::Result<void> written = launch::write_text(c.junit, exec_junit(found));
        if (!written) return refuse(written.error());
    }
    if (status != done || (c.check.empty() && c.junit.empty())) return status;
    fmt::print(stderr, "{}", exec_answer(found));
    return is_clean(found) ? done : differs_or_trapped;
}

}  // namespace

void add_exec(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ExecCommand>();
    CLI::App* exec =
        app.add_subcommand("exec", "Run a CUDA program with its kernels on the emulator");
    exec->add_option("--arch", shared->arch, "the GPU that the program finds (default: sm_80)")
        ->type_name("ARCH");
    exec->add_option("--devices", shared->devices, "how many GPUs the program finds (default: 1)")
        ->type_name("N")
        ->check(CLI::Range(1, 16));
    exec->add_flag("--check{all}", shared->check,
                   "look for faults in each launch, as lockwarp check does; --check=NAMES, with "
                   "commas, chooses. The status is 1 where there are any");
    exec->add_flag("--time", shared->time,
                   "events have the time of the model of cycles; its sums at the end");
    exec->add_option("--order", shared->order,
                     "work of streams is done later, in another legal order for each seed")
        ->type_name("SEED");
    exec->add_option("--patience", shared->patience,
                     "how long a kernel that waits for memory is waited for while nothing changes "
                     "(default: 5)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e6));
    add_async_option(*exec, shared->async);
    add_keep_ptx(*exec, shared->keep_ptx);
    exec->add_option("--record", shared->record, "write a launch file of each launch")
        ->type_name("DIR");
    exec->add_option("--junit", shared->junit,
                     "write what was found as JUnit, a case for each kernel")
        ->type_name("FILE");
    exec->add_option("PROGRAM", shared->words, "behind --: the program and its arguments")
        ->required();
    exec->positionals_at_end();
    exec->callback([shared, &status] { status = exec_program(*shared); });
}

}  // namespace lockwarp::tools
