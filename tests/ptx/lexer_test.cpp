// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/lexer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockwarp::ptx {
namespace {

struct Result {
    std::vector<Token> tokens;
    std::vector<std::string> problems;
};

Result lex(std::string_view text) {
    Result result;
    Lexer lexer;
    lexer.text = text;
    while (true) {
        const Token token = next_token(lexer);
        if (!lexer.problem.empty()) result.problems.push_back(lexer.problem);
        lexer.problem.clear();
        if (token.kind == TokenKind::end) return result;
        result.tokens.push_back(token);
    }
}

std::vector<std::string> texts(std::string_view text) {
    std::vector<std::string> result;
    for (const Token& token : lex(text).tokens) result.emplace_back(token.text);
    return result;
}

using Texts = std::vector<std::string>;

TEST(Lexer, EachModifierIsOneToken) {
    EXPECT_EQ(texts("mma.sync.aligned.m16n8k16.row"),
              (Texts{"mma", ".sync", ".aligned", ".m16n8k16", ".row"}));
    EXPECT_EQ(texts("ld.shared::cta.L2::128B.v4.f32"),
              (Texts{"ld", ".shared::cta", ".L2::128B", ".v4", ".f32"}));
    EXPECT_EQ(texts(".mbarrier::complete_tx::bytes"), (Texts{".mbarrier::complete_tx::bytes"}));
    EXPECT_EQ(texts(".ab:c .d:"), (Texts{".ab", ":", "c", ".d", ":"}));
    EXPECT_EQ(texts(".ab:cd .e:;f"), (Texts{".ab", ":", "cd", ".e", ":", ";", "f"}));
    EXPECT_EQ(texts("tex.1d.16x64b"), (Texts{"tex", ".1d", ".16x64b"}));
}

TEST(Lexer, Identifiers) {
    EXPECT_EQ(texts("%r1 $L__BB0_1 _Z3fooi foo$bar _ %SP $str$1"),
              (Texts{"%r1", "$L__BB0_1", "_Z3fooi", "foo$bar", "_", "%SP", "$str$1"}));
    EXPECT_EQ(texts("L1:ret;"), (Texts{"L1", ":", "ret", ";"}));
    EXPECT_EQ(texts("%tid.x"), (Texts{"%tid", ".x"}));
}

TEST(Lexer, Integers) {
    const struct {
        std::string_view text;
        uint64_t value;
        bool is_unsigned;
    } cases[] = {
        {"0", 0, false},
        {"0U", 0, true},
        {"42", 42, false},
        {"42U", 42, true},
        {"0x1F", 31, false},
        {"0Xff", 255, false},
        {"0x1FU", 31, true},
        {"017", 15, false},
        {"0777U", 511, true},
        {"0b101", 5, false},
        {"0B11U", 3, true},
        {"9223372036854775807", 0x7FFFFFFFFFFFFFFF, false},
        {"9223372036854775808", 0x8000000000000000, true},
        {"0xFFFFFFFFFFFFFFFF", 0xFFFFFFFFFFFFFFFF, true},
        {"18446744073709551615", 0xFFFFFFFFFFFFFFFF, true},
    };
    for (const auto& c : cases) {
        const Result result = lex(c.text);
        ASSERT_EQ(result.tokens.size(), 1U) << c.text;
        EXPECT_TRUE(result.problems.empty()) << c.text;
        EXPECT_EQ(result.tokens[0].kind, TokenKind::integer) << c.text;
        EXPECT_EQ(result.tokens[0].bits, c.value) << c.text;
        EXPECT_EQ(result.tokens[0].is_unsigned, c.is_unsigned) << c.text;
    }
}

TEST(Lexer, FloatingPoint) {
    const struct {
        std::string_view text;
        TokenKind kind;
        uint64_t bits;
    } cases[] = {
        {"0f3F800000", TokenKind::hex_f32, 0x3F800000},
        {"0Fff800000", TokenKind::hex_f32, 0xFF800000},
        {"0d3FF0000000000000", TokenKind::hex_f64, 0x3FF0000000000000},
        {"0DBFF8000000000000", TokenKind::hex_f64, 0xBFF8000000000000},
        {"1.0", TokenKind::decimal, 0x3FF0000000000000},
        {"1.", TokenKind::decimal, 0x3FF0000000000000},
        {".5", TokenKind::decimal, 0x3FE0000000000000},
        {".25e1", TokenKind::decimal, 0x4004000000000000},
        {".25E+1", TokenKind::decimal, 0x4004000000000000},
        {".5e-1", TokenKind::decimal, 0x3FA999999999999A},
        {"1e0", TokenKind::decimal, 0x3FF0000000000000},
        {"1.e1", TokenKind::decimal, 0x4024000000000000},
        {"5e-1", TokenKind::decimal, 0x3FE0000000000000},
        {"0.1", TokenKind::decimal, 0x3FB999999999999A},
        {"0e0", TokenKind::decimal, 0},
    };
    for (const auto& c : cases) {
        const Result result = lex(c.text);
        ASSERT_EQ(result.tokens.size(), 1U) << c.text;
        EXPECT_TRUE(result.problems.empty()) << c.text;
        EXPECT_EQ(result.tokens[0].kind, c.kind) << c.text;
        EXPECT_EQ(result.tokens[0].bits, c.bits) << c.text;
    }
}

TEST(Lexer, MalformedLiteralsAreOneProblemEach) {
    const std::string_view cases[] = {
        "089",
        "12u",
        "12UL",
        "0x",
        "0xG",
        "0b2",
        "0f3F8",
        "0f3F80000000",
        "0d3FF",
        "0fGG",
        "1.5f",
        "1e",
        "1e400",
        "1e-400",
        "12abc",
        "0_1",
        "18446744073709551616",
        "0x10000000000000000",
    };
    for (const std::string_view text : cases) {
        const Result result = lex(text);
        EXPECT_EQ(result.tokens.size(), 1U) << text;
        EXPECT_EQ(result.problems.size(), 1U) << text;
    }
}

TEST(Lexer, PassesOverCommentsAndLines) {
    EXPECT_EQ(texts("a // b\nc /* d\n e */ f"), (Texts{"a", "c", "f"}));
    EXPECT_EQ(texts("# 1 \"x.cu\"\n  #line 3\na"), (Texts{"a"}));
    EXPECT_EQ(texts("@@DWARF .byte 1\n@@dwarf x\na"), (Texts{"a"}));
    EXPECT_EQ(texts("/**/a/***/b"), (Texts{"a", "b"}));
}

TEST(Lexer, Places) {
    const Result result = lex("ab\n\t.cd /*\n*/ efg");
    ASSERT_EQ(result.tokens.size(), 3U);
    const Place first = result.tokens[0].place;
    const Place second = result.tokens[1].place;
    const Place third = result.tokens[2].place;
    EXPECT_EQ((std::vector<uint32_t>{first.line, first.column, first.length}),
              (std::vector<uint32_t>{1, 1, 2}));
    EXPECT_EQ((std::vector<uint32_t>{second.line, second.column, second.length}),
              (std::vector<uint32_t>{2, 2, 3}));
    EXPECT_EQ((std::vector<uint32_t>{third.line, third.column, third.length}),
              (std::vector<uint32_t>{3, 4, 3}));
}

TEST(Lexer, OperatorsAreLongestMatch) {
    EXPECT_EQ(texts("a<<b>>c<=d>=e==f!=g&&h||i<j|k"),
              (Texts{"a",  "<<", "b",  ">>", "c",  "<=", "d", ">=", "e", "==", "f",
                     "!=", "g",  "&&", "h",  "||", "i",  "<", "j",  "|", "k"}));
}

TEST(Lexer, BadBytesAreOneProblemForEachRun) {
    const Result result = lex(std::string_view("a \0\xFF\xFE b $ #", 11));
    EXPECT_EQ(result.problems,
              (std::vector<std::string>{"unexpected character '\\x00'", "unexpected character '$'",
                                        "unexpected character '#'"}));
    for (const char* first : {"\x01", "\x1F", "\x7F", "\x80", "\xFF"})
        for (const char* second : {"\x01", "\x1F", "\x7F", "\x80", "\xFF"})
            EXPECT_EQ(lex(std::string(first) + second).problems.size(), 1u);
}

TEST(Lexer, UnclosedStringAndComment) {
    EXPECT_EQ(lex("\"abc\nd").problems,
              (std::vector<std::string>{"the string is not closed: expected '\"' on this line"}));
    EXPECT_EQ(lex("a /* b *").problems,
              (std::vector<std::string>{"the comment is not closed: expected '*/'"}));
}

TEST(Lexer, QuotedTextIsShortAndPrintable) {
    EXPECT_EQ(quote("mma"), "'mma'");
    EXPECT_EQ(quote("\n\xFF"), "'\\x0A\\xFF'");
    EXPECT_EQ(quote(std::string(100, 'a')), "'" + std::string(48, 'a') + "...'");
    EXPECT_EQ(quote(std::string(49, 'a')), "'" + std::string(48, 'a') + "...'");
    EXPECT_EQ(quote(std::string(48, 'a')), "'" + std::string(48, 'a') + "'");
}

}  // namespace
}  // namespace lockwarp::ptx
