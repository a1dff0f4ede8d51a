// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/sections.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lockwarp::ptx {

namespace {

using Sections = std::map<std::string, Section, std::less<>>;

struct DataWidth {
    std::string_view text;
    unsigned bytes;
};
constexpr std::array<DataWidth, 4> data_widths{{{".b8", 1}, {".b16", 2}, {".b32", 4}, {".b64", 8}}};

// A value that is not a number, until all labels are known.
struct Reference {
    Section* section;
    size_t at;
    unsigned width;
    std::string_view text;
};

std::optional<uint64_t> number(std::string_view word) {
    const bool is_negative = word.starts_with('-');
    if (is_negative) word.remove_prefix(1);
    const bool is_hex = word.starts_with("0x") || word.starts_with("0X");
    if (is_hex) word.remove_prefix(2);
    while (!is_hex && (word.ends_with('U') || word.ends_with('u'))) word.remove_suffix(1);
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value, is_hex ? 16 : 10);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return is_negative ? ~value + 1 : value;
}

void put(std::string& bytes, size_t at, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(value >> 8 * i);
}

void skip_comment(std::string_view& text) {
    const bool is_line = text.starts_with("//");
    const size_t end = is_line ? text.find('\n') : text.find("*/", 2);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + (is_line ? 1 : 2));
}

// The next word, without separators and comments; empty: there is none.
std::string_view take_word(std::string_view& text) {
    constexpr std::string_view separators = " \t\r\n,{}";
    while (true) {
        text.remove_prefix(std::min(text.size(), text.find_first_not_of(separators)));
        if (!text.starts_with("//") && !text.starts_with("/*")) break;
        skip_comment(text);
    }
    const std::string_view word =
        text.substr(0, std::min(text.find_first_of(separators), text.find('/')));
    text.remove_prefix(std::max<size_t>(word.size(), text.starts_with('/') ? 1 : 0));
    return word;
}

void read_data(std::string_view text, Section& out, std::vector<Reference>& references) {
    unsigned width = 1;
    while (!text.empty()) {
        const std::string_view word = take_word(text);
        if (word.empty()) continue;
        if (word.ends_with(':')) {
            out.labels.emplace(word.substr(0, word.size() - 1), out.bytes.size());
            continue;
        }
        const auto row = std::ranges::find(data_widths, word, &DataWidth::text);
        if (row != data_widths.end()) {
            width = row->bytes;
            continue;
        }
        const size_t at = out.bytes.size();
        out.bytes.resize(at + width);
        if (const std::optional<uint64_t> value = number(word))
            put(out.bytes, at, *value, width);
        else
            references.push_back({&out, at, width, word});
    }
}

using Labels = std::unordered_map<std::string_view, uint64_t>;

// The offset that "$L__a", ".debug_str" or "4" is.
std::optional<uint64_t> value_of(const Labels& labels, std::string_view term) {
    if (const std::optional<uint64_t> plain = number(term)) return plain;
    if (term.starts_with(".debug_")) return 0;
    const auto label = labels.find(term);
    return label == labels.end() ? std::nullopt : std::optional(label->second);
}

void resolve(const Labels& labels, const Reference& r) {
    uint64_t sum = 0;
    std::string_view rest = r.text;
    char sign = '+';
    while (!rest.empty()) {
        const size_t end = std::min(rest.size(), rest.find_first_of("+-", 1));
        const std::optional<uint64_t> value = value_of(labels, rest.substr(0, end));
        if (!value) {
            r.section->symbols.emplace(r.at, r.text);
            return;
        }
        sum = sign == '+' ? sum + *value : sum - *value;
        if (end < rest.size()) sign = rest[end];
        rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    put(r.section->bytes, r.at, sum, r.width);
}

}  // namespace

Sections read_sections(const Module& module, std::string_view only) {
    Sections out;
    std::vector<Reference> references;
    for (const auto& item : module.items) {
        const auto* d = std::get_if<Directive>(&item);
        if (d == nullptr || d->name != ".section" || d->operands.size() < 2) continue;
        const std::string& name = d->operands[0].text;
        if (!only.empty() && name != only) continue;
        read_data(d->operands[1].text, out[name], references);
    }
    Labels labels;
    for (const auto& [name, section] : out)
        for (const auto& [label, at] : section.labels) labels.emplace(label, at);
    for (const Reference& r : references) resolve(labels, r);
    return out;
}

}  // namespace lockwarp::ptx
