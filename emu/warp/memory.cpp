// SPDX-License-Identifier: Apache-2.0
#include "emu/warp/memory.hpp"

#include <algorithm>

namespace lockwarp::warp {

GlobalMemory::GlobalMemory(std::vector<Buffer> buffers) : buffers_(std::move(buffers)) {
    std::ranges::sort(buffers_, {}, &Buffer::address);
}

const Buffer* GlobalMemory::find(uint64_t address, uint64_t bytes) const {
    auto after = std::ranges::upper_bound(buffers_, address, {}, &Buffer::address);
    if (after == buffers_.begin()) return nullptr;
    const Buffer& b = *--after;
    const uint64_t offset = address - b.address;
    if (offset > b.bytes.size() || b.bytes.size() - offset < bytes) return nullptr;
    return &b;
}

std::string GlobalMemory::describe(uint64_t address, uint64_t bytes) const {
    auto after = std::ranges::upper_bound(buffers_, address, {}, &Buffer::address);
    const Buffer* below = after == buffers_.begin() ? nullptr : &*std::prev(after);
    const Buffer* above = after == buffers_.end() ? nullptr : &*after;
    const uint64_t past = below ? address - below->address - below->bytes.size() : UINT64_MAX;
    const uint64_t before = above ? above->address - address : UINT64_MAX;
    if (below && address - below->address < below->bytes.size())
        return std::to_string(bytes) + " bytes at offset " +
               std::to_string(address - below->address) + " reach past the end of buffer '" +
               below->name + "' (" + std::to_string(below->bytes.size()) + " bytes)";
    constexpr uint64_t near = uint64_t{1} << 32;
    if (below && past <= before && past < near)
        return std::to_string(past) + " bytes past the end of buffer '" + below->name + "' (" +
               std::to_string(below->bytes.size()) + " bytes)";
    if (above && before < near)
        return std::to_string(before) + " bytes before buffer '" + above->name + "'";
    return "no buffer is near";
}

std::string GlobalMemory::overlap() const {
    for (size_t i = 0; i < buffers_.size(); ++i) {
        const Buffer& b = buffers_[i];
        if (b.address + b.bytes.size() < b.address)
            return "buffer '" + b.name + "' wraps around the address space";
        if (i + 1 < buffers_.size() && b.address + b.bytes.size() > buffers_[i + 1].address)
            return "buffers '" + b.name + "' and '" + buffers_[i + 1].name + "' overlap";
    }
    return {};
}

}  // namespace lockwarp::warp
