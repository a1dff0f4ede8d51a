// SPDX-License-Identifier: Apache-2.0
// The plain definition of matrix_product. The rules of a fused sum, for one block:
//
// 1. NaN among the inputs, Inf*0, or infinities of both signs among products and C: the canonical
//    NaN. Otherwise an infinity among products or C: that infinity. Decided on the inputs: a
//    finite product beyond the largest f32 is no infinity inside the sum, and may cancel.
// 2. Each product is exact, significand in [0, 4), exponent the sum of the two exponent fields,
//    not renormalised. A subnormal has its format's smallest exponent; none is flushed.
// 3. C is one more term, with its own exponent field. A zero product or zero C has the exponent
//    `zero_exponent`.
// 4. Each term's magnitude is truncated to a multiple of 2^(largest exponent - fraction). The sum
//    of the truncated terms is exact.
// 5. The sum is rounded once to `kept` bits. Rounding toward zero overflows to infinity at 2^128
//    and not before.
// 6. A zero result is +0: also of terms that are all -0, and where a negative sum rounds to zero.
// 7. A product with more terms is a chain of blocks in ascending k; the rounded D of one block is
//    the C of the next.
//
// Measured on an H200, driver 580; replayed against V100, A100, A2, L40S, H100 and B200 results
// published with arXiv 2512.07004. Rules 1 and 2 also in arXiv 2511.10909.
#include "emu/num/dot.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "emu/num/ieee.hpp"
#include "emu/num/trace.hpp"

namespace lockwarp::num {
namespace {

using isa::Type;

// An element taken apart for a fused sum. value = significand * 2^(exponent - fraction_bits).
struct Element {
    int32_t significand;  // with its sign; 0 for zero
    int32_t exponent;     // of the field; zero_marker for zero
    Class kind;
    bool negative;
};

// Far enough below every exponent that a sum with any other exponent stays below zero_limit.
constexpr int32_t zero_marker = -8192;
constexpr int32_t zero_limit = -4096;

Element unpack_element(const FormatRow& f, uint64_t bits) {
    const Number x = unpack(f, bits);
    Element e{0, zero_marker, x.kind, x.negative};
    if (x.kind == Class::finite) {
        const auto magnitude = static_cast<int32_t>(x.significand);
        e.significand = x.negative ? -magnitude : magnitude;
        e.exponent = x.exponent + f.fraction_bits;
    }
    return e;
}

// Up to max_k elements of one row of A or one column of B, field by field.
struct Vector {
    std::array<int32_t, max_k> significand;
    std::array<int32_t, max_k> exponent;
    std::array<Element, max_k> whole;
    bool special;  // holds an infinity or a NaN

