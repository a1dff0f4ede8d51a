// SPDX-License-Identifier: Apache-2.0
// Calls that say themselves where they work: by a stream's or a module's context, a place on the
// bus, the contexts of a copy. What an H200 (driver 580.159.04) answered.
#include <array>
#include <cstdio>

#include "driver.hpp"

namespace lockwarp::test {
namespace {

using Places = Cuda;

// CUDA_MEMCPY3D_PEER
struct PeerCopy {
    struct Side {
        size_t x, y, z, level;
        int type;
        const void* host;
        Address device;
        void *array, *context;
        size_t pitch, height;
    };
    Side source, target;
    size_t width, height, depth;
};

TEST_F(Places, OfACallWithoutACurrentContextAreItsHandles) {
    const Handle module = load(scale_ptx);
    const Handle f = kernel(" st.global.u32 [%p0], 7;");
    const Address x = allocate(64);
    Handle stream = nullptr;
    ASSERT_EQ((entry<int(Handle*, unsigned)>("cuStreamCreate")(&stream, 1)), success);
    ASSERT_EQ(cuCtxSetCurrent(nullptr), success);

    Handle found = nullptr;
    Address variable = 0;
    size_t bytes = 0;
    EXPECT_EQ(cuModuleGetFunction(&found, module, "scale"), success);
    const auto global = entry<int(Address*, size_t*, Handle, const char*)>("cuModuleGetGlobal");
    EXPECT_EQ(global(&variable, &bytes, module, "count"), success);
    EXPECT_EQ(bytes, 4u);

    Address argument = x;
    void* parameters[] = {&argument};
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), success);
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
              invalid_context);
    const uint32_t five = 5;
    const auto put = entry<int(Address, const void*, size_t, Handle)>("cuMemcpyHtoDAsync");
    EXPECT_EQ(put(x + 4, &five, 4, stream), success);
    EXPECT_EQ(put(x + 4, &five, 4, nullptr), invalid_context);
    const auto copy = entry<int(Address, Address, size_t, Handle)>("cuMemcpyDtoDAsync");
    EXPECT_EQ(copy(x + 8, x, 8, stream), success);
    EXPECT_EQ(
        (entry<int(Address, Address, size_t, Handle)>("cuMemcpyAsync")(x + 16, x + 4, 4, stream)),
        success);
    EXPECT_EQ(entry<int(Handle)>("cuStreamSynchronize")(stream), success);
    Handle graph = nullptr, exec = nullptr;
    ASSERT_EQ((entry<int(Handle*, unsigned)>("cuGraphCreate")(&graph, 0)), success);
    const auto instantiate =
        entry<int(Handle*, Handle, unsigned long long)>("cuGraphInstantiateWithFlags");
    EXPECT_EQ(instantiate(&exec, graph, 0), invalid_context);

    ASSERT_EQ(cuCtxSetCurrent(context), success);
    EXPECT_EQ(instantiate(&exec, graph, 0), success);
    EXPECT_EQ(read<uint32_t>(x, 5), (std::vector<uint32_t>{7, 5, 7, 5, 5}));
}

TEST_F(Places, OnTheBusAreWrittenInManyWays) {
    const auto id = entry<int(char*, int, int)>("cuDeviceGetPCIBusId");
    const auto by_id = entry<int(int*, const char*)>("cuDeviceGetByPCIBusId");
    std::array<char, 32> own{};
    ASSERT_EQ(id(own.data(), own.size(), 0), success);
    unsigned domain = 0, bus = 0, device = 0;
    ASSERT_EQ(std::sscanf(own.data(), "%x:%x:%x.0", &domain, &bus, &device), 3);
    const auto with = [&](const char* format, bool whole, unsigned b) {
        std::array<char, 64> text{};
        if (whole)
            std::snprintf(text.data(), text.size(), format, domain, b, device);
        else
            std::snprintf(text.data(), text.size(), format, b, device);
        int found = -1;
        const int result = by_id(&found, text.data());
        EXPECT_EQ(found, result == success ? 0 : -1) << text.data();
        return result;
    };
    for (const char* format : {"%x:%x:%x", "%04x:%02x:%02x", "%x:%x:%x.0", "%04X:%02X:%02X.0",
                               "%08x:%02x:%02x.0", " %x:%x:%x", "0x%x:0x%x:0x%x"}) {
        EXPECT_EQ(with(format, true, bus), success) << format;
        EXPECT_EQ(with(format, true, bus + 99), invalid_device) << format;
    }
    for (const char* format : {"%02x:%02x.0", "%x:%x.0"})
        EXPECT_EQ(with(format, false, bus), success) << format;
    EXPECT_EQ(with("%04x:%02x:%02x.1", true, bus), invalid_device);
    for (const char* format :
         {"%x:%x:%x ", "%x:%x:%x.", "%x:%x:%xz", "%x:%x:%x.0z", "%x-%x-%x", "", "x"})
        EXPECT_EQ(with(format, true, bus), invalid_value) << format;
    EXPECT_EQ(with("%x:%x", false, bus), invalid_value);
}

TEST_F(Places, OfACopyBetweenContextsAreItsSides) {
    constexpr int device_memory = 2;
    const auto copy = entry<int(const PeerCopy*)>("cuMemcpy3DPeer");
    const auto copy_in = entry<int(const PeerCopy*, Handle)>("cuMemcpy3DPeerAsync");
    const Address x = allocate(64), y = allocate(64);
    const auto fill = entry<int(Address, unsigned char, size_t)>("cuMemsetD8");
    ASSERT_EQ(fill(x, 1, 64), success);
    PeerCopy c{};
    c.source = {0, 0, 0, 0, device_memory, nullptr, x, nullptr, context, 16, 2};
    c.target = {4, 1, 0, 0, device_memory, nullptr, y, nullptr, context, 16, 2};
    c.width = 4;
    c.height = 1;
    c.depth = 2;
    EXPECT_EQ(copy(&c), success);
    std::vector<uint32_t> expected(16, 0);
    expected[5] = expected[13] = 0x01010101;
    EXPECT_EQ(read<uint32_t>(y, 16), expected);
    ASSERT_EQ(fill(x, 2, 64), success);
    EXPECT_EQ(copy_in(&c, nullptr), success);
    expected[5] = expected[13] = 0x02020202;
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(read<uint32_t>(y, 16), expected);
    EXPECT_EQ(copy(nullptr), invalid_value);
    EXPECT_EQ(copy_in(nullptr, nullptr), invalid_value);
}

}  // namespace
}  // namespace lockwarp::test
