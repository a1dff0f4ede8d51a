// SPDX-License-Identifier: Apache-2.0
// Which values depend on where memory lies: the lines that end in //* do, the others do not.
#include "validate/places.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <sstream>
#include <string>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"

namespace {

using namespace lockwarp;

std::set<uint32_t> marked_lines(const std::string& text) {
    std::set<uint32_t> out;
    std::istringstream lines(text);
    uint32_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.ends_with("//*")) out.insert(number);
    }
    return out;
}

void expect_marked(const std::string& text) {
    const ptx::Parsed parsed = ptx::parse(text);
    ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message << "\n" << text;
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    ASSERT_TRUE(resolved.diagnostics.empty())
        << resolved.diagnostics[0].place.line << ": " << resolved.diagnostics[0].message << "\n"
        << text;
    const std::vector<bool> depends = validate::depends_on_place(resolved.program, parsed.module);
    ASSERT_EQ(depends.size(), resolved.program.operations.size());
    const std::set<uint32_t> wanted = marked_lines(text);
    std::set<uint32_t> found;
    for (size_t i = 0; i < depends.size(); ++i)
        if (depends[i] && resolved.program.operations[i].written != 0)
            found.insert(resolved.program.operations[i].place.line);
    for (const uint32_t line : wanted) EXPECT_TRUE(found.contains(line)) << "not line " << line;
    for (const uint32_t line : found) EXPECT_TRUE(wanted.contains(line)) << "line " << line;
    if (wanted != found) ADD_FAILURE() << text;
}

// The module's variables, then the entry's body.
std::string kernel(const std::string& variables, const std::string& body) {
    return ".version 8.3\n.target sm_80\n.address_size 64\n" + variables +
           ".visible .entry k(.param .u64 out)\n{\n"
           ".local .align 8 .b8 frame[64];\n"
           ".reg .b64 %a<40>; .reg .b32 %r<40>; .reg .pred %p<4>; .reg .f64 %f<4>;\n" +
           body + "ret;\n}\n";
}

// As the head of a list that threads put their nodes before.
TEST(Places, OfWhatIsExchangedInMemory) {
    const std::string variables = ".global .align 8 .b64 head; .global .align 8 .b64 node[2];\n";
    expect_marked(kernel(variables,
                         "ld.param.u64 %a1, [out];\n"
                         "mov.u64 %a2, node; //*\n"
                         "atom.global.exch.b64 %a3, [head], %a2; //*\n"
                         "atom.global.cas.b64 %a4, [head], 0, 7; //*\n"
                         "atom.global.add.u64 %a5, [%a1], 1;\n"
                         "atom.global.exch.b32 %r1, [%a1+8], 1;\n"
                         "atom.shared.exch.b64 %a6, [16], 1;\n"
                         "add.u64 %a7, %a3, 8; //*\n"));
    // By the value that cas puts there, and that it compares with.
    expect_marked(kernel(variables,
                         "mov.u64 %a2, node; //*\n"
                         "atom.global.cas.b64 %a3, [head], 0, %a2; //*\n"
                         "ld.global.u64 %a4, [head]; //*\n"));
    // Through which it goes does not matter.
    expect_marked(kernel(variables,
                         "atom.global.exch.b64 %a3, [head], 1;\n"
                         "atom.global.cas.b64 %a4, [head], 1, 2;\n"
                         "ld.global.u64 %a5, [head];\n"));
}

TEST(Places, OfVariablesAndWhatIsComputedFromThem) {
    expect_marked(
        kernel(".global .align 8 .b64 counter;\n"
               ".const .align 8 .b64 fixed[2] = {1, 2};\n"
               ".shared .align 8 .b8 tile[64];\n",
               "ld.param.u64 %a1, [out];\n"
               "mov.u64 %a2, counter; //*\n"
               "mov.u64 %a3, fixed; //*\n"
               "mov.u64 %a4, tile;\n"  // where shared variables lie is known
               "mov.u64 %a5, frame; //*\n"
               "mov.u64 %a6, %a1;\n"
               "mov.u64 %a7, counter+8; //*\n"
               "add.u64 %a8, %a2, 8; //*\n"
               "add.u64 %a9, %a4, 8;\n"
               "sub.u64 %a10, %a1, %a3; //*\n"
               "setp.eq.u64 %p1|%p2, %a8, 0; //*\n"
               "setp.eq.u64 %p3, %a9, 0;\n"
               "selp.u32 %r1, 1, 2, %p2; //*\n"
               "selp.u32 %r2, 1, 2, %p3;\n"
               "cvt.u32.u64 %r3, %a5; //*\n"
               "mov.b64 {%r4, %r5}, %a5; //*\n"
               "mov.b64 {%r6, %r7}, %a4;\n"
               "add.u32 %r8, %r5, 1; //*\n"
               "add.u32 %r9, %r7, 1;\n"
               "mov.b64 %a11, {%r9, %r4}; //*\n"
               "ld.global.u64 %a12, [%a2];\n"  // no address was put there
               "ld.const.u64 %a13, [%a3];\n"
               "ld.local.u64 %a14, [%a5];\n"
               "ld.u64 %a15, [%a1];\n"
               "isspacep.global %p3, %a2;\n"
               "atom.global.add.u64 %a16, [%a2], 1;\n"
               "cvt.rn.f64.u64 %f1, %a2; //*\n"));
    // What is read beside an address stays what it was.
    expect_marked(kernel(".global .align 8 .b64 counter;\n",
                         "ld.param.u64 %a1, [out];\n"
                         "mov.u64 %a2, counter; //*\n"
                         "add.u64 %a3, %a1, %a2; //*\n"
                         "add.u64 %a4, %a2, %a1; //*\n"
                         "add.u64 %a5, %a1, 8;\n"));
}

