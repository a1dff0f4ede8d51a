// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/exact.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockwarp::exec {

Whole::Whole(uint64_t value) {  // NOLINT: the words above size_ need no value
    word_[0] = static_cast<uint32_t>(value);
    word_[1] = static_cast<uint32_t>(value >> 32);
    size_ = 2;
    trim();
}

// Of the words only those that count.
Whole& Whole::operator=(const Whole& other) {
    if (this == &other) return *this;
    size_ = other.size_;
    std::copy_n(other.word_.begin(), size_, word_.begin());
    return *this;
}

void Whole::trim() {
    while (size_ > 0 && word_[size_ - 1] == 0) --size_;
}

int Whole::bit_length() const {
    return size_ == 0 ? 0 : 32 * size_ - std::countl_zero(word_[size_ - 1]);
}

uint64_t Whole::low() const {
    uint64_t value = size_ > 0 ? word_[0] : 0;
    if (size_ > 1) value |= uint64_t{word_[1]} << 32;
    return value;
}

Whole Whole::shifted_left(int by) const {
    if (by < 0) return shifted_right(-by);
    Whole out;
    if (size_ == 0) return out;
    const int words = by / 32;
    const int bits = by % 32;
    out.size_ = size_ + words + 1;
    EXPECT_LE(out.size_, static_cast<int>(word_.size()));
    std::fill_n(out.word_.begin(), words, 0);
    uint64_t carry = 0;
    for (int i = 0; i < size_; ++i) {
        carry |= uint64_t{word_[i]} << bits;
        out.word_[i + words] = static_cast<uint32_t>(carry);
        carry >>= 32;
    }
    out.word_[out.size_ - 1] = static_cast<uint32_t>(carry);
    out.trim();
    return out;
}

Whole Whole::shifted_right(int by) const {
    if (by < 0) return shifted_left(-by);
    Whole out;
    const int words = by / 32;
    const int bits = by % 32;
    for (int i = words; i < size_; ++i) {
        const uint64_t above = i + 1 < size_ ? word_[i + 1] : 0;
        out.word_[i - words] = static_cast<uint32_t>((above << 32 | word_[i]) >> bits);
    }
    out.size_ = std::max(0, size_ - words);
    out.trim();
    return out;
}

Whole Whole::low_bits(int count) const {
    return bit_length() <= count ? *this : *this - shifted_right(count).shifted_left(count);
}

Whole operator+(const Whole& a, const Whole& b) {
    Whole out;
    const int size = std::max(a.size_, b.size_) + 1;
    uint64_t carry = 0;
    for (int i = 0; i < size; ++i) {
        carry += i < a.size_ ? a.word_[i] : 0;
        carry += i < b.size_ ? b.word_[i] : 0;
        out.word_[i] = static_cast<uint32_t>(carry);
        carry >>= 32;
    }
    out.size_ = size;
    out.trim();
    return out;
}

Whole operator-(const Whole& a, const Whole& b) {
    EXPECT_GE(compare(a, b), 0);
    Whole out;
    int64_t borrow = 0;
    for (int i = 0; i < a.size_; ++i) {
        borrow += a.word_[i];
        borrow -= i < b.size_ ? b.word_[i] : 0;
        out.word_[i] = static_cast<uint32_t>(borrow);
        borrow >>= 32;
    }
    out.size_ = a.size_;
    out.trim();
    return out;
}

