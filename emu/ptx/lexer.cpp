// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/lexer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace lockwarp::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// The characters of an identifier after its first one.
bool is_follower(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }
bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

// The byte at `position`, NUL behind the end. A NUL byte within the text begins no token, so the
// two need not be told apart.
char byte_at(const Lexer& lexer, size_t position) {
    return position < lexer.text.size() ? lexer.text[position] : '\0';
}

uint32_t narrow(size_t value) {
    constexpr size_t limit = std::numeric_limits<uint32_t>::max();
    return static_cast<uint32_t>(std::min(value, limit));
}

Place place_of(const Lexer& lexer, size_t begin, size_t end) {
    return {lexer.line, narrow(begin - lexer.line_start + 1),
            narrow(end > begin ? end - begin : 1)};
}

void set_problem(Lexer& lexer, Place place, std::string problem, std::string hint = {}) {
    lexer.problem = std::move(problem);
    lexer.hint = std::move(hint);
    lexer.problem_place = place;
}

void pass_line(Lexer& lexer) {
    const size_t end = lexer.text.find('\n', lexer.position);
    lexer.position = end == std::string_view::npos ? lexer.text.size() : end;
}

void begin_line(Lexer& lexer) {
    ++lexer.line;
    lexer.line_start = lexer.position;
}

// Passes over a /* */ comment. A comment without an end is a problem and swallows the rest.
void pass_comment(Lexer& lexer) {
    const Place place = place_of(lexer, lexer.position, lexer.position + 2);
    lexer.position += 2;
    while (lexer.position < lexer.text.size()) {
        const char c = lexer.text[lexer.position++];
        if (c == '\n') begin_line(lexer);
        if (c == '*' && byte_at(lexer, lexer.position) == '/') {
            ++lexer.position;
            return;
        }
    }
    set_problem(lexer, place, "the comment is not closed: expected '*/'");
}

bool at_dwarf_line(const Lexer& lexer) {
    constexpr std::string_view word = "@@dwarf";
    if (lexer.text.size() - lexer.position < word.size()) return false;
    for (size_t i = 0; i < word.size(); ++i) {
        const char c = lexer.text[lexer.position + i];
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
        if (lower != word[i]) return false;
    }
    return true;
}

// Passes over blanks, comments, "#" lines and "@@DWARF" lines.
void pass_blanks(Lexer& lexer) {
    bool line_is_blank = true;
    for (size_t i = lexer.position; i > lexer.line_start && line_is_blank; --i)
        line_is_blank = is_blank(lexer.text[i - 1]);
    while (lexer.position < lexer.text.size()) {
        const char c = lexer.text[lexer.position];
        if (c == '\n') {
            ++lexer.position;
            begin_line(lexer);
            line_is_blank = true;
        } else if (is_blank(c)) {
            ++lexer.position;
        } else if (c == '/' && byte_at(lexer, lexer.position + 1) == '/') {
            pass_line(lexer);
        } else if (c == '/' && byte_at(lexer, lexer.position + 1) == '*') {
            pass_comment(lexer);
        } else if ((c == '#' && line_is_blank) || (c == '@' && at_dwarf_line(lexer))) {
            pass_line(lexer);
        } else {
            return;
        }
    }
}

Token finish(Lexer& lexer, TokenKind kind, size_t end) {
    Token token;
    token.kind = kind;
    token.text = lexer.text.substr(lexer.position, end - lexer.position);
    token.place = place_of(lexer, lexer.position, end);
    lexer.position = end;
    return token;
}

// The value of the digit c in a base up to 16, or 16 when it is none.
unsigned digit_value(char c) {
    if (is_digit(c)) return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
    return 16;
}

// An integer literal: 12, 0x1F, 017, 0b101, each with an optional U.
Token integer_token(Lexer& lexer, size_t end) {
    Token token = finish(lexer, TokenKind::integer, end);
    std::string_view digits = token.text;
    if (digits.back() == 'U') {
        token.is_unsigned = true;
        digits.remove_suffix(1);
    }
    unsigned base = 10;
    if (digits.size() > 1 && digits[0] == '0') {
        const char mark = digits[1];
        base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
        digits.remove_prefix(base == 8 ? 1 : 2);
    }
    bool malformed = digits.empty();
    bool overflow = false;
    uint64_t value = 0;
    for (const char c : digits) {
        const unsigned digit = digit_value(c);
        malformed |= digit >= base;
        overflow |= __builtin_mul_overflow(value, uint64_t{base}, &value);
        overflow |= __builtin_add_overflow(value, uint64_t{digit}, &value);
    }
    if (malformed) {
        set_problem(lexer, token.place, "malformed number " + quote(token.text));
    } else if (overflow) {
        set_problem(lexer, token.place,
                    "the integer " + quote(token.text) + " does not fit in 64 bits");
    } else {
        token.bits = value;
        token.is_unsigned |= value > uint64_t{std::numeric_limits<int64_t>::max()};
    }
    return token;
}

