// SPDX-License-Identifier: Apache-2.0
// Checks of the programs, which need nothing but CUDA's runtime.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

// Ends the program where it does not hold.
#define CHECK(holds)                                                               \
    do {                                                                           \
        if (!(holds)) {                                                            \
            std::printf("%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
            std::exit(1);                                                          \
        }                                                                          \
    } while (0)

// A call of the runtime that shall give that error.
#define EXPECT_ERROR(call, error)                                          \
    do {                                                                   \
        const cudaError_t given = (call);                                  \
        if (given != (error)) {                                            \
            std::printf("%s:%d: %s gives %s\n", __FILE__, __LINE__, #call, \
                        cudaGetErrorName(given));                          \
            std::exit(1);                                                  \
        }                                                                  \
    } while (0)

#define OK(call) EXPECT_ERROR(call, cudaSuccess)

// The last line of a program.
inline int done(const char* name) {
    std::printf("%s: all checks hold\n", name);
    return 0;
}
