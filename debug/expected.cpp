// SPDX-License-Identifier: Apache-2.0
#include "debug/expected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "launch/values.hpp"

namespace lockwarp::debug {

using why::Execution;
using why::MatrixPlace;
using Matrix = why::MatrixPlace::Matrix;

namespace {

constexpr int64_t none = -1;

// The number that most votes are for; `none` without a vote.
struct Votes {
    std::map<int64_t, double> votes;
    void add(int64_t what, double weight = 1) { votes[what] += weight; }
    int64_t most() const {
        int64_t best = none;
        double weight = 0;
        for (const auto& [what, w] : votes)
            if (w > weight + 1e-9) best = what, weight = w;
        return best;
    }
};

// One side of the instruction's product: its A (lines: rows) or its B (lines: columns).
struct Factor {
    bool is_a = true;
    Matrix holds = Matrix::none;  // of the launch file's matrices, the one it is made of
    unsigned lines = 0, k = 0;
    const std::vector<uint32_t>* numbers = nullptr;  // (matrix, line, k)
};

int64_t k_of(const MatrixPlace& p) { return p.matrix == Matrix::a ? p.column : p.row; }
int64_t line_of(const MatrixPlace& p) { return p.matrix == Matrix::a ? p.row : p.column; }

}  // namespace

// What was measured of one CTA.
struct Expected::Cta {
    why::Mapping mapping;
    const launch::Product* product = nullptr;
    std::vector<uint32_t> element;  // by accumulator: D's index + 1; 0: none
    std::map<const Execution*, std::vector<int64_t>>
        wanted_k;  // that it should multiply, in its order

