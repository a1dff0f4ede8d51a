// SPDX-License-Identifier: Apache-2.0
// Numbers without rounding, and one rounding of them to a format: the arithmetic of the scalar
// instructions' definitions. Large integers and textbook division, apart from emu/num, of which
// nothing is used here.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockwarp::exec {

// A whole number of up to 5120 bits: enough for a*b + c of any f64 values.
class Whole {
  public:
    Whole(uint64_t value = 0);  // NOLINT: a number is one of these
    Whole(const Whole& other) { *this = other; }
    Whole& operator=(const Whole& other);
    int bit_length() const;
    bool is_zero() const { return size_ == 0; }
    uint64_t low() const;  // the lower 64 bits
    Whole shifted_left(int by) const;
    Whole shifted_right(int by) const;  // toward zero
    Whole low_bits(int count) const;

    friend Whole operator+(const Whole& a, const Whole& b);
    friend Whole operator-(const Whole& a, const Whole& b);  // a >= b
    friend Whole operator*(const Whole& a, const Whole& b);
    friend int compare(const Whole& a, const Whole& b);  // below, at or above 0

  private:
    void trim();
    std::array<uint32_t, 160> word_;  // lowest first; only `size_` of them count
    int size_ = 0;
};

struct FloatFormat {
    std::string_view name;  // ".f16"
    int exponent_bits;
    int fraction_bits;
    int low_zeros;     // below the fraction, not part of the value
    uint64_t nan;      // that results are
    uint64_t largest;  // finite magnitude
    bool has_infinity;
};

// The format of ".f16", or of an element of ".f16x2". Fails the test where there is none.
const FloatFormat& float_format(std::string_view type);

enum class Towards : uint8_t { nearest, zero, below, above, nearest_away };

struct RoundingRule {
    Towards towards = Towards::nearest;
    bool flush = false;     // subnormal results become zeros
    bool saturate = false;  // what is beyond the largest number becomes that
};

// A value taken apart.
struct Float {
    enum class Kind : uint8_t { finite, infinite, nan } kind = Kind::finite;
    bool negative = false;
    Whole magnitude;  // times 2^exponent
    int exponent = 0;
    bool zero() const { return kind == Kind::finite && magnitude.is_zero(); }
};

Float float_of(const FloatFormat& f, uint64_t bits);
uint64_t sign_of(const FloatFormat& f);  // the bit
uint64_t infinity_of(const FloatFormat& f, bool negative);

// (-1)^negative * numerator/denominator * 2^exponent, rounded once. A numerator of 0 gives zero.
uint64_t rounded(const FloatFormat& f, RoundingRule rule, bool negative, const Whole& numerator,
                 int exponent, const Whole& denominator = 1);

// The same, rounded to a whole number instead.
Whole rounded_to_whole(Towards towards, bool negative, const Whole& numerator, int exponent);

// As a double, for comparison with an approximation: exact but for numbers beyond its range.
double value_of(const FloatFormat& f, uint64_t bits);

}  // namespace lockwarp::exec
