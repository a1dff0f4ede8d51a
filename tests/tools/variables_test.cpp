// SPDX-License-Identifier: Apache-2.0
// Variables of a module that a launch file sets.
#include <gtest/gtest.h>

#include <regex>

#include "emu/lockwarp.hpp"
#include "launch/variables.hpp"
#include "tests/results.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools::variables_test {
namespace {

// The comment and the lines between are kept, so that a place in the text stays what it was.
constexpr const char* module = R"(.version 7.0
.target sm_80
.address_size 64
.const .align 4 .f32 taps[3];
.global .align 8 .b8 _ZN2ns5tableE[8] = {9,
 9, 9};
.global .u64 limit; .const .align 2 .u16 _ZL4grid[2][2] = {{1, 2}, {3, 4}}; .global .f64 half = 0d3FE0000000000000, last;
.visible .entry k(.param .u64 out) { .reg .u64 %rd<9>; .reg .u32 %r<9>; .reg .u16 %h<3>; .reg .f64 %d<3>;
ld.param.u64 %rd1, [out];
ld.const.u32 %r1, [taps+8];
st.global.u32 [%rd1], %r1;
ld.global.u64 %rd2, [_ZN2ns5tableE];
st.global.u64 [%rd1+8], %rd2;
ld.global.u64 %rd3, [limit];
st.global.u64 [%rd1+16], %rd3;
ld.const.u16 %h1, [_ZL4grid+4];
st.global.u16 [%rd1+24], %h1;
ld.global.f64 %d1, [half];
st.global.f64 [%rd1+32], %d1;
ld.global.f64 %d2, [last];
st.global.f64 [%rd1+40], %d2;
ret; }
)";

std::string launch(const std::string& variables) {
    return R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1], "block": [1],
 "buffers": {"out": {"bytes": 48}}, "args": [{"buffer": "out"}], "outputs": ["out"],
 "variables": )" +
           variables + "}";
}

// A message without its line and column.
std::string unplaced(const std::string& message) {
    return std::regex_replace(message, std::regex("^x\\.json:[0-9]+:[0-9]+: "), "x.json: ");
}

// What is declared .extern before it is defined, as linked modules have it, is one variable.
TEST(Variables, MayBeDeclaredBefore) {
    const Folder folder;
    folder.write("k.ptx", R"(.version 7.0
.target sm_80
.address_size 64
.extern .global .align 4 .u32 limit[2]; .extern .const .u16 taps[]; .extern .global .v2 .u32 pairs[1];
.visible .global .align 4 .u32 limit[2] = {1, 2}; .visible .const .u16 taps[2] = {3, 4};
.visible .global .v2 .u32 pairs[1];
.visible .entry k(.param .u64 out) { .reg .u64 %rd1; .reg .u32 %r<3>; .reg .u16 %h1;
ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [limit+4]; ld.const.u16 %h1, [taps+2];
cvt.u32.u16 %r2, %h1; st.global.v2.u32 [%rd1], {%r1, %r2}; ret; }
)");
    for (const auto& [variables, printed] :
         {std::pair("{}", "0 0x0000000400000002\n"),
          std::pair(R"({"limit": {"init": {"hex": "0900000008000000"}}})",
                    "0 0x0000000400000008\n"),
          std::pair(R"({"taps": {"init": {"hex": "05000600"}}})", "0 0x0000000600000002\n"),
          std::pair(R"({"pairs": {"init": {"fill": 1}}})", "0 0x0000000400000002\n")}) {
        folder.write("k.json", launch(variables));
        const Ended e = run_here(folder, {"run", "k.json", "--print", "out:u64:6x1:hex"});
        EXPECT_EQ(e.status, 0) << e.err;
        EXPECT_NE(e.out.find(printed), std::string::npos) << e.out;
    }
}

TEST(Variables, AreWhatTheLaunchFileSays) {
    const Folder folder;
    folder.write("k.ptx", module);
    folder.write("k.json", launch(R"({
  "taps": {"bytes": 12, "init": {"sequence": {"type": "f32", "start": 1, "step": 0.5}}},
  "table": {"init": {"hex": "0102030405060708"}}, "limit": {"init": {"fill": 255}},
  "grid": {"init": {"hex": "0a000b000c000d00"}},
  "last": {"init": {"hex": "000000000000f03f"}}})"));
    const Ended e = run_here(folder, {"run", "k.json", "--print", "out:u64:6x1:hex"});
    EXPECT_EQ(e.status, 0) << e.err;
    const std::string printed = e.out.substr(e.out.find('\n') + 1);
    EXPECT_TRUE(
        printed.starts_with("                   0\n"
                            "0 0x0000000040000000\n1 0x0807060504030201\n"
                            "2 0xffffffffffffffff\n3 0x000000000000000c\n"
                            "4 0x3fe0000000000000\n5 0x3ff0000000000000\n"))
        << printed;
}

