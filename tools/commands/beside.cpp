// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/beside.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/commands/program.hpp"
#include "tools/exit_status.hpp"
#include "tools/report/failure.hpp"

namespace lockwarp::tools {

namespace {

namespace fs = std::filesystem;

// As programs find it: the loader's.
std::string path_of_driver() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return {};
    const link_map* map = nullptr;
    std::string path;
    if (::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) path = map->l_name;
    ::dlclose(library);
    return path;
}

void count(const std::string& report, BesideRun& out) {
    std::ifstream lines(report);
    for (std::string line; std::getline(lines, line);) {
        out.identical += line == "identical" || line == "fused" ? 1 : 0;
        out.fused += line == "fused" ? 1 : 0;
        out.different += line == "differs" ? 1 : 0;
        out.captured += line == "captured" ? 1 : 0;
        out.left_out += line == "not compared" ? 1 : 0;
    }
}

std::string launches(size_t n) { return fmt::format("{} {}", n, n == 1 ? "launch" : "launches"); }

std::string answer_of(const BesideOptions& o, const BesideRun& b) {
    const size_t differing = b.different - b.ordered, same = b.identical + b.ordered;
    std::string out =
        !o.validates     ? "captured: " + launches(b.captured) + (o.keeps ? " in " + o.out : "")
        : differing != 0 ? fmt::format("DIFFERS: {} of {}", differing, launches(differing + same))
        : same != 0      ? "identical: " + launches(same)
                         : "no launch was compared";
    if (b.ordered != 0)
        out += fmt::format("; {} in the GPU's order of {} threads", b.ordered,
                           b.ordered == 1 ? "its" : "their");
    if (b.fused != 0)
        out += fmt::format("; {} where mul and add without a rounding are not fused", b.fused);
    if (b.left_out != 0) out += fmt::format("; {} left out", b.left_out);
    return out + "\n";
}

void prepare(const BesideOptions& o, const fs::path& folder, const std::string& driver,
             const std::string& report) {
    put_before("LD_LIBRARY_PATH", folder.string());
    if (o.keep_ptx) preload_ptxas(folder.parent_path());
    const auto set = [](const char* variable, const std::string& value) {
        ::setenv(variable, value.c_str(), 1);
    };
    set("LOCKWARP_BESIDE", o.validates ? "validate" : "capture");
    set("LOCKWARP_BESIDE_DRIVER", driver);
    set("LOCKWARP_BESIDE_OUT", o.out.empty() ? "" : fs::absolute(o.out).string());
    set("LOCKWARP_BESIDE_KEPT", std::to_string(o.kept_megabytes << 20));
    set("LOCKWARP_BESIDE_KERNEL", o.kernel);
    set("LOCKWARP_BESIDE_LAUNCH", std::to_string(o.launch));
    set("LOCKWARP_BESIDE_LIMIT", std::to_string(o.megabytes << 20));
    set("LOCKWARP_BESIDE_REPORT", report);
}

}  // namespace

void add_beside_options(CLI::App& command, BesideOptions& o) {
    command.add_option("--kernel", o.kernel, "only kernels with this in their names")
        ->type_name("NAME");
    command.add_option("--launch", o.launch, "only this launch, counted from 1")->type_name("N");
    command
        .add_option("--max-memory", o.megabytes, "leave launches out that reach more memory (1024)")
        ->type_name("MB")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
    add_keep_ptx(command, o.keep_ptx);
    command
        .add_option("--driver", o.driver, "the GPU's libcuda.so.1 (default: as programs find it)")
        ->type_name("FILE");
}

BesideRun run_beside_gpu(const BesideOptions& o) {
    BesideRun out;
    out.status = wrong_input;
    const auto refused = [&](const std::string& why) {
        out.status = refuse(why);
        return out;
    };
    const fs::path folder = library_folder() / "beside";
    std::error_code error;
    if (!fs::exists(folder / "libcuda.so.1", error))
        return refused("no beside/libcuda.so.1 beside lockwarp");
    const std::string driver =
        o.driver.empty() ? path_of_driver() : fs::absolute(o.driver).string();
    if (driver.empty()) {
        fmt::print(stderr, "no libcuda.so.1: a GPU and its driver are needed\n");
        out.status = no_gpu;
        return out;
    }
    if (!o.out.empty() && !fs::create_directories(o.out, error) && error)
        return refused(fmt::format("{}: {}", o.out, error.message()));
    std::string report = (fs::temp_directory_path() / "lockwarp-beside-XXXXXX").string();
    const int file = ::mkstemp(report.data());
    if (file < 0) return refused(fmt::format("{}: {}", report, std::strerror(errno)));
    ::close(file);
    prepare(o, folder, driver, report);
    out.status = run_program(o.words);
    out.began = true;
    count(report, out);
    fs::remove(report, error);
    return out;
}

int end_beside_gpu(const BesideOptions& o, const BesideRun& b) {
    if (!b.began) return b.status;
    fmt::print(stderr, "{}", answer_of(o, b));
    if (b.status != done) return b.status;
    if (b.different != b.ordered) return differs_or_trapped;
    return b.identical + b.ordered + b.captured != 0 ? done : wrong_input;
}

}  // namespace lockwarp::tools
