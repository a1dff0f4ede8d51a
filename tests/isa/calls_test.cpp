// SPDX-License-Identifier: Apache-2.0
// What a call passes and which functions may come back: the words for what is wrong, values as they
// are handed over, and recursion beside its plain definition.
#include <algorithm>
#include <bit>
#include <random>

#include "emu/isa/resolver.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

// On line 4. `f` takes 4 and 8 bytes and gives 4; `wide` takes 16 bytes of .param.
constexpr std::string_view functions =
    ".func (.reg .b32 r) f(.reg .b32 a, .reg .b64 b) { ret; } .func g() { ret; } "
    ".func wide(.param .align 8 .b8 a[16]) { ret; } .func nine(.param .b8 a[9]) { ret; } "
    ".shared .b32 sh[8];";

// The call itself stands on line 7.
std::string error_of(std::string_view call) {
    return errors_of(
        ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; "
        ".param .align 8 .b8 blob[16]; .param .b32 word; L: .callprototype _ (.param .b32 x);\n" +
            std::string(call),
        functions);
}

TEST(Calls, WhatTheyTake) {
    for (const std::string_view call :
         {"call (%r1), f, (%r2, %rd1);", "call (_), f, (%r2, %rd1);", "call (%f1), f, (%f2, %rd1);",
          "call (word), f, (word, %rd1);", "call (%r1), f, (5, -7);",
          "call (%r1), f, (0f3f800000, 0.5);", "call g;", "call g, ();", "call (), g, ();",
          "call.uni g;", "call wide, (blob);", "call %rd1, (%r1), L;",
          "call (%r1), vprintf, (%rd1, %rd2);", "call (%rd1), malloc, (%rd2);",
          "call free, (%rd1);", "call __assertfail, (%rd1, %rd2, %r1, %rd3, %rd4);"})
        EXPECT_EQ(error_of(call), "") << call;
}

TEST(Calls, WhatIsWrongWithThem) {
    const std::string what =
        " (a register, a constant or a .param variable of this function is expected)\n";
    const std::string mismatch = "Arguments mismatch for instruction 'call'";
    const std::string size = "Argument size mismatch for instruction 'call'";
    const std::string lists = " ((results), function, (arguments), prototype)\n";
    const std::string table = "An indirect call needs a .calltargets or .callprototype label\n";
    const std::pair<std::string_view, std::string> rows[] = {
        // How many.
        {"call (%r1), f, (%r2);",
         "7:16: Argument count mismatch for instruction 'call' (2 expected, 1 given)\n"},
        {"call (%r1), f, (%r2, %rd1, %r3);",
         "7:16: Argument count mismatch for instruction 'call' (2 expected, 3 given)\n"},
        {"call (%r1), f;",
         "7:1: Argument count mismatch for instruction 'call' (2 expected, 0 given)\n"},
        {"call f, (%r2, %rd1);",
         "7:1: Return value count mismatch for instruction 'call' (1 expected, 0 given)\n"},
        {"call (%r1, %r2), f, (%r2, %rd1);",
         "7:6: Return value count mismatch for instruction 'call' (1 expected, 2 given)\n"},
        {"call g, (%r1);",
         "7:9: Argument count mismatch for instruction 'call' (0 expected, 1 given)\n"},
        {"call (%r1), free, (%rd1);",
         "7:6: Return value count mismatch for instruction 'call' (0 expected, 1 given)\n"},
        {"call malloc, (%rd1);",
         "7:1: Return value count mismatch for instruction 'call' (1 expected, 0 given)\n"},
        // How long.
        {"call (%rd1), f, (%r2, %rd1);", "7:7: " + size + " (4 bytes expected, 8 given)\n"},
        {"call (%r1), f, (%r2, %r3);", "7:22: " + size + " (8 bytes expected, 4 given)\n"},
        {"call (%r1), f, (%h1, %rd1);", "7:17: " + size + " (4 bytes expected, 2 given)\n"},
        {"call (%r1), f, (blob, %rd1);", "7:17: " + size + " (4 bytes expected, 16 given)\n"},
        {"call wide, (%rd1);", "7:13: " + size + " (16 bytes expected, 8 given)\n"},
        {"call wide, (5);", "7:13: " + size + "\n"},
        {"call nine, (5);", "7:13: " + size + "\n"},
        {"call (%r1), vprintf, (%r1, %rd2);", "7:23: " + size + " (8 bytes expected, 4 given)\n"},
        {"call __assertfail, (%rd1, %rd2, %rd5, %rd3, %rd4);",
         "7:33: " + size + " (4 bytes expected, 8 given)\n"},
        // What.
        {"call (5), f, (%r2, %rd1);", "7:7: " + mismatch + what},
        {"call (%r1), f, (%p1, %rd1);", "7:17: " + mismatch + what},
        {"call (%r1), f, (sh, %rd1);", "7:17: " + mismatch + what},
        {"call (%r1), f, (%q, %rd1);", "7:17: Unknown symbol '%q'\n"},
        // Whom.
        {"call k;", "7:6: An entry cannot be called: 'k'\n"},
        {"call nowhere;", "7:6: Unresolved extern function 'nowhere'\n"},
        {"call sh;", "7:6: " + mismatch + "\n"},
        {"call %r1, (%r2), L;", "7:6: " + mismatch + "\n"},
        {"call %rd1, (%r2);", "7:1: " + table},
        {"call %rd1, (%r2), sh;", "7:19: " + table},
        {"call 5;", "7:1: " + mismatch + lists},
        {"call (%r1), f, (%r2, %rd1), (%r3);", "7:1: " + mismatch + lists},
        {"call f, (%r2, %rd1), (%r3);", "7:1: " + mismatch + lists},
        {"call (%r1);", "7:1: " + mismatch + lists},
    };
    for (const auto& [call, words] : rows) EXPECT_EQ(error_of(call), words) << call;
}

