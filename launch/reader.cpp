// SPDX-License-Identifier: Apache-2.0
#include "launch/reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "launch/nearest.hpp"
#include "launch/values.hpp"

namespace lockwarp::launch {

namespace {

constexpr std::string_view comment = "comment";
constexpr size_t max_message = 1000;
constexpr uint64_t max_bytes = uint64_t{1} << 44;

}  // namespace

void Reader::fail(const Json& j, const std::string& field, const std::string& expected) {
    if (wrong) return;
    const auto cut = [](const std::string& text) {
        return shown(text.size() > max_message ? text.substr(0, max_message) + "..." : text);
    };
    const std::string where = field.empty() ? "" : "field '" + cut(field) + "': ";
    wrong = document.at(j.begin) + where + cut(expected);
}

std::string Reader::seen(const Json& j) const {
    constexpr size_t max_shown = 40;
    std::string text = document.text.substr(j.begin, j.end - j.begin);
    if (text.size() > max_shown) {
        size_t cut = max_shown - 3;
        // Not within a character of UTF-8.
        while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
        text = text.substr(0, cut) + "...";
    }
    return text;
}

bool Reader::object(const Json& j, const std::string& field,
                    std::initializer_list<std::string_view> names) {
    if (!j.is(JsonKind::object)) {
        fail(j, field, "an object is expected, not " + seen(j));
        return false;
    }
    for (const Json::Key& key : j.keys()) {
        if (key.name == comment || std::ranges::find(names, key.name) != names.end()) continue;
        std::string known = suggestion(key.name, std::span(names.begin(), names.size()));
        if (known.empty()) {
            for (const std::string_view n : names)
                known += (known.empty() ? "; known here: " : ", ") + std::string(n);
        }
        Json at;
        at.begin = key.begin;
        fail(at, field.empty() ? key.name : field + "." + key.name, "is not known" + known);
    }
    return true;
}

size_t Reader::members(const Json& j) {
    return static_cast<size_t>(
        std::ranges::count_if(j.keys(), [](const Json::Key& key) { return key.name != comment; }));
}

uint64_t Reader::integer(const Json& j, const std::string& field, uint64_t max) {
    if (j.is(JsonKind::natural) && j.natural <= max) return j.natural;
    fail(j, field,
         "a whole number from 0 to " + std::to_string(max) + " is expected, not " + seen(j));
    return 0;
}

uint64_t Reader::bytes(const Json& j, const std::string& field) {
    return integer(j, field, max_bytes);
}

double Reader::number(const Json& j, const std::string& field) {
    if (j.is_number()) return j.number();
    fail(j, field, "a number is expected, not " + seen(j));
    return 0;
}

bool Reader::truth(const Json& j, const std::string& field) {
    if (!j.is(JsonKind::boolean)) fail(j, field, "true or false is expected, not " + seen(j));
    return j.is(JsonKind::boolean) && j.natural != 0;
}

std::string Reader::text(const Json& j, const std::string& field) {
    if (!j.is(JsonKind::text)) {
        fail(j, field, "a text is expected, not " + seen(j));
        return {};
    }
    if (std::ranges::any_of(j.text(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
        fail(j, field, "a text without control characters is expected, not " + seen(j));
    return j.text();
}

std::string Reader::hex(const Json& j, const std::string& field) {
    const std::optional<std::string> decoded = bytes_of_hex(text(j, field));
    if (!decoded) fail(j, field, "an even number of hexadecimal digits is expected");
    return decoded.value_or("");
}

isa::Type Reader::type(const Json& j, const std::string& field) {
    const std::string name = text(j, field);
    const isa::Type t = value_type(name);
    if (t == isa::Type::none)
        fail(j, field, "'" + name + "' is not a type; one of " + value_type_names());
    return t;
}

warp::Dim3 Reader::dims(const Json& j, const std::string& field) {
    warp::Dim3 d;
    if (!j.is(JsonKind::list) || j.items().empty() || j.items().size() > 3) {
        fail(j, field, "[x, y, z] is expected, not " + seen(j));
        return d;
    }
    const std::array<uint32_t*, 3> at{&d.x, &d.y, &d.z};
    for (size_t i = 0; i < j.items().size(); ++i)
        *at[i] = static_cast<uint32_t>(integer(j.items()[i], field, UINT32_MAX));
    return d;
}

uint64_t Reader::offset_key(const Json& at, const std::string& key, const std::string& field) {
    uint64_t value = 0;
    const auto [end, bad] = std::from_chars(key.data(), key.data() + key.size(), value);
    if (bad != std::errc() || end != key.data() + key.size() || value > max_bytes)
        fail(at, field, "the key must be a byte offset");
    return value;
}

uint64_t Reader::scalar(const Json& j, isa::Type type, const std::string& field) {
    const unsigned width = isa::bits(type);
    const auto none = [&](const std::string& expected) {
        fail(j, field, expected + " is expected, not " + seen(j));
        return uint64_t{0};
    };
    if (j.is(JsonKind::text)) {
        const std::string& s = j.text();
        if (isa::is_float(type)) {
            if (s == "nan") return bits_of(type, std::nan(""));
            if (s == "inf") return bits_of(type, HUGE_VAL);
            if (s == "-inf") return bits_of(type, -HUGE_VAL);
        }
        if (s.starts_with("0x") && s.size() > 2 && s.size() <= 2 + width / 4 &&
            s.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos)
            return std::stoull(s.substr(2), nullptr, 16);
        return none("a number, or a text of at most " + std::to_string(width / 4) +
                    " hexadecimal digits after 0x,");
    }
    if (isa::is_float(type)) {
        const uint64_t bits = bits_of(type, number(j, field));
        if (std::isinf(value_of(type, bits)))
            return none("a number that " + std::string(isa::row(type).name.substr(1)) +
                        " has, or \"inf\",");
        return bits;
    }
    const bool is_signed = isa::is_signed(type);
    const uint64_t mask = UINT64_MAX >> (64 - width);
    const uint64_t max = is_signed ? mask >> 1 : mask;
    if (j.is(JsonKind::natural) && j.natural <= max) return j.natural;
    if (is_signed && j.is(JsonKind::negative) && j.negative >= -static_cast<int64_t>(max) - 1)
        return static_cast<uint64_t>(j.negative) & mask;
    return none("a whole number of type " + std::string(isa::row(type).name.substr(1)));
}

}  // namespace lockwarp::launch
