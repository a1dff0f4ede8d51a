// SPDX-License-Identifier: Apache-2.0
// gpu/kernels/order.cu: kernels whose threads wait for each other, or add to what others add to.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/exec/workloads.hpp"

namespace lockwarp::exec {

namespace {

using Floats = std::vector<float>;

class Order : public testing::TestWithParam<Build> {
  protected:
    // f(outcome) for the kernel on one core and on several.
    template <class F>
    static void run_each_way(std::string_view entry, const Given& given, F check) {
        const isa::Program program = program_of(GetParam(), entry);
        for (const unsigned threads : {1u, 2u, 8u}) {
            Given with = given;
            with.arch = GetParam().arch;
            with.threads = threads;
            SCOPED_TRACE(std::to_string(threads) + " threads");
            check(run_well(program, std::move(with)).buffers);
        }
    }
};

Given given_of(warp::Dim3 grid, warp::Dim3 block, std::vector<Bytes> buffers,
               std::initializer_list<int32_t> arguments = {}) {
    Given given;
    given.grid = grid;
    given.block = block;
    given.buffers = std::move(buffers);
    for (const int32_t value : arguments) append(given.arguments, value);
    return given;
}

Words random_words(size_t count, uint32_t seed, uint32_t below) {
    std::mt19937 random(seed);
    Words out(count);
    for (uint32_t& v : out) v = static_cast<uint32_t>(random()) % below;
    return out;
}

// What `times` holders of a lock make of each value.
Words stepped(Words values, unsigned times) {
    for (uint32_t& v : values)
        for (unsigned n = 0; n < times; ++n) v = 5 * v + 1;
    return values;
}

TEST_P(Order, TicketLock) {
    const Words values = random_words(64, 1, 1000);
    run_each_way("ticket_lock", given_of({5}, {64}, {Bytes(8), bytes_of(values)}, {3}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(words_of(after[0]), (Words{15, 15}));
                     EXPECT_EQ(words_of(after[1]), stepped(values, 15));
                 });
}

TEST_P(Order, LaneLock) {
    const Words values = random_words(4, 2, 1000);
    run_each_way("lane_lock", given_of({3}, {96}, {Bytes(16), bytes_of(values)}, {2}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(words_of(after[0]), Words(4, 0));
                     EXPECT_EQ(words_of(after[1]), stepped(values, 3 * 24 * 2));
                 });
}

TEST_P(Order, CtaLock) {
    const Words values = random_words(64, 3, 1000);
    run_each_way("cta_lock", given_of({5}, {64}, {Bytes(4), bytes_of(values)}, {3}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(words_of(after[0]), Words(1, 0));
                     EXPECT_EQ(words_of(after[1]), stepped(values, 15));
                 });
}

TEST_P(Order, LookBack) {
    for (const uint32_t tiles : {1u, 2u, 37u, 100u}) {
        const uint32_t count = 64 * tiles - 11;
        const Words in = random_words(count, 4, 1000000);
        Words expected(count);
        std::partial_sum(in.begin(), in.end(), expected.begin());
        run_each_way(
            "look_back",
            given_of({tiles}, {64},
                     {bytes_of(in), Bytes(4 * size_t{count}), Bytes(8 * size_t{tiles} + 8)},
                     {static_cast<int32_t>(count)}),
            [&](const std::vector<Bytes>& after) {
                EXPECT_EQ(words_of(after[1]), expected) << tiles;
            });
    }
}

// A sum by each lane of every 64th, then five steps of shuffles and one more addition: with
// rounding, in the kernel's own order.
float cta_sum(const Floats& in, size_t first, size_t stride) {
    Floats lanes(64);
    for (size_t lane = 0; lane < 64; ++lane)
        for (size_t i = first + lane; i < in.size(); i += stride) lanes[lane] += in[i];
    for (size_t d = 16; d > 0; d /= 2)
        for (size_t lane = 0; lane < 64; ++lane)
            if (lane % 32 + d < 32) lanes[lane] += lanes[lane + d];
    return lanes[0] + lanes[32];
}

TEST_P(Order, LastCta) {
    const Floats in = normal_f32(1003, 5);
    Floats partial(7);
    for (size_t cta = 0; cta < 7; ++cta) partial[cta] = cta_sum(in, 64 * cta, 64 * 7);
    run_each_way("last_cta",
                 given_of({7}, {64}, {bytes_from(in), Bytes(28), Bytes(4), Bytes(4)}, {1003}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(values_in<float>(after[1]), partial);
                     EXPECT_EQ(words_of(after[2]), Words(1, 0));
                     EXPECT_EQ(values_in<float>(after[3]), Floats{cta_sum(partial, 0, 64)});
                 });
}

// C = A * B' by parts of K that end where `ends` says of a tile; each begins with zero.
template <class F>
Floats product(const Floats& A, const Floats& B, size_t M, size_t N, size_t K, F ends) {
    Floats C(M * N);
    for (size_t m = 0; m < M; ++m)
        for (size_t n = 0; n < N; ++n) {
            float part = 0;
            bool first = true;
            for (size_t k = 0; k < K; ++k) {
                part = std::fma(A[m * K + k], B[n * K + k], part);
                if (!ends(m / 16 * (N / 16) + n / 16, k + 1)) continue;
                C[m * N + n] = first ? part : C[m * N + n] + part;
                first = false;
                part = 0;
            }
        }
    return C;
}

TEST_P(Order, SplitK) {
    const Floats A = normal_f32(32 * size_t{64}, 6), B = normal_f32(48 * size_t{64}, 7);
    const Floats expected = product(A, B, 32, 48, 64, [](size_t, size_t k) { return k % 16 == 0; });
    run_each_way("split_k",
                 given_of({3, 2, 4}, {16, 16},
                          {bytes_from(A), bytes_from(B), Bytes(32 * 48 * 4), Bytes(24)}, {48, 64}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(values_in<float>(after[2]), expected);
                     EXPECT_EQ(words_of(after[3]), Words(6, 4));
                 });
}

TEST_P(Order, StreamK) {
    const Floats A = normal_f32(32 * size_t{80}, 8), B = normal_f32(32 * size_t{80}, 9);
    // 20 steps: 5 a tile.
    for (const uint32_t ctas : {1u, 3u, 5u, 7u, 20u}) {
        const uint32_t each = (20 + ctas - 1) / ctas;
        const Floats expected = product(A, B, 32, 32, 80, [&](size_t tile, size_t k) {
            return k == 80 || (k % 16 == 0 && (tile * 5 + k / 16) % each == 0);
        });
        run_each_way("stream_k",
                     given_of({ctas}, {16, 16},
                              {bytes_from(A), bytes_from(B), Bytes(4096), Bytes(1024 * ctas),
                               Bytes(4 * size_t{ctas})},
                              {32, 32, 80}),
                     [&](const std::vector<Bytes>& after) {
                         EXPECT_EQ(values_in<float>(after[2]), expected) << ctas;
                     });
    }
}

// Integers, whose sums are exact: what each thread finds is a sum of some of the others.
TEST_P(Order, FloatAtomics) {
    Floats in;
    for (const double v : integers(256, 10, 1000)) in.push_back(static_cast<float>(v));
    Floats sums(8);
    for (size_t i = 0; i < 256; ++i)
        for (const size_t half : {0, 4}) sums[half + i % 4] += in[i];
    run_each_way("float_atomics", given_of({4}, {64}, {bytes_from(in), Bytes(32), Bytes(1024)}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(values_in<float>(after[1]), sums);
                     // Every sum that one left, another found, but for the first and the last.
                     const auto before = values_in<float>(after[2]);
                     for (size_t word = 0; word < 4; ++word) {
                         std::multiset<float> found{sums[word]}, left{0};
                         for (size_t i = word; i < 256; i += 4) {
                             found.insert(before[i]);
                             left.insert(before[i] + in[i]);
                         }
                         EXPECT_EQ(found, left);
                     }
                 });
}

TEST_P(Order, CasLoop) {
    const Words in = random_words(288, 11, 1 << 24);
    Words products(4, 1);
    for (size_t i = 0; i < in.size(); ++i) products[i % 4] *= in[i] | 1;
    const auto greatest = static_cast<float>(*std::ranges::max_element(in));
    run_each_way("cas_loop", given_of({3}, {96}, {bytes_of(in), bytes_of(Words(4, 1)), Bytes(4)}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(words_of(after[1]), products);
                     EXPECT_EQ(values_in<float>(after[2]), Floats{greatest});
                 });
}

TEST_P(Order, MallocLists) {
    Words expected(8);
    for (uint32_t i = 0; i < 192; ++i) {
        ++expected[2 * (i % 4)];
        for (uint32_t n = 0; n < 1 + i % 7; ++n) expected[2 * (i % 4) + 1] += i + n;
    }
    run_each_way("malloc_lists", given_of({3}, {64}, {Bytes(32), Bytes(4), Bytes(32)}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(after[0], Bytes(32));
                     EXPECT_EQ(words_of(after[1]), Words(1, 0));
                     EXPECT_EQ(words_of(after[2]), expected);
                 });
}

TEST_P(Order, GridBarrier) {
    constexpr size_t all = size_t{6} * 64;
    Words cells = random_words(2 * all, 12, 1000);
    Words expected = cells;
    for (size_t round = 0; round < 5; ++round)
        for (size_t i = 0; i < all; ++i) {
            const uint32_t* const from = &expected[round % 2 * all];
            expected[(round + 1) % 2 * all + i] =
                3 * from[(i + 1) % all] + from[(i + all - 64) % all] + 1;
        }
    run_each_way("grid_barrier", given_of({6}, {64}, {Bytes(8), bytes_of(cells)}, {5}),
                 [&](const std::vector<Bytes>& after) {
                     EXPECT_EQ(words_of(after[0]), (Words{0, 5}));
                     EXPECT_EQ(words_of(after[1]), expected);
                 });
}

INSTANTIATE_TEST_SUITE_P(Kernels, Order, testing::ValuesIn(builds_of("order")), name_of);

}  // namespace

}  // namespace lockwarp::exec
