// SPDX-License-Identifier: Apache-2.0
// The driver API: streams that wait until memory has a value, and write one.
// nvcc: -lcuda
#include "driver_check.hpp"

struct Words {
    CUdeviceptr of_device = 0;
    volatile unsigned* of_host = nullptr;
    CUdeviceptr host() const { return reinterpret_cast<CUdeviceptr>(of_host); }
    template <class T>
    T device() const {
        T out = 0;
        DO(cuMemcpyDtoH(&out, of_device, sizeof out));
        return out;
    }
};

// What waits here goes on once the host has written `now`, and not where it wrote `before`.
void waits(CUstream s, const Words& w, unsigned flags, unsigned value, unsigned before,
           unsigned now) {
    w.of_host[0] = before;
    w.of_host[1] = 0;
    DO(cuStreamWaitValue32(s, w.host(), value, flags));
    DO(cuStreamWriteValue32(s, w.host() + 4, value + 1, CU_STREAM_WRITE_VALUE_DEFAULT));
    for (int i = 0; i < 3; ++i) EXPECT_RESULT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    CHECK(w.of_host[1] == 0);
    w.of_host[0] = now;
    DO(cuStreamSynchronize(s));
    CHECK(w.of_host[1] == value + 1);
}

void conditions(CUstream s, const Words& w) {
    waits(s, w, CU_STREAM_WAIT_VALUE_EQ, 5, 6, 5);
    waits(s, w, CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 5);
    waits(s, w, CU_STREAM_WAIT_VALUE_GEQ, 5, 0, 6);
    waits(s, w, CU_STREAM_WAIT_VALUE_GEQ, 0xffffffff, 0xfffffffe, 0);  // the difference goes round
    waits(s, w, CU_STREAM_WAIT_VALUE_GEQ, 5, 0x80000005, 0x80000004);
    waits(s, w, CU_STREAM_WAIT_VALUE_AND, 6, 8, 4);
    waits(s, w, CU_STREAM_WAIT_VALUE_NOR, 0xfffffff0, 0xf, 0xe);
}

void wide(CUstream s, const Words& w) {
    volatile auto* const words = reinterpret_cast<volatile unsigned long long*>(w.of_host);
    constexpr unsigned long long high = 1ull << 40;
    words[0] = 5;
    DO(cuStreamWaitValue64(s, w.host(), high + 5, CU_STREAM_WAIT_VALUE_EQ));
    DO(cuStreamWriteValue64(s, w.of_device, high + 7, CU_STREAM_WRITE_VALUE_DEFAULT));
    EXPECT_RESULT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    words[0] = high + 5;
    DO(cuStreamSynchronize(s));
    CHECK(w.device<unsigned long long>() == high + 7);
}

CUstreamBatchMemOpParams operation(CUstreamBatchMemOpType type, CUdeviceptr at, unsigned value) {
    CUstreamBatchMemOpParams o{};
    if (type == CU_STREAM_MEM_OP_WAIT_VALUE_32) {
        o.waitValue.operation = type;
        o.waitValue.address = at;
        o.waitValue.value = value;
        o.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    } else {
        o.writeValue.operation = type;
        o.writeValue.address = at;
        o.writeValue.value = value;
    }
    return o;
}

// One stream lets the other go on, which answers.
void between_streams(const World& world, CUstream s, CUstream other, const Words& w) {
    DO(cuMemsetD32(w.of_device, 0, 2));
    DO(cuCtxSynchronize());
    CUstreamBatchMemOpParams asks[2] = {
        operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, w.of_device, 1),
        operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, w.of_device + 4, 2)};
    world.set(1);
    DO(cuCtxSynchronize());
    DO(cuStreamBatchMemOp(other, 2, asks, 0));
    world.launch_add(10, other);
    EXPECT_RESULT(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    world.launch_add(100, s, w.of_device + 256);
    DO(cuStreamWriteValue32(s, w.of_device, 1, 0));
    DO(cuStreamWaitValue32(s, w.of_device + 4, 2, CU_STREAM_WAIT_VALUE_EQ));
    DO(cuStreamSynchronize(s));
    DO(cuStreamSynchronize(other));
    CHECK(world.value() == 11);
}

