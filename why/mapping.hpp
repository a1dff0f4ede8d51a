// SPDX-License-Identifier: Apache-2.0
// Which elements of A and B meet in which product of a run, and which accumulators become which
// elements of D: measured, and not guessed. The kernel runs on numbers that say which element they
// are (one, two or three runs, a digit of the element's number in each), and what the operands of
// its matrix instructions hold is read there. Runs on zeros, in which an oracle puts numbers into
// the accumulators, say where those come from and go to. Moves, packings and conversions between
// memory and the instruction need not be understood.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emu/isa/elements.hpp"
#include "why/subject.hpp"

namespace lockwarp::why {

// What an operand's element, or one of D, is known to be: a number from 1, or one of these.
inline constexpr uint32_t zero = 0;                    // no number: zero
inline constexpr uint32_t unknown = UINT32_MAX;        // none that was given out
inline constexpr uint32_t untouched = UINT32_MAX - 1;  // of D: nothing has been stored

// A matrix instruction of the program whose operands can be read. B is (n, k).
struct Site {
    uint32_t operation = 0;
    unsigned m = 0, n = 0, k = 0, matrices = 1;
    isa::Elements a, b, c, d;
    isa::Type type_a{}, type_b{}, type_c{}, type_d{};
    // Of the lane's registers where an element lies: (matrix * rows + row) * columns + column.
    std::vector<isa::Element> where_a, where_b, where_d;
    unsigned accumulators() const { return matrices * m * n; }
};

// One matrix instruction that a warp retired.
struct Execution {
    uint32_t site = 0;  // of Mapping::sites
    uint64_t cta = 0, step = 0;
    uint32_t warp = 0;
    uint32_t first = 0;  // the number of its first accumulator
    // Numbers of the buffers' elements: A's from 1, B's behind them; and of accumulators.
    std::vector<uint32_t> a, b, c;
};

// A number of A or B as the place in its matrix, A (m, k) and B (k, n).
struct MatrixPlace {
    enum class Matrix : uint8_t { none, a, b } matrix = Matrix::none;
    uint32_t row = 0, column = 0;
};

struct Mapping {
    std::vector<Site> sites;
    std::vector<Execution> executions;  // by CTA, warp and step
    std::vector<uint32_t> d;            // by element of D: an accumulator's number
    uint64_t elements_a = 0, elements_b = 0;
    std::shared_ptr<const std::vector<MatrixPlace>> places;  // by number - 1
    bool has_d = false;     // where D's elements come from is known
    bool has_both = false;  // of most operands it is known what they are

    // The execution that has the accumulator of that number.
    const Execution& of(uint32_t accumulator) const;
};

// The matrix instructions of a program.
std::vector<Site> sites_of(const isa::Program& program);

// What the measurements of one subject share.
struct ProbeData {
    std::vector<Bytes> digits;  // the buffers, by digit
    std::shared_ptr<const std::vector<MatrixPlace>> places;
};

// Measures CTAs [first_cta, first_cta + ctas) of a subject with a product; nullopt: a run did not
// end, or there is nothing to measure. sums: a mapping whose accumulators are this one's too, so
// that they need not be measured.
std::optional<Mapping> measure(const Subject& subject, const isa::Program& program,
                               uint64_t first_cta, uint64_t ctas, uint64_t max_steps,
                               ProbeData& data, const Mapping* sums = nullptr);

// A number as the place in its matrix.
MatrixPlace source_of(const Mapping& mapping, const launch::Product& product, uint32_t number);

// The products of a run beside those that D = A*B has.
struct Terms {
    uint64_t wanted = 0;    // of the elements of D that were measured
    uint64_t right = 0;     // of those
    uint64_t extra = 0;     // others
    uint64_t elements = 0;  // of D that were measured
    uint64_t elements_right = 0;
    uint64_t other_rows = 0, other_columns = 0, other_k = 0;  // of A, of B, of A beside B
    uint64_t twice = 0;                                       // a k once more
    uint64_t begun_elsewhere = 0;  // elements whose sum does not begin with zero, or C
    double share() const {
        if (wanted == 0) return 0;
        const double good = static_cast<double>(right) - 0.5 * static_cast<double>(extra);
        return (good - static_cast<double>(begun_elsewhere)) / static_cast<double>(wanted);
    }
};
// Of each `step`th element of D.
Terms compare(const Mapping& mapping, const launch::Product& product, uint64_t step = 1);

}  // namespace lockwarp::why
