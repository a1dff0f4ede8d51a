// SPDX-License-Identifier: Apache-2.0
#include "emu/timing/wavefronts.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lockwarp::timing {

namespace {

unsigned different(std::array<uint64_t, 64>& values, size_t count) {
    std::sort(values.begin(), values.begin() + static_cast<ptrdiff_t>(count));
    return static_cast<unsigned>(
        std::unique(values.begin(), values.begin() + static_cast<ptrdiff_t>(count)) -
        values.begin());
}

}  // namespace

unsigned wavefronts(std::span<const uint64_t> addresses, uint32_t active, unsigned bytes,
                    unsigned per_phase) {
    unsigned sum = 0;
    const unsigned words_of_lane = std::max(1u, bytes / bank_bytes);
    for (unsigned first = 0; first < addresses.size(); first += per_phase) {
        const unsigned end = std::min<unsigned>(first + per_phase, 32);
        // Words without repetition, sorted by bank: the longest run of one bank counts.
        std::array<uint64_t, 128> words{};
        size_t count = 0;
        for (unsigned lane = first; lane < end; ++lane) {
            if (((active >> lane) & 1) == 0) continue;
            for (unsigned w = 0; w < words_of_lane && count < words.size(); ++w) {
                const uint64_t word = addresses[lane] / bank_bytes + w;
                words[count++] = (word % banks) << 58 | word / banks;
            }
        }
        if (count == 0) continue;
        const auto begin = words.begin();
        std::sort(begin, begin + static_cast<ptrdiff_t>(count));
        unsigned most = 1, run = 0;
        for (size_t i = 0; i < count; ++i) {
            if (i > 0 && words[i] == words[i - 1]) continue;
            run = i > 0 && words[i] >> 58 == words[i - 1] >> 58 ? run + 1 : 1;
            most = std::max(most, run);
        }
        sum += most;
    }
    return sum;
}

unsigned wavefronts(const warp::Access& access) {
    return std::max(
        1u, wavefronts(access.address, access.lanes, access.bytes, phase_lanes(access.bytes)));
}

unsigned matrix_wavefronts(std::span<const warp::Access> accesses) {
    constexpr uint64_t row_bytes = 16;
    constexpr unsigned rows = 8;
    std::vector<uint64_t> all;
    for (const warp::Access& a : accesses)
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1)
            all.push_back(a.address[static_cast<size_t>(__builtin_ctz(rest))] / row_bytes);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    // Neighbours side by side make a line of the tile.
    size_t across = 1;
    while (across < all.size() && all[across] == all[across - 1] + 1) ++across;
    unsigned sum = 0;
    for (size_t column = 0; column < across; ++column)
        for (size_t first = column; first < all.size(); first += across * rows) {
            std::array<uint64_t, 32> addresses{};
            uint32_t active = 0;
            for (unsigned r = 0; r < rows && first + r * across < all.size(); ++r) {
                addresses[r] = all[first + r * across] * row_bytes;
                active |= 1u << r;
            }
            sum += wavefronts(addresses, active, row_bytes, rows);
        }
    return std::max(1u, sum);
}

size_t sectors_of(const warp::Access& access, std::array<uint64_t, 64>& out) {
    size_t count = 0;
    for (uint32_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<size_t>(__builtin_ctz(rest));
        const uint64_t at = access.address[lane];
        out[count++] = at / sector_bytes;
        const unsigned bytes = access.bytes_of_lane[lane];
        if (bytes > 1) out[count++] = (at + bytes - 1) / sector_bytes;
    }
    return different(out, count);
}

Lines lines_of(const warp::Access& access) {
    std::array<uint64_t, 64> sectors{};
    Lines out;
    out.sectors = static_cast<unsigned>(sectors_of(access, sectors));
    for (size_t i = 0; i < out.sectors; ++i) sectors[i] /= line_sectors;
    out.lines = different(sectors, out.sectors);
    return out;
}

}  // namespace lockwarp::timing
