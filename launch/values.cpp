// SPDX-License-Identifier: Apache-2.0
#include "launch/values.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "emu/num/ieee.hpp"

namespace lockwarp::launch {

namespace {

using isa::Kind;
using isa::Type;

bool usable(const isa::TypeRow& r) {
    const bool number = !isa::is_float(r.type) || num::has_format(r.type);
    return r.bits >= 8 && r.bits <= 64 && r.lanes == 1 && number;
}

}  // namespace

Type value_type(std::string_view name) {
    for (const isa::TypeRow& r : isa::type_rows)
        if (usable(r) && r.name.substr(1) == name) return r.type;
    return Type::none;
}

std::vector<std::string_view> value_types() {
    std::vector<std::string_view> out;
    for (const isa::TypeRow& r : isa::type_rows)
        if (usable(r)) out.push_back(r.name.substr(1));
    return out;
}

std::string value_type_names() {
    std::string out;
    for (const std::string_view name : value_types())
        out += (out.empty() ? "" : ", ") + std::string(name);
    return out;
}

uint64_t bits_of(Type type, double value) {
    const auto raw = std::bit_cast<uint64_t>(value);
    if (isa::is_float(type)) return num::convert(Type::f64, type, raw, isa::Rounding::rn);
    return num::to_integer(Type::f64, raw, isa::Rounding::rn, isa::bits(type),
                           isa::is_signed(type));
}

double value_of(Type type, uint64_t bits) {
    if (isa::is_float(type))
        return std::bit_cast<double>(num::convert(type, Type::f64, bits, isa::Rounding::rn));
    const unsigned unused = 64 - isa::bits(type);
    if (isa::is_signed(type))
        return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
    return static_cast<double>(bits);
}

uint64_t element(std::span<const uint8_t> bytes, Type type, uint64_t i) {
    const unsigned width = isa::bits(type) / 8;
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + i * width, width);
    return value;
}

void set_element(std::span<uint8_t> bytes, Type type, uint64_t i, uint64_t value) {
    const unsigned width = isa::bits(type) / 8;
    std::memcpy(bytes.data() + i * width, &value, width);
}

std::string text_of(Type type, uint64_t bits, int decimals) {
    if (isa::row(type).kind == Kind::bits) return hex_of(type, bits);
    if (!isa::is_float(type)) {
        const unsigned unused = 64 - isa::bits(type);
        if (isa::is_signed(type))
            return std::to_string(static_cast<int64_t>(bits << unused) >> unused);
        return std::to_string(bits);
    }
    const double value = value_of(type, bits);
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return std::signbit(value) ? "-inf" : "inf";
    if (decimals >= 0) return fmt::format("{:.{}f}", value, decimals);
    if (isa::bits(type) <= 32) return fmt::format("{}", static_cast<float>(value));
    return fmt::format("{}", value);
}

std::string hex_of(Type type, uint64_t bits) {
    return fmt::format("0x{:0{}x}", bits, isa::bits(type) / 4);
}

std::optional<std::string> bytes_of_hex(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::string out;
    out.reserve(text.size() / 2);
    for (size_t i = 0; i < text.size(); i += 2) {
        unsigned value = 0;
        const auto [end, bad] = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
        if (bad != std::errc() || end != text.data() + i + 2) return std::nullopt;
        out.push_back(static_cast<char>(value));
    }
    return out;
}

}  // namespace lockwarp::launch
