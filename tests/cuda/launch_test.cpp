// SPDX-License-Identifier: Apache-2.0
// Modules, variables and launches through the stand-in driver.
#include <thread>

#include "driver.hpp"

namespace lockwarp::test {
namespace {

using Numbers = std::vector<uint32_t>;

using Launches = Cuda;

TEST_F(Launches, TakePointersToParameters) {
    const Handle f = function(load(scale_ptx), "scale");
    const Address x = allocate(4 * 4);
    const Numbers in{1, 2, 3, 4};
    ASSERT_EQ(cuMemcpyHtoD(x, in.data(), 16), success);
    uint32_t a = 10;
    Address x_argument = x;
    void* parameters[] = {&x_argument, &a};
    ASSERT_EQ(cuLaunchKernel(f, 1, 1, 1, 4, 1, 1, 0, nullptr, parameters, nullptr), success);
    ASSERT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(read<uint32_t>(x, 4), (Numbers{11, 21, 31, 41}));
}

TEST_F(Launches, TakeABufferOfParameters) {
    const Handle f = function(load(scale_ptx), "scale");
    const Address x = allocate(4 * 2);
    ASSERT_EQ(cuMemsetD32(x, 7, 2), success);
    struct {
        Address x;
        uint32_t a;
    } parameters{x, 3};
    size_t size = 12;
    void* extra[] = {reinterpret_cast<void*>(1), &parameters, reinterpret_cast<void*>(2), &size,
                     nullptr};
    ASSERT_EQ(cuLaunchKernel(f, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra), success);
    EXPECT_EQ(read<uint32_t>(x, 2), (Numbers{22, 22}));
    size = 0;
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra), invalid_value);
    size = 9;  // what there is of `a`
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra), success);
    EXPECT_EQ(read<uint32_t>(x, 2), (Numbers{67, 67}));
    size = sizeof parameters;  // 16, with what fills the structure up
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra),
              launch_out_of_resources);
}

TEST_F(Launches, KeepVariablesFromOneToTheNext) {
    const Handle module = load(scale_ptx);
    const Handle f = function(module, "scale");
    Address count = 0, added = 0;
    size_t size = 0;
    ASSERT_EQ(cuModuleGetGlobal(&count, &size, module, "count"), success);
    EXPECT_EQ(size, 4u);
    ASSERT_EQ(cuModuleGetGlobal(&added, nullptr, module, "added"), success);
    const uint32_t hundred = 100;
    ASSERT_EQ(cuMemcpyHtoD(added, &hundred, 4), success);
    const Address x = allocate(4 * 32);
    uint32_t a = 2;
    Address x_argument = x;
    void* parameters[] = {&x_argument, &a};
    for (int i = 0; i < 2; ++i)
        ASSERT_EQ(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr), success);
    EXPECT_EQ(read<uint32_t>(count, 1), (Numbers{5 + 64}));
    EXPECT_EQ(read<uint32_t>(x, 1), (Numbers{300}));
    EXPECT_EQ(cuModuleGetGlobal(&count, &size, module, "nothing"), not_found);
}

// A constant variable has an address as others have, which kernels may read and write: what one
// wrote, the next has as its constant. hashcat clears its own so.
TEST_F(Launches, WriteConstantsOfItsOwnModuleByTheirAddress) {
    const Handle f = function(load(scale_ptx), "scale");
    Handle module = load(scale_ptx);
    const Handle g = function(module, "scale");
    Address added = 0, x = allocate(4);
    ASSERT_EQ(cuModuleGetGlobal(&added, nullptr, module, "added"), success);
    EXPECT_EQ(added % 256, 0u);
    ASSERT_EQ(cuMemsetD32(x, 5, 1), success);
    uint32_t a = 7;
    {
        void* parameters[] = {&added, &a};  // added = 7 * added + added
        ASSERT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), success);
    }
    EXPECT_EQ(read<uint32_t>(added, 1)[0], 8u);
    void* parameters[] = {&x, &a};
    ASSERT_EQ(cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), success);
    EXPECT_EQ(read<uint32_t>(x, 1)[0], 7u * 5 + 8);
}

