// SPDX-License-Identifier: Apache-2.0
#include "lanes/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockwarp::lanes {

namespace {

// A digit of lane or index and what it is worth in row, column or part.
struct Digit {
    char from;
    uint32_t divisor, modulus;
    char to;  // 'r', 'c', 'p', or '0': nothing depends on it
    uint32_t scale;
};

class Digits {
  public:
    explicit Digits(const Operand& operand) : o(operand) {}

    // A mode of the layout: `size` digits' values from `divisor` on, each `stride` elements apart.
    void mode(char from, uint32_t divisor, uint32_t size, uint32_t stride) {
        if (size == 1) return;
        if (stride == 0) {
            list.push_back({from, divisor, size, '0', 0});
            return;
        }
        // Of one that runs over the last row, the rest is columns.
        if (stride < o.elements.layout_rows && stride * size > o.elements.layout_rows) {
            const uint32_t within = o.elements.layout_rows / stride;
            mode(from, divisor, within, stride);
            mode(from, divisor * within, size / within, o.elements.layout_rows);
            return;
        }
        const bool in_row = stride < o.elements.layout_rows;
        const bool is_row = in_row != o.elements.transposed;
        list.push_back({from, divisor, size, is_row ? 'r' : 'c',
                        in_row ? stride : stride / o.elements.layout_rows});
    }

    // A mode of threads: thread t of a quad-pair is lane t%4 + 16*(t/4), without the quad-pair's 4.
    void thread_mode(uint32_t divisor, uint32_t size, uint32_t stride) {
        // Thread t is lane t/given*4 + t%given; no mode is of both parts.
        if (o.elements.given < 4) {
            if (divisor >= o.elements.given) divisor = divisor / o.elements.given * 4;
            return mode('l', divisor, size, stride);
        }
        if (o.elements.threads == isa::Threads::warp) return mode('l', divisor, size, stride);
        if (divisor >= 4) return mode('l', divisor * 4, size, stride);
        if (divisor * size <= 4) return mode('l', divisor, size, stride);
        const uint32_t within = 4 / divisor;
        mode('l', divisor, within, stride);
        mode('l', 16, size / within, stride * within);
    }

    void quad_pair(uint32_t divisor, uint8_t row_step, uint8_t column_step, uint32_t part) {
        if (o.parts > 1) {
            list.push_back({'l', divisor, 2, 'p', part});
        } else if (row_step != 0) {
            list.push_back({'l', divisor, 2, o.elements.transposed ? 'c' : 'r', row_step});
        } else if (column_step != 0) {
            list.push_back({'l', divisor, 2, o.elements.transposed ? 'r' : 'c', column_step});
        } else {
            list.push_back({'l', divisor, 2, '0', 0});
        }
    }

    const Operand& o;
    std::vector<Digit> list;
};

// Terms whose digits continue one another become one, and the highest needs no modulus.
void merge(std::vector<Term>& terms, const auto& extent_of) {
    std::ranges::sort(terms, [](const Term& a, const Term& b) {
        return std::tuple(a.source == '*', a.source, a.divisor) <
               std::tuple(b.source == '*', b.source, b.divisor);
    });
    for (size_t i = 0; i + 1 < terms.size();) {
        Term& a = terms[i];
        const Term& b = terms[i + 1];
        // Of '*' all have the divisor 1, and none continues another.
        if (a.source == b.source && a.divisor * a.modulus == b.divisor &&
            a.scale * a.modulus == b.scale) {
            a.modulus *= b.modulus;
            terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        } else {
            ++i;
        }
    }
    for (Term& t : terms)
        if (t.source != '*' && t.divisor * t.modulus >= extent_of(t.source)) t.modulus = 0;
    std::ranges::stable_sort(terms, std::ranges::greater{}, &Term::scale);
}

}  // namespace

