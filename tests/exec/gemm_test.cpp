// SPDX-License-Identifier: Apache-2.0
// The tiled products of gpu/kernels/gemm.cu over shapes with every kind of edge.
#include <Eigen/Dense>
#include <bit>
#include <cmath>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

using isa::Arch;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Shape {
    int m, n, k;
};

// Multiples of eight along K and N take the path of whole chunks (cp.async on sm_80).
constexpr Shape shapes[] = {
    {1, 1, 1},      {1, 1, 2},     {2, 1, 1},     {1, 2, 1},     {3, 5, 7},     {1, 64, 1},
    {64, 1, 1},     {1, 1, 64},    {1, 65, 33},   {65, 1, 31},   {16, 8, 16},   {8, 8, 8},
    {7, 8, 16},     {16, 7, 8},    {16, 8, 15},   {17, 9, 17},   {31, 33, 32},  {32, 32, 31},
    {32, 32, 33},   {63, 64, 32},  {64, 63, 32},  {64, 64, 32},  {64, 64, 31},  {64, 64, 33},
    {65, 64, 32},   {64, 65, 32},  {65, 65, 65},  {64, 72, 40},  {72, 64, 64},  {13, 17, 19},
    {37, 41, 43},   {61, 67, 71},  {101, 3, 103}, {2, 127, 5},   {127, 2, 16},  {128, 64, 8},
    {64, 128, 24},  {5, 8, 260},   {8, 5, 257},   {1, 8, 200},   {96, 104, 72}, {100, 88, 120},
    {128, 128, 64}, {130, 66, 34}, {260, 16, 32}, {16, 260, 36}, {11, 257, 13}, {257, 11, 8},
};

struct GemmCase {
    const char* entry;
    const char* file;
    Arch arch;
    bool f16;  // C
    uint32_t dynamic_shared;
};

void PrintTo(const GemmCase& c, std::ostream* out) {
    *out << c.entry << " on " << isa::row(c.arch).name;
}

Bytes f16_bytes(const Matrix& matrix) {
    Bytes out;
    for (Eigen::Index i = 0; i < matrix.size(); ++i) append(out, f16_of(matrix.data()[i]));
    return out;
}

class Gemm : public testing::TestWithParam<GemmCase> {
  protected:
    void SetUp() override {
        program_ = program_of(
            read_text(std::string(LOCKWARP_SOURCE_DIR "/gpu/kernels/") + GetParam().file),
            GetParam().arch, GetParam().entry);
    }

    // C = A * B, each matrix `margin` bytes into its buffer and followed by as many. A and B, and
    // the margins, must be as before.
    Matrix product(const Matrix& a, const Matrix& b, size_t margin) {
        const GemmCase& c = GetParam();
        const size_t width = c.f16 ? 2 : 4;
        Given given;
        given.arch = c.arch;
        given.grid = {static_cast<uint32_t>((b.cols() + 63) / 64),
                      static_cast<uint32_t>((a.rows() + 63) / 64), 1};
        given.block.x = 128;
        given.dynamic_shared = c.dynamic_shared;
        given.offset = margin;
        const auto with_margin = [&](const Bytes& bytes) {
            Bytes out(bytes.size() + 2 * margin, 0xc5);
            std::ranges::copy(bytes, out.begin() + static_cast<std::ptrdiff_t>(margin));
            return out;
        };
        const auto elements = static_cast<size_t>(a.rows() * b.cols());
        given.buffers = {with_margin(f16_bytes(a)), with_margin(f16_bytes(b)),
                         with_margin(Bytes(elements * width, 0xff))};
        for (const auto size : {a.rows(), b.cols(), a.cols()})
            append(given.arguments, static_cast<int32_t>(size));
        const Outcome outcome = run_well(program_, given);
        EXPECT_EQ(outcome.buffers[0], given.buffers[0]);
        EXPECT_EQ(outcome.buffers[1], given.buffers[1]);
        const Bytes& out = outcome.buffers[2];
        size_t touched = 0;
        for (size_t i = 0; i < margin; ++i)
            touched += (out[i] != 0xc5) + (out[out.size() - 1 - i] != 0xc5);
        EXPECT_EQ(touched, 0u) << "bytes around C were written";
        Matrix result(a.rows(), b.cols());
        for (size_t i = 0; i < elements; ++i) {
            uint32_t bits = 0;
            for (size_t j = 0; j < width; ++j)
                bits |= uint32_t{out[margin + i * width + j]} << (8 * j);
            result.data()[i] =
                c.f16 ? value_of_f16(static_cast<uint16_t>(bits)) : std::bit_cast<float>(bits);
        }
        return result;
    }

