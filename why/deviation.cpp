// SPDX-License-Identifier: Apache-2.0
#include "why/deviation.hpp"

#include <algorithm>
#include <set>

#include "why/measured.hpp"

namespace lockwarp::why {

namespace {

using Matrix = MatrixPlace::Matrix;

// Numbers that are counted against the ones that they should be.
struct Tally {
    uint64_t all = 0, off = 0;
    std::string example;  // the first that is off
    void add(bool is_right) {
        ++all;
        off += is_right ? 0 : 1;
    }
    bool any() const { return off != 0; }
};

struct Seen {
    Tally rows, columns;       // of A and of B beside D's
    Tally k;                   // of A beside B's
    Tally order_a, order_b;    // k of A, of B, beside the place in the sum
    Tally steady_a, steady_b;  // rows of A's fragment, columns of B's, one after another
    bool whole = true;         // each sum begins with zero and has as many products as it should
    bool complete = true;      // each has every k once
    std::vector<uint32_t> k_order;  // of the first sum that has not, k at which instructions begin
    uint64_t sums = 0;
};

std::string element(char matrix, uint64_t row, uint64_t column) {
    return std::string(1, matrix) + "[" + std::to_string(row) + "][" + std::to_string(column) + "]";
}

std::string element(const MatrixPlace& at) {
    if (at.matrix == Matrix::none) return "nothing of either matrix";
    return element(at.matrix == Matrix::a ? 'A' : 'B', at.row, at.column);
}

// One accumulator of one instruction in the sum that ends in an element of D.
struct Link {
    const Execution* x;
    uint32_t at;
};

// From the first instruction to the last; empty: the sum begins with something else than zero.
std::vector<Link> chain_of(const Mapping& m, uint32_t number) {
    std::vector<Link> out;
    while (number != zero) {
        if (number >= untouched) return {};
        const Execution& x = m.of(number);
        const uint32_t at = number - x.first;
        if (at >= m.sites[x.site].accumulators()) return {};
        out.push_back({&x, at});
        number = x.c[at];
        if (number != zero && number >= x.first) return {};
    }
    std::ranges::reverse(out);
    return out;
}

void add_sum(const Mapping& m, const launch::Product& p, uint32_t i, Seen& seen) {
    const std::vector<Link> chain = chain_of(m, m.d[i]);
    const auto row = static_cast<uint32_t>(i / p.n), column = static_cast<uint32_t>(i % p.n);
    const std::string d = element('D', row, column);
    ++seen.sums;
    uint64_t products = 0;
    std::set<uint32_t> reached;
    std::vector<uint32_t> order;
    const auto note = [&](Tally& t, bool is_right, const MatrixPlace& is,
                          const std::string& right) {
        t.add(is_right);
        if (!is_right && t.example.empty())
            t.example = d + " is made of " + element(is) + " where " + right + " is right";
    };
    for (const Link& l : chain) {
        const Site& s = m.sites[l.x->site];
        const uint32_t r = l.at / s.n % s.m, c = l.at % s.n;
        uint32_t least = UINT32_MAX;
        for (unsigned kk = 0; kk < s.k; ++kk) {
            MatrixPlace a = source_of(m, p, l.x->a[r * s.k + kk]);
            MatrixPlace b = source_of(m, p, l.x->b[c * s.k + kk]);
            if (a.matrix == Matrix::b) std::swap(a, b);
            const auto k = static_cast<uint32_t>(products + kk);
            const bool has_a = a.matrix == Matrix::a, has_b = b.matrix == Matrix::b;
            note(seen.rows, has_a && a.row == row, a, element('A', row, a.column));
            note(seen.columns, has_b && b.column == column, b, element('B', b.row, column));
            note(seen.order_a, has_a && a.column == k, a, element('A', row, k));
            note(seen.order_b, has_b && b.row == k, b, element('B', k, column));
            seen.k.add(has_a && has_b && a.column == b.row);
            if (has_a) reached.insert(a.column), least = std::min(least, a.column);
        }
        products += s.k;
        order.push_back(least);
    }
    seen.whole &= products == p.k;
    if (reached.size() != p.k || products != p.k) {
        seen.complete = false;
        if (seen.k_order.empty()) seen.k_order = std::move(order);
    }
}

void add_fragments(const Mapping& m, const launch::Product& p, Seen& seen) {
    for (const Execution& x : m.executions) {
        const Site& s = m.sites[x.site];
        const auto add = [&](const std::vector<uint32_t>& numbers, unsigned rows, Tally& t) {
            const auto at = [&](unsigned row) {
                const MatrixPlace from = source_of(m, p, numbers[row * s.k]);
                return int64_t{from.matrix == Matrix::b ? from.column : from.row} - row;
            };
            for (unsigned row = 0; row < rows; ++row) t.add(at(row) == at(0));
        };
        add(x.a, s.m, seen.steady_a);
        add(x.b, s.n, seen.steady_b);
    }
}

// The instructions that bring an operand's elements: the copies to shared memory, where there are
// any and they are meant, or what loads the fragments.
std::vector<ptx::Place> places_of(const Scene& s, Role role, bool copies) {
    std::vector<ptx::Place> out;
    const auto collect = [&](bool (*is_meant)(const Touch&)) {
        for (const Touch& t : s.touches)
            if (t.role == role && is_meant(t))
                out.push_back(s.program.operations[t.operation].place);
    };
    if (role == Role::d) {
        collect([](const Touch& t) { return t.store; });
        return out;
    }
    if (copies) collect([](const Touch& t) { return t.store && t.space == ptx::Space::shared; });
    if (out.empty()) collect([](const Touch& t) { return t.feeds; });
    return out;
}

Candidate part(const std::string& what, std::vector<ptx::Place> places,
               const std::string& example) {
    static constexpr Hypothesis row{"place", "nothing: it is measured",
                                    "A, B, D and the order of k", nullptr};
    Candidate c;
    c.of = &row;
    c.words = what + (places.empty() ? "" : " at " + lines_text(places)) +
              (example.empty() ? "" : ": " + example);
    c.places = std::move(places);
    return c;
}

// From the first that differs on.
std::string compared(const std::vector<uint32_t>& is, const std::vector<uint32_t>& right) {
    constexpr size_t max_shown = 4;
    size_t from = 0;
    while (from < is.size() && from < right.size() && is[from] == right[from]) ++from;
    const auto list = [&](const std::vector<uint32_t>& numbers) {
        std::string out;
        for (size_t i = from; i < std::min(from + max_shown, numbers.size()); ++i)
            out += (i == from ? "" : ", ") +
                   (numbers[i] == UINT32_MAX ? std::string("none") : std::to_string(numbers[i]));
        return out + (numbers.size() > from + max_shown ? " ..." : "");
    };
    return "k " + list(is) + " where " + list(right) + " is right";
}

// Elements that no CTA stores, while those that are stored are right.
void add_gap(const Scene& s, const Mapping& m, std::vector<Candidate>& out) {
    const uint64_t n = s.subject.product->n;
    uint64_t rows[2] = {UINT64_MAX, 0}, columns[2] = {UINT64_MAX, 0};
    for (uint64_t i = 0; i < m.d.size(); ++i) {
        if (m.d[i] != untouched) continue;
        rows[0] = std::min(rows[0], i / n), rows[1] = std::max(rows[1], i / n);
        columns[0] = std::min(columns[0], i % n), columns[1] = std::max(columns[1], i % n);
    }
    if (rows[0] == UINT64_MAX) return;
    const auto range = [](const uint64_t(&of)[2]) {
        return std::to_string(of[0]) + " to " + std::to_string(of[1]);
    };
    out.push_back(
        part("nothing is stored to rows " + range(rows) + ", columns " + range(columns) + " of D",
             places_of(s, Role::d, false), ""));
}

}  // namespace

Deviations deviations(const Scene& s, const Mapping& m) {
    const launch::Product& p = *s.subject.product;
    Seen seen;
    for (uint32_t i = 0; i < m.d.size(); ++i)
        if (m.d[i] != zero && m.d[i] < untouched) add_sum(m, p, i, seen);
    add_fragments(m, p, seen);
    if (seen.sums == 0 || !seen.whole) return {};
    Deviations result;
    std::vector<Candidate>& out = result.parts;
    const bool both = seen.rows.any() && seen.columns.any();
    const bool is_steady = !seen.steady_a.any() && !seen.steady_b.any();
    const bool is_lost = !never_stored_text(m, s.program).empty();
    if (is_steady && (both || (is_lost && (seen.rows.any() || seen.columns.any())))) {
        const Tally& off = seen.rows.any() ? seen.rows : seen.columns;
        out.push_back(
            part("D is stored to other places", places_of(s, Role::d, false), off.example));
    } else {
        if (seen.rows.any())
            out.push_back(part("A is read from other rows than D's",
                               places_of(s, Role::a, !seen.steady_a.any()), seen.rows.example));
        if (seen.columns.any())
            out.push_back(part("B is read from other columns than D's",
                               places_of(s, Role::b, !seen.steady_b.any()), seen.columns.example));
    }
    if (seen.k.any()) {
        if (seen.order_a.any())
            out.push_back(
                part("A is read at another k", places_of(s, Role::a, false), seen.order_a.example));
        if (seen.order_b.any())
            out.push_back(
                part("B is read at another k", places_of(s, Role::b, false), seen.order_b.example));
    } else if (!seen.complete) {
        result.of_order = out.empty();
        std::vector<ptx::Place> places = places_of(s, Role::a, false);
        for (const ptx::Place b : places_of(s, Role::b, false)) places.push_back(b);
        std::vector<uint32_t> right;
        const unsigned each = m.sites.empty() ? 1 : m.sites[m.executions[0].site].k;
        for (uint32_t k = 0; k < p.k; k += each) right.push_back(k);
        out.push_back(part("A and B are read from the wrong stage of a pipeline", std::move(places),
                           compared(seen.k_order, right)));
    }
    if (out.empty()) add_gap(s, m, out);
    constexpr size_t max_parts = 3;
    if (out.size() > max_parts) out.clear();
    return result;
}

}  // namespace lockwarp::why
