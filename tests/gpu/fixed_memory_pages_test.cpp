// SPDX-License-Identifier: Apache-2.0
// Memory at given addresses, beside a model that counts the pages: random requests at the edges of
// pages and of reservations, and a driver that refuses now and then.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "gpu/fixed_memory.hpp"

namespace lockwarp::gpu {
namespace {

constexpr uint64_t page = 2u << 20;
constexpr uint64_t megabyte = uint64_t{1} << 20;
using Ranges = std::map<uint64_t, uint64_t>;

// A driver that takes nothing that the manual does not allow.
struct Driver {
    Ranges reserved, mapped, accessible;
    std::map<unsigned long long, uint64_t> memory;
    std::map<uint64_t, unsigned long long> memory_at;
    unsigned long long next = 1;
    uint64_t least = 0;  // reserve() gives other addresses to smaller ranges
    std::vector<std::pair<uint64_t, uint64_t>> asked;  // of reserve(), in order
    int refuses = -1;  // of create(), map() and access(), the call so many later
    bool wrong = false;
};
Driver driver;

bool overlaps(const Ranges& all, uint64_t begin, uint64_t bytes) {
    for (const auto& [first, size] : all)
        if (begin < first + size && first < begin + bytes) return true;
    return false;
}

bool refused() { return driver.refuses >= 0 && driver.refuses-- == 0; }

int granularity(size_t* out, const MemoryProperties* p, int option) {
    driver.wrong |= p->location.id != 1 || option != 0;
    *out = page;
    return 0;
}
int reserve(unsigned long long* out, size_t bytes, size_t alignment, unsigned long long at,
            unsigned long long flags) {
    driver.wrong |= bytes % page != 0 || bytes == 0 || at % page != 0 || alignment != 0 || flags;
    driver.asked.emplace_back(at, bytes);
    if (bytes >= uint64_t{8} << 30) return 2;
    if (overlaps(driver.reserved, at, bytes) || bytes < driver.least)
        for (at = uint64_t{1} << 46; overlaps(driver.reserved, at, bytes);) at += bytes;
    driver.reserved[at] = bytes;
    *out = at;
    return 0;
}
int unreserve(unsigned long long at, size_t bytes) {
    const auto held = driver.reserved.find(at);
    driver.wrong |= held == driver.reserved.end() || held->second != bytes ||
                    overlaps(driver.mapped, at, bytes);
    driver.reserved.erase(at);
    return 0;
}
int create(unsigned long long* out, size_t bytes, const MemoryProperties* p,
           unsigned long long flags) {
    driver.wrong |= bytes == 0 || bytes % page != 0 || p->location.id != 1 || flags != 0;
    if (refused()) return 2;
    driver.memory[*out = driver.next++] = bytes;
    return 0;
}
int release(unsigned long long memory) {
    driver.wrong |= driver.memory.erase(memory) != 1;
    return 0;
}
int map(unsigned long long at, size_t bytes, size_t offset, unsigned long long memory,
        unsigned long long flags) {
    const auto held = driver.reserved.upper_bound(at);
    driver.wrong |= held == driver.reserved.begin() ||
                    at + bytes > std::prev(held)->first + std::prev(held)->second ||
                    overlaps(driver.mapped, at, bytes) || !driver.memory.contains(memory) ||
                    driver.memory[memory] != bytes || offset != 0 || flags != 0;
    if (refused()) return 1;
    driver.mapped[at] = bytes;
    driver.memory_at[at] = memory;
    return 0;
}
int unmap(unsigned long long at, size_t bytes) {
    const auto held = driver.mapped.find(at);
    driver.wrong |= held == driver.mapped.end() || held->second != bytes ||
                    !driver.memory.contains(driver.memory_at[at]);
    driver.mapped.erase(at);
    driver.memory_at.erase(at);
    driver.accessible.erase(at);
    return 0;
}
int access(unsigned long long at, size_t bytes, const MemoryAccess* a, size_t count) {
    driver.wrong |= !driver.mapped.contains(at) || driver.mapped[at] != bytes || count != 1 ||
                    a->flags != 3 || a->location.id != 1 || a->location.type != 1;
    if (refused()) return 1;
    driver.accessible[at] = bytes;
    return 0;
}

constexpr FixedMemoryApi api{granularity, reserve, unreserve, create, release, map, unmap, access};

std::set<uint64_t> pages_of(uint64_t address, uint64_t bytes) {
    std::set<uint64_t> out;
    const uint64_t last = address + std::max<uint64_t>(bytes, 1) - 1;
    for (uint64_t p = address / page; p <= last / page; ++p) out.insert(p);
    return out;
}

void expect_sound(const Ranges& given) {
    EXPECT_FALSE(driver.wrong);
    EXPECT_EQ(driver.mapped, driver.accessible);
    EXPECT_EQ(driver.memory.size(), driver.mapped.size());
    std::set<uint64_t> mapped, wanted;
    for (const auto& [address, bytes] : driver.mapped) mapped.merge(pages_of(address, bytes));
    for (const auto& [address, bytes] : given) wanted.merge(pages_of(address, bytes));
    for (const uint64_t p : wanted) EXPECT_TRUE(mapped.contains(p)) << p;
    // What no buffer touches is given back.
    for (const auto& [address, bytes] : driver.mapped) {
        const std::set<uint64_t> run = pages_of(address, bytes);
        bool used = false;
        for (const uint64_t p : run) used = used || wanted.contains(p);
        EXPECT_TRUE(used) << address;
    }
}

TEST(FixedMemoryPages, AreThoseThatBuffersTouch) {
    std::mt19937_64 random(5);
    const auto below = [&](uint64_t n) { return random() % n; };
    uint64_t refusals = 0, given_in_all = 0;
    for (int round = 0; round < 60; ++round) {
        driver = {};
        driver.least = round % 3 == 0 ? 0 : uint64_t{32} * megabyte;
        {
            FixedMemory memory(api, 1);
            Ranges given;
            for (int step = 0; step < 60; ++step) {
                // Around the edges of the 32 MB that are reserved at a time.
                const uint64_t base = (uint64_t{3} << 40) + below(3) * 32 * megabyte;
                uint64_t address = base + below(16) * page - page;
                address += below(2) == 0 ? 0 : below(4) == 0 ? page - 1 : below(page);
                const uint64_t edge = page - address % page;
                const uint64_t sizes[] = {0,        1,    edge - 1,         edge, edge + 1,
                                          2 * page, page, 40 * page + edge, 256};
                const uint64_t bytes = sizes[below(std::size(sizes))];
                const Ranges before = driver.mapped;
                driver.refuses = below(4) == 0 ? static_cast<int>(below(6)) : -1;
                const bool can_fail = driver.refuses >= 0;
                const bool got = memory.allocate(address, bytes);
                const bool failed = can_fail && driver.refuses < 0;
                EXPECT_EQ(got, !given.contains(address) && !failed);
                if (!got) {
                    EXPECT_EQ(driver.mapped, before);
                } else {
                    given[address] = bytes;
                }
                refusals += failed;
                given_in_all += got;
                driver.refuses = -1;
                expect_sound(given);
                if (given.size() < 1 + below(6)) continue;
                const auto gone = std::next(given.begin(), static_cast<int>(below(given.size())));
                if (!given.contains(gone->first + 1)) {
                    EXPECT_FALSE(memory.release(gone->first + 1));
                }
                EXPECT_TRUE(memory.release(gone->first));
                given.erase(gone);
                expect_sound(given);
            }
        }
        EXPECT_TRUE(driver.reserved.empty() && driver.mapped.empty() && driver.memory.empty());
    }
    EXPECT_GT(refusals, 100u);
    EXPECT_GT(given_in_all, 1000u);
}

TEST(FixedMemoryPages, TheSmallestPartOfTheAddressSpaceThatIsGivenIsReserved) {
    using Asked = std::vector<std::pair<uint64_t, uint64_t>>;
    const uint64_t address = (uint64_t{5} << 32) + 600 * megabyte;
    const Asked all = {{(address / (32 * megabyte)) * 32 * megabyte, 32 * megabyte},
                       {(address / (64 * megabyte)) * 64 * megabyte, 64 * megabyte},
                       {(uint64_t{5} << 32) + 512 * megabyte, 512 * megabyte},
                       {uint64_t{5} << 32, 4096 * megabyte},
                       {address, page}};
    for (size_t n = 0; n < 4; ++n) {
        driver = {};
        driver.least = all[n].second;
        FixedMemory memory(api, 1);
        EXPECT_TRUE(memory.allocate(address + 5, 7));
        EXPECT_EQ(driver.asked, Asked(all.begin(), all.begin() + static_cast<int>(n) + 1));
        EXPECT_EQ(driver.reserved, (Ranges{{all[n].first, all[n].second}}));
        EXPECT_EQ(driver.mapped, (Ranges{{address, page}}));
    }
    // None is: what it gave instead is given back.
    driver = {};
    driver.least = uint64_t{1} << 40;
    FixedMemory memory(api, 1);
    EXPECT_FALSE(memory.allocate(address, 1));
    EXPECT_EQ(driver.asked, all);
    EXPECT_TRUE(driver.reserved.empty());
}

// What lies beside a reservation is cut off at it.
TEST(FixedMemoryPages, ReservationsEndWhereOthersBegin) {
    const uint64_t base = uint64_t{7} << 40;
    driver = {};
    driver.least = 4 * megabyte;
    FixedMemory memory(api, 1);
    EXPECT_TRUE(memory.allocate(base + 64 * megabyte, 1));
    EXPECT_EQ(driver.reserved, (Ranges{{base + 64 * megabyte, 32 * megabyte}}));
    // From below into it: the part before it is asked for by itself.
    EXPECT_TRUE(memory.allocate(base + 60 * megabyte, 6 * megabyte));
    EXPECT_EQ(driver.reserved, (Ranges{{base + 32 * megabyte, 32 * megabyte},
                                       {base + 64 * megabyte, 32 * megabyte}}));
    // Out of it at its end, over the next one's begin.
    EXPECT_TRUE(memory.allocate(base + 96 * megabyte - 1, 33 * megabyte));
    EXPECT_EQ(driver.reserved, (Ranges{{base + 32 * megabyte, 32 * megabyte},
                                       {base + 64 * megabyte, 32 * megabyte},
                                       {base + 96 * megabyte, 64 * megabyte}}));
    EXPECT_EQ(driver.mapped, (Ranges{{base + 60 * megabyte, 4 * megabyte},
                                     {base + 64 * megabyte, page},
                                     {base + 94 * megabyte, page},
                                     {base + 96 * megabyte, 34 * megabyte}}));
    EXPECT_FALSE(driver.wrong);
}

TEST(FixedMemoryPages, TheEndOfTheAddressSpace) {
    driver = {};
    FixedMemory memory(api, 1);
    EXPECT_FALSE(memory.allocate(UINT64_MAX, 1));
    EXPECT_FALSE(memory.allocate(UINT64_MAX - page + 1, 0));
    EXPECT_FALSE(memory.allocate(UINT64_MAX - page, 2));
    EXPECT_FALSE(memory.allocate(0, UINT64_MAX));
    EXPECT_TRUE(driver.asked.empty());
    // No window fits there: the pages alone are asked for.
    EXPECT_TRUE(memory.allocate(UINT64_MAX - 3 * page + 1, page));
    EXPECT_EQ(driver.asked.back(),
              (std::pair<uint64_t, uint64_t>{UINT64_MAX - 3 * page + 1, page}));
    EXPECT_EQ(driver.asked.size(), 1u);
    EXPECT_FALSE(driver.wrong);
}

// A driver that lacks one of the functions, or does not say its pages, is not asked.
TEST(FixedMemoryPages, ADriverThatCannotIsNotAsked) {
    const auto cannot = [](const FixedMemoryApi& one) {
        driver = {};
        FixedMemory memory(one, 1);
        EXPECT_FALSE(memory.allocate(uint64_t{1} << 40, 1));
        EXPECT_FALSE(memory.release(uint64_t{1} << 40));
        EXPECT_TRUE(driver.asked.empty() && driver.memory.empty());
    };
    const auto without = [&](auto member) {
        FixedMemoryApi one = api;
        one.*member = nullptr;
        EXPECT_FALSE(one.complete());
        cannot(one);
    };
    EXPECT_TRUE(api.complete());
    without(&FixedMemoryApi::granularity);
    without(&FixedMemoryApi::reserve);
    without(&FixedMemoryApi::unreserve);
    without(&FixedMemoryApi::create);
    without(&FixedMemoryApi::release);
    without(&FixedMemoryApi::map);
    without(&FixedMemoryApi::unmap);
    without(&FixedMemoryApi::access);
    FixedMemoryApi silent = api;
    silent.granularity = [](size_t* out, const MemoryProperties*, int) {
        *out = page;
        return 1;
    };
    cannot(silent);
}

}  // namespace
}  // namespace lockwarp::gpu
