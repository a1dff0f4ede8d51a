// SPDX-License-Identifier: Apache-2.0
// Kernels of gpu/kernels that move and add: against exact integers and sums in double.
#include "tests/exec/workloads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockwarp::exec {

namespace {

// Units in the last place of f32 and its rounding error, both relative.
constexpr double ulp = 0x1p-23;
constexpr double rounding = 0x1p-24;

struct Shape {
    int rows, columns;
};

std::string text_of(const Shape& s) {
    return std::to_string(s.rows) + "x" + std::to_string(s.columns);
}

size_t size_of(const Shape& s) { return static_cast<size_t>(s.rows) * s.columns; }

Given given_for(const Build& build, uint32_t ctas, uint32_t threads) {
    Given given;
    given.arch = build.arch;
    given.grid.x = ctas;
    given.block.x = threads;
    return given;
}

void append_shape(Given& given, const Shape& s) {
    append(given.arguments, int32_t{s.rows});
    append(given.arguments, int32_t{s.columns});
}

// Additions of one lane and of five steps of shuffles, each below the sum of the magnitudes.
double additions(int columns) { return (columns + 31) / 32 + 5; }

class Softmax : public testing::TestWithParam<Build> {
  protected:
    // `error` bounds the relative error of the exponential of -x, `division` that of the division.
    template <class Error>
    static void expect_near(const Shape& s, const std::vector<float>& in,
                            const std::vector<float>& out, Error error, double division) {
        size_t wrong = 0;
        for (int row = 0; row < s.rows; ++row) {
            const float* x = in.data() + static_cast<ptrdiff_t>(row) * s.columns;
            const float* y = out.data() + static_cast<ptrdiff_t>(row) * s.columns;
            const double largest = *std::max_element(x, x + s.columns);
            double sum = 0;
            double sum_error = 0;
            for (int i = 0; i < s.columns; ++i) {
                const double e = std::exp(x[i] - largest);
                sum += e;
                sum_error += e * error(largest - x[i]);
            }
            for (int i = 0; i < s.columns; ++i) {
                const double expected = std::exp(x[i] - largest) / sum;
                const double relative = error(largest - x[i]) + sum_error / sum +
                                        additions(s.columns) * rounding + division;
                // A hundredth for products of errors; what is below 2^-126 may be flushed.
                wrong += !(std::fabs(y[i] - expected) <= 1.01 * relative * expected + 0x1p-126);
            }
        }
        EXPECT_EQ(wrong, 0u) << text_of(s);
    }

