// SPDX-License-Identifier: Apache-2.0
#include "emu/check/definedness.hpp"

#include <algorithm>
#include <cstring>

namespace lockwarp::check {

uint32_t Origins::add(const Origin& o) {
    // One of each register, or of each load.
    const uint32_t what = o.kind == Origin::of_register ? o.reg : o.read;
    const Key key{o.kind, what, o.worked, 0};
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(all_.size()));
    if (is_new) all_.push_back(o);
    return at->second;
}

uint32_t Origins::worked(uint32_t number, uint32_t operation) {
    if (number == 0 || all_[number].worked != no_operation) return number;
    Origin o = all_[number];
    o.worked = operation;
    return add(o);
}

Registers::Registers(const isa::Program& program) {
    for (uint32_t i = 0; i < program.registers.size(); ++i) {
        const isa::Register& r = program.registers[i];
        of_ref_.emplace(r.ref, i);
        const bool is_half = r.half != 0;
        bytes_.push_back(is_half ? 8 : std::clamp(isa::bits(r.type) / 8, 1u, 8u));
    }
    for (const isa::Ref ref : program.pool) pool_.push_back(at(ref));
}

uint32_t Registers::at(isa::Ref ref) const {
    const auto found = of_ref_.find(ref);
    return found == of_ref_.end() ? no_register : found->second;
}

void WarpRegisters::begin(const Registers& all, bool defined) {
    undefined.assign(all.size(), {});
    any.assign(all.size(), defined ? 0 : UINT32_MAX);
    origin.assign(all.size(), 0);
    if (defined) return;
    for (uint32_t r = 0; r < all.size(); ++r)
        for (uint32_t b = 0; b < all.bytes(r); ++b) undefined[r][b] = UINT32_MAX;
}

void WarpRegisters::define(uint32_t reg, uint32_t lanes) {
    if (reg == no_register || (any[reg] & lanes) == 0) return;
    for (uint32_t& byte : undefined[reg]) byte &= ~lanes;
    any[reg] &= ~lanes;
}

void WarpRegisters::set(uint32_t reg, uint32_t bytes, const LanesByByte& to, uint32_t lanes,
                        uint32_t from) {
    if (reg == no_register) return;
    differences.forget(reg, lanes);
    uint32_t all = 0;
    for (uint32_t b = 0; b < bytes; ++b) {
        undefined[reg][b] = (undefined[reg][b] & ~lanes) | (to[b] & lanes);
        all |= undefined[reg][b];
    }
    if ((all & lanes) != 0) origin[reg] = from;
    any[reg] = all;
}

LanesByByte WarpRegisters::get(uint32_t reg) const {
    return reg == no_register ? LanesByByte{} : undefined[reg];
}

uint32_t Defined::get(uint64_t address, uint32_t bytes) const {
    if (left_ == 0) return 0;
    uint32_t out = 0;
    for (uint32_t i = 0; i < bytes; ++i)
        if (const uint64_t at = address + i - begin_; at < undefined_.size())
            out |= uint32_t{undefined_[at]} << i;
    return out;
}

void Defined::set(uint64_t address, uint32_t bytes, uint32_t undefined) {
    if (left_ == 0 && undefined == 0) return;
    differences.forget(address, bytes);
    for (uint32_t i = 0; i < bytes; ++i) {
        const uint64_t at = address + i - begin_;
        if (at >= undefined_.size()) continue;
        const auto value = static_cast<uint8_t>(undefined >> i & 1);
        left_ += uint64_t{value} - undefined_[at];
        undefined_[at] = value;
    }
}

void Defined::forget(uint64_t address, uint64_t bytes) {
    const uint64_t end = std::min(address + bytes, begin_ + undefined_.size());
    for (uint64_t at = std::max(address, begin_); at < end; ++at) {
        left_ += uint64_t{1} - undefined_[at - begin_];
        undefined_[at - begin_] = 1;
    }
}

std::vector<Range> Defined::undefined() const {
    std::vector<Range> out;
    auto from = undefined_.begin();
    while (left_ != 0) {
        from = std::find(from, undefined_.end(), 1);
        if (from == undefined_.end()) break;
        const auto to = std::find(from, undefined_.end(), 0);
        out.push_back({begin_ + static_cast<uint64_t>(from - undefined_.begin()),
                       static_cast<uint64_t>(to - from)});
        from = to;
    }
    return out;
}

uint32_t Defined::origin(uint64_t address) const {
    const auto at = origins_.find(address / 4);
    return at == origins_.end() ? 0 : at->second;
}

void Defined::set_origin(uint64_t address, uint32_t bytes, uint32_t origin) {
    for (uint64_t word = address / 4; word * 4 < address + bytes; ++word) origins_[word] = origin;
}

}  // namespace lockwarp::check
