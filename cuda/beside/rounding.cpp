// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/rounding.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::beside {

namespace {

constexpr std::array<std::string_view, 3> opcodes{"add", "sub", "mul"};
constexpr std::array<std::string_view, 7> types{"f16",   "f16x2", "bf16", "bf16x2",
                                                "f32x2", "f32",   "f64"};
constexpr std::array<std::string_view, 4> roundings{"rn", "rz", "rm", "rp"};

bool has(const auto& table, std::string_view word) {
    return std::ranges::find(table, word) != table.end();
}

// "mul.ftz.f32": an opcode with modifiers, of floating point and without a rounding.
bool may_be_fused(std::string_view word) {
    const size_t dot = word.find('.');
    if (dot == std::string_view::npos || !has(opcodes, word.substr(0, dot))) return false;
    bool is_float = false;
    for (size_t at = dot + 1; at <= word.size();) {
        const size_t end = std::min(word.find('.', at), word.size());
        const std::string_view modifier = word.substr(at, end - at);
        if (has(roundings, modifier)) return false;
        is_float = is_float || has(types, modifier);
        at = end + 1;
    }
    return is_float;
}

// Of a text without comments: the end of the block that begins behind `at`.
size_t end_of_block(std::string_view text, size_t at) {
    int depth = 0;
    for (at = text.find_first_of("{;", at); at < text.size(); ++at) {
        if (text[at] == ';' && depth == 0) return at;  // a declaration
        if (text[at] == '{') ++depth;
        if (text[at] == '}' && --depth == 0) return at + 1;
    }
    return text.size();
}

}  // namespace

std::string code_of(std::string_view text, std::string_view kernel) {
    std::string out;
    for (size_t at = 0; (at = text.find('.', at)) != std::string_view::npos; ++at) {
        const bool is_entry = text.substr(at).starts_with(".entry ");
        if (!is_entry && !text.substr(at).starts_with(".func")) continue;
        const size_t end = end_of_block(text, at);
        const std::string_view code = text.substr(at, end - at);
        const std::string_view name = code.substr(0, code.find_first_of("({"));
        const bool has_body = code.find('{') != std::string_view::npos;
        if (has_body && (!is_entry || name.find(kernel) != std::string_view::npos)) out += code;
        at = end - 1;
    }
    return out;
}

std::string with_rounding(std::string_view ptx) {
    constexpr std::string_view before = " \t\n;{}", behind = " \t";
    std::string out;
    size_t copied = 0;
    for (size_t at = 0; at < ptx.size();) {
        const size_t begin = ptx.find_first_not_of(before, at);
        if (begin == std::string_view::npos) break;
        const size_t end = std::min(ptx.find_first_of(before, begin), ptx.size());
        at = end;
        if (end == ptx.size() || behind.find(ptx[end]) == std::string_view::npos ||
            !may_be_fused(ptx.substr(begin, end - begin)))
            continue;
        constexpr size_t opcode = 3;
        out += ptx.substr(copied, begin + opcode - copied);
        out += ".rn";
        copied = begin + opcode;
    }
    if (copied != 0) out += ptx.substr(copied);
    return out;
}

}  // namespace lockwarp::beside
