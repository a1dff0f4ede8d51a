// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockwarp::warp {

struct DeviceLaunch;  // launch.hpp

// What CUDA's device runtime tells a kernel and the machine itself does not know. Several threads
// may ask at once.
class DeviceAnswers {
  public:
    // cudaError_t, and what is stored where the caller points: nothing, or as much as the others of
    // the question's kind have.
    struct Answer {
        uint32_t error = 0;
        std::vector<uint8_t> bytes;
    };
    virtual ~DeviceAnswers() = default;
    // Whether the device has such a launch of a kernel of the module.
    virtual bool has_launch(const DeviceLaunch& launch) = 0;
    // As cudaGetErrorName, or cudaGetErrorString.
    virtual std::string error_text(int error, bool is_name) = 0;
    virtual Answer limit(int limit) = 0;                                // cudaDeviceGetLimit
    virtual Answer device_attribute(int attribute, int device) = 0;     // cudaDeviceGetAttribute
    virtual Answer function_attributes(const std::string& kernel) = 0;  // cudaFuncGetAttributes
    // cudaOccupancyMaxActiveBlocksPerMultiprocessor
    virtual Answer resident_ctas(const std::string& kernel, int threads,
                                 uint64_t dynamic_shared) = 0;
};

}  // namespace lockwarp::warp
