// SPDX-License-Identifier: Apache-2.0
// lockwarp exec: a program in place of this one, with a driver for CUDA that runs its kernels on
// the emulator. Nothing is left behind: the environment is that process's alone.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "emu/isa/arch.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/lanes_command.hpp"
#include "tools/cuda_runtime.hpp"
#include "tools/exit_status.hpp"

namespace lockwarp::tools {

namespace {

namespace fs = std::filesystem;

struct ExecCommand {
    std::string arch = "sm_80";
    std::vector<std::string> words;  // the program and its arguments
};

constexpr std::string_view library_name = "libcuda.so.1";

// The folder of the stand-in driver: beside the built program, or where both are installed.
fs::path library_folder() {
    std::error_code ignored;
    const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const char* const from_program : {"lib/lockwarp", LOCKWARP_CUDA_FOLDER}) {
        const fs::path folder = (own / from_program).lexically_normal();
        if (fs::exists(folder / library_name, ignored)) return folder;
    }
    return {};
}

// As execvp finds it; empty where there is none.
fs::path program_file(const std::string& name) {
    std::error_code ignored;
    if (name.find('/') != std::string::npos) return name;
    const char* const path = std::getenv("PATH");
    const std::string folders = path != nullptr ? path : "/usr/bin:/bin";
    for (size_t at = 0; at <= folders.size();) {
        const size_t end = std::min(folders.find(':', at), folders.size());
        const fs::path file = fs::path(folders.substr(at, end - at)) / name;
        if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, ignored)) return file;
        at = end + 1;
    }
    return {};
}

int refuse(const std::string& why) {
    spdlog::error("{}", why);
    return wrong_input;
}

int exec_program(const ExecCommand& c) {
    if (!isa::arch_named(c.arch)) return refuse(unknown_architecture(c.arch));
    const fs::path folder = library_folder();
    if (folder.empty()) return refuse(fmt::format("no {} beside lockwarp", library_name));
    const std::string& name = c.words.front();
    const fs::path file = program_file(name);
    if (const std::string found = cuda_runtime_in_file(file); !found.empty())
        return refuse(
            fmt::format("{} holds CUDA's own runtime ({}), whose kernels cannot run here: programs "
                        "of the driver API can",
                        name, found));
    const char* const before = std::getenv("LD_LIBRARY_PATH");
    const std::string path =
        folder.string() + (before != nullptr && *before != 0 ? ":" + std::string(before) : "");
    ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
    ::setenv("LOCKWARP_ARCH", c.arch.c_str(), 1);
    std::signal(SIGPIPE, SIG_DFL);
    std::vector<char*> words;
    for (const std::string& word : c.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    return refuse(fmt::format("{}: {}", name, std::strerror(errno)));
}

}  // namespace

void add_exec(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ExecCommand>();
    CLI::App* exec = app.add_subcommand(
        "exec", "Run a program of CUDA's driver API with its kernels on the emulator");
    exec->add_option("--arch", shared->arch, "the GPU that the program finds (default: sm_80)")
        ->type_name("ARCH");
    exec->add_option("PROGRAM", shared->words, "behind --: the program and its arguments")
        ->required();
    exec->positionals_at_end();
    exec->callback([shared, &status] { status = exec_program(*shared); });
}

}  // namespace lockwarp::tools