    static std::vector<Shape> shapes(const Build& build) {
        if (!optimized(build)) return {{7, 70}};
        return {{1, 1}, {1, 2}, {3, 31}, {5, 32}, {4, 33}, {9, 100}, {37, 77}, {2, 1000}};
    }
};

class CudaSoftmax : public Softmax {};
class TritonSoftmax : public Softmax {};

// An approximate exponential is ex2.approx of the product with log2(e): the difference, the
// constant and the product round; ex2.approx is off by 2 ulp at most (PTX manual).
double approximate_exp(double x) { return 3 * x * rounding + 2 * ulp; }

TEST_P(CudaSoftmax, IsNearExponentialsInDouble) {
    const isa::Program accurate = program_of(GetParam(), "softmax");
    const isa::Program fast = program_of(GetParam(), "softmax_fast");
    for (const Shape& s : shapes(GetParam())) {
        const std::vector<float> in = normal_f32(size_of(s), 1, 4);
        Given given = given_for(GetParam(), 2, 96);
        given.buffers = {bytes_from(in), Bytes(4 * size_of(s), 0xff)};
        append_shape(given, s);
        // expf: 2 ulp (CUDA C++ programming guide, mathematical functions).
        expect_near(
            s, in, values_in<float>(run_well(accurate, given).buffers[1]),
            [](double x) { return x * rounding + 2 * ulp; }, rounding);
        // __fdividef: 2 ulp.
        expect_near(s, in, values_in<float>(run_well(fast, given).buffers[1]), approximate_exp,
                    2 * ulp);
    }
}

TEST_P(TritonSoftmax, IsNearExponentialsInDouble) {
    const isa::Program program = program_of(GetParam(), "softmax");
    for (const Shape& s : {Shape{1, 1}, {3, 100}, {2, 128}, {2, 333}, {3, 1023}, {2, 1024}}) {
        const std::vector<float> in = normal_f32(size_of(s), 2, 4);
        Given given = given_for(GetParam(), static_cast<uint32_t>(s.rows), 128);
        given.dynamic_shared = 16;
        given.buffers = {bytes_from(in), Bytes(4 * size_of(s), 0xff)};
        append(given.arguments, int64_t{s.columns});  // s32 and what aligns the next
        given.arguments.resize(24);
        // div.full: 2 ulp (PTX manual).
        expect_near(s, in, values_in<float>(run_well(program, given).buffers[1]), approximate_exp,
                    2 * ulp);
    }
}

class LayerNorm : public testing::TestWithParam<Build> {};

TEST_P(LayerNorm, IsNearSumsInDouble) {
    const isa::Program program = program_of(GetParam(), "layer_norm");
    constexpr float epsilon = 1e-5F;
    for (const Shape& s : {Shape{1, 1}, {5, 31}, {4, 32}, {6, 33}, {9, 130}, {3, 500}}) {
        const std::vector<float> in = normal_f32(size_of(s), 3, 2);
        const std::vector<float> scale = normal_f32(static_cast<size_t>(s.columns), 4);
        const std::vector<float> shift = normal_f32(static_cast<size_t>(s.columns), 5);
        Given given = given_for(GetParam(), static_cast<uint32_t>(s.rows + 3) / 4, 128);
        given.buffers = {bytes_from(in), bytes_from(scale), bytes_from(shift),
                         Bytes(4 * size_of(s), 0xff)};
        append_shape(given, s);
        append(given.arguments, epsilon);
        const std::vector<float> out = values_in<float>(run_well(program, given).buffers[3]);
        const double adding = (additions(s.columns) + 1) * rounding;  // and the division
        size_t wrong = 0;
        for (int row = 0; row < s.rows; ++row) {
            const float* x = in.data() + static_cast<ptrdiff_t>(row) * s.columns;
            double sum = 0;
            double magnitudes = 0;
            for (int i = 0; i < s.columns; ++i) {
                sum += x[i];
                magnitudes += std::fabs(x[i]);
            }
            const double mean = sum / s.columns;
            const double mean_error = adding * magnitudes / s.columns;
            // How far a deviation from the mean is off; of the sum of its square likewise.
            const auto deviation_error = [&](double deviation) {
                return mean_error + rounding * (std::fabs(deviation) + mean_error);
            };
            double squares = 0;
            double squares_error = 0;
            for (int i = 0; i < s.columns; ++i) {
                const double d = x[i] - mean;
                const double e = deviation_error(d);
                squares += d * d;
                squares_error += 2 * std::fabs(d) * e + e * e;
            }
            squares_error += (adding + rounding) * (squares + squares_error);
            const double variance = squares / s.columns + double{epsilon};
            // rsqrt.approx: 2^-22.9 (PTX manual). The derivative of the root halves what the
            // variance is off, whose sum with epsilon rounds once.
            const double factor_error =
                0.5 * (squares_error / s.columns / variance + rounding) + std::exp2(-22.9);
            for (int i = 0; i < s.columns; ++i) {
                const double d = x[i] - mean;
                const double normed = d / std::sqrt(variance) * scale[static_cast<size_t>(i)];
                const double expected = normed + shift[static_cast<size_t>(i)];
                const double bound = std::fabs(scale[static_cast<size_t>(i)]) /
                                         std::sqrt(variance) * deviation_error(d) +
                                     std::fabs(normed) * (factor_error + 2 * rounding) +
                                     rounding * (std::fabs(expected) + std::fabs(normed));
                const size_t at = static_cast<size_t>(row) * s.columns + i;
                wrong += !(std::fabs(out[at] - expected) <= 1.01 * bound);
            }
        }
        EXPECT_EQ(wrong, 0u) << text_of(s);
    }
}

class Reduce : public testing::TestWithParam<Build> {};

// Integers of which every partial sum is below 2^24, exact in f32 in any order.
TEST_P(Reduce, SumsOfIntegersInF32AreExact) {
    const isa::Program program = program_of(GetParam(), "reduce_f32");
    for (const int count : {0, 1, 31, 100, 1003}) {
        std::vector<float> in;
        for (const double v : integers(static_cast<size_t>(count), 6, 1000))
            in.push_back(static_cast<float>(v));
        Given given = given_for(GetParam(), 3, 96);
        given.threads = 4;
        given.buffers = {bytes_from(in), bytes_from(std::vector<float>{0.5F})};
        append(given.arguments, int32_t{count});
        const float sum = std::accumulate(in.begin(), in.end(), 0.5F);
        EXPECT_EQ(values_in<float>(run_well(program, given).buffers[1])[0], sum) << count;
    }
}

struct Summary {
    int64_t sum = 17;
    int32_t smallest = 0x7fffffff, largest = -0x7fffffff - 1;
    uint32_t parity = 0, count = 5;
    bool operator==(const Summary&) const = default;
};

TEST_P(Reduce, SummariesOfIntegersAreExact) {
    const isa::Program program = program_of(GetParam(), "reduce_s32");
    for (const int count : {1, 64, 700}) {
        std::mt19937 random(7);
        Summary expected;
        std::vector<int32_t> in;
        for (int i = 0; i < count; ++i) {
            in.push_back(static_cast<int32_t>(random()));
            expected.sum += in.back();
            expected.smallest = std::min(expected.smallest, in.back());
            expected.largest = std::max(expected.largest, in.back());
            expected.parity ^= static_cast<uint32_t>(in.back());
            ++expected.count;
        }
        Given given = given_for(GetParam(), 3, 64);
        given.threads = 4;
        given.buffers = {bytes_from(in), bytes_from(std::vector<Summary>(1))};
        append(given.arguments, int32_t{count});
        EXPECT_EQ(values_in<Summary>(run_well(program, given).buffers[1])[0], expected) << count;
    }
}

class Transpose : public testing::TestWithParam<Build> {};

TEST_P(Transpose, MovesEveryElement) {
    for (const char* entry : {"transpose", "transpose_conflicts"}) {
        const isa::Program program = program_of(GetParam(), entry);
        for (const Shape& s : {Shape{1, 1}, {1, 40}, {33, 31}, {32, 64}, {45, 70}}) {
            std::vector<float> in(size_of(s));
            std::iota(in.begin(), in.end(), 1.0F);
            std::vector<float> expected;
            for (int column = 0; column < s.columns; ++column)
                for (int row = 0; row < s.rows; ++row)
                    expected.push_back(in[static_cast<size_t>(row) * s.columns + column]);
            Given given = given_for(GetParam(), static_cast<uint32_t>(s.columns + 31) / 32, 32);
            given.grid.y = static_cast<uint32_t>(s.rows + 31) / 32;
            given.block.y = 8;
            given.buffers = {bytes_from(in), Bytes(4 * size_of(s), 0xff)};
            append_shape(given, s);
            EXPECT_EQ(values_in<float>(run_well(program, given).buffers[1]), expected)
                << entry << " " << text_of(s);
        }
    }
}

class Histogram : public testing::TestWithParam<Build> {};

TEST_P(Histogram, CountsEveryByte) {
    const isa::Program program = program_of(GetParam(), "histogram");
    for (const int count : {0, 1, 3, 4, 257, 2003}) {
        std::mt19937 random(8);
        std::vector<uint32_t> expected(256, 3);
        Bytes in;
        for (int i = 0; i < count; ++i) {
            // Half of them equal: many lanes add to one bin.
            in.push_back(random() % 2 == 0 ? 200 : static_cast<uint8_t>(random()));
            ++expected[in.back()];
        }
        Given given = given_for(GetParam(), 3, 64);
        given.threads = 4;
        given.buffers = {in, bytes_from(std::vector<uint32_t>(256, 3))};
        append(given.arguments, int32_t{count});
        EXPECT_EQ(values_in<uint32_t>(run_well(program, given).buffers[1]), expected) << count;
    }
}

class Life : public testing::TestWithParam<Build> {};

// Every cell looks at its neighbours through a border that repeats the other side.
std::vector<std::string> next_generation(const std::vector<std::string>& cells) {
    const size_t rows = cells.size(), columns = cells[0].size();
    std::vector<std::string> bordered{cells.back()};
    bordered.insert(bordered.end(), cells.begin(), cells.end());
    bordered.push_back(cells.front());
    for (std::string& line : bordered) line = line.back() + line + line.front();
    std::vector<std::string> out = cells;
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) {
            std::string around = bordered[r].substr(c, 3) + bordered[r + 1].substr(c, 3) +
                                 bordered[r + 2].substr(c, 3);
            around.erase(4, 1);
            const auto neighbours = std::ranges::count(around, '*');
            out[r][c] = neighbours == 3 || (neighbours == 2 && cells[r][c] == '*') ? '*' : ' ';
        }
    return out;
}

