// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/heap.hpp"

#include <algorithm>
#include <iterator>

namespace lockwarp::exec {

namespace {

constexpr uint64_t granule = 16;

}  // namespace

Heap::Heap(uint64_t base, uint64_t bytes) {
    if (bytes / granule != 0) free_[base] = bytes / granule * granule;
}

uint64_t Heap::allocate(uint64_t bytes) {
    if (bytes == 0 || bytes > UINT64_MAX - granule) return 0;
    const uint64_t size = (bytes + granule - 1) / granule * granule;
    const std::lock_guard guard(lock_);
    const auto found = std::ranges::find_if(free_, [&](const auto& f) { return f.second >= size; });
    if (found == free_.end()) return 0;
    const auto [address, room] = *found;
    free_.erase(found);
    if (room > size) free_[address + size] = room - size;
    taken_[address] = size;
    return address;
}

bool Heap::allocate_at(uint64_t address, uint64_t bytes) {
    const uint64_t size = (bytes + granule - 1) / granule * granule;
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
    taken_[address] = size;
    return true;
}

bool Heap::release(uint64_t address) {
    const std::lock_guard guard(lock_);
    const auto taken = taken_.find(address);
    if (taken == taken_.end()) return false;
    auto block = free_.emplace(address, taken->second).first;
    taken_.erase(taken);
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

}  // namespace lockwarp::exec
