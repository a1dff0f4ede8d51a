// SPDX-License-Identifier: Apache-2.0
// CUresult's names and texts.
#include <algorithm>
#include <array>

#include "cuda/state.hpp"

namespace lockwarp::cuda {

namespace {

struct ErrorRow {
    int number;
    const char* name;
    const char* text;
};

constexpr std::array error_rows{
    ErrorRow{0, "CUDA_SUCCESS", "no error"},
    ErrorRow{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    ErrorRow{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    ErrorRow{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    ErrorRow{4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    ErrorRow{5, "CUDA_ERROR_PROFILER_DISABLED", "profiler disabled"},
    ErrorRow{6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "profiler not initialized"},
    ErrorRow{7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", "profiler already started"},
    ErrorRow{8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "profiler already stopped"},
    ErrorRow{34, "CUDA_ERROR_STUB_LIBRARY", "stub library"},
    ErrorRow{36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "call requires newer driver"},
    ErrorRow{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device unavailable"},
    ErrorRow{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    ErrorRow{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    ErrorRow{102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "device not licensed"},
    ErrorRow{200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    ErrorRow{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    ErrorRow{202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "context already current"},
    ErrorRow{205, "CUDA_ERROR_MAP_FAILED", "map failed"},
    ErrorRow{206, "CUDA_ERROR_UNMAP_FAILED", "unmap failed"},
    ErrorRow{207, "CUDA_ERROR_ARRAY_IS_MAPPED", "array is mapped"},
    ErrorRow{208, "CUDA_ERROR_ALREADY_MAPPED", "already mapped"},
    ErrorRow{209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
             "no kernel image is available for execution on the device"},
    ErrorRow{210, "CUDA_ERROR_ALREADY_ACQUIRED", "already acquired"},
    ErrorRow{211, "CUDA_ERROR_NOT_MAPPED", "not mapped"},
    ErrorRow{212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "not mapped as array"},
    ErrorRow{213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "not mapped as pointer"},
    ErrorRow{214, "CUDA_ERROR_ECC_UNCORRECTABLE", "ecc uncorrectable"},
    ErrorRow{215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture"},
    ErrorRow{216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "context already in use"},
    ErrorRow{217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
             "peer access is not supported between these two devices"},
    ErrorRow{218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    ErrorRow{219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "invalid graphics context"},
    ErrorRow{220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "nvlink uncorrectable"},
    ErrorRow{221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "jit compiler not found"},
    ErrorRow{222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
             "the provided PTX was compiled with an unsupported toolchain."},
    ErrorRow{223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "jit compilation disabled"},
    ErrorRow{224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "unsupported exec affinity"},
    ErrorRow{225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "unsupported devside sync"},
    ErrorRow{226, "CUDA_ERROR_CONTAINED", "contained"},
    ErrorRow{300, "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid"},
    ErrorRow{301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    ErrorRow{302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found"},
    ErrorRow{303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object init failed"},
    ErrorRow{304, "CUDA_ERROR_OPERATING_SYSTEM",
             "OS call failed or operation not supported on this OS"},
    ErrorRow{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    ErrorRow{401, "CUDA_ERROR_ILLEGAL_STATE", "illegal state"},
    ErrorRow{402, "CUDA_ERROR_LOSSY_QUERY", "lossy query"},
    ErrorRow{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    ErrorRow{600, "CUDA_ERROR_NOT_READY", "device not ready"},
    ErrorRow{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    ErrorRow{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    ErrorRow{702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    ErrorRow{703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "launch incompatible texturing"},
    ErrorRow{704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access already enabled"},
    ErrorRow{705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    ErrorRow{708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
             "cannot set while device is active in this process"},
    ErrorRow{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    ErrorRow{710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    ErrorRow{711, "CUDA_ERROR_TOO_MANY_PEERS", "too many peers"},
    ErrorRow{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
             "part or all of the requested memory range is already mapped"},
    ErrorRow{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
             "pointer does not correspond to a registered memory region"},
    ErrorRow{714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    ErrorRow{715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    ErrorRow{716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    ErrorRow{717, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
             "operation not supported on global/shared address space"},
    ErrorRow{718, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    ErrorRow{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    ErrorRow{720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
             "too many blocks in cooperative launch"},
    ErrorRow{721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "tensor memory leak"},
    ErrorRow{800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    ErrorRow{801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    ErrorRow{802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not ready"},
    ErrorRow{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system driver mismatch"},
    ErrorRow{804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "compat not supported on device"},
    ErrorRow{805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "mps connection failed"},
    ErrorRow{806, "CUDA_ERROR_MPS_RPC_FAILURE", "mps rpc failure"},
    ErrorRow{807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "mps server not ready"},
    ErrorRow{808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "mps max clients reached"},
    ErrorRow{809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "mps max connections reached"},
    ErrorRow{810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "mps client terminated"},
    ErrorRow{811, "CUDA_ERROR_CDP_NOT_SUPPORTED", "cdp not supported"},
    ErrorRow{812, "CUDA_ERROR_CDP_VERSION_MISMATCH", "cdp version mismatch"},
    ErrorRow{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "stream capture unsupported"},
    ErrorRow{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "stream capture invalidated"},
    ErrorRow{902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "stream capture merge"},
    ErrorRow{903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "stream capture unmatched"},
    ErrorRow{904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "stream capture unjoined"},
    ErrorRow{905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "stream capture isolation"},
    ErrorRow{906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "stream capture implicit"},
    ErrorRow{907, "CUDA_ERROR_CAPTURED_EVENT", "captured event"},
    ErrorRow{908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "stream capture wrong thread"},
    ErrorRow{909, "CUDA_ERROR_TIMEOUT", "timeout"},
    ErrorRow{910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "graph exec update failure"},
    ErrorRow{911, "CUDA_ERROR_EXTERNAL_DEVICE", "external device"},
    ErrorRow{912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "invalid cluster size"},
    ErrorRow{913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "function not loaded"},
    ErrorRow{914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "invalid resource type"},
    ErrorRow{915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "invalid resource configuration"},
    ErrorRow{916, "CUDA_ERROR_KEY_ROTATION", "key rotation"},
    ErrorRow{999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorRow* row_of(int number) {
    const auto* const found = std::ranges::find(error_rows, number, &ErrorRow::number);
    return found == error_rows.end() ? nullptr : found;
}

// nullptr for a number that is none.
Result give(const char** out, int number, const char* ErrorRow::*text) {
    return answer([&] {
        require(out != nullptr);
        const ErrorRow* const row = row_of(number);
        *out = row != nullptr ? row->*text : nullptr;
        require(row != nullptr);
    });
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuGetErrorName(int error, const char** name) { return give(name, error, &ErrorRow::name); }
Result cuGetErrorString(int error, const char** text) { return give(text, error, &ErrorRow::text); }

}  // extern "C"
