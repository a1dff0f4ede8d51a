// SPDX-License-Identifier: Apache-2.0
// Streams and events. A stream's work is done when it is asked for, so that all waits are over.
#include "cuda/graph.hpp"

namespace lockwarp::cuda {

namespace {

constexpr unsigned non_blocking = 1;                     // CU_STREAM_NON_BLOCKING
constexpr unsigned event_flags = 7, disable_timing = 2;  // CU_EVENT_*
constexpr int lowest_priority = 0, highest_priority = -5;

Stream* new_stream(unsigned flags, int priority) {
    const std::shared_ptr<Context> context = current();
    require(flags <= non_blocking);
    auto stream = std::make_shared<Stream>();
    stream->context = context;
    stream->flags = flags;
    stream->priority = std::max(highest_priority, std::min(lowest_priority, priority));
    stream->id = driver().next_id++;
    return driver().streams.add(std::move(stream));
}

bool is_default(const Stream* stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

std::optional<std::chrono::nanoseconds> time_of(Event* event) {
    const std::shared_ptr<Event> e = driver().events.get(event);
    require((e->flags & disable_timing) == 0, invalid_handle);
    const std::lock_guard lock(e->mutex);
    return e->recorded;
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuStreamCreate(Stream** out, unsigned flags) {
    return answer([&] {
        require(out != nullptr);
        *out = new_stream(flags, 0);
    });
}

Result cuStreamCreateWithPriority(Stream** out, unsigned flags, int priority) {
    return answer([&] {
        require(out != nullptr);
        *out = new_stream(flags, priority);
    });
}

Result cuStreamDestroy_v2(Stream* stream) {
    return answer([&] { ready().streams.take(stream); });
}

Result cuStreamGetPriority(Stream* stream, int* priority) {
    return answer([&] {
        current();
        require(priority != nullptr);
        *priority = is_default(stream) ? 0 : driver().streams.get(stream)->priority;
    });
}

Result cuStreamGetFlags(Stream* stream, unsigned* flags) {
    return answer([&] {
        current();
        require(flags != nullptr);
        *flags = is_default(stream) ? 0 : driver().streams.get(stream)->flags;
    });
}

Result cuStreamGetId(Stream* stream, unsigned long long* id) {
    return answer([&] {
        current();
        require(id != nullptr);
        *id = is_default(stream) ? reinterpret_cast<uintptr_t>(stream)
                                 : driver().streams.get(stream)->id + 2;
    });
}

Result cuStreamGetCtx(Stream* stream, Context** out) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr);
        *out =
            is_default(stream) ? context.get() : driver().streams.get(stream)->context.lock().get();
    });
}

Result cuStreamGetDevice(Stream* stream, DeviceId* device) {
    return answer([&] {
        current();
        check_stream(stream);
        require(device != nullptr);
        *device = 0;
    });
}

Result cuStreamWaitEvent(Stream* stream, Event* event, unsigned flags) {
    return answer([&] {
        current();
        check_stream(stream);
        require(flags <= 1);
        wait_for_event(stream, *driver().events.get(event));
    });
}

Result cuStreamQuery(Stream* stream) {
    return answer([&] {
        current();
        check_stream(stream);
        refuse_capture(stream);
    });
}

Result cuStreamSynchronize(Stream* stream) {
    return answer([&] {
        const std::shared_ptr<Context> context = current_in_error();
        check_stream(stream);
        refuse_capture(stream);
        synchronize(*context);
    });
}

Result cuStreamAddCallback(Stream* stream, StreamCallback callback, void* user, unsigned flags) {
    return answer([&] {
        current();
        check_stream(stream);
        require(callback != nullptr && flags == 0);
        refuse_capture(stream);
        callback(stream, success, user);
    });
}

Result cuLaunchHostFunc(Stream* stream, HostFunction function, void* user) {
    return answer([&] {
        current();
        check_stream(stream);
        require(function != nullptr);
        submit(stream, HostNode{function, user});
    });
}

Result cuStreamAttachMemAsync(Stream* stream, Address, size_t, unsigned flags) {
    constexpr unsigned global = 1, host = 2, single = 4;
    return answer([&] {
        current();
        check_stream(stream);
        require(flags == global || flags == host || (flags == single && stream != nullptr));
    });
}

Result cuEventCreate(Event** out, unsigned flags) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && flags <= event_flags);
        auto event = std::make_shared<Event>();
        event->context = context;
        event->flags = flags;
        *out = driver().events.add(std::move(event));
    });
}

Result cuEventRecord(Event* event, Stream* stream) {
    return answer([&] {
        current();
        check_stream(stream);
        record_event(*driver().events.get(event), stream);
    });
}

Result cuEventRecordWithFlags(Event* event, Stream* stream, unsigned flags) {
    return flags <= 1 ? cuEventRecord(event, stream) : invalid_value;
}

Result cuEventQuery(Event* event) {
    return answer([&] {
        current();
        check_not_captured(*driver().events.get(event));
    });
}

Result cuEventSynchronize(Event* event) {
    return answer([&] {
        const std::shared_ptr<Context> context = current_in_error();
        check_not_captured(*driver().events.get(event));
        synchronize(*context);
    });
}

Result cuEventDestroy_v2(Event* event) {
    return answer([&] { ready().events.take(event); });
}

Result cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
    return answer([&] {
        ready();
        require(milliseconds != nullptr);
        const std::optional<std::chrono::nanoseconds> begin = time_of(from), end = time_of(to);
        require(begin && end, invalid_handle);
        *milliseconds = std::chrono::duration<float, std::milli>(*end - *begin).count();
    });
}

Result cuEventElapsedTime_v2(float* milliseconds, Event* from, Event* to) {
    return cuEventElapsedTime(milliseconds, from, to);
}

}  // extern "C"
