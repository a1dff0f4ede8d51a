// SPDX-License-Identifier: Apache-2.0
// What the device's runtime answers a kernel, of what the driver knows: an H200's (driver
// 580.159.04, 2026-11-29) answered a kernel as it answered the host.
#pragma once

#include <cstring>

#include "cuda/driver_api.hpp"
#include "emu/warp/device_answers.hpp"

namespace lockwarp::cuda {

template <class T>
warp::DeviceAnswers::Answer answered(Result result, const T& value) {
    warp::DeviceAnswers::Answer out{static_cast<uint32_t>(result), {}};
    if (result != success) return out;
    out.bytes.resize(sizeof value);
    std::memcpy(out.bytes.data(), &value, sizeof value);
    return out;
}

// cudaFuncAttributes as far as the device's runtime fills it: the H200 left the rest as it was.
struct KernelAttributes {
    uint64_t shared, constant, local;
    int32_t max_threads, registers, ptx_version, binary_version;
};

// `get`: the kernel's attribute of that number (CUfunction_attribute).
KernelAttributes kernel_attributes(const auto& get) {
    return {static_cast<uint64_t>(get(1)),
            static_cast<uint64_t>(get(2)),
            static_cast<uint64_t>(get(3)),
            get(0),
            get(4),
            get(5),
            get(6)};
}

}  // namespace lockwarp::cuda