// As CUDA 2 had it: what is set stays in the function, for each launch behind it.
TEST_F(Launches, HaveWhatWasSetBefore) {
    const Handle f = function(load(scale_ptx), "scale");
    const auto block = exported<int(Handle, int, int, int)>("cuFuncSetBlockShape");
    const auto shared = exported<int(Handle, unsigned)>("cuFuncSetSharedSize");
    const auto size = exported<int(Handle, unsigned)>("cuParamSetSize");
    const auto put = exported<int(Handle, int, void*, unsigned)>("cuParamSetv");
    const auto put_word = exported<int(Handle, int, unsigned)>("cuParamSeti");
    const auto put_float = exported<int(Handle, int, float)>("cuParamSetf");
    const auto launch = exported<int(Handle)>("cuLaunch");
    const auto grid = exported<int(Handle, int, int)>("cuLaunchGrid");
    const auto grid_later = exported<int(Handle, int, int, Handle)>("cuLaunchGridAsync");
    Address x = allocate(4 * 32);
    ASSERT_EQ(cuMemsetD32(x, 1, 32), success);
    EXPECT_EQ(block(f, 32, 1, 1), success);
    EXPECT_EQ(shared(f, 64), success);
    EXPECT_EQ(put(f, 0, &x, sizeof x), success);
    EXPECT_EQ(put_word(f, 8, 3), success);
    // A size that is too small is let pass, and one that is too great is not, as on an H100.
    EXPECT_EQ(size(f, 16), success);
    EXPECT_EQ(launch(f), launch_out_of_resources);
    EXPECT_EQ(size(f, 8), success);
    EXPECT_EQ(launch(f), success);
    EXPECT_EQ(read<uint32_t>(x, 32), Numbers(32, 4));
    EXPECT_EQ(put_word(f, 8, 5), success);
    EXPECT_EQ(grid(f, 1, 1), success);
    EXPECT_EQ(read<uint32_t>(x, 32), Numbers(32, 21));
    EXPECT_EQ(put_float(f, 8, 0.F), success);
    EXPECT_EQ(grid_later(f, 1, 1, nullptr), success);
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(read<uint32_t>(x, 32), Numbers(32, 1));
    EXPECT_EQ(size(f, 12), success);
    for (const int wrong : {0, -1, 4096}) {
        EXPECT_EQ(block(f, wrong, 1, 1), invalid_value);
        EXPECT_EQ(block(f, 1, wrong, 1), invalid_value);
        EXPECT_EQ(block(f, 1, 1, wrong), invalid_value);
    }
    EXPECT_EQ(block(f, 32, 32, 2), invalid_value);
    EXPECT_EQ(block(f, 32, 16, 2), success);
    for (const int wrong : {0, -1}) {
        EXPECT_EQ(grid(f, wrong, 1), invalid_value);
        EXPECT_EQ(grid(f, 1, wrong), invalid_value);
    }
    EXPECT_EQ(put(f, -4, &x, 4), invalid_value);
    EXPECT_EQ(put(f, 32760, &x, 8), invalid_value);
    EXPECT_EQ(put(f, 32756, &x, 8), success);
    EXPECT_EQ(put(f, 0, nullptr, 8), invalid_value);
    EXPECT_EQ(size(f, 32764), success);
    EXPECT_EQ(size(f, 32765), invalid_value);
    EXPECT_EQ(launch(this), invalid_handle);
}

TEST_F(Launches, ReadManagedMemoryAndWhatPointersInItPointTo) {
    const Handle f = kernel(
        " ld.global.u64 %p1, [%p0];\n ld.global.u32 %r0, [%p1];\n st.global.u32 [%p0+8], %r0;");
    Address list = 0;
    ASSERT_EQ(cuMemAllocManaged(&list, 16, 1), success);
    const Address value = allocate(4);
    ASSERT_EQ(cuMemsetD32(value, 42, 1), success);
    *reinterpret_cast<Address*>(list) = value;
    ASSERT_EQ(run(f, list), success);
    ASSERT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(reinterpret_cast<uint32_t*>(list)[2], 42u);
    EXPECT_EQ(cuMemFree(list), success);
}

// As tinygrad writes the address of an array.
TEST_F(Launches, TakeAnArraysFirstElementForItsAddress) {
    const Handle f = kernel(
        " .shared .align 16 .b8 local0[64];\n mov.u64 %p1, local0[0];\n mov.u32 %r0, 12;\n"
        " st.shared.u32 [%p1+8], %r0;\n ld.shared.u32 %r1, [local0+8];\n"
        " st.global.u32 [%p0], %r1;");
    const Address x = allocate(4);
    ASSERT_EQ(run(f, x), success);
    EXPECT_EQ(read<uint32_t>(x, 1), Numbers{12});
}