// As ptxas 13.0 has it: a module may declare them without their result.
TEST(Calls, FunctionsOfTheSystemGiveWhatTheModuleDeclares) {
    const auto error = [](std::string_view results, std::string_view call) {
        return errors_of(
            ".reg .b32 %r1; .reg .b64 %rd<3>;\n" + std::string(call),
            ".extern .func " + std::string(results) + " vprintf(.param .b64 f, .param .b64 a);");
    };
    const std::string mismatch = "7:1: Return value count mismatch for instruction 'call'";
    EXPECT_EQ(error("", "call vprintf, (%rd1, %rd2);"), "");
    EXPECT_EQ(error("(.param .b32 r)", "call vprintf, (%rd1, %rd2);"),
              mismatch + " (1 expected, 0 given)\n");
    EXPECT_EQ(error("", "call (%r1), vprintf, (%rd1, %rd2);"),
              "7:6: Return value count mismatch for instruction 'call' (0 expected, 1 given)\n");
}

// The results and parameters of a function, and its own parameters, which it may not write.
TEST(Calls, FormalsOfAFunction) {
    const auto error = [](std::string_view function) { return errors_of("call f;", function); };
    EXPECT_EQ(error(".func f(.reg .b32 a, .reg .b32 a) { ret; }"),
              "4:32: Duplicate definition of variable 'a'\n"
              "6:1: Argument count mismatch for instruction 'call' (2 expected, 0 given)\n");
    for (const std::string_view bad : {".reg .pred a", ".reg .v2 .b32 a", ".reg .b128 a"}) {
        const std::string said = error(".func f(" + std::string(bad) + ") { ret; }");
        EXPECT_NE(said.find("Parameter 'a' has no usable size or alignment\n"), std::string::npos)
            << bad << ": " << said;
    }
    const auto frame = [](std::string_view bytes) {
        const std::string said =
            errors_of("ret;",
                      ".func g(); .visible .func h() { call g; ret; } .func g() { "
                      "ret; } .func f(.param .b8 a[" +
                          std::string(bytes) + "]) { ret; } .global .b64 t = f;");
        return said.find("Parameter 'a' has no usable size") != std::string::npos;
    };
    EXPECT_FALSE(frame("32764"));
    EXPECT_TRUE(frame("32765"));
}

uint64_t constant_of(const Program& p, Ref ref) {
    for (const Constant& c : p.constants)
        if (c.ref == ref) return c.value;
    ADD_FAILURE() << "no constant at " << ref;
    return 0;
}

