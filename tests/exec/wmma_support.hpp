// SPDX-License-Identifier: Apache-2.0
// What the tests of wmma share: matrices in memory, and a variant's instructions in PTX. The
// matrices are 'a' to 'd'; rows and columns are PTX's, so that B is k x n.
#pragma once

#include "emu/isa/wmma.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

struct WmmaMatrix {
    isa::Type type;
    unsigned rows, columns;
};
WmmaMatrix matrix_of(const isa::WmmaVariant& v, char which);

// How a matrix lies in memory.
struct Storage {
    isa::Type type;
    isa::Order order;
    unsigned stride;  // elements from a line to the next
    size_t bit(unsigned row, unsigned column) const {
        const size_t line = order == isa::Order::row ? row : column;
        const size_t in_line = order == isa::Order::row ? column : row;
        return (line * stride + in_line) * isa::bits(type);
    }
};

// The lines one behind the other (more == 0), or each in whole units of 32 bytes, with more - 1
// units free in between.
Storage storage_of(const WmmaMatrix& matrix, isa::Order order, unsigned more = 0);

// An element of the matrix that begins at byte `at`.
void put(Bytes& bytes, size_t at, const Storage& s, unsigned row, unsigned column, uint64_t value);
uint64_t get(const Bytes& bytes, size_t at, const Storage& s, unsigned row, unsigned column);

// What .target a module needs for the variant.
std::string target_of(const isa::WmmaVariant& v);

// wmma.load of A, B or C, or wmma.store of D, at the address `at`; `stride` is "" for none. The
// fragments have the registers %r10 ... (A), %r20 ... (B), %r30 ... (C) and %r40 ... (D), those of
// f64 %rd10 ...; all are bits.
std::string move_text(const isa::WmmaVariant& v, isa::Arch arch, char which, isa::Order order,
                      std::string_view space, const std::string& at,
                      const std::string& stride = "");

// The product on the same registers; `rounding` stands before the types and `after` behind them.
std::string mma_text(const isa::WmmaVariant& v, isa::Arch arch, std::string_view after = "",
                     std::string_view rounding = "");

}  // namespace lockwarp::exec
