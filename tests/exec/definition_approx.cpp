// SPDX-License-Identifier: Apache-2.0
// The approximate functions: the errors that the PTX manual allows them, and what they give exactly
// (NaN, infinities, zeros). Their bits are tests/num/mufu_test.cpp's and the recordings' business.
#include <cmath>

#include "tests/exec/definition.hpp"
#include "tests/exec/exact.hpp"

namespace lockwarp::exec {

namespace {

struct Bound {
    double relative = 0;
    double absolute = 0;
};

struct Function {
    std::string_view opcode;
    std::string_view type;  // of an element
    double (*of)(double a, double b);
    Bound (*bound)(double a);
};

double ulps(double n) { return n * 0x1p-23; }

// The manual's bounds; sine and cosine by range, and cosine by what an H200 needs of its 2^-20.5,
// tanh.bf16 of its 2^-8.
Bound around_the_circle(double a) {
    if (std::fabs(a) <= 6.2831853) return {0, std::exp2(-20.4)};
    if (std::fabs(a) <= 314.159) return {0, std::exp2(-14.7)};
    return {0, 2};
}

Bound of_logarithm(double a) { return a > 0.5 && a < 2 ? Bound{0, 0x1p-22} : Bound{0x1p-22, 0}; }

constexpr auto exp2_of = [](double a, double) { return std::exp2(a); };
constexpr auto tanh_of = [](double a, double) { return std::tanh(a); };
constexpr auto quotient = [](double a, double b) { return a / b; };
constexpr auto one_over = [](double a, double) { return 1 / a; };
// Of -0 the infinity of its sign, as the manual has it.
constexpr auto reciprocal_root = [](double a, double) { return a == 0 ? 1 / a : 1 / std::sqrt(a); };

constexpr Function functions[] = {
    {"ex2", ".f32", exp2_of,
     [](double) {
         return Bound{0x1p-22, 0};
     }},
    {"ex2", ".f16", exp2_of,
     [](double) {
         return Bound{std::exp2(-9.9), 0};
     }},
    {"ex2", ".bf16", exp2_of,
     [](double) {
         return Bound{0x1p-7, 0};
     }},
    {"tanh", ".f32", tanh_of,
     [](double) {
         return Bound{0x1p-11, 0};
     }},
    {"tanh", ".f16", tanh_of,
     [](double) {
         return Bound{0, std::exp2(-10.987)};
     }},
    {"tanh", ".bf16", tanh_of,
     [](double) {
         return Bound{0, std::exp2(-7.99)};
     }},
    {"lg2", ".f32", [](double a, double) { return std::log2(a); }, of_logarithm},
    {"sin", ".f32", [](double a, double) { return std::sin(a); }, around_the_circle},
    {"cos", ".f32", [](double a, double) { return std::cos(a); }, around_the_circle},
    {"sqrt", ".f32", [](double a, double) { return std::sqrt(a); },
     [](double) {
         return Bound{0x1p-23, 0};
     }},
    {"rsqrt", ".f32", reciprocal_root,
     [](double) {
         return Bound{std::exp2(-22.4), 0};
     }},
    {"rsqrt", ".f64", reciprocal_root,
     [](double) {
         return Bound{0x1p-18, 0};
     }},
    {"rcp", ".f32", one_over,
     [](double) {
         return Bound{ulps(1), 0};
     }},
    {"rcp", ".f64", one_over,
     [](double) {
         return Bound{0x1p-18, 0};
     }},
    {"div", ".f32", quotient,
     [](double) {
         return Bound{ulps(2), 0};
     }},
};

double flushed(const FloatFormat& f, double value) {
    const double smallest = std::ldexp(1, 2 - (1 << (f.exponent_bits - 1)));
    return std::fabs(value) < smallest ? std::copysign(0.0, value) : value;
}

// Whether `bits` may stand for `exact`, of which the type may not have a number.
bool near(const FloatFormat& f, uint64_t bits, double exact, Bound bound, bool ftz) {
    const Float x = float_of(f, bits);
    const bool is_nan = x.kind == Float::Kind::nan;
    if (std::isnan(exact)) return f.name == ".f64" ? is_nan : bits == f.nan;
    if (is_nan) return false;
    const double actual = value_of(f, bits);
    if (exact == 0 || std::isinf(exact))
        return actual == exact && std::signbit(actual) == std::signbit(exact);
    const int lowest = 2 - (1 << (f.exponent_bits - 1));
    // A place of a subnormal number, or all of it.
    const double place = std::ldexp(1, ftz ? lowest : lowest - f.fraction_bits);
    const double slack = std::fabs(exact) * bound.relative + bound.absolute +
                         (std::fabs(exact) < std::ldexp(1, lowest + 1) ? place : 0);
    const double largest = value_of(f, f.largest);
    if (x.kind == Float::Kind::infinite)
        return std::signbit(exact) == x.negative && std::fabs(exact) + slack >= largest;
    return std::fabs(actual - exact) <= slack;
}

// div.approx: of a divisor beyond 2^126 zero, NaN for an infinite dividend; of a subnormal one
// perhaps infinity.
bool near_quotient(const FloatFormat& f, uint64_t bits, double a, double b, Bound bound, bool ftz) {
    const double actual = value_of(f, bits);
    if (std::fabs(b) > 0x1p126 && !std::isinf(b) && !std::isnan(a))
        return std::isinf(a) ? bits == f.nan : actual == 0;
    if (b != 0 && std::fabs(b) < 0x1p-126 && a != 0 && std::isinf(actual)) return true;
    return near(f, bits, a / b, bound, ftz);
}

}  // namespace

Definition approximate_definition(const Spelled& s) {
    if (!s.has(".approx") && !s.has(".full")) return {};
    const TypeName t = s.types.at(0);
    const FloatFormat& f = float_format(t.name);
    const unsigned width = t.width / t.lanes;
    const bool ftz = s.has(".ftz");
    const bool quick = s.opcode == "div" && s.has(".approx");
    const Function* function = nullptr;
    for (const Function& one : functions)
        if (one.opcode == s.opcode && one.type == f.name) function = &one;
    if (function == nullptr) return {};
    return [=, &f](const Sources& x) {
        Results out;
        out.accepts = [=, &f](uint64_t actual) {
            bool good = true;
            for (unsigned at = 0; at < t.width; at += width) {
                // f64 with .ftz: of the upper word alone.
                const bool upper = width == 64 && ftz;
                const uint64_t read = upper ? ~uint64_t{0} << 32 : ~uint64_t{0};
                double a = value_of(f, lower(x.value[0] >> at, width) & read);
                double b = value_of(f, lower(x.value[1] >> at, width) & read);
                if (ftz) a = flushed(f, a), b = flushed(f, b);
                const uint64_t bits = lower(actual >> at, width);
                const Bound bound = function->bound(a);
                good = good && (quick ? near_quotient(f, bits, a, b, bound, ftz)
                                      : near(f, bits, function->of(a, b), bound, ftz));
            }
            return good;
        };
        return out;
    };
}

}  // namespace lockwarp::exec
