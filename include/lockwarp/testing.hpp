// SPDX-License-Identifier: Apache-2.0
// GoogleTest assertions that compare arrays bit by bit: no tolerance, NaN by its payload, -0 apart
// from +0. A comparison of no elements fails.
//
//   EXPECT_SAME_BITS(expected, actual);                        float, double or integers
//   EXPECT_SAME_BITS_AS("f16", expected, actual);              of a PTX type
//   EXPECT_SAME_MATRIX_BITS("bf16", 8, expected, actual);      8 columns, row-major
//
// and ASSERT_ in place of EXPECT_. `expected` and `actual` are arrays, std::array, std::vector or
// std::span of trivially copyable elements; with a PTX type only their bytes count, little-endian
// and packed. A type is one of 8 to 64 bits that holds one number: "f16", "bf16", "tf32", "f32",
// "f64", "e4m3", "e5m2", "s8" to "s64", "u8" to "u64", "b8" to "b64".
//
// A failure counts the wrong elements and shows the first: its index (and row and column), both
// sides as bits and as a value. Needs lockwarp::emu and GoogleTest 1.10 or later.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "emu/isa/types.hpp"
#include "emu/num/ieee.hpp"

namespace lockwarp::testing {

// The type of that name, where its arrays can be compared; else Type::none.
inline isa::Type element_type(std::string_view name) {
    for (const isa::TypeRow& row : isa::type_rows) {
        const bool whole_bytes = row.bits >= 8 && row.bits <= 64 && row.bits % 8 == 0;
        const bool readable = !isa::is_float(row.type) || num::has_format(row.type);
        if (whole_bytes && row.lanes == 1 && readable && row.name.substr(1) == name)
            return row.type;
    }
    return isa::Type::none;
}

// The PTX type of a C++ element.
template <typename T>
constexpr std::string_view type_name_of() {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                  "EXPECT_SAME_BITS takes float, double and integers; for other elements name the "
                  "PTX type: EXPECT_SAME_BITS_AS(\"f16\", expected, actual)");
    constexpr std::string_view signed_names[] = {"s8", "s16", "s32", "s64"};
    constexpr std::string_view unsigned_names[] = {"u8", "u16", "u32", "u64"};
    if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? "f32" : "f64";
    else
        return (std::is_signed_v<T> ? signed_names : unsigned_names)[std::countr_zero(sizeof(T))];
}

inline uint64_t element_bits(std::span<const std::byte> bytes, size_t size, size_t index) {
    uint64_t out = 0;
    std::memcpy(&out, bytes.data() + index * size, size);
    return out;
}

// "0x3c00 (1)": the bits, and the value where the type has one.
inline std::string element_text(isa::Type type, uint64_t bits) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "0x";
    for (unsigned at = isa::bits(type); at != 0; at -= 4) out += digits[(bits >> (at - 4)) & 15];
    char text[64];
    char* end = text;
    if (isa::is_float(type)) {
        const auto value =
            std::bit_cast<double>(num::convert(type, isa::Type::f64, bits, isa::Rounding::rn));
        end = isa::bits(type) <= 32
                  ? std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr
                  : std::to_chars(text, text + sizeof text, value).ptr;
    } else if (isa::is_signed(type)) {
        const unsigned unused = 64 - isa::bits(type);
        const int64_t value = static_cast<int64_t>(bits << unused) >> unused;
        end = std::to_chars(text, text + sizeof text, value).ptr;
    } else if (isa::row(type).kind == isa::Kind::unsigned_int) {
        end = std::to_chars(text, text + sizeof text, bits).ptr;
    }
    if (end != text) out.append(" (").append(text, end).append(")");
    return out;
}

// "[1][3] (element 11)", or "element 11" of an array.
inline std::string place_text(size_t index, size_t columns) {
    std::string out;
    if (columns != 0) {
        out.append("[").append(std::to_string(index / columns)).append("][");
        out.append(std::to_string(index % columns)).append("] (");
    }
    out.append("element ").append(std::to_string(index));
    return columns == 0 ? out : out.append(")");
}

