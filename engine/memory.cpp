// SPDX-License-Identifier: Apache-2.0
#include "engine/memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "emu/isa/operation.hpp"
#include "engine/error.hpp"

namespace lockwarp::engine {

namespace {

constexpr uint64_t alignment = 256;  // of what cudaMalloc gives
constexpr size_t max_name = 60;      // bytes of the names of ranges that are one buffer

struct Taken {
    uint64_t begin, end;
    std::string_view what;
};

// Addresses that mean something else to a kernel.
constexpr std::array taken_addresses{
    Taken{isa::heap_base, isa::heap_base + (uint64_t{1} << 30), "malloc's heap"},
    Taken{isa::launch_buffers, isa::launch_buffers + isa::launch_buffer_bytes,
          "the parameters of launches from kernels"},
    Taken{isa::grid_workspace, isa::grid_workspace + isa::grid_workspace_bytes,
          "the workspace of cooperative launches"},
    Taken{isa::shared_window, isa::const_window + isa::window_bytes,
          "the windows of other state spaces"},
};

std::string hex(uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    do out.insert(out.begin(), digits[value % 16]);
    while ((value /= 16) != 0);
    return "0x" + out;
}

std::string shown(const Range& r) {
    return "'" + r.name + "' at " + hex(r.address) + " (" + std::to_string(r.size) + " bytes)";
}

// b begins where a does or behind it, and touches it.
void join(warp::Buffer& a, const Range& b) {
    const uint64_t offset = b.address - a.address;
    if (offset > a.bytes.size()) return;
    const uint64_t size = std::max<uint64_t>(a.bytes.size(), offset + b.size);
    if (size == a.bytes.size()) return;
    a.bytes = {a.bytes.data(), size};
    if (a.name.size() < max_name)
        a.name += (a.name.empty() ? "" : ", ") + b.name;
    else if (!a.name.ends_with(", ..."))
        a.name += ", ...";
}

}  // namespace

Range checked(const lockwarp_range& in) {
    Range r;
    r.bytes = static_cast<uint8_t*>(in.bytes);
    r.address = in.address != 0 ? in.address : reinterpret_cast<uint64_t>(in.bytes);
    r.size = in.size;
    r.name = in.name != nullptr ? in.name : "";
    if (r.size == 0) return r;
    if (in.bytes == nullptr)
        fail(LOCKWARP_INVALID_ARGUMENT, "the range " + shown(r) + " has no bytes");
    if (r.address + r.size < r.address)
        fail(LOCKWARP_INVALID_ARGUMENT,
             "the range " + shown(r) + " wraps around the address space");
    for (const Taken& t : taken_addresses)
        if (r.address < t.end && t.begin < r.address + r.size)
            fail(LOCKWARP_INVALID_ARGUMENT,
                 "the range " + shown(r) + " lies where kernels have " + std::string(t.what));
    return r;
}

std::vector<warp::Buffer> buffers_of(std::vector<Range> ranges) {
    std::erase_if(ranges, [](const Range& r) { return r.size == 0; });
    std::ranges::stable_sort(ranges, {}, &Range::address);
    std::vector<warp::Buffer> out;
    for (Range& r : ranges) {
        if (!out.empty() && r.address - out.back().address <= out.back().bytes.size()) {
            warp::Buffer& last = out.back();
            if (last.bytes.data() + (r.address - last.address) == r.bytes) {
                join(last, r);
                continue;
            }
            if (r.address - last.address < last.bytes.size())
                fail(LOCKWARP_INVALID_ARGUMENT,
                     "the ranges '" + last.name + "' and " + shown(r) +
                         " overlap and give the same address to different bytes");
        }
        out.push_back({std::move(r.name), r.address, {r.bytes, r.size}});
    }
    return out;
}

const Range* nearest_range(const std::vector<Range>& ranges, uint64_t address) {
    const Range* best = nullptr;
    uint64_t best_distance = UINT64_MAX;
    for (const Range& r : ranges) {
        if (r.size == 0) continue;
        const uint64_t distance = address < r.address            ? r.address - address
                                  : address - r.address < r.size ? 0
                                                                 : address - r.address - r.size + 1;
        // Of several that hold it the smallest says most.
        const bool better = distance < best_distance ||
                            (distance == best_distance && best != nullptr && r.size < best->size);
        if (!better) continue;
        best = &r;
        best_distance = distance;
    }
    return best;
}

void Freed::operator()(uint8_t* bytes) const { std::free(bytes); }

Block block_of(uint64_t size) {
    if (size > SIZE_MAX - 2 * alignment) throw std::bad_alloc();
    const size_t whole = (size + alignment - 1) / alignment * alignment;
    auto* const bytes = static_cast<uint8_t*>(std::aligned_alloc(alignment, whole));
    if (bytes == nullptr) throw std::bad_alloc();
    std::memset(bytes, 0, whole);
    return Block(bytes);
}

void Memory::add(Range range) {
    if (range.size == 0) return;
    const std::lock_guard lock(mutex_);
    const uint64_t address = range.address;
    const uint64_t end = address + range.size;
    ranges_.emplace(address, std::move(range));
    renew(address, end);
}

bool Memory::remove(const void* bytes, uint64_t size) {
    if (size == 0) return true;
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const auto& item) {
        return item.second.bytes == bytes && item.second.size == size;
    };
    // Most lie where kernels have them.
    const auto [first, behind] = ranges_.equal_range(reinterpret_cast<uint64_t>(bytes));
    auto found = std::find_if(first, behind, is_it);
    if (found == behind) found = std::ranges::find_if(ranges_, is_it);
    if (found == ranges_.end()) return false;
    const uint64_t address = found->second.address;
    ranges_.erase(found);
    renew(address, address + size);
    return true;
}

