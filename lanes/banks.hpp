// SPDX-License-Identifier: Apache-2.0
// Shared memory as a warp's access meets it: its banks, and who collides with whom. The phases and
// what a wavefront is: emu/timing/wavefronts.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanes/answer.hpp"

namespace lockwarp::lanes {

// CuTe's Swizzle<B,M,S>: bits [M+S, M+S+B) of an index are XORed into bits [M, M+B). S may be
// negative: bits [M, M+B) into bits [M-S, M-S+B).
struct Swizzle {
    int bits = 0, base = 0, shift = 0;
    uint32_t operator()(uint32_t x) const;
};
// "3,4,3", "<3,4,3>" or "Swizzle<3,4,3>"; nullopt: none of these, or beyond 32 bits.
std::optional<Swizzle> swizzle_named(std::string_view text);
std::string text_of(const Swizzle& s);

// An instruction that reads or writes shared memory.
struct Access {
    std::string name;     // "ldmatrix.x4", "ld.shared.v4.b32"
    unsigned bytes = 4;   // of a lane; of ldmatrix and stmatrix 16, a row
    unsigned lanes = 32;  // that give an address
    unsigned per_phase = 32;
    bool matrix = false, store = false, trans = false;
    unsigned matrices() const { return matrix ? lanes / 8 : 0; }
};
// By a name as above, or the PTX mnemonic; `error` says what would be right.
std::optional<Access> access_named(std::string_view name, std::string& error);

struct Collision {
    unsigned bank;
    std::vector<unsigned> lanes;  // that want different words of it
};
struct Phase {
    unsigned first_lane, lanes;
    unsigned wavefronts;
    std::vector<Collision> collisions;  // of the banks that need the most wavefronts, if over one
};
// The phases of an access; addresses in bytes, one a lane.
std::vector<Phase> phases(const Access& a, const std::vector<uint32_t>& addresses);
unsigned wavefronts(const Access& a, const std::vector<uint32_t>& addresses);
// The fewest that an access of this kind takes where all lanes read different words.
unsigned least_wavefronts(const Access& a);

// Where the lanes' addresses come from: an expression of lane and stride, then a swizzle of the
// index of elements of `unit` bytes.
struct Pattern {
    std::string expression;  // empty: usual_expression
    uint32_t stride = 0;     // bytes of a row
    std::optional<Swizzle> swizzle;
    unsigned unit = 1;
};
// Of ldmatrix.x4 a 16x16 tile of 16-bit elements, "(lane%16)*stride + lane/16*16".
std::string usual_expression(const Access& a);
// Empty, with `error` set, where the expression is none or an address is misaligned.
std::vector<uint32_t> addresses(const Access& a, const Pattern& p, std::string& error);

// Wavefronts by phase, who collides with whom, and a padding or swizzle that has none.
Answer banks(const Access& a, const Pattern& p);

// Of ldmatrix and stmatrix: lane -> address -> matrix and row -> lanes and registers.
Answer matrix_rows(const Access& a, const Pattern& p);

// The swizzle bit by bit, and what becomes of the indices.
Answer explain_swizzle(const Swizzle& s, const std::vector<uint32_t>& indices);

// A warpgroup's shared-memory matrix descriptor.
struct Descriptor {
    uint32_t start = 0;        // bytes, a multiple of 16 below 256 KiB
    uint32_t leading = 0;      // "leading dimension byte offset"
    uint32_t stride = 0;       // "stride dimension byte offset"
    unsigned base_offset = 0;  // 0 to 7
    unsigned swizzle = 0;      // bytes: 0, 32, 64 or 128
};
Answer decode_descriptor(uint64_t bits);
Answer encode_descriptor(const Descriptor& d);

}  // namespace lockwarp::lanes