// However far away the address is made, and whatever stands first.
TEST(Places, InAnyOrderOfTheInstructions) {
    expect_marked(kernel(".global .align 8 .b64 counter;\n",
                         "add.u64 %a4, %a3, 1; //*\n"
                         "add.u64 %a3, %a2, 1; //*\n"
                         "add.u64 %a2, %a1, 1; //*\n"
                         "mov.u64 %a1, counter; //*\n"
                         "add.u64 %a5, %a6, 1;\n"
                         "mov.u64 %a1, 7; \n"));
}

TEST(Places, OfConvertedAddresses) {
    expect_marked(
        kernel(".global .align 8 .b64 counter;\n"
               ".shared .align 8 .b8 tile[64];\n",
               "ld.param.u64 %a1, [out];\n"
               "mov.u64 %a2, tile;\n"
               "cvta.global.u64 %a3, %a1;\n"
               "cvta.shared.u64 %a4, %a2; //*\n"
               "cvta.local.u64 %a5, %a1; //*\n"
               "cvta.const.u64 %a6, %a1; //*\n"
               "cvta.global.u64 %a7, counter; //*\n"
               "cvta.global.u64 %a8, %a7; //*\n"
               "cvta.shared.u64 %a9, tile; //*\n"
               "cvta.to.global.u64 %a10, %a1;\n"
               "cvta.to.global.u64 %a11, %a7; //*\n"
               "cvta.to.shared.u64 %a12, %a4;\n"  // as the shared variable's own
               "cvta.to.shared.u64 %a13, %a1;\n"
               "cvta.to.local.u64 %a14, %a5; //*\n"
               "cvta.to.local.u64 %a15, %a1;\n"
               "cvta.to.const.u64 %a16, %a6; //*\n"
               "add.u64 %a17, %a12, 1;\n"
               "add.u64 %a18, %a3, 1;\n"
               "add.u64 %a19, %a4, 1; //*\n"));
}

TEST(Places, OfTheStack) {
    expect_marked(kernel("",
                         "stacksave.u64 %a1; //*\n"
                         "alloca.u64 %a2, 16; //*\n"
                         "alloca.u64 %a3, 16, 8; //*\n"
                         "mov.u64 %a4, 16;\n"
                         "stackrestore.u64 %a1;\n"));
}

struct Access {
    const char* space;
    int memory;  // 0 local, 1 shared, 2 global, 3 constant; 4: any
};

// What is stored to a state space comes back from it, and from a generic address; a load brings it
// where it has room for an address.
TEST(Places, ThroughMemory) {
    constexpr auto spaces = std::to_array<Access>(
        {{".local", 0}, {".shared", 1}, {".global", 2}, {".const", 3}, {"", 4}});
    struct Type {
        const char* name;
        const char* reg;
        bool brings;
    };
    constexpr auto types = std::to_array<Type>({{".u64", "%a9", true},
                                                {".b64", "%a9", true},
                                                {".s64", "%a9", true},
                                                {".v2.u64", "{%a9, %a10}", true},
                                                {".f64", "%f1", false},
                                                {".u32", "%r9", false},
                                                {".b32", "%r9", false}});
    for (const Access& to : spaces)
        for (const bool stores_address : {false, true}) {
            if (to.memory == 3) continue;
            std::string loads;
            for (const Access& from : spaces) {
                // No store reaches constant memory; a generic one may be thought to.
                if (from.memory == 3 && to.memory == 4) continue;
                const bool meets = to.memory == from.memory || to.memory == 4 || from.memory == 4;
                for (const Type& type : types)
                    loads += std::string("ld") + from.space + type.name + " " + type.reg +
                             ", [%a1]; " + (stores_address && meets && type.brings ? "//*" : "") +
                             "\n";
            }
            loads += "ld.param.u64 %a11, [out];\n";
            const std::string stored = stores_address ? "%a2" : "%a1";
            for (const std::string& store :
                 {"st" + std::string(to.space) + ".u64 [%a1], " + stored + ";\n",
                  "st" + std::string(to.space) + ".v2.u64 [%a1], {%a3, " + stored + "};\n"})
                // Behind the loads, and before them.
                for (const bool first : {false, true})
                    expect_marked(kernel(".global .align 8 .b64 counter;\n",
                                         std::string("mov.u64 %a2, counter; //*\n") +
                                             (first ? store + loads : loads + store)));
        }
}

