// SPDX-License-Identifier: Apache-2.0
#include "cuda/large_numbers.hpp"

#include <gtest/gtest.h>

namespace lockwarp::cuda {
namespace {

using Numbers = std::vector<uint64_t>;

TEST(LargeNumbers, OfEverySpelling) {
    EXPECT_EQ(large_numbers("mov.u64 %rd1, 139637976727552;"), Numbers{139637976727552});
    EXPECT_EQ(large_numbers("ld.u32 %r1, [0x7F0000000010+4];"), Numbers{0x7f0000000010});
    EXPECT_EQ(large_numbers("0X7f0000000010U"), Numbers{0x7f0000000010});
    EXPECT_EQ(large_numbers("{0b100000000000000000000000000000001,"), Numbers{0x100000001});
    EXPECT_EQ(large_numbers("0400000000000"), Numbers{uint64_t{1} << 35});
    EXPECT_EQ(large_numbers("18446744073709551615"), Numbers{UINT64_MAX});
    EXPECT_EQ(large_numbers("\n\t4294967296\n"), Numbers{uint64_t{1} << 32});
}

TEST(LargeNumbers, AscendingAndEachOnce) {
    EXPECT_EQ(large_numbers("8589934592, 4294967296, 0x200000000, 4294967296"),
              (Numbers{uint64_t{1} << 32, uint64_t{1} << 33}));
}

TEST(LargeNumbers, NothingElse) {
    EXPECT_EQ(large_numbers(""), Numbers{});
    EXPECT_EQ(large_numbers("4294967295 0xffffffff 0"), Numbers{});
    // More than 64 bits; floating point; names.
    EXPECT_EQ(large_numbers("18446744073709551616 0x10000000000000000"), Numbers{});
    EXPECT_EQ(large_numbers("0d4000000000000000 0f40000000 139637976727552.5"), Numbers{});
    EXPECT_EQ(large_numbers("x139637976727552 %139637976727552 $139637976727552"), Numbers{});
    EXPECT_EQ(large_numbers("_139637976727552 139637976727552x .139637976727552"), Numbers{});
    EXPECT_EQ(large_numbers("0x 0b 08888888888888"), Numbers{});
}

}  // namespace
}  // namespace lockwarp::cuda
