// SPDX-License-Identifier: Apache-2.0
#include "gpu/fixed_memory.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace lockwarp::gpu {

namespace {

constexpr int success = 0;
constexpr int minimum = 0;  // CU_MEM_ALLOC_GRANULARITY_MINIMUM

// The parts of the address space that are asked for, one after another until one is given, and last
// the pages alone: multiples of their own size, so that what lies beside them can be had later.
constexpr std::array<uint64_t, 4> windows{uint64_t{32} << 20, uint64_t{64} << 20,
                                          uint64_t{512} << 20, uint64_t{4} << 30};

uint64_t down(uint64_t address, uint64_t unit) { return address / unit * unit; }
uint64_t up(uint64_t address, uint64_t unit) { return down(address + unit - 1, unit); }

// The range of `all` that has an address; end() where none has.
template <class Ranges>
auto range_with(Ranges& all, uint64_t address) {
    auto next = all.upper_bound(address);
    if (next == all.begin()) return all.end();
    --next;
    return address - next->first < next->second ? next : all.end();
}

}  // namespace

FixedMemory::FixedMemory(const FixedMemoryApi& api, int device) : api_(api) {
    properties_.location.id = device;
    size_t page = 0;
    if (api_.complete() && api_.granularity(&page, &properties_, minimum) == success) page_ = page;
}

FixedMemory::~FixedMemory() {
    while (!given_.empty()) release(given_.begin()->first);
    for (const auto& [address, bytes] : reserved_) api_.unreserve(address, bytes);
}

// Addresses for a range that has none.
bool FixedMemory::reserve(uint64_t begin, uint64_t end) {
    const auto ask = [&](uint64_t from, uint64_t to) {
        unsigned long long got = 0;
        if (api_.reserve(&got, to - from, 0, from, 0) != success) return false;
        if (got == from) return reserved_.emplace(from, to - from).second;
        api_.unreserve(got, to - from);
        return false;
    };
    const auto next = reserved_.lower_bound(end);
    const uint64_t highest = next == reserved_.end() ? UINT64_MAX : next->first;
    const auto before = reserved_.upper_bound(begin);
    const uint64_t lowest =
        before == reserved_.begin() ? 0 : std::prev(before)->first + std::prev(before)->second;
    const auto ask_about = [&](uint64_t window) {
        if (end > UINT64_MAX - window) return false;
        return ask(std::max(down(begin, window), lowest), std::min(up(end, window), highest));
    };
    return std::ranges::any_of(windows, ask_about) || ask(begin, end);
}

// Memory for a range that has addresses and no memory; whole pages.
bool FixedMemory::map(uint64_t begin, uint64_t end) {
    const size_t bytes = end - begin;
    Run run{.bytes = bytes};
    if (api_.create(&run.memory, bytes, &properties_, 0) != success) return false;
    if (api_.map(begin, bytes, 0, run.memory, 0) == success) {
        const MemoryAccess access{properties_.location};
        if (api_.access(begin, bytes, &access, 1) == success) {
            runs_.emplace(begin, run);
            return true;
        }
        api_.unmap(begin, bytes);
    }
    api_.release(run.memory);
    return false;
}

// Maps what is not mapped of a range.
bool FixedMemory::fill(uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end;) {
        auto next = runs_.upper_bound(at);
        if (next != runs_.begin()) {
            const auto& [first, run] = *std::prev(next);
            if (first + run.bytes > at) {
                at = first + run.bytes;
                continue;
            }
        }
        uint64_t stop = next == runs_.end() ? end : std::min(end, next->first);
        const auto held = range_with(reserved_, at);
        if (held != reserved_.end()) {
            stop = std::min(stop, held->first + held->second);
        } else {
            const auto later = reserved_.upper_bound(at);
            if (later != reserved_.end()) stop = std::min(stop, later->first);
            if (!reserve(at, stop)) return false;
        }
        if (!map(at, stop)) return false;
        at = stop;
    }
    return true;
}

// One user less of each run in a range; those that have none are unmapped.
void FixedMemory::leave(uint64_t begin, uint64_t end) {
    auto at = runs_.upper_bound(begin);
    if (at != runs_.begin()) --at;
    while (at != runs_.end() && at->first < end) {
        auto& [first, run] = *at;
        const bool meets = first + run.bytes > begin;
        if (meets && --run.users == 0) {
            api_.unmap(first, run.bytes);
            api_.release(run.memory);
            at = runs_.erase(at);
        } else {
            ++at;
        }
    }
}

bool FixedMemory::allocate(uint64_t address, uint64_t bytes) {
    bytes = std::max<uint64_t>(bytes, 1);
    if (page_ == 0 || address > UINT64_MAX - page_ || bytes > UINT64_MAX - page_ - address ||
        given_.contains(address))
        return false;
    const uint64_t begin = down(address, page_);
    const uint64_t end = up(address + bytes, page_);
    const bool filled = fill(begin, end);
    for (auto& [first, run] : runs_)
        if (first < end && first + run.bytes > begin) ++run.users;
    if (!filled) {
        leave(begin, end);
        return false;
    }
    given_.emplace(address, bytes);
    return true;
}

bool FixedMemory::release(uint64_t address) {
    const auto found = given_.find(address);
    if (found == given_.end()) return false;
    leave(down(address, page_), up(address + found->second, page_));
    given_.erase(found);
    return true;
}

}  // namespace lockwarp::gpu