    MatrixPlace source(uint32_t number) const { return why::source_of(mapping, *product, number); }
    Factor side(const Execution& x, bool is_a) const;
    void follow(uint32_t number, uint32_t index);
    void find_k();
    std::vector<int64_t> k_of_execution(const Execution& x, int64_t position) const;
    // D's index of accumulator `at` of an execution; `none`.
    int64_t index_of(const Execution& x, uint32_t at) const {
        const uint32_t number = x.first + at;
        return number < element.size() && element[number] != 0 ? int64_t{element[number]} - 1
                                                               : none;
    }
    // The row (of A) or column (of B) that a line of a side belongs to.
    int64_t wanted_line(const Execution& x, const Factor& s, unsigned matrix, unsigned line) const;
};

Factor Expected::Cta::side(const Execution& x, bool is_a) const {
    const why::Site& site = mapping.sites[x.site];
    Factor s{is_a, Matrix::none, is_a ? site.m : site.n, site.k, is_a ? &x.a : &x.b};
    Votes v;
    for (const uint32_t n : *s.numbers)
        if (const MatrixPlace p = source(n); p.matrix != Matrix::none)
            v.add(static_cast<int64_t>(p.matrix));
    if (const int64_t most = v.most(); most != none) s.holds = static_cast<Matrix>(most);
    return s;
}

// Of the accumulators that become D[index], from the last back to the first.
void Expected::Cta::follow(uint32_t number, uint32_t index) {
    while (number != why::zero && number < element.size() && element[number] == 0) {
        element[number] = index + 1;
        const Execution& x = mapping.of(number);
        if (number < x.first || number - x.first >= x.c.size()) return;
        const uint32_t next = x.c[number - x.first];
        if (next >= x.first) return;
        number = next;
    }
}

// Where A and B agree on k, that; else k one after another from where most of both begin.
std::vector<int64_t> Expected::Cta::k_of_execution(const Execution& x, int64_t position) const {
    const why::Site& site = mapping.sites[x.site];
    std::vector<int64_t> out(site.k, none);
    Votes begin;
    bool agree = true;
    for (unsigned k = 0; k < site.k; ++k) {
        std::array<int64_t, 2> most{none, none};
        for (const bool is_a : {true, false}) {
            const Factor s = side(x, is_a);
            Votes v;
            for (size_t i = k; i < s.numbers->size(); i += s.k)
                if (const MatrixPlace p = source((*s.numbers)[i]);
                    p.matrix == s.holds && p.matrix != Matrix::none) {
                    v.add(k_of(p));
                    const int64_t from = k_of(p) - k;
                    if (from >= 0 && from + site.k <= static_cast<int64_t>(product->k))
                        begin.add(from, 1.0 / s.lines);
                }
            most[is_a ? 0 : 1] = v.most();
        }
        out[k] = most[0] == most[1] ? most[0] : none;
        agree &= out[k] != none;
    }
    if (agree) return out;
    const int64_t usual = position * site.k;
    if (begin.votes.contains(usual)) begin.add(usual, begin.votes[usual]);
    const int64_t first = begin.most();
    if (first == none) return out;
    for (unsigned k = 0; k < site.k; ++k) out[k] = first + k;
    return out;
}

void Expected::Cta::find_k() {
    std::map<const Execution*, int64_t> position;
    for (const Execution& x : mapping.executions) {
        int64_t at = 0;
        const uint32_t before = x.c.empty() ? why::zero : x.c[0];
        if (before != why::zero && before < x.first) at = position[&mapping.of(before)] + 1;
        position[&x] = at;
        wanted_k[&x] = k_of_execution(x, at);
    }
}

int64_t Expected::Cta::wanted_line(const Execution& x, const Factor& s, unsigned matrix,
                                   unsigned line) const {
    const why::Site& site = mapping.sites[x.site];
    Votes v;
    for (unsigned other = 0; other < (s.is_a ? site.n : site.m); ++other) {
        const unsigned row = s.is_a ? line : other, column = s.is_a ? other : line;
        const int64_t index = index_of(x, (matrix * site.m + row) * site.n + column);
        const auto n = static_cast<int64_t>(product->n);
        if (index != none) v.add(s.holds == Matrix::a ? index / n : index % n);
    }
    if (v.votes.size() == 1) return v.most();
    // Its sums are not stored, or in several lines of D: as it is itself, where it is of one line.
    Votes own;
    for (unsigned i = 0; i < s.k; ++i)
        if (const MatrixPlace p = source((*s.numbers)[(matrix * s.lines + line) * s.k + i]);
            p.matrix == s.holds && p.matrix != Matrix::none)
            own.add(line_of(p));
    return v.votes.empty() || own.votes.size() == 1 ? own.most() : v.most();
}

Expected::Expected(const SubjectOf& subject, const std::vector<launch::Loaded>& launches,
                   const std::atomic<bool>* stop)
    : stop_(stop) {
    launch::Result<why::Subject> made = subject(launches);
    if (!made) {
        problem_ = made.error().sentence;
        return;
    }
    if (!made->product) {
        problem_ = "the launch file expects no product of matrices";
        return;
    }
    subject_ = std::move(*made);
    subject_->stop = stop_;
}

const Expected::Cta* Expected::measured(uint64_t cta) {
    const auto known = ctas_.find(cta);
    if (known != ctas_.end()) return known->second.get();
    std::shared_ptr<const Cta>& kept = ctas_[cta];
    std::optional<why::Mapping> mapping =
        why::measure(*subject_, subject_->loaded().program, cta, 1, UINT64_MAX, data_);
    if (!mapping || !mapping->has_both) return nullptr;
    auto made = std::make_shared<Cta>();
    made->mapping = std::move(*mapping);
    made->product = &*subject_->product;
    const Execution& last = made->mapping.executions.back();
    made->element.assign(last.first + made->mapping.sites[last.site].accumulators(), 0);
    if (made->mapping.has_d)
        for (uint32_t i = 0; i < made->mapping.d.size(); ++i) made->follow(made->mapping.d[i], i);
    made->find_k();
    kept = std::move(made);
    return kept.get();
}

namespace {

// The matrices as memory has them now.
struct Factors {
    const launch::Product& product;
    const uint8_t* a = nullptr;
    const uint8_t* b = nullptr;

