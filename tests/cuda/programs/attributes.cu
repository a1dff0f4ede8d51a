// SPDX-License-Identifier: Apache-2.0
// Attributes of streams, who may use a pool, objects that graphs keep.
#include "check.hpp"

int ended = 0;
void end(void* by) { ended += *static_cast<int*>(by); }

void streams() {
    cudaStream_t s, t;
    OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, -2));
    OK(cudaStreamCreate(&t));
    cudaStreamAttrValue value{};
    value.syncPolicy = cudaSyncPolicyYield;
    OK(cudaStreamSetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, &value));
    value = {};
    OK(cudaStreamGetAttribute(s, cudaLaunchAttributePriority, &value));
    CHECK(value.priority == -2);
    OK(cudaStreamCopyAttributes(t, s));
    OK(cudaStreamGetAttribute(t, cudaLaunchAttributeSynchronizationPolicy, &value));
    CHECK(value.syncPolicy == cudaSyncPolicyYield);
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
}

void pools() {
    cudaMemPool_t pool;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    cudaMemLocation here{};
    here.type = cudaMemLocationTypeDevice;
    cudaMemAccessFlags access = cudaMemAccessFlagsProtNone;
    OK(cudaMemPoolGetAccess(&access, pool, &here));
    CHECK(access == cudaMemAccessFlagsProtReadWrite);
}

void kept_objects() {
    int one = 1;
    cudaUserObject_t object;
    OK(cudaUserObjectCreate(&object, &one, end, 1, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectRetain(object, 1));
    cudaGraph_t graph, copy;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    OK(cudaGraphRetainUserObject(graph, object, 1, 0));
    OK(cudaGraphReleaseUserObject(graph, object, 1));
    OK(cudaUserObjectRelease(object, 1));
    OK(cudaGraphClone(&copy, graph));
    OK(cudaGraphDestroy(graph));
    CHECK(ended == 0);
    OK(cudaGraphDestroy(copy));
    CHECK(ended == 1);
}

int main() {
    streams();
    pools();
    kept_objects();
    return done("attributes");
}
