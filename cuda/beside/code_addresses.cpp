// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/code_addresses.hpp"

#include <algorithm>
#include <cstring>

#include "emu/isa/operation.hpp"

namespace lockwarp::beside {

namespace {

constexpr uint64_t most_functions = uint64_t{1} << 20;  // of a module
// What a GPU has for a function, where it is less, may be any number elsewhere.
constexpr uint64_t least_address = uint64_t{1} << 32;
constexpr uint64_t code_alignment = 8;

uint64_t word_at(std::span<const uint8_t> bytes, size_t i) {
    uint64_t out = 0;
    std::memcpy(&out, bytes.data() + i, sizeof out);
    return out;
}

bool is_emulators(uint64_t word) {
    return word - isa::code_window < isa::code_stride * most_functions;
}

void replace(std::span<uint8_t> bytes, size_t i, const std::map<uint64_t, uint64_t>& by) {
    const auto found = by.find(word_at(bytes, i));
    if (found != by.end()) std::memcpy(bytes.data() + i, &found->second, sizeof found->second);
}

}  // namespace

void CodeAddresses::learn(Address at, std::span<const uint8_t> gpu,
                          std::span<const uint8_t> emulator) {
    for (size_t i = 0; i + 8 <= std::min(gpu.size(), emulator.size()); i += 8) {
        const uint64_t own = word_at(emulator, i), theirs = word_at(gpu, i);
        if (!is_emulators(own) || theirs == 0) continue;
        places_.insert(at + i);
        emulators_.try_emplace(theirs, own);
        gpus_.try_emplace(own, theirs);
    }
}

void CodeAddresses::learn_left(std::span<const uint8_t> gpu, std::span<uint8_t> emulator) {
    for (size_t i = 0; i + 8 <= std::min(gpu.size(), emulator.size()); i += 8) {
        const uint64_t own = word_at(emulator, i), theirs = word_at(gpu, i);
        if (!is_emulators(own) || own == theirs) continue;
        if (theirs == 0 || theirs % code_alignment != 0 || emulators_.contains(theirs) ||
            gpus_.contains(own))
            continue;
        emulators_.emplace(theirs, own);
        gpus_.emplace(own, theirs);
        replace(emulator, i, gpus_);
    }
}

void CodeAddresses::to_emulator(Address at, std::span<uint8_t> bytes) const {
    if (empty()) return;
    if (at != 0)
        for (auto place = places_.lower_bound(at);
             place != places_.end() && *place - at + 8 <= bytes.size(); ++place)
            replace(bytes, *place - at, emulators_);
    const uint64_t first = emulators_.begin()->first, last = emulators_.rbegin()->first;
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
        const uint64_t word = word_at(bytes, i);
        if (word >= first && word <= last && word >= least_address) replace(bytes, i, emulators_);
    }
}

void CodeAddresses::to_gpu(std::span<uint8_t> bytes) const {
    if (empty()) return;
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8)
        if (is_emulators(word_at(bytes, i))) replace(bytes, i, gpus_);
}

std::vector<lockwarp_function_address> CodeAddresses::small() const {
    std::vector<lockwarp_function_address> out;
    for (const auto& [theirs, own] : emulators_)
        if (theirs < least_address) out.push_back({theirs, own});
    return out;
}

}  // namespace lockwarp::beside
