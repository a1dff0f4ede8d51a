// SPDX-License-Identifier: Apache-2.0
// Work that is done later, in another order than it was asked for: what is not waited for has not
// happened, what is not ordered happens either way, and what is waited for or ordered holds.
// exec: --order 4
#include "check.hpp"

__global__ void put(int* x, int value) { *x = value; }
__global__ void add(int* x, int value) { *x += value; }

int *x, *seen;  // of the device, and of the host

int value_of_x() {
    int h = -1;
    OK(cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost));
    return h;
}

// Faulty: the host reads before it waits.
void missing_wait(cudaStream_t s) {
    *seen = 0;
    put<<<1, 1, 0, s>>>(x, 5);
    OK(cudaMemcpyAsync(seen, x, sizeof *x, cudaMemcpyDeviceToHost, s));
    CHECK(*seen == 0);
    EXPECT_ERROR(cudaStreamQuery(s), cudaErrorNotReady);
    CHECK(cudaGetLastError() == cudaSuccess);
    OK(cudaStreamSynchronize(s));
    CHECK(*seen == 5);
    OK(cudaStreamQuery(s));
}

// Faulty: the host writes over what is still to be copied.
void overwritten_source(cudaStream_t s) {
    *seen = 1;
    OK(cudaMemcpyAsync(x, seen, sizeof *x, cudaMemcpyHostToDevice, s));
    *seen = 2;
    OK(cudaStreamSynchronize(s));
    CHECK(value_of_x() == 2);
}

// Memory of the host that the driver does not know has been read when the call is over.
void pageable_source(cudaStream_t s) {
    int own = 1;
    OK(cudaMemcpyAsync(x, &own, sizeof own, cudaMemcpyHostToDevice, s));
    own = 2;
    OK(cudaStreamSynchronize(s));
    CHECK(value_of_x() == 1);
}

// Faulty: two streams that nothing orders. In 32 rounds both orders are seen.
void missing_event(cudaStream_t a, cudaStream_t b) {
    int first = 0, second = 0;
    for (int i = 0; i < 32; ++i) {
        put<<<1, 1, 0, a>>>(x, 1);
        put<<<1, 1, 0, b>>>(x, 2);
        OK(cudaDeviceSynchronize());
        (value_of_x() == 1 ? first : second) += 1;
    }
    CHECK(first > 0 && second > 0);
}

// Right: the event orders them, whatever the seed.
void with_event(cudaStream_t a, cudaStream_t b) {
    cudaEvent_t e;
    OK(cudaEventCreate(&e));
    for (int i = 0; i < 32; ++i) {
        put<<<1, 1, 0, a>>>(x, i);
        OK(cudaEventRecord(e, a));
        OK(cudaStreamWaitEvent(b, e));
        add<<<1, 1, 0, b>>>(x, 100);
        OK(cudaStreamSynchronize(b));
        CHECK(value_of_x() == 100 + i);
    }
    put<<<1, 1, 0, a>>>(x, 3);
    OK(cudaEventRecord(e, a));
    EXPECT_ERROR(cudaEventQuery(e), cudaErrorNotReady);
    while (cudaEventQuery(e) == cudaErrorNotReady) {
    }
    CHECK(value_of_x() == 3);
    OK(cudaEventDestroy(e));
}

// Right: the default stream waits for the others, and they for it.
void default_stream(cudaStream_t a) {
    cudaStream_t apart;
    OK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    for (int i = 0; i < 16; ++i) {
        put<<<1, 1, 0, a>>>(x, i);
        add<<<1, 1>>>(x, 100);
        add<<<1, 1, 0, a>>>(x, 1000);
        CHECK(value_of_x() == 1100 + i);
    }
    // One that does not wait for it may come first.
    int before = 0;
    for (int i = 0; i < 32; ++i) {
        put<<<1, 1>>>(x, 0);
        add<<<1, 1, 0, apart>>>(x, 1);
        OK(cudaDeviceSynchronize());
        before += value_of_x() == 0 ? 1 : 0;
    }
    CHECK(before > 0 && before < 32);
    OK(cudaStreamDestroy(apart));
}

// Functions of the host come in their stream's order, and a graph is launched as it was.
void others(cudaStream_t s) {
    int count = 0;
    const auto count_it = [](void* user) { ++*static_cast<int*>(user); };
    OK(cudaLaunchHostFunc(s, count_it, &count));
    CHECK(count == 0);
    OK(cudaStreamSynchronize(s));
    CHECK(count == 1);

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, s>>>(x, 10);
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaMemset(x, 0, sizeof *x));
    for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    CHECK(value_of_x() == 30);

    int* own = nullptr;
    OK(cudaMallocAsync(&own, sizeof *own, s));
    put<<<1, 1, 0, s>>>(own, 8);
    OK(cudaMemcpyAsync(x, own, sizeof *x, cudaMemcpyDeviceToDevice, s));
    OK(cudaFreeAsync(own, s));
    CHECK(value_of_x() == 8);
}

// What is wrong with a call is its own error; what a kernel does wrong comes later.
void errors(cudaStream_t s) {
    put<<<1, 2000, 0, s>>>(x, 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemsetAsync(reinterpret_cast<void*>(64), 0, 4, s), cudaErrorInvalidValue);
    cudaGetLastError();
    put<<<1, 1, 0, s>>>(nullptr, 1);
    CHECK(cudaGetLastError() == cudaSuccess);
    EXPECT_ERROR(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
}

int main() {
    cudaStream_t a, b;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaMalloc(&x, sizeof *x));
    OK(cudaMallocHost(&seen, sizeof *seen));
    missing_wait(a);
    overwritten_source(a);
    pageable_source(a);
    missing_event(a, b);
    with_event(a, b);
    default_stream(a);
    others(a);
    errors(a);
    return done("order");
}
