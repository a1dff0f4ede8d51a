// SPDX-License-Identifier: Apache-2.0
// Launches as CUDA 2 had them, which PyCUDA still makes: the block, the shared memory and the
// parameters are set in the function, one after another, and stay there.
#include <algorithm>
#include <cstring>

#include "cuda/driver.hpp"
#include "cuda/state.hpp"
#include "emu/isa/placement.hpp"

namespace lockwarp::cuda {

namespace {

using isa::max_parameter_bytes;           // an H100 takes 4097 too; where it ends was not asked
constexpr int max_threads_attribute = 1;  // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK

Result set_parameter(Function* function, int offset, const void* value, unsigned bytes) {
    return answer([&] {
        const std::shared_ptr<Function> f = ready().functions.get(function);
        require(offset >= 0 && value != nullptr);
        const size_t end = static_cast<size_t>(offset) + bytes;
        require(end <= max_parameter_bytes);
        SetBefore& set = f->set_before;
        if (set.parameters.size() < end) set.parameters.resize(end);
        std::memcpy(set.parameters.data() + offset, value, bytes);
    });
}

Result launch(Function* function, int width, int height, Stream* stream) {
    SetBefore set;
    size_t size = 0;
    const Result found = answer([&] {
        const std::shared_ptr<Function> f = ready().functions.get(function);
        set = f->set_before;
        // Parameters behind the size that was set have any value (H100): here that which was set.
        size = set.size;
        for (const lockwarp_parameter& p : f->parameters)
            size = std::max<size_t>(size, p.offset + p.size);
        require(width > 0 && height > 0);
    });
    if (found != success) return found;
    set.parameters.resize(std::max<size_t>(size, 1));
    void* const buffer_key = reinterpret_cast<void*>(uintptr_t{1});  // CU_LAUNCH_PARAM_BUFFER_*
    void* const size_key = reinterpret_cast<void*>(uintptr_t{2});
    void* extra[] = {buffer_key, set.parameters.data(), size_key, &size, nullptr};
    return cuLaunchKernel(function, static_cast<unsigned>(width), static_cast<unsigned>(height), 1,
                          set.block[0], set.block[1], set.block[2], set.shared, stream, nullptr,
                          extra);
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuFuncSetBlockShape(Function* function, int x, int y, int z) {
    return answer([&] {
        const std::shared_ptr<Function> f = ready().functions.get(function);
        const int max_threads = attribute_of_device(max_threads_attribute);
        require(x > 0 && y > 0 && z > 0 && x <= max_threads && y <= max_threads &&
                z <= max_threads && x * y <= max_threads && x * y * z <= max_threads);
        f->set_before.block = {static_cast<unsigned>(x), static_cast<unsigned>(y),
                               static_cast<unsigned>(z)};
    });
}

Result cuFuncSetSharedSize(Function* function, unsigned bytes) {
    return answer([&] { ready().functions.get(function)->set_before.shared = bytes; });
}

Result cuParamSetSize(Function* function, unsigned bytes) {
    return answer([&] {
        const std::shared_ptr<Function> f = ready().functions.get(function);
        require(bytes <= max_parameter_bytes);
        f->set_before.size = bytes;
    });
}

Result cuParamSeti(Function* function, int offset, unsigned value) {
    return set_parameter(function, offset, &value, sizeof value);
}

Result cuParamSetf(Function* function, int offset, float value) {
    return set_parameter(function, offset, &value, sizeof value);
}

Result cuParamSetv(Function* function, int offset, void* value, unsigned bytes) {
    return set_parameter(function, offset, value, bytes);
}

Result cuLaunch(Function* function) { return launch(function, 1, 1, nullptr); }

Result cuLaunchGrid(Function* function, int width, int height) {
    return launch(function, width, height, nullptr);
}

Result cuLaunchGridAsync(Function* function, int width, int height, Stream* stream) {
    return launch(function, width, height, stream);
}

}  // extern "C"
