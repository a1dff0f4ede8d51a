// SPDX-License-Identifier: Apache-2.0
#include "tools/report/products.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "emu/num/round.hpp"
#include "launch/values.hpp"

namespace lockwarp::tools {

using launch::Product;

double ulp_at(isa::Type type, double value) {
    if (!isa::is_float(type)) return 1;
    const uint64_t bits = launch::bits_of(type, std::fabs(value));
    const uint64_t step = uint64_t{1} << num::format(type).low_zeros;
    const double at = launch::value_of(type, bits);
    const double above = launch::value_of(type, bits + step);
    if (std::isfinite(above)) return above - at;
    return bits == 0 ? 0 : at - launch::value_of(type, bits - step);
}

namespace {

Eigen::MatrixXd matrix(std::span<const uint8_t> bytes, isa::Type type, uint64_t rows,
                       uint64_t columns) {
    Eigen::MatrixXd out(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
    for (uint64_t i = 0; i < rows; ++i)
        for (uint64_t j = 0; j < columns; ++j)
            out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
                launch::value_of(type, launch::element(bytes, type, i * columns + j));
    return out;
}

Eigen::MatrixXd factor(const Buffers& buffers, const std::string& name, isa::Type type,
                       uint64_t rows, uint64_t columns, bool transposed) {
    if (!transposed) return matrix(buffers.at(name), type, rows, columns);
    return matrix(buffers.at(name), type, columns, rows).transpose();
}

// What one rounding may change, by the magnitude; 0 where sums are exact.
double rounding(const Product& p) {
    constexpr double tf32 = 0x1p-10;
    if (!isa::is_float(p.type_d)) return 0;
    const bool reduced = p.type_a == isa::Type::f32 || p.type_b == isa::Type::f32;
    const double own = ulp_at(p.type_d, 1);
    return reduced ? std::max(own, tf32) : own;
}

void measure(isa::Type type, double got, Beside& b) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const bool same = got == b.exact || (std::isnan(got) && std::isnan(b.exact));
    b.deviation = same ? 0 : std::fabs(got - b.exact);
    if (!std::isfinite(b.deviation)) b.deviation = nan;
    const double unit = ulp_at(type, b.exact);
    b.ulp = b.deviation == 0 ? 0 : b.deviation / unit;
}

// "ulp=4"
bool parse_tolerance(const std::string& text, launch::Tolerance& t) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = text.substr(0, equals);
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, bad] = std::from_chars(text.data() + equals + 1, last, value);
    if (bad != std::errc() || end != last || !std::isfinite(value) || value < 0) return false;
    std::optional<double>* const bound = name == "ulp"        ? &t.ulp
                                         : name == "absolute" ? &t.absolute
                                         : name == "relative" ? &t.relative
                                                              : nullptr;
    if (bound != nullptr) *bound = value;
    return bound != nullptr;
}

// "D=A*B'"
bool parse_names(const std::string& text, Product& p) {
    const size_t equals = text.find('=');
    const size_t star = text.find('*');
    if (equals == std::string::npos || star == std::string::npos || star < equals) return false;
    p.d = text.substr(0, equals);
    p.a = text.substr(equals + 1, star - equals - 1);
    p.b = text.substr(star + 1);
    p.a_transposed = p.a.ends_with('\'');
    if (p.a_transposed) p.a.pop_back();
    p.b_transposed = p.b.ends_with('\'');
    if (p.b_transposed) p.b.pop_back();
    return true;
}

}  // namespace

double Beside::magnitude() const {
    return std::isnan(deviation) ? std::numeric_limits<double>::infinity() : deviation;
}

Beside beside(isa::Type type, uint64_t index, uint64_t bits, uint64_t expected) {
    Beside out;
    out.index = index;
    out.bits = bits;
    out.expected = expected;
    out.exact = launch::value_of(type, expected);
    measure(type, launch::value_of(type, bits), out);
    return out;
}

double allowed(const Beside& b, isa::Type type, const launch::Tolerance& t, bool product) {
    if (t.exact()) return product ? b.bound : 0;
    double out = 0;
    if (t.ulp) out = std::max(out, *t.ulp * ulp_at(type, b.exact));
    if (t.absolute) out = std::max(out, *t.absolute);
    if (t.relative) out = std::max(out, *t.relative * std::fabs(b.exact));
    return out;
}

bool is_right(const Beside& b, isa::Type type, const launch::Tolerance& t, bool product) {
    if (t.exact() && !product) return b.bits == b.expected;
    if (t.exact()) return b.deviation <= b.bound;
    if (std::isnan(b.deviation)) return false;
    // Bits without a value have no distance but of their bits.
    if (isa::row(type).kind == isa::Kind::bits && b.bits != b.expected && !t.ulp && !t.absolute)
        return false;
    return (t.ulp && b.ulp <= *t.ulp) || (t.absolute && b.deviation <= *t.absolute) ||
           (t.relative && b.deviation <= *t.relative * std::fabs(b.exact));
}

