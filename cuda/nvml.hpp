// SPDX-License-Identifier: Apache-2.0
// The few types and numbers of NVML that are needed here (NVML API reference, version 13), and its
// functions as names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockwarp::cuda {

// nvmlReturn_t
enum NvmlResult : int {
    nvml_success = 0,
    nvml_uninitialized = 1,
    nvml_invalid_argument = 2,
    nvml_not_supported = 3,
    nvml_not_found = 6,
    nvml_insufficient_size = 7,
    nvml_driver_not_loaded = 9,
    nvml_function_not_found = 13,
    nvml_unknown_error = 999,
};

struct NvmlDevice;  // nvmlDevice_t points to one

// nvmlPciInfo_t of the third form
struct NvmlPciInfo {
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned device_id;  // the device's 16 bits above the vendor's
    unsigned subsystem_id;
    char bus_id[32];
};

struct NvmlMemory {  // bytes
    uint64_t total, free, used;
};

struct NvmlMemory2 {
    unsigned version;
    uint64_t total, reserved, free, used;
};

struct NvmlUtilization {  // percent
    unsigned gpu, memory;
};

// nvmlProcessInfo_t of the second and third form
struct NvmlProcess {
    unsigned pid;
    uint64_t memory;  // bytes
    unsigned gpu_instance, compute_instance;
};

struct ListedNvmlFunction {
    std::string_view symbol;
    bool done;
};

inline constexpr std::array listed_nvml_functions{
#define DONE(symbol) ListedNvmlFunction{#symbol, true},
#define LACKING(symbol) ListedNvmlFunction{#symbol, false},
#include "cuda/nvml_functions.inc"
#undef DONE
#undef LACKING
};

}  // namespace lockwarp::cuda