TEST(Calls, ConstantsAreHandedOverInTheParametersWidth) {
    const struct {
        std::string_view type, given;
        uint64_t value;
        uint32_t bytes;
    } rows[] = {
        {".b32", "5", 5, 4},
        {".b64", "-1", UINT64_MAX, 8},
        {".b64", "0x123456789abcdef0", 0x123456789abcdef0, 8},
        {".b16", "0x12345", 0x2345, 2},
        {".b16", "-1", 0xffff, 2},
        {".b8", "0x1ff", 0xff, 1},
        {".f32", "0f3fc00000", 0x3fc00000, 4},
        {".f32", "1.5", 0x3fc00000, 4},
        {".f64", "1.5", 0x3ff8000000000000, 8},
        {".f64", "0d4000000000000000", 0x4000000000000000, 8},
    };
    for (const auto& row : rows) {
        const Program p = program_of("call f, (" + std::string(row.given) + ");",
                                     ".func f(.reg " + std::string(row.type) + " a) { ret; }");
        ASSERT_EQ(p.calls.size(), 1u);
        ASSERT_EQ(p.calls[0].arguments.size(), 1u);
        EXPECT_EQ(constant_of(p, p.calls[0].arguments[0].ref), row.value) << row.given;
        EXPECT_EQ(p.calls[0].arguments[0].bytes, row.bytes) << row.given;
        EXPECT_EQ(p.calls[0].function, 1u);
    }
    // By a pointer nothing says how wide it is: an f64 stands in 64 bits, all else in 32.
    const Program p = program_of(
        ".reg .b64 %rd<2>; L: .callprototype _ (.param .b32 a);\n"
        "call %rd1, (5), L; call %rd1, (1.5), L; call %rd1, (0f3fc00000), L;");
    ASSERT_EQ(p.calls.size(), 3u);
    const std::array<std::pair<uint64_t, uint32_t>, 3> values{
        {{5, 4}, {0x3ff8000000000000, 8}, {0x3fc00000, 4}}};
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(constant_of(p, p.calls[i].arguments[0].ref), values[i].first);
        EXPECT_EQ(p.calls[i].arguments[0].bytes, values[i].second);
        EXPECT_NE(p.calls[i].pointer, no_ref);
        EXPECT_EQ(p.calls[i].function, UINT32_MAX);
    }
}

// Those that the entry names, then those that these name; from tables and initial values too.
TEST(Calls, FunctionsOfAProgramInTheOrderOfTheirNames) {
    const Resolved r = resolved(
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        ".func a(); .func b();\n"
        ".func unused() { call a; ret; }\n"
        ".func a() { ret; }\n.func b() { { call a; } ret; }\n.func c() { call b; ret; }\n"
        ".func d() { ret; }\n.func e() { ret; }\n"
        ".global .b64 table[2] = { 0, d };\n"
        ".entry k() { .reg .b64 %d<3>; mov.u64 %d1, e; { call c; } ret; }\n"
        ".entry other() { call a; ret; }\n",
        Arch::sm_90, "k");
    ASSERT_EQ(messages(r.diagnostics), "");
    std::string names;
    for (const Function& f : r.program.functions)
        names += f.name + ":" + std::to_string(f.number) + " ";
    // The numbers are those of the functions with a body in the module, from 1.
    EXPECT_EQ(names, "k:0 d:5 e:6 c:4 b:3 a:2 ");
    EXPECT_EQ(r.program.function_numbered, (std::vector<uint32_t>{0, 0, 5, 4, 3, 1, 2}));
}

// A call by a prototype may come to any function whose address something in the module takes; one
// that is only called is none, nor is one that nothing names.
TEST(Calls, ByAPrototypeToWhatOtherEntriesTake) {
    const auto functions_of = [](const std::string& call) {
        const Resolved r = resolved(
            ".version 9.0\n.target sm_90\n.address_size 64\n"
            ".func inner() { ret; }\n.func taken() { { call inner; } ret; }\n"
            ".func called() { ret; }\n.func unused() { ret; }\n"
            ".func table() { ret; }\n.alias taken_too, table;\n.func taken_too();\n"
            ".entry k() { .reg .b64 %d; mov.u64 %d, 0; " +
                call +
                " ret; }\n"
                ".entry other() { .reg .b64 %d; { mov.u64 %d, taken; } mov.b64 %d, taken_too;\n"
                " call called; ret; }\n",
            Arch::sm_90, "k");
        EXPECT_EQ(messages(r.diagnostics), "");
        std::string names;
        for (const Function& f : r.program.functions) names += f.name + " ";
        return names;
    };
    EXPECT_EQ(functions_of(""), "k ");
    EXPECT_EQ(functions_of("{ P: .callprototype _ (); call %d, P; }"), "k taken table inner ");
    EXPECT_EQ(functions_of("{ T: .calltargets called; call %d, T; }"), "k called ");
}

