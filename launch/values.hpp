// SPDX-License-Identifier: Apache-2.0
// Numbers as the launch file and the user write them, and as bits of a PTX type.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/types.hpp"

namespace lockwarp::launch {

// A type by its name without the dot ("f16", "s8", "b32"), of 8 to 64 bits and one element; none
// for any other name.
isa::Type value_type(std::string_view name);

// The names value_type takes.
std::vector<std::string_view> value_types();

// The same for messages.
std::string value_type_names();

// The nearest value of the type to a number, ties to even; integers are clamped.
uint64_t bits_of(isa::Type type, double value);

// The value of the type's bits; exact for every floating type, rounded for 64-bit integers.
double value_of(isa::Type type, uint64_t bits);

// Element i of packed little-endian values.
uint64_t element(std::span<const uint8_t> bytes, isa::Type type, uint64_t i);
void set_element(std::span<uint8_t> bytes, isa::Type type, uint64_t i, uint64_t value);

// "1.5", "-inf", "nan", "-3", "0x1f": one element as text. decimals < 0: the shortest text that
// reads back as the same value.
std::string text_of(isa::Type type, uint64_t bits, int decimals);

// "0x3c00", as wide as the type.
std::string hex_of(isa::Type type, uint64_t bits);

// The bytes of hexadecimal digits; nullopt where the text is none or has an odd length.
std::optional<std::string> bytes_of_hex(std::string_view text);

}  // namespace lockwarp::launch
