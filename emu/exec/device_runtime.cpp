// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/device_runtime.hpp"

#include <utility>

#include "emu/exec/access.hpp"
#include "emu/exec/call_values.hpp"
#include "emu/exec/grid_limits.hpp"
#include "emu/exec/system_calls.hpp"
#include "emu/isa/function_address.hpp"
#include "emu/warp/device_answers.hpp"
#include "emu/warp/heap.hpp"

namespace lockwarp::exec {

namespace {

// cudaError_t.
constexpr uint32_t success = 0, invalid_value = 1, out_of_memory = 2, invalid_configuration = 9,
                   invalid_pitch = 12, invalid_direction = 21, unknown = 999;

// cudaStream_t: that of the CTA, by three handles; one behind everything; one that waits for
// nobody.
constexpr uint64_t null_stream = 0, legacy_stream = 1, stream_of_thread = 2, tail_launch = 3,
                   fire_and_forget = 4;

// cudaMemcpyKind, those that a kernel may have.
constexpr uint32_t device_to_device = 3, by_address = 4;

constexpr uint32_t non_blocking = 1;    // the flags that a stream must have
constexpr uint32_t disable_timing = 2;  // and an event
constexpr uint64_t first_handle = 1 << 16;
constexpr uint32_t version = 6000;  // cudaRuntimeGetVersion's, of toolkits 12.9 and 13.0 alike

using Answer = warp::DeviceAnswers::Answer;

// The call of one lane.
struct Asked {
    Context& c;
    const Operation& o;
    const isa::Call& call;
    const std::array<uint32_t, 32>& bases;
    unsigned lane;

