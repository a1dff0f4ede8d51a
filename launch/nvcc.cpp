// SPDX-License-Identifier: Apache-2.0
#include "launch/nvcc.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

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

}  // namespace

Result<std::string> compile_cuda(const std::string& path, const std::string& arch) {
    const std::string nvcc = find_nvcc();
    if (nvcc.empty())
        return failure(path +
                       ": no nvcc is installed to compile it; compile it elsewhere with "
                       "'nvcc -ptx' and give the PTX");
    std::error_code error;
    std::string folder = (fs::temp_directory_path(error) / "lockwarp.XXXXXX").string();
    if (error || ::mkdtemp(folder.data()) == nullptr)
        return failure("no temporary folder: " + std::string(std::strerror(errno)));
    const std::string output = folder + "/out.ptx";
    std::vector<std::string> words{nvcc, "-ptx", "-o", output, path};
    if (arch.starts_with("sm_")) words.push_back("-arch=compute_" + arch.substr(3));
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    std::optional<std::string> wrong;
    if (const int failed =
            ::posix_spawn(&child, nvcc.c_str(), nullptr, nullptr, argv.data(), environ);
        failed != 0) {
        wrong = nvcc + ": " + std::strerror(failed);
    } else {
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            wrong = path + ": nvcc could not compile it";
    }
    Result<std::string> ptx = wrong ? failure(*wrong) : read_text(output, max_ptx_bytes);
    fs::remove_all(folder, error);
    return ptx;
}

}  // namespace lockwarp::launch
