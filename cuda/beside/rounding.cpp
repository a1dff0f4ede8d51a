// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/rounding.hpp"

#include <algorithm>
#include <array>
#include <cctype>

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

bool is_part_of_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

// Where the name stands, from `at` on, as a whole word.
size_t find_name(std::string_view text, std::string_view name, size_t at) {
    for (; (at = text.find(name, at)) != std::string_view::npos; ++at) {
        const size_t end = at + name.size();
        if ((at == 0 || !is_part_of_name(text[at - 1])) &&
            (end == text.size() || !is_part_of_name(text[end])))
            break;
    }
    return at;
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

std::string without_printing(std::string_view ptx) {
    constexpr std::string_view name = "vprintf", own = "lockwarp_silent_vprintf";
    const std::string body = ".func (.param .b32 lockwarp_r) " + std::string(own) +
                             "(.param .b64 lockwarp_f, .param .b64 lockwarp_v)\n{\n"
                             " st.param.b32 [lockwarp_r], 0;\n ret;\n}\n";
    std::string out;
    size_t copied = 0;
    bool is_declared = false;
    for (size_t at = 0; (at = find_name(ptx, name, at)) != std::string_view::npos;) {
        const size_t declaration = ptx.rfind(".extern", at), end = ptx.find(';', at);
        const bool declares =
            declaration != std::string_view::npos && declaration >= copied &&
            end != std::string_view::npos &&
            ptx.substr(declaration, at - declaration).find_first_of(";{") == std::string_view::npos;
        const size_t begin = declares ? declaration : at;
        out += ptx.substr(copied, begin - copied);
        if (!declares)
            out += own;
        else if (!is_declared)
            out += body;
        is_declared = is_declared || declares;
        at = copied = declares ? end + 1 : at + name.size();
    }
    if (copied != 0) out += ptx.substr(copied);
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
