// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/device_runtime.hpp"

#include <utility>

#include "emu/exec/access.hpp"
#include "emu/exec/call_values.hpp"
#include "emu/exec/grid_limits.hpp"
#include "emu/isa/function_address.hpp"
#include "emu/warp/heap.hpp"

namespace lockwarp::exec {

namespace {

// cudaError_t.
constexpr uint64_t success = 0, invalid_value = 1, invalid_configuration = 9;

// cudaStream_t: that of the CTA, one that waits for nobody, and one behind everything.
constexpr uint64_t null_stream = 0, tail_launch = 3, fire_and_forget = 4;

constexpr uint32_t non_blocking = 1;    // the flags that a stream must have
constexpr uint32_t disable_timing = 2;  // and an event
constexpr uint64_t first_handle = 1 << 16;

uint64_t thread_of(const Context& c, unsigned lane) { return c.warp->index * 32u + lane; }

// The memory for a kernel's parameters, which the thread fills before it launches.
uint64_t begin_launch(Context& c, const Operation& o, const isa::Call& call, unsigned lane,
                      const std::array<uint32_t, 32>& bases) {
    const uint64_t address = argument(c, call, 0, lane, bases);
    const std::optional<uint32_t> number = isa::function_number(address);
    const auto& kernels = c.program->launched;
    const auto kernel = std::ranges::find_if(
        kernels, [&](const isa::LaunchedKernel& k) { return number == k.number; });
    if (kernel == kernels.end()) {
        set_trap(c, o, warp::TrapKind::out_of_bounds, "a launch: the address is no kernel's", lane,
                 address, ptx::Space::none);
        return 0;
    }
    const auto dim = [&](size_t k) {
        const uint64_t xy = argument(c, call, k, lane, bases);
        return warp::Dim3{static_cast<uint32_t>(xy), static_cast<uint32_t>(xy >> 32),
                          static_cast<uint32_t>(argument(c, call, k, lane, bases, 8))};
    };
    warp::DeviceLaunch l;
    l.cta_index = c.cta->index;
    l.warp = c.warp->index;
    l.lane = lane;
    l.place = o.place;
    l.kernel = kernel->name;
    l.grid = dim(1);
    l.block = dim(2);
    l.dynamic_shared = static_cast<uint32_t>(argument(c, call, 3, lane, bases));
    l.parameters.resize(kernel->parameter_bytes);
    const uint64_t at = c.buffers->allocate(std::max(kernel->parameter_bytes, 1u));
    if (at != 0) c.device.begun.insert_or_assign(at, std::move(l));
    return at;
}

uint64_t launch(Context& c, const Operation& o, uint64_t buffer, uint64_t stream, unsigned lane) {
    const auto begun = c.device.begun.find(buffer);
    if (begun == c.device.begun.end()) {
        set_trap(c, o, warp::TrapKind::out_of_bounds,
                 "a launch: the address is no buffer that cudaGetParameterBuffer returned", lane,
                 buffer, ptx::Space::none);
        return success;
    }
    warp::DeviceLaunch l = std::move(begun->second);
    c.device.begun.erase(begun);
    const uint8_t* const bytes = c.buffers->buffer().bytes.data() + (buffer - isa::launch_buffers);
    std::copy_n(bytes, l.parameters.size(), l.parameters.begin());
    c.buffers->release(buffer);
    if (stream != null_stream && stream != tail_launch && stream != fire_and_forget &&
        !c.device.streams.contains(stream))
        return invalid_value;
    if (!is_block(l.block) || !is_grid(l.grid)) return invalid_configuration;
    l.last = stream == tail_launch;
    c.device.launched.push_back(std::move(l));
    return success;
}

struct Answer {
    uint64_t result = 0;
    std::optional<uint64_t> stored;  // where the first argument points
};

struct Asked {
    Context& c;
    const Operation& o;
    const isa::Call& call;
    const std::array<uint32_t, 32>& bases;
    unsigned lane;

    uint64_t argument(size_t k) const { return exec::argument(c, call, k, lane, bases); }
    bool is_stream(size_t k) const {
        return argument(k) == null_stream || c.device.streams.contains(argument(k));
    }
    bool is_event(size_t k) const { return c.device.events.contains(argument(k)); }
};

// A handle; flags are right where they are `flag` alone.
Answer created(const Asked& a, std::set<uint64_t>& handles, uint32_t flag) {
    if (a.argument(1) != flag) return {invalid_value, {}};
    const uint64_t handle = first_handle + ++a.c.device.handles;
    handles.insert(handle);
    return {success, handle};
}

Answer destroyed(const Asked& a, std::set<uint64_t>& handles) {
    return {handles.erase(a.argument(0)) != 0 ? success : invalid_value, {}};
}

// But for the errors that are kept, and parameters' buffers.
Answer answer_of(const Asked& a) {
    DeviceRuntime& device = a.c.device;
    switch (a.call.system) {
        case isa::System::launch:
            return {launch(a.c, a.o, a.argument(0), a.argument(1), a.lane), {}};
        case isa::System::create_stream:
            return created(a, device.streams, non_blocking);
        case isa::System::destroy_stream:
            return destroyed(a, device.streams);
        case isa::System::create_event:
            return created(a, device.events, disable_timing);
        case isa::System::destroy_event:
            return destroyed(a, device.events);
        // Launches run in the order in which they are made: nobody has to wait.
        case isa::System::record_event:
            return {a.is_event(0) && a.is_stream(1) ? success : invalid_value, {}};
        case isa::System::wait_for_event:
            return {a.is_stream(0) && a.is_event(1) ? success : invalid_value, {}};
        case isa::System::get_device:
            return {success, 0};
        case isa::System::count_devices:
            return {success, 1};
        default:
            return {};
    }
}

// What the lanes' answers leave in memory. false: a trap was set.
bool store(Context& c, const Operation& o, const LaneAddresses& at,
           const std::array<Answer, 32>& answers, uint32_t mask, uint32_t bytes) {
    LanePointers p;
    if (mask != 0 && !locate(c, o, ptx::Space::none, at, mask, bytes, bytes, true, p)) return false;
    each_lane(mask, [&](unsigned lane) { std::memcpy(p[lane], &*answers[lane].stored, bytes); });
    return true;
}

}  // namespace

void run_device_runtime(Context& c, const Operation& o, const isa::Call& call, uint32_t mask,
                        const std::array<uint32_t, 32>& bases) {
    using isa::System;
    const bool is_number =
        call.system == System::get_device || call.system == System::count_devices;
    std::array<Answer, 32> answers;
    LaneAddresses at{};
    uint32_t stored = 0;
    for (uint32_t rest = mask; rest != 0 && !c.trap; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const Asked asked{c, o, call, bases, lane};
        uint64_t& last = c.device.errors[thread_of(c, lane)];
        Answer& answer = answers[lane];
        if (call.system == System::parameter_buffer) {
            answer.result = begin_launch(c, o, call, lane, bases);
        } else if (call.system == System::peek_error) {
            answer.result = last;
        } else if (call.system == System::get_error) {
            answer.result = std::exchange(last, success);
        } else {
            answer = answer_of(asked);
            if (answer.result != success) last = answer.result;
        }
        if (!answer.stored) continue;
        at[lane] = asked.argument(0);
        stored |= 1u << lane;
    }
    if (c.trap || !store(c, o, at, answers, stored, is_number ? 4 : 8)) return;
    each_lane(mask, [&](unsigned lane) { set_result(c, call, lane, answers[lane].result, bases); });
}

}  // namespace lockwarp::exec