TEST_F(Launches, OfManyModulesDoNotMeet) {
    const Address x = allocate(4);
    std::vector<Handle> modules;
    for (int i = 0; i < 50; ++i) {
        const Handle module = load(
            kernel_ptx(" mov.u32 %r0, " + std::to_string(i) + ";\n st.global.u32 [%p0], %r0;"));
        modules.push_back(module);
    }
    for (uint32_t i = 0; i < 50; ++i) {
        ASSERT_EQ(run(function(modules[i], "k"), x), success);
        EXPECT_EQ(read<uint32_t>(x, 1), Numbers{i});
    }
    for (const Handle module : modules) EXPECT_EQ(cuModuleUnload(module), success);
    EXPECT_EQ(cuModuleUnload(modules[0]), invalid_handle);
}

TEST_F(Launches, OfTwoThreadsRunBesideEachOther) {
    const Handle module = load(scale_ptx);
    const Handle f = function(module, "scale");
    const auto work = [&](Address x) {
        EXPECT_EQ(cuCtxSetCurrent(context), success);
        uint32_t a = 1;
        void* parameters[] = {&x, &a};
        for (int i = 0; i < 100; ++i)
            EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr),
                      success);
        EXPECT_EQ(cuCtxSynchronize(), success);
    };
    const Address x = allocate(128), y = allocate(128);
    std::thread one([&] { work(x); }), other([&] { work(y); });
    one.join();
    other.join();
    EXPECT_EQ(read<uint32_t>(x, 32), Numbers(32, 100));
    EXPECT_EQ(read<uint32_t>(y, 32), Numbers(32, 100));
    Address count = 0;
    ASSERT_EQ(cuModuleGetGlobal(&count, nullptr, module, "count"), success);
    EXPECT_EQ(read<uint32_t>(count, 1), Numbers{5 + 2 * 100 * 32});
}

TEST_F(Launches, OfAShapeThatTheDeviceDoesNotHaveAreRefused) {
    const Handle f = kernel("");
    Address x = 0;
    void* parameters[] = {&x};
    const auto shaped = [&](unsigned gx, unsigned gy, unsigned bx, unsigned bz, unsigned shared) {
        return cuLaunchKernel(f, gx, gy, 1, bx, 1, bz, shared, nullptr, parameters, nullptr);
    };
    EXPECT_EQ(shaped(1, 1, 1025, 1, 0), invalid_value);
    EXPECT_EQ(shaped(1, 1, 1, 65, 0), invalid_value);
    EXPECT_EQ(shaped(0, 1, 1, 1, 0), invalid_value);
    EXPECT_EQ(shaped(1, 65536, 1, 1, 0), invalid_value);
    // More shared memory only after it was asked for.
    const auto set = entry<int(Handle, int, int)>("cuFuncSetAttribute");
    constexpr int max_dynamic_shared = 8;
    EXPECT_EQ(shaped(1, 1, 1, 1, 65536), invalid_value);
    EXPECT_EQ(set(f, max_dynamic_shared, 65536), success);
    EXPECT_EQ(shaped(1, 1, 1, 1, 65536), success);
    EXPECT_EQ(set(f, max_dynamic_shared, 1 << 20), invalid_value);
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), invalid_value);
    EXPECT_EQ(cuCtxSynchronize(), success);
}

TEST_F(Launches, WithAConfigurationMayBeCooperative) {
    struct Attribute {
        uint32_t id, padding;
        union {
            char bytes[64];
            int cooperative;
            uint32_t cluster[3];
        };
    };
    struct Config {
        unsigned grid[3], block[3], shared;
        Handle stream;
        Attribute* attributes;
        unsigned count;
    };
    const auto launch_ex =
        entry<int(const Config*, Handle, void**, void**)>("cuLaunchKernelEx", 12000);
    // Each CTA adds 1 and waits until all have: with all under way at a time alone it ends.
    const Handle f = kernel(
        " atom.global.add.u32 %r0, [%p0], 1;\n"
        "$wait:\n ld.volatile.global.u32 %r1, [%p0];\n mov.u32 %r2, %nctaid.x;\n"
        " .reg .pred %q;\n setp.lt.u32 %q, %r1, %r2;\n @%q bra $wait;");
    Address x = allocate(4);
    ASSERT_EQ(cuMemsetD32(x, 0, 1), success);
    void* parameters[] = {&x};
    Attribute attribute{};
    attribute.id = 2;
    attribute.cooperative = 1;
    const Config config{{8, 1, 1}, {1, 1, 1}, 0, nullptr, &attribute, 1};
    ASSERT_EQ(launch_ex(&config, f, parameters, nullptr), success);
    ASSERT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(read<uint32_t>(x, 1), Numbers{8});
}

}  // namespace
}  // namespace lockwarp::test
