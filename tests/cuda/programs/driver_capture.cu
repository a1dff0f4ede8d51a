// SPDX-License-Identifier: Apache-2.0
// The driver API: graphs that are captured from streams, and user objects.
// nvcc: -lcuda
#include <unistd.h>

#include <atomic>

#include "driver_check.hpp"

std::atomic<int> ended = 0;
void end_it(void*) { ++ended; }

CUresult info(CUstream s, CUstreamCaptureStatus* status, CUgraph* graph, const CUgraphNode** nodes,
              size_t* count) {
    cuuint64_t id = 0;
#if CUDA_VERSION >= 13000
    return cuStreamGetCaptureInfo(s, status, &id, graph, nodes, nullptr, count);
#else
    return cuStreamGetCaptureInfo(s, status, &id, graph, nodes, count);
#endif
}
CUresult set_nodes(CUstream s, CUgraphNode* nodes, size_t count) {
    constexpr unsigned flags = CU_STREAM_SET_CAPTURE_DEPENDENCIES;
#if CUDA_VERSION >= 13000
    return cuStreamUpdateCaptureDependencies(s, nodes, nullptr, count, flags);
#else
    return cuStreamUpdateCaptureDependencies(s, nodes, count, flags);
#endif
}

// Another stream takes part. Its last node need not be waited for where the program added it by
// itself, and must where the stream did.
void joins(const World& world, CUstream s) {
    CUstream other = nullptr;
    CUevent event = nullptr;
    DO(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    DO(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (const bool is_own : {true, false}) {
        CUgraph graph = nullptr, out = nullptr;
        CUstreamCaptureStatus status{};
        const CUgraphNode* nodes = nullptr;
        size_t count = 0;
        DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
        DO(cuEventRecord(event, s));
        DO(cuStreamWaitEvent(other, event, 0));
        world.launch_add(1, s);
        if (is_own) {
            CUgraphNode node = nullptr;
            DO(info(other, &status, &graph, &nodes, &count));
            DO(cuGraphAddEventRecordNode(&node, graph, nodes, count, event));
            DO(set_nodes(other, &node, 1));
        } else {
            world.launch_add(10, other);
        }
        EXPECT_RESULT(cuStreamEndCapture(s, &out),
                      is_own ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        if (is_own) DO(cuGraphDestroy(out));
    }
    DO(cuEventDestroy(event));
    DO(cuStreamDestroy(other));
}

int main() {
    World world;
    CUstream s = nullptr;
    DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUgraph graph = nullptr, seen = nullptr;
    CUstreamCaptureStatus status{};
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    DO(cuThreadExchangeStreamCaptureMode(&mode));
    DO(cuThreadExchangeStreamCaptureMode(&mode));
    DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    world.launch_add(1, s);
    DO(cuStreamIsCapturing(s, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    const CUgraphNode* nodes = nullptr;
    size_t count = 0;
    DO(info(s, &status, &seen, &nodes, &count));
    CHECK(count == 1 && status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CUgraphNode last = nodes[0];
    world.launch_add(10, s);
    DO(set_nodes(s, &last, 1));  // the next one comes beside the second
    world.launch_add(100, s);
    DO(cuStreamEndCapture(s, &graph));  // what nothing waits for is another stream's, or no fault
    DO(cuGraphGetNodes(graph, nullptr, &count));
    CHECK(count == 3);
    DO(cuGraphDestroy(graph));

    // Nobody waits for the legacy stream while a stream is captured, but in relaxed mode.
    DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_RESULT(cuStreamSynchronize(nullptr), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    DO(cuStreamIsCapturing(s, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_RESULT(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    DO(cuStreamSynchronize(nullptr));
    DO(cuStreamEndCapture(s, &graph));
    DO(cuGraphDestroy(graph));
    joins(world, s);

    DO(cuGraphCreate(&graph, 0));
    DO(cuStreamBeginCaptureToGraph(s, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    world.launch_add(1, s);
    world.launch_add(2, s);
    DO(cuStreamEndCapture(s, &seen));
    CHECK(seen == graph);
    CUuserObject object = nullptr;
    DO(cuUserObjectCreate(&object, &ended, end_it, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    DO(cuUserObjectRetain(object, 1));
    DO(cuGraphRetainUserObject(graph, object, 1, 0));
    DO(cuUserObjectRelease(object, 2));
    CHECK(ended == 0);
    CUgraphExec exec = nullptr;
    DO(cuGraphInstantiate(&exec, graph, 0));
    world.set(0);
    DO(cuCtxSynchronize());  // the stream does not wait for the default one
    for (int i = 0; i < 4; ++i) DO(cuGraphLaunch(exec, s));
    DO(cuStreamSynchronize(s));
    CHECK(world.value() == 12);
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphReleaseUserObject(graph, object, 1));
    DO(cuGraphDestroy(graph));
    for (int i = 0; i < 2000 && ended == 0; ++i) usleep(1000);  // at once or a moment later
    CHECK(ended == 1);
    DO(cuStreamDestroy(s));
    return done("driver_capture");
}
