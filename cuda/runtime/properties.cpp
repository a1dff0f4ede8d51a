// SPDX-License-Identifier: Apache-2.0
// cudaDeviceProp, whose form differs between toolkits 12 and 13.
#include <array>
#include <cstring>

#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

namespace {

constexpr size_t size_12 = 1032, size_13 = 1008;  // sizeof(cudaDeviceProp)
constexpr size_t name_size = 256, uuid_at = 256, total_memory_at = 288;

// A member that is an attribute of the device; -1: the toolkit does not have it. Members without a
// row are 0: they are of textures and surfaces.
struct PropertyRow {
    int16_t at_12, at_13;
    uint8_t size;
    uint8_t attribute;  // CUdevice_attribute
};

// clang-format off
constexpr std::array property_rows{
    PropertyRow{296, 296, 8, 8},  // sharedMemPerBlock
    PropertyRow{304, 304, 4, 12},  // regsPerBlock
    PropertyRow{308, 308, 4, 10},  // warpSize
    PropertyRow{312, 312, 8, 11},  // memPitch
    PropertyRow{320, 320, 4, 1},  // maxThreadsPerBlock
    PropertyRow{324, 324, 4, 2},  // maxThreadsDim
    PropertyRow{328, 328, 4, 3},  // maxThreadsDim
    PropertyRow{332, 332, 4, 4},  // maxThreadsDim
    PropertyRow{336, 336, 4, 5},  // maxGridSize
    PropertyRow{340, 340, 4, 6},  // maxGridSize
    PropertyRow{344, 344, 4, 7},  // maxGridSize
    PropertyRow{348, -1, 4, 13},  // clockRate
    PropertyRow{352, 352, 8, 9},  // totalConstMem
    PropertyRow{360, 360, 4, 75},  // major
    PropertyRow{364, 364, 4, 76},  // minor
    PropertyRow{368, 368, 8, 14},  // textureAlignment
    PropertyRow{376, 376, 8, 51},  // texturePitchAlignment
    PropertyRow{384, -1, 4, 15},  // deviceOverlap
    PropertyRow{388, 384, 4, 16},  // multiProcessorCount
    PropertyRow{392, -1, 4, 17},  // kernelExecTimeoutEnabled
    PropertyRow{396, 388, 4, 18},  // integrated
    PropertyRow{400, 392, 4, 19},  // canMapHostMemory
    PropertyRow{404, -1, 4, 20},  // computeMode
    PropertyRow{568, 552, 8, 30},  // surfaceAlignment
    PropertyRow{576, 560, 4, 31},  // concurrentKernels
    PropertyRow{580, 564, 4, 32},  // ECCEnabled
    PropertyRow{584, 568, 4, 33},  // pciBusID
    PropertyRow{588, 572, 4, 34},  // pciDeviceID
    PropertyRow{592, 576, 4, 50},  // pciDomainID
    PropertyRow{596, 580, 4, 35},  // tccDriver
    PropertyRow{600, 584, 4, 40},  // asyncEngineCount
    PropertyRow{604, 588, 4, 41},  // unifiedAddressing
    PropertyRow{608, -1, 4, 36},  // memoryClockRate
    PropertyRow{612, 592, 4, 37},  // memoryBusWidth
    PropertyRow{616, 596, 4, 38},  // l2CacheSize
    PropertyRow{620, 600, 4, 108},  // persistingL2CacheMaxSize
    PropertyRow{624, 604, 4, 39},  // maxThreadsPerMultiProcessor
    PropertyRow{628, 608, 4, 78},  // streamPrioritiesSupported
    PropertyRow{632, 612, 4, 79},  // globalL1CacheSupported
    PropertyRow{636, 616, 4, 80},  // localL1CacheSupported
    PropertyRow{640, 624, 8, 81},  // sharedMemPerMultiprocessor
    PropertyRow{648, 632, 4, 82},  // regsPerMultiprocessor
    PropertyRow{652, 636, 4, 83},  // managedMemory
    PropertyRow{656, 640, 4, 84},  // isMultiGpuBoard
    PropertyRow{660, 644, 4, 85},  // multiGpuBoardGroupID
    PropertyRow{664, 648, 4, 86},  // hostNativeAtomicSupported
    PropertyRow{668, -1, 4, 87},  // singleToDoublePrecisionPerfRatio
    PropertyRow{672, 652, 4, 88},  // pageableMemoryAccess
    PropertyRow{676, 656, 4, 89},  // concurrentManagedAccess
    PropertyRow{680, 660, 4, 90},  // computePreemptionSupported
    PropertyRow{684, 664, 4, 91},  // canUseHostPointerForRegisteredMem
    PropertyRow{688, 668, 4, 95},  // cooperativeLaunch
    PropertyRow{692, -1, 4, 96},  // cooperativeMultiDeviceLaunch
    PropertyRow{696, 672, 8, 97},  // sharedMemPerBlockOptin
    PropertyRow{704, 680, 4, 100},  // pageableMemoryAccessUsesHostPageTables
    PropertyRow{708, 684, 4, 101},  // directManagedMemAccessFromHost
    PropertyRow{712, 688, 4, 106},  // maxBlocksPerMultiProcessor
    PropertyRow{716, 692, 4, 109},  // accessPolicyMaxWindowSize
    PropertyRow{720, 696, 8, 111},  // reservedSharedMemPerBlock
    PropertyRow{728, 704, 4, 99},  // hostRegisterSupported
    PropertyRow{732, 708, 4, 112},  // sparseCudaArraySupported
    PropertyRow{736, 712, 4, 113},  // hostRegisterReadOnlySupported
    PropertyRow{740, 716, 4, 114},  // timelineSemaphoreInteropSupported
    PropertyRow{744, 720, 4, 115},  // memoryPoolsSupported
    PropertyRow{748, 724, 4, 116},  // gpuDirectRDMASupported
    PropertyRow{752, 728, 4, 117},  // gpuDirectRDMAFlushWritesOptions
    PropertyRow{756, 732, 4, 118},  // gpuDirectRDMAWritesOrdering
    PropertyRow{760, 736, 4, 119},  // memoryPoolSupportedHandleTypes
    PropertyRow{764, 740, 4, 121},  // deferredMappingCudaArraySupported
    PropertyRow{768, 744, 4, 125},  // ipcEventSupported
    PropertyRow{772, 748, 4, 120},  // clusterLaunch
    PropertyRow{776, 752, 4, 129},  // unifiedFunctionPointers
    PropertyRow{-1, 756, 4, 130},  // deviceNumaConfig
    PropertyRow{-1, 760, 4, 131},  // deviceNumaId
    PropertyRow{-1, 764, 4, 133},  // mpsEnabled
    PropertyRow{-1, 768, 4, 134},  // hostNumaId
    PropertyRow{-1, 772, 4, 139},  // gpuPciDeviceID
    PropertyRow{-1, 776, 4, 140},  // gpuPciSubsystemID
    PropertyRow{-1, 780, 4, 143},  // hostNumaMultinodeIpcSupported
};
// clang-format on

static_assert([] {
    for (const PropertyRow& r : property_rows)
        if (r.at_12 + r.size > int(size_12) || r.at_13 + r.size > int(size_13) ||
            (r.size != sizeof(int) && r.size != sizeof(size_t)))
            return false;
    return true;
}());

Result properties(char* out, int device, size_t size, int16_t PropertyRow::*at) {
    return ask([&] {
        require(out != nullptr);
        std::memset(out, 0, size);
        check(cuDeviceGetName(out, name_size, device));
        check(cuDeviceGetUuid_v2(reinterpret_cast<Uuid*>(out + uuid_at), device));
        size_t total = 0;
        check(cuDeviceTotalMem_v2(&total, device));
        std::memcpy(out + total_memory_at, &total, sizeof total);
        for (const PropertyRow& r : property_rows) {
            if (r.*at < 0) continue;
            int value = 0;
            check(cuDeviceGetAttribute(&value, r.attribute, device));
            const auto wide = static_cast<size_t>(value);  // little-endian
            std::memcpy(out + r.*at, &wide, r.size);
        }
    });
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result lockwarp_cudaGetDeviceProperties_12(char* out, int device) {
    return properties(out, device, size_12, &PropertyRow::at_12);
}

Result lockwarp_cudaGetDeviceProperties_13(char* out, int device) {
    return properties(out, device, size_13, &PropertyRow::at_13);
}

}  // extern "C"
