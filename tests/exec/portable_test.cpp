// SPDX-License-Identifier: Apache-2.0
// Plain C++ compiled for a GPU gives what it gives on this machine, to the last bit.
#include "tests/exec/data/portable.hpp"

#include <bit>
#include <cmath>

#include "tests/exec/workloads.hpp"

namespace lockwarp::exec {

namespace {

class Portable : public testing::TestWithParam<Build> {
  protected:
    template <class T>
    static std::vector<uint64_t> results(std::string_view entry, const std::vector<T>& a,
                                         const std::vector<T>& b) {
        Given given;
        given.arch = GetParam().arch;
        given.grid.x = static_cast<uint32_t>(a.size() + 63) / 64;
        given.block.x = 64;
        given.buffers = {bytes_from(a), bytes_from(b), Bytes(8 * a.size(), 0xff)};
        append(given.arguments, static_cast<int32_t>(a.size()));
        const isa::Program program = program_of(
            read_text(LOCKWARP_SOURCE_DIR "/tests/exec/data/" + GetParam().file + ".ptx"),
            given.arch, entry);
        return values_in<uint64_t>(run_well(program, given).buffers[2]);
    }
};

// Pairs of each of `special`, then random ones.
template <class T, class Random>
void make_pairs(const std::vector<T>& special, Random random, std::vector<T>& a,
                std::vector<T>& b) {
    for (const T x : special)
        for (const T y : special) {
            a.push_back(x);
            b.push_back(y);
        }
    for (int i = 0; i < 150; ++i) {
        a.push_back(random());
        b.push_back(random());
    }
}

TEST_P(Portable, IntegersAreThoseOfThisMachine) {
    std::mt19937_64 random(1);
    std::vector<int64_t> a, b;
    make_pairs<int64_t>(
        {0, 1, -1, 42, INT64_MAX, INT64_MIN, INT32_MIN, 1LL << 32},
        [&] { return static_cast<int64_t>(random()) >> random() % 60; }, a, b);
    std::vector<uint64_t> expected;
    for (size_t i = 0; i < a.size(); ++i) expected.push_back(portable::of_integers(a[i], b[i]));
    EXPECT_EQ(results("portable_integers", a, b), expected);
}

TEST_P(Portable, FloatsAreThoseOfThisMachine) {
    std::mt19937_64 random(2);
    std::vector<double> a, b;
    make_pairs<double>(
        {0.0, -0.0, 1.0, -1.5, 0x1p-1074, 0x1.8p-140, 0x1p-1022, 3e38, 1e-320, HUGE_VAL, -HUGE_VAL},
        [&] {
            // Of magnitudes that f32 has, a few of them subnormal there.
            const uint64_t exponent = 1023 - 145 + random() % 270;
            return std::bit_cast<double>((random() & 0x800fffffffffffff) | exponent << 52);
        },
        a, b);
    std::vector<uint64_t> expected;
    for (size_t i = 0; i < a.size(); ++i) expected.push_back(portable::of_floats(a[i], b[i]));
    EXPECT_EQ(results("portable_floats", a, b), expected);
}

INSTANTIATE_TEST_SUITE_P(Nvcc, Portable, testing::ValuesIn(builds_of("portable")), name_of);

}  // namespace

}  // namespace lockwarp::exec
