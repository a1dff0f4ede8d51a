// SPDX-License-Identifier: Apache-2.0
#include "launch/unfinished.hpp"

#include <csignal>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace lockwarp::launch {

namespace {

struct Unfinished {
    std::recursive_mutex lock;
    std::set<std::string> temporaries;
    std::map<pid_t, int> children;  // the signals that end them; 0, which is none: sent
};

Unfinished& unfinished() {
    // Never destroyed: a thread that ends the process may use it while others return from main().
    static auto* const all = new Unfinished;
    return *all;
}

void remove(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

}  // namespace

Temporary::Temporary(std::string path) : path_(std::move(path)) {
    Unfinished& u = unfinished();
    const std::lock_guard guard(u.lock);
    u.temporaries.insert(path_);
}

Temporary::Temporary(Temporary&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Temporary& Temporary::operator=(Temporary&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

Temporary::~Temporary() {
    if (path_.empty()) return;
    remove(path_);
    keep();
}

void Temporary::keep() {
    Unfinished& u = unfinished();
    const std::lock_guard guard(u.lock);
    u.temporaries.erase(path_);
    path_.clear();
}

RunningChild::RunningChild(pid_t process, int signal) : process_(process) {
    Unfinished& u = unfinished();
    const std::lock_guard guard(u.lock);
    u.children.emplace(process_, signal);
}

RunningChild::~RunningChild() {
    Unfinished& u = unfinished();
    const std::lock_guard guard(u.lock);
    u.children.erase(process_);
}

bool end_children() {
    Unfinished& u = unfinished();
    const std::lock_guard guard(u.lock);
    for (auto& [process, signal] : u.children) ::kill(process, std::exchange(signal, 0));
    return !u.children.empty();
}

void kill_children() {
    Unfinished& u = unfinished();
    const std::lock_guard guard(u.lock);
    for (const auto& [process, signal] : u.children) ::kill(process, SIGKILL);
}

std::unique_lock<std::recursive_mutex> hold_unfinished() {
    return std::unique_lock(unfinished().lock);
}

void remove_temporaries() {
    Unfinished& u = unfinished();
    u.lock.lock();
    for (const std::string& path : u.temporaries) remove(path);
}

}  // namespace lockwarp::launch
