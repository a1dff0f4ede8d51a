// SPDX-License-Identifier: Apache-2.0
// The product of one matrix instruction on whole matrices: no lanes, no registers.
//
// Matrices are arrays of elements as the PTX manual writes them, row by row: A (m, k), B (k, n),
// C and D (m, n). Elements of 8 bits and more are little-endian; of 6 bits a byte each, the number
// in the low bits; of 4 and 1 bit packed, low bits first, or a byte each.
#pragma once

#include <cstdint>
#include <optional>

#include "emu/isa/wmma.hpp"
#include "emu/num/dot.hpp"

namespace lockwarp::num {

// An instruction's product on one architecture.
struct InstructionProduct {
    const DotRow* row = nullptr;
    int m = 0, n = 0, k = 0;
    int stored_k = 0;                      // of A: half of k where it is sparse
    MatrixTypes types;                     // as the sum takes them
    isa::Type c{}, d{};                    // in memory; other than the sum's they are converted
    const isa::MmaVariant* mma = nullptr;  // sparse or with factors
    int groups = 0;                        // of metadata in a row of A; 0: not sparse
    int scales = 0;                        // factors of a row of A and of a column of B
    bool tiled = false;                    // by num::fused_tile
};

// nullopt where the architecture has not the instruction, or no arithmetic is known for it.
std::optional<InstructionProduct> product_of(const isa::MmaVariant& v, isa::Arch arch);
std::optional<InstructionProduct> product_of(const isa::WmmaVariant& v, isa::Arch arch);

// Whole bytes that hold `count` elements. bytes: those of 4 and 1 bit have a byte each.
uint64_t bytes_of(isa::Type type, bool bytes, uint64_t count);

// One product.
struct InstructionMatrices {
    const uint8_t* a = nullptr;
    const uint8_t* b = nullptr;
    const uint8_t* c = nullptr;  // nullptr: zeros
    uint8_t* d = nullptr;        // may be c
    // Where A is sparse: m * groups bytes; of each the low two bits are the place of the group's
    // first unit, the next two that of its second.
    const uint8_t* metadata = nullptr;
    const uint8_t* a_scales = nullptr;  // m * scales
    const uint8_t* b_scales = nullptr;  // n * scales, those of a column one after another
    bool bytes = false;
};

void multiply(const InstructionProduct& p, const InstructionMatrices& on);

}  // namespace lockwarp::num
