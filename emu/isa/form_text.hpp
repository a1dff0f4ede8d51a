// SPDX-License-Identifier: Apache-2.0
// Reads the text of the rows in forms.cpp while they are compiled; nothing reads it at run time.
// What a row may not be is a throw: in a constant expression the compiler stops there and prints
// the line with its words and the row.
#pragma once

#include <array>
#include <string_view>

#include "emu/isa/forms.hpp"
#include "emu/isa/modifier_rows.hpp"

namespace lockwarp::isa::form_text {

// How a row's operand pattern writes a slot.
struct SlotRow {
    std::string_view text;
    Slot slot;
    char fragment = 0;   // of Slot::fragment, Slot::wmma_fragment and Slot::video
    bool typed = false;  // a type may follow after ':'
};

inline constexpr auto slot_rows = std::to_array<SlotRow>({
    {"D", Slot::destination, 0, true},
    {"d", Slot::wide_destination, 0, true},
    {"S", Slot::source, 0, true},
    {"s", Slot::wide_source, 0, true},
    {"P", Slot::predicate_written},
    {"Q", Slot::predicate_read},
    {"PP", Slot::predicate_or_pair},
    {"DP", Slot::value_or_pair, 0, true},
    {"DE", Slot::value_pair, 0, true},
    {"V", Slot::packed_destination},
    {"M", Slot::packed_source},
    {"A", Slot::address},
    {"AG", Slot::global_address},
    {"AS", Slot::shared_address},
    {"AT", Slot::tensor_map},
    {"AX", Slot::texture},
    {"O", Slot::im2col_offsets},
    {"U", Slot::cta_mask},
    {"H", Slot::cache_policy},
    {"I", Slot::constant},
    {"X", Slot::sink},
    {"L", Slot::label},
    {"T", Slot::branch_targets},
    {"C", Slot::call},
    {"N", Slot::matrices},
    {"Fd", Slot::fragment, 'd'},
    {"Fa", Slot::fragment, 'a'},
    {"Fb", Slot::fragment, 'b'},
    {"Fc", Slot::fragment, 'c'},
    {"W", Slot::wmma_fragment},
    {"Wd", Slot::wmma_fragment, 'd'},
    {"Wa", Slot::wmma_fragment, 'a'},
    {"Wb", Slot::wmma_fragment, 'b'},
    {"Wc", Slot::wmma_fragment, 'c'},
    {"G", Slot::scale_factors},
    {"K", Slot::scale_ids},
    {"E", Slot::warpgroup_sign},
    {"Yd", Slot::video, 'd'},
    {"Ya", Slot::video, 'a'},
    {"Yb", Slot::video, 'b'},
    {"Yc", Slot::video, 'c'},
});

static_assert(
    [] {
        for (size_t slot = 0; slot < static_cast<size_t>(Slot::count_); ++slot) {
            bool written = false;
            for (const SlotRow& row : slot_rows) written |= static_cast<size_t>(row.slot) == slot;
            if (!written) return false;
        }
        return true;
    }(),
    "every slot can be written");

constexpr bool in_modifier(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':';
}

// Takes the first of alternatives, which '|' separates.
constexpr std::string_view take_alternative(std::string_view& rest) {
    if (rest.empty() || rest[0] != '.') throw "a modifier does not begin with '.'";
    size_t end = 1;
    while (end < rest.size() && in_modifier(rest[end])) ++end;
    if (end == 1) throw "a modifier has no name";
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(end);
    if (rest.empty()) return one;
    if (rest[0] != '|') throw "alternatives are not separated by '|'";
    rest.remove_prefix(1);
    if (rest.empty()) throw "no alternative follows '|'";
    return one;
}

// A group as it is written, without its braces.
struct Group {
    std::string_view alternatives;  // ".a|.b"; empty: those of a named set
    std::string_view set;
    bool optional = false;
};

// Takes the first group of a syntax line. Outside braces alternatives end where the next group
// begins: at '{', '<', or a '.' that no '|' precedes.
constexpr Group take_group(std::string_view& rest) {
    const bool optional = rest[0] == '{';
    size_t end = 1;
    if (optional || rest[0] == '<') {
        const char close = optional ? '}' : '>';
        while (end < rest.size() && rest[end] != close) ++end;
        if (end == rest.size()) throw "a brace or '<' is not closed";
        ++end;
    } else {
        while (end < rest.size() && rest[end] != '{' && rest[end] != '<' &&
               (rest[end] != '.' || rest[end - 1] == '|'))
            ++end;
    }
    std::string_view body = rest.substr(0, end);
    rest.remove_prefix(end);
    if (optional) body = body.substr(1, body.size() - 2);
    if (body.empty()) throw "a group has no alternative";
    if (body[0] != '<') return {body, {}, optional};
    if (body.size() < 3 || body.back() != '>') throw "a named set is not written '<name>'";
    return {{}, body.substr(1, body.size() - 2), optional};
}

// The modifiers of ".a|.b", each of which has its row.
constexpr size_t count_alternatives(std::string_view rest) {
    size_t count = 0;
    for (; !rest.empty(); ++count)
        if (!is_modifier(take_alternative(rest)))
            throw "a modifier has no row in modifier_rows.hpp";
    return count;
}

constexpr TypeRule rule_of(std::string_view type) {
    if (type == "1") return TypeRule::second;
    if (type == "w") return TypeRule::twice_as_wide;
    if (type_named(type) == Type::none) throw "what follows ':' is not 1, w or a type";
    return TypeRule::named;
}

constexpr uint32_t number(std::string_view digits) {
    if (digits.empty() || digits.size() > 9) throw "what follows ':' is not a number";
    uint32_t value = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') throw "what follows ':' is not a number";
        value = value * 10 + static_cast<uint32_t>(c - '0');
    }
    return value;
}

// Takes the first slot of an operand pattern.
constexpr OperandSlot take_slot(std::string_view& rest) {
    size_t end = 0;
    while (end < rest.size() && rest[end] != ' ') ++end;
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end);
    if (!rest.empty()) rest.remove_prefix(1);
    OperandSlot out;
    out.optional = !text.empty() && text[0] == '{';
    if (out.optional) {
        if (text.size() < 3 || text.back() != '}') throw "a brace is not closed";
        text = text.substr(1, text.size() - 2);
    }
    size_t colon = 0;
    while (colon < text.size() && text[colon] != ':') ++colon;
    size_t index = 0;
    while (index < slot_rows.size() && slot_rows[index].text != text.substr(0, colon)) ++index;
    if (index == slot_rows.size()) throw "an operand is none of slot_rows";
    const SlotRow& row = slot_rows[index];
    out.slot = row.slot;
    out.fragment = row.fragment;
    if (colon == text.size()) return out;
    const std::string_view after = text.substr(colon + 1);
    if (row.slot == Slot::constant) {
        out.fixed = true;
        out.value = number(after);
    } else if (row.typed) {
        out.rule = rule_of(after);
        out.named = type_named(after);
    } else {
        throw "this operand takes no type";
    }
    return out;
}

}  // namespace lockwarp::isa::form_text
