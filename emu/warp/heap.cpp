// SPDX-License-Identifier: Apache-2.0
#include "emu/warp/heap.hpp"

#include <algorithm>
#include <iterator>
#include <new>

namespace lockwarp::warp {

namespace {

constexpr uint64_t granule = 16;

constexpr uint64_t whole(uint64_t bytes) { return (bytes + granule - 1) / granule * granule; }

}  // namespace

Heap::Heap(uint64_t address, uint64_t bytes)
    : address_(address),
      bytes_(bytes),
      memory_(static_cast<uint8_t*>(std::calloc(std::max<uint64_t>(bytes, 1), 1))) {
    if (memory_ == nullptr) throw std::bad_alloc();
    if (bytes / granule != 0) free_[address] = bytes / granule * granule;
}

void Heap::take(uint64_t address, uint64_t bytes) {
    auto at = blocks_.lower_bound(address);
    if (at != blocks_.begin())
        if (const auto below = std::prev(at); below->first + below->second.bytes > address)
            at = below;
    while (at != blocks_.end() && at->first < address + bytes) at = blocks_.erase(at);
    blocks_.emplace_hint(at, address, Block{address, bytes, false});
    ++taken_;
}

uint64_t Heap::allocate(uint64_t bytes) {
    if (bytes == 0 || bytes > UINT64_MAX - granule) return 0;
    const uint64_t size = whole(bytes);
    const std::lock_guard guard(lock_);
    const auto found = std::ranges::find_if(free_, [&](const auto& f) { return f.second >= size; });
    if (found == free_.end()) return 0;
    const auto [address, room] = *found;
    free_.erase(found);
    if (room > size) free_[address + size] = room - size;
    take(address, bytes);
    return address;
}

bool Heap::allocate_at(uint64_t address, uint64_t bytes) {
    const uint64_t size = whole(bytes);
    const std::lock_guard guard(lock_);
    auto found = free_.upper_bound(address);
    if (bytes == 0 || found == free_.begin()) return false;
    --found;
    const auto [begin, room] = *found;
    const uint64_t before = address - begin;
    if (before > room || room - before < size) return false;
    free_.erase(found);
    if (before != 0) free_[begin] = before;
    if (room != before + size) free_[address + size] = room - before - size;
    take(address, bytes);
    return true;
}

bool Heap::release(uint64_t address) {
    const std::lock_guard guard(lock_);
    const auto taken = blocks_.find(address);
    if (taken == blocks_.end() || taken->second.freed) return false;
    taken->second.freed = true;
    --taken_;
    auto block = free_.emplace(address, whole(taken->second.bytes)).first;
    if (block != free_.begin())
        if (const auto below = std::prev(block); below->first + below->second == address) {
            below->second += block->second;
            free_.erase(block);
            block = below;
        }
    const auto above = std::next(block);
    if (above != free_.end() && block->first + block->second == above->first) {
        block->second += above->second;
        free_.erase(above);
    }
    return true;
}

std::optional<Heap::Block> Heap::block_before(uint64_t address) const {
    const std::lock_guard guard(lock_);
    const auto above = blocks_.upper_bound(address);
    if (above == blocks_.begin()) return std::nullopt;
    return std::prev(above)->second;
}

uint64_t Heap::blocks() const {
    const std::lock_guard guard(lock_);
    return taken_;
}

}  // namespace lockwarp::warp
