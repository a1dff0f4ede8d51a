// SPDX-License-Identifier: Apache-2.0
// The driver API: streams, events, functions of the host in their order.
// nvcc: -lcuda
#include "driver_check.hpp"

void count(void* user) { ++*static_cast<int*>(user); }
void count_back(CUstream, CUresult result, void* user) {
    if (result == CUDA_SUCCESS) ++*static_cast<int*>(user);
}

void properties(const World& world, CUstream s) {
    CUstream first = nullptr;
    DO(cuStreamCreateWithPriority(&first, CU_STREAM_NON_BLOCKING, -1));
    int priority = 9;
    DO(cuStreamGetPriority(first, &priority));
    CHECK(priority == -1);
    unsigned flags = 9;
    DO(cuStreamGetFlags(first, &flags));
    CHECK(flags == CU_STREAM_NON_BLOCKING);
    unsigned long long id = 0, other = 0;
    DO(cuStreamGetId(first, &id));
    DO(cuStreamGetId(s, &other));
    CHECK(id != other);
    CUcontext context = nullptr;
    DO(cuStreamGetCtx(first, &context));
    CHECK(context == world.context);
    CUdevice device = -1;
    DO(cuStreamGetDevice(first, &device));
    CHECK(device == 0);
    CUstreamAttrValue value{}, got{};
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    DO(cuStreamSetAttribute(first, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    DO(cuStreamCopyAttributes(s, first));
    DO(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
    CHECK(got.syncPolicy == CU_SYNC_POLICY_YIELD);
    DO(cuStreamDestroy(first));
}

void order(const World& world, CUstream s) {
    CUstream other = nullptr;
    CUevent begin = nullptr, end = nullptr;
    DO(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    DO(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    DO(cuEventCreate(&end, CU_EVENT_DEFAULT));
    int calls = 0;
    world.set(1);
    DO(cuCtxSynchronize());
    DO(cuEventRecord(begin, s));
    world.launch_add(1, s);
    DO(cuLaunchHostFunc(s, count, &calls));
    DO(cuStreamAddCallback(s, count_back, &calls, 0));
    DO(cuEventRecordWithFlags(end, s, CU_EVENT_RECORD_DEFAULT));
    DO(cuStreamWaitEvent(other, end, 0));
    world.launch_add(10, other);
    while (cuStreamQuery(other) == CUDA_ERROR_NOT_READY) {
    }
    DO(cuEventQuery(end));
    DO(cuEventSynchronize(end));
    CHECK(world.value() == 12 && calls == 2);
    float milliseconds = -1;
    DO(cuEventElapsedTime(&milliseconds, begin, end));
    CHECK(milliseconds >= 0);
    DO(cuStreamSynchronize(other));
    CUdeviceptr x = 0;
    DO(cuMemAllocManaged(&x, 64, CU_MEM_ATTACH_GLOBAL));
    DO(cuStreamAttachMemAsync(s, x, 0, CU_MEM_ATTACH_SINGLE));
    DO(cuStreamSynchronize(s));
    DO(cuMemFree(x));
    DO(cuEventDestroy(begin));
    DO(cuEventDestroy(end));
    DO(cuStreamDestroy(other));
}

int main() {
    const World world;
    CUstream s = nullptr;
    DO(cuStreamCreate(&s, CU_STREAM_DEFAULT));
    properties(world, s);
    order(world, s);
    DO(cuStreamDestroy(s));
    return done("driver_streams");
}
