// SPDX-License-Identifier: Apache-2.0
// Splits PTX text into tokens (PTX manual, sections "Source Format", "Identifiers", "Constants").
//
// Comments, lines that begin with '#' and "@@DWARF" lines are passed over. A token never copies
// the text: it refers to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "emu/ptx/tree.hpp"

namespace lockwarp::ptx {

enum class TokenKind : uint8_t {
    end,         // of the text
    identifier,  // "mma", "%r1", "$L__BB0_1"; a lone "_" is also one
    modifier,    // ".sync", ".shared::cta", ".L2::128B": one token, dot included
    integer,     // bits, is_unsigned
    decimal,     // a decimal floating-point literal; bits: its f64
    hex_f32,     // 0f literal; bits: its 32 bits
    hex_f64,     // 0d literal; bits: its 64 bits
    string,      // text with both quotes
    bad,         // bytes that begin no token; Lexer::problem says which
    comma,
    semicolon,
    colon,
    question,
    at,
    left_paren,
    right_paren,
    left_brace,
    right_brace,
    left_bracket,
    right_bracket,
    assign,
    plus,
    minus,
    star,
    slash,
    percent,
    less,
    less_equal,
    shift_left,
    greater,
    greater_equal,
    shift_right,
    equal,
    not_equal,
    exclamation,
    tilde,
    ampersand,
    logical_and,
    bar,
    logical_or,
    caret,
};

struct Token {
    TokenKind kind = TokenKind::end;
    bool is_unsigned = false;  // integer: suffix U, or a value that .s64 cannot hold
    std::string_view text;
    Place place;
    uint64_t bits = 0;
};

// The lexer's position in the text, and what is wrong with the token it gave last.
struct Lexer {
    std::string_view text;
    size_t position = 0;
    size_t line_start = 0;
    uint32_t line = 1;
    std::string problem;  // empty: nothing is wrong
    std::string hint;
    Place problem_place;
};

// The next token; TokenKind::end for ever at the end of the text. A malformed literal comes as a
// token of its kind with the value 0 and a problem.
Token next_token(Lexer& lexer);

// The text of a token for a message: in single quotes, cut when long, unprintable bytes as \xNN.
std::string quote(std::string_view text);

}  // namespace lockwarp::ptx
