// SPDX-License-Identifier: Apache-2.0
// Checks of programs of the driver API, and kernels for them.
#pragma once

#include <cuda.h>

#include <cstring>

#include "check.hpp"

// A call of the driver that shall give that result.
#define EXPECT_RESULT(call, result)                                                     \
    do {                                                                                \
        const CUresult given = (call);                                                  \
        if (given != (result)) {                                                        \
            std::printf("%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, int(given)); \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

#define DO(call) EXPECT_RESULT(call, CUDA_SUCCESS)

// add(x, a): x[i] += a, a thread each; and a variable that a launch counts in.
inline const char* const kernels_ptx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 launches;
.visible .entry add(.param .u64 x, .param .u32 a)
{
 .reg .b32 %r<5>; .reg .b64 %p<4>; .reg .pred %q;
 ld.param.u64 %p0, [x];
 ld.param.u32 %r0, [a];
 mov.u32 %r1, %tid.x;
 mul.wide.u32 %p1, %r1, 4;
 add.u64 %p1, %p0, %p1;
 ld.global.u32 %r2, [%p1];
 add.u32 %r2, %r2, %r0;
 st.global.u32 [%p1], %r2;
 setp.eq.u32 %q, %r1, 0;
 mov.u64 %p2, launches;
 @%q atom.global.add.u32 %r4, [%p2], 1;
 ret;
}
.visible .entry twice(.param .u64 x)
{
 .reg .b32 %r<3>; .reg .b64 %p<3>;
 ld.param.u64 %p0, [x];
 mov.u32 %r1, %tid.x;
 mul.wide.u32 %p1, %r1, 4;
 add.u64 %p1, %p0, %p1;
 ld.global.u32 %r2, [%p1];
 add.u32 %r2, %r2, %r2;
 st.global.u32 [%p1], %r2;
 ret;
}
)";

constexpr int threads = 32;

// A context of its own, with the kernels and 32 numbers of the device.
struct World {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction add = nullptr, twice = nullptr;
    CUdeviceptr x = 0;

    World() {
        DO(cuInit(0));
        DO(cuDeviceGet(&device, 0));
#if CUDA_VERSION >= 13000
        DO(cuCtxCreate(&context, nullptr, 0, device));
#else
        DO(cuCtxCreate(&context, 0, device));
#endif
        DO(cuModuleLoadData(&module, kernels_ptx));
        DO(cuModuleGetFunction(&add, module, "add"));
        DO(cuModuleGetFunction(&twice, module, "twice"));
        DO(cuMemAlloc(&x, threads * sizeof(int)));
        set(0);
    }
    ~World() {
        DO(cuMemFree(x));
        DO(cuModuleUnload(module));
        DO(cuCtxDestroy(context));
    }
    void set(unsigned value) const { DO(cuMemsetD32(x, value, threads)); }
    // What all of them are; -1 where they differ.
    int value(CUdeviceptr of = 0) const {
        int h[threads];
        DO(cuMemcpyDtoH(h, of != 0 ? of : x, sizeof h));
        for (int i : h)
            if (i != h[0]) return -1;
        return h[0];
    }
    void launch_add(int a, CUstream stream = nullptr, CUdeviceptr to = 0) const {
        CUdeviceptr target = to != 0 ? to : x;
        void* parameters[] = {&target, &a};
        DO(cuLaunchKernel(add, 1, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr));
    }
};