// Predicate-formatters for EXPECT_PRED_FORMAT2: what the source calls the two sides, then the
// sides.
struct SameBitsAs {
    std::string_view type_name;
    size_t columns = 0;  // of a row-major matrix; 0: an array, which has no rows

    template <typename Expected, typename Actual>
    ::testing::AssertionResult operator()(const char* expected_text, const char* actual_text,
                                          const Expected& expected, const Actual& actual) const {
        return compare(expected_text, actual_text, std::as_bytes(std::span(expected)),
                       std::as_bytes(std::span(actual)));
    }

    ::testing::AssertionResult compare(const char* expected_text, const char* actual_text,
                                       std::span<const std::byte> expected,
                                       std::span<const std::byte> actual) const;
};

// The elements of both are of one C++ type.
template <typename Expected, typename Actual>
::testing::AssertionResult same_bits(const char* expected_text, const char* actual_text,
                                     const Expected& expected, const Actual& actual) {
    using Element = typename decltype(std::span(expected))::value_type;
    static_assert(std::same_as<Element, typename decltype(std::span(actual))::value_type>,
                  "the two sides have elements of different types");
    return SameBitsAs{type_name_of<Element>()}(expected_text, actual_text, expected, actual);
}

inline ::testing::AssertionResult SameBitsAs::compare(const char* expected_text,
                                                      const char* actual_text,
                                                      std::span<const std::byte> expected,
                                                      std::span<const std::byte> actual) const {
    const isa::Type type = element_type(type_name);
    auto failure = ::testing::AssertionFailure();
    if (type == isa::Type::none)
        return failure << "'" << type_name << "' is not a type whose arrays can be compared";
    if (expected.size() != actual.size())
        return failure << expected_text << " has " << expected.size() << " bytes, " << actual_text
                       << " has " << actual.size();
    if (expected.empty())
        return failure << expected_text << " and " << actual_text
                       << " are empty: nothing was compared";
    const size_t size = isa::bits(type) / 8;
    if (expected.size() % (size * (columns == 0 ? 1 : columns)) != 0)
        return failure << expected.size() << " bytes are not whole "
                       << (columns == 0 ? "elements" : "rows") << " of " << type_name;
    const size_t count = expected.size() / size;
    size_t wrong = 0;
    size_t first = 0;
    for (size_t i = count; i-- > 0;)
        if (element_bits(expected, size, i) != element_bits(actual, size, i)) {
            ++wrong;
            first = i;
        }
    if (wrong == 0) return ::testing::AssertionSuccess();
    return failure << actual_text << " differs from " << expected_text << " in " << wrong << " of "
                   << count << " elements of " << type_name << ", first in "
                   << place_text(first, columns) << ":\n  expected "
                   << element_text(type, element_bits(expected, size, first)) << "\n  actual   "
                   << element_text(type, element_bits(actual, size, first));
}

}  // namespace lockwarp::testing

#define EXPECT_SAME_BITS(expected, actual) \
    EXPECT_PRED_FORMAT2(::lockwarp::testing::same_bits, expected, actual)
#define ASSERT_SAME_BITS(expected, actual) \
    ASSERT_PRED_FORMAT2(::lockwarp::testing::same_bits, expected, actual)

#define EXPECT_SAME_BITS_AS(type, expected, actual) \
    EXPECT_PRED_FORMAT2((::lockwarp::testing::SameBitsAs{type}), expected, actual)
#define ASSERT_SAME_BITS_AS(type, expected, actual) \
    ASSERT_PRED_FORMAT2((::lockwarp::testing::SameBitsAs{type}), expected, actual)

#define EXPECT_SAME_MATRIX_BITS(type, columns, expected, actual) \
    EXPECT_PRED_FORMAT2((::lockwarp::testing::SameBitsAs{type, columns}), expected, actual)
#define ASSERT_SAME_MATRIX_BITS(type, columns, expected, actual) \
    ASSERT_PRED_FORMAT2((::lockwarp::testing::SameBitsAs{type, columns}), expected, actual)
