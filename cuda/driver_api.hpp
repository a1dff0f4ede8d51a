// SPDX-License-Identifier: Apache-2.0
// The few types and numbers of the public CUDA driver API that are needed here, for 64-bit Linux
// (CUDA driver API, versions 12 and 13).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockwarp::cuda {

// CUresult
enum Result : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    no_device = 100,
    invalid_device = 101,
    invalid_image = 200,
    invalid_context = 201,
    map_failed = 205,
    no_binary_for_gpu = 209,
    unsupported_limit = 215,
    peer_access_unsupported = 217,
    invalid_ptx = 218,
    invalid_source = 300,
    file_not_found = 301,
    operating_system = 304,
    invalid_handle = 400,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    launch_out_of_resources = 701,
    launch_timeout = 702,
    peer_access_already_enabled = 704,
    peer_access_not_enabled = 705,
    primary_context_active = 708,
    context_is_destroyed = 709,
    assertion_failed = 710,
    host_memory_already_registered = 712,
    host_memory_not_registered = 713,
    hardware_stack_error = 714,
    illegal_instruction = 715,
    misaligned_address = 716,
    invalid_address_space = 717,
    launch_failed = 719,
    cooperative_launch_too_large = 720,
    not_supported = 801,
    invalid_cluster_size = 912,
    unknown_error = 999
};

using Address = uint64_t;  // CUdeviceptr
using DeviceId = int;      // CUdevice

struct Context;
struct Module;
struct Function;  // CUfunction and CUkernel
struct Library;
struct Array;
struct Stream;
struct Event;
struct Link;
struct Pool;
struct Graph;
struct GraphNode;
struct GraphExec;

struct Uuid {
    unsigned char bytes[16];
};

struct Location {  // CUmemLocation
    int type, id;
};
struct CopyAttributes {  // CUmemcpyAttributes
    int order;           // of reads of the source, CUmemcpySrcAccessOrder
    Location source, target;
    unsigned flags;
};

// CUmemorytype
enum MemoryType : uint32_t { host_memory = 1, device_memory = 2, array_memory = 3, unified = 4 };

struct Copy2D {  // CUDA_MEMCPY2D
    size_t source_x, source_y;
    MemoryType source_type;
    const void* source_host;
    Address source_device;
    Array* source_array;
    size_t source_pitch;
    size_t target_x, target_y;
    MemoryType target_type;
    void* target_host;
    Address target_device;
    Array* target_array;
    size_t target_pitch;
    size_t width, height;
};

struct Copy3D {  // CUDA_MEMCPY3D
    size_t source_x, source_y, source_z, source_level;
    MemoryType source_type;
    const void* source_host;
    Address source_device;
    Array* source_array;
    void* reserved0;
    size_t source_pitch, source_height;
    size_t target_x, target_y, target_z, target_level;
    MemoryType target_type;
    void* target_host;
    Address target_device;
    Array* target_array;
    void* reserved1;
    size_t target_pitch, target_height;
    size_t width, height, depth;
};

// CUipcMemHandle, CUipcEventHandle, CUmemPoolPtrExportData: what is in it is the driver's.
struct IpcHandle {
    std::array<char, 8> what;
    int process, file;
    uint64_t of_device, number;  // of the file
    uint64_t size;               // of memory, in bytes
    uint64_t pool;               // its file's number
    DeviceId ordinal;
    std::array<char, 12> rest;
};
static_assert(sizeof(IpcHandle) == 64);

struct ArrayDescription {  // CUDA_ARRAY_DESCRIPTOR
    size_t width, height;
    int format;
    unsigned channels;
};

struct Array3DDescription {  // CUDA_ARRAY3D_DESCRIPTOR
    size_t width, height, depth;
    int format;
    unsigned channels;
    unsigned flags;
};

// CUresourcetype
enum class ResourceType : int { array, mipmapped_array, linear, pitch_2d };

struct ResourceDescription {  // CUDA_RESOURCE_DESC
    ResourceType type;
    union {
        Array* array;
        struct {  // of linear memory, and of pitch_2d
            Address address;
            int format;
            unsigned channels;
            size_t size;  // in bytes; of pitch_2d the width in elements
            size_t height;
            size_t pitch;
        } memory;
        int reserved[32];
    };
    unsigned flags;
};

struct TextureDescription {  // CUDA_TEXTURE_DESC
    int address_mode[3];
    int filter;
    unsigned flags;
    unsigned max_anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_least, mipmap_most;
    float border[4];
    int reserved[12];
};

struct Properties {  // CUdevprop
    int max_threads;
    int max_block[3];
    int max_grid[3];
    int shared;
    int constant;
    int warp;
    int pitch;
    int registers;
    int clock;
    int texture_alignment;
};

struct LaunchAttribute {  // CUlaunchAttribute
    uint32_t id;
    uint32_t padding;
    union {
        char bytes[64];
        int cooperative;
        uint32_t cluster[3];
        int programmatic;  // stream serialization
        Event* event;      // to be recorded; flags follow
    };
};

struct LaunchConfig {  // CUlaunchConfig
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared;
    Stream* stream;
    LaunchAttribute* attributes;
    uint32_t attribute_count;
};

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS, the first version; the second adds two handles
    Function* function;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared;
    void** parameters;
    void** extra;
};

struct KernelNode2 {
    KernelNode first;
    Function* kernel;
    Context* context;
};

struct MemsetNode {  // CUDA_MEMSET_NODE_PARAMS
    Address target;
    size_t pitch;
    uint32_t value;
    uint32_t element_size;
    size_t width, height;
};

using HostFunction = void (*)(void* user);
using StreamCallback = void (*)(Stream* stream, Result status, void* user);

struct HostNode {  // CUDA_HOST_NODE_PARAMS
    HostFunction function;
    void* user;
};

struct MemoryOperation {  // CUstreamBatchMemOpParams, of all its kinds
    int type;
    unsigned own_flags;  // of a flush and a barrier
    Address address;
    uint64_t value;
    unsigned flags;
    unsigned reserved0;
    Address alias;
    uint64_t reserved1;
};

struct BatchMemoryNode {  // CUDA_BATCH_MEM_OP_NODE_PARAMS
    Context* context;
    unsigned count;
    const MemoryOperation* operations;
    unsigned flags;
};

static_assert(sizeof(ArrayDescription) == 24 && sizeof(Array3DDescription) == 40);
static_assert(sizeof(ResourceDescription) == 144 && sizeof(TextureDescription) == 104);
static_assert(sizeof(Copy2D) == 128 && sizeof(Copy3D) == 200 && sizeof(Properties) == 56);
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);
static_assert(sizeof(KernelNode) == 56 && sizeof(KernelNode2) == 72 && sizeof(MemsetNode) == 40);
static_assert(sizeof(MemoryOperation) == 48 && sizeof(BatchMemoryNode) == 32);

}  // namespace lockwarp::cuda
