// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>

#include "tools/commands/cli.hpp"

extern char** environ;

namespace lockwarp::tools {

namespace fs = std::filesystem;

namespace {

std::string text_of_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Folder::Folder() {
    std::string name = (fs::temp_directory_path() / "lockwarp_test.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path = name;
}

Folder::~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

void Folder::write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
}

std::string Folder::read(const std::string& name) const { return text_of_file(path / name); }

std::vector<std::string> Folder::names(const std::string& below) const {
    std::vector<std::string> out;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(path / below, ignored))
        out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
}

Started start(const Folder& folder, const std::vector<std::string>& arguments,
              const std::vector<std::string>& environment) {
    static std::atomic<unsigned> count{0};
    const std::string base = folder.path.string() + "." + std::to_string(count++);
    Started started{-1, base + ".out", base + ".err"};
    std::vector<std::string> words{LOCKWARP_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    std::vector<std::string> added = environment;
    std::vector<char*> variables;
    for (std::string& v : added) variables.push_back(v.data());
    for (char** v = environ; *v != nullptr; ++v) variables.push_back(*v);
    variables.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 1, started.out.c_str(), flags, 0600);
    ::posix_spawn_file_actions_addopen(&actions, 2, started.err.c_str(), flags, 0600);
    ::posix_spawn_file_actions_addchdir_np(&actions, folder.path.c_str());
    EXPECT_EQ(::posix_spawn(&started.child, LOCKWARP_PROGRAM, &actions, nullptr, argv.data(),
                            variables.data()),
              0);
    ::posix_spawn_file_actions_destroy(&actions);
    return started;
}

Ended finish(const Started& started) {
    Ended ended;
    int status = 0;
    if (::waitpid(started.child, &status, 0) == started.child)
        ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    ended.out = text_of_file(started.out);
    ended.err = text_of_file(started.err);
    fs::remove(started.out);
    fs::remove(started.err);
    return ended;
}

Ended run(const Folder& folder, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment) {
    return finish(start(folder, arguments, environment));
}

Ended run_here(const Folder& folder, const std::vector<std::string>& arguments) {
    const fs::path before = fs::current_path();
    fs::current_path(folder.path);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Ended ended;
    ended.status = command_line(arguments);
    ended.err = testing::internal::GetCapturedStderr();
    ended.out = testing::internal::GetCapturedStdout();
    fs::current_path(before);
    return ended;
}

std::string program() { return LOCKWARP_PROGRAM; }

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string too_wide(const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        if (end - at > 100) out += text.substr(at, end - at + 1);
        at = end + 1;
    }
    return out;
}

}  // namespace lockwarp::tools
