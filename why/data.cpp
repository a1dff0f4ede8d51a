// SPDX-License-Identifier: Apache-2.0
// A whole matrix read or stored otherwise: transposed, with another leading dimension, from another
// row, column or block, without some of k.
#include <array>
#include <set>

#include "why/hypothesis.hpp"
#include "why/measured.hpp"

namespace lockwarp::why {

namespace {

// A matrix of the product.
struct Matrix {
    char letter;
    Place Model::*place;
    Place right;
    int64_t rows, columns;  // as stored
    bool transposed;        // (row, column) of the product's matrix is stored as (column, row)
};

std::array<Matrix, 3> matrices(const launch::Product& p) {
    const auto m = static_cast<int64_t>(p.m), n = static_cast<int64_t>(p.n),
               k = static_cast<int64_t>(p.k);
    return {{{'A', &Model::a, right_place_a(p), p.a_transposed ? k : m, p.a_transposed ? m : k,
              p.a_transposed},
             {'B', &Model::b, right_place_b(p), p.b_transposed ? n : k, p.b_transposed ? k : n,
              p.b_transposed},
             {'D', &Model::d, right_place_d(p), m, n, false}}};
}

void add(const Scene& s, const Matrix& x, Place place, std::string words, unsigned cost,
         std::vector<Candidate>& out) {
    if (!s.subject.product) return;
    Candidate c;
    c.model.emplace();
    (*c.model).*(x.place) = std::move(place);
    c.words = std::move(words);
    c.cost = cost;
    out.push_back(std::move(c));
}

std::string verb(const Matrix& x) { return x.letter == 'D' ? "written" : "read"; }

}  // namespace

void try_transposed(const Scene& s, std::vector<Candidate>& out) {
    if (!s.subject.product) return;
    for (const Matrix& x : matrices(*s.subject.product)) {
        const int64_t rows = x.rows, columns = x.columns;
        const bool t = x.transposed;
        add(
            s, x,
            [=](int64_t r, int64_t c) {
                if (t) std::swap(r, c);
                (void)columns;
                return c * rows + r;
            },
            std::string(1, x.letter) + " is " + verb(x) + " transposed: as if it were stored " +
                std::to_string(columns) + "x" + std::to_string(rows) + ", and it is " +
                std::to_string(rows) + "x" + std::to_string(columns),
            2, out);
    }
}

void try_leading_dimensions(const Scene& s, std::vector<Candidate>& out) {
    if (!s.subject.product) return;
    const launch::Product& p = *s.subject.product;
    for (const Matrix& x : matrices(p)) {
        std::set<int64_t> pitches{static_cast<int64_t>(p.m), static_cast<int64_t>(p.n),
                                  static_cast<int64_t>(p.k)};
        for (const int64_t by : {1, 2, 4, 8, 16, 32, 64}) {
            pitches.insert(x.columns + by);
            pitches.insert(x.columns - by);
        }
        const bool t = x.transposed;
        for (const int64_t pitch : pitches) {
            if (pitch <= 0 || pitch == x.columns) continue;
            const bool named = pitch == static_cast<int64_t>(p.m) ||
                               pitch == static_cast<int64_t>(p.n) ||
                               pitch == static_cast<int64_t>(p.k);
            const char* const which = pitch == static_cast<int64_t>(p.k)   ? " (K)"
                                      : pitch == static_cast<int64_t>(p.n) ? " (N)"
                                      : named                              ? " (M)"
                                                                           : "";
            add(
                s, x,
                [=](int64_t r, int64_t c) {
                    if (t) std::swap(r, c);
                    return r * pitch + c;
                },
                std::string(1, x.letter) + " is " + verb(x) + " with a leading dimension of " +
                    std::to_string(pitch) + which + " in place of " + std::to_string(x.columns),
                named ? 2 : 3, out);
        }
    }
}

void try_blocks(const Scene& s, std::vector<Candidate>& out) {
    if (!s.subject.product) return;
    const launch::Product& p = *s.subject.product;
    for (const Matrix& x : matrices(p)) {
        const int64_t rows =
            x.letter == 'B' ? static_cast<int64_t>(p.k) : static_cast<int64_t>(p.m);
        const int64_t columns =
            x.letter == 'A' ? static_cast<int64_t>(p.k) : static_cast<int64_t>(p.n);
        const Place right = x.right;
        const std::string row = x.letter == 'B' ? "k" : "row",
                          column = x.letter == 'A' ? "k" : "column";
        const auto one = [&](bool of_rows, std::string words, auto of, unsigned cost) {
            const int64_t limit = of_rows ? rows : columns;
            add(
                s, x,
                [=](int64_t r, int64_t c) {
                    int64_t& at = of_rows ? r : c;
                    at = of(at);
                    return at < 0 || at >= limit ? -1 : right(r, c);
                },
                std::string(1, x.letter) + " is " + verb(x) + " at " + (of_rows ? row : column) +
                    words,
                cost, out);
        };
        for (const bool of_rows : {true, false}) {
            const int64_t limit = of_rows ? rows : columns;
            const std::string name = of_rows ? row : column;
            for (int64_t by = 1; by < limit; by *= 2) {
                one(
                    of_rows, "+" + std::to_string(by) + " in place of " + name,
                    [by](int64_t i) { return i + by; }, 3);
                one(
                    of_rows, "-" + std::to_string(by) + " in place of " + name,
                    [by](int64_t i) { return i - by; }, 3);
                one(
                    of_rows, "^" + std::to_string(by) + " in place of " + name,
                    [by](int64_t i) { return i ^ by; }, 2);
            }
        }
    }
}

void try_part_of_k(const Scene& s, std::vector<Candidate>& out) {
    if (!s.subject.product || !s.mapping || !s.mapping->has_both) return;
    const launch::Product& p = *s.subject.product;
    const std::vector<uint8_t> reached = reached_k(*s.mapping, p);
    std::vector<uint8_t> used = reached;
    uint64_t missing = 0, first = p.k, last = 0;
    for (uint64_t k = 0; k < p.k; ++k) {
        if (used[k] != 0) continue;
        ++missing;
        first = std::min(first, k), last = k;
    }
    if (missing == 0 || missing == p.k) return;
    Candidate c;
    c.model.emplace();
    c.model->uses_k = used;
    const bool run_of = last - first + 1 == missing;
    c.words = run_of && last + 1 == p.k
                  ? "the k loop ends early: k from " + std::to_string(first) + " to " +
                        std::to_string(last) + " is never multiplied (" +
                        std::to_string(p.k - missing) + " of " + std::to_string(p.k) + ")"
              : run_of ? "k from " + std::to_string(first) + " to " + std::to_string(last) +
                             " is never multiplied (of " + std::to_string(p.k) + ")"
                       : std::to_string(missing) + " of " + std::to_string(p.k) +
                             " k are never multiplied, the first of them " + std::to_string(first);
    if (!every_sum_counts(*s.mapping))
        c.words += ": sums are lost, an mma begins anew where it should go on";
    c.cost = 2;
    out.push_back(std::move(c));
}

}  // namespace lockwarp::why
