// SPDX-License-Identifier: Apache-2.0
#include "emu/timing/wavefronts.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lockwarp::timing {

namespace {

unsigned different(std::array<uint64_t, 64>& values, size_t count) {
    const auto end = values.begin() + static_cast<ptrdiff_t>(count);
    if (!std::is_sorted(values.begin(), end)) std::sort(values.begin(), end);
    return static_cast<unsigned>(std::unique(values.begin(), end) - values.begin());
}

// Whether all words of some lanes lie in as many as there are banks: none meets another's bank.
bool lie_side_by_side(std::span<const uint64_t> addresses, uint32_t lanes, unsigned words_of_lane) {
    uint64_t least = UINT64_MAX, most = 0;
    for (; lanes != 0; lanes &= lanes - 1) {
        const uint64_t word = addresses[static_cast<size_t>(__builtin_ctz(lanes))] / bank_bytes;
        least = std::min(least, word);
        most = std::max(most, word);
    }
    return most - least + words_of_lane <= banks;
}

// As accesses to variables are that each lane has in its own memory.
bool is_of_one_address(const warp::Access& access) {
    if (access.lanes == 0) return false;
    const uint64_t first = access.address[static_cast<size_t>(__builtin_ctz(access.lanes))];
    uint64_t differs = 0;
    for (uint32_t rest = access.lanes; rest != 0; rest &= rest - 1)
        differs |= access.address[static_cast<size_t>(__builtin_ctz(rest))] ^ first;
    return differs == 0;
}

}  // namespace

unsigned wavefronts(std::span<const uint64_t> addresses, uint32_t active, unsigned bytes,
                    unsigned per_phase) {
    unsigned sum = 0;
    const unsigned words_of_lane = std::max(1u, bytes / bank_bytes);
    for (unsigned first = 0; first < addresses.size(); first += per_phase) {
        const unsigned end = std::min<unsigned>(first + per_phase, 32);
        const auto lanes = static_cast<uint32_t>((uint64_t{1} << end) - (uint64_t{1} << first));
        if ((active & lanes) == 0) continue;
        if (lie_side_by_side(addresses, active & lanes, words_of_lane)) {
            ++sum;
            continue;
        }
        // Different words of each bank: the bank with the most of them counts. Words of one lane
        // lie in different banks.
        std::array<uint8_t, banks> different_words{};
        std::array<std::array<uint64_t, 32>, banks> words;  // as many as different_words says
        unsigned most = 0;
        for (unsigned lane = first; lane < end; ++lane) {
            if (((active >> lane) & 1) == 0) continue;
            for (unsigned w = 0; w < words_of_lane; ++w) {
                const uint64_t word = addresses[lane] / bank_bytes + w;
                auto& of_bank = words[word % banks];
                uint8_t& count = different_words[word % banks];
                if (std::find(of_bank.begin(), of_bank.begin() + count, word) !=
                    of_bank.begin() + count)
                    continue;
                of_bank[count++] = word;
                most = std::max<unsigned>(most, count);
            }
        }
        sum += most;
    }
    return sum;
}

unsigned wavefronts(const warp::Access& access) {
    return std::max(
        1u, wavefronts(access.address, access.lanes, access.bytes, phase_lanes(access.bytes)));
}

unsigned matrix_wavefronts(std::span<const warp::Access> accesses, size_t widest) {
    constexpr uint64_t row_bytes = 16;
    constexpr unsigned rows = 8;
    std::vector<uint64_t> all;
    all.reserve(accesses.size() * 32);
    for (const warp::Access& a : accesses)
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const uint64_t row = a.address[static_cast<size_t>(__builtin_ctz(rest))] / row_bytes;
            // Lanes side by side mostly share a row.
            if (all.empty() || all.back() != row) all.push_back(row);
        }
    if (!std::ranges::is_sorted(all)) std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    // Neighbours side by side make a line of the tile.
    size_t across = 1;
    while (across < std::min(all.size(), widest) && all[across] == all[across - 1] + 1) ++across;
    unsigned sum = 0;
    for (size_t column = 0; column < across; ++column)
        for (size_t first = column; first < all.size(); first += across * rows) {
            std::array<uint64_t, 32> addresses{};
            uint32_t active = 0;
            unsigned r = 0;
            const size_t end = std::min(first + across * rows, all.size());
            for (size_t at = first; at < end; at += across) {
                addresses[r] = all[at] * row_bytes;
                active |= 1u << r++;
            }
            sum += wavefronts(addresses, active, row_bytes, rows);
        }
    return std::max(1u, sum);
}

size_t sectors_of(const warp::Access& access, std::array<uint64_t, 64>& out) {
    size_t count = 0;
    // Lanes side by side mostly share a sector.
    const auto add = [&](uint64_t address) {
        const uint64_t sector = address / sector_bytes;
        if (count == 0 || out[count - 1] != sector) out[count++] = sector;
    };
    if (is_of_one_address(access) && access.bytes != 0 && access.bytes <= sector_bytes) {
        const uint64_t at = access.address[static_cast<size_t>(__builtin_ctz(access.lanes))];
        add(at);
        add(at + access.bytes - 1);
        return count;
    }
    for (uint32_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<size_t>(__builtin_ctz(rest));
        const uint64_t at = access.address[lane];
        add(at);
        const unsigned bytes = access.bytes_of_lane[lane];
        if (bytes > 1) add(at + bytes - 1);
    }
    return different(out, count);
}

unsigned lines_among(std::span<const uint64_t> sectors) {
    unsigned lines = 0;
    uint64_t last = UINT64_MAX;
    for (const uint64_t sector : sectors) {
        lines += sector / line_sectors != last;
        last = sector / line_sectors;
    }
    return lines;
}

Lines lines_of(const warp::Access& access) {
    std::array<uint64_t, 64> sectors;
    const size_t count = sectors_of(access, sectors);
    return {lines_among({sectors.data(), count}), static_cast<unsigned>(count)};
}

}  // namespace lockwarp::timing
