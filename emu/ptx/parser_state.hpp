// SPDX-License-Identifier: Apache-2.0
// What the parts of the parser have in common; for emu/ptx/parser*.cpp and expression.cpp only.
//
// Functions that return bool return false after they have reported an error; the caller then
// returns false too, up to the statement, which calls recover().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emu/ptx/lexer.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

struct State {
    Lexer lexer;
    Token token;  // the current one
    Token ahead;  // the one after it
    Place previous;
    uint64_t consumed = 0;   // tokens
    uint64_t tree_size = 0;  // in bytes, without the text in its strings
    uint32_t depth = 0;
    uint32_t open_braces = 0;  // of vectors and initialisers within the current statement
    // The function whose body is being read; line 0: none.
    std::string_view function_name;
    uint32_t function_line = 0;
    bool function_is_broken_off = false;  // another function begins before its closing brace
    bool end_is_reported = false;
    bool has_elements = false;  // operands of OperandKind::element
    std::vector<Diagnostic> diagnostics;
};

// parser_state.cpp: tokens and errors.
void start(State& state, std::string_view text);
void advance(State& state);
bool at(const State& state, TokenKind kind);
bool at_modifier(const State& state, std::string_view text);
// Consumes a token of that kind if it is the current one.
bool accept(State& state, TokenKind kind);
// As accept, otherwise the error "expected WHAT CONTEXT".
bool expect(State& state, TokenKind kind, std::string_view what, std::string_view context);
// The ';' that ends a statement. Missing where a new line or a '}' begins, it is reported and the
// statement counts as complete.
bool expect_semicolon(State& state, std::string_view context);
// Reports at a place; always false.
bool fail_at(State& state, Place place, std::string message, std::string hint = {});
// Reports at the current token, or that the text ends too early; always false.
bool fail(State& state, std::string message, std::string hint = {});
bool fail_expected(State& state, std::string_view what, std::string_view context);
// Skips to behind the next ';', or to a '}' or a directive that begins a line. Consumes at least
// one token if none was consumed since `since`.
void recover(State& state, uint64_t since);
// Skips from the current '{' to behind its '}', whose end in the text it gives; nullptr: reported
// that there is none.
const char* skip_braces(State& state);
// Counts a node of the tree by its size; false and an error when the tree becomes too large.
bool count_node(State& state, size_t size);
// Enters one level of nesting; false and an error when it is too deep. Always paired with leave.
bool enter(State& state);
void leave(State& state);
// Lengthens a place that begins at `from` to the end of the previous token if that is on its line.
Place place_until_previous(const State& state, Place from);
// The current identifier as an owned name, consumed; "_" is no name.
bool parse_name(State& state, std::string& name, std::string_view what, std::string_view context);

// expression.cpp: constant expressions.
enum class ConstantType : uint8_t { s64, u64, f64 };
struct Constant {
    ConstantType type = ConstantType::s64;
    uint64_t bits = 0;
};
bool begins_constant(const State& state);
bool parse_constant(State& state, Constant& constant);
// An integer constant expression that fits in 64 bits and is not negative.
bool parse_count(State& state, uint64_t& value, std::string_view what);
// The sum of the signed terms that follow an address: "+4", "-8+16", "+-4".
bool parse_offset(State& state, int64_t& offset);

// parser_operands.cpp
bool parse_operand(State& state, Operand& operand, bool is_call);
bool parse_instruction(State& state, Instruction& instruction);

// parser_declarations.cpp
bool is_linking(std::string_view modifier);
bool begins_declaration(const State& state);
Linking linking_of(std::string_view modifier);
bool parse_attributes(State& state, std::vector<Modifier>& attributes);
// "<16>" of "%r<16>" behind the name, if it is there.
bool parse_range(State& state, std::string_view name, uint32_t& range);
// ".global .align 4 .b32 a[2] = {1, 2}, b;" with its ';'.
bool parse_declaration(State& state, Linking linking, std::vector<Variable>& variables);
// "(.param .b32 a, ...)": the parameters of a function or prototype.
bool parse_parameters(State& state, std::vector<Variable>& parameters, bool is_prototype);

// parser_directives.cpp
bool parse_file(State& state, Directive& directive);
bool parse_loc(State& state, Directive& directive);
bool parse_pragma(State& state, Directive& directive);
bool parse_alias(State& state, Directive& directive);
bool parse_targets(State& state, Directive& directive);
bool parse_prototype(State& state, Directive& directive);
bool is_function_directive(const State& state);
bool parse_function_directive(State& state, Function& function);

}  // namespace lockwarp::ptx
