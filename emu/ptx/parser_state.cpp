// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "emu/ptx/parser.hpp"
#include "emu/ptx/parser_state.hpp"

namespace lockwarp::ptx {
namespace {

// Directives that begin a statement. After an error the parser goes on at one of them when it
// stands first on its line.
constexpr std::array starters = {
    std::string_view{".entry"},  std::string_view{".func"},   std::string_view{".visible"},
    std::string_view{".extern"}, std::string_view{".weak"},   std::string_view{".common"},
    std::string_view{".reg"},    std::string_view{".shared"}, std::string_view{".global"},
    std::string_view{".local"},  std::string_view{".const"},  std::string_view{".loc"},
    std::string_view{".file"},   std::string_view{".pragma"}, std::string_view{".section"},
};

bool begins_statement_line(const State& state) {
    return at(state, TokenKind::modifier) && state.token.place.line != state.previous.line &&
           std::find(starters.begin(), starters.end(), state.token.text) != starters.end();
}

void take_problem(State& state) {
    if (state.lexer.problem.empty()) return;
    fail_at(state, state.lexer.problem_place, std::exchange(state.lexer.problem, {}),
            std::exchange(state.lexer.hint, {}));
}

Token fetch(State& state) {
    Token token = next_token(state.lexer);
    take_problem(state);
    while (token.kind == TokenKind::bad) {
        token = next_token(state.lexer);
        take_problem(state);
    }
    return token;
}

// Nothing more is read: the next token is the end of the text.
void stop(State& state) {
    state.end_is_reported = true;
    state.lexer.position = state.lexer.text.size();
    state.token.kind = TokenKind::end;
    state.ahead.kind = TokenKind::end;
}

}  // namespace

void start(State& state, std::string_view text) {
    state.lexer.text = text;
    if (text.size() > longest_text) {
        fail_at(state, {1, 1, 1}, "the text is longer than 1 GiB");
        stop(state);
        return;
    }
    state.token = fetch(state);
    state.ahead = fetch(state);
}

void advance(State& state) {
    if (state.token.kind == TokenKind::end) return;
    state.previous = state.token.place;
    state.token = state.ahead;
    ++state.consumed;
    if (state.token.kind != TokenKind::end) state.ahead = fetch(state);
    if (state.diagnostics.size() >= max_diagnostics) stop(state);
}

bool at(const State& state, TokenKind kind) { return state.token.kind == kind; }

bool at_modifier(const State& state, std::string_view text) {
    return state.token.kind == TokenKind::modifier && state.token.text == text;
}

bool accept(State& state, TokenKind kind) {
    if (!at(state, kind)) return false;
    advance(state);
    return true;
}

bool expect(State& state, TokenKind kind, std::string_view what, std::string_view context) {
    return accept(state, kind) || fail_expected(state, what, context);
}

bool expect_semicolon(State& state, std::string_view context) {
    if (accept(state, TokenKind::semicolon)) return true;
    if (at(state, TokenKind::end)) return fail_expected(state, "';'", context);
    const bool is_complete =
        state.token.place.line != state.previous.line || at(state, TokenKind::right_brace);
    if (!is_complete) return fail_expected(state, "';'", context);
    const Place place = {state.previous.line, state.previous.column + state.previous.length, 1};
    fail_at(state, place, "expected ';' " + std::string(context));
    return true;
}

bool fail_at(State& state, Place place, std::string message, std::string hint) {
    if (state.diagnostics.size() < max_diagnostics)
        state.diagnostics.push_back({place, std::move(message), std::move(hint)});
    return false;
}

bool fail(State& state, std::string message, std::string hint) {
    if (!at(state, TokenKind::end))
        return fail_at(state, state.token.place, std::move(message), std::move(hint));
    if (std::exchange(state.end_is_reported, true)) return false;
    if (state.function_line == 0)
        return fail_at(state, state.token.place, "the text ends too early: " + message);
    return fail_at(state, state.token.place,
                   "the text ends inside function " + quote(state.function_name) +
                       " (opened at line " + std::to_string(state.function_line) +
                       "): expected '}'");
}

bool fail_expected(State& state, std::string_view what, std::string_view context) {
    std::string message = "expected " + std::string(what);
    if (!context.empty()) message += ' ';
    message += context;
    return fail(state, std::move(message), "found " + quote(state.token.text));
}

void recover(State& state, uint64_t since) {
    if (state.consumed == since && state.open_braces == 0) {
        if (accept(state, TokenKind::semicolon)) return;
        if (!at(state, TokenKind::left_brace)) advance(state);
    }
    uint64_t open = std::exchange(state.open_braces, 0);
    while (!at(state, TokenKind::end)) {
        if (begins_statement_line(state)) return;
        if (at(state, TokenKind::right_brace) && open == 0) return;
        if (at(state, TokenKind::left_brace)) ++open;
        if (at(state, TokenKind::right_brace)) --open;
        const bool is_end = at(state, TokenKind::semicolon);
        advance(state);
        if (is_end) return;
    }
}

const char* skip_braces(State& state) {
    uint64_t open = 0;
    const char* end = nullptr;
    do {
        if (at(state, TokenKind::left_brace)) ++open;
        if (at(state, TokenKind::right_brace)) --open;
        end = state.token.text.data() + state.token.text.size();
        advance(state);
    } while (open != 0 && !at(state, TokenKind::end));
    if (open == 0) return end;
    fail_expected(state, "'}'", {});
    return nullptr;
}

bool count_node(State& state, size_t size) {
    state.tree_size += size;
    if (state.tree_size <= largest_tree) return true;
    fail(state, "the program is too large: its tree takes more than 4 GiB");
    stop(state);
    return false;
}

bool enter(State& state) {
    if (++state.depth <= deepest_nesting) return true;
    return fail(state, "nested deeper than " + std::to_string(deepest_nesting) + " levels");
}

void leave(State& state) { --state.depth; }

Place place_until_previous(const State& state, Place from) {
    const uint32_t end = state.previous.column + state.previous.length;
    if (state.previous.line == from.line && end > from.column) from.length = end - from.column;
    return from;
}

bool parse_name(State& state, std::string& name, std::string_view what, std::string_view context) {
    if (!at(state, TokenKind::identifier) || state.token.text == "_")
        return fail_expected(state, what, context);
    name = state.token.text;
    advance(state);
    return true;
}

}  // namespace lockwarp::ptx
