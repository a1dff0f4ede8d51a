// SPDX-License-Identifier: Apache-2.0
// The stand-in driver as programs have it: opened by name, functions by cuGetProcAddress.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace lockwarp::test {

using Handle = void*;
using Address = uint64_t;

inline void* library() {
    static void* const opened = dlopen(LOCKWARP_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) ADD_FAILURE() << dlerror();
    return opened;
}

template <class F>
F* exported(const char* symbol) {
    return reinterpret_cast<F*>(dlsym(library(), symbol));
}

using GetProcAddress = int(const char*, void**, int, uint64_t, int*);

// As a program of CUDA `version` / 1000 has it.
template <class F>
F* entry(const char* name, int version = 13000) {
    void* out = nullptr;
    const int r = exported<GetProcAddress>("cuGetProcAddress_v2")(name, &out, version, 0, nullptr);
    EXPECT_EQ(r, 0) << name;
    return reinterpret_cast<F*>(out);
}

inline const auto cuInit = entry<int(unsigned)>("cuInit");
inline const auto cuCtxCreate = entry<int(Handle*, unsigned, int)>("cuCtxCreate", 11000);
inline const auto cuCtxDestroy = entry<int(Handle)>("cuCtxDestroy");
inline const auto cuCtxSetCurrent = entry<int(Handle)>("cuCtxSetCurrent");
inline const auto cuCtxGetCurrent = entry<int(Handle*)>("cuCtxGetCurrent");
inline const auto cuCtxSynchronize = entry<int()>("cuCtxSynchronize", 12000);
inline const auto cuModuleLoadData = entry<int(Handle*, const void*)>("cuModuleLoadData");
inline const auto cuModuleLoadDataEx =
    entry<int(Handle*, const void*, unsigned, const int*, void**)>("cuModuleLoadDataEx");
inline const auto cuModuleUnload = entry<int(Handle)>("cuModuleUnload");
inline const auto cuModuleGetFunction =
    entry<int(Handle*, Handle, const char*)>("cuModuleGetFunction");
inline const auto cuModuleGetGlobal =
    entry<int(Address*, size_t*, Handle, const char*)>("cuModuleGetGlobal");
inline const auto cuMemAlloc = entry<int(Address*, size_t)>("cuMemAlloc");
inline const auto cuMemAllocManaged = entry<int(Address*, size_t, unsigned)>("cuMemAllocManaged");
inline const auto cuMemFree = entry<int(Address)>("cuMemFree");
inline const auto cuMemcpyHtoD = entry<int(Address, const void*, size_t)>("cuMemcpyHtoD");
inline const auto cuMemcpyDtoH = entry<int(void*, Address, size_t)>("cuMemcpyDtoH");
inline const auto cuMemcpyDtoD = entry<int(Address, Address, size_t)>("cuMemcpyDtoD");
inline const auto cuMemsetD32 = entry<int(Address, unsigned, size_t)>("cuMemsetD32");
inline const auto cuLaunchKernel =
    entry<int(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
              void**, void**)>("cuLaunchKernel");

// Numbers of CUresult.
constexpr int success = 0, invalid_value = 1, out_of_memory = 2, invalid_image = 200,
              launch_out_of_resources = 701, launch_timeout = 702, invalid_device = 101,
              invalid_context = 201, no_binary_for_gpu = 209, invalid_ptx = 218,
              invalid_handle = 400, not_found = 500, illegal_address = 700, assertion_failed = 710,
              misaligned_address = 716, launch_failed = 719, not_supported = 801;

// x[i] = a * x[i] + 1 and a variable that counts, a thread each.
inline const std::string scale_ptx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 count = 5;
.visible .const .align 4 .u32 added = 1;
.visible .entry scale(.param .u64 x, .param .u32 a)
{
 .reg .b32 %r<5>; .reg .b64 %p<4>;
 ld.param.u64 %p0, [x];
 ld.param.u32 %r0, [a];
 mov.u32 %r1, %tid.x;
 mul.wide.u32 %p1, %r1, 4;
 add.u64 %p1, %p0, %p1;
 ld.global.u32 %r2, [%p1];
 ld.const.u32 %r3, [added];
 mad.lo.u32 %r2, %r2, %r0, %r3;
 st.global.u32 [%p1], %r2;
 mov.u64 %p2, count;
 atom.global.add.u32 %r4, [%p2], 1;
 ret;
}
)";

// A kernel k(x) of that body, which has registers %r0 to %r3, %p0 to %p3 and x in %p0.
inline std::string kernel_ptx(const std::string& body) {
    return ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x)\n{\n"
           " .reg .b32 %r<4>; .reg .b64 %p<4>;\n ld.param.u64 %p0, [x];\n" +
           body + "\n ret;\n}\n";
}

// A context of its own, current while it lives.
class Cuda : public testing::Test {
  protected:
    void SetUp() override {
        // Where a deadlock is expected, it need not take long.
        ::setenv("LOCKWARP_EXEC_PATIENCE", "1", 0);
        ASSERT_EQ(cuInit(0), success);
        ASSERT_EQ(cuCtxCreate(&context, 0, 0), success);
    }
    void TearDown() override { EXPECT_EQ(cuCtxDestroy(context), success); }

    Handle load(const std::string& ptx) {
        Handle module = nullptr;
        EXPECT_EQ(cuModuleLoadData(&module, ptx.c_str()), success);
        return module;
    }
    Handle function(Handle module, const char* name) {
        Handle f = nullptr;
        EXPECT_EQ(cuModuleGetFunction(&f, module, name), success);
        return f;
    }
    Handle kernel(const std::string& body) { return function(load(kernel_ptx(body)), "k"); }
    Address allocate(size_t size) {
        Address a = 0;
        EXPECT_EQ(cuMemAlloc(&a, size), success);
        return a;
    }
    // One CTA of `threads` threads of a kernel with one pointer.
    int run(Handle f, Address x, unsigned threads = 1, unsigned shared = 0) {
        void* parameters[] = {&x};
        return cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, shared, nullptr, parameters, nullptr);
    }
    template <class T>
    std::vector<T> read(Address from, size_t count) {
        std::vector<T> out(count);
        EXPECT_EQ(cuMemcpyDtoH(out.data(), from, count * sizeof(T)), success);
        return out;
    }

    Handle context = nullptr;
};

}  // namespace lockwarp::test
