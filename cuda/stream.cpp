// SPDX-License-Identifier: Apache-2.0
// Streams and events. A stream's work is done when it is asked for, so that all waits are over, but
// where another order was asked for (cuda/order.hpp).
#include "cuda/graph.hpp"
#include "cuda/ipc.hpp"
#include "cuda/order.hpp"

namespace lockwarp::cuda {

namespace {

constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned event_flags = 7;   // all of CU_EVENT_*

Stream* new_stream(unsigned flags, int priority) {
    const std::shared_ptr<Context> context = current();
    require(flags <= non_blocking);
    auto stream = std::make_shared<Stream>();
    stream->context = context;
    stream->device = context->device;
    stream->flags = flags;
    stream->priority = std::max(highest_priority, std::min(lowest_priority, priority));
    stream->id = driver().next_id++;
    return driver().streams.add(std::move(stream));
}

uint64_t pending_of(Event& event) {
    const std::lock_guard lock(event.mutex);
    return event.put_off;
}

std::optional<std::chrono::nanoseconds> time_of(Event& event) {
    require(!is_put_off() || !is_pending(pending_of(event)), not_ready);
    const std::lock_guard lock(event.mutex);
    return event.recorded;
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
        const StandIn stand_in(stream);
        current();
        require(priority != nullptr);
        *priority = is_default(stream) ? 0 : driver().streams.get(stream)->priority;
    });
}

Result cuStreamGetFlags(Stream* stream, unsigned* flags) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        require(flags != nullptr);
        *flags = is_default(stream) ? 0 : driver().streams.get(stream)->flags;
    });
}

Result cuStreamGetId(Stream* stream, unsigned long long* id) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        require(id != nullptr);
        *id = is_default(stream) ? reinterpret_cast<uintptr_t>(stream)
                                 : driver().streams.get(stream)->id + 2;
    });
}

Result cuStreamGetCtx(Stream* stream, Context** out) {
    return answer([&] {
        const StandIn stand_in(stream);
        const std::shared_ptr<Context> context = current();
        require(out != nullptr);
        *out =
            is_default(stream) ? context.get() : driver().streams.get(stream)->context.lock().get();
    });
}

Result cuStreamGetDevice(Stream* stream, DeviceId* device) {
    return answer([&] {
        const StandIn stand_in(stream);
        const std::shared_ptr<Context> context = current();
        require(device != nullptr);
        *device = is_default(stream) ? context->device : driver().streams.get(stream)->device;
    });
}

Result cuStreamWaitEvent(Stream* stream, Event* event, unsigned flags) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        check_stream(stream);
        require(flags <= 1);
        wait_for_event(stream, *driver().events.get(event));
    });
}

Result cuStreamQuery(Stream* stream) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        check_stream(stream);
        refuse_capture(stream);
        if (!is_put_off()) return;
        look();
        require(!stream_is_pending(stream), not_ready);
    });
}

Result cuStreamSynchronize(Stream* stream) {
    return answer([&] {
        const StandIn stand_in(stream);
        const std::shared_ptr<Context> context = current_in_error();
        check_stream(stream);
        refuse_capture(stream);
        if (is_default(stream)) refuse_while_captured();
        finish_stream(stream);
        synchronize(*context);
    });
}

Result cuStreamAddCallback(Stream* stream, StreamCallback callback, void* user, unsigned flags) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        check_stream(stream);
        require(callback != nullptr && flags == 0);
        refuse_capture(stream);
        if (!is_put_off()) return callback(stream, success, user);
        using Call = std::tuple<StreamCallback, Stream*, void*>;
        auto call = std::make_unique<Call>(callback, stream, user);
        put_off(stream, HostNode{[](void* own) {
                                     const std::unique_ptr<Call> c(static_cast<Call*>(own));
                                     const auto& [function, of, with] = *c;
                                     function(of, success, with);
                                 },
                                 call.release()});
    });
}

Result cuLaunchHostFunc(Stream* stream, HostFunction function, void* user) {
    return answer([&] {
        const StandIn stand_in(stream);
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
        require((flags & interprocess) == 0 || (flags & disable_timing) != 0);
        auto event = std::make_shared<Event>();
        if ((flags & interprocess) != 0) event->shared = new_shared_event();
        event->context = context;
        event->device = context->device;
        event->flags = flags;
        *out = driver().events.add(std::move(event));
    });
}

Result cuEventRecord(Event* event, Stream* stream) {
    return answer([&] {
        const StandIn stand_in(stream);
        const std::shared_ptr<Context> context = current();
        check_stream(stream);
        const std::shared_ptr<Event> e = driver().events.get(event);
        const DeviceId device =
            is_default(stream) ? context->device : driver().streams.get(stream)->device;
        require(e->device == device, invalid_handle);
        record_event(*e, stream);
    });
}

Result cuEventRecordWithFlags(Event* event, Stream* stream, unsigned flags) {
    return flags <= 1 ? cuEventRecord(event, stream) : invalid_value;
}

Result cuEventQuery(Event* event) {
    return answer([&] {
        const StandIn stand_in(event);
        current();
        const std::shared_ptr<Event> e = driver().events.get(event);
        check_not_captured(*e);
        require(e->shared == nullptr || !e->shared->is_awaited(), not_ready);
        if (!is_put_off()) return;
        look();
        require(!is_pending(pending_of(*e)), not_ready);
    });
}

Result cuEventSynchronize(Event* event) {
    return answer([&] {
        const StandIn stand_in(event);
        const std::shared_ptr<Context> context = current_in_error();
        const std::shared_ptr<Event> e = driver().events.get(event);
        check_not_captured(*e);
        if (is_put_off()) finish(pending_of(*e));
        if (e->shared != nullptr) e->shared->wait();
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
        const std::shared_ptr<Event> first = driver().events.get(from);
        const std::shared_ptr<Event> last = driver().events.get(to);
        require(
            first->device == last->device && ((first->flags | last->flags) & disable_timing) == 0,
            invalid_handle);
        const std::optional<std::chrono::nanoseconds> begin = time_of(*first), end = time_of(*last);
        require(begin && end, invalid_handle);
        *milliseconds = std::chrono::duration<float, std::milli>(*end - *begin).count();
    });
}

Result cuEventElapsedTime_v2(float* milliseconds, Event* from, Event* to) {
    return cuEventElapsedTime(milliseconds, from, to);
}

}  // extern "C"
