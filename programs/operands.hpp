// SPDX-License-Identifier: Apache-2.0
// Operands that find errors: structured first, random after.
#pragma once

#include "emu/isa/types.hpp"
#include "launch/random.hpp"

namespace lockwarp::programs {

// Classes of operands for one instruction, so that its operands belong together.
enum class OperandClass : uint8_t {
    narrow,  // exponents near each other: rounding and halfway cases
    medium,
    full,        // the whole range of exponents
    cancelling,  // few significands, both signs
    subnormal,
    special,   // Inf, NaN with payloads, zeros, the largest and smallest numbers
    overflow,  // near the largest number
    random,    // any bits
    count_
};

// A value of a type with one element (f16x2 and the like are two of these). Integers: edges, small
// numbers, single bits, random bits.
uint64_t operand(isa::Type type, OperandClass from, launch::Random& random);

// All bits of a 16-, 32- or 64-bit register that an instruction reads as `type`.
uint64_t register_operand(isa::Type type, OperandClass from, launch::Random& random);

// A register of a matrix fragment, full of elements: 32 bits, or 64 for f64. Each has `held` bits,
// of which those beside its own are 0 (matrix.hpp, held_bits); 0: its own.
uint64_t fragment_register(isa::Type element, unsigned held, OperandClass from,
                           launch::Random& random);

// A register of factors of scale, four bytes: powers of two next to each other, or all there are.
uint32_t scale_register(isa::Type scale, OperandClass from, launch::Random& random);

// A register of metadata for a sparse A with these elements: two places in ascending order for each
// group (PTX manual, "Sparse matrix storage"), or, one in four, any bits, as programs that get it
// wrong have them.
uint32_t metadata_register(isa::Type element, launch::Random& random);

}  // namespace lockwarp::programs