// A store puts its own values there alone, and not what the next one stores.
TEST(Places, OfTheStoreBesideAnother) {
    expect_marked(kernel(".global .align 8 .b64 counter;\n",
                         "mov.u64 %a2, counter; //*\n"
                         "st.local.u64 [%a1], %a1;\n"
                         "st.shared.u64 [%a1], %a2;\n"
                         "st.global.v2.u64 [%a1], {%a1, %a3};\n"
                         "ld.local.u64 %a4, [%a1];\n"
                         "ld.shared.u64 %a5, [%a1]; //*\n"
                         "ld.global.u64 %a6, [%a1];\n"));
}

// An address in a variable's first value.
TEST(Places, OfFirstValues) {
    struct Row {
        const char* variable;
        bool global, constant;
    };
    for (const Row& row : std::initializer_list<Row>{
             {".global .align 8 .u64 pointer = counter;\n", true, false},
             {".global .align 8 .u64 pointer[2] = {0, generic(counter)};\n", true, false},
             {".global .align 8 .u64 pointer[2][1] = {{0}, {counter}};\n", true, false},
             {".global .align 8 .u64 pointer[2] = {0, 1};\n", false, false},
             {".const .align 8 .u64 pointer = counter;\n", false, true},
             {".const .align 8 .u64 pointer[2] = {1, generic(counter)};\n", false, true},
             {".const .align 8 .u64 pointer[2] = {1, 2};\n", false, false}}) {
        const auto mark = [](bool yes) { return yes ? " //*\n" : "\n"; };
        expect_marked(kernel(std::string(".global .align 8 .b64 counter;\n") + row.variable,
                             std::string("ld.global.u64 %a1, [%a9];") + mark(row.global) +
                                 "ld.const.u64 %a2, [%a9];" + mark(row.constant) +
                                 "ld.u64 %a3, [%a9];" + mark(row.global || row.constant) +
                                 "ld.local.u64 %a4, [%a9];\n" +
                                 "ld.shared.u64 %a5, [%a9];\nadd.u64 %a6, %a1, 1;" +
                                 mark(row.global) + "add.u64 %a7, %a2, 1;" + mark(row.constant)));
    }
}

// A function that shared variables stand in: where they lie is not known.
TEST(Places, OfSharedVariablesThatFunctionsName) {
    for (const bool named : {false, true})
        expect_marked(kernel(std::string(".shared .align 8 .b8 tile[64];\n.func f()\n{\n"
                                         ".reg .b64 %b<4>;\n") +
                                 (named ? "mov.u64 %b1, tile; //*\n" : "mov.u64 %b1, 1;\n") +
                                 "add.u64 %b2, %b1, 1;" + (named ? " //*\n" : "\n") + "ret;\n}\n",
                             std::string("mov.u64 %a1, tile;") + (named ? " //*\n" : "\n") +
                                 "call f;\nmov.u64 %a2, 3;\n"));
}

// Through the parameters and results of functions, each by itself.
TEST(Places, ThroughCalls) {
    for (const bool first : {false, true})
        for (const bool second : {false, true})
            for (const bool indirect : {false, true}) {
                const auto mark = [](bool yes) { return yes ? " //*\n" : "\n"; };
                const std::string function =
                    std::string(
                        ".global .align 8 .b64 counter;\n"
                        ".func (.reg .b64 %p, .reg .b64 %q) f(.reg .b64 %x, .reg .b64 %y)\n"
                        "{\n.reg .b64 %b<4>;\n") +
                    "add.u64 %b1, %x, 1;" + mark(first) + "add.u64 %b2, %y, 1;" + mark(second) +
                    "mov.u64 %p, %b2;" + mark(second) + "mov.u64 %q, %b1;" + mark(first) +
                    "ret;\n}\n";
                expect_marked(kernel(
                    function, std::string("mov.u64 %a1, ") + (first ? "counter; //*\n" : "1;\n") +
                                  "mov.u64 %a2, " + (second ? "counter; //*\n" : "1;\n") +
                                  (indirect ? "mov.u64 %a5, f; //*\n"
                                              "proto: .callprototype (.reg .b64 _, .reg .b64 _) _ "
                                              "(.reg .b64 _, .reg .b64 _);\n"
                                              "call (%a3, %a4), %a5, (%a1, %a2), proto;\n"
                                            : "call (%a3, %a4), f, (%a1, %a2);\n") +
                                  "add.u64 %a6, %a3, 1;" + mark(second) + "add.u64 %a7, %a4, 1;" +
                                  mark(first)));
            }
}

// Where a cooperative launch has its workspace.
TEST(Places, OfTheWorkspace) {
    expect_marked(kernel("",
                         "mov.u32 %r1, %envreg1; //*\n"
                         "mov.u32 %r2, %envreg2; //*\n"
                         "mov.u32 %r3, %envreg3;\n"
                         "mov.u32 %r4, %tid.x;\n"
                         "add.u32 %r5, %r2, 1; //*\n"));
}

}  // namespace