// A name that is a variable's own means that one, though others have it within theirs.
TEST(Variables, AreNamedInFullOrAlone) {
    const std::string two = ".version 7.0\n.target sm_80\n.address_size 64\n";
    const auto set = [&](const std::string& variables, const std::string& name) {
        ptx::Module tree = ptx::parse(two + variables).module;
        launch::LaunchFile file;
        EXPECT_EQ(take(launch::parse_launch_file(
                           launch("{\"" + name + "\": {\"init\": {\"fill\": 1}}}"), "x.json"),
                       file),
                  "");
        const std::string why =
            unplaced(sentence_of(launch::set_variables(file, file.launches[0], tree)));
        if (!why.empty()) return why;
        std::string out;
        for (const auto& item : tree.items)
            if (const auto* v = std::get_if<ptx::Variable>(&item); v && !v->initializer.empty())
                out += v->name + " ";
        return out;
    };
    const std::string three =
        ".global .u32 _ZN2ns4tapsE; .global .u32 taps; .global .u32 _ZN2xx4tapsE;";
    EXPECT_EQ(set(three, "taps"), "taps ");
    EXPECT_EQ(set(".global .u32 _ZN2ns4tapsE; .global .u32 _ZN2xx4tapsE;", "taps"),
              "x.json: field 'variables.taps': may be _ZN2ns4tapsE, _ZN2xx4tapsE");
}

// The tree as it is printed, for a machine that takes text.
TEST(Variables, TheModuleKeepsItsOperationsAndPrintsTheBytes) {
    launch::LaunchFile file;
    ASSERT_EQ(
        take(launch::parse_launch_file(launch(R"({"table": {"init": {"fill": 1}}})"), "x.json"),
             file),
        "");
    const ptx::Parsed before = ptx::parse(module);
    ptx::Module set = before.module;
    ASSERT_EQ(sentence_of(launch::set_variables(file, file.launches[0], set)), "");
    EXPECT_NE(set, before.module);
    const ptx::Parsed printed = ptx::parse(ptx::print(set));
    ASSERT_TRUE(printed.diagnostics.empty());
    const isa::Program a = isa::resolve(before.module, isa::Arch::sm_80, "k").program;
    const isa::Program b = isa::resolve(set, isa::Arch::sm_80, "k").program;
    const isa::Program c = isa::resolve(printed.module, isa::Arch::sm_80, "k").program;
    EXPECT_NE(a.global_image, b.global_image);
    EXPECT_EQ(b.global_image, c.global_image);
    EXPECT_EQ(b.const_image, c.const_image);
    ASSERT_EQ(a.operations.size(), b.operations.size());
    for (size_t i = 0; i < a.operations.size(); ++i) {
        EXPECT_EQ(a.operations[i].place.line, b.operations[i].place.line);
        EXPECT_EQ(a.operations[i].place.column, b.operations[i].place.column);
    }
}

TEST(Variables, WhatIsWrongWithThem) {
    const std::string where = "x.json: field 'variables";
    const struct {
        const char* variables;
        std::string message;
    } cases[] = {
        {R"({"nix": {"init": {"fill": 1}}})",
         where + ".nix': the module has no such variable; it has taps, _ZN2ns5tableE, limit, "
                 "_ZL4grid, half, last"},
        {R"({"taps": {"bytes": 8, "init": {"fill": 1}}})",
         where + ".taps': it has 12 bytes, not 8"},
        {R"({"taps": {"init": {"file": "/nowhere"}}})", where + ".taps.init.file': "},
        {R"({"grid": {"init": {"fill": 1}}, "_ZL4grid": {"init": {"fill": 2}}})",
         where + "': two of them name one variable"},
    };
    for (const auto& c : cases) {
        launch::LaunchFile file;
        ASSERT_EQ(take(launch::parse_launch_file(launch(c.variables), "x.json"), file), "");
        ptx::Module tree = ptx::parse(module).module;
        const ptx::Module before = tree;
        const std::string why =
            unplaced(sentence_of(launch::set_variables(file, file.launches[0], tree)));
        EXPECT_TRUE(why.starts_with(c.message)) << why;
        EXPECT_EQ(tree, before);
    }
    launch::LaunchFile file;
    EXPECT_EQ(unplaced(take(launch::parse_launch_file(launch(R"({"taps": {}})"), "x.json"), file)),
              where + ".taps.init': is missing");
    EXPECT_EQ(unplaced(take(launch::parse_launch_file(launch("[]"), "x.json"), file)),
              where + "': an object of variables by name is expected");
    ptx::Module none = ptx::parse(".version 7.0\n.target sm_80\n.address_size 64\n").module;
    ASSERT_EQ(
        take(launch::parse_launch_file(launch(R"({"taps": {"init": {"fill": 1}}})"), "x.json"),
             file),
        "");
    EXPECT_EQ(unplaced(sentence_of(launch::set_variables(file, file.launches[0], none))),
              where + ".taps': the module has no .const or .global variables");
}

}  // namespace
}  // namespace lockwarp::tools::variables_test
