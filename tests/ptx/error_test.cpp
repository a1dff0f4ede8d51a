// SPDX-License-Identifier: Apache-2.0
// Errors with their exact places, and how the parser goes on behind them.
#include <gtest/gtest.h>

#include <set>

#include "tests/ptx/support.hpp"

namespace lockwarp::ptx {
namespace {

std::string header_errors_of(std::string_view text) { return messages(parse(text).diagnostics); }

TEST(Errors, Header) {
    EXPECT_EQ(header_errors_of(""), "1:1: Missing .version directive at start of file\n");
    EXPECT_EQ(header_errors_of(".target sm_90a\n.entry k(){}"),
              "1:1: Missing .version directive at start of file\n");
    EXPECT_EQ(header_errors_of(".version 9.0\n.entry k(){}"),
              "2:1: Missing .target directive at start of file\n");
    EXPECT_EQ(header_errors_of("\n .entry k(){}"),
              "2:2: Missing .version directive at start of file\n"
              "2:2: Missing .target directive at start of file\n");
    EXPECT_EQ(header_errors_of(".version 9.0\n.version 9.0\n.target sm_90a\n"),
              "2:1: Duplicate .version directive\n");
    EXPECT_EQ(header_errors_of(".version 9\n.target sm_90a\n"),
              "1:10: expected a version after '.version'\n");
    EXPECT_EQ(header_errors_of(".version 99999999999.0\n.target sm_90a\n"),
              "1:10: expected a version after '.version'\n");
    EXPECT_EQ(header_errors_of(".version 9.0\n.target sm_90a\n.address_size 48\n"),
              "3:15: Illegal value for .address_size directive (must be 32 or 64)\n");
    EXPECT_EQ(errors_of(".version 9.0\n.target sm_80\n.address_size 32\n"),
              "4:1: Duplicate .version directive\n"
              "5:1: Duplicate .target directive\n"
              "6:1: Duplicate .address_size directive\n");
}

TEST(Errors, Statements) {
    const struct {
        std::string_view body;  // on line 5
        std::string_view expected;
    } cases[] = {
        {"ret", "5:4: expected ';' after 'ret'\n"},
        {"mov.b32 a, b", "5:13: expected ';' after the operands of 'mov'\n"},
        {"mov a b;", "5:7: expected ';' after the operands of 'mov'\n"},
        {"mov a,;", "5:7: expected an operand\n"},
        {"mov a, b,\nret c;", "6:5: expected ';' after the operands of 'mov'\n"},
        {"ld a, [b;", "5:9: expected ']' after the address\n"},
        {"ld a, [];", "5:8: expected an address after '['\n"},
        {"ld a, [{b}];", "5:8: an address begins with a name or an integer\n"},
        {"ld a, b[2];", "5:7: Array indexing on non-array\n"},
        {"ld a, b[%r1];", "5:7: Array indexing on non-array\n"},
        {"mov a, b[1.5];", "5:13: an array's index must be an integer\n"},
        {"mov a, b[%r1*2];", "5:13: expected ']' after an array's index\n"},
        {"mov a, b[];", "5:10: expected a constant\n"},
        {"mov a, b[0;", "5:11: expected ']' after an array's index\n"},
        {"mov {a, b;", "5:10: expected '}' after the operands\n"},
        {"mov {a, ], c}, d;", "5:9: expected an operand\n"},
        {"call (a, f;", "5:11: expected ')' after the operands\n"},
        {"mov a, !b+4;", "5:8: a negated predicate has no offset\n"},
        {"mov a, 089;", "5:8: malformed number '089'\n"},
        {"mov a, 0f12;", "5:8: malformed number '0f12'\n"},
        {"mov a, \"b\";", "5:8: expected an operand\n"},
        {"mov a, \x01;", "5:8: unexpected character '\\x01'\n5:9: expected an operand\n"},
        {"mov a, 18446744073709551616;",
         "5:8: the integer '18446744073709551616' does not fit in 64 bits\n"},
        {"@ret;", "5:5: expected an instruction\n"},
        {"@!;", "5:3: expected a predicate after '@'\n"},
        {"@!1 ret;", "5:3: expected a predicate after '@'\n"},
        {"@p { ret; }", "5:4: a guard stands before one instruction, not before a block\n"},
        {"[a];", "5:1: expected a statement\n"},
        {"_: ret;", "5:1: a label has a name, not '_'\n"},
        {".foo 3;", "5:1: unexpected directive '.foo' in a function\n"},
        {".extern .shared .b8 x[];", "5:1: unexpected directive '.extern' in a function\n"},
        {".branchtargets A;", "5:1: '.branchtargets' needs a label before it\n"},
        {"T: .branchtargets A<0>;", "5:21: the range of 'A' is not between 1 and 1048576\n"},
        {"T: .branchtargets A<2;", "5:22: expected '>' after the range\n"},
        {"T: .branchtargets ;", "5:19: expected a label after '.branchtargets'\n"},
        {"T: .calltargets 4;", "5:17: expected a function after '.calltargets'\n"},
        {"P: .callprototype (.param .b32 _);",
         "5:34: expected '_' in place of the function's name\n"},
        {".pragma nounroll;", "5:9: expected a string after '.pragma'\n"},
        {".loc 1 2;", "5:9: expected a column number\n"},
        {".loc 1 2 = 3;", "5:10: expected a column number\n"},
        {".loc 1 2 3, x y;", "5:13: expected 'function_name' after ',' of '.loc'\n"},
        {".loc 1 2 3, + y;", "5:13: expected 'function_name' after ',' of '.loc'\n"},
        {".reg .b32 r<4000000000>;", "5:13: the range of 'r' is not between 1 and 1048576\n"},
        {".reg .b32 r<0>;", "5:13: the range of 'r' is not between 1 and 1048576\n"},
        {".reg .b32 r<x>;", "5:13: expected a number after '<'\n"},
        {".reg .b32 r<4;", "5:14: expected '>' after the range\n"},
        {".shared .b32 r<1048577>;", "5:16: the range of 'r' is not between 1 and 1048576\n"},
        {".shared .b32 r<2>[4];", "5:14: 'r' has a range, and so no more than that\n"},
        {".local .b32 r<2> = 5;", "5:13: 'r' has a range, and so no more than that\n"},
        {".reg .b32;", "5:10: expected a name in the declaration\n"},
        {".reg r;", "5:6: expected a type in the declaration\n"},
        {".reg u32 r;", "5:6: expected a type in the declaration\n"},
        {".reg .b32 a b;", "5:13: expected ';' after the declaration of 'a'\n"},
        {".reg .b32 .v4 a;", "5:11: '.v4' stands before the type, not after it\n"},
        {".reg .global .b32 a;", "5:6: Multiple state spaces specified\n"},
        {".reg .visible .b32 a;", "5:6: a linking directive stands before the state space\n"},
        {".shared .align 3 .b8 a[4];", "5:9: Alignment must be a power of two\n"},
        {".shared .b8 a[-1];", "5:15: an array size must be an integer that is not negative\n"},
        {".shared .b8 a[4;", "5:16: expected ']' after the array size\n"},
        {".align 4 .b32 a;", "5:10: a declaration without a state space\n"},
        // What stands behind the error in its statement is passed over.
        {".shared .b8 a[-1 4;", "5:15: an array size must be an integer that is not negative\n"},
        {".reg .abcdefghijklmnopqrstuvwxyz0123456 3;",
         "5:6: unknown type '.abcdefghijklmnopqrstuvwxyz0123456'\n"},
        {"mov a b\n.u32 c;", "5:7: expected ';' after the operands of 'mov'\n"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(errors_of(".entry k() {\n" + std::string(c.body) + "\n}\n.global .b32 y;\n"),
                  c.expected)
            << c.body;
    }
}

TEST(Errors, ModuleItems) {
    const struct {
        std::string_view text;  // from line 4 on
        std::string_view expected;
    } cases[] = {
        {"mov.b32 a, b;", "4:1: expected a directive outside of functions\n"},
        {"}", "4:1: unexpected '}' outside of functions\n"},
        {".foo 3;", "4:1: unexpected directive '.foo' outside of functions\n"},
        {".visible 3;", "4:10: expected a function or variable after '.visible'\n"},
        {".entry (){ret;}", "4:8: expected a function name after '.entry'\n"},
        {".entry k(.param .u32 a,){ret;}", "4:24: expected a parameter\n"},
        {".entry k(.param .u32 a){ret;} {ret;}",
         "4:31: expected a directive outside of functions\n"},
        {".entry k(.param .u32 a .param .u32 b){ret;}",
         "4:24: expected ')' after the parameters\n"},
        {".func f(.reg .b32 a<4>) {ret;}", "4:19: a parameter has no range\n"},
        {".entry k() .maxntid {ret;}", "4:21: expected a number\n"},
        {".entry k() .maxntid 1,2,3,4 {ret;}",
         "4:26: expected '{' or ';' after the head of function 'k'\n"},
        {".entry k() .global .b32 y; {ret;}",
         "4:12: expected '{' or ';' after the head of function 'k'\n"
         "4:28: expected a directive outside of functions\n"},
        {".func .noreturn f();", "4:7: expected a function name after '.func'\n"},
        {".global .b32 x = ;", "4:18: expected an initial value\n"},
        {".global .b32 x = {1,};", "4:21: expected an initial value\n"},
        {".global .b32 x = {1,2;", "4:22: expected '}' after the initial values\n"},
        {".global .b32 x = 0(f);", "4:18: the mask of an address must not be 0\n"},
        {".global .b32 x = generic(1);", "4:26: expected a name in the initial value\n"},
        {".global .b32 x = generic(f;", "4:27: expected ')' after generic(name\n"},
        {".global .b32 x\n.global .b32 y;", "4:15: expected ';' after the declaration of 'x'\n"},
        {".alias f;", "4:9: expected ',' between the functions of '.alias'\n"},
        {".section 3 {}", "4:10: expected a section name after '.section'\n"},
        {".file \"a\"", "4:7: expected a file number\n"},
        {".file 1 \"a\n.global .b32 x;",
         "4:9: the string is not closed: expected '\"' on this line\n"
         "5:1: expected a string after '.file'\n"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(errors_of(std::string(c.text) + "\n.global .b32 z;\n"), c.expected) << c.text;
    }
}

TEST(Errors, TheTextEndsTooEarly) {
    EXPECT_EQ(errors_of(".visible .entry k()\n{\n ret;"),
              "6:6: the text ends inside function 'k' (opened at line 5): expected '}'\n");
    EXPECT_EQ(errors_of(".func f() { { mov.b32 a"),
              "4:24: the text ends inside function 'f' (opened at line 4): expected '}'\n");
    EXPECT_EQ(errors_of(".global .b32 x"),
              "4:15: the text ends too early: expected ';' after the declaration of 'x'\n");
    EXPECT_EQ(errors_of(".section .debug_x { .b8 1"),
              "4:26: the text ends too early: expected '}'\n");
    EXPECT_EQ(errors_of("/* x"), "4:1: the comment is not closed: expected '*/'\n");
}

TEST(Errors, AFunctionThatIsNotClosed) {
    EXPECT_EQ(errors_of(".entry k() {\n ret;\n.visible .entry j() {\n mov a b;\n}\n"),
              "6:1: function 'k' (opened at line 4) is not closed: expected '}' before "
              "'.visible'\n"
              "7:8: expected ';' after the operands of 'mov'\n");
    // Nor are the blocks in it, which is said once.
    EXPECT_EQ(errors_of(".entry k() {\n { {\n ret;\n.entry j() {\n mov a b;\n}\n"),
              "7:1: function 'k' (opened at line 4) is not closed: expected '}' before '.entry'\n"
              "8:8: expected ';' after the operands of 'mov'\n");
}

// Another function, which is read.
TEST(Errors, WhatStandsBehindTheHeadOfAFunctionThatIsNotClosed) {
    const Parsed parsed =
        parse(std::string(header) + ".entry k(.param .u32 a,\n.visible .entry j() { ret; }\n");
    EXPECT_EQ(messages(parsed.diagnostics),
              "5:1: a linking directive stands before the state space\n");
    ASSERT_EQ(parsed.module.items.size(), 1u);
    EXPECT_EQ(std::get<Function>(parsed.module.items[0]).name, "j");
}

TEST(Errors, SeveralAreReportedAndTheRestIsKept) {
    const Parsed parsed = parse(std::string(header) +
                                ".entry k() {\n.reg .b32 a, b\n mov.b32 a, b\n add a b;\n"
                                " mov {a, #, c}, d;\n sub a, b;\n}\n.global .b32 x;\n");
    EXPECT_EQ(messages(parsed.diagnostics),
              "5:15: expected ';' after the declaration of 'b'\n"
              "6:14: expected ';' after the operands of 'mov'\n"
              "7:8: expected ';' after the operands of 'add'\n"
              "8:10: unexpected character '#'\n"
              "8:11: expected an operand\n");
    // What is missing at the end of a line is one character.
    EXPECT_EQ(parsed.diagnostics[0].place.length, 1u);
    ASSERT_EQ(parsed.module.items.size(), 2U);
    const std::vector<Statement>& body = std::get<Function>(parsed.module.items[0]).body.body;
    ASSERT_EQ(body.size(), 4U);
    EXPECT_EQ(std::get<Instruction>(body[2].node).opcode, "mov");
    EXPECT_EQ(std::get<Instruction>(body[3].node).opcode, "sub");
}

TEST(Errors, HintsHelp) {
    const Parsed parsed = parse(std::string(header) +
                                ".entry k() { .shared .u32 v[4]; add.u32 a, b, v[2]; mul a b; }");
    ASSERT_EQ(parsed.diagnostics.size(), 2U);
    EXPECT_EQ(parsed.diagnostics[0].hint, "move its address to a register, and use that");
    EXPECT_EQ(parsed.diagnostics[1].hint, "found 'b'");
    const Parsed directives =
        parse(std::string(header) + ".entry k() { .extern .shared .b8 x[]; .foo 3; }");
    ASSERT_EQ(directives.diagnostics.size(), 2U);
    EXPECT_EQ(directives.diagnostics[0].hint, "a linked variable is declared outside functions");
    EXPECT_EQ(directives.diagnostics[1].hint, "");
}

TEST(Errors, AtMostOneHundred) {
    std::string text(header);
    text += ".entry k() {\n";
    for (int i = 0; i < 1000; ++i) text += "mov a b;\n";
    const Parsed parsed = parse(text + "}\n");
    EXPECT_EQ(parsed.diagnostics.size(), max_diagnostics);
    std::set<uint32_t> lines;
    for (const Diagnostic& diagnostic : parsed.diagnostics) lines.insert(diagnostic.place.line);
    EXPECT_EQ(lines.size(), max_diagnostics);
    EXPECT_EQ(*lines.begin(), 5U);
}

}  // namespace
}  // namespace lockwarp::ptx
