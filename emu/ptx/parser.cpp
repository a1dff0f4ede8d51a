// SPDX-License-Identifier: Apache-2.0
// Modules, functions and blocks (PTX manual, section "Directives"; for the statements of a body,
// section "Statements").
#include "emu/ptx/parser.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "emu/ptx/elements.hpp"
#include "emu/ptx/parser_state.hpp"

namespace lockwarp::ptx {
namespace {

bool is_function_start(const Token& token) {
    return token.kind == TokenKind::modifier && (token.text == ".entry" || token.text == ".func");
}

// True at ".entry" and at ".visible .entry" and the like.
bool at_function(const State& state) {
    if (is_function_start(state.token)) return true;
    return at(state, TokenKind::modifier) && is_linking(state.token.text) &&
           is_function_start(state.ahead);
}

// Directives that a label names; see Directive::label.
bool is_labelled_directive(const Token& token) {
    return token.kind == TokenKind::modifier &&
           (token.text == ".branchtargets" || token.text == ".calltargets" ||
            token.text == ".callprototype");
}

void parse_body(State& state, Block& block);

bool parse_labelled(State& state, std::vector<Statement>& body) {
    Label label{std::string(state.token.text), state.token.place};
    if (label.name == "_") return fail(state, "a label has a name, not '_'");
    advance(state);
    advance(state);
    if (!is_labelled_directive(state.token)) {
        body.emplace_back().node.emplace<Label>(std::move(label));
        return true;
    }
    Directive directive;
    directive.label = std::move(label.name);
    const bool ok = at_modifier(state, ".callprototype") ? parse_prototype(state, directive)
                                                         : parse_targets(state, directive);
    if (ok) body.emplace_back().node.emplace<Directive>(std::move(directive));
    return ok;
}

bool parse_body_directive(State& state, std::vector<Statement>& body) {
    if (begins_declaration(state)) {
        std::vector<Variable> variables;
        const bool ok = parse_declaration(state, Linking::none, variables);
        // Of a declaration with an error the names before the error are kept, so that their uses
        // are no further errors.
        if (!ok && !variables.empty()) variables.pop_back();
        for (Variable& variable : variables)
            body.emplace_back().node.emplace<Variable>(std::move(variable));
        return ok;
    }
    Directive directive;
    bool ok = false;
    if (at_modifier(state, ".loc")) {
        ok = parse_loc(state, directive);
    } else if (at_modifier(state, ".pragma")) {
        ok = parse_pragma(state, directive);
    } else if (is_labelled_directive(state.token)) {
        return fail(state, quote(state.token.text) + " needs a label before it",
                    "as in targets: .branchtargets L1, L2;");
    } else {
        return fail(
            state, "unexpected directive " + quote(state.token.text) + " in a function",
            is_linking(state.token.text) ? "a linked variable is declared outside functions" : "");
    }
    if (ok) body.emplace_back().node.emplace<Directive>(std::move(directive));
    return ok;
}

bool parse_inner_block(State& state, std::vector<Statement>& body) {
    if (state.depth >= deepest_nesting) {
        fail(state, "blocks are nested deeper than " + std::to_string(deepest_nesting) + " levels");
        skip_braces(state);
        return true;
    }
    ++state.depth;
    parse_body(state, body.emplace_back().node.emplace<Block>());
    --state.depth;
    return true;
}

bool parse_statement(State& state, std::vector<Statement>& body) {
    if (!count_node(state, sizeof(Statement))) return false;
    switch (state.token.kind) {
        case TokenKind::semicolon:
            advance(state);
            return true;
        case TokenKind::left_brace:
            return parse_inner_block(state, body);
        case TokenKind::modifier:
            return parse_body_directive(state, body);
        case TokenKind::identifier:
            if (state.ahead.kind == TokenKind::colon) return parse_labelled(state, body);
            break;
        default:
            break;
    }
    if (!at(state, TokenKind::identifier) && !at(state, TokenKind::at))
        return fail_expected(state, "a statement", {});
    const bool ok = parse_instruction(state, body.emplace_back().node.emplace<Instruction>());
    if (!ok) body.pop_back();
    return ok;
}

// From the current '{' to behind its '}', or to the start of another function.
void parse_body(State& state, Block& block) {
    block.place = state.token.place;
    advance(state);
    while (!at(state, TokenKind::right_brace) && !state.function_is_broken_off) {
        if (at(state, TokenKind::end)) {
            fail_expected(state, "'}'", {});
            break;
        }
        if (at_function(state)) {
            fail(state, "function " + quote(state.function_name) + " (opened at line " +
                            std::to_string(state.function_line) +
                            ") is not closed: expected '}' before " + quote(state.token.text));
            state.function_is_broken_off = true;
            break;
        }
        const uint64_t since = state.consumed;
        state.open_braces = 0;
        if (!parse_statement(state, block.body)) recover(state, since);
    }
    block.end = state.token.place;
    if (!state.function_is_broken_off) accept(state, TokenKind::right_brace);
}

bool parse_attribute_directive(State& state, Function& function) {
    Directive& directive = function.directives.emplace_back();
    directive.place = state.token.place;
    directive.name = ".attribute";
    std::vector<Modifier> attributes;
    if (!parse_attributes(state, attributes)) return false;
    for (Modifier& attribute : attributes) {
        Operand& operand = directive.operands.emplace_back();
        operand.kind = OperandKind::name;
        operand.place = attribute.place;
        operand.text = std::move(attribute.text);
    }
    return true;
}

// From ".entry" or ".func" to the '{' or ';', which is not consumed.
bool parse_function_head(State& state, Function& function) {
    function.is_entry = at_modifier(state, ".entry");
    const std::string_view kind = function.is_entry ? "after '.entry'" : "after '.func'";
    advance(state);
    if (at_modifier(state, ".attribute") && !parse_attribute_directive(state, function))
        return false;
    if (!function.is_entry && at(state, TokenKind::left_paren) &&
        !parse_parameters(state, function.results, false)) {
        return false;
    }
    function.place = state.token.place;
    if (!parse_name(state, function.name, "a function name", kind)) return false;
    if (at(state, TokenKind::left_paren) && !parse_parameters(state, function.parameters, false))
        return false;
    while (is_function_directive(state)) {
        if (!parse_function_directive(state, function)) return false;
    }
    return true;
}

// The body of a function with an error in its head would be read as declarations: it is skipped.
void skip_function(State& state) {
    while (!at(state, TokenKind::left_brace) && !at(state, TokenKind::semicolon) &&
           !at(state, TokenKind::end) && !at_function(state)) {
        advance(state);
    }
    if (at(state, TokenKind::left_brace)) skip_braces(state);
    accept(state, TokenKind::semicolon);
}

void parse_function(State& state, Linking linking, Module& module) {
    Function function;
    function.linking = linking;
    if (!parse_function_head(state, function)) return skip_function(state);
    if (!accept(state, TokenKind::semicolon)) {
        if (!at(state, TokenKind::left_brace)) {
            fail_expected(state, "'{' or ';'",
                          "after the head of function " + quote(function.name));
            return skip_function(state);
        }
        function.has_body = true;
        state.function_line = state.token.place.line;
        state.function_name = function.name;
        state.function_is_broken_off = false;
        parse_body(state, function.body);
        state.function_line = 0;
    }
    module.items.emplace_back(std::move(function));
}

bool parse_variables(State& state, Linking linking, Module& module) {
    std::vector<Variable> variables;
    const bool ok = parse_declaration(state, linking, variables);
    if (!ok && !variables.empty()) variables.pop_back();
    for (Variable& variable : variables) module.items.emplace_back(std::move(variable));
    return ok;
}

bool parse_linked(State& state, Module& module) {
    const Linking linking = linking_of(state.token.text);
    const std::string text(state.token.text);
    advance(state);
    if (is_function_start(state.token)) {
        parse_function(state, linking, module);
        return true;
    }
    if (begins_declaration(state)) return parse_variables(state, linking, module);
    return fail_expected(state, "a function or variable", "after " + quote(text));
}

// ".section .debug_info { ... }". What stands in the braces is kept as it is written.
bool parse_section(State& state, Directive& directive) {
    directive.place = state.token.place;
    directive.name = state.token.text;
    advance(state);
    if (!at(state, TokenKind::modifier) && !at(state, TokenKind::identifier))
        return fail_expected(state, "a section name", "after '.section'");
    const auto take = [&](std::string_view text) {
        Operand& operand = directive.operands.emplace_back();
        operand.kind = OperandKind::name;
        operand.place = state.token.place;
        operand.text = text;
    };
    take(state.token.text);
    advance(state);
    if (!at(state, TokenKind::left_brace))
        return fail_expected(state, "'{'", "after the section name");
    const char* const begin = state.token.text.data();
    const char* const end = skip_braces(state);
    if (end == nullptr) return false;
    const std::string_view text(begin, static_cast<size_t>(end - begin));
    if (!count_node(state, text.size())) return false;
    take(text);
    return true;
}

// A header directive behind the header.
bool parse_late_header(State& state, const Module& module) {
    const std::string directive(state.token.text);
    const bool is_duplicate = directive == ".version"  ? module.version_place.line != 0
                              : directive == ".target" ? !module.target.empty()
                                                       : true;
    fail(state, (is_duplicate ? "Duplicate " : "Misplaced ") + directive + " directive",
         "a module begins with .version, .target and .address_size, each once");
    advance(state);
    while (at(state, TokenKind::identifier) || at(state, TokenKind::comma) ||
           at(state, TokenKind::decimal) || at(state, TokenKind::integer)) {
        advance(state);
    }
    return true;
}

bool parse_item(State& state, Module& module) {
    if (!count_node(state, sizeof(Function))) return false;
    if (accept(state, TokenKind::semicolon)) return true;
    if (at(state, TokenKind::right_brace)) {
        fail(state, "unexpected '}' outside of functions");
        advance(state);
        return true;
    }
    if (!at(state, TokenKind::modifier)) {
        fail(state, "expected a directive outside of functions",
             "found " + quote(state.token.text));
        if (!at(state, TokenKind::left_brace)) return false;
        skip_braces(state);
        return true;
    }
    if (is_linking(state.token.text)) return parse_linked(state, module);
    if (is_function_start(state.token)) {
        parse_function(state, Linking::none, module);
        return true;
    }
    if (begins_declaration(state)) return parse_variables(state, Linking::none, module);
    if (at_modifier(state, ".version") || at_modifier(state, ".target") ||
        at_modifier(state, ".address_size")) {
        return parse_late_header(state, module);
    }
    Directive directive;
    bool ok = false;
    if (at_modifier(state, ".section")) {
        ok = parse_section(state, directive);
    } else if (at_modifier(state, ".file")) {
        ok = parse_file(state, directive);
    } else if (at_modifier(state, ".loc")) {
        ok = parse_loc(state, directive);
    } else if (at_modifier(state, ".pragma")) {
        ok = parse_pragma(state, directive);
    } else if (at_modifier(state, ".alias")) {
        ok = parse_alias(state, directive);
    } else {
        return fail(state,
                    "unexpected directive " + quote(state.token.text) + " outside of functions");
    }
    if (ok) module.items.emplace_back(std::move(directive));
    return ok;
}

// ".version 9.0".
void parse_version(State& state, Module& module) {
    if (!at_modifier(state, ".version")) {
        fail_at(state, state.token.place, "Missing .version directive at start of file");
        return;
    }
    advance(state);
    module.version_place = state.token.place;
    const std::string_view text = state.token.text;
    const char* last = text.data() + text.size();
    bool ok = at(state, TokenKind::decimal);
    if (ok) {
        const auto [dot, error] = std::from_chars(text.data(), last, module.version_major);
        ok = error == std::errc{} && dot != last && *dot == '.';
        if (ok) {
            const auto [rest, minor_error] = std::from_chars(dot + 1, last, module.version_minor);
            ok = minor_error == std::errc{} && rest == last;
        }
    }
    if (!ok) {
        fail(state, "expected a version after '.version'", "as in .version 9.0");
        if (!at(state, TokenKind::decimal) && !at(state, TokenKind::integer)) return;
    }
    advance(state);
}

// ".target sm_90a, debug".
void parse_target(State& state, Module& module) {
    if (!at_modifier(state, ".target")) {
        // Of an empty text, only the missing version is reported.
        if (!at(state, TokenKind::end) || module.version_place.line != 0)
            fail_at(state, state.token.place, "Missing .target directive at start of file");
        return;
    }
    advance(state);
    do {
        if (!count_node(state, sizeof(Modifier))) return;
        Modifier target;
        target.place = state.token.place;
        if (!parse_name(state, target.text, "a target", "as sm_90a")) return;
        module.target.push_back(std::move(target));
    } while (accept(state, TokenKind::comma));
}

void parse_address_size(State& state, Module& module) {
    if (!at_modifier(state, ".address_size")) return;
    advance(state);
    const Token size = state.token;
    if (!expect(state, TokenKind::integer, "32 or 64", "after '.address_size'")) return;
    if (size.bits == 32 || size.bits == 64)
        module.address_size = static_cast<uint32_t>(size.bits);
    else
        fail_at(state, size.place, "Illegal value for .address_size directive (must be 32 or 64)");
}

void sort_by_place(std::vector<Diagnostic>& diagnostics) {
    std::stable_sort(
        diagnostics.begin(), diagnostics.end(), [](const Diagnostic& a, const Diagnostic& b) {
            return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
        });
}

}  // namespace

Parsed parse(std::string_view text) {
    Parsed parsed;
    State state;
    start(state, text);
    if (!at(state, TokenKind::end) || state.diagnostics.empty()) {
        parse_version(state, parsed.module);
        while (at_modifier(state, ".version")) parse_late_header(state, parsed.module);
        parse_target(state, parsed.module);
        parse_address_size(state, parsed.module);
    }
    while (!at(state, TokenKind::end)) {
        const uint64_t since = state.consumed;
        state.open_braces = 0;
        if (!parse_item(state, parsed.module)) recover(state, since);
    }
    parsed.diagnostics = std::move(state.diagnostics);
    if (state.has_elements) lower_elements(parsed.module, parsed.diagnostics);
    sort_by_place(parsed.diagnostics);
    return parsed;
}

}  // namespace lockwarp::ptx
