// SPDX-License-Identifier: Apache-2.0
// Constant expressions. The values of `integers` were read from the data section that NVIDIA's
// assembler (CUDA 13.0) makes of them; the types follow the manual.
#include <gtest/gtest.h>

#include "tests/ptx/support.hpp"

namespace lockwarp::ptx {
namespace {

Operand value_of(const std::string& expression) {
    const Instruction instruction = instruction_of("mov.b64 %rd1, " + expression + ";");
    if (instruction.operands.size() != 2) return {};
    return instruction.operands[1];
}

TEST(Expression, Integers) {
    const struct {
        std::string_view text;
        int64_t value;
        bool is_unsigned;
    } integers[] = {
        {"1<<64", 1, false},
        {"1<<65", 2, false},
        {"1<<-1", INT64_MIN, false},
        {"-8>>1", -4, false},
        {"-8>>64", -8, false},
        {"8U>>64", 8, true},
        {"-7 % 3", 0, false},
        {"-5 % -3", -5, false},
        {"7/-2", -3, false},
        {"-7/2", -3, false},
        {"~0", -1, true},
        {"~0>>1", INT64_MAX, true},
        {"(~0)/2", INT64_MAX, true},
        {"!5", 0, false},
        {"!0U", 1, false},
        {"3?1U:-1", 1, true},
        {"1?2:0?3:4", 2, false},
        {"0?2:0?3:4", 4, false},
        {"-1<1U", 0, false},
        {"-1<1", 1, false},
        {"-1U>>1", INT64_MAX, true},
        {"(-1|0U)>>1", INT64_MAX, true},
        {"(-1|0)>>1", -1, false},
        {"3&&0", 0, false},
        {"0||2", 1, false},
        {"2||0", 1, false},
        {"0||0", 0, false},
        {"(.s64)0xFFFFFFFFFFFFFFFF>>1", -1, false},
        {"(.u64)-1", -1, true},
        {"1+2*3-4/2", 5, false},
        {"10-4-3", 3, false},
        {"(1+2)*3", 9, false},
        {"64>>2>>1", 8, false},
        {"1<2==1", 1, false},
        {"7&3==3", 1, false},
        {"1&3==1", 0, false},
        {"5^1|2", 6, false},
        {"1|2", 3, false},
        {"6&3", 2, false},
        {"1!=1", 0, false},
        {"2>=2", 1, false},
        {"2<=1", 0, false},
        {"2>1", 1, false},
        {"9223372036854775808", INT64_MIN, true},
        {"-9223372036854775808", INT64_MIN, true},
        {"9223372036854775808>>1", int64_t{1} << 62, true},
        {"0-9223372036854775807-1", INT64_MIN, false},
        {"(0-9223372036854775807-1)/-1", INT64_MIN, false},
        {"WARP_SZ", 32, false},
        {"WARP_SZ*2", 64, false},
        {"-1", -1, false},
        {"+1", 1, false},
        {"- -5", 5, false},
        {"1.0<2.0", 1, false},
        {"1.0==2.0", 0, false},
    };
    for (const auto& c : integers) {
        const Operand operand = value_of(std::string(c.text));
        EXPECT_EQ(operand.kind, OperandKind::integer) << c.text;
        EXPECT_EQ(static_cast<int64_t>(operand.bits), c.value) << c.text;
        EXPECT_EQ(operand.is_unsigned, c.is_unsigned) << c.text;
        expect_round_trip(
            std::string(header) + ".entry k() { mov.b64 %rd1, " + std::string(c.text) + "; }",
            std::string(c.text));
    }
}

TEST(Expression, Floats) {
    const struct {
        std::string_view text;
        double value;
    } floats[] = {
        {"1.5", 1.5},         {"-1.5", -1.5},         {"+1.5", 1.5},  {".5", 0.5},
        {"1.0+2.0*3.0", 7.0}, {"1.0/4.0-1.0", -0.75}, {"(1.0)", 1.0}, {"-0d3FF0000000000000", -1.0},
    };
    for (const auto& c : floats) {
        const Operand operand = value_of(std::string(c.text));
        EXPECT_EQ(operand.kind, OperandKind::f64) << c.text;
        EXPECT_EQ(operand.bits, __builtin_bit_cast(uint64_t, c.value)) << c.text;
    }
}

TEST(Expression, Errors) {
    const struct {
        std::string_view text;
        std::string_view error;
    } cases[] = {
        {"1/0", "4:27: Constant expression has division by zero\n"},
        {"1% 0", "4:27: Constant expression has division by zero\n"},
        {"1.0+2", "4:29: Constant expression type mismatch\n"},
        {"1.0&2.0", "4:29: Constant expression type mismatch\n"},
        {"~1.0", "4:26: Constant expression type mismatch\n"},
        {"(.s64)1.0", "4:27: Constant expression type mismatch\n"},
        {"1?1.0:2.0", "4:27: Integer constant expression expected\n"},
        // One message, and none of what it would have been an operand of.
        {"(.s64)1.0&1", "4:27: Constant expression type mismatch\n"},
        {"(1?1.0:2.0)&1.0", "4:28: Integer constant expression expected\n"},
        {"-0f3F800000", "4:27: a 0f literal may not stand in a constant expression\n"},
        {"1+a", "4:28: 'a' may not stand in a constant expression\n"},
        {"(1+2", "4:30: expected ')' after the constant expression\n"},
        {"1?2", "4:29: expected ':' of the conditional expression\n"},
        {"1+", "4:28: expected a constant\n"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(errors_of(".entry k() { mov.b64 %a, " + std::string(c.text) + "; }"), c.error)
            << c.text;
    }
}

}  // namespace
}  // namespace lockwarp::ptx