    uint64_t bits(Matrix m, int64_t line, int64_t k) const {
        const bool is_a = m == Matrix::a;
        const bool along_k = is_a ? !product.a_transposed : product.b_transposed;
        const auto lines = static_cast<int64_t>(is_a ? product.m : product.n);
        const auto depth = static_cast<int64_t>(product.k);
        const auto at = static_cast<size_t>(along_k ? line * depth + k : k * lines + line);
        const isa::Type type = is_a ? product.type_a : product.type_b;
        const size_t width = isa::bits(type) / 8;
        uint64_t out = 0;
        std::memcpy(&out, (is_a ? a : b) + at * width, width);
        return out;
    }
    double value(Matrix m, int64_t line, int64_t k) const {
        return launch::value_of(m == Matrix::a ? product.type_a : product.type_b, bits(m, line, k));
    }
    bool has(Matrix m, int64_t line, int64_t k) const {
        return line >= 0 && k >= 0 && k < static_cast<int64_t>(product.k) &&
               line < static_cast<int64_t>(m == Matrix::a ? product.m : product.n);
    }
};

std::string place_text(Matrix m, int64_t line, int64_t k) {
    return m == Matrix::a ? fmt::format("A[{}][{}]", line, k) : fmt::format("B[{}][{}]", k, line);
}

// "0-15", "0, 2, 4, 6 ..."
std::string range_text(std::vector<int64_t> all) {
    std::erase(all, none);
    if (all.empty()) return "none";
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.back() - all.front() + 1 == static_cast<int64_t>(all.size()))
        return all.size() == 1 ? std::to_string(all[0])
                               : fmt::format("{}-{}", all.front(), all.back());
    std::string out;
    for (size_t i = 0; i < all.size() && i < 4; ++i)
        out += fmt::format("{}{}", i == 0 ? "" : ", ", all[i]);
    return all.size() > 4 ? out + fmt::format(" ... {}", all.back()) : out;
}

// How far rounding may take a sum of `count` products of that magnitude in the type's steps.
double slack_of(isa::Type type, double magnitude, double count) {
    if (!isa::is_float(type)) return 0;
    const double step = type == isa::Type::f16    ? 0x1p-10
                        : type == isa::Type::f64  ? 0x1p-52
                        : type == isa::Type::bf16 ? 0x1p-7
                                                  : 0x1p-21;
    return magnitude * step * std::max(4.0, std::sqrt(count) * 4);
}

}  // namespace

