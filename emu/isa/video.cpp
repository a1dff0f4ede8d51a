// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/video.hpp"

namespace lockwarp::isa {

namespace {

// The digits behind the letter that such elements have; nullopt: another letter, or other digits.
std::optional<std::string_view> digits(std::string_view text, char letter, unsigned count) {
    if (text.size() < 3 || text[0] != '.' || text[1] != letter) return std::nullopt;
    text.remove_prefix(2);
    for (const char c : text)
        if (c < '0' || c >= static_cast<char>('0' + count)) return std::nullopt;
    return text;
}

std::optional<uint16_t> scalar(std::string_view text) {
    if (text.empty()) return uint16_t{0};
    const auto byte = digits(text, 'b', 4);
    if (byte && byte->size() == 1) return static_cast<uint16_t>(1 + (*byte)[0] - '0');
    const auto half = digits(text, 'h', 2);
    if (half && half->size() == 1) return static_cast<uint16_t>(5 + (*half)[0] - '0');
    return std::nullopt;
}

// Each element once, the highest first.
std::optional<uint16_t> mask(std::string_view found) {
    uint16_t out = 0;
    char above = '9';
    for (const char c : found) {
        if (c >= above) return std::nullopt;
        out |= static_cast<uint16_t>(1u << (c - '0'));
        above = c;
    }
    return out;
}

}  // namespace

std::optional<uint16_t> video_select(std::string_view text, unsigned elements, char operand) {
    if (elements == 1) return scalar(text);
    const char letter = elements == 2 ? 'h' : 'b';
    if (operand == 'd') {
        if (text.empty()) return static_cast<uint16_t>((1u << elements) - 1);
        const auto found = digits(text, letter, elements);
        return found ? mask(*found) : std::nullopt;
    }
    uint16_t out = 0;
    if (text.empty()) {
        for (unsigned i = 0; i < elements; ++i)
            out |= static_cast<uint16_t>((operand == 'b' ? elements + i : i) << (4 * i));
        return out;
    }
    const auto found = digits(text, letter, 2 * elements);
    if (!found || found->size() != elements) return std::nullopt;
    if (text == ".b1024") return std::nullopt;  // NVIDIA's assembler reads a type there
    for (const char c : *found) out = static_cast<uint16_t>(out << 4 | (c - '0'));
    return out;
}

}  // namespace lockwarp::isa
