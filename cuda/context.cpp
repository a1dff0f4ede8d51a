// SPDX-License-Identifier: Apache-2.0
// Contexts: those that programs make, and the primary one. A thread has a stack of them.
#include <algorithm>

#include "cuda/memory.hpp"
#include "cuda/order.hpp"
#include "cuda/state.hpp"
#include "emu/isa/arch.hpp"

namespace lockwarp::cuda {

namespace {

// nullptr is the current one.
std::shared_ptr<Context> context_or_current(Context* context) {
    return context != nullptr ? ready().contexts.get(context, invalid_context) : current();
}

// Made when it is first retained; ended, and retained again, it has the same handle and another id.
std::shared_ptr<Context> primary(Device& d, DeviceId number) {
    if (d.primary == nullptr) {
        d.primary = new_context(number, d.primary_flags, 3020);
        d.primary->primary = true;
    }
    if (d.primary->destroyed.exchange(false)) d.primary->id = driver().next_id++;
    return d.primary;
}

// All that it has goes, and it is of no use until somebody retains it again.
void end_primary(Device& d) {
    if (d.primary == nullptr) return;
    destroy(d.primary);
    d.primary->error = success;
    d.primary->destroyed = true;
}

void finish_and_synchronize(Context& context) {
    finish_context(context);
    synchronize(context);
}

void pop_if_current(const std::shared_ptr<Context>& context) {
    std::vector<std::shared_ptr<Context>>& stack = context_stack();
    if (!stack.empty() && stack.back() == context) stack.pop_back();
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuDevicePrimaryCtxRetain(Context** out, DeviceId device) {
    return answer([&] {
        Device& d = device_at(device);
        require(out != nullptr);
        const std::lock_guard lock(d.mutex);
        *out = primary(d, device).get();
        ++d.primary_count;
    });
}

Result cuDevicePrimaryCtxRelease_v2(DeviceId device) {
    return answer([&] {
        Device& d = device_at(device);
        const std::lock_guard lock(d.mutex);
        require(d.primary_count != 0, invalid_context);
        if (--d.primary_count == 0) end_primary(d);
    });
}

Result cuDevicePrimaryCtxReset_v2(DeviceId device) {
    return answer([&] {
        Device& d = device_at(device);
        const std::lock_guard lock(d.mutex);
        end_primary(d);
    });
}

Result cuDevicePrimaryCtxSetFlags_v2(DeviceId device, unsigned flags) {
    return answer([&] {
        Device& d = device_at(device);
        const std::lock_guard lock(d.mutex);
        d.primary_flags = flags;
        if (d.primary != nullptr) d.primary->flags = flags;
    });
}

Result cuDevicePrimaryCtxRelease(DeviceId device) { return cuDevicePrimaryCtxRelease_v2(device); }
Result cuDevicePrimaryCtxReset(DeviceId device) { return cuDevicePrimaryCtxReset_v2(device); }
Result cuDevicePrimaryCtxSetFlags(DeviceId device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

Result cuDevicePrimaryCtxGetState(DeviceId device, unsigned* flags, int* active) {
    return answer([&] {
        Device& d = device_at(device);
        require(flags != nullptr && active != nullptr);
        const std::lock_guard lock(d.mutex);
        *flags = d.primary_flags;
        *active = d.primary_count != 0 && !d.primary->destroyed ? 1 : 0;
    });
}

Result cuCtxCreate_v2(Context** out, unsigned flags, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(out != nullptr);
        const std::shared_ptr<Context> context = new_context(device, flags, 3020);
        context_stack().push_back(context);
        *out = context.get();
    });
}

Result cuCtxCreate_v3(Context** out, void*, int, unsigned flags, DeviceId device) {
    return cuCtxCreate_v2(out, flags, device);
}

Result cuCtxCreate_v4(Context** out, void*, unsigned flags, DeviceId device) {
    return cuCtxCreate_v2(out, flags, device);
}

Result cuCtxDestroy_v2(Context* handle) {
    return answer([&] {
        const std::shared_ptr<Context> context = ready().contexts.get(handle, invalid_context);
        require(!context->primary, invalid_context);
        pop_if_current(context);
        destroy(context);
    });
}

Result cuCtxAttach(Context** out, unsigned flags) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && flags == 0);
        const std::lock_guard lock(context->mutex);
        ++context->attached;
        *out = context.get();
    });
}

Result cuCtxDetach(Context* handle) {
    return answer([&] {
        const std::shared_ptr<Context> context = ready().contexts.get(handle, invalid_context);
        require(!context->primary && context == current(), invalid_context);
        {
            const std::lock_guard lock(context->mutex);
            if (--context->attached != 0) return;
        }
        pop_if_current(context);
        destroy(context);
    });
}

Result cuCtxPushCurrent_v2(Context* context) {
    return answer(
        [&] { context_stack().push_back(ready().contexts.get(context, invalid_context)); });
}

Result cuCtxPopCurrent_v2(Context** out) {
    return answer([&] {
        ready();
        require(!context_stack().empty(), invalid_context);
        if (out != nullptr) *out = context_stack().back().get();
        context_stack().pop_back();
    });
}

