// SPDX-License-Identifier: Apache-2.0
// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): value
// number `position` (from 1) of the stream of a seed. The same on every platform.
#pragma once

#include <cstdint>

namespace lockwarp::launch {

constexpr uint64_t splitmix64(uint64_t seed, uint64_t position) {
    uint64_t z = seed + position * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

struct Random {
    uint64_t seed;
    uint64_t position = 0;  // of the last value

    constexpr uint64_t next() { return splitmix64(seed, ++position); }
    // 0 to n - 1; n is small beside 2^64.
    constexpr uint64_t below(uint64_t n) { return next() % n; }
    constexpr bool one_in(uint64_t n) { return below(n) == 0; }
};

}  // namespace lockwarp::launch
