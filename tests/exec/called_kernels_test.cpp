// SPDX-License-Identifier: Apache-2.0
// Kernels of gpu/kernels that call: their own functions, and printf.
#include <bit>
#include <numeric>

#include "tests/exec/workloads.hpp"

namespace lockwarp::exec {

namespace {

// calls.cu once more, by loops and the standard library.
uint32_t expected_of(uint32_t x) {
    const uint32_t low = x >> 16;
    const uint32_t high = x;
    const auto tag = static_cast<uint16_t>(x + 1);
    constexpr uint32_t fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13};
    uint32_t result = std::gcd(x, 360360U) + fibonacci[x % 8] * 1000;
    const uint32_t by_pointer[] = {low + high, low - high, low * high, std::gcd(low, high)};
    result ^= by_pointer[x / 7 % 4] + tag;
    uint32_t reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
    const uint32_t by_case[] = {x ^ 0x55555555,
                                static_cast<uint32_t>(std::popcount(x)),
                                reversed,
                                x * 2654435761U,
                                static_cast<uint32_t>(std::countl_zero(x)),
                                std::rotr(x, 3),
                                x % 1000 * (x / 1000),
                                x == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(x)) + 1,
                                ~x};
    result += by_case[x % 9];
    std::string digits;
    for (uint64_t rest = x; digits.size() < 10; rest /= 10) digits += static_cast<char>(rest % 10);
    for (uint32_t k = 0; k < 10; ++k)
        result = result * 31 + static_cast<uint32_t>(digits[(x + k) % 10]);
    return result;
}

class Calls : public testing::TestWithParam<Build> {};

TEST_P(Calls, EqualTheSameWithoutCalls) {
    std::mt19937 random(1);
    Words in = {0, 1, 2, 360360, 0xffffffff, 0x80000000};
    while (in.size() < 150) in.push_back(static_cast<uint32_t>(random()) >> random() % 32);
    Words expected;
    for (const uint32_t x : in) expected.push_back(expected_of(x));
    Given given;
    given.arch = GetParam().arch;
    given.grid.x = 3;
    given.block.x = 64;
    given.buffers = {bytes_of(in), Bytes(4 * in.size(), 0xff)};
    append(given.arguments, static_cast<int32_t>(in.size()));
    const Outcome outcome = run_well(program_of(GetParam(), "calls"), given);
    EXPECT_EQ(words_of(outcome.buffers[1]), expected);
}

class Printf : public testing::TestWithParam<Build> {
  protected:
    static Outcome outcome(std::string_view entry) {
        Given given;
        given.arch = GetParam().arch;
        given.grid.x = 2;
        given.block.x = 48;
        Words numbers;
        for (uint32_t i = 0; i < 96; ++i) numbers.push_back(3 * i - 7);
        given.buffers = {bytes_of(numbers), Bytes(4 * numbers.size(), 0xee)};
        return run_well(program_of(GetParam(), entry), given);
    }
};

TEST_P(Printf, WritesEveryKindOfArgument) {
    const Outcome o = outcome("printf_one");
    std::string text;
    for (const warp::Printed& p : o.result.printed) {
        EXPECT_EQ(p.cta_index, 0u);
        EXPECT_EQ(p.lane, 5u);
        text += p.text;
    }
    EXPECT_EQ(text,
              "nothing but text, 100%\n"
              "8 -8 8 8 8 10|    8|8    |00008|+8\n"
              "1234567890123456789 18446744073709551615 8000000000000000 8 0x1000\n"
              "1.500000 2.667      -2.00 1.000000e+10 1e-05 0x1p-1\n"
              "text      right|left      |ok\n");
    EXPECT_EQ(o.result.printed_bytes_lost, 0u);
}

TEST_P(Printf, WritesOfEachLane) {
    const Outcome o = outcome("printf_some");
    size_t next = 0;
    for (int i = 0; i < 96; i += 2) {  // 3 * i - 7 is odd
        ASSERT_LT(next, o.result.printed.size());
        const warp::Printed& p = o.result.printed[next++];
        EXPECT_EQ(p.cta_index, static_cast<uint64_t>(i / 48));
        EXPECT_EQ(p.warp, static_cast<uint32_t>(i % 48 / 32));
        EXPECT_EQ(p.lane, static_cast<uint32_t>(i % 48 % 32));
        EXPECT_EQ(p.text, "CTA " + std::to_string(i / 48) + ", thread " + std::to_string(i % 48) +
                              ": " + std::to_string(3 * i - 7) + "\n");
    }
    EXPECT_EQ(next, o.result.printed.size());
}

INSTANTIATE_TEST_SUITE_P(Kernels, Calls, testing::ValuesIn(builds_of("calls")), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, Printf, testing::ValuesIn(builds_of("printf")), name_of);

}  // namespace

}  // namespace lockwarp::exec