Bytes bytes_of(const std::vector<std::string>& cells) {
    Bytes out;
    for (const std::string& line : cells)
        for (const char c : line) out.push_back(c == '*');
    return out;
}

// 9 CTAs that wait for each other after each generation; the cells are random.
TEST_P(Life, IsWhatEachGenerationMakesOfTheLast) {
    const isa::Program program = program_of(GetParam(), "life");
    std::mt19937 random(9);
    std::vector<std::string> cells(19, std::string(23, ' '));
    for (std::string& line : cells)
        for (char& c : line) c = random() % 3 == 0 ? '*' : ' ';
    for (const int generations : {1, 6}) {
        std::vector<std::vector<std::string>> all{cells};
        for (int g = 0; g < generations; ++g) all.push_back(next_generation(all.back()));
        ASSERT_NE(all.back(), cells);
        for (const unsigned threads : {1u, 4u}) {
            Given given = given_for(GetParam(), 9, 40);
            given.cooperative = true;
            given.threads = threads;
            given.buffers = {bytes_of(cells), Bytes(19 * 23)};
            for (const int value : {19, 23, generations}) append(given.arguments, int32_t{value});
            const Outcome o = run_well(program, given);
            const size_t last = generations % 2;
            EXPECT_EQ(o.buffers[last], bytes_of(all.back())) << generations;
            EXPECT_EQ(o.buffers[1 - last], bytes_of(all[all.size() - 2])) << generations;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaSoftmax, testing::ValuesIn(builds_of("softmax")), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, TritonSoftmax, testing::ValuesIn(triton_builds_of("softmax")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, LayerNorm, testing::ValuesIn(builds_of("layer_norm")), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, Reduce, testing::ValuesIn(builds_of("reduce")), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, Transpose, testing::ValuesIn(builds_of("transpose")), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, Histogram, testing::ValuesIn(builds_of("histogram")), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, Life, testing::ValuesIn(builds_of("life")), name_of);

}  // namespace

}  // namespace lockwarp::exec
