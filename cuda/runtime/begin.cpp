// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "cuda/runtime/state.hpp"
#include "cuda/state.hpp"

namespace lockwarp::cuda {

namespace {

std::atomic<bool> is_forked{false};  // this is the child of a process that had a device

Context* primary_context() {
    static std::mutex mutex;
    static Context* primary = nullptr;
    const std::lock_guard lock(mutex);
    if (primary == nullptr) {
        check(cuInit(0));
        ::pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
    }
    // A program may have given back more than it took.
    unsigned flags = 0;
    int active = 0;
    check(cuDevicePrimaryCtxGetState(0, &flags, &active));
    if (active == 0) check(cuDevicePrimaryCtxRetain(&primary, 0));
    return primary;
}

}  // namespace

void begin() {
    require(!is_forked, not_initialized);
    const std::vector<std::shared_ptr<Context>>& stack = context_stack();
    if (!stack.empty() && stack.back() != nullptr && !stack.back()->destroyed) return;
    check(cuCtxSetCurrent(primary_context()));
}

}  // namespace lockwarp::cuda