void each_of_product(const Product& p, const Buffers& before, const Buffers& after,
                     const std::function<void(const Beside&)>& f) {
    const Eigen::MatrixXd a = factor(before, p.a, p.type_a, p.m, p.k, p.a_transposed);
    const Eigen::MatrixXd b = factor(before, p.b, p.type_b, p.k, p.n, p.b_transposed);
    Eigen::MatrixXd exact = a * b;
    Eigen::MatrixXd sums = a.cwiseAbs() * b.cwiseAbs();
    if (!p.c.empty()) {
        const Eigen::MatrixXd c = matrix(before.at(p.c), p.type_c, p.m, p.n);
        exact += c;
        sums += c.cwiseAbs();
    }
    const double share = 4 * std::sqrt(static_cast<double>(p.k)) * rounding(p);
    const std::span<const uint8_t> d = after.at(p.d);
    for (uint64_t i = 0; i < p.m; ++i)
        for (uint64_t j = 0; j < p.n; ++j) {
            const auto row = static_cast<Eigen::Index>(i), column = static_cast<Eigen::Index>(j);
            Beside one;
            one.index = i * p.n + j;
            one.bits = launch::element(d, p.type_d, one.index);
            one.exact = exact(row, column);
            one.expected = launch::bits_of(p.type_d, one.exact);
            measure(p.type_d, launch::value_of(p.type_d, one.bits), one);
            if (isa::is_float(p.type_d))
                one.bound = share * sums(row, column) + ulp_at(p.type_d, one.exact);
            // What overflows D's type is right as infinity.
            if (std::isnan(one.deviation) && one.bits == one.expected) one.deviation = one.ulp = 0;
            f(one);
        }
}

std::string formula(const Product& p) {
    return p.d + " = " + p.a + (p.a_transposed ? "'" : "") + "*" + p.b +
           (p.b_transposed ? "'" : "") + (p.c.empty() ? "" : " + " + p.c);
}

launch::Result<launch::Expectation> parse_product(const std::string& text) {
    Product p;
    const std::string form =
        "--product " + text +
        ": D=A*B:MxNxK:AB_TYPE:D_TYPE[:ulp=N|absolute=X|relative=X] is expected (A' for A stored "
        "K x M, B' for B stored N x K)";
    const std::vector<std::string> parts = split(text, ':');
    launch::Expectation out;
    if (parts.size() < 4 || parts.size() > 5 || !parse_names(parts[0], p))
        return launch::failure(form);
    p.type_a = p.type_b = launch::value_type(parts[2]);
    p.type_c = p.type_d = launch::value_type(parts[3]);
    if (!parse_sizes(parts[1], {&p.m, &p.n, &p.k}) || p.type_a == isa::Type::none ||
        p.type_d == isa::Type::none)
        return launch::failure(form);
    if (parts.size() == 5 && !parse_tolerance(parts[4], out.tolerance))
        return launch::failure(form);
    out.name = p.d;
    out.type = p.type_d;
    out.product = std::move(p);
    return out;
}

launch::Result<void> check_product(const std::string& option, const Product& p,
                                   const Buffers& buffers) {
    for (launch::Result<void> held : {check_matrix(option, p.a, p.type_a, p.m, p.k, buffers),
                                      check_matrix(option, p.b, p.type_b, p.k, p.n, buffers),
                                      check_matrix(option, p.d, p.type_d, p.m, p.n, buffers)})
        if (!held) return held;
    if (!p.c.empty()) return check_matrix(option, p.c, p.type_c, p.m, p.n, buffers);
    return {};
}

bool product_report(const launch::Expectation& request, const Buffers& before, const Buffers& after,
                    std::string& out) {
    const Product& p = *request.product;
    std::optional<Beside> worst;  // of the finite ones
    uint64_t not_numbers = 0, wrong = 0;
    each_of_product(p, before, after, [&](const Beside& b) {
        if (!is_right(b, p.type_d, request.tolerance, true)) ++wrong;
        if (std::isnan(b.deviation))
            ++not_numbers;
        else if (!worst || b.deviation > worst->deviation)
            worst = b;
    });
    const std::string name = formula(p);
    const uint64_t values = p.m * p.n;
    if (!worst)
        out += fmt::format("{}: no element is a finite number\n", name);
    else
        out += fmt::format(
            "{}: largest deviation from the exact product {:.6g} ({:.3f} ulp of {}) at "
            "{}[{}][{}]:\n  {:.10g}, exact {:.10g}\n",
            name, worst->deviation, worst->ulp, isa::row(p.type_d).name.substr(1), p.d,
            worst->index / p.n, worst->index % p.n, launch::value_of(p.type_d, worst->bits),
            worst->exact);
    if (worst && not_numbers != 0)
        out += fmt::format("  {} elements are not finite\n", not_numbers);
    if (wrong != 0)
        out += fmt::format("DIFFERS: {} of {} values are beyond the tolerance{}\n", wrong, values,
                           request.tolerance.exact() ? " for products of these types" : "");
    return wrong == 0;
}

}  // namespace lockwarp::tools