// 0f with exactly 8 hexadecimal digits, or 0d with exactly 16.
Token hex_float_token(Lexer& lexer, size_t end, bool is_f32) {
    Token token = finish(lexer, is_f32 ? TokenKind::hex_f32 : TokenKind::hex_f64, end);
    const std::string_view digits = token.text.substr(2);
    bool malformed = digits.size() != (is_f32 ? 8U : 16U);
    uint64_t value = 0;
    for (const char c : digits) {
        malformed |= digit_value(c) == 16;
        value = value << 4 | (digit_value(c) & 15);
    }
    if (malformed) {
        set_problem(lexer, token.place, "malformed number " + quote(token.text),
                    is_f32 ? "0f is followed by exactly 8 hexadecimal digits"
                           : "0d is followed by exactly 16 hexadecimal digits");
    } else {
        token.bits = value;
    }
    return token;
}

Token decimal_token(Lexer& lexer, size_t end) {
    Token token = finish(lexer, TokenKind::decimal, end);
    double value = 0;
    const char* last = token.text.data() + token.text.size();
    const auto [rest, error] = std::from_chars(token.text.data(), last, value);
    if (error == std::errc::result_out_of_range) {
        set_problem(lexer, token.place,
                    "the number " + quote(token.text) + " is outside the range of .f64");
    } else if (error != std::errc{} || rest != last) {
        set_problem(lexer, token.place, "malformed number " + quote(token.text));
    } else {
        token.bits = __builtin_bit_cast(uint64_t, value);
    }
    return token;
}

// A number that begins at the lexer's position with a digit, or with a dot and a digit.
Token number_token(Lexer& lexer) {
    const size_t begin = lexer.position;
    const char mark = byte_at(lexer, begin) == '0' ? byte_at(lexer, begin + 1) : '\0';
    size_t end = begin;
    if (is_letter(mark) && mark != 'e' && mark != 'E' && mark != 'U') {
        while (is_follower(byte_at(lexer, end))) ++end;
        if (mark == 'f' || mark == 'F') return hex_float_token(lexer, end, true);
        if (mark == 'd' || mark == 'D') return hex_float_token(lexer, end, false);
        return integer_token(lexer, end);
    }
    while (is_digit(byte_at(lexer, end))) ++end;
    bool is_decimal = false;
    if (byte_at(lexer, end) == '.') {
        is_decimal = true;
        ++end;
        while (is_digit(byte_at(lexer, end))) ++end;
    }
    if (byte_at(lexer, end) == 'e' || byte_at(lexer, end) == 'E') {
        is_decimal = true;
        ++end;
        if (byte_at(lexer, end) == '+' || byte_at(lexer, end) == '-') ++end;
    }
    while (is_follower(byte_at(lexer, end))) ++end;
    return is_decimal ? decimal_token(lexer, end) : integer_token(lexer, end);
}

// True when the dot at the lexer's position begins a number as in ".5": digits only, or digits
// with an exponent. ".1d", ".16x64b" and the like are modifiers.
bool at_fraction(const Lexer& lexer) {
    size_t end = lexer.position + 1;
    while (is_digit(byte_at(lexer, end))) ++end;
    if (end == lexer.position + 1) return false;
    if (byte_at(lexer, end) == 'e' || byte_at(lexer, end) == 'E') {
        ++end;
        if (byte_at(lexer, end) == '+' || byte_at(lexer, end) == '-') ++end;
        return is_digit(byte_at(lexer, end));
    }
    return !is_follower(byte_at(lexer, end));
}

Token modifier_token(Lexer& lexer) {
    size_t end = lexer.position + 1;
    while (is_follower(byte_at(lexer, end))) {
        ++end;
        if (byte_at(lexer, end) == ':' && byte_at(lexer, end + 1) == ':' &&
            is_follower(byte_at(lexer, end + 2))) {
            end += 2;
        }
    }
    return finish(lexer, TokenKind::modifier, end);
}

