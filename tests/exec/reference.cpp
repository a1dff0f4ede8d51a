// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/reference.hpp"

#include <algorithm>
#include <climits>
#include <cmath>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// Elements [from, from + how.block) of a and b, and c. A product's exponent is the sum of its
// factors' exponents.
double block_sum(Block how, const std::vector<double>& a, const std::vector<double>& b, size_t from,
                 double c) {
    const size_t to = std::min(from + how.block, a.size());
    int largest = c == 0 ? INT_MIN : std::ilogb(c);
    for (size_t i = from; i < to; ++i)
        if (a[i] != 0 && b[i] != 0)
            largest = std::max(largest, std::ilogb(a[i]) + std::ilogb(b[i]));
    if (largest == INT_MIN) return 0;
    const double unit = std::ldexp(1, largest - how.kept);
    double sum = std::trunc(c / unit);
    for (size_t i = from; i < to; ++i) sum += std::trunc(a[i] * b[i] / unit);
    return sum * unit;
}

float toward_zero(double value) {
    const auto nearest = static_cast<float>(value);
    return std::fabs(nearest) > std::fabs(value) ? std::nextafter(nearest, 0.0f) : nearest;
}

}  // namespace

Block f16_block(isa::Arch arch) {
    const unsigned number = isa::row(arch).number;
    return number < 75 ? Block{4, 23} : number < 90 ? Block{8, 24} : Block{16, 25};
}

float dot_f32(Block how, const std::vector<double>& a, const std::vector<double>& b, double c) {
    auto sum = static_cast<float>(c);
    for (size_t from = 0; from < a.size(); from += how.block)
        sum = toward_zero(block_sum(how, a, b, from, sum));
    return sum;
}

double dot_f16(Block how, const std::vector<double>& a, const std::vector<double>& b, double c) {
    for (size_t from = 0; from < a.size(); from += how.block)
        c = value_of_f16(f16_of(block_sum(how, a, b, from, c)));
    return c;
}

}  // namespace lockwarp::exec
