// SPDX-License-Identifier: Apache-2.0
// Memory at given addresses, on a driver that is made up here.
#include "gpu/fixed_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace lockwarp::gpu::fixed_memory_test {
namespace {

constexpr uint64_t page = 2u << 20;
constexpr uint64_t base = 0x7000000000;

// What the made-up driver holds.
struct Driver {
    std::map<uint64_t, uint64_t> reserved, mapped;
    std::map<unsigned long long, uint64_t> memory;
    std::set<uint64_t> accessible;
    unsigned long long next = 1;
    uint64_t least = 0;    // reserve() gives other addresses to smaller ranges
    int fail_create = -1;  // that many calls later
    bool fail_access = false;
    bool wrong = false;  // something was asked for that a driver does not take
};
Driver driver;

// Pinned memory of device 3, of which nothing else is asked.
bool is_plain(const MemoryProperties& p) {
    return p.type == 1 && p.location.type == 1 && p.location.id == 3 && p.handle_types == 0 &&
           p.unused == nullptr && p.compression == 0 && p.direct == 0 && p.usage == 0 &&
           std::ranges::count(p.reserved, 0) == std::ssize(p.reserved);
}

int granularity(size_t* out, const MemoryProperties* p, int) {
    driver.wrong |= !is_plain(*p);
    *out = page;
    return 0;
}
int reserve(unsigned long long* out, size_t bytes, size_t, unsigned long long at,
            unsigned long long) {
    driver.wrong |= bytes % page != 0 || at % page != 0 || bytes == 0;
    for (const auto& [first, size] : driver.reserved)
        if (at < first + size && first < at + bytes) at = uint64_t{1} << 46;
    if (bytes < driver.least) at = uint64_t{1} << 46;
    driver.reserved[at] = bytes;
    *out = at;
    return 0;
}
int unreserve(unsigned long long at, size_t bytes) {
    driver.wrong |=
        !driver.reserved.contains(at) || driver.reserved[at] != bytes || driver.mapped.contains(at);
    driver.reserved.erase(at);
    return 0;
}
int create(unsigned long long* out, size_t bytes, const MemoryProperties* p, unsigned long long) {
    driver.wrong |= !is_plain(*p);
    if (driver.fail_create-- == 0) return 2;
    driver.memory[*out = driver.next++] = bytes;
    return 0;
}
int release(unsigned long long memory) {
    driver.wrong |= driver.memory.erase(memory) != 1;
    return 0;
}
int map(unsigned long long at, size_t bytes, size_t, unsigned long long memory,
        unsigned long long) {
    const auto held = std::prev(driver.reserved.upper_bound(at));
    driver.wrong |= at + bytes > held->first + held->second || driver.memory[memory] != bytes;
    driver.mapped[at] = bytes;
    return 0;
}
int unmap(unsigned long long at, size_t bytes) {
    driver.wrong |= !driver.mapped.contains(at) || driver.mapped[at] != bytes;
    driver.mapped.erase(at);
    driver.accessible.erase(at);
    return 0;
}
int access(unsigned long long at, size_t bytes, const MemoryAccess* a, size_t count) {
    if (driver.fail_access) return 1;
    driver.wrong |=
        driver.mapped[at] != bytes || a->flags != 3 || a->location.id != 3 || count != 1;
    driver.accessible.insert(at);
    return 0;
}

constexpr FixedMemoryApi api{granularity, reserve, unreserve, create, release, map, unmap, access};

void expect_nothing_held() {
    EXPECT_TRUE(driver.reserved.empty());
    EXPECT_TRUE(driver.mapped.empty());
    EXPECT_TRUE(driver.memory.empty());
    EXPECT_FALSE(driver.wrong);
}

TEST(FixedMemory, BuffersOfOnePageShareIt) {
    driver = {};
    {
        FixedMemory memory(api, 3);
        EXPECT_TRUE(memory.allocate(base + 256, 100));
        EXPECT_TRUE(memory.allocate(base + 512, 3 * page));
        EXPECT_FALSE(memory.allocate(base + 512, 1));  // it is given already
        EXPECT_TRUE(memory.allocate(base + 10 * page, 0));
        EXPECT_EQ(driver.mapped.size(), 3u);
        EXPECT_EQ(driver.mapped[base], page);
        EXPECT_EQ(driver.mapped[base + page], 3 * page);
        EXPECT_EQ(driver.accessible.size(), 3u);
        EXPECT_TRUE(memory.release(base + 256));
        EXPECT_EQ(driver.mapped.size(), 3u);
        EXPECT_FALSE(memory.release(base + 256));
        EXPECT_FALSE(memory.release(base));
        EXPECT_TRUE(memory.release(base + 512));
        EXPECT_EQ(driver.mapped.size(), 1u);
        EXPECT_TRUE(memory.allocate(base + 512, 100));
    }
    expect_nothing_held();
}

// A range between two that are there is filled.
TEST(FixedMemory, Gaps) {
    driver = {};
    {
        FixedMemory memory(api, 3);
        EXPECT_TRUE(memory.allocate(base + page, 1));
        EXPECT_TRUE(memory.allocate(base + 3 * page, 1));
        EXPECT_TRUE(memory.allocate(base + 256, 5 * page));
        EXPECT_EQ(driver.mapped.size(), 5u);
        EXPECT_TRUE(memory.release(base + 256));
        EXPECT_EQ(driver.mapped.size(), 2u);
    }
    expect_nothing_held();
}

// A driver that takes a hint for large ranges only: a part of them is mapped.
TEST(FixedMemory, LargeReservations) {
    driver = {};
    driver.least = uint64_t{64} << 20;
    {
        FixedMemory memory(api, 3);
        EXPECT_TRUE(memory.allocate(base + 33 * page, 100));
        EXPECT_EQ(driver.reserved, (std::map<uint64_t, uint64_t>{{base + 32 * page, 32 * page}}));
        EXPECT_EQ(driver.mapped, (std::map<uint64_t, uint64_t>{{base + 33 * page, page}}));
        EXPECT_TRUE(memory.allocate(base + 40 * page, 30 * page));
        EXPECT_TRUE(memory.release(base + 33 * page));
        EXPECT_EQ(driver.reserved.size(), 2u);
        EXPECT_TRUE(memory.release(base + 40 * page));
        // The next launch may want them again, and the driver would take them for itself.
        EXPECT_TRUE(driver.mapped.empty());
        EXPECT_EQ(driver.reserved.size(), 2u);
        EXPECT_TRUE(memory.allocate(base + 50 * page, 1));
        EXPECT_EQ(driver.reserved.size(), 2u);
    }
    expect_nothing_held();
}

TEST(FixedMemory, WhatTheDriverDoesNotGive) {
    driver = {};
    FixedMemory memory(api, 3);
    driver.least = uint64_t{1} << 40;
    EXPECT_FALSE(memory.allocate(base + 256, 1));
    expect_nothing_held();
    driver.least = 0;
    driver.fail_create = 0;
    EXPECT_FALSE(memory.allocate(base, 1));
    EXPECT_TRUE(driver.memory.empty());
    driver.fail_access = true;
    EXPECT_FALSE(memory.allocate(base, 1));
    EXPECT_TRUE(driver.mapped.empty() && driver.memory.empty());
    driver.fail_access = false;
    // Of two runs the second fails: the first is given back too, another's is not.
    EXPECT_TRUE(memory.allocate(base + page, 1));
    driver.fail_create = 1;
    EXPECT_FALSE(memory.allocate(base + 256, 4 * page));
    EXPECT_EQ(driver.mapped.size(), 1u);
    EXPECT_FALSE(memory.allocate(UINT64_MAX - 255, 512));
    EXPECT_TRUE(memory.release(base + page));
    EXPECT_TRUE(driver.mapped.empty() && driver.memory.empty());
    EXPECT_FALSE(driver.wrong);
    FixedMemoryApi old = api;
    old.map = nullptr;
    FixedMemory none(old, 3);
    EXPECT_FALSE(none.allocate(base, 1));
}

}  // namespace
}  // namespace lockwarp::gpu::fixed_memory_test
