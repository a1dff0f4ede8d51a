// SPDX-License-Identifier: Apache-2.0
#include "emu/check/shadow.hpp"

#include <algorithm>

namespace lockwarp::check {

Shadow::Page* Shadow::find(uint64_t number) {
    auto found = pages_.find(number);
    if (found == pages_.end()) {
        if (pages_.size() == max_pages_) {
            is_full_ = true;
            return nullptr;
        }
        found = pages_.emplace(number, std::make_unique<Page>()).first;
    }
    recent_[number % recent_.size()] = {number, found->second.get()};
    return found->second.get();
}

std::array<Word, 4>& Shadow::bytes_of(Word& w, uint64_t address) {
    if ((w.flags & Word::split) != 0) return split_[w.writer];
    uint32_t number = 0;
    if (free_splits_.empty()) {
        number = static_cast<uint32_t>(split_.size());
        split_.emplace_back();
    } else {
        number = free_splits_.back();
        free_splits_.pop_back();
    }
    for (unsigned i = 0; i < word_bytes; ++i) {
        split_[number][i] = w;
        split_[number][i].value = w.value >> (8 * i) & 0xff;
        if ((w.flags & Word::over_weak) != 0) under_[address + i] = Under(under_[address]);
    }
    w.writer = number;
    w.flags |= Word::split;
    return split_[number];
}

void Shadow::join(Word& w, uint64_t address) {
    if ((w.flags & Word::split) == 0) return;
    const uint32_t number = w.writer;
    uint8_t flags = 0;
    for (unsigned i = word_bytes; i-- > 0;) {
        flags |= split_[number][i].flags;
        if ((split_[number][i].flags & Word::over_weak) != 0)
            under_[address] = Under(under_[address + i]);
    }
    free_splits_.push_back(number);
    w = {};
    w.flags = flags & ~(Word::split | Word::has_value);
}

uint32_t Shadow::add_writer(const Accessor& a) {
    writers_.push_back(a);
    return static_cast<uint32_t>(writers_.size() - 1);
}

size_t Shadow::Hash::operator()(const Key& k) const {
    uint64_t x = k.cta;
    for (const uint64_t v : {uint64_t{k.time} << 32 | k.operation,
                             uint64_t{k.warp} << 33 | uint64_t{k.next} << 1 | k.strong}) {
        x = (x ^ v) * 0x9e3779b97f4a7c15u;
        x ^= x >> 29;
    }
    return x;
}

uint32_t Shadow::chain(const Accessor& who, uint32_t next) {
    const Key key{who.cta, who.time, who.operation, who.warp, next, who.strong};
    const auto [at, is_new] = chains_.try_emplace(key, static_cast<uint32_t>(readers_.size()));
    if (is_new) readers_.push_back({who, next, std::max(who.cta, readers_[next].last_cta)});
    return at->second;
}

}  // namespace lockwarp::check
