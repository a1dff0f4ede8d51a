// SPDX-License-Identifier: Apache-2.0
// The types and numbers of CUDA's runtime API that are needed here, for 64-bit Linux (CUDA runtime
// API, versions 12 and 13). Where a toolkit has its own form of a structure, its name says so.
#pragma once

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

// cudaError: where the runtime and the driver have a number for the same they are equal. These the
// runtime has alone.
inline constexpr Result invalid_pitch{12};
inline constexpr Result invalid_symbol{13};
inline constexpr Result invalid_direction{21};
inline constexpr Result invalid_filter_setting{26};
inline constexpr Result missing_configuration{52};
inline constexpr Result invalid_device_function{98};

struct Dim3 {  // dim3
    uint32_t x, y, z;
};

// cudaMemcpyKind
enum class CopyKind : int {
    host_to_host,
    host_to_device,
    device_to_host,
    device_to_device,
    unified
};

struct PitchedPointer {  // cudaPitchedPtr
    void* pointer;
    size_t pitch, width, height;
};
struct Extent {  // cudaExtent: width in bytes
    size_t width, height, depth;
};
struct Position {  // cudaPos
    size_t x, y, z;
};

struct ChannelDescription {  // cudaChannelFormatDesc
    int bits[4];
    int kind;
};

struct RuntimeResource {  // cudaResourceDesc, as far as both toolkits have it
    ResourceType type;
    union {
        Array* array;
        struct {  // of linear memory, and of pitch_2d
            void* pointer;
            ChannelDescription format;
            size_t size;  // in bytes; of pitch_2d the width in elements
            size_t height;
            size_t pitch;
        } memory;
    };
};

struct RuntimeTexture {  // cudaTextureDesc
    int address_mode[3];
    int filter;
    int read_mode;  // 0: elements as they are; 1: integers as floats
    int srgb;
    float border[4];
    int normalized;
    unsigned max_anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_least, mipmap_most;
    int no_trilinear_optimization;
    int seamless_cubemap;
};

struct CopyBox {  // cudaMemcpy3DParms
    Array* source_array;
    Position source_at;
    PitchedPointer source;
    Array* target_array;
    Position target_at;
    PitchedPointer target;
    Extent extent;
    CopyKind kind;
};

struct PeerCopyBox {  // cudaMemcpy3DPeerParms
    Array* source_array;
    Position source_at;
    PitchedPointer source;
    int source_device;
    Array* target_array;
    Position target_at;
    PitchedPointer target;
    int target_device;
    Extent extent;
};

struct FunctionAttributes {  // cudaFuncAttributes
    size_t shared, constant, local;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic, carveout;
    int cluster[6];
    int reserved[16];
};

struct PointerAttributes {  // cudaPointerAttributes; version 12 has no reserved part
    int type, device;
    void* device_pointer;
    void* host_pointer;
};

struct RuntimeLaunchConfig {  // cudaLaunchConfig_t
    Dim3 grid, block;
    size_t dynamic_shared;
    Stream* stream;
    LaunchAttribute* attributes;
    uint32_t attribute_count;
};

struct RuntimeKernelNode {  // cudaKernelNodeParams
    const void* function;
    Dim3 grid, block;
    uint32_t dynamic_shared;
    void** parameters;
    void** extra;
};

static_assert(sizeof(ChannelDescription) == 20 && sizeof(RuntimeResource) == 64);
static_assert(sizeof(RuntimeTexture) == 72);
static_assert(sizeof(CopyBox) == 160 && sizeof(PeerCopyBox) == 168);
static_assert(sizeof(FunctionAttributes) == 144 && sizeof(PointerAttributes) == 24);
static_assert(sizeof(RuntimeLaunchConfig) == 56 && sizeof(RuntimeKernelNode) == 56);

}  // namespace lockwarp::cuda
