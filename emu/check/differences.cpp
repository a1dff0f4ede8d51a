// SPDX-License-Identifier: Apache-2.0
#include "emu/check/differences.hpp"

namespace lockwarp::check {

uint64_t MadeUp::next() {
    // splitmix64 (Steele, Lea, Flood 2014) maps different counts to different numbers.
    uint64_t z = ++count_ * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t RegisterDifferences::get(uint32_t reg, uint32_t lane, MadeUp& made_up) {
    OfRegister& r = all_[reg];
    if ((r.known >> lane & 1) == 0) {
        r.of[lane] = made_up.next();
        r.known |= 1u << lane;
    }
    return r.of[lane];
}

void RegisterDifferences::set(uint32_t reg, uint32_t lane, uint64_t difference) {
    OfRegister& r = all_[reg];
    r.of[lane] = difference;
    r.known |= 1u << lane;
}

void RegisterDifferences::forget(uint32_t reg, uint32_t lanes) {
    if (all_.empty()) return;
    if (const auto at = all_.find(reg); at != all_.end()) at->second.known &= ~lanes;
}

uint64_t MemoryDifferences::get(uint64_t address, uint32_t bytes, MadeUp& made_up) {
    Word& w = all_[address];
    if (w.bytes != bytes) w = {bytes, made_up.next()};
    return w.difference;
}

void MemoryDifferences::set(uint64_t address, uint32_t bytes, uint64_t difference) {
    all_[address] = {bytes, difference};
}

void MemoryDifferences::forget(uint64_t address, uint32_t bytes) {
    if (all_.empty()) return;
    constexpr uint64_t longest = 8;
    const uint64_t first = address < longest ? 0 : address - longest + 1;
    for (uint64_t at = first; at < address + bytes; ++at)
        if (const auto word = all_.find(at);
            word != all_.end() && at + word->second.bytes > address)
            all_.erase(word);
}

}  // namespace lockwarp::check
