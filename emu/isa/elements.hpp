// SPDX-License-Identifier: Apache-2.0
// The one walk over the elements of a fragment: which lane holds an element, and in which bits of
// which of its registers. Layouts stand in the tables (matrix.hpp, wmma.hpp, warpgroup.hpp);
// whoever wants to know where an element lies asks here.
#pragma once

#include <vector>

#include "emu/isa/layout.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/types.hpp"
#include "emu/isa/warpgroup.hpp"
#include "emu/isa/wmma.hpp"

namespace lockwarp::isa {

// An element in one lane. An element with several owners stands once for each.
struct Element {
    uint16_t row = 0, column = 0;
    uint16_t value = 0;  // a0, a1, ... of the lane, in the order of its registers
    uint8_t matrix = 0;  // which of Elements::matrices
    uint8_t lane = 0;    // 0 to 31; of a warpgroup 0 to 127
    uint8_t reg = 0;     // which of the lane's registers for this fragment
    uint8_t shift = 0;   // its lowest bit there; it has Elements::bits
};

// A range of Element: by set of threads (quad-pair), thread of the layout, value of the thread.
// Of one lane the values ascend. Rows and columns are those of the layout, A (m, k), B (n, k), C
// and D (m, n), unless `transposed`.
struct Elements {
    Layout layout;
    uint16_t rows = 0, columns = 0;  // of one matrix
    uint16_t layout_rows = 0;        // index % layout_rows is the layout's row
    uint8_t bits = 0;                // of an element
    uint8_t held_bits = 0;           // that it takes in a register, with its padding
    uint8_t padding_below = 0;
    Threads threads = Threads::warp;
    uint8_t matrices = 1;  // apart from each other: one of each quad-pair, or of each register
    bool matrix_by_register = false;
    uint8_t given = 4;  // lanes of each four that hold something, the first ones
    // Where quad-pairs hold parts of one matrix (wmma on Volta), as WmmaFragment has it.
    std::array<uint8_t, 2> row_step{}, column_step{};
    bool transposed = false;  // row and column have changed places

    constexpr unsigned register_bits() const { return held_bits == 64 ? 64 : 32; }
    constexpr unsigned values() const {  // of one lane
        return layout.values() * (matrix_by_register ? matrices : 1u);
    }
    constexpr unsigned registers() const { return values() * held_bits / register_bits(); }

    // What value `value` of thread `thread` of a set of threads is.
    constexpr Element at(unsigned instance, unsigned thread, unsigned value) const {
        const unsigned each = layout.values();
        const unsigned index = layout.at(thread, value % each);
        unsigned row =
            index % layout_rows + row_step[0] * (instance & 1) + row_step[1] * (instance >> 1);
        unsigned column = index / layout_rows + column_step[0] * (instance & 1) +
                          column_step[1] * (instance >> 1);
        if (transposed) {
            const unsigned was = row;
            row = column;
            column = was;
        }
        const unsigned matrix = matrix_by_register ? value / each : matrices > 1 ? instance : 0;
        const unsigned lane =
            given < 4 ? thread / given * 4 + thread % given : lane_of(threads, instance, thread);
        const unsigned bit = value * held_bits + padding_below;
        return {static_cast<uint16_t>(row),
                static_cast<uint16_t>(column),
                static_cast<uint16_t>(value),
                static_cast<uint8_t>(matrix),
                static_cast<uint8_t>(lane),
                static_cast<uint8_t>(bit / register_bits()),
                static_cast<uint8_t>(bit % register_bits())};
    }

    class Iterator {
      public:
        constexpr Iterator(const Elements& of, unsigned instance)
            : of_(&of), instance_(instance), threads_(of.layout.threads()), values_(of.values()) {}
        constexpr Element operator*() const { return of_->at(instance_, thread_, value_); }
        constexpr Iterator& operator++() {
            if (++value_ < values_) return *this;
            value_ = 0;
            if (++thread_ < threads_) return *this;
            thread_ = 0;
            ++instance_;
            return *this;
        }
        constexpr bool operator!=(const Iterator& other) const {
            return instance_ != other.instance_ || thread_ != other.thread_ ||
                   value_ != other.value_;
        }

      private:
        const Elements* of_;
        unsigned instance_;
        unsigned thread_ = 0;
        unsigned value_ = 0;
        unsigned threads_, values_;
    };
    constexpr Iterator begin() const { return {*this, 0}; }
    constexpr Iterator end() const { return {*this, instances(threads)}; }
};

// Of mma: with quad-pairs a matrix of each.
constexpr Elements elements_of(const Fragment& f, Type type, Threads threads = Threads::warp) {
    return {.layout = f.layout,
            .rows = f.rows,
            .columns = f.columns,
            .layout_rows = f.rows,
            .bits = static_cast<uint8_t>(bits(type)),
            .held_bits = static_cast<uint8_t>(held_bits(f, type)),
            .padding_below = static_cast<uint8_t>(padding_below(f, type)),
            .threads = threads,
            .matrices = static_cast<uint8_t>(instances(threads))};
}

// Of wmma: the whole matrix, whichever quad-pair holds a part of it.
constexpr Elements elements_of(const WmmaFragment& f, Type type) {
    Elements out = elements_of(f.part, type, f.threads);
    const WmmaExtent whole = extent(f);
    out.rows = static_cast<uint16_t>(whole.rows);
    out.columns = static_cast<uint16_t>(whole.columns);
    out.matrices = 1;
    out.row_step = f.row_step;
    out.column_step = f.column_step;
    return out;
}

// The metadata of a sparse A by (m, group), for selector 0: with selector s the lanes are s *
// `given` further on.
Elements metadata_elements(const MmaVariant& v);

// The factors of .block_scale for thread-id 0 and byte-id 0, of A by (m, factor), of B by (n,
// factor) (PTX manual, "Block scaling for mma.sync", and CuTe's SFALayout and SFBLayout): of each
// four lanes two give those of A's rows r and r + 8, and one those of B's column. With thread-id t
// the lanes are t * `given` further on, with byte-id b the bits 8 * b.
Elements factor_elements(const MmaVariant& v, bool of_b);

// `matrices` of 8x8 elements of 16 bits, a register of each, as ldmatrix and stmatrix move them
// without .trans; movmatrix: of one.
Elements moved_elements(unsigned matrices);

// An operand of wgmma: 64 rows, in the registers of a warpgroup.
constexpr Elements warpgroup_elements(const Layout& layout, unsigned columns, Type type) {
    return {.layout = layout,
            .rows = warpgroup_rows,
            .columns = static_cast<uint16_t>(columns),
            .layout_rows = warpgroup_rows,
            .bits = static_cast<uint8_t>(bits(type)),
            .held_bits = static_cast<uint8_t>(bits(type))};
}

constexpr Elements transposed(Elements e) {
    const uint16_t rows = e.rows;
    e.rows = e.columns;
    e.columns = rows;
    e.transposed = !e.transposed;
    return e;
}

// The inverse walk. All owners of an element, in the order of the walk.
std::vector<Element> owners(const Elements& e, unsigned matrix, unsigned row, unsigned column);
// The first owner of each element: (matrix * rows + row) * columns + column.
std::vector<Element> first_owners(const Elements& e);
// What a register of a lane holds, in the order of the walk.
std::vector<Element> in_register(const Elements& e, unsigned lane, unsigned reg);

}  // namespace lockwarp::isa
