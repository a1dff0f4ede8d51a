// SPDX-License-Identifier: Apache-2.0
// How often the 32 banks of shared memory must be read or written for one access of a warp.
//
// A bank has words of 4 bytes; one wavefront serves one word of each bank, to any lanes that want
// it. An access is served in phases: of up to 32 bits a lane one of 32 lanes, of 64 bits two of 16,
// of 128 bits four of 8; ldmatrix and stmatrix by the 8 rows of each matrix. Source: Nsight
// Compute's counters on an H200 (tests/timing/wavefronts.json).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "emu/warp/observer.hpp"

namespace lockwarp::timing {

inline constexpr unsigned banks = 32;
inline constexpr unsigned bank_bytes = 4;

// Lanes of a phase, by the bytes of one: 1 to 16.
constexpr unsigned phase_lanes(unsigned bytes) { return bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8; }

// Wavefronts of the lanes of `active` with one address each; of `per_phase` lanes a phase.
unsigned wavefronts(std::span<const uint64_t> addresses, uint32_t active, unsigned bytes,
                    unsigned per_phase);

// Of an access as an observer hears of it; 1 where no lane took part.
unsigned wavefronts(const warp::Access& access);

// Of wmma.load and wmma.store of elements of 16 bits, which are ldmatrix and stmatrix: the bytes of
// all the accesses as 16-byte rows, eight of one column of 8x8 matrices a phase. `widest`: such
// rows in a line of the fragment, as lines that follow each other have no gap between them. Source:
// the code that ptxas 13.0 makes for sm_90.
unsigned matrix_wavefronts(std::span<const warp::Access> accesses, size_t widest);

// What an access asks of global memory: lines of 128 bytes, and sectors of 32 among them.
struct Lines {
    unsigned lines = 0, sectors = 0;
};
Lines lines_of(const warp::Access& access);

inline constexpr unsigned sector_bytes = 32;
inline constexpr unsigned line_sectors = 4;
// The numbers of the sectors, each once, in order: the first of `out`; gives how many.
size_t sectors_of(const warp::Access& access, std::array<uint64_t, 64>& out);
// The lines that sectors lie in, whose numbers are in order.
unsigned lines_among(std::span<const uint64_t> sectors);

}  // namespace lockwarp::timing
