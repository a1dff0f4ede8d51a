// SPDX-License-Identifier: Apache-2.0
// What a launch leaves to the next one of its file: for the emulator, and in the text of a module.
#include "launch/state.hpp"

#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "launch/variables.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch::state_test {
namespace {

constexpr const char* text = R"(.version 7.0
.target sm_80
.address_size 64
.global .align 4 .u32 count = 40;
.global .align 4 .u32 same = 7;
.entry add(.param .u64 out) {
.reg .b32 %r; .reg .b64 %rd;
ld.param.u64 %rd, [out]; ld.global.u32 %r, [count]; add.s32 %r, %r, 1; st.global.u32 [count], %r;
st.global.u32 [%rd], %r; ret; }
)";

Input input(const std::string& second) {
    const std::string file = R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1],
      "block": [1], "buffers": {"A": {"bytes": 4}}, "args": [{"buffer": "A"}],
      "launches": [{}, {)" + second +
                             "}]}";
    Input in;
    EXPECT_EQ(take(parse_launch_file(file, "x.json"), in.launch), "");
    in.ptx_path = "k.ptx";
    in.module = ptx::parse(text).module;
    return in;
}

uint32_t word(const std::vector<uint8_t>& bytes) {
    return bytes.size() < 4 ? 0 : static_cast<uint32_t>(bytes[0] | bytes[1] << 8);
}

TEST(State, VariablesStay) {
    Input in = input("");
    const isa::Program program = isa::resolve(in.module, isa::Arch::sm_80, "add").program;
    State state;
    ASSERT_EQ(take(make_state(in.launch), state), "");
    ASSERT_EQ(sentence_of(advance(state, in, program, nullptr)), "");
    EXPECT_EQ(word(state.memory.bytes[0]), 41u);
    EXPECT_EQ(word(variable_bytes(state, in, program, "count")), 41u);
    EXPECT_EQ(word(variable_bytes(state, in, program, "same")), 7u);
    in.step = 1;
    // As a text for another machine.
    ptx::Module module = in.module;
    carry_variables(state, in, module);
    EXPECT_EQ(isa::resolve(module, isa::Arch::sm_80, "add").program.global_image,
              variables_before(state, in, program));
    ASSERT_EQ(sentence_of(advance(state, in, program, nullptr)), "");
    EXPECT_EQ(word(state.memory.bytes[0]), 42u);
}

TEST(State, ALaunchSetsItsOwn) {
    Input in = input(R"("variables": {"count": {"init": {"values": {"u32": [5]}}}})");
    const isa::Program first = isa::resolve(in.module, isa::Arch::sm_80, "add").program;
    State state;
    ASSERT_EQ(take(make_state(in.launch), state), "");
    ASSERT_EQ(sentence_of(advance(state, in, first, nullptr)), "");
    in.step = 1;
    ASSERT_EQ(sentence_of(set_variables(in.launch, in.kernel(), in.module)), "");
    const isa::Program second = isa::resolve(in.module, isa::Arch::sm_80, "add").program;
    ASSERT_EQ(sentence_of(advance(state, in, second, nullptr)), "");
    EXPECT_EQ(word(state.memory.bytes[0]), 6u);
}

// A kernel that turns a bit of `flag`, adds to `count`, and traps where `count` is 43.
constexpr const char* flags = R"(.version 7.0
.target sm_80
.address_size 64
.const .align 4 .u32 scale = 9;
.global .align 4 .u32 flag = 40;
.global .align 8 .u64 wide = 3;
.global .align 4 .u32 _ZN1n5countE = 40;
.entry add(.param .u64 out) .maxntid 32 {
.reg .b32 %r<4>; .reg .pred %p; .shared .b32 tile;
ld.global.u32 %r1, [flag]; xor.b32 %r1, %r1, 1; st.global.u32 [flag], %r1;
ld.global.u32 %r2, [_ZN1n5countE]; add.s32 %r2, %r2, 1; st.global.u32 [_ZN1n5countE], %r2;
st.shared.b32 [tile], %r2; setp.eq.s32 %p, %r2, 43; @%p trap; ret; }
)";

