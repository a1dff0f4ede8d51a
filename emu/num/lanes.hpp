// SPDX-License-Identifier: Apache-2.0
// Fast paths over many values at once, with the vector instructions of the processor at hand,
// chosen at run time. Each gives the same bits as the plain definition (ieee.hpp, dot.hpp) and is
// tested against it. They want the host's floating-point environment as a program starts with it
// (host_environment.hpp).
#pragma once

#include <cstdint>

#include "emu/num/dot.hpp"

namespace lockwarp::num {

// One operation on 32 lanes, f32 or f64, round to nearest even, NaN results as the soft float gives
// them. ftz: subnormal operands and results become zeros of their sign; else they are kept. Arrays
// are aligned to 64 bytes; d may be an operand.
void add_f32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz);
void sub_f32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz);
void mul_f32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz);
void div_f32(const uint32_t* a, const uint32_t* b, uint32_t* d, bool ftz);
void sqrt_f32(const uint32_t* a, uint32_t* d, bool ftz);
void fma_f32(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d, bool ftz);
void add_f64(const uint64_t* a, const uint64_t* b, uint64_t* d);
void sub_f64(const uint64_t* a, const uint64_t* b, uint64_t* d);
void mul_f64(const uint64_t* a, const uint64_t* b, uint64_t* d);
void div_f64(const uint64_t* a, const uint64_t* b, uint64_t* d);
void fma_f64(const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d);

// digest_one of 32 lanes (digest.hpp). Arrays are aligned to 64 bytes.
void digest(const uint32_t* values, uint32_t salt, uint32_t* first, uint32_t* second);

// Bytes at `bytes` on the host that are [begin, begin + last + 1) for a program, last below 2^63.
struct Window {
    uint8_t* bytes;
    uint64_t begin;
    uint64_t last;
};

// Where 32 addresses lie there. false, with `places` undefined, where one lies outside or has one
// of the bits `never`.
bool places_in(const Window& window, const uint64_t* addresses, uint64_t never, uint8_t** places);

// The processor features in use: "AVX2", "NEON" and so on.
const char* lane_target();

// A tile of a matrix product for the vector kernels below: `tile_rows` rows and `columns`
// columns, all arrays aligned to 64 bytes. Bits of a word above its element's are not looked at.
inline constexpr int tile_rows = 16;
inline constexpr int tile_columns = 16;
inline constexpr int tile_k = 64;

template <class Word>
struct Tile {
    int columns;
    int k;
    const Word* a;  // [k][tile_rows]
    const Word* b;  // [k][tile_columns]
    Word* d;        // [columns][tile_rows]: C before, D after
};

// Whether fused_tile can compute a row's products with these types.
bool has_fused_tile(const DotRow& row, MatrixTypes types);

// Each returns false, and leaves d undefined, where the tile is not for it: fused_tile at an
// infinity or NaN, chain_tile at a NaN result or on a processor without fused multiply-add.
bool fused_tile(const FusedSum& sum, MatrixTypes types, const Tile<uint32_t>& tile);
bool chain_tile(const Tile<uint64_t>& tile);

}  // namespace lockwarp::num