    uint64_t argument(size_t k, uint32_t from = 0) const {
        return exec::argument(c, call, k, lane, bases, from);
    }
    uint32_t word(size_t k) const { return static_cast<uint32_t>(argument(k)); }
    bool is_stream(size_t k) const {
        const uint64_t stream = argument(k);
        return stream == null_stream || stream == legacy_stream || stream == stream_of_thread ||
               c.device.streams.contains(stream);
    }
    // A stream for what the thread launches.
    bool takes_launches(size_t k) const {
        return is_stream(k) || argument(k) == tail_launch || argument(k) == fire_and_forget;
    }
    void bad_address(const char* what, uint64_t address) const {
        set_trap(c, o, warp::TrapKind::out_of_bounds, what, lane, address, ptx::Space::none);
    }
};

Answer stored(uint64_t value, size_t bytes) {
    Answer out;
    out.bytes.resize(bytes);
    std::memcpy(out.bytes.data(), &value, bytes);
    return out;
}

const isa::LaunchedKernel* kernel_at(const Context& c, uint64_t address) {
    const std::optional<uint32_t> number = isa::function_number(address);
    const auto& kernels = c.program->launched;
    const auto found = std::ranges::find_if(
        kernels, [&](const isa::LaunchedKernel& k) { return number == k.number; });
    return found != kernels.end() ? &*found : nullptr;
}

warp::DeviceLaunch launch_of(const Asked& a) {
    warp::DeviceLaunch l;
    l.cta_index = a.c.cta->index;
    l.warp = a.c.warp->index;
    l.lane = a.lane;
    l.place = a.o.place;
    return l;
}

constexpr const char* no_buffer =
    "a launch: the address is no buffer that cudaGetParameterBuffer returned";

// The first argument; nullptr: it is none, and a trap was set.
const isa::LaunchedKernel* kernel_of(const Asked& a) {
    const isa::LaunchedKernel* const kernel = kernel_at(a.c, a.argument(0));
    if (kernel == nullptr) a.bad_address("a launch: the address is no kernel's", a.argument(0));
    return kernel;
}

// The kernel and its shape: the arguments from `first` on are grid, block and dynamic shared
// memory.
void describe(const Asked& a, warp::DeviceLaunch& l, const isa::LaunchedKernel& kernel,
              size_t first) {
    const auto dim = [&](size_t k) {
        const uint64_t xy = a.argument(k);
        return warp::Dim3{static_cast<uint32_t>(xy), static_cast<uint32_t>(xy >> 32),
                          static_cast<uint32_t>(a.argument(k, 8))};
    };
    l.kernel = kernel.name;
    l.grid = dim(first);
    l.block = dim(first + 1);
    l.dynamic_shared = a.word(first + 2);
}

uint64_t buffer_for(const Asked& a, warp::DeviceLaunch l, uint32_t bytes) {
    l.parameters.resize(bytes);
    const uint64_t at = a.c.buffers->allocate(std::max(bytes, 1u));
    if (at != 0) a.c.device.begun.insert_or_assign(at, std::move(l));
    return at;
}

// The memory for a kernel's parameters, which the thread fills before it launches.
uint64_t begin_launch(const Asked& a) {
    const isa::LaunchedKernel* const kernel = kernel_of(a);
    if (kernel == nullptr) return 0;
    warp::DeviceLaunch l = launch_of(a);
    describe(a, l, *kernel, 1);
    return buffer_for(a, std::move(l), kernel->parameter_bytes);
}

// The same for a kernel that is named when it is launched. An H200 gives as much, whatever the
// bytes and the alignment that the thread asks for.
uint64_t begin_any_launch(const Asked& a) {
    uint32_t bytes = 4096;
    for (const isa::LaunchedKernel& k : a.c.program->launched)
        bytes = std::max(bytes, k.parameter_bytes);
    return buffer_for(a, launch_of(a), bytes);
}

uint8_t* bytes_of(const Context& c, uint64_t buffer) {
    return c.buffers->buffer().bytes.data() + (buffer - isa::launch_buffers);
}

bool may_launch(const Asked& a, const warp::DeviceLaunch& l) {
    return is_block(l.block) && is_grid(l.grid) && a.c.launch->device->has_launch(l);
}

uint32_t launch(const Asked& a) {
    const uint64_t buffer = a.argument(0);
    const auto begun = a.c.device.begun.find(buffer);
    if (begun == a.c.device.begun.end() || begun->second.kernel.empty()) {
        a.bad_address(no_buffer, buffer);
        return success;
    }
    warp::DeviceLaunch l = std::move(begun->second);
    a.c.device.begun.erase(begun);
    std::copy_n(bytes_of(a.c, buffer), l.parameters.size(), l.parameters.begin());
    a.c.buffers->release(buffer);
    if (!a.takes_launches(1)) return invalid_value;
    if (!may_launch(a, l)) return invalid_configuration;
    l.last = a.argument(1) == tail_launch;
    a.c.device.launched.push_back(std::move(l));
    return success;
}

// The first form of it: it names the kernel and the shape, and knows neither cudaStreamTailLaunch
// nor cudaStreamFireAndForget. A launch that fails leaves its buffer to the next, and a kernel
// without parameters needs none.
uint32_t launch_kernel(const Asked& a) {
    const uint64_t buffer = a.argument(1);
    const isa::LaunchedKernel* const kernel = kernel_of(a);
    if (kernel == nullptr) return success;
    const auto begun = a.c.device.begun.find(buffer);
    const bool has_buffer = begun != a.c.device.begun.end();
    if (!has_buffer && (buffer != 0 || kernel->parameter_bytes != 0)) {
        a.bad_address(no_buffer, buffer);
        return success;
    }
    warp::DeviceLaunch l = launch_of(a);
    describe(a, l, *kernel, 2);
    l.parameters.resize(kernel->parameter_bytes);
    if (!a.is_stream(5)) return invalid_value;
    if (!may_launch(a, l)) return invalid_configuration;
    if (has_buffer) {
        std::copy_n(bytes_of(a.c, buffer),
                    std::min(l.parameters.size(), begun->second.parameters.size()),
                    l.parameters.begin());
        a.c.device.begun.erase(begun);
        a.c.buffers->release(buffer);
    }
    a.c.device.launched.push_back(std::move(l));
    return success;
}

// Shared and local memory is none of another grid's.
bool may_reach(uint64_t address) {
    const uint64_t offset = address - isa::shared_window;
    return address != 0 && offset >= isa::param_window - isa::shared_window;
}

uint32_t note(const Asked& a, warp::DeviceWork work, const warp::DeviceRows& rows, size_t stream) {
    if (!a.takes_launches(stream)) return unknown;
    warp::DeviceLaunch l = launch_of(a);
    l.work = work;
    l.rows = rows;
    l.last = a.argument(stream) == tail_launch;
    a.c.device.launched.push_back(std::move(l));
    return success;
}

uint32_t copy(const Asked& a, const warp::DeviceRows& rows, uint32_t kind, size_t stream) {
    if (rows.width == 0 || rows.height == 0) return success;
    if (kind != device_to_device && kind != by_address) return invalid_direction;
    if (!may_reach(rows.to) || !may_reach(rows.from)) return invalid_value;
    if (rows.height > 1 && std::min(rows.to_pitch, rows.from_pitch) < rows.width)
        return invalid_pitch;
    return note(a, warp::DeviceWork::copy, rows, stream);
}

uint32_t fill(const Asked& a, const warp::DeviceRows& rows, size_t stream) {
    if (rows.width == 0 || rows.height == 0) return success;
    if (!may_reach(rows.to)) return invalid_value;
    if (rows.height > 1 && rows.to_pitch < rows.width) return invalid_value;
    return note(a, warp::DeviceWork::fill, rows, stream);
}

// A handle; flags are right where they are `flag` alone.
Answer created(const Asked& a, std::set<uint64_t>& handles, uint32_t flag) {
    if (a.word(1) != flag) return {invalid_value, {}};
    const uint64_t handle = first_handle + ++a.c.device.handles;
    handles.insert(handle);
    return stored(handle, 8);
}

uint32_t destroyed(const Asked& a, std::set<uint64_t>& handles) {
    return handles.erase(a.argument(0)) != 0 ? success : invalid_value;
}

// Launches run in the order in which they are made: nobody has to wait.
uint32_t ordered(const Asked& a, size_t event, size_t stream) {
    if (!a.is_stream(stream)) return invalid_value;
    if (!a.c.device.events.contains(a.argument(event)))
        a.bad_address("an event that cudaEventCreateWithFlags did not give", a.argument(event));
    return success;
}

Answer allocated(const Asked& a) {
    if (a.argument(0) == 0 || a.argument(1) == 0) return {invalid_value, {}};
    const uint64_t block = allocate_block(a.c, a.o, a.lane, a.argument(1));
    return block != 0 ? stored(block, 8) : Answer{out_of_memory, {}};
}

// Where an error's text lies: one place for a launch.
uint64_t text_of(const Asked& a, bool is_name) {
    const auto number = static_cast<int>(a.word(0));
    uint64_t& at = a.c.device.texts[{number, is_name}];
    if (at != 0) return at;
    const std::string text = a.c.launch->device->error_text(number, is_name);
    at = a.c.buffers->allocate(text.size() + 1);
    if (at != 0) std::memcpy(bytes_of(a.c, at), text.c_str(), text.size() + 1);
    return at;
}

Answer resident_ctas(const Asked& a) {
    const isa::LaunchedKernel* const kernel = kernel_at(a.c, a.argument(1));
    if (kernel == nullptr) {
        a.bad_address("cudaOccupancyMaxActiveBlocksPerMultiprocessor: the address is no kernel's",
                      a.argument(1));
        return {};
    }
    return a.c.launch->device->resident_ctas(kernel->name, static_cast<int>(a.word(2)),
                                             a.argument(3));
}

Answer function_attributes(const Asked& a) {
    const isa::LaunchedKernel* const kernel = kernel_at(a.c, a.argument(1));
    if (kernel == nullptr) return {invalid_value, {}};
    return a.c.launch->device->function_attributes(kernel->name);
}

// But for the functions that do not return an error.
Answer answer_of(const Asked& a) {
    using isa::System;
    DeviceRuntime& device = a.c.device;
    switch (a.call.system) {
        case System::launch:
            return {launch(a), {}};
        case System::launch_kernel:
            return {launch_kernel(a), {}};
        case System::copy:
            return {copy(a, {a.argument(0), 0, a.argument(1), 0, a.argument(2)}, a.word(3), 4), {}};
        case System::copy_rows:
            return {copy(a,
                         {a.argument(0), a.argument(1), a.argument(2), a.argument(3), a.argument(4),
                          a.argument(5)},
                         a.word(6), 7),
                    {}};
        case System::fill:
            return {fill(a,
                         {a.argument(0), 0, 0, 0, a.argument(2), 1,
                          static_cast<uint8_t>(a.argument(1))},
                         3),
                    {}};
        case System::fill_rows:
            return {fill(a,
                         {a.argument(0), a.argument(1), 0, 0, a.argument(3), a.argument(4),
                          static_cast<uint8_t>(a.argument(2))},
                         5),
                    {}};
        case System::create_stream:
            return created(a, device.streams, non_blocking);
        case System::destroy_stream:
            return {destroyed(a, device.streams), {}};
        case System::create_event:
            return created(a, device.events, disable_timing);
        case System::destroy_event:
            return {destroyed(a, device.events), {}};
        case System::record_event:
            return {ordered(a, 0, 1), {}};
        case System::wait_for_event:
            return {ordered(a, 1, 0), {}};
        case System::get_device:
            return stored(0, 4);
        case System::count_devices:
            return stored(1, 4);
        case System::get_version:
            return stored(version, 4);
        case System::allocate:
            return allocated(a);
        case System::release:
            release_block(a.c, a.o, a.lane, a.argument(0));
            return {};
        case System::get_limit:
            return a.c.launch->device->limit(static_cast<int>(a.word(1)));
        case System::device_attribute:
            return a.c.launch->device->device_attribute(static_cast<int>(a.word(1)),
                                                        static_cast<int>(a.word(2)));
        case System::function_attributes:
            return function_attributes(a);
        case System::resident_ctas:
            return resident_ctas(a);
        default:
            return {};
    }
}

// What the lanes' answers leave in memory, as many bytes of each. false: a trap was set.
bool store(Context& c, const Operation& o, LaneAddresses at, const std::array<Answer, 32>& answers,
           uint32_t mask) {
    constexpr size_t most = 32;  // of an access (warp::Access)
    if (mask == 0) return true;
    const size_t all = answers[static_cast<unsigned>(__builtin_ctz(mask))].bytes.size();
    for (size_t done = 0; done < all; done += most) {
        const auto bytes = static_cast<uint32_t>(std::min(all - done, most));
        LanePointers p;
        if (!locate(c, o, ptx::Space::none, at, mask, bytes, std::min(bytes, 8u), true, p))
            return false;
        each_lane(mask, [&](unsigned lane) {
            std::memcpy(p[lane], answers[lane].bytes.data() + done, bytes);
            at[lane] += bytes;
        });
    }
    return true;
}

}  // namespace

void run_device_runtime(Context& c, const Operation& o, const isa::Call& call, uint32_t mask,
                        const std::array<uint32_t, 32>& bases) {
    using isa::System;
    std::array<Answer, 32> answers;
    std::array<uint64_t, 32> results{};
    LaneAddresses at{};
    uint32_t stores = 0;
    for (uint32_t rest = mask; rest != 0 && !c.trap; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const Asked asked{c, o, call, bases, lane};
        uint64_t& last = c.device.errors[c.warp->index * 32u + lane];
        uint64_t& result = results[lane];
        if (call.system == System::parameter_buffer) {
            result = begin_launch(asked);
        } else if (call.system == System::any_parameter_buffer) {
            result = begin_any_launch(asked);
        } else if (call.system == System::error_name || call.system == System::error_text) {
            result = text_of(asked, call.system == System::error_name);
        } else if (call.system == System::peek_error) {
            result = last;
        } else if (call.system == System::get_error) {
            result = std::exchange(last, success);
        } else {
            answers[lane] = answer_of(asked);
            result = answers[lane].error;
            if (result != success) last = result;
        }
        if (answers[lane].bytes.empty()) continue;
        at[lane] = asked.argument(0);
        stores |= 1u << lane;
    }
    if (c.trap || !store(c, o, at, answers, stores)) return;
    each_lane(mask, [&](unsigned lane) { set_result(c, call, lane, results[lane], bases); });
}

}  // namespace lockwarp::exec
