// SPDX-License-Identifier: Apache-2.0
// How long the text of one vprintf may be. More of vprintf: call_test.cpp, bounds_test.cpp.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// What one thread prints of a format, with the number 7 and zeros as its arguments.
std::string printed(std::string_view format) {
    std::string bytes;
    for (const char c : format) bytes += std::to_string(int{c}) + ", ";
    const std::string outside =
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); "
        ".const .align 8 .b8 pack[128] = {7}; .global .b8 text[" +
        std::to_string(format.size() + 1) + "] = {" + bytes + "0};";
    const std::string body =
        "mov.u64 %rd7, text; cvta.global.u64 %rd7, %rd7;\n"
        "mov.u64 %rd6, pack; cvta.const.u64 %rd6, %rd6;\n"
        "{ .param .b64 f; .param .b64 a; .param .b32 b;\n"
        "st.param.b64 [f], %rd7; st.param.b64 [a], %rd6;\n"
        "call.uni (b), vprintf, (f, a); }\n";
    Given given;
    given.block.x = 1;
    given.buffers = {Bytes(4), Bytes(4)};
    const Outcome got = run_well(program_of(kernel(body, outside), given.arch), given);
    EXPECT_EQ(got.result.printed.size(), 1u);
    return got.result.printed.empty() ? "" : got.result.printed[0].text;
}

TEST(Printf, TextOfOneCallIsBounded) {
    std::string format;
    for (int i = 0; i < 30; ++i) format += "%4096d";
    const std::string text = printed(format);
    EXPECT_EQ(text.size(), 16 * 4096u);
    EXPECT_EQ(text.substr(4090, 7), "     7 ");
}

// Of a width that is too large the digits that make it so are left out.
TEST(Printf, WidthsAreBounded) {
    EXPECT_EQ(printed("%-5000d|"), "7" + std::string(499, ' ') + "|");
}

}  // namespace

}  // namespace lockwarp::exec
