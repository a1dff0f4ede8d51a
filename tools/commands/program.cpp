// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/program.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "launch/unfinished.hpp"
#include "tools/address_space.hpp"
#include "tools/report/failure.hpp"

namespace lockwarp::tools {

namespace fs = std::filesystem;

fs::path library_folder() {
    std::error_code ignored;
    const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const char* const from_program : {"lib/lockwarp", LOCKWARP_CUDA_FOLDER}) {
        const fs::path folder = (own / from_program).lexically_normal();
        if (fs::exists(folder / "libcuda.so.1", ignored)) return folder;
    }
    return {};
}

void put_before(const char* variable, const std::string& value) {
    const char* const before = std::getenv(variable);
    const std::string rest = before != nullptr && *before != 0 ? ":" + std::string(before) : "";
    ::setenv(variable, (value + rest).c_str(), 1);
}

void add_keep_ptx(CLI::App& command, bool& keep) {
    command.add_flag("--keep-ptx", keep,
                     "ptxas, which the program or its nvcc starts, leaves PTX for machine code");
}

void preload_ptxas(const fs::path& folder) {
    put_before("LD_PRELOAD", (folder / "liblockwarp_ptxas.so").string());
}

int become(const std::vector<std::string>& program) {
    std::signal(SIGPIPE, SIG_DFL);
    map_as_always();
    std::vector<char*> words;
    for (const std::string& word : program) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    return refuse(fmt::format("{}: {}", program.front(), std::strerror(errno)));
}

int run_program(const std::vector<std::string>& words) {
    const pid_t child = ::fork();
    if (child < 0) return refuse(fmt::format("fork: {}", std::strerror(errno)));
    if (child == 0) ::_exit(become(words));
    struct sigaction ignored {
    }, of_interrupt{}, of_quit{};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignored, &of_interrupt);
    ::sigaction(SIGQUIT, &ignored, &of_quit);
    const launch::RunningChild running(child, SIGTERM);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ::sigaction(SIGINT, &of_interrupt, nullptr);
    ::sigaction(SIGQUIT, &of_quit, nullptr);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace lockwarp::tools
