// SPDX-License-Identifier: Apache-2.0
// Declarations of registers, variables and parameters (PTX manual, section "Variables").
#include <array>
#include <limits>
#include <utility>

#include "emu/ptx/parser.hpp"
#include "emu/ptx/parser_state.hpp"

namespace lockwarp::ptx {

bool parse_range(State& state, std::string_view name, uint32_t& range) {
    if (!accept(state, TokenKind::less)) return true;
    const Token count = state.token;
    if (!expect(state, TokenKind::integer, "a number", "after '<'")) return false;
    if (count.bits == 0 || count.bits > largest_range) {
        return fail_at(state, count.place,
                       "the range of " + quote(name) + " is not between 1 and " +
                           std::to_string(largest_range));
    }
    range = static_cast<uint32_t>(count.bits);
    return expect(state, TokenKind::greater, "'>'", "after the range");
}

namespace {

// Every variable of a statement has its own copy of the type and the attributes. Limits on their
// length keep the tree proportional to the text.
constexpr size_t longest_type = 32;
constexpr size_t longest_attributes = 512;

struct SpaceName {
    std::string_view text;
    Space space;
};
constexpr std::array space_names = {
    SpaceName{".reg", Space::reg},       SpaceName{".sreg", Space::sreg},
    SpaceName{".const", Space::const_},  SpaceName{".global", Space::global},
    SpaceName{".local", Space::local},   SpaceName{".param", Space::param},
    SpaceName{".shared", Space::shared}, SpaceName{".tex", Space::tex},
};

Space space_of(const State& state) {
    if (!at(state, TokenKind::modifier)) return Space::none;
    for (const SpaceName& name : space_names) {
        if (state.token.text == name.text) return name.space;
    }
    return Space::none;
}

uint32_t vector_of(const State& state) {
    if (at_modifier(state, ".v2")) return 2;
    if (at_modifier(state, ".v4")) return 4;
    return at_modifier(state, ".v8") ? 8 : 1;
}

// ".align N".
bool parse_align(State& state, uint32_t& alignment) {
    const Place place = state.token.place;
    advance(state);
    uint64_t value = 0;
    if (!parse_count(state, value, "the alignment")) return false;
    const bool is_power = value != 0 && (value & (value - 1)) == 0;
    if (!is_power || value > std::numeric_limits<uint32_t>::max()) {
        return fail_at(state, place_until_previous(state, place),
                       "Alignment must be a power of two");
    }
    alignment = static_cast<uint32_t>(value);
    return true;
}

// State space, .align, .attribute and vector size in any order, then the type.
bool parse_type(State& state, Variable& variable) {
    while (at(state, TokenKind::modifier)) {
        if (const Space space = space_of(state); space != Space::none) {
            if (variable.space != Space::none)
                return fail(state, "Multiple state spaces specified");
            variable.space = space;
            advance(state);
        } else if (at_modifier(state, ".align")) {
            if (!parse_align(state, variable.alignment)) return false;
        } else if (at_modifier(state, ".attribute")) {
            if (!parse_attributes(state, variable.attributes)) return false;
        } else if (vector_of(state) != 1) {
            variable.vector = vector_of(state);
            advance(state);
        } else if (is_linking(state.token.text)) {
            return fail(state, "a linking directive stands before the state space",
                        "as in .visible .global .b32 a;");
        } else if (state.token.text.size() > longest_type) {
            return fail(state, "unknown type " + quote(state.token.text));
        } else {
            variable.type = state.token.text;
            advance(state);
            if (variable.space != Space::none) return true;
            return fail_at(state, state.previous, "a declaration without a state space",
                           "state spaces are .reg, .global, .const, .shared, .local, .param");
        }
    }
    return fail_expected(state, "a type", "in the declaration");
}

// ".ptr .global .align 16" behind the type of a kernel parameter.
bool parse_pointer(State& state, Variable& variable) {
    if (!at_modifier(state, ".ptr")) return true;
    advance(state);
    variable.is_pointer = true;
    if (const Space space = space_of(state); space != Space::none) {
        variable.pointer_space = space;
        advance(state);
    }
    return !at_modifier(state, ".align") || parse_align(state, variable.pointer_alignment);
}

// "[4][8]" or "[]".
bool parse_dims(State& state, Variable& variable) {
    while (accept(state, TokenKind::left_bracket)) {
        if (!count_node(state, sizeof(uint64_t))) return false;
        uint64_t& size = variable.dims.emplace_back(0);
        if (!at(state, TokenKind::right_bracket) && !parse_count(state, size, "an array size"))
            return false;
        if (!expect(state, TokenKind::right_bracket, "']'", "after the array size")) return false;
    }
    return true;
}

// A name, its range or dimensions.
bool parse_declarator(State& state, Variable& variable) {
    variable.place = state.token.place;
    if (!parse_name(state, variable.name, "a name", "in the declaration")) return false;
    return parse_range(state, variable.name, variable.range) && parse_dims(state, variable);
}

bool parse_initializer(State& state, Initializer& initializer);

// "{a, b}", "{}", "{filter_mode = nearest}".
bool parse_initializer_list(State& state, Initializer& initializer) {
    advance(state);
    ++state.open_braces;
    initializer.kind = InitializerKind::list;
    if (!at(state, TokenKind::right_brace)) {
        do {
            Initializer& item = initializer.items.emplace_back();
            if (at(state, TokenKind::identifier) && state.ahead.kind == TokenKind::assign) {
                item.field = state.token.text;
                advance(state);
                advance(state);
            }
            if (!parse_initializer(state, item)) return false;
        } while (accept(state, TokenKind::comma));
    }
    if (!expect(state, TokenKind::right_brace, "'}'", "after the initial values")) return false;
    --state.open_braces;
    return true;
}

// "name+4" or "generic(name)+4".
bool parse_address_value(State& state, Initializer& initializer) {
    initializer.kind = InitializerKind::address;
    initializer.generic = at(state, TokenKind::identifier) && state.token.text == "generic" &&
                          state.ahead.kind == TokenKind::left_paren;
    if (initializer.generic) {
        advance(state);
        advance(state);
    }
    if (!parse_name(state, initializer.text, "a name", "in the initial value")) return false;
    if (initializer.generic && !expect(state, TokenKind::right_paren, "')'", "after generic(name"))
        return false;
    return parse_offset(state, initializer.offset);
}

// "0xFF00(name+4)": the masked bits of an address.
bool parse_masked_address(State& state, Initializer& initializer) {
    initializer.mask = state.token.bits;
    if (initializer.mask == 0) return fail(state, "the mask of an address must not be 0");
    advance(state);
    advance(state);
    return parse_address_value(state, initializer) &&
           expect(state, TokenKind::right_paren, "')'", "after the masked address");
}

bool parse_scalar_value(State& state, Initializer& initializer) {
    if (at(state, TokenKind::hex_f32)) {
        initializer.kind = InitializerKind::f32;
        initializer.bits = state.token.bits;
        advance(state);
        return true;
    }
    if (!begins_constant(state)) return fail_expected(state, "an initial value", {});
    Constant constant;
    if (!parse_constant(state, constant)) return false;
    initializer.kind =
        constant.type == ConstantType::f64 ? InitializerKind::f64 : InitializerKind::integer;
    initializer.bits = constant.bits;
    return true;
}

bool parse_initializer(State& state, Initializer& initializer) {
    initializer.place = state.token.place;
    bool ok = enter(state) && count_node(state, sizeof(Initializer));
    if (!ok) {
        // The error is reported.
    } else if (at(state, TokenKind::left_brace)) {
        ok = parse_initializer_list(state, initializer);
    } else if (at(state, TokenKind::integer) && state.ahead.kind == TokenKind::left_paren) {
        ok = parse_masked_address(state, initializer);
    } else if (at(state, TokenKind::identifier) && state.token.text != "WARP_SZ") {
        ok = parse_address_value(state, initializer);
    } else {
        ok = parse_scalar_value(state, initializer);
    }
    leave(state);
    initializer.place = place_until_previous(state, initializer.place);
    return ok;
}

}  // namespace

Linking linking_of(std::string_view modifier) {
    if (modifier == ".visible") return Linking::visible;
    if (modifier == ".extern") return Linking::extern_;
    if (modifier == ".weak") return Linking::weak;
    return modifier == ".common" ? Linking::common : Linking::none;
}

bool is_linking(std::string_view modifier) { return linking_of(modifier) != Linking::none; }

bool begins_declaration(const State& state) {
    return space_of(state) != Space::none || at_modifier(state, ".align") ||
           at_modifier(state, ".attribute");
}

// ".attribute(.managed, .unified(19, 95))": the elements with their dots.
bool parse_attributes(State& state, std::vector<Modifier>& attributes) {
    const Token directive = state.token;
    size_t length = 0;
    advance(state);
    if (!expect(state, TokenKind::left_paren, "'('", "after '.attribute'")) return false;
    do {
        Modifier attribute{std::string(state.token.text), state.token.place};
        if (!expect(state, TokenKind::modifier, "an attribute", "as .managed")) return false;
        if (accept(state, TokenKind::left_paren)) {
            attribute.text += '(';
            do {
                uint64_t value = 0;
                if (!parse_count(state, value, "a number")) return false;
                if (attribute.text.back() != '(') attribute.text += ", ";
                attribute.text += std::to_string(value);
            } while (accept(state, TokenKind::comma));
            attribute.text += ')';
            if (!expect(state, TokenKind::right_paren, "')'", "after the attribute's numbers"))
                return false;
        }
        length += attribute.text.size();
        if (length > longest_attributes)
            return fail_at(state, directive.place, "the attributes are too long");
        attributes.push_back(std::move(attribute));
    } while (accept(state, TokenKind::comma));
    return expect(state, TokenKind::right_paren, "')'", "after the attributes");
}

namespace {

// ".param .u64 %P<2>": the last variable becomes %P0 and %P1. Those of .reg keep their range.
bool expand_range(State& state, std::vector<Variable>& variables) {
    Variable of = std::move(variables.back());
    variables.pop_back();
    if (!of.dims.empty() || !of.initializer.empty())
        return fail_at(state, of.place, quote(of.name) + " has a range, and so no more than that");
    const uint32_t count = std::exchange(of.range, 0);
    const std::string stem = of.name;
    for (uint32_t i = 0; i < count; ++i) {
        if (!count_node(state, sizeof(Function))) return false;
        of.name = stem + std::to_string(i);
        variables.push_back(of);
    }
    return true;
}

// "a[] = {1, 2, 3}" has as many elements as there are values, "a[][2]" as many rows.
void size_by_values(Variable& v) {
    if (v.dims.empty() || v.dims[0] != 0 || v.initializer.empty()) return;
    if (v.initializer[0].kind == InitializerKind::list) v.dims[0] = v.initializer[0].items.size();
}

}  // namespace

bool parse_declaration(State& state, Linking linking, std::vector<Variable>& variables) {
    Variable head;
    head.linking = linking;
    if (!parse_type(state, head)) return false;
    do {
        // At module level a variable takes the room of the largest kind of item.
        if (!count_node(state, sizeof(Function))) return false;
        Variable& variable = variables.emplace_back(head);
        if (at(state, TokenKind::modifier)) {
            return fail(state, quote(state.token.text) + " stands before the type, not after it");
        }
        if (!parse_declarator(state, variable)) return false;
        if (accept(state, TokenKind::assign) &&
            !parse_initializer(state, variable.initializer.emplace_back())) {
            return false;
        }
        size_by_values(variable);
        if (variable.range != 0 && variable.space != Space::reg && !expand_range(state, variables))
            return false;
    } while (accept(state, TokenKind::comma));
    return expect_semicolon(state, "after the declaration of " + quote(variables.back().name));
}

bool parse_parameters(State& state, std::vector<Variable>& parameters, bool is_prototype) {
    if (!expect(state, TokenKind::left_paren, "'('", "before the parameters")) return false;
    if (accept(state, TokenKind::right_paren)) return true;
    do {
        if (!count_node(state, sizeof(Variable))) return false;
        Variable& parameter = parameters.emplace_back();
        if (!at(state, TokenKind::modifier)) return fail_expected(state, "a parameter", {});
        if (!parse_type(state, parameter) || !parse_pointer(state, parameter)) return false;
        const bool is_anonymous =
            is_prototype && at(state, TokenKind::identifier) && state.token.text == "_";
        if (is_anonymous) {
            parameter.place = state.token.place;
            parameter.name.assign(1, '_');
            advance(state);
            if (!parse_dims(state, parameter)) return false;
        } else {
            if (!parse_declarator(state, parameter)) return false;
            if (parameter.range != 0)
                return fail_at(state, parameter.place, "a parameter has no range");
        }
    } while (accept(state, TokenKind::comma));
    return expect(state, TokenKind::right_paren, "')'", "after the parameters");
}

}  // namespace lockwarp::ptx