Token string_token(Lexer& lexer) {
    const size_t end = lexer.text.find_first_of("\"\n", lexer.position + 1);
    if (end != std::string_view::npos && lexer.text[end] == '"')
        return finish(lexer, TokenKind::string, end + 1);
    Token token = finish(lexer, TokenKind::bad, std::min(end, lexer.text.size()));
    set_problem(lexer, token.place, "the string is not closed: expected '\"' on this line");
    return token;
}

// One token for a run of bytes that begin no token, so that binary input gives few problems.
Token bad_token(Lexer& lexer) {
    const auto is_bad = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && !is_blank(c)) || byte >= 0x7F;
    };
    size_t end = lexer.position + 1;
    while (end < lexer.text.size() && is_bad(lexer.text[end])) ++end;
    const Token token = finish(lexer, TokenKind::bad, end);
    set_problem(lexer, token.place, "unexpected character " + quote(token.text.substr(0, 1)));
    return token;
}

Token punctuation_token(Lexer& lexer) {
    const auto one = [&](TokenKind kind) { return finish(lexer, kind, lexer.position + 1); };
    const auto two = [&](TokenKind kind) { return finish(lexer, kind, lexer.position + 2); };
    const char c = lexer.text[lexer.position];
    const char d = byte_at(lexer, lexer.position + 1);
    switch (c) {
        case ',':
            return one(TokenKind::comma);
        case ';':
            return one(TokenKind::semicolon);
        case ':':
            return one(TokenKind::colon);
        case '?':
            return one(TokenKind::question);
        case '@':
            return one(TokenKind::at);
        case '(':
            return one(TokenKind::left_paren);
        case ')':
            return one(TokenKind::right_paren);
        case '{':
            return one(TokenKind::left_brace);
        case '}':
            return one(TokenKind::right_brace);
        case '[':
            return one(TokenKind::left_bracket);
        case ']':
            return one(TokenKind::right_bracket);
        case '+':
            return one(TokenKind::plus);
        case '-':
            return one(TokenKind::minus);
        case '*':
            return one(TokenKind::star);
        case '/':
            return one(TokenKind::slash);
        case '%':
            return one(TokenKind::percent);
        case '~':
            return one(TokenKind::tilde);
        case '^':
            return one(TokenKind::caret);
        case '=':
            return d == '=' ? two(TokenKind::equal) : one(TokenKind::assign);
        case '!':
            return d == '=' ? two(TokenKind::not_equal) : one(TokenKind::exclamation);
        case '&':
            return d == '&' ? two(TokenKind::logical_and) : one(TokenKind::ampersand);
        case '|':
            return d == '|' ? two(TokenKind::logical_or) : one(TokenKind::bar);
        case '<':
            if (d == '<') return two(TokenKind::shift_left);
            return d == '=' ? two(TokenKind::less_equal) : one(TokenKind::less);
        case '>':
            if (d == '>') return two(TokenKind::shift_right);
            return d == '=' ? two(TokenKind::greater_equal) : one(TokenKind::greater);
        default:
            return bad_token(lexer);
    }
}

}  // namespace

Token next_token(Lexer& lexer) {
    pass_blanks(lexer);
    if (lexer.position >= lexer.text.size()) return finish(lexer, TokenKind::end, lexer.position);
    const char c = lexer.text[lexer.position];
    const char d = byte_at(lexer, lexer.position + 1);
    const bool begins_identifier =
        is_letter(c) || c == '_' || ((c == '$' || c == '%') && is_follower(d));
    if (begins_identifier) {
        size_t end = lexer.position + 1;
        while (is_follower(byte_at(lexer, end))) ++end;
        return finish(lexer, TokenKind::identifier, end);
    }
    if (is_digit(c)) return number_token(lexer);
    if (c == '.' && is_digit(d) && at_fraction(lexer)) return number_token(lexer);
    if (c == '.' && is_follower(d)) return modifier_token(lexer);
    if (c == '"') return string_token(lexer);
    return punctuation_token(lexer);
}

std::string quote(std::string_view text) {
    constexpr size_t longest = 48;
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string result = "'";
    for (const char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7F) {
            result += c;
        } else {
            result += "\\x";
            result += hex[byte >> 4];
            result += hex[byte & 15];
        }
    }
    if (text.size() > longest) result += "...";
    return result + "'";
}

}  // namespace lockwarp::ptx
