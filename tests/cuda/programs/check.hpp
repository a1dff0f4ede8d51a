// SPDX-License-Identifier: Apache-2.0
// Checks of the programs, which need nothing but CUDA's runtime.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

// Ends the program; with LOCKWARP_GO_ON in the environment, as beside a GPU, it says all that does
// not hold.
inline int failures = 0;
inline void failed() {
    if (std::getenv("LOCKWARP_GO_ON") == nullptr) std::exit(1);
    ++failures;
}

// Whether the program runs under `lockwarp exec`, for what is of the product that stands for an
// architecture. All else holds on a GPU too.
inline bool emulated() { return std::getenv("LOCKWARP_ARCH") != nullptr; }

// The architecture of the device, as 80.
inline int architecture() {
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
    return 10 * major + minor;
}

#define CHECK(holds)                                                               \
    do {                                                                           \
        if (!(holds)) {                                                            \
            std::printf("%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
            failed();                                                              \
        }                                                                          \
    } while (0)

// A call of the runtime that shall give that error.
#define EXPECT_ERROR(call, error)                                          \
    do {                                                                   \
        const cudaError_t given = (call);                                  \
        if (given != (error)) {                                            \
            std::printf("%s:%d: %s gives %s\n", __FILE__, __LINE__, #call, \
                        cudaGetErrorName(given));                          \
            failed();                                                      \
        }                                                                  \
    } while (0)

#define OK(call) EXPECT_ERROR(call, cudaSuccess)

// The last line of a program.
inline int done(const char* name) {
    if (failures != 0) std::printf("%s: %d checks do not hold\n", name, failures);
    if (failures == 0) std::printf("%s: all checks hold\n", name);
    return failures != 0;
}
