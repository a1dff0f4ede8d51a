// SPDX-License-Identifier: Apache-2.0
// Memory in the order of a stream, and pools.
#include "check.hpp"

__global__ void fill(int* x) { x[threadIdx.x] = 4; }

// Of the memory that a place has: what is allocated from its pool is that memory.
void places(cudaStream_t s) {
#if CUDART_VERSION >= 13000
    struct Place {
        cudaMemLocation location;
        cudaMemAllocationType type;
        cudaMemoryType memory;
    };
    const Place all[] = {
        {{cudaMemLocationTypeDevice, 0}, cudaMemAllocationTypePinned, cudaMemoryTypeDevice},
        {{cudaMemLocationTypeHost, 0}, cudaMemAllocationTypePinned, cudaMemoryTypeHost},
        {{cudaMemLocationTypeNone, 0}, cudaMemAllocationTypeManaged, cudaMemoryTypeManaged}};
    for (Place p : all) {
        cudaMemPool_t normal, mine, now;
        OK(cudaMemGetDefaultMemPool(&normal, &p.location, p.type));
        OK(cudaMemGetMemPool(&now, &p.location, p.type));
        CHECK(now == normal);
        cudaMemPoolProps properties{};
        properties.allocType = p.type;
        properties.location = p.location;
        OK(cudaMemPoolCreate(&mine, &properties));
        OK(cudaMemSetMemPool(&p.location, p.type, mine));
        OK(cudaMemGetMemPool(&now, &p.location, p.type));
        CHECK(now == mine);
        if (p.memory == cudaMemoryTypeHost) {
            cudaMemAccessDesc access{};
            access.location = {cudaMemLocationTypeDevice, 0};
            access.flags = cudaMemAccessFlagsProtReadWrite;
            OK(cudaMemPoolSetAccess(mine, &access, 1));
        }
        int* x = nullptr;
        int h[32] = {};
        OK(cudaMallocFromPoolAsync(&x, sizeof h, mine, s));
        fill<<<1, 32, 0, s>>>(x);
        OK(cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDefault, s));
        OK(cudaStreamSynchronize(s));
        for (int i : h) CHECK(i == 4);
        cudaPointerAttributes attributes{};
        OK(cudaPointerGetAttributes(&attributes, x));
        CHECK(attributes.type == p.memory);
        if (p.memory != cudaMemoryTypeDevice) CHECK(x[31] == 4);
        OK(cudaFreeAsync(x, s));
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolDestroy(mine));
        OK(cudaMemGetMemPool(&now, &p.location, p.type));
        // Of other places an H200 has another pool then.
        CHECK(now == normal || (now != mine && p.memory != cudaMemoryTypeDevice));
    }
    cudaMemLocation wrong{cudaMemLocationTypeNone, 0};
    cudaMemPool_t none;
    EXPECT_ERROR(cudaMemGetDefaultMemPool(&none, &wrong, cudaMemAllocationTypePinned),
                 cudaErrorInvalidValue);
    cudaGetLastError();
#endif
}

int main() {
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    int* x = nullptr;
    int h[32];
    OK(cudaMallocAsync(&x, sizeof h, s));
    fill<<<1, 32, 0, s>>>(x);
    OK(cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(x, s));
    OK(cudaStreamSynchronize(s));
    for (int i : h) CHECK(i == 4);

    cudaMemPool_t normal, mine, now;
    OK(cudaDeviceGetDefaultMemPool(&normal, 0));
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolCreate(&mine, &properties));
    OK(cudaDeviceSetMemPool(0, mine));
    OK(cudaDeviceGetMemPool(&now, 0));
    CHECK(now == mine && now != normal);
    unsigned long long threshold = 1 << 20, bytes = 0;
    OK(cudaMemPoolSetAttribute(mine, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(mine, cudaMemPoolAttrReleaseThreshold, &bytes));
    CHECK(bytes == threshold);
    cudaMemAccessDesc access{};
    access.location = {cudaMemLocationTypeDevice, 0};
    access.flags = cudaMemAccessFlagsProtReadWrite;
    OK(cudaMemPoolSetAccess(mine, &access, 1));
    OK(cudaMallocFromPoolAsync(&x, 4096, mine, s));
    OK(cudaMemPoolGetAttribute(mine, cudaMemPoolAttrUsedMemCurrent, &bytes));
    CHECK(bytes == 4096);
    OK(cudaFreeAsync(x, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolGetAttribute(mine, cudaMemPoolAttrUsedMemCurrent, &bytes));
    CHECK(bytes == 0);
    OK(cudaMemPoolTrimTo(mine, 0));
    OK(cudaMemPoolDestroy(mine));
    OK(cudaDeviceGetMemPool(&now, 0));
    CHECK(now == normal);
    places(s);
    OK(cudaStreamDestroy(s));
    return done("pools");
}