void* Memory::allocate(uint64_t size, std::string name) {
    size = std::max<uint64_t>(size, 1);
    Block block = block_of(size);
    uint8_t* const bytes = block.get();
    {
        const std::lock_guard lock(mutex_);
        blocks_.emplace(bytes, std::pair(std::move(block), size));
    }
    add({reinterpret_cast<uint64_t>(bytes), size, bytes, std::move(name)});
    return bytes;
}

bool Memory::free(const void* bytes) {
    if (bytes == nullptr) return true;
    std::pair<Block, uint64_t> block;
    {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(bytes);
        if (found == blocks_.end()) return false;
        block = std::move(found->second);
        blocks_.erase(found);
    }
    return remove(bytes, block.second);
}

namespace {

std::vector<Range> values_of(const std::multimap<uint64_t, Range>& ranges) {
    std::vector<Range> out;
    out.reserve(ranges.size());
    for (const auto& [address, range] : ranges) out.push_back(range);
    return out;
}

void put_buffers_of(std::vector<Range> ranges, warp::Buffers& out) {
    for (warp::Buffer& b : buffers_of(std::move(ranges))) {
        const uint64_t address = b.address;
        out.emplace(address, std::move(b));
    }
}

}  // namespace

std::vector<Range> Memory::ranges() {
    const std::lock_guard lock(mutex_);
    return values_of(ranges_);
}

std::shared_ptr<const warp::Buffers> Memory::buffers() {
    const std::lock_guard lock(mutex_);
    if (buffers_ == nullptr) {
        auto fresh = std::make_shared<warp::Buffers>();
        put_buffers_of(values_of(ranges_), *fresh);
        buffers_ = std::move(fresh);
    }
    return buffers_;
}

// What lies in [begin, end) has changed: the buffers there, and those that touch it, are made anew
// of their ranges.
void Memory::renew(uint64_t begin, uint64_t end) {
    if (buffers_ == nullptr) return;
    try {
        // Whoever had it last is done with it before its count says so.
        if (buffers_.use_count() > 1) buffers_ = std::make_shared<warp::Buffers>(*buffers_);
        std::atomic_thread_fence(std::memory_order_acquire);
        auto first = buffers_->upper_bound(begin);
        if (first != buffers_->begin()) {
            const warp::Buffer& below = std::prev(first)->second;
            if (below.address + below.bytes.size() >= begin) --first;
        }
        auto behind = first;
        for (; behind != buffers_->end() && behind->first <= end; ++behind) {
            begin = std::min(begin, behind->first);
            end = std::max(end, behind->first + behind->second.bytes.size());
        }
        buffers_->erase(first, behind);
        std::vector<Range> there;
        for (auto r = ranges_.lower_bound(begin); r != ranges_.end() && r->first <= end; ++r)
            there.push_back(r->second);
        put_buffers_of(std::move(there), *buffers_);
    } catch (...) {
        buffers_ = nullptr;
    }
}

}  // namespace lockwarp::engine