  private:
    isa::Program program_;
};

std::string text_of(const Shape& s) {
    return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

// Every sum is an integer below 2^24, exact in f32 whatever the order.
TEST_P(Gemm, IntegersAreExactAndNothingElseIsWritten) {
    std::mt19937 random(1);
    for (const Shape& s : shapes) {
        SCOPED_TRACE(text_of(s));
        Matrix a(s.m, s.k);
        Matrix b(s.k, s.n);
        for (double& v : a.reshaped()) v = static_cast<double>(random() % 17) - 8;
        for (double& v : b.reshaped()) v = static_cast<double>(random() % 17) - 8;
        Matrix expected = a * b;
        if (GetParam().f16)
            for (double& v : expected.reshaped()) v = value_of_f16(f16_of(v));
        // Margins of 64 bytes keep the alignment; of 68 they break that of the chunks.
        for (const size_t margin : {size_t{64}, size_t{68}}) {
            const Matrix c = product(a, b, margin);
            EXPECT_EQ((c.array() != expected.array()).count(), 0) << "margin " << margin;
        }
    }
}

// Buffers of the matrices' exact sizes: an access beyond them is a trap.
TEST_P(Gemm, NormalValuesAreNearTheProduct) {
    std::mt19937 random(2);
    std::normal_distribution<double> normal;
    for (const Shape& s : shapes) {
        SCOPED_TRACE(text_of(s));
        Matrix a(s.m, s.k);
        Matrix b(s.k, s.n);
        for (double& v : a.reshaped()) v = value_of_f16(f16_of(normal(random)));
        for (double& v : b.reshaped()) v = value_of_f16(f16_of(normal(random)));
        const Matrix expected = a * b;
        // Each block of at least four products truncates at most five terms and its sum, all below
        // 2 * |A||B|, to 23 bits; f16 rounds once more.
        const Matrix sizes = a.cwiseAbs() * b.cwiseAbs();
        Eigen::ArrayXXd bound = sizes.array() * (s.k / 4 + 1) * std::ldexp(12, -23);
        if (GetParam().f16) bound += expected.array().abs() * std::ldexp(1, -11) + 0x1p-25;
        const Eigen::ArrayXXd error = (product(a, b, 0) - expected).array().abs();
        EXPECT_EQ((error > bound || error.isNaN()).count(), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Gemm,
    testing::Values(GemmCase{"gemm_sm80", "gemm.sm_80.ptx", Arch::sm_80, false, 16384},
                    GemmCase{"gemm_sm80", "gemm.sm_80.ptx", Arch::sm_90, false, 16384},
                    GemmCase{"gemm_sm80_f16", "gemm.sm_80.ptx", Arch::sm_80, true, 16384},
                    GemmCase{"gemm_sm80_f16", "gemm.sm_80.ptx", Arch::sm_90, true, 16384},
                    GemmCase{"gemm_sm75", "gemm.sm_75.ptx", Arch::sm_75, false, 0},
                    GemmCase{"gemm_sm75", "gemm.sm_75.ptx", Arch::sm_90, false, 0},
                    GemmCase{"gemm_sm70", "gemm.sm_70.ptx", Arch::sm_70, false, 0},
                    GemmCase{"gemm_sm70", "gemm.sm_70.ptx", Arch::sm_90, false, 0}),
    [](const auto& tested) {
        return std::string(tested.param.entry) + "_on_" +
               std::string(isa::row(tested.param.arch).name);
    });

}  // namespace

}  // namespace lockwarp::exec