struct Launches {
    Input in;
    isa::Program program;
    State state;

    // The launches' own fields; `above`: those of all.
    Launches(const std::string& own, const std::string& above) {
        in.launch.path = "x.json";
        const std::string file = R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1],
          "block": [1], "buffers": {"A": {"bytes": 4}}, "args": [{"buffer": "A"}],)" +
                                 above + R"("launches": [)" + own + "]}";
        EXPECT_EQ(take(parse_launch_file(file, "x.json"), in.launch), "") << file;
        in.path = "k.ptx";
        in.module = ptx::parse(flags).module;
        EXPECT_EQ(take(make_state(in.launch), state), "");
    }
    // What is said of it, and then the two variables.
    std::string run(size_t step) {
        in.step = step;
        in.module = ptx::parse(flags).module;
        EXPECT_EQ(sentence_of(set_variables(in.launch, in.kernel(), in.module)), "");
        program = isa::resolve(in.module, isa::Arch::sm_80, "add").program;
        ptx::Module carried = in.module;
        carry_variables(state, in, carried);
        EXPECT_EQ(isa::resolve(carried, isa::Arch::sm_80, "add").program.global_image,
                  variables_before(state, in, program));
        const std::string said = sentence_of(advance(state, in, program, nullptr));
        return (said.empty() ? "" : said + ": ") + variable("flag") + " " + variable("count");
    }
    std::string variable(const std::string& name) {
        return std::to_string(word(variable_bytes(state, in, program, name)));
    }
};

TEST(State, WhatALaunchLeavesToTheNext) {
    Launches l("{}, {}, {}", "");
    EXPECT_EQ(l.run(0), "41 41");
    EXPECT_EQ(l.state.changed["k.ptx"].size(), 2u) << "not what stayed as it was";
    EXPECT_EQ(l.run(1), "40 42") << "as it was at first, once more";
    EXPECT_EQ(l.variable("scale"), "9");
    EXPECT_EQ(l.variable("wide"), "3");
    for (const char* none : {"tile", "nothing"})
        EXPECT_TRUE(variable_bytes(l.state, l.in, l.program, none).empty()) << none;
    EXPECT_EQ(l.run(2), "x.json: add: trap instruction: 40 42") << "what has failed leaves nothing";
    // Of another module, or of another size: not those.
    l.in.path = "other.ptx";
    EXPECT_EQ(l.variable("count"), "40");
    l.in.path = "k.ptx";
    keep_variables(l.state, l.in, l.program, {1, 2, 3});
    l.state.changed["k.ptx"]["flag"] = {1, 2};
    l.state.changed["k.ptx"]["wide"] = {1, 2, 3, 4};
    l.state.changed["k.ptx"]["scale"] = {1, 2, 3, 4};
    EXPECT_EQ(l.variable("flag"), "40");
    EXPECT_EQ(l.variable("wide"), "3");
    EXPECT_EQ(l.variable("scale"), "9");
    EXPECT_EQ(l.variable("count"), "42");
}

// What stands above all launches is set before the first alone.
TEST(State, VariablesOfALaunchAndOfAll) {
    // What a launch makes of a variable that it sets is what the variable has then.
    const auto value = [](const std::string& name, int v) {
        return R"("variables": {")" + name + R"(": {"init": {"values": {"u32": [)" +
               std::to_string(v) + "]}}}}";
    };
    Launches all("{}, {}, {}", value("count", 7) + ", ");
    EXPECT_EQ(all.run(0), "41 8");
    EXPECT_EQ(all.run(1), "40 9");
    Launches own("{}, {" + value("_ZN1n5countE", 90) + "}, {" + value("flag", 6) + "}", "");
    EXPECT_EQ(own.run(0), "41 41");
    EXPECT_EQ(own.run(1), "40 91");
    EXPECT_EQ(own.run(2), "7 92");
    // A launch that is refused: of more threads than the kernel has.
    Launches wrong(R"({"block": [33]})", "");
    EXPECT_EQ(wrong.run(0).substr(0, 8), "x.json: ");
    EXPECT_TRUE(wrong.state.changed.empty());
}

}  // namespace
}  // namespace lockwarp::launch::state_test
