// SPDX-License-Identifier: Apache-2.0
// What a launch leaves to the next one of its file: for the emulator, and in the text of a module.
#include "launch/state.hpp"

#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "launch/variables.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
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

}  // namespace
}  // namespace lockwarp::launch