std::optional<Should> Expected::of(const View& view, size_t launch, const Fragments& f,
                                   const FragmentOperand& o) {
    if (!subject_ || launch != subject_->step || view.warp == nullptr) return std::nullopt;
    const std::string& name = o.layout.name;
    const bool about_to_run = f.operation == view.pc;
    if (name.size() != 1 || (about_to_run ? name == "D" : name == "C")) return std::nullopt;
    const Cta* const cta = measured(view.cta->index);
    if (cta == nullptr) return std::nullopt;
    // The time that it ran, or is about to.
    const Execution* x = nullptr;
    for (const Execution& one : cta->mapping.executions)
        if (one.warp == view.warp->index && cta->mapping.sites[one.site].operation == f.operation &&
            (about_to_run ? one.step == view.warp->step : one.step < view.warp->step))
            x = &one;
    // Registers of A and B are others soon behind it.
    if (x == nullptr || (!about_to_run && name != "D" && x->step + 1 != view.warp->step))
        return std::nullopt;
    const launch::Product& p = *cta->product;
    const auto buffer = [&](const std::string& of) -> const uint8_t* {
        const std::optional<View::Place> place = view.place_of(of);
        return place ? view.bytes_at(place->space, place->address, place->bytes) : nullptr;
    };
    const Factors factors{p, buffer(p.a), buffer(p.b)};
    if (factors.a == nullptr || factors.b == nullptr) return std::nullopt;
    const why::Site& site = cta->mapping.sites[x->site];
    const lanes::Operand& l = o.layout;
    const std::vector<uint64_t> now = matrix_of(view, o);
    Should out;
    out.bits = now;
    out.differs.assign(now.size(), false);
    out.is.resize(now.size());
    out.should.resize(now.size());
    const std::vector<int64_t>& k = cta->wanted_k.at(x);
    std::vector<int64_t> lines;

    if (name == "A" || name == "B") {
        const Factor s = cta->side(*x, name == "A");
        if (s.holds == Matrix::none || s.numbers->size() != now.size()) return std::nullopt;
        const isa::Type from = s.holds == Matrix::a ? p.type_a : p.type_b;
        const isa::Type type = l.type == isa::Type::tf32 ? isa::Type::f32 : l.type;
        for (unsigned part = 0; part < l.parts; ++part)
            for (unsigned line = 0; line < s.lines; ++line) {
                lines.push_back(cta->wanted_line(*x, s, part, line));
                for (unsigned i = 0; i < s.k; ++i) {
                    if (!factors.has(s.holds, lines.back(), k[i])) continue;
                    const uint32_t number = (*s.numbers)[(part * s.lines + line) * s.k + i];
                    const MatrixPlace is = cta->source(number);
                    const size_t row = s.is_a ? line : i, column = s.is_a ? i : line;
                    const size_t at = (part * size_t{l.rows} + row) * l.columns + column;
                    const uint64_t bits = factors.bits(s.holds, lines.back(), k[i]);
                    out.bits[at] =
                        type == from ? bits : launch::bits_of(type, launch::value_of(from, bits));
                    const bool right =
                        is.matrix == s.holds && line_of(is) == lines.back() && k_of(is) == k[i];
                    out.differs[at] = number == why::unknown ? out.bits[at] != now[at] : !right;
                    out.should[at] = place_text(s.holds, lines.back(), k[i]);
                    out.is[at] = number == why::zero ? "zero"
                                 : is.matrix == Matrix::none
                                     ? "nothing of A or B"
                                     : place_text(is.matrix, line_of(is), k_of(is));
                }
            }
        out.what = fmt::format("{} {} and k {} of {}", s.holds == Matrix::a ? "rows" : "columns",
                               range_text(lines), range_text(k), s.holds == Matrix::a ? "A" : "B");
        return out;
    }

    // C and D: the sums so far, within their rounding.
    if (!p.c.empty() || site.accumulators() != now.size()) return std::nullopt;
    std::vector<int64_t> columns, all_k;
    for (uint32_t at = 0; at < now.size(); ++at) {
        const int64_t index = cta->index_of(*x, at);
        if (index == none) {
            out.is[at] = "a sum that is not stored";
            continue;
        }
        const int64_t row = index / static_cast<int64_t>(p.n);
        const int64_t column = index % static_cast<int64_t>(p.n);
        lines.push_back(row);
        columns.push_back(column);
        double sum = 0, magnitude = 0, count = 0;
        bool known = true;
        uint32_t number = x->first + at;
        if (name == "C") number = x->c[at];
        while (number != why::zero && known) {
            known = number < cta->element.size();
            if (!known) break;
            const Execution& one = cta->mapping.of(number);
            for (const int64_t i : cta->wanted_k.at(&one)) {
                known &= factors.has(Matrix::a, row, i);
                if (!known) break;
                const double term =
                    factors.value(Matrix::a, row, i) * factors.value(Matrix::b, column, i);
                sum += term;
                magnitude += std::fabs(term);
                ++count;
                all_k.push_back(i);
            }
            const uint32_t next = one.c[number - one.first];
            known &= next == why::zero || next < one.first;
            number = next;
        }
        if (!known) continue;
        out.bits[at] = launch::bits_of(l.type, sum);
        const double is = launch::value_of(l.type, now[at]);
        out.differs[at] = !(std::fabs(is - sum) <= slack_of(l.type, magnitude, count));
        out.should[at] = fmt::format("the sum for D[{}][{}]", row, column);
    }
    if (lines.empty()) return std::nullopt;
    if (all_k.empty()) {
        out.what = "zero, with which the sums begin";
        return out;
    }
    out.what = fmt::format("the sums of k {} for rows {} and columns {} of D, within rounding",
                           range_text(all_k), range_text(lines), range_text(columns));
    return out;
}

}  // namespace lockwarp::debug
