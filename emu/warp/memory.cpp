// SPDX-License-Identifier: Apache-2.0
#include "emu/warp/memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockwarp::warp {

namespace {

bool holds(const Buffer* b, uint64_t address, uint64_t bytes) {
    if (b == nullptr) return false;
    const uint64_t offset = address - b->address;
    return offset <= b->bytes.size() && b->bytes.size() - offset >= bytes;
}

std::string overlapping(const Buffer& a, const Buffer& b) {
    return "buffers '" + a.name + "' and '" + b.name + "' overlap";
}

}  // namespace

GlobalMemory::GlobalMemory(std::vector<Buffer> own, std::shared_ptr<const Buffers> common)
    : own_(std::move(own)), common_(std::move(common)) {
    std::ranges::sort(own_, {}, &Buffer::address);
}

GlobalMemory::Neighbours GlobalMemory::own_neighbours(uint64_t address) const {
    const auto after = std::ranges::upper_bound(own_, address, {}, &Buffer::address);
    return {after == own_.begin() ? nullptr : &*std::prev(after),
            after == own_.end() ? nullptr : &*after};
}

GlobalMemory::Neighbours GlobalMemory::common_neighbours(uint64_t address) const {
    if (common_ == nullptr) return {};
    const auto after = common_->upper_bound(address);
    return {after == common_->begin() ? nullptr : &std::prev(after)->second,
            after == common_->end() ? nullptr : &after->second};
}

const Buffer* GlobalMemory::find(uint64_t address, uint64_t bytes) const {
    const Buffer* b = own_neighbours(address).below;
    if (holds(b, address, bytes)) return b;
    b = common_neighbours(address).below;
    return holds(b, address, bytes) ? b : nullptr;
}

std::string GlobalMemory::describe(uint64_t address, uint64_t bytes) const {
    auto [below, above] = own_neighbours(address);
    const auto [common_below, common_above] = common_neighbours(address);
    if (below == nullptr || (common_below != nullptr && common_below->address > below->address))
        below = common_below;
    if (above == nullptr || (common_above != nullptr && common_above->address < above->address))
        above = common_above;
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
    for (size_t i = 0; i < own_.size(); ++i) {
        const Buffer& b = own_[i];
        const uint64_t end = b.address + b.bytes.size();
        if (end < b.address) return "buffer '" + b.name + "' wraps around the address space";
        if (i + 1 < own_.size() && end > own_[i + 1].address) return overlapping(b, own_[i + 1]);
        const auto [below, above] = common_neighbours(b.address);
        if (below != nullptr && below->address + below->bytes.size() > b.address)
            return overlapping(*below, b);
        if (above != nullptr && end > above->address) return overlapping(b, *above);
    }
    return {};
}

std::vector<const Buffer*> buffers_of(const Launch& launch) {
    std::vector<const Buffer*> out;
    for (const Buffer& b : launch.buffers) out.push_back(&b);
    if (launch.common != nullptr)
        for (const auto& [address, b] : *launch.common) out.push_back(&b);
    return out;
}

}  // namespace lockwarp::warp