// Of operands in each place and of tables of functions; not of labels.
TEST(Calls, NamesThatABodyHas) {
    const ptx::Module module =
        ptx::parse(
            ".version 9.0\n.target sm_90\n.address_size 64\n.func f()\n{\n"
            "T: .branchtargets L, M;\nC: .calltargets a, b;\n.pragma \"nounroll\";\n"
            "call (%r), %p, ({ %x }, y), C;\n{ st.b32 [%d+4], -%z; @!%q mov.b64 %w, !v; ld %e|%f, "
            "5; }\n"
            "L: M: ret;\n}\n")
            .module;
    std::string names;
    for (const std::string_view name : names_in(std::get<ptx::Function>(module.items[0]).body))
        names += std::string(name) + " ";
    EXPECT_EQ(names, "a b %r %p %x y C %d %z %w v %e %f ");
}

// A call may come back to its caller where a way of calls leads from the called function to it; one
// by a pointer may lead to any function but the entry.
TEST(Calls, RecursionIsAWayBackToTheCaller) {
    std::mt19937 random(11);
    constexpr size_t n = 6;
    size_t recursive = 0, plain = 0;
    for (int round = 0; round < 120; ++round) {
        std::array<std::array<bool, n>, n> calls{};
        std::array<bool, n> by_pointer{};
        std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n";
        for (size_t f = 1; f < n; ++f) text += ".func f" + std::to_string(f) + "();\n";
        for (size_t f = 0; f < n; ++f) {
            text += f == 0 ? ".entry k() {" : ".func f" + std::to_string(f) + "() {";
            text += " .reg .b64 %d; P: .callprototype _ ();\n";
            by_pointer[f] = random() % 12 == 0;
            if (by_pointer[f]) text += "call %d, P;\n";
            for (size_t g = 1; g < n; ++g) {
                // The entry calls all, so that each is there.
                calls[f][g] = f == 0 || random() % 6 == 0;
                if (calls[f][g]) text += "call f" + std::to_string(g) + ";\n";
            }
            text += "ret; }\n";
        }
        const Resolved r = resolved(text, Arch::sm_90, "k");
        ASSERT_EQ(messages(r.diagnostics), "") << text;
        auto reaches = calls;
        for (size_t f = 0; f < n; ++f)
            for (size_t g = 1; g < n; ++g) reaches[f][g] = reaches[f][g] || by_pointer[f];
        for (size_t via = 0; via < n; ++via)
            for (size_t f = 0; f < n; ++f)
                for (size_t g = 0; g < n; ++g)
                    reaches[f][g] = reaches[f][g] || (reaches[f][via] && reaches[via][g]);
        const auto number = [&](const Function& f) {
            return f.name == "k" ? size_t{0} : static_cast<size_t>(f.name[1] - '0');
        };
        ASSERT_EQ(r.program.functions.size(), n);
        for (const Function& from : r.program.functions) {
            const size_t f = number(from);
            for (uint32_t at = from.first; at < from.end; ++at) {
                const Operation& o = r.program.operations[at];
                if (o.op != Op::call) continue;
                const Call& c = r.program.calls[o.target];
                bool expected = false;
                if (c.pointer != no_ref) {
                    for (size_t g = 1; g < n; ++g) expected |= g == f || reaches[g][f];
                } else {
                    const size_t g = number(r.program.functions[c.function]);
                    expected = g == f || reaches[g][f];
                }
                EXPECT_EQ(c.recursive, expected) << text << from.name;
                ++(expected ? recursive : plain);
            }
        }
    }
    EXPECT_GT(recursive, 150u);
    EXPECT_GT(plain, 300u);
}

}  // namespace
}  // namespace lockwarp::isa