    void set(const FormatRow& f, const uint64_t* bits, int count) {
        special = false;
        for (int i = 0; i < count; ++i) {
            const Element e = unpack_element(f, bits[i]);
            whole[i] = e;
            significand[i] = e.significand;
            exponent[i] = e.exponent;
            special |= e.kind == Class::infinity || e.kind == Class::nan;
        }
    }
};

// Rule 1. True where the block's result is special; `bits` is then that result.
bool special_block(const FormatRow& d, const Vector& a, const Vector& b, int from, int count,
                   const Element& c, uint64_t& bits) {
    bool nan = c.kind == Class::nan;
    bool positive = c.kind == Class::infinity && !c.negative;
    bool negative = c.kind == Class::infinity && c.negative;
    for (int i = from; i < from + count; ++i) {
        const Element& x = a.whole[i];
        const Element& y = b.whole[i];
        nan |= x.kind == Class::nan || y.kind == Class::nan;
        if (x.kind != Class::infinity && y.kind != Class::infinity) continue;
        nan |= x.kind == Class::zero || y.kind == Class::zero;
        (x.negative != y.negative ? negative : positive) = true;
    }
    if (!nan && !positive && !negative) return false;
    bits = nan || (positive && negative) ? d.nan : with_sign(d, negative, infinity_magnitude(d));
    return true;
}

// A term's magnitude in units of 2^(largest exponent - fraction), truncated. `lift` is how many
// units, as a power of two, the magnitude's lowest bit is worth at the largest exponent.
uint64_t align(uint64_t magnitude, int lift, int below_largest) {
    const int left = lift > 0 ? lift : 0;
    const int right = left - lift + below_largest;
    return (magnitude << left) >> (right < 63 ? right : 63);
}

struct FusedFormats {
    const FormatRow& a;
    const FormatRow& b;
    const FormatRow& d;
};

// Rules 2 to 6, for inputs without infinity and NaN. `c_fraction` is the number of fraction bits
// of C's format, which is not D's in the first block of m8n8k4 with an f16 C and an f32 D.
uint64_t finite_block(const FusedSum& row, const FusedFormats& formats, const Vector& a,
                      const Vector& b, int from, int count, const Element& c, int c_fraction) {
    const int32_t zero_exponent = row.zero_exponent;
    const int32_t c_exponent = c.significand == 0 ? zero_exponent : c.exponent;
    std::array<int32_t, max_block> exponents;
    int32_t largest = c_exponent;
    for (int i = 0; i < count; ++i) {
        const int32_t e = a.exponent[from + i] + b.exponent[from + i];
        exponents[i] = e < zero_limit ? zero_exponent : e;
        largest = std::max(largest, exponents[i]);
    }
    const int lift = row.fraction - formats.a.fraction_bits - formats.b.fraction_bits;
    int64_t sum = 0;
    for (int i = 0; i < count; ++i) {
        const int32_t product = a.significand[from + i] * b.significand[from + i];
        const auto term = static_cast<int64_t>(
            align(static_cast<uint32_t>(std::abs(product)), lift, largest - exponents[i]));
        sum += product < 0 ? -term : term;
    }
    const auto c_term =
        static_cast<int64_t>(align(static_cast<uint32_t>(std::abs(c.significand)),
                                   row.fraction - c_fraction, largest - c_exponent));
    sum += c.significand < 0 ? -c_term : c_term;

    const RoundTo to{.rounding = row.rounding, .overflow = Overflow::infinity, .kept = row.kept};
    const bool negative = sum < 0;
    const uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
    const uint64_t bits = round_pack(formats.d, to, negative, largest - row.fraction, magnitude);
    return bits == sign_bit(formats.d) ? 0 : bits;
}

uint64_t fused_element(const FusedSum& row, const FusedFormats& formats, const FormatRow& c_format,
                       const Vector& a, const Vector& b, int k, uint64_t c_bits) {
    const FormatRow* format_of_c = &c_format;
    for (int from = 0; from < k; from += row.block) {
        const int count = std::min<int>(row.block, k - from);
        const Element c = unpack_element(*format_of_c, c_bits);
        const bool maybe_special =
            a.special || b.special || c.kind == Class::infinity || c.kind == Class::nan;
        if (!maybe_special || !special_block(formats.d, a, b, from, count, c, c_bits))
            c_bits = finite_block(row, formats, a, b, from, count, c, format_of_c->fraction_bits);
        format_of_c = &formats.d;
    }
    return c_bits;
}

// What fused_element goes through: the results are its, block by block.
void record_blocks(const FusedSum& row, const FusedFormats& formats, const FormatRow& c_format,
                   const Vector& a, const Vector& b, int k, uint64_t c_bits, Trace& trace) {
    const FormatRow* format_of_c = &c_format;
    for (int from = 0; from < k; from += row.block) {
        TracedBlock& block = trace.blocks.emplace_back();
        block.first = from;
        block.count = std::min<int>(row.block, k - from);
        block.fraction = row.fraction;
        const Element c = unpack_element(*format_of_c, c_bits);
        block.special = special_block(formats.d, a, b, from, block.count, c, c_bits);
        const auto term = [&](int at, int64_t significand, int32_t exponent, int fraction_bits) {
            if (significand == 0) exponent = row.zero_exponent;
            block.terms.push_back({at, significand, exponent, fraction_bits, 0});
        };
        for (int i = from; i < from + block.count && !block.special; ++i)
            term(i, int64_t{a.significand[i]} * b.significand[i], a.exponent[i] + b.exponent[i],
                 formats.a.fraction_bits + formats.b.fraction_bits);
        if (!block.special) {
            term(-1, c.significand, c.exponent, format_of_c->fraction_bits);
            block.largest = std::ranges::max(block.terms, {}, &TracedTerm::exponent).exponent;
            for (TracedTerm& t : block.terms) {
                t.units = static_cast<int64_t>(align(static_cast<uint64_t>(std::abs(t.significand)),
                                                     row.fraction - t.fraction_bits,
                                                     block.largest - t.exponent));
                if (t.significand < 0) t.units = -t.units;
                block.sum += t.units;
            }
            c_bits =
                finite_block(row, formats, a, b, from, block.count, c, format_of_c->fraction_bits);
        }
        block.result = c_bits;
        format_of_c = &formats.d;
    }
}

void fused_product(const DotRow& row, MatrixShape shape, MatrixTypes types, const uint64_t* a,
                   const uint64_t* b, const uint64_t* c, uint64_t* d) {
    const FusedFormats formats{format(types.a), format(types.b), format(types.d)};
    const FormatRow& c_format = format(types.c);
    // Columns are unpacked a few at a time, so that each row of A is unpacked once for all of them.
    constexpr int tile = 8;
    std::array<Vector, tile> columns;
    Vector line;
    for (int first = 0; first < shape.n; first += tile) {
        const int count = std::min(tile, shape.n - first);
        for (int j = 0; j < count; ++j)
            columns[j].set(formats.b, b + (first + j) * shape.k, shape.k);
        for (int i = 0; i < shape.m; ++i) {
            line.set(formats.a, a + i * shape.k, shape.k);
            for (int j = 0; j < count; ++j) {
                const int at = i * shape.n + first + j;
                d[at] = fused_element(row.sum, formats, c_format, line, columns[j], shape.k, c[at]);
            }
        }
    }
}

// One element of m8n8k4 where it is no tensor-core instruction: f32 arithmetic throughout, in an
// order that differs with D's type (both read from the SASS that ptxas 13.0 emits). With an f32 D
// the chain starts from +0, so that products which are all -0 give +0 (H200, driver 580).
uint64_t routine_element(MatrixTypes types, const uint64_t* a, const uint64_t* b, uint64_t c_bits,
                         Trace* trace = nullptr) {
    constexpr Rounding rn = Rounding::rn;
    const auto step = [&](std::string_view what, int k, Type type, uint64_t result) {
        if (trace != nullptr) trace->steps.push_back({what, k, type, result});
        return result;
    };
    std::array<uint64_t, 4> x;
    std::array<uint64_t, 4> y;
    for (int i = 0; i < 4; ++i) {
        x[i] = convert(types.a, Type::f32, a[i], rn);
        y[i] = convert(types.b, Type::f32, b[i], rn);
    }
    const uint64_t c = types.c == Type::f32 ? c_bits : convert(types.c, Type::f32, c_bits, rn);
    const auto onto = [&](int i, uint64_t z) {
        return step("a*b + z", i, Type::f32, fma(Type::f32, x[i], y[i], z, rn));
    };
    const auto sum = [&](uint64_t z) {
        return step("C + z", -1, Type::f32, add(Type::f32, c, z, rn));
    };
    if (types.d == Type::f32) return sum(onto(3, onto(2, onto(1, onto(0, 0)))));
    const auto product = [&](int i) {
        return step("a*b", i, Type::f32, mul(Type::f32, x[i], y[i], rn));
    };
    const uint64_t low = sum(onto(1, product(0)));
    const uint64_t high = onto(3, product(2));
    const uint64_t both = step("y + z", -1, Type::f32, add(Type::f32, low, high, rn));
    return step("as D", -1, types.d, convert(Type::f32, types.d, both, rn));
}

uint64_t chain_element(const uint64_t* a, const uint64_t* b, int k, uint64_t c, Rounding rounding,
                       Trace* trace = nullptr) {
    for (int i = 0; i < k; ++i) {
        c = fma(Type::f64, a[i], b[i], c, rounding);
        if (trace != nullptr) trace->steps.push_back({"a*b + z", i, Type::f64, c});
    }
    return c;
}

int64_t extend(Type t, uint64_t bits) {
    const unsigned unused = 64 - isa::bits(t);
    const uint64_t high = bits << unused;
    return isa::is_signed(t) ? static_cast<int64_t>(high) >> unused
                             : static_cast<int64_t>(high >> unused);
}

uint64_t integer_element(MatrixTypes types, const uint64_t* a, const uint64_t* b, int k, uint64_t c,
                         Trace* trace = nullptr) {
    int64_t sum = extend(types.c, c);
    for (int i = 0; i < k; ++i) {
        sum += types.combine == isa::Combine::xor_ ? static_cast<int64_t>(a[i] ^ b[i])
                                                   : extend(types.a, a[i]) * extend(types.b, b[i]);
        if (trace != nullptr)
            trace->steps.push_back({"a*b + z", i, Type::s64, static_cast<uint64_t>(sum)});
    }
    if (types.satfinite) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    return static_cast<uint32_t>(sum);
}

// The elements with k%4 in {0, 1} of one row of A or column of B, and those with k%4 in {2, 3}.
using Halves = std::array<Vector, 2>;

void set_halves(Halves& out, Type type, const uint64_t* bits, int k) {
    for (int half = 0; half < 2; ++half) {
        std::array<uint64_t, max_k / 2> values;
        int count = 0;
        for (int i = 0; i < k; ++i)
            if (i % 4 / 2 == half)
                values[count++] = convert(type, Type::f16, bits[i], Rounding::rn);
        out[half].set(format(Type::f16), values.data(), count);
    }
}

// As NVIDIA's assembler replaces an fp8 product where the tensor core has none: two products of f16
// operands and an addition, D's type throughout.
uint64_t element_in_halves(const DotRow& row, Type d, const Halves& line, const Halves& column,
                           int k, uint64_t c, Trace* trace = nullptr) {
    const FusedFormats formats{format(Type::f16), format(Type::f16), format(d)};
    uint64_t sum = 0;
    for (int half = 0; half < 2; ++half) {
        if (trace != nullptr)
            record_blocks(row.sum, formats, formats.d, line[half], column[half], k / 2, sum,
                          *trace);
        sum = fused_element(row.sum, formats, formats.d, line[half], column[half], k / 2, sum);
    }
    sum = add(d, sum, c, Rounding::rn);
    if (trace != nullptr) trace->steps.push_back({"C + z", -1, d, sum});
    return sum;
}

void product_in_halves(const DotRow& row, MatrixShape shape, MatrixTypes types, const uint64_t* a,
                       const uint64_t* b, const uint64_t* c, uint64_t* d) {
    Halves line;
    Halves column;
    for (int j = 0; j < shape.n; ++j) {
        set_halves(column, types.b, b + j * shape.k, shape.k);
        for (int i = 0; i < shape.m; ++i) {
            set_halves(line, types.a, a + i * shape.k, shape.k);
            const int at = i * shape.n + j;
            d[at] = element_in_halves(row, types.d, line, column, shape.k, c[at]);
        }
    }
}

}  // namespace

void matrix_product(const DotRow& row, MatrixShape shape, MatrixTypes types, const uint64_t* a,
                    const uint64_t* b, const uint64_t* c, uint64_t* d) {
    if (row.method == Method::fused_blocks) return fused_product(row, shape, types, a, b, c, d);
    if (row.method == Method::f16_halves) return product_in_halves(row, shape, types, a, b, c, d);
    for (int i = 0; i < shape.m; ++i)
        for (int j = 0; j < shape.n; ++j) {
            const uint64_t* x = a + i * shape.k;
            const uint64_t* y = b + j * shape.k;
            const int at = i * shape.n + j;
            switch (row.method) {
                case Method::fused_blocks:
                case Method::f16_halves:
                case Method::scaled_block:
                case Method::scaled_groups:
                    break;
                case Method::fma_routine:
                    d[at] = routine_element(types, x, y, c[at]);
                    break;
                case Method::fma_chain_f64:
                    d[at] = chain_element(x, y, shape.k, c[at], types.rounding);
                    break;
                case Method::integer:
                    d[at] = integer_element(types, x, y, shape.k, c[at]);
                    break;
            }
        }
}

uint64_t traced_element(const DotRow& row, MatrixTypes types, std::span<const uint64_t> a,
                        std::span<const uint64_t> b, uint64_t c, Trace& trace) {
    const int k = static_cast<int>(a.size());
    switch (row.method) {
        case Method::fused_blocks: {
            Vector line;
            Vector column;
            line.set(format(types.a), a.data(), k);
            column.set(format(types.b), b.data(), k);
            const FusedFormats formats{format(types.a), format(types.b), format(types.d)};
            record_blocks(row.sum, formats, format(types.c), line, column, k, c, trace);
            return fused_element(row.sum, formats, format(types.c), line, column, k, c);
        }
        case Method::f16_halves: {
            Halves line;
            Halves column;
            set_halves(line, types.a, a.data(), k);
            set_halves(column, types.b, b.data(), k);
            const uint64_t d = element_in_halves(row, types.d, line, column, k, c, &trace);
            // The products' places among all of them.
            for (size_t n = 0; n < trace.blocks.size(); ++n) {
                const size_t half = n / (trace.blocks.size() / 2);
                for (TracedTerm& t : trace.blocks[n].terms)
                    if (t.k >= 0) t.k = t.k / 2 * 4 + t.k % 2 + 2 * static_cast<int>(half);
            }
            return d;
        }
        case Method::fma_routine:
            return routine_element(types, a.data(), b.data(), c, &trace);
        case Method::fma_chain_f64:
            return chain_element(a.data(), b.data(), k, c, types.rounding, &trace);
        case Method::integer:
            return integer_element(types, a.data(), b.data(), k, c, &trace);
        case Method::scaled_block:
        case Method::scaled_groups:
            break;
    }
    return 0;
}

}  // namespace lockwarp::num