Formulas formulas(const Operand& o) {
    if (o.elements.layout.values() * o.elements.layout.threads() <= 1) return {};
    Digits digits(o);
    uint32_t at = 1;
    for (const isa::LayoutMode& m : o.elements.layout.thread) {
        digits.thread_mode(at, m.shape, m.stride);
        at *= m.shape;
    }
    if (o.elements.threads == isa::Threads::quad_pairs) {
        digits.quad_pair(4, o.elements.row_step[0], o.elements.column_step[0], 1);
        digits.quad_pair(8, o.elements.row_step[1], o.elements.column_step[1], 2);
    }
    at = 1;
    for (const isa::LayoutMode& m : o.elements.layout.value) {
        digits.mode('i', at, m.shape, m.stride);
        at *= m.shape;
    }
    // ldmatrix and stmatrix: a register a matrix.
    if (o.parts > 1 && o.elements.threads == isa::Threads::warp)
        digits.list.push_back({'i', at, o.parts, 'p', 1});

    const auto extent_of = [&](char source) -> uint32_t {
        switch (source) {
            case 'l':
                return o.lanes;
            case 'i':
                return o.values;
            case 'r':
                return o.rows;
            case 'c':
                return o.columns;
            default:
                return o.parts;
        }
    };
    Formulas out;
    for (const char to : {'r', 'c', 'p'}) {
        if (to == 'p' && o.parts == 1) continue;
        Formula f{to, {}};
        for (const Digit& d : digits.list)
            if (d.to == to) f.terms.push_back({d.from, d.divisor, d.modulus, d.scale});
        merge(f.terms, extent_of);
        out.forward.push_back(std::move(f));
    }
    for (const char from : {'l', 'i'}) {
        Formula f{from, {}};
        for (const Digit& d : digits.list) {
            if (d.from != from) continue;
            if (d.to == '0')
                f.terms.push_back({'*', 1, d.modulus, d.divisor});
            else
                f.terms.push_back({d.to, d.scale, d.modulus, d.divisor});
        }
        merge(f.terms, extent_of);
        out.backward.push_back(std::move(f));
    }
    return out;
}

uint32_t evaluate(const Formula& f, const Sources& s) {
    uint32_t sum = 0;
    uint32_t any = s.any;
    for (const Term& t : f.terms) {
        uint32_t value = 0;
        switch (t.source) {
            case 'l':
                value = s.lane;
                break;
            case 'i':
                value = s.index;
                break;
            case 'r':
                value = s.row;
                break;
            case 'c':
                value = s.column;
                break;
            case 'p':
                value = s.part;
                break;
            default:
                value = any;
                any /= t.modulus;
        }
        value /= t.divisor;
        if (t.modulus != 0) value %= t.modulus;
        sum += value * t.scale;
    }
    return sum;
}

std::string_view name_of(char source) {
    switch (source) {
        case 'l':
            return "lane";
        case 'i':
            return "i";
        case 'r':
            return "row";
        case 'c':
            return "col";
        default:
            return "part";
    }
}

std::string text_of(const Formula& f, const Operand& o) {
    const auto name = [&](char source) {
        if (source == 'l' && o.lanes == isa::warpgroup_lanes) return std::string("thread");
        if (source == 'p') return o.part_word == "matrix" ? std::string("matrix") : "qp";
        return std::string(name_of(source));
    };
    std::string out = name(f.result) + " = ";
    bool first = true;
    for (const Term& t : f.terms) {
        std::string text;
        if (t.source == '*') {
            text = "{0";
            for (uint32_t i = 1; i < t.modulus; ++i) text += fmt::format(",{}", i * t.scale);
            text += "}";
        } else {
            text = name(t.source);
            if (t.divisor != 1) text += fmt::format("/{}", t.divisor);
            if (t.modulus != 0) text += fmt::format("%{}", t.modulus);
            const bool plain = text.find_first_of("/%") == std::string::npos;
            if (t.scale != 1) text = fmt::format("{}*{}", t.scale, plain ? text : "(" + text + ")");
        }
        out += (first ? "" : " + ") + text;
        first = false;
    }
    return first ? out + "0" : out;
}

}  // namespace lockwarp::lanes
