// SPDX-License-Identifier: Apache-2.0
// Directives within and beside functions (PTX manual, section "Directives").
#include <array>
#include <limits>
#include <utility>

#include "emu/ptx/parser_state.hpp"

namespace lockwarp::ptx {
namespace {

// A directive behind the parameters of a function, and the most numbers it takes.
struct FunctionDirective {
    std::string_view text;
    size_t most;
};
constexpr std::array function_directives = {
    FunctionDirective{".maxnreg", 1},
    FunctionDirective{".maxntid", 3},
    FunctionDirective{".reqntid", 3},
    FunctionDirective{".minnctapersm", 1},
    FunctionDirective{".maxnctapersm", 1},
    FunctionDirective{".reqnctapercluster", 3},
    FunctionDirective{".explicitcluster", 0},
    FunctionDirective{".maxclusterrank", 1},
    FunctionDirective{".blocksareclusters", 0},
    FunctionDirective{".noreturn", 0},
    FunctionDirective{".abi_preserve", 1},
    FunctionDirective{".abi_preserve_control", 1},
    FunctionDirective{".pragma", 0},
};

const FunctionDirective* function_directive(const State& state) {
    if (!at(state, TokenKind::modifier)) return nullptr;
    for (const FunctionDirective& directive : function_directives) {
        if (state.token.text == directive.text) return &directive;
    }
    return nullptr;
}

// Begins `directive` with its name, which is consumed.
void take_name(State& state, Directive& directive) {
    directive.place = state.token.place;
    directive.name = state.token.text;
    advance(state);
}

// Appends the current token as an operand of kind name and consumes it.
void take_text(State& state, Directive& directive) {
    Operand& operand = directive.operands.emplace_back();
    operand.kind = OperandKind::name;
    operand.place = state.token.place;
    operand.text = state.token.text;
    advance(state);
}

bool parse_number(State& state, Directive& directive, std::string_view what) {
    if (!count_node(state, sizeof(Operand))) return false;
    Operand& operand = directive.operands.emplace_back();
    operand.kind = OperandKind::integer;
    operand.place = state.token.place;
    if (!parse_count(state, operand.bits, what)) return false;
    operand.is_unsigned = operand.bits > uint64_t{std::numeric_limits<int64_t>::max()};
    operand.place = place_until_previous(state, operand.place);
    return true;
}

bool parse_symbol(State& state, Directive& directive, std::string_view what) {
    if (!count_node(state, sizeof(Operand))) return false;
    if (!at(state, TokenKind::identifier) || state.token.text == "_")
        return fail_expected(state, what, "after " + quote(directive.name));
    take_text(state, directive);
    return true;
}

bool parse_string(State& state, Directive& directive) {
    if (!count_node(state, sizeof(Operand))) return false;
    if (!at(state, TokenKind::string))
        return fail_expected(state, "a string", "after " + quote(directive.name));
    take_text(state, directive);
    return true;
}

std::string after(const Directive& directive) { return "after " + quote(directive.name); }

// The list operand that stands for parameters in a prototype.
Operand names_of(const std::vector<Variable>& parameters, size_t first, Place place) {
    Operand list;
    list.kind = OperandKind::list;
    list.place = place;
    for (size_t i = first; i < parameters.size(); ++i) {
        Operand& item = list.items.emplace_back();
        item.kind = OperandKind::name;
        item.place = parameters[i].place;
        item.text = parameters[i].name;
    }
    return list;
}

}  // namespace

// ".file 1 "a.cu"", ".file 1 "a.cu", timestamp, size".
bool parse_file(State& state, Directive& directive) {
    take_name(state, directive);
    if (!parse_number(state, directive, "a file number") || !parse_string(state, directive))
        return false;
    if (!accept(state, TokenKind::comma)) return true;
    return parse_number(state, directive, "a timestamp") &&
           expect(state, TokenKind::comma, "','", "after the timestamp") &&
           parse_number(state, directive, "a file size");
}

// ".loc 1 20 3, function_name $L__info_string0+4, inlined_at 1 30 5".
bool parse_loc(State& state, Directive& directive) {
    const auto parse_place = [&] {
        return parse_number(state, directive, "a file number") &&
               parse_number(state, directive, "a line number") &&
               parse_number(state, directive, "a column number");
    };
    take_name(state, directive);
    if (!parse_place()) return false;
    if (!accept(state, TokenKind::comma)) return true;
    if (state.token.text != "function_name")
        return fail_expected(state, "'function_name'", "after ',' of '.loc'");
    take_text(state, directive);
    if (!parse_symbol(state, directive, "a label")) return false;
    if (!parse_offset(state, directive.operands.back().offset)) return false;
    if (!expect(state, TokenKind::comma, "','", "after the function's name")) return false;
    if (state.token.text != "inlined_at")
        return fail_expected(state, "'inlined_at'", "after ',' of '.loc'");
    take_text(state, directive);
    return parse_place();
}

bool parse_pragma(State& state, Directive& directive) {
    take_name(state, directive);
    do {
        if (!parse_string(state, directive)) return false;
    } while (accept(state, TokenKind::comma));
    return expect_semicolon(state, after(directive));
}

bool parse_alias(State& state, Directive& directive) {
    take_name(state, directive);
    return parse_symbol(state, directive, "a function") &&
           expect(state, TokenKind::comma, "','", "between the functions of '.alias'") &&
           parse_symbol(state, directive, "a function") &&
           expect_semicolon(state, after(directive));
}

// "L<2>": the last operand becomes L0 and L1.
bool expand_targets(State& state, Directive& directive) {
    const Operand stem = directive.operands.back();
    uint32_t range = 0;
    if (!parse_range(state, stem.text, range)) return false;
    if (range != 0) directive.operands.pop_back();
    for (uint32_t i = 0; i < range; ++i) {
        if (!count_node(state, sizeof(Operand))) return false;
        directive.operands.push_back(stem);
        directive.operands.back().text += std::to_string(i);
    }
    return true;
}

// ".branchtargets L1, L2, M<3>;" and ".calltargets f, g;".
bool parse_targets(State& state, Directive& directive) {
    const std::string_view what = at_modifier(state, ".calltargets") ? "a function" : "a label";
    take_name(state, directive);
    do {
        if (!parse_symbol(state, directive, what) || !expand_targets(state, directive))
            return false;
    } while (accept(state, TokenKind::comma));
    return expect_semicolon(state, after(directive));
}

// ".callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;".
bool parse_prototype(State& state, Directive& directive) {
    take_name(state, directive);
    const Place results = state.token.place;
    if (at(state, TokenKind::left_paren) && !parse_parameters(state, directive.parameters, true))
        return false;
    directive.result_count = static_cast<uint32_t>(directive.parameters.size());
    directive.operands.push_back(names_of(directive.parameters, 0, results));
    if (!at(state, TokenKind::identifier))
        return fail_expected(state, "'_'", "in place of the function's name");
    take_text(state, directive);
    const Place parameters = state.token.place;
    if (at(state, TokenKind::left_paren) && !parse_parameters(state, directive.parameters, true))
        return false;
    directive.operands.push_back(
        names_of(directive.parameters, directive.result_count, parameters));
    while (at_modifier(state, ".noreturn") || at_modifier(state, ".abi_preserve") ||
           at_modifier(state, ".abi_preserve_control")) {
        if (!count_node(state, sizeof(Operand))) return false;
        const bool has_number = !at_modifier(state, ".noreturn");
        take_text(state, directive);
        if (has_number && !parse_number(state, directive, "a number")) return false;
    }
    return expect_semicolon(state, after(directive));
}

bool is_function_directive(const State& state) { return function_directive(state) != nullptr; }

// Only where is_function_directive holds.
bool parse_function_directive(State& state, Function& function) {
    const FunctionDirective& form = *function_directive(state);
    if (!count_node(state, sizeof(Directive))) return false;
    if (form.text == ".noreturn") {
        function.noreturn = true;
        advance(state);
        return true;
    }
    Directive& directive = function.directives.emplace_back();
    if (form.text == ".pragma") return parse_pragma(state, directive);
    take_name(state, directive);
    if (form.most == 0) return true;
    do {
        if (!parse_number(state, directive, "a number")) return false;
    } while (directive.operands.size() < form.most && accept(state, TokenKind::comma));
    return true;
}

}  // namespace lockwarp::ptx
