// SPDX-License-Identifier: Apache-2.0
// Constant expressions (PTX manual, section "Constant Expressions"). Integers are 64 bits wide and
// signed or unsigned; the rules below that differ from C are named where they are applied.
#include <algorithm>
#include <array>
#include <limits>

#include "emu/ptx/parser_state.hpp"

namespace lockwarp::ptx {
namespace {

constexpr std::string_view type_mismatch = "Constant expression type mismatch";

double to_double(uint64_t bits) { return __builtin_bit_cast(double, bits); }
Constant from_double(double value) {
    return {ConstantType::f64, __builtin_bit_cast(uint64_t, value)};
}
Constant from_bool(bool value) { return {ConstantType::s64, value ? 1U : 0U}; }

// How tightly an operator binds; 0: not a binary operator.
int precedence(TokenKind kind) {
    switch (kind) {
        case TokenKind::logical_or:
            return 1;
        case TokenKind::logical_and:
            return 2;
        case TokenKind::bar:
            return 3;
        case TokenKind::caret:
            return 4;
        case TokenKind::ampersand:
            return 5;
        case TokenKind::equal:
        case TokenKind::not_equal:
            return 6;
        case TokenKind::less:
        case TokenKind::less_equal:
        case TokenKind::greater:
        case TokenKind::greater_equal:
            return 7;
        case TokenKind::shift_left:
        case TokenKind::shift_right:
            return 8;
        case TokenKind::plus:
        case TokenKind::minus:
            return 9;
        case TokenKind::star:
        case TokenKind::slash:
        case TokenKind::percent:
            return 10;
        default:
            return 0;
    }
}

template <typename T>
bool compare(TokenKind op, T a, T b) {
    switch (op) {
        case TokenKind::equal:
            return a == b;
        case TokenKind::not_equal:
            return a != b;
        case TokenKind::less:
            return a < b;
        case TokenKind::less_equal:
            return a <= b;
        case TokenKind::greater:
            return a > b;
        default:
            return a >= b;
    }
}

bool apply_to_floats(State& state, const Token& op, Constant& a, const Constant& b) {
    const double x = to_double(a.bits);
    const double y = to_double(b.bits);
    switch (op.kind) {
        case TokenKind::plus:
            a = from_double(x + y);
            return true;
        case TokenKind::minus:
            a = from_double(x - y);
            return true;
        case TokenKind::star:
            a = from_double(x * y);
            return true;
        case TokenKind::slash:
            a = from_double(x / y);
            return true;
        case TokenKind::equal:
        case TokenKind::not_equal:
        case TokenKind::less:
        case TokenKind::less_equal:
        case TokenKind::greater:
        case TokenKind::greater_equal:
            a = from_bool(compare(op.kind, x, y));
            return true;
        default:
            return fail_at(state, op.place, std::string(type_mismatch));
    }
}

// a / b of signed operands. The quotient of the smallest value and -1 wraps.
uint64_t divide_signed(uint64_t a, uint64_t b) {
    if (b == ~uint64_t{0}) return uint64_t{0} - a;
    return static_cast<uint64_t>(static_cast<int64_t>(a) / static_cast<int64_t>(b));
}

// The result replaces a.
bool apply_binary(State& state, const Token& op, Constant& a, const Constant& b) {
    const bool a_is_float = a.type == ConstantType::f64;
    const bool b_is_float = b.type == ConstantType::f64;
    if (a_is_float != b_is_float) return fail_at(state, op.place, std::string(type_mismatch));
    if (a_is_float) return apply_to_floats(state, op, a, b);
    const bool is_signed = a.type == ConstantType::s64 && b.type == ConstantType::s64;
    const ConstantType type = is_signed ? ConstantType::s64 : ConstantType::u64;
    // NVIDIA's assembler takes shift counts modulo 64.
    const uint64_t count = b.bits & 63;
    switch (op.kind) {
        case TokenKind::plus:
            a = {type, a.bits + b.bits};
            return true;
        case TokenKind::minus:
            a = {type, a.bits - b.bits};
            return true;
        case TokenKind::star:
            a = {type, a.bits * b.bits};
            return true;
        case TokenKind::slash:
        case TokenKind::percent:
            if (b.bits == 0)
                return fail_at(state, op.place, "Constant expression has division by zero");
            // Unlike C, % takes its operands as unsigned.
            if (op.kind == TokenKind::percent)
                a = {type, a.bits % b.bits};
            else
                a = {type, is_signed ? divide_signed(a.bits, b.bits) : a.bits / b.bits};
            return true;
        // A shift keeps the type of its first operand, and only that decides how >> fills.
        case TokenKind::shift_left:
            a.bits <<= count;
            return true;
        case TokenKind::shift_right:
            a.bits = a.type == ConstantType::s64
                         ? static_cast<uint64_t>(static_cast<int64_t>(a.bits) >> count)
                         : a.bits >> count;
            return true;
        case TokenKind::ampersand:
            a = {type, a.bits & b.bits};
            return true;
        case TokenKind::bar:
            a = {type, a.bits | b.bits};
            return true;
        case TokenKind::caret:
            a = {type, a.bits ^ b.bits};
            return true;
        case TokenKind::logical_and:
            a = from_bool(a.bits != 0 && b.bits != 0);
            return true;
        case TokenKind::logical_or:
            a = from_bool(a.bits != 0 || b.bits != 0);
            return true;
        default:
            a = from_bool(is_signed ? compare(op.kind, static_cast<int64_t>(a.bits),
                                              static_cast<int64_t>(b.bits))
                                    : compare(op.kind, a.bits, b.bits));
            return true;
    }
}

bool parse_unary(State& state, Constant& constant);

bool parse_unary_operator(State& state, Constant& constant) {
    const Token op = state.token;
    advance(state);
    if (!parse_unary(state, constant)) return false;
    if (constant.type == ConstantType::f64) {
        if (op.kind == TokenKind::exclamation || op.kind == TokenKind::tilde)
            return fail_at(state, op.place, std::string(type_mismatch));
        if (op.kind == TokenKind::minus) constant = from_double(-to_double(constant.bits));
        return true;
    }
    if (op.kind == TokenKind::minus) constant.bits = uint64_t{0} - constant.bits;
    if (op.kind == TokenKind::exclamation) constant = from_bool(constant.bits == 0);
    // The complement is unsigned whatever its operand is.
    if (op.kind == TokenKind::tilde) constant = {ConstantType::u64, ~constant.bits};
    return true;
}

// "(expression)", or a cast "(.s64)" or "(.u64)" with its operand.
bool parse_parenthesis(State& state, Constant& constant) {
    advance(state);
    if (at_modifier(state, ".s64") || at_modifier(state, ".u64")) {
        const Token cast = state.token;
        advance(state);
        if (!expect(state, TokenKind::right_paren, "')'", "after the cast")) return false;
        if (!parse_unary(state, constant)) return false;
        if (constant.type == ConstantType::f64)
            return fail_at(state, cast.place, std::string(type_mismatch));
        constant.type = cast.text == ".s64" ? ConstantType::s64 : ConstantType::u64;
        return true;
    }
    if (!parse_constant(state, constant)) return false;
    return expect(state, TokenKind::right_paren, "')'", "after the constant expression");
}

bool parse_primary(State& state, Constant& constant) {
    switch (state.token.kind) {
        case TokenKind::integer:
            constant = {state.token.is_unsigned ? ConstantType::u64 : ConstantType::s64,
                        state.token.bits};
            advance(state);
            return true;
        case TokenKind::decimal:
        case TokenKind::hex_f64:
            constant = {ConstantType::f64, state.token.bits};
            advance(state);
            return true;
        case TokenKind::hex_f32:
            return fail(state, "a 0f literal may not stand in a constant expression",
                        "write the sign into its bits, or use a decimal or 0d literal");
        case TokenKind::left_paren:
            return parse_parenthesis(state, constant);
        case TokenKind::identifier:
            if (state.token.text == "WARP_SZ") {
                constant = {ConstantType::s64, 32};
                advance(state);
                return true;
            }
            return fail(state, quote(state.token.text) + " may not stand in a constant expression",
                        "only literals and WARP_SZ may");
        default:
            return fail_expected(state, "a constant", {});
    }
}

bool parse_unary(State& state, Constant& constant) {
    constexpr std::array operators{TokenKind::minus, TokenKind::plus, TokenKind::exclamation,
                                   TokenKind::tilde};
    bool ok = enter(state);
    if (ok)
        ok = std::ranges::find(operators, state.token.kind) != operators.end()
                 ? parse_unary_operator(state, constant)
                 : parse_primary(state, constant);
    leave(state);
    return ok;
}

// Operators that bind at least as tightly as `weakest`. The recursion is at most one call for each
// precedence.
bool parse_binary(State& state, Constant& constant, int weakest) {
    if (!parse_unary(state, constant)) return false;
    while (precedence(state.token.kind) >= weakest) {
        const Token op = state.token;
        advance(state);
        Constant right;
        if (!parse_binary(state, right, precedence(op.kind) + 1)) return false;
        if (!apply_binary(state, op, constant, right)) return false;
    }
    return true;
}

bool parse_conditional(State& state, Constant& constant) {
    if (!parse_binary(state, constant, 1)) return false;
    if (!at(state, TokenKind::question)) return true;
    const Token question = state.token;
    advance(state);
    Constant chosen;
    Constant other;
    if (!parse_constant(state, chosen)) return false;
    if (!expect(state, TokenKind::colon, "':'", "of the conditional expression")) return false;
    if (!parse_constant(state, other)) return false;
    const bool is_integer = constant.type != ConstantType::f64 &&
                            chosen.type != ConstantType::f64 && other.type != ConstantType::f64;
    if (!is_integer) return fail_at(state, question.place, "Integer constant expression expected");
    if (constant.bits == 0) std::swap(chosen, other);
    const bool is_signed = chosen.type == ConstantType::s64 && other.type == ConstantType::s64;
    constant = {is_signed ? ConstantType::s64 : ConstantType::u64, chosen.bits};
    return true;
}

}  // namespace

bool begins_constant(const State& state) {
    switch (state.token.kind) {
        case TokenKind::integer:
        case TokenKind::decimal:
        case TokenKind::hex_f64:
        case TokenKind::minus:
        case TokenKind::plus:
        case TokenKind::exclamation:
        case TokenKind::tilde:
        case TokenKind::left_paren:
            return true;
        case TokenKind::identifier:
            return state.token.text == "WARP_SZ";
        default:
            return false;
    }
}

bool parse_constant(State& state, Constant& constant) {
    const bool ok = enter(state) && parse_conditional(state, constant);
    leave(state);
    return ok;
}

bool parse_count(State& state, uint64_t& value, std::string_view what) {
    if (!begins_constant(state)) return fail_expected(state, what, {});
    const Place place = state.token.place;
    Constant constant;
    if (!parse_constant(state, constant)) return false;
    const bool is_negative =
        constant.type == ConstantType::s64 && static_cast<int64_t>(constant.bits) < 0;
    if (constant.type == ConstantType::f64 || is_negative) {
        return fail_at(state, place_until_previous(state, place),
                       std::string(what) + " must be an integer that is not negative");
    }
    value = constant.bits;
    return true;
}

bool parse_offset(State& state, int64_t& offset) {
    uint64_t sum = static_cast<uint64_t>(offset);
    while (at(state, TokenKind::plus) || at(state, TokenKind::minus)) {
        const bool is_minus = at(state, TokenKind::minus);
        const Place place = state.token.place;
        advance(state);
        Constant term;
        if (!parse_binary(state, term, precedence(TokenKind::star))) return false;
        if (term.type == ConstantType::f64)
            return fail_at(state, place, "an address offset must be an integer");
        sum = is_minus ? sum - term.bits : sum + term.bits;
    }
    offset = static_cast<int64_t>(sum);
    return true;
}

}  // namespace lockwarp::ptx
