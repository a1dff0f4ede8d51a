// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>

#include "cuda/runtime/state.hpp"
#include "cuda/state.hpp"

namespace lockwarp::cuda {

namespace {

std::atomic<bool> is_forked{false};  // this is the child of a process that had a device

// A program may have given back more than it took, and may have asked the driver for it first.
Context* primary_context(DeviceId device) {
    static std::mutex mutex;
    static std::array<Context*, max_devices> primaries{};
    begin_driver();
    const std::lock_guard lock(mutex);
    check_device(device);
    Context*& primary = primaries[static_cast<size_t>(device)];
    unsigned flags = 0;
    int active = 0;
    check(cuDevicePrimaryCtxGetState(device, &flags, &active));
    if (active == 0 || primary == nullptr) check(cuDevicePrimaryCtxRetain(&primary, device));
    return primary;
}

}  // namespace

void begin_driver() {
    require(!is_forked, not_initialized);
    static std::mutex mutex;
    static bool is_first = true;
    const std::lock_guard lock(mutex);
    if (!is_first) return;
    check(cuInit(0));
    ::pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
    is_first = false;
}

DeviceId this_device() {
    const std::vector<std::shared_ptr<Context>>& stack = context_stack();
    return stack.empty() || stack.back() == nullptr ? 0 : stack.back()->device;
}

void begin() {
    require(!is_forked, not_initialized);
    const std::vector<std::shared_ptr<Context>>& stack = context_stack();
    if (!stack.empty() && stack.back() != nullptr && !stack.back()->destroyed) return;
    set_device(this_device());
}

void init_device(DeviceId device) { primary_context(device); }

void set_device(DeviceId device) { check(cuCtxSetCurrent(primary_context(device))); }

}  // namespace lockwarp::cuda