Result cuCtxSetCurrent(Context* context) {
    return answer([&] {
        Driver& d = ready();
        std::vector<std::shared_ptr<Context>>& stack = context_stack();
        if (context != nullptr && !stack.empty() && stack.back().get() == context &&
            !stack.back()->destroyed)
            return;
        std::shared_ptr<Context> next;
        if (context != nullptr) next = d.contexts.get(context, invalid_context);
        if (!stack.empty()) stack.pop_back();
        if (next != nullptr) stack.push_back(std::move(next));
    });
}

Result cuCtxGetCurrent(Context** out) {
    return answer([&] {
        ready();
        require(out != nullptr);
        *out = context_stack().empty() ? nullptr : context_stack().back().get();
    });
}

Result cuCtxGetDevice(DeviceId* device) {
    return answer([&] {
        const std::shared_ptr<Context> context = current_or_destroyed();
        require(device != nullptr);
        *device = context->device;
    });
}

Result cuCtxGetDevice_v2(DeviceId* device, Context* context) {
    return answer([&] {
        require(device != nullptr);
        *device = context_or_current(context)->device;
    });
}

Result cuCtxGetFlags(unsigned* flags) {
    return answer([&] {
        require(flags != nullptr);
        *flags = current_or_destroyed()->flags;
    });
}

Result cuCtxSetFlags(unsigned flags) {
    return answer([&] { current()->flags = flags; });
}

Result cuCtxGetId(Context* context, unsigned long long* id) {
    return answer([&] {
        require(id != nullptr);
        const std::shared_ptr<Context> of = context_or_current(context);
        require(!of->destroyed, context_is_destroyed);
        *id = of->id;
    });
}

Result cuCtxSynchronize() {
    return answer([] { finish_and_synchronize(*current_in_error()); });
}

Result cuCtxSynchronize_v2(Context* context) {
    return answer([&] {
        finish_and_synchronize(context != nullptr ? *ready().contexts.get(context, invalid_context)
                                                  : *current_in_error());
    });
}

// Nothing profiles here.
Result cuProfilerStart() {
    return answer([] { current(); });
}

Result cuProfilerStop() { return cuProfilerStart(); }

Result cuCtxGetApiVersion(Context* context, unsigned* version) {
    return answer([&] {
        require(version != nullptr);
        const std::shared_ptr<Context> of = context_or_current(context);
        require(!of->destroyed, invalid_context);
        *version = of->version;
    });
}

Result cuCtxSetLimit(int limit, size_t value) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(limit >= 0 && limit < static_cast<int>(limit_count), unsupported_limit);
        const std::lock_guard lock(context->mutex);
        // It has that size from the first kernel on that uses it.
        require(limit != static_cast<int>(malloc_heap) || context->heap == nullptr);
        if (limit == static_cast<int>(stack_size)) {
            require(value < most_stack);
            value = (value + stack_unit - 1) / stack_unit * stack_unit;
        }
        context->limits[static_cast<size_t>(limit)] = value;
    });
}

Result cuCtxGetLimit(size_t* value, int limit) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(value != nullptr);
        require(limit >= 0 && limit < static_cast<int>(limit_count), unsupported_limit);
        require(
            limit != static_cast<int>(sync_depth) || lockwarp::isa::row(driver().arch).number < 90,
            unsupported_limit);
        const std::lock_guard lock(context->mutex);
        *value = context->limits[static_cast<size_t>(limit)];
    });
}

Result cuCtxGetCacheConfig(int* config) {
    return answer([&] {
        require(config != nullptr);
        *config = current()->cache_config;
    });
}

Result cuCtxSetCacheConfig(int config) {
    return answer([&] { current()->cache_config = config; });
}

Result cuCtxGetSharedMemConfig(int* config) {
    return answer([&] {
        require(config != nullptr);
        *config = current()->shared_config;
    });
}

Result cuCtxSetSharedMemConfig(int config) {
    return answer([&] { current()->shared_config = config; });
}

Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return answer([&] {
        current();
        if (least != nullptr) *least = lowest_priority;
        if (greatest != nullptr) *greatest = highest_priority;
    });
}

Result cuCtxResetPersistingL2Cache() {
    return answer([] { current(); });
}

Result cuCtxEnablePeerAccess(Context* peer, unsigned flags) {
    return answer([&] {
        const std::shared_ptr<Context> own = current();
        require(flags == 0);
        const std::shared_ptr<Context> other = ready().contexts.get(peer, invalid_context);
        require(other->device != own->device, peer_access_unsupported);
        require(set_peer_access(own->device, other->device, true), peer_access_already_enabled);
    });
}

Result cuCtxDisablePeerAccess(Context* peer) {
    return answer([&] {
        const std::shared_ptr<Context> own = current();
        const std::shared_ptr<Context> other = ready().contexts.get(peer, invalid_context);
        require(set_peer_access(own->device, other->device, false), peer_access_not_enabled);
    });
}

}  // extern "C"