void in_graphs(CUstream s, const Words& w) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    w.of_host[0] = 0;
    DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    DO(cuStreamWaitValue32(s, w.host(), 1, CU_STREAM_WAIT_VALUE_EQ));
    DO(cuStreamWriteValue32(s, w.of_device, 77, 0));
    DO(cuStreamEndCapture(s, &graph));
    CUgraphNode nodes[3] = {};
    size_t count = 3;
    DO(cuGraphGetNodes(graph, nodes, &count));
    CHECK(count == 2);
    CUgraphNodeType type{};
    DO(cuGraphNodeGetType(nodes[0], &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    CUstreamBatchMemOpParams last = operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, w.of_device + 4, 8);
    CUDA_BATCH_MEM_OP_NODE_PARAMS node{}, got{};
    DO(cuCtxGetCurrent(&node.ctx));
    node.count = 1;
    node.paramArray = &last;
    CUgraphNode added = nullptr;
    DO(cuGraphAddBatchMemOpNode(&added, graph, nodes, 2, &node));
    last.writeValue.value = 9;
    DO(cuGraphBatchMemOpNodeSetParams(added, &node));
    DO(cuGraphBatchMemOpNodeGetParams(added, &got));
    CHECK(got.count == 1 && got.paramArray[0].writeValue.value == 9);
    DO(cuGraphInstantiateWithFlags(&exec, graph, 0));
    last.writeValue.value = 10;
    DO(cuGraphExecBatchMemOpNodeSetParams(exec, added, &node));
    DO(cuGraphLaunch(exec, s));
    EXPECT_RESULT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    w.of_host[0] = 1;
    DO(cuStreamSynchronize(s));
    CHECK(w.device<unsigned long long>() == (10ull << 32 | 77));
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphDestroy(graph));
}

void refusals(CUstream s, const Words& w) {
    EXPECT_RESULT(cuStreamWriteValue32(s, w.of_device + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuStreamWriteValue64(s, w.of_device + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuStreamWriteValue32(s, 64, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuStreamWriteValue32(s, w.of_device, 1, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuStreamWriteValue32(s, w.of_device, 1, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuStreamWaitValue32(s, w.of_device, 1, 4), CUDA_ERROR_INVALID_VALUE);
    CUstreamBatchMemOpParams o = operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, w.of_device, 1);
    DO(cuStreamBatchMemOp(s, 0, nullptr, 0));
    EXPECT_RESULT(cuStreamBatchMemOp(s, 1, &o, 1), CUDA_ERROR_INVALID_VALUE);
    o.operation = static_cast<CUstreamBatchMemOpType>(99);
    EXPECT_RESULT(cuStreamBatchMemOp(s, 1, &o, 0), CUDA_ERROR_INVALID_VALUE);
    for (const CUdevice_attribute a : {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                                       CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR}) {
        int value = 0;
        DO(cuDeviceGetAttribute(&value, a, 0));
        CHECK(value == 1);
    }
}

int main() {
    const World world;
    CUstream s = nullptr, other = nullptr;
    DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    DO(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    Words w;
    void* host = nullptr;
    DO(cuMemAlloc(&w.of_device, 1024));
    DO(cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    w.of_host = static_cast<unsigned*>(host);
    conditions(s, w);
    wide(s, w);
    between_streams(world, s, other, w);
    in_graphs(s, w);
    refusals(s, w);
    DO(cuMemFreeHost(host));
    DO(cuMemFree(w.of_device));
    DO(cuStreamDestroy(other));
    DO(cuStreamDestroy(s));
    return done("driver_stream_memory");
}