Whole operator*(const Whole& a, const Whole& b) {
    Whole out;
    std::fill_n(out.word_.begin(), a.size_ + b.size_, 0);
    for (int i = 0; i < a.size_; ++i) {
        uint64_t carry = 0;
        for (int j = 0; j < b.size_; ++j) {
            carry += uint64_t{a.word_[i]} * b.word_[j] + out.word_[i + j];
            out.word_[i + j] = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
        out.word_[i + b.size_] = static_cast<uint32_t>(carry);
    }
    out.size_ = a.size_ + b.size_;
    out.trim();
    return out;
}

int compare(const Whole& a, const Whole& b) {
    if (a.size_ != b.size_) return a.size_ < b.size_ ? -1 : 1;
    for (int i = a.size_; i-- > 0;)
        if (a.word_[i] != b.word_[i]) return a.word_[i] < b.word_[i] ? -1 : 1;
    return 0;
}

namespace {

// IEEE 754, and OCP's 8-bit formats. The NaNs are those that an H200 gives.
constexpr FloatFormat formats[] = {
    {".f16", 5, 10, 0, 0x7fff, 0x7bff, true},
    {".bf16", 8, 7, 0, 0x7fff, 0x7f7f, true},
    {".tf32", 8, 10, 13, 0x7fffe000, 0x7f7fe000, true},
    {".f32", 8, 23, 0, 0x7fffffff, 0x7f7fffff, true},
    {".f64", 11, 52, 0, 0xfff8000000000000, 0x7fefffffffffffff, true},
    {".e4m3", 4, 3, 0, 0x7f, 0x7e, false},
    {".e5m2", 5, 2, 0, 0x7f, 0x7b, true},
};

int lowest_exponent(const FloatFormat& f) { return 2 - (1 << (f.exponent_bits - 1)); }

// Whether the part below the last place that stays makes that place one more. `beside_half`: the
// part compared with a half.
bool goes_up(Towards towards, bool negative, bool odd, bool exact, int beside_half) {
    switch (towards) {
        case Towards::nearest:
            return beside_half > 0 || (beside_half == 0 && odd);
        case Towards::nearest_away:
            return beside_half >= 0;
        case Towards::below:
            return negative && !exact;
        case Towards::above:
            return !negative && !exact;
        default:
            return false;
    }
}

struct Division {
    uint64_t quotient;
    bool exact;
    int beside_half;
};

// numerator/denominator, where the quotient has less than 60 bits.
Division divide(const Whole& numerator, const Whole& denominator) {
    Division out{0, false, 0};
    Whole rest = numerator;
    for (int bit = 60; bit-- > 0;) {
        if (denominator.bit_length() + bit > rest.bit_length()) continue;
        const Whole part = denominator.shifted_left(bit);
        if (compare(rest, part) < 0) continue;
        rest = rest - part;
        out.quotient |= uint64_t{1} << bit;
    }
    out.exact = rest.is_zero();
    out.beside_half = compare(rest.shifted_left(1), denominator);
    return out;
}

// numerator / 2^by.
Division drop(const Whole& numerator, int by) {
    if (by <= 0) return {numerator.shifted_left(-by).low(), true, -1};
    const Whole rest = numerator.low_bits(by);
    return {numerator.shifted_right(by).low(), rest.is_zero(),
            compare(rest, Whole(1).shifted_left(by - 1))};
}

}  // namespace

const FloatFormat& float_format(std::string_view type) {
    if (type.ends_with("x2")) type.remove_suffix(2);
    for (const FloatFormat& f : formats)
        if (f.name == type) return f;
    ADD_FAILURE() << "no format " << type;
    return formats[0];
}

uint64_t sign_of(const FloatFormat& f) {
    return uint64_t{1} << (f.exponent_bits + f.fraction_bits + f.low_zeros);
}

uint64_t infinity_of(const FloatFormat& f, bool negative) {
    const uint64_t ones = (uint64_t{1} << f.exponent_bits) - 1;
    return ones << (f.fraction_bits + f.low_zeros) | (negative ? sign_of(f) : 0);
}

Float float_of(const FloatFormat& f, uint64_t bits) {
    Float out;
    out.negative = (bits & sign_of(f)) != 0;
    const uint64_t magnitude = (bits & (sign_of(f) - 1)) >> f.low_zeros << f.low_zeros;
    if (magnitude > f.largest) {
        const bool infinite = f.has_infinity && magnitude == infinity_of(f, false);
        out.kind = infinite ? Float::Kind::infinite : Float::Kind::nan;
        return out;
    }
    const uint64_t digits = magnitude >> f.low_zeros;
    const uint64_t field = digits >> f.fraction_bits;
    const uint64_t fraction = digits - (field << f.fraction_bits);
    if (field == 0) {
        out.magnitude = fraction;
        out.exponent = lowest_exponent(f) - f.fraction_bits;
    } else {
        out.magnitude = fraction + (uint64_t{1} << f.fraction_bits);
        out.exponent = lowest_exponent(f) - f.fraction_bits + static_cast<int>(field) - 1;
    }
    return out;
}

uint64_t rounded(const FloatFormat& f, RoundingRule rule, bool negative, const Whole& numerator,
                 int exponent, const Whole& denominator) {
    const uint64_t sign = negative ? sign_of(f) : 0;
    if (numerator.is_zero()) return sign;
    // 2^top <= value < 2^(top + 1)
    const int longer = numerator.bit_length() - denominator.bit_length();
    const bool less = longer >= 0 ? compare(numerator, denominator.shifted_left(longer)) < 0
                                  : compare(numerator.shifted_left(-longer), denominator) < 0;
    const int top = exponent + longer - (less ? 1 : 0);
    const int lowest = lowest_exponent(f);
    // The exponent of the last place.
    const int unit = (rule.flush ? top : std::max(top, lowest)) - f.fraction_bits;
    const int up = exponent - unit;
    const Division d = compare(denominator, 1) == 0
                           ? drop(numerator, -up)
                           : divide(up > 0 ? numerator.shifted_left(up) : numerator,
                                    up < 0 ? denominator.shifted_left(-up) : denominator);
    const bool odd = (d.quotient & 1) != 0;
    const uint64_t places =
        d.quotient + goes_up(rule.towards, negative, odd, d.exact, d.beside_half);
    const uint64_t hidden = uint64_t{1} << f.fraction_bits;
    // A carry to 2^(fraction_bits + 1) is the next power of two.
    const bool carried = places == 2 * hidden;
    const int power = unit + f.fraction_bits + (carried ? 1 : 0);
    const uint64_t normal_places = carried ? hidden : places;
    if (rule.flush && power < lowest) return sign;
    uint64_t digits = places;  // of a subnormal number, or of the smallest normal one
    if (normal_places >= hidden)
        digits = (static_cast<uint64_t>(power - lowest + 1) << f.fraction_bits) +
                 (normal_places - hidden);
    const uint64_t magnitude = digits << f.low_zeros;
    if (magnitude <= f.largest) return sign | magnitude;
    const bool away = rule.towards == Towards::nearest || rule.towards == Towards::nearest_away ||
                      rule.towards == (negative ? Towards::below : Towards::above);
    if (rule.saturate || !away) return sign | f.largest;
    return f.has_infinity ? infinity_of(f, negative) : f.nan;
}

Whole rounded_to_whole(Towards towards, bool negative, const Whole& numerator, int exponent) {
    if (exponent >= 0) return numerator.shifted_left(exponent);
    const Whole rest = numerator.low_bits(-exponent);
    const Whole whole = numerator.shifted_right(-exponent);
    const int beside_half = compare(rest, Whole(1).shifted_left(-exponent - 1));
    const bool up = goes_up(towards, negative, (whole.low() & 1) != 0, rest.is_zero(), beside_half);
    return up ? whole + Whole(1) : whole;
}

double value_of(const FloatFormat& f, uint64_t bits) {
    const Float x = float_of(f, bits);
    if (x.kind == Float::Kind::nan) return std::nan("");
    const double magnitude = x.kind == Float::Kind::infinite
                                 ? HUGE_VAL
                                 : std::ldexp(static_cast<double>(x.magnitude.low()), x.exponent);
    return x.negative ? -magnitude : magnitude;
}

}  // namespace lockwarp::exec
