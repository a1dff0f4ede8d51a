// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.mma, wmma.store made ready: which bytes each lane moves, and which elements a
// product reads.
#pragma once

#include <memory>
#include <vector>

#include "emu/exec/context.hpp"
#include "emu/isa/wmma.hpp"

namespace lockwarp::exec {

struct WmmaPlan {
    // What the plan is of.
    isa::Op op{};
    const isa::WmmaVariant* variant = nullptr;
    const isa::WmmaFragment* fragment = nullptr;
    isa::Order order{};

    // wmma.load, wmma.store. One move of the warp: `bytes` from element `at` of line `line` on, by
    // lane. Lines are rows or columns, as they lie in memory.
    struct Move {
        std::array<uint8_t, 32> line, at;
    };
    std::vector<Move> moves;
    unsigned bytes = 0;
    unsigned line_elements = 0;  // the stride where none is given
    unsigned element_bits = 0;
    // Where the elements lie: whole registers that a lane moves itself, or elements one by one, a
    // register's low ones first.
    struct Whole {
        uint8_t move, part, reg;  // part: of the move, in registers
    };
    struct Single {
        uint8_t move, from_lane, from_bit;
        uint8_t lane, reg, shift;
    };
    std::vector<Whole> wholes;
    std::vector<Single> singles;

    // wmma.mma: products of m x n x k, one for each set of threads with tiles of their own.
    const num::DotRow* row = nullptr;
    decltype(&num::matrix_product) product = nullptr;
    num::MatrixShape shape{};
    unsigned instances = 0;
    bool converts_c = false;
    std::vector<Cell> a, b, c, d;  // instance by instance
    TiledProduct tile;
};

// The plan of a wmma operation, made where `plans` does not have it yet. nullptr: the architecture
// has no arithmetic or no fragments for it.
const WmmaPlan* wmma_plan(const Operation& o, isa::Arch arch, bool plain_arithmetic,
                          std::vector<std::shared_ptr<const WmmaPlan>>& plans);

}  // namespace lockwarp::exec
