// SPDX-License-Identifier: Apache-2.0
#include "launch/nvcc.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "launch/unfinished.hpp"

extern char** environ;

namespace lockwarp::launch {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t max_ptx_bytes = uint64_t{1} << 28;

std::string find_nvcc() {
    if (const char* named = std::getenv("NVCC"); named != nullptr && *named != 0) return named;
    const char* path = std::getenv("PATH");
    std::string rest = path == nullptr ? "" : path;
    rest += ":/usr/local/cuda/bin";
    for (size_t at = 0; at < rest.size();) {
        const size_t end = std::min(rest.find(':', at), rest.size());
        const std::string candidate = rest.substr(at, end - at) + "/nvcc";
        if (end > at && ::access(candidate.c_str(), X_OK) == 0) return candidate;
        at = end + 1;
    }
    return {};
}

// Starts a process that leads a group of its own, so that what it starts in turn ends with it.
// Its temporary files are in `folder`.
int start(const std::string& program, char* const* argv, const std::string& folder, pid_t& child) {
    std::string temporary = "TMPDIR=" + folder;
    std::vector<char*> variables{temporary.data()};
    for (char** v = environ; *v != nullptr; ++v)
        if (!std::string_view(*v).starts_with("TMPDIR=")) variables.push_back(*v);
    variables.push_back(nullptr);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    const int failed =
        ::posix_spawn(&child, program.c_str(), nullptr, &attributes, argv, variables.data());
    ::posix_spawnattr_destroy(&attributes);
    return failed;
}

// What went wrong of the compilation of `path`.
std::optional<std::string> run_to_end(const std::string& nvcc, char* const* argv,
                                      const std::string& folder, const std::string& path) {
    pid_t child = 0;
    if (const int failed = start(nvcc, argv, folder, child); failed != 0)
        return nvcc + ": " + std::strerror(failed);
    {
        // Its number is its own until it is waited for.
        const RunningChild running(-child, SIGKILL);
        siginfo_t ended{};
        while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 &&
               errno == EINTR) {
        }
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
    return path + (WIFSIGNALED(status) ? ": nvcc was ended" : ": nvcc could not compile it");
}

}  // namespace

Result<Compiled> compile_cuda(const std::string& path, const std::string& arch,
                              const std::vector<std::string>& options) {
    const std::string nvcc = find_nvcc();
    if (nvcc.empty())
        return failure(path +
                       ": no nvcc is installed to compile it; compile it elsewhere with "
                       "'nvcc -ptx' and give the PTX");
    std::error_code error;
    std::string folder = (fs::temp_directory_path(error) / "lockwarp.XXXXXX").string();
    if (error) return failure("no temporary folder: " + error.message());
    if (::mkdtemp(folder.data()) == nullptr)
        return failure("no temporary folder: " + std::string(std::strerror(errno)));
    Compiled out;
    out.folder = std::make_shared<Temporary>(folder);
    out.path = (fs::path(folder) / fs::path(path).stem()).string() + ".ptx";
    std::vector<std::string> words{nvcc, "-ptx", "-o", out.path, path};
    const auto has = [&](std::initializer_list<std::string_view> names) {
        return std::ranges::any_of(options, [&](const std::string& o) {
            return std::ranges::find(names, std::string_view(o).substr(0, o.find('='))) !=
                   names.end();
        });
    };
    if (arch.starts_with("sm_") && !has({"-arch", "--gpu-architecture", "-gencode"}))
        words.push_back("-arch=compute_" + arch.substr(3));
    // With -G line information is there already, and nvcc warns of both.
    if (!has({"-G", "--device-debug", "-lineinfo", "--generate-line-info"}))
        words.push_back("-lineinfo");
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    if (std::optional<std::string> wrong = run_to_end(nvcc, argv.data(), folder, path))
        return failure(*wrong);
    Result<std::string> text = read_text(out.path, max_ptx_bytes);
    if (!text) return failure(text);
    out.ptx = std::move(*text);
    return out;
}

}  // namespace lockwarp::launch
