// SPDX-License-Identifier: Apache-2.0
// Capture: what a stream is asked for becomes a graph. Other streams take part from when they wait
// for an event that was recorded in it.
#include <algorithm>

#include "cuda/graph.hpp"
#include "cuda/ipc.hpp"
#include "cuda/order.hpp"
#include "cuda/watch.hpp"

namespace lockwarp::cuda {

namespace {

constexpr Result capture_unsupported{900}, capture_invalidated{901}, capture_merge{902},
    capture_unmatched{903}, capture_unjoined{904}, capture_implicit{906}, captured_event_error{907};

// CUstreamCaptureStatus
constexpr int not_capturing = 0, capturing = 1, invalid_capture = 2;

std::atomic<int> captures{0};  // of streams that the default stream waits for
thread_local int thread_mode = 0;

std::shared_ptr<Stream> stream_of(Stream* stream) {
    require(!is_default(stream), capture_unsupported);
    return driver().streams.get(stream);
}

// Its capture, nullptr where it has none.
std::shared_ptr<Capture> capture_of(Stream* stream) {
    if (is_default(stream)) return nullptr;
    const std::shared_ptr<Stream> s = driver().streams.get(stream);
    const std::lock_guard lock(s->mutex);
    return s->capture;
}

void append(std::vector<GraphNode*>& to, std::span<GraphNode* const> nodes) {
    for (GraphNode* const n : nodes)
        if (std::ranges::find(to, n) == to.end()) to.push_back(n);
}

// The last nodes of other streams must be what the origin's next one would wait for, or come before
// others; those that the program added itself need not (NCCL's records of events).
bool all_joined(Graph& graph, const std::vector<GraphNode*>& frontier,
                const std::vector<GraphNode*>& of_others) {
    const std::lock_guard lock(graph.mutex);
    return std::ranges::all_of(of_others, [&](GraphNode* n) {
        const bool is_last =
            n->is_captured && std::ranges::none_of(graph.nodes, [&](const auto& other) {
                return std::ranges::find(other->before, n) != other->before.end();
            });
        return !is_last || std::ranges::find(frontier, n) != frontier.end();
    });
}

void begin_capture(Stream* stream, const std::shared_ptr<Graph>& graph,
                   std::span<GraphNode* const> after, int mode) {
    current();
    const std::shared_ptr<Stream> s = stream_of(stream);
    const std::lock_guard lock(s->mutex);
    require(s->capture == nullptr, Result(401));
    s->capture = std::make_shared<Capture>();
    s->capture->graph = graph;
    s->capture->mode = mode;
    s->capture->id = driver().next_id++;
    s->capture->origin = stream;
    s->frontier.assign(after.begin(), after.end());
    ++captures;
}

void leave(Stream& s) {
    s.capture = nullptr;
    s.frontier.clear();
}

Result end_capture(Stream* stream, Graph** out) {
    return answer([&] {
        // Who captures to a graph of his own needs no handle of it.
        const std::shared_ptr<Stream> s = stream_of(stream);
        if (out != nullptr) *out = nullptr;
        std::shared_ptr<Capture> c;
        std::vector<GraphNode*> frontier, of_others;
        {
            const std::lock_guard lock(s->mutex);
            c = s->capture;
            require(c != nullptr, Result(401));
            require(c->origin == stream, capture_unmatched);
            frontier = s->frontier;
            leave(*s);
        }
        --captures;
        driver().streams.each([&](Stream& other) {
            const std::lock_guard lock(other.mutex);
            if (other.capture != c) return;
            of_others.insert(of_others.end(), other.frontier.begin(), other.frontier.end());
            leave(other);
        });
        if (c->invalidated) {  // the graph is gone, also one that was there before
            driver().graphs.erase_if([&](const Graph& g) { return &g == c->graph.get(); });
            forget(c->graph);
            fail(capture_invalidated);
        }
        require(all_joined(*c->graph, frontier, of_others), capture_unjoined);
        if (out == nullptr) return;
        *out = c->graph.get();
        driver().graphs.add_once(c->graph);
    });
}

}  // namespace

void refuse_capture(Stream* stream) {
    if (is_default(stream)) {
        if (captures == 0 || reinterpret_cast<uintptr_t>(stream) == 2) return;
        driver().streams.each([&](Stream& s) {
            const std::lock_guard lock(s.mutex);
            if (s.capture != nullptr && (s.flags & 1) == 0) {
                s.capture->invalidated = true;
                fail(capture_implicit);
            }
        });
        return;
    }
    if (captures == 0) return;
    const std::shared_ptr<Capture> c = capture_of(stream);
    if (c == nullptr) return;
    c->invalidated = true;
    fail(capture_unsupported);
}

void refuse_while_captured() {
    constexpr int global = 0, relaxed = 2;
    if (captures == 0 || thread_mode == relaxed) return;
    driver().streams.each([&](Stream& s) {
        const std::lock_guard lock(s.mutex);
        if (s.capture == nullptr || s.capture->mode != global) return;
        s.capture->invalidated = true;
        fail(capture_unsupported);
    });
}

std::shared_ptr<Graph> graph_of_capture(Stream* stream) {
    const std::shared_ptr<Capture> c = captures == 0 ? nullptr : capture_of(stream);
    return c == nullptr ? nullptr : c->graph;
}

void submit(Stream* stream, Work work) {
    if (captures == 0) return perform(stream, std::move(work));
    if (is_default(stream)) refuse_capture(stream);
    const std::shared_ptr<Capture> c = capture_of(stream);
    if (c == nullptr) return perform(stream, std::move(work));
    require(!c->invalidated, capture_invalidated);
    const std::shared_ptr<Stream> s = driver().streams.get(stream);
    const std::lock_guard lock(s->mutex);
    s->frontier = {add_node(c->graph, s->frontier, std::move(work))};
    s->frontier[0]->is_captured = true;
}

void record_event(Event& event, Stream* stream) {
    const std::shared_ptr<Capture> c = captures == 0 ? nullptr : capture_of(stream);
    if (c == nullptr) {
        {
            const std::lock_guard lock(event.mutex);
            event.capture.reset();
            event.captured.clear();
        }
        if (!is_put_off()) return record_now(event);
        RecordWork work{driver().events.get(&event)};
        if (event.shared != nullptr) work.awaited = SharedEvent::to_be_recorded(event.shared);
        const uint64_t number = put_off(stream, std::move(work));
        // Who waits in another process does not have this one's work done.
        if (event.shared != nullptr && has_order()) return finish(number);
        const std::lock_guard lock(event.mutex);
        event.put_off = number;
        return;
    }
    const std::lock_guard lock(event.mutex);
    event.capture = c;
    event.captured.clear();
    const std::shared_ptr<Stream> s = driver().streams.get(stream);
    const std::lock_guard of_stream(s->mutex);
    event.captured = s->frontier;
}

void record_now(Event& event) {
    const std::lock_guard lock(event.mutex);
    event.recorded =
        has_device_time() ? device_time() : std::chrono::steady_clock::now().time_since_epoch();
}

void check_not_captured(Event& event) {
    const std::lock_guard lock(event.mutex);
    require(event.capture.expired(), captured_event_error);
}

void wait_for_event(Stream* stream, Event& event) {
    std::shared_ptr<Capture> c;
    std::vector<GraphNode*> nodes;
    uint64_t recorded = 0;
    {
        const std::lock_guard lock(event.mutex);
        c = event.capture.lock();
        nodes = event.captured;
        recorded = event.put_off;
    }
    if (c == nullptr) {
        if (event.shared != nullptr) event.shared->wait();
        if (recorded != 0 && is_put_off()) put_off(stream, Nothing{}, recorded);
        return;
    }
    require(!is_default(stream), capture_implicit);
    const std::shared_ptr<Stream> s = driver().streams.get(stream);
    const std::lock_guard lock(s->mutex);
    require(s->capture == nullptr || s->capture == c, capture_merge);
    s->capture = c;
    append(s->frontier, nodes);
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuStreamBeginCapture_v2(Stream* stream, int mode) {
    return answer([&] {
        require(mode >= 0 && mode <= 2);
        begin_capture(stream, std::make_shared<Graph>(), {}, mode);
    });
}

Result cuStreamBeginCapture(Stream* stream) { return cuStreamBeginCapture_v2(stream, 0); }

Result cuStreamBeginCaptureToGraph(Stream* stream, Graph* graph, GraphNode* const* before,
                                   const void*, size_t count, int mode) {
    return answer([&] {
        require(mode >= 0 && mode <= 2 && (count == 0 || before != nullptr));
        begin_capture(stream, ready().graphs.get(graph), {before, count}, mode);
    });
}

Result cuStreamEndCapture(Stream* stream, Graph** out) { return end_capture(stream, out); }

Result cuThreadExchangeStreamCaptureMode(int* mode) {
    return answer([&] {
        require(mode != nullptr && *mode >= 0 && *mode <= 2);
        std::swap(*mode, thread_mode);
    });
}

Result cuStreamIsCapturing(Stream* stream, int* status) {
    return answer([&] {
        current();
        check_stream(stream);
        require(status != nullptr);
        const std::shared_ptr<Capture> c = capture_of(stream);
        *status = c == nullptr ? not_capturing : c->invalidated ? invalid_capture : capturing;
    });
}

// The edges' data are 0 for each; `edges` may be nullptr.
Result cuStreamGetCaptureInfo_v3(Stream* stream, int* status, uint64_t* id, Graph** graph,
                                 GraphNode* const** nodes, const void** edges, size_t* count) {
    static const uint64_t no_data[64] = {};
    return answer([&] {
        check(cuStreamIsCapturing(stream, status));
        const std::shared_ptr<Capture> c = capture_of(stream);
        if (c == nullptr) return;
        const std::shared_ptr<Stream> s = driver().streams.get(stream);
        const std::lock_guard lock(s->mutex);
        if (id != nullptr) *id = c->id;
        if (graph != nullptr) {
            driver().graphs.add_once(c->graph);
            *graph = c->graph.get();
        }
        if (nodes != nullptr) *nodes = s->frontier.data();
        if (edges != nullptr) *edges = s->frontier.size() <= 64 ? no_data : nullptr;
        if (count != nullptr) *count = s->frontier.size();
    });
}

Result cuStreamGetCaptureInfo_v2(Stream* stream, int* status, uint64_t* id, Graph** graph,
                                 GraphNode* const** nodes, size_t* count) {
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, nullptr, count);
}

Result cuStreamGetCaptureInfo(Stream* stream, int* status, uint64_t* id) {
    return cuStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

Result cuStreamUpdateCaptureDependencies_v2(Stream* stream, GraphNode* const* nodes, const void*,
                                            size_t count, unsigned flags) {
    constexpr unsigned set = 1;
    return answer([&] {
        require(flags <= set && (count == 0 || nodes != nullptr));
        const std::shared_ptr<Stream> s = stream_of(stream);
        const std::lock_guard lock(s->mutex);
        require(s->capture != nullptr, Result(401));
        if (flags == set) s->frontier.clear();
        append(s->frontier, {nodes, count});
    });
}

Result cuStreamUpdateCaptureDependencies(Stream* stream, GraphNode* const* nodes, size_t count,
                                         unsigned flags) {
    return cuStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, count, flags);
}

}  // extern "C"
