// SPDX-License-Identifier: Apache-2.0
// CUDA's mathematical functions, as the emulator runs them, against those of this machine in long
// double: no further off than NVIDIA says.
#include <cmath>
#include <limits>

#include "tests/exec/workloads.hpp"

namespace lockwarp::exec {

namespace {

using isa::Arch;

// Units in the last place between the result and the correctly rounded one (CUDA C++ programming
// guide, mathematical functions). `value` is exact enough; in the order of data/math.cu.
template <class T>
struct Function {
    const char* name;
    int ulps;
    long double (*value)(T x, T y);
};

using L = long double;

constexpr Function<float> of_f32[] = {
    {"expf", 2, [](float x, float) { return std::exp(L{x}); }},
    {"exp2f", 2, [](float x, float) { return std::exp2(L{x}); }},
    {"exp10f", 2, [](float x, float) { return std::pow(L{10}, L{x}); }},
    {"expm1f", 1, [](float x, float) { return std::expm1(L{x}); }},
    {"logf", 1, [](float, float y) { return std::log(L{y}); }},
    {"log2f", 1, [](float, float y) { return std::log2(L{y}); }},
    {"log10f", 2, [](float, float y) { return std::log10(L{y}); }},
    {"log1pf", 1, [](float, float y) { return std::log1p(L{y}); }},
    {"sinf", 2, [](float x, float) { return std::sin(L{x}); }},
    {"sinf of large values", 2, [](float x, float) { return std::sin(L{x * 1e6F}); }},
    {"cosf", 2, [](float x, float) { return std::cos(L{x}); }},
    {"tanf", 4, [](float x, float) { return std::tan(L{x}); }},
    {"asinf", 2, [](float, float y) { return std::asin(L{y}); }},
    {"acosf", 2, [](float, float y) { return std::acos(L{y}); }},
    {"atanf", 2, [](float x, float) { return std::atan(L{x}); }},
    {"sinhf", 3, [](float x, float) { return std::sinh(L{x}); }},
    {"coshf", 2, [](float x, float) { return std::cosh(L{x}); }},
    {"tanhf", 2, [](float x, float) { return std::tanh(L{x}); }},
    {"acoshf", 4, [](float, float y) { return std::acosh(L{1 + y}); }},
    {"atanhf", 3, [](float, float y) { return std::atanh(L{y}); }},
    {"erff", 2, [](float x, float) { return std::erf(L{x}); }},
    {"cbrtf", 1, [](float x, float) { return std::cbrt(L{x}); }},
    {"rsqrtf", 2, [](float, float y) { return 1 / std::sqrt(L{y}); }},
    {"lgammaf", 6, [](float, float y) { return std::lgamma(L{1 + y}); }},
    {"tgammaf", 5, [](float, float y) { return std::tgamma(L{1 + y}); }},
    {"powf", 4, [](float x, float y) { return std::pow(L{y}, L{x}); }},
    {"atan2f", 3, [](float x, float y) { return std::atan2(L{x}, L{y}); }},
    {"hypotf", 3, [](float x, float y) { return std::hypot(L{x}, L{y}); }},
    {"fmodf", 0, [](float x, float y) { return std::fmod(L{x}, L{y}); }},
};

constexpr Function<double> of_f64[] = {
    {"exp", 1, [](double x, double) { return std::exp(L{x}); }},
    {"log", 1, [](double, double y) { return std::log(L{y}); }},
    {"sin", 2, [](double x, double) { return std::sin(L{x}); }},
    {"cos", 2, [](double x, double) { return std::cos(L{x}); }},
    {"tan", 2, [](double x, double) { return std::tan(L{x}); }},
    {"asin", 2, [](double, double y) { return std::asin(L{y}); }},
    {"atan", 2, [](double x, double) { return std::atan(L{x}); }},
    {"tanh", 2, [](double x, double) { return std::tanh(L{x}); }},
    {"erf", 2, [](double x, double) { return std::erf(L{x}); }},
    {"erfc", 5, [](double x, double) { return std::erfc(L{x}); }},
    {"cbrt", 1, [](double x, double) { return std::cbrt(L{x}); }},
    {"rsqrt", 1, [](double, double y) { return 1 / std::sqrt(L{y}); }},
    {"pow", 2, [](double x, double y) { return std::pow(L{y}, L{x}); }},
    {"hypot", 2, [](double x, double y) { return std::hypot(L{x}, L{y}); }},
    {"fmod", 0, [](double x, double y) { return std::fmod(L{x}, L{y}); }},
};

template <class T, size_t count>
void expect_near(const Function<T> (&functions)[count], std::string_view entry, Arch arch) {
    constexpr size_t values = 400;
    std::mt19937_64 random(1);
    std::normal_distribution<T> normal(0, 5);
    std::uniform_real_distribution<T> below_one(T{0x1p-20}, T{0.9990234375});
    std::vector<T> a(values);
    std::vector<T> b(values);
    for (size_t i = 0; i < values; ++i) {
        a[i] = normal(random);
        b[i] = below_one(random);
    }
    Given given;
    given.arch = arch;
    given.grid.x = (values + 127) / 128;
    given.block.x = 128;
    given.buffers = {bytes_from(a), bytes_from(b), Bytes(count * values * sizeof(T), 0xff)};
    append(given.arguments, static_cast<int32_t>(values));
    const isa::Program program =
        program_of(read_text(LOCKWARP_SOURCE_DIR "/tests/exec/data/math.sm_80.ptx"), arch, entry);
    const std::vector<T> out = values_in<T>(run_well(program, given).buffers[2]);
    for (size_t f = 0; f < count; ++f) {
        int most = 0;
        for (size_t i = 0; i < values; ++i) {
            const T right = static_cast<T>(functions[f].value(a[i], b[i]));
            T up = right;
            T down = right;
            int off = 0;
            for (; off < 100 && out[f * values + i] != up && out[f * values + i] != down; ++off) {
                up = std::nextafter(up, std::numeric_limits<T>::infinity());
                down = std::nextafter(down, -std::numeric_limits<T>::infinity());
            }
            most = std::max(most, off);
        }
        EXPECT_LE(most, functions[f].ulps) << functions[f].name;
    }
}

class CudaMath : public testing::TestWithParam<Arch> {};

TEST_P(CudaMath, F32IsNearLongDouble) { expect_near(of_f32, "math_f32", GetParam()); }

TEST_P(CudaMath, F64IsNearLongDouble) { expect_near(of_f64, "math_f64", GetParam()); }

INSTANTIATE_TEST_SUITE_P(Nvcc, CudaMath, testing::Values(Arch::sm_80, Arch::sm_90),
                         [](const auto& each) { return std::string(isa::row(each.param).name); });

}  // namespace

}  // namespace lockwarp::exec
