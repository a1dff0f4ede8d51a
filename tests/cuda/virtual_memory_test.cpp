// SPDX-License-Identifier: Apache-2.0
// Addresses and memory apart: cuMemAddressReserve, cuMemCreate, cuMemMap.
#include <unistd.h>

#include "driver.hpp"

namespace lockwarp::test {
namespace {

struct Location {
    int type = 1, id = 0;
};
struct Properties {
    int type = 1, handle_types = 1;
    Location location;
    void* windows = nullptr;
    unsigned char flags[8] = {};
};
struct Access {
    Location location;
    int flags = 3;
};
using Memory = unsigned long long;

const auto cuMemAddressReserve =
    entry<int(Address*, size_t, size_t, Address, unsigned long long)>("cuMemAddressReserve");
const auto cuMemAddressFree = entry<int(Address, size_t)>("cuMemAddressFree");
const auto cuMemCreate =
    entry<int(Memory*, size_t, const Properties*, unsigned long long)>("cuMemCreate");
const auto cuMemRelease = entry<int(Memory)>("cuMemRelease");
const auto cuMemMap = entry<int(Address, size_t, size_t, Memory, unsigned long long)>("cuMemMap");
const auto cuMemUnmap = entry<int(Address, size_t)>("cuMemUnmap");
const auto cuMemSetAccess = entry<int(Address, size_t, const Access*, size_t)>("cuMemSetAccess");
const auto cuMemGetAccess =
    entry<int(unsigned long long*, const Location*, Address)>("cuMemGetAccess");
const auto cuMemRetain = entry<int(Memory*, void*)>("cuMemRetainAllocationHandle");

constexpr size_t unit = size_t{2} << 20;

class VirtualMemory : public Cuda {
  protected:
    void SetUp() override {
        Cuda::SetUp();
        ASSERT_EQ(cuMemAddressReserve(&base, 4 * unit, 0, 0, 0), success);
    }
    void TearDown() override {
        EXPECT_EQ(cuMemAddressFree(base, 4 * unit), success);
        Cuda::TearDown();
    }
    Memory create() {
        Memory out = 0;
        EXPECT_EQ(cuMemCreate(&out, unit, &properties, 0), success);
        return out;
    }
    // The last word before the second unit and the first behind it.
    int write_across(Handle f) {
        Address x = base + unit - 16;
        uint32_t a = 3;
        void* parameters[] = {&x, &a};
        const int r = cuLaunchKernel(f, 1, 1, 1, 8, 1, 1, 0, nullptr, parameters, nullptr);
        return r != success ? r : cuCtxSynchronize();
    }
    Properties properties;
    Access access;
    Address base = 0;
};

TEST_F(VirtualMemory, MappingsThatFollowEachOtherAreOne) {
    int supported = 0;
    ASSERT_EQ((entry<int(int*, int, int)>("cuDeviceGetAttribute")(&supported, 102, 0)), success);
    EXPECT_EQ(supported, 1);
    size_t granularity = 0;
    ASSERT_EQ((entry<int(size_t*, const Properties*, int)>("cuMemGetAllocationGranularity")(
                  &granularity, &properties, 0)),
              success);
    EXPECT_EQ(granularity, unit);
    const Memory a = create(), b = create();
    ASSERT_EQ(cuMemMap(base, unit, 0, a, 0), success);
    ASSERT_EQ(cuMemMap(base + unit, unit, 0, b, 0), success);
    EXPECT_EQ(cuMemMap(base + unit, unit, 0, a, 0), invalid_value);      // taken
    EXPECT_EQ(cuMemMap(base + 4 * unit, unit, 0, a, 0), invalid_value);  // not reserved
    EXPECT_EQ(cuMemsetD32(base, 0, 4), invalid_value);                   // no access yet
    ASSERT_EQ(cuMemSetAccess(base, 2 * unit, &access, 1), success);
    EXPECT_EQ(cuMemsetD32(base, 7, 2 * unit / 4), success);
    const Handle f = function(load(scale_ptx), "scale");
    ASSERT_EQ(write_across(f), success);
    std::vector<uint32_t> numbers(10);
    ASSERT_EQ(cuMemcpyDtoH(numbers.data(), base + unit - 20, 40), success);
    EXPECT_EQ(numbers, (std::vector<uint32_t>{7, 22, 22, 22, 22, 22, 22, 22, 22, 7}));
    EXPECT_EQ(cuMemcpyDtoH(numbers.data(), base + 2 * unit - 4, 8), invalid_value);
    unsigned long long flags = 0;
    EXPECT_EQ(cuMemGetAccess(&flags, &access.location, base + unit + 5), success);
    EXPECT_EQ(flags, 3u);
    EXPECT_EQ(cuMemUnmap(base, unit / 2), invalid_value);
    EXPECT_EQ(cuMemUnmap(base, 2 * unit), success);
    EXPECT_EQ(cuMemRelease(a), success);
    EXPECT_EQ(cuMemRelease(b), success);
    EXPECT_EQ(cuMemRelease(b), invalid_value);
}

// As an H200 answers: the host is its node 0, whichever number it is given, and may touch what is
// its own where it is let.
TEST_F(VirtualMemory, OfTheHost) {
    int supported = 0;
    for (const int attribute : {141, 145}) {
        ASSERT_EQ((entry<int(int*, int, int)>("cuDeviceGetAttribute")(&supported, attribute, 0)),
                  success);
        EXPECT_EQ(supported, 1) << attribute;
    }
    constexpr int host = 2, node = 3;
    Memory memory = 0;
    const auto made = [&](int type, int id, int handle_types) {
        properties.location = {type, id};
        properties.handle_types = handle_types;
        const int r = cuMemCreate(&memory, unit, &properties, 0);
        if (r == success) {
            EXPECT_EQ(cuMemRelease(memory), success);
        }
        return r;
    };
    for (const int id : {-1, 0, 7}) EXPECT_EQ(made(host, id, 0), success) << id;
    EXPECT_EQ(made(host, 0, 1), invalid_value);
    EXPECT_EQ(made(node, 0, 0), success);
    EXPECT_EQ(made(node, 0, 1), success);
    for (const int id : {-1, 1}) EXPECT_EQ(made(node, id, 0), invalid_value) << id;
    for (const int type : {0, 4, 5}) EXPECT_EQ(made(type, 0, 0), invalid_value) << type;
    EXPECT_EQ(made(1, 1, 0), 101);

    properties.location = {host, 7};
    properties.handle_types = 0;
    memory = create();
    Properties kept;
    ASSERT_EQ(
        (entry<int(Properties*, Memory)>("cuMemGetAllocationPropertiesFromHandle")(&kept, memory)),
        success);
    EXPECT_EQ(kept.location.type, node);
    EXPECT_EQ(kept.location.id, 0);
    ASSERT_EQ(cuMemMap(base, unit, 0, memory, 0), success);
    unsigned long long flags = 9;
    const Location of_host{host, 0}, of_node{node, 0}, of_none{4, 0};
    EXPECT_EQ(cuMemGetAccess(&flags, &of_host, base), success);
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(cuMemGetAccess(&flags, &of_none, base), 101);
    const Access by_host{of_host, 3}, by_none{of_none, 3};
    EXPECT_EQ(cuMemSetAccess(base, unit, &by_none, 1), invalid_value);
    ASSERT_EQ(cuMemSetAccess(base, unit, &by_host, 1), success);
    for (const Location& l : {of_host, of_node}) {
        EXPECT_EQ(cuMemGetAccess(&flags, &l, base), success);
        EXPECT_EQ(flags, 3u);
    }
    auto* const words = reinterpret_cast<volatile uint32_t*>(base);
    words[1] = 20;
    uint32_t seen = 0;
    EXPECT_EQ(cuMemcpyDtoH(&seen, base + 4, 4), success);  // though no device may touch it, yet
    EXPECT_EQ(seen, 20u);
    ASSERT_EQ(cuMemSetAccess(base, unit, &access, 1), success);
    const Handle f = function(load(scale_ptx), "scale");
    Address x = base;
    uint32_t a = 3;
    void* parameters[] = {&x, &a};
    ASSERT_EQ(cuLaunchKernel(f, 1, 1, 1, 8, 1, 1, 0, nullptr, parameters, nullptr), success);
    ASSERT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(words[1], 61u);
    int type = 0, ordinal = -1;
    void* of_host_pointer = nullptr;
    const auto pointer = entry<int(void*, int, Address)>("cuPointerGetAttribute");
    ASSERT_EQ(pointer(&type, 2, base), success);
    EXPECT_EQ(type, 1);  // CU_MEMORYTYPE_HOST
    ASSERT_EQ(pointer(&of_host_pointer, 4, base), success);
    EXPECT_EQ(reinterpret_cast<Address>(of_host_pointer), base);
    ASSERT_EQ(pointer(&ordinal, 9, base), success);
    EXPECT_EQ(ordinal, 0);
    ASSERT_EQ(cuMemUnmap(base, unit), success);
    ASSERT_EQ(cuMemRelease(memory), success);

    // A device's memory is not the host's to touch.
    properties.location = {1, 0};
    memory = create();
    ASSERT_EQ(cuMemMap(base, unit, 0, memory, 0), success);
    EXPECT_EQ(cuMemSetAccess(base, unit, &by_host, 1), not_supported);
    const Access by_nobody{of_host, 0};
    EXPECT_EQ(cuMemSetAccess(base, unit, &by_nobody, 1), success);
    ASSERT_EQ(cuMemUnmap(base, unit), success);
    ASSERT_EQ(cuMemRelease(memory), success);
}

// Another process is told whose it is.
TEST_F(VirtualMemory, OfTheHostIsGivenToOthers) {
    properties.location = {3, 0};
    const Memory memory = create();
    int file = -1;
    ASSERT_EQ((entry<int(void*, Memory, int, unsigned long long)>("cuMemExportToShareableHandle")(
                  &file, memory, 1, 0)),
              success);
    Memory imported = 0;
    ASSERT_EQ((entry<int(Memory*, void*, int)>("cuMemImportFromShareableHandle")(
                  &imported, reinterpret_cast<void*>(intptr_t{file}), 1)),
              success);
    Properties kept;
    ASSERT_EQ((entry<int(Properties*, Memory)>("cuMemGetAllocationPropertiesFromHandle")(&kept,
                                                                                         imported)),
              success);
    EXPECT_EQ(kept.location.type, 3);
    EXPECT_EQ(kept.handle_types, 0);
    ::close(file);
    EXPECT_EQ(cuMemRelease(imported), success);
    EXPECT_EQ(cuMemRelease(memory), success);
}

TEST_F(VirtualMemory, TheSameMemoryMayHaveSeveralAddressesAndOutlivesItsHandle) {
    const Memory a = create();
    ASSERT_EQ(cuMemMap(base, unit, 0, a, 0), success);
    ASSERT_EQ(cuMemMap(base + 2 * unit, unit, 0, a, 0), success);
    ASSERT_EQ(cuMemSetAccess(base, unit, &access, 1), success);
    ASSERT_EQ(cuMemSetAccess(base + 2 * unit, unit, &access, 1), success);
    EXPECT_EQ(cuMemAddressFree(base, 4 * unit), invalid_value);  // in use
    EXPECT_EQ(cuMemRelease(a), success);
    ASSERT_EQ(cuMemsetD32(base, 9, 1), success);
    uint32_t seen = 0;
    ASSERT_EQ(cuMemcpyDtoH(&seen, base + 2 * unit, 4), success);
    EXPECT_EQ(seen, 9u);
    Memory again = 0;
    ASSERT_EQ(cuMemRetain(&again, reinterpret_cast<void*>(base + 8)), success);
    ASSERT_EQ(cuMemUnmap(base, unit), success);
    ASSERT_EQ(cuMemUnmap(base + 2 * unit, unit), success);
    ASSERT_EQ(cuMemMap(base, unit, 0, again, 0), success);
    ASSERT_EQ(cuMemSetAccess(base, unit, &access, 1), success);
    ASSERT_EQ(cuMemcpyDtoH(&seen, base, 4), success);
    EXPECT_EQ(seen, 9u);
    ASSERT_EQ(cuMemUnmap(base, unit), success);
    ASSERT_EQ(cuMemRelease(again), success);
}

TEST_F(VirtualMemory, GoesToOthersAsAFile) {
    const Memory a = create();
    int file = -1;
    ASSERT_EQ((entry<int(void*, Memory, int, unsigned long long)>("cuMemExportToShareableHandle")(
                  &file, a, 1, 0)),
              success);
    Memory b = 0;
    ASSERT_EQ((entry<int(Memory*, void*, int)>("cuMemImportFromShareableHandle")(
                  &b, reinterpret_cast<void*>(static_cast<intptr_t>(file)), 1)),
              success);
    EXPECT_EQ(::close(file), 0);
    ASSERT_EQ(cuMemMap(base, unit, 0, a, 0), success);
    ASSERT_EQ(cuMemMap(base + unit, unit, 0, b, 0), success);
    ASSERT_EQ(cuMemSetAccess(base, 2 * unit, &access, 1), success);
    ASSERT_EQ(cuMemsetD32(base, 5, 1), success);
    uint32_t seen = 0;
    ASSERT_EQ(cuMemcpyDtoH(&seen, base + unit, 4), success);
    EXPECT_EQ(seen, 5u);
    ASSERT_EQ(cuMemUnmap(base, 2 * unit), success);
    ASSERT_EQ(cuMemRelease(a), success);
    ASSERT_EQ(cuMemRelease(b), success);
}

// A kernel that writes where nothing may: the error of a real device.
TEST_F(VirtualMemory, WithoutAccessAKernelTraps) {
    const Memory a = create();
    ASSERT_EQ(cuMemMap(base, unit, 0, a, 0), success);
    const Handle f = function(load(scale_ptx), "scale");
    testing::internal::CaptureStderr();
    EXPECT_EQ(write_across(f), illegal_address);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("out of bounds"), std::string::npos);
    EXPECT_EQ(cuMemUnmap(base, unit), success);
    EXPECT_EQ(cuMemRelease(a), success);
}

}  // namespace
}  // namespace lockwarp::test
