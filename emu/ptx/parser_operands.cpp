// SPDX-License-Identifier: Apache-2.0
// Instructions and their operands (PTX manual, sections "Instruction Statements" and "Instruction
// Operands").
#include <utility>

#include "emu/ptx/parser_state.hpp"

namespace lockwarp::ptx {
namespace {

bool begins_operand(const State& state) {
    switch (state.token.kind) {
        case TokenKind::identifier:
        case TokenKind::hex_f32:
        case TokenKind::left_bracket:
        case TokenKind::left_brace:
            return true;
        default:
            return begins_constant(state);
    }
}

// Operands separated by commas up to a closing token, which is consumed.
bool parse_items(State& state, std::vector<Operand>& items, TokenKind closing,
                 std::string_view what) {
    do {
        if (!parse_operand(state, items.emplace_back(), false)) return false;
    } while (accept(state, TokenKind::comma));
    return expect(state, closing, what, "after the operands");
}

// "[base]", "[base+offset]", "[base, further operands]".
bool parse_address(State& state, Operand& operand) {
    advance(state);
    operand.kind = OperandKind::address;
    Operand& base = operand.items.emplace_back();
    if (!begins_operand(state)) return fail_expected(state, "an address", "after '['");
    if (!parse_operand(state, base, false)) return false;
    if (base.kind != OperandKind::name && base.kind != OperandKind::integer) {
        return fail_at(state, base.place, "an address begins with a name or an integer",
                       "as in [%rd1+16], [buffer] or [tensor_map, {%r1, %r2}]");
    }
    operand.offset = std::exchange(base.offset, 0);
    if (!accept(state, TokenKind::comma))
        return expect(state, TokenKind::right_bracket, "']'", "after the address");
    return parse_items(state, operand.items, TokenKind::right_bracket, "']'");
}

bool parse_vector(State& state, Operand& operand) {
    advance(state);
    ++state.open_braces;
    operand.kind = OperandKind::vector;
    if (!parse_items(state, operand.items, TokenKind::right_brace, "'}'")) return false;
    --state.open_braces;
    return true;
}

bool parse_list(State& state, Operand& operand) {
    advance(state);
    operand.kind = OperandKind::list;
    if (accept(state, TokenKind::right_paren)) return true;
    return parse_items(state, operand.items, TokenKind::right_paren, "')'");
}

bool parse_immediate(State& state, Operand& operand) {
    if (at(state, TokenKind::hex_f32)) {
        operand.kind = OperandKind::f32;
        operand.bits = state.token.bits;
        advance(state);
        return true;
    }
    Constant constant;
    if (!parse_constant(state, constant)) return false;
    operand.kind = constant.type == ConstantType::f64 ? OperandKind::f64 : OperandKind::integer;
    operand.bits = constant.bits;
    operand.is_unsigned = constant.type == ConstantType::u64;
    return true;
}

// "[2]", "[%r1+2]" behind an array's name.
bool parse_element(State& state, Operand& operand) {
    advance(state);
    operand.kind = OperandKind::element;
    state.has_elements = true;
    if (at(state, TokenKind::identifier) && state.token.text != "WARP_SZ") {
        // Of the statements that lower_elements() puts before the instruction, too.
        if (!count_node(state, 16 * sizeof(Statement))) return false;
        Operand& index = operand.items.emplace_back();
        index.kind = OperandKind::name;
        index.place = state.token.place;
        index.text = state.token.text;
        advance(state);
        if (!parse_offset(state, operand.offset)) return false;
    } else {
        Constant constant;
        if (!parse_constant(state, constant)) return false;
        if (constant.type == ConstantType::f64)
            return fail(state, "an array's index must be an integer");
        operand.offset = static_cast<int64_t>(constant.bits);
    }
    return expect(state, TokenKind::right_bracket, "']'", "after an array's index");
}

// A name with its component and offset: "%tid.x", "%v.y", "%r2.b0", "table+8".
bool parse_named(State& state, Operand& operand) {
    operand.kind = OperandKind::name;
    operand.text = state.token.text;
    advance(state);
    if (at(state, TokenKind::modifier)) {
        operand.text += state.token.text;
        advance(state);
    }
    if (at(state, TokenKind::left_bracket)) return parse_element(state, operand);
    return parse_offset(state, operand.offset);
}

// "!p", "-%r1".
bool parse_negated(State& state, Operand& operand, OperandKind kind) {
    const Place place = state.token.place;
    advance(state);
    operand.kind = kind;
    Operand& item = operand.items.emplace_back();
    item.place = state.token.place;
    if (!parse_named(state, item)) return false;
    if (item.offset == 0) return true;
    return fail_at(state, place,
                   kind == OperandKind::negated ? "a negated predicate has no offset"
                                                : "a negated register has no offset");
}

bool before_name(const State& state) {
    return state.ahead.kind == TokenKind::identifier && state.ahead.text != "WARP_SZ";
}

// An operand without the "|b" of a pair.
bool parse_simple_operand(State& state, Operand& operand, bool is_call) {
    operand.place = state.token.place;
    const bool is_sink = at(state, TokenKind::identifier) && state.token.text == "_";
    bool ok = true;
    if (is_sink) {
        operand.kind = OperandKind::sink;
        advance(state);
    } else if (at(state, TokenKind::identifier) && state.token.text != "WARP_SZ") {
        ok = parse_named(state, operand);
    } else if (at(state, TokenKind::left_bracket)) {
        ok = parse_address(state, operand);
    } else if (at(state, TokenKind::left_brace)) {
        ok = parse_vector(state, operand);
    } else if (at(state, TokenKind::left_paren) && is_call) {
        ok = parse_list(state, operand);
    } else if (at(state, TokenKind::exclamation) && before_name(state)) {
        ok = parse_negated(state, operand, OperandKind::negated);
    } else if (at(state, TokenKind::minus) && before_name(state)) {
        ok = parse_negated(state, operand, OperandKind::minus);
    } else if (at(state, TokenKind::hex_f32) || begins_constant(state)) {
        ok = parse_immediate(state, operand);
    } else {
        return fail_expected(state, "an operand", {});
    }
    operand.place = place_until_previous(state, operand.place);
    return ok;
}

// "@p" or "@!p".
bool parse_guard(State& state, Guard& guard) {
    guard.place = state.token.place;
    advance(state);
    guard.negated = accept(state, TokenKind::exclamation);
    if (!parse_name(state, guard.name, "a predicate", "after '@'")) return false;
    guard.place = place_until_previous(state, guard.place);
    return true;
}

}  // namespace

bool parse_operand(State& state, Operand& operand, bool is_call) {
    bool ok = enter(state) && count_node(state, sizeof(Operand)) &&
              parse_simple_operand(state, operand, is_call);
    if (ok && accept(state, TokenKind::bar)) {
        Operand first = std::exchange(operand, {});
        operand.kind = OperandKind::pair;
        operand.place = first.place;
        operand.items.push_back(std::move(first));
        ok = count_node(state, sizeof(Operand)) &&
             parse_simple_operand(state, operand.items.emplace_back(), false);
        operand.place = place_until_previous(state, operand.place);
    }
    leave(state);
    return ok;
}

bool parse_instruction(State& state, Instruction& instruction) {
    if (at(state, TokenKind::at) && !parse_guard(state, instruction.guard)) return false;
    if (at(state, TokenKind::left_brace)) {
        fail(state, "a guard stands before one instruction, not before a block");
        skip_braces(state);
        return false;
    }
    instruction.place = state.token.place;
    if (!parse_name(state, instruction.opcode, "an instruction", {})) return false;
    while (at(state, TokenKind::modifier)) {
        if (!count_node(state, sizeof(Modifier))) return false;
        instruction.modifiers.push_back({std::string(state.token.text), state.token.place});
        advance(state);
    }
    const std::string name = quote(instruction.opcode);
    if (accept(state, TokenKind::semicolon)) return true;
    if (!begins_operand(state)) return expect_semicolon(state, "after " + name);
    const bool is_call = instruction.opcode == "call";
    do {
        if (!parse_operand(state, instruction.operands.emplace_back(), is_call)) return false;
    } while (accept(state, TokenKind::comma));
    return expect_semicolon(state, "after the operands of " + name);
}

}  // namespace lockwarp::ptx
