// SPDX-License-Identifier: Apache-2.0
// The device and its properties, limits, flags and versions; the driver's functions by name.
#include <cuda_profiler_api.h>

#include <cstring>

#include "check.hpp"

__global__ void deep(int* x) { *x = 3; }

int attribute(cudaDeviceAttr which) {
    int value = -1;
    OK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

void properties() {
    cudaDeviceProp p;
    std::memset(&p, 0xff, sizeof p);
    OK(cudaGetDeviceProperties(&p, 0));
    const bool a100 = emulated() && architecture() == 80;
    if (a100) {
        CHECK(std::strcmp(p.name, "NVIDIA A100-SXM4-80GB") == 0);
        CHECK(p.multiProcessorCount == 108 && p.sharedMemPerBlockOptin == 166912);
        CHECK(attribute(cudaDevAttrClockRate) == 1410000);
    }
    CHECK(10 * p.major + p.minor == architecture() && p.warpSize == 32);
    CHECK(p.maxThreadsDim[0] == 1024 && p.maxThreadsDim[2] == 64 && p.maxGridSize[1] == 65535);
    CHECK(p.sharedMemPerBlock == 49152 && p.sharedMemPerBlockOptin > p.sharedMemPerBlock);
    CHECK(p.regsPerBlock == 65536 && p.totalConstMem == 65536);
    CHECK(p.unifiedAddressing == 1 && p.managedMemory == 1 && p.cooperativeLaunch == 1);
    CHECK(p.maxBlocksPerMultiProcessor == 32 && p.memoryPoolsSupported == 1);
    CHECK(p.totalGlobalMem > size_t{1} << 36);
#if CUDART_VERSION < 13000
    CHECK(!a100 || (p.clockRate == 1410000 && p.singleToDoublePrecisionPerfRatio == 2));
#endif
    cudaDeviceProp none;
    EXPECT_ERROR(cudaGetDeviceProperties(&none, 7), cudaErrorInvalidDevice);
    cudaGetLastError();
    int device = -1;
    OK(cudaChooseDevice(&device, &p));
    CHECK(device == 0);
    CHECK(attribute(cudaDevAttrMultiProcessorCount) == p.multiProcessorCount);
    CHECK(attribute(cudaDevAttrComputeCapabilityMajor) == p.major);
}

void choice() {
    int count = 0, device = -1, can = 9, list[1] = {0};
    char bus[32];
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    OK(cudaSetDevice(0));
    OK(cudaInitDevice(0, 0, 0));
    OK(cudaSetValidDevices(list, 1));
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    device = 9;
    OK(cudaDeviceGetByPCIBusId(&device, bus));
    CHECK(device == 0);
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    CHECK(can == 0);
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    EXPECT_ERROR(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 0),
                 cudaErrorInvalidDevice);
    cudaGetLastError();
}

void limits() {
    size_t bytes = 0;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    OK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
    CHECK(bytes == 16 << 20);
    cudaFuncCache cache;
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaDeviceGetCacheConfig(&cache));
    CHECK(cache == cudaFuncCachePreferL1);
    cudaSharedMemConfig banks;
    OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte));
    OK(cudaDeviceGetSharedMemConfig(&banks));
    CHECK(banks == cudaSharedMemBankSizeFourByte);
    int least = -9, greatest = 9;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest == -5);
    unsigned flags = 0;
    OK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    OK(cudaGetDeviceFlags(&flags));
    CHECK((flags & cudaDeviceScheduleYield) != 0 && (flags & cudaDeviceMapHost) != 0);
    OK(cudaCtxResetPersistingL2Cache());
    int driver = 0, runtime = 0;
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    CHECK(driver >= runtime && runtime / 1000 == CUDART_VERSION / 1000);
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
}

// Private tables are not given.
void no_tables() {
    const void* table = nullptr;
    const cudaUUID_t id{};
    EXPECT_ERROR(cudaGetExportTable(&table, &id), cudaErrorNotSupported);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorNotSupported);
}

void functions_by_name() {
    using Get = int(int*);
    Get* get = nullptr;
    cudaDriverEntryPointQueryResult found{};
    OK(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", reinterpret_cast<void**>(&get), 12000,
                                        cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSuccess);
    int version = 0;
    CHECK(get(&version) == 0 && version >= 12000);
#if CUDART_VERSION < 13000
    OK(cudaGetDriverEntryPoint("cuNothing", reinterpret_cast<void**>(&get), cudaEnableDefault,
                               &found));
#else
    OK(cudaGetDriverEntryPointByVersion("cuNothing", reinterpret_cast<void**>(&get), 13000,
                                        cudaEnableDefault, &found));
#endif
    CHECK(found == cudaDriverEntryPointSymbolNotFound);
}

int main() {
    properties();
    choice();
    limits();
    functions_by_name();
    if (emulated()) no_tables();
    int* x = nullptr;
    int h = 0;
    OK(cudaMalloc(&x, 4));
    deep<<<1, 1>>>(x);
    OK(cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost));
    CHECK(h == 3);
    OK(cudaDeviceReset());
    EXPECT_ERROR(cudaFree(x), cudaErrorInvalidValue);
    OK(cudaMalloc(&x, 4));
    deep<<<1, 1>>>(x);
    OK(cudaDeviceSynchronize());
    return done("device");
}
