// SPDX-License-Identifier: Apache-2.0
// What stands for a GPU in tests of `capture` and of `validate -- ./program`: a libcuda.so.1 over
// Lockwarp's own, which changes one bit of what a launch wrote, where FAKE_GPU_LAUNCH has its
// number. The kernel's first parameter is an address, and addresses are the host's.
#include <cstdint>
#include <cstdlib>

#include "cuda/beside/forward.hpp"

extern "C" int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, void* stream,
                              void** parameters, void** extra) {
    using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**);
    static const auto real = lockwarp::beside::behind_as<Launch>("cuLaunchKernel");
    static int launches = 0;
    const int r = real(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    const char* const wrong = std::getenv("FAKE_GPU_LAUNCH");
    if (wrong != nullptr && ++launches == std::atoi(wrong) && parameters != nullptr)
        **static_cast<uint8_t**>(parameters[0]) ^= 4;
    return r;
}
