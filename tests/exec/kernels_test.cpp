// SPDX-License-Identifier: Apache-2.0
// The kernels of gpu/kernels: a product and ldmatrix against their tables, Volta's products.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>

#include "tests/exec/reference.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

using isa::Arch;

std::string kernel_file(const std::string& name) {
    return read_text(LOCKWARP_SOURCE_DIR "/gpu/kernels/" + name);
}

Bytes f16_bytes(const std::vector<double>& values) {
    Bytes out;
    for (const double v : values) append(out, f16_of(v));
    return out;
}

std::vector<double> f16_values(const Bytes& bytes) {
    std::vector<double> out;
    for (size_t i = 0; i + 1 < bytes.size(); i += 2)
        out.push_back(value_of_f16(static_cast<uint16_t>(bytes[i] | bytes[i + 1] << 8)));
    return out;
}

// 0, 1/divisor, 2/divisor, ... as f16.
std::vector<double> counted(size_t count, double divisor) {
    std::vector<double> out;
    for (size_t i = 0; i < count; ++i)
        out.push_back(value_of_f16(f16_of(static_cast<double>(i) / divisor)));
    return out;
}

std::string printed(const std::vector<double>& values, size_t columns, int decimals) {
    std::string out;
    for (size_t i = 0; i < values.size(); ++i) {
        char number[32];
        std::snprintf(number, sizeof number, "%.*f", decimals, values[i]);
        out += number;
        out += (i + 1) % columns == 0 ? "\n" : " ";
    }
    return out;
}

// What the kernel printed on a GPU.
std::string recorded_table(const std::string& name) {
    return read_text(LOCKWARP_SOURCE_DIR "/tests/exec/data/" + name);
}

std::vector<double> warp_product(const std::string& file, const std::string& entry, Arch arch) {
    Given given;
    given.arch = arch;
    given.buffers = {f16_bytes(counted(256, 100)), f16_bytes(counted(128, 100)), Bytes(256, 0xff)};
    const isa::Program program = program_of(kernel_file(file), arch, entry);
    return f16_values(run_well(program, given).buffers[2]);
}

struct ProductCase {
    std::string name, file, entry;
    Arch arch;
    bool f16_accumulators;
};

void PrintTo(const ProductCase& c, std::ostream* out) { *out << c.name; }

class WarpProduct : public testing::TestWithParam<ProductCase> {};

class RecordedProduct : public WarpProduct {};

TEST_P(RecordedProduct, EqualsTheTable) {
    const ProductCase& c = GetParam();
    EXPECT_EQ(printed(warp_product(c.file, c.entry, c.arch), 8, 4),
              recorded_table("mma_m16n8k16.txt"));
}

TEST_P(WarpProduct, EqualsTheReference) {
    const ProductCase& c = GetParam();
    const std::vector<double> a = counted(256, 100);
    const std::vector<double> b = counted(128, 100);
    std::vector<double> expected;
    for (size_t row = 0; row < 16; ++row)
        for (size_t column = 0; column < 8; ++column) {
            const std::vector<double> left(a.begin() + 16 * static_cast<int>(row),
                                           a.begin() + 16 * static_cast<int>(row + 1));
            const std::vector<double> right(b.begin() + 16 * static_cast<int>(column),
                                            b.begin() + 16 * static_cast<int>(column + 1));
            const Block how = f16_block(c.arch);
            expected.push_back(c.f16_accumulators
                                   ? dot_f16(how, left, right, 0)
                                   : value_of_f16(f16_of(dot_f32(how, left, right, 0))));
        }
    EXPECT_EQ(warp_product(c.file, c.entry, c.arch), expected);
}

// Of the kernel with f16 accumulators there is no table of Ampere's.
std::vector<ProductCase> products(bool recorded) {
    std::vector<ProductCase> out;
    for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_90}) {
        const std::string on = "_on_" + std::string(isa::row(arch).name);
        out.push_back({"mma_m16n8k16" + on, "mma_m16n8k16.sm_80.ptx", "mma_m16n8k16", arch, false});
        if (!recorded || arch == Arch::sm_90)
            out.push_back(
                {"mma_ldmatrix" + on, "mma_ldmatrix.sm_80.ptx", "mma_ldmatrix", arch, true});
    }
    return out;
}

INSTANTIATE_TEST_SUITE_P(Kernels, RecordedProduct, testing::ValuesIn(products(true)),
                         [](const auto& tested) { return tested.param.name; });
INSTANTIATE_TEST_SUITE_P(Kernels, WarpProduct, testing::ValuesIn(products(false)),
                         [](const auto& tested) { return tested.param.name; });

struct MoveCase {
    const char* entry;
    unsigned matrices;
    bool trans;
};

void PrintTo(const MoveCase& c, std::ostream* out) { *out << c.entry; }

class MoveKernel : public testing::TestWithParam<MoveCase> {
  protected:
    static unsigned columns() { return GetParam().matrices == 1 ? 8 : 16; }
    static std::vector<double> moved(Arch arch) {
        const size_t elements = 64 * GetParam().matrices;
        Given given;
        given.arch = arch;
        given.buffers = {f16_bytes(counted(elements, 1)), Bytes(2 * elements, 0xff)};
        const isa::Program program =
            program_of(kernel_file("ldmatrix.sm_75.ptx"), arch, GetParam().entry);
        return f16_values(run_well(program, given).buffers[1]);
    }
};

class RecordedMove : public MoveKernel {};

TEST_P(RecordedMove, EqualsTheTable) {
    const std::string expected = recorded_table(std::string(GetParam().entry) + ".txt");
    for (const Arch arch : {Arch::sm_75, Arch::sm_80, Arch::sm_90})
        EXPECT_EQ(printed(moved(arch), columns(), 1), expected);
}

// PTX manual, ldmatrix: thread t receives elements 2 * (t % 4) and the next of row t / 4 of every
// matrix; with .trans row and column change places.
TEST_P(MoveKernel, DealsRowsOfEveryMatrixToTheLanes) {
    const MoveCase& c = GetParam();
    std::vector<double> expected;
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned matrix = 0; matrix < c.matrices; ++matrix)
            for (unsigned half = 0; half < 2; ++half) {
                unsigned row = lane / 4;
                unsigned column = lane % 4 * 2 + half;
                if (c.trans) std::swap(row, column);
                row += 8 * (matrix / 2);
                column += 8 * (matrix % 2);
                expected.push_back(columns() * row + column);
            }
    for (const Arch arch : {Arch::sm_75, Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90})
        EXPECT_EQ(moved(arch), expected);
}

constexpr MoveCase move_cases[] = {{"ldmatrix_x1", 1, false}, {"ldmatrix_x1_trans", 1, true},
                                   {"ldmatrix_x2", 2, false}, {"ldmatrix_x2_trans", 2, true},
                                   {"ldmatrix_x4", 4, false}, {"ldmatrix_x4_trans", 4, true}};

// All but the last have a table.
INSTANTIATE_TEST_SUITE_P(Kernels, RecordedMove, testing::ValuesIn(move_cases, move_cases + 5),
                         [](const auto& tested) { return std::string(tested.param.entry); });
INSTANTIATE_TEST_SUITE_P(Kernels, MoveKernel, testing::ValuesIn(move_cases),
                         [](const auto& tested) { return std::string(tested.param.entry); });

// Volta: four products, one in each quad-pair.
struct VoltaCase {
    std::string a_order, b_order, types;  // of C and D: "f32", "f16", "f32_f16"
    std::string entry() const { return "volta_" + a_order + "_" + b_order + "_" + types; }
    bool c_is_f16() const { return types != "f32"; }
    bool d_is_f16() const { return types == "f16"; }
};

void PrintTo(const VoltaCase& c, std::ostream* out) { *out << c.entry(); }

std::vector<VoltaCase> volta_cases() {
    std::vector<VoltaCase> out;
    for (const char* a : {"row", "col"})
        for (const char* b : {"row", "col"})
            for (const char* types : {"f32", "f16", "f32_f16"}) out.push_back({a, b, types});
    return out;
}

struct VoltaOperands {
    std::vector<double> a, b, c;
};

class Volta : public testing::TestWithParam<VoltaCase> {
  protected:
    static std::vector<double> products(Arch arch, const VoltaOperands& in) {
        const VoltaCase& v = GetParam();
        Bytes c;
        for (const double x : in.c)
            v.c_is_f16() ? append(c, f16_of(x)) : append(c, static_cast<float>(x));
        Given given;
        given.arch = arch;
        given.buffers = {f16_bytes(in.a), f16_bytes(in.b), c, Bytes(v.d_is_f16() ? 512 : 1024)};
        const isa::Program program =
            program_of(kernel_file("volta_m8n8k4.sm_70.ptx"), arch, v.entry());
        const Bytes d = run_well(program, given).buffers[3];
        if (v.d_is_f16()) return f16_values(d);
        std::vector<double> out;
        for (const uint32_t word : words_of(d)) out.push_back(std::bit_cast<float>(word));
        return out;
    }

    // D of all four products by `dot` over four pairs and c.
    static std::vector<double> reference(
        const VoltaOperands& in,
        const std::function<double(const std::vector<double>&, const std::vector<double>&, double)>&
            dot) {
        std::vector<double> out;
        for (unsigned q = 0; q < 4; ++q)
            for (unsigned m = 0; m < 8; ++m)
                for (unsigned n = 0; n < 8; ++n) {
                    std::vector<double> a;
                    std::vector<double> b;
                    for (unsigned k = 0; k < 4; ++k) {
                        a.push_back(
                            in.a[32 * q + (GetParam().a_order == "row" ? 4 * m + k : 8 * k + m)]);
                        b.push_back(
                            in.b[32 * q + (GetParam().b_order == "row" ? 8 * k + n : 4 * n + k)]);
                    }
                    out.push_back(dot(a, b, in.c[64 * q + 8 * m + n]));
                }
        return out;
    }

    static VoltaOperands random_normal(uint32_t seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        VoltaOperands in;
        const auto f16 = [&] { return value_of_f16(f16_of(normal(random))); };
        for (int i = 0; i < 128; ++i) in.a.push_back(f16());
        for (int i = 0; i < 128; ++i) in.b.push_back(f16());
        for (int i = 0; i < 256; ++i)
            in.c.push_back(GetParam().c_is_f16() ? f16() : static_cast<float>(normal(random)));
        return in;
    }

    static VoltaOperands random_integers(uint32_t seed) {
        std::mt19937 random(seed);
        VoltaOperands in;
        const auto integer = [&] { return static_cast<double>(random() % 31) - 15; };
        for (int i = 0; i < 128; ++i) in.a.push_back(integer());
        for (int i = 0; i < 128; ++i) in.b.push_back(integer());
        for (int i = 0; i < 256; ++i) in.c.push_back(integer());
        return in;
    }
};

double exact(const std::vector<double>& a, const std::vector<double>& b, double c) {
    double sum = c;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

TEST_P(Volta, IntegersAreExactOnEveryArchitecture) {
    for (uint32_t seed = 1; seed <= 4; ++seed) {
        const VoltaOperands in = random_integers(seed);
        for (const Arch arch : {Arch::sm_70, Arch::sm_75, Arch::sm_80, Arch::sm_86, Arch::sm_90})
            EXPECT_EQ(products(arch, in), reference(in, exact)) << isa::row(arch).name;
    }
}

TEST_P(Volta, IsOneBlockOfFourOnVolta) {
    const bool f16 = GetParam().d_is_f16();
    for (uint32_t seed = 1; seed <= 20; ++seed) {
        const VoltaOperands in = random_normal(seed);
        const Block how = f16_block(Arch::sm_70);
        const std::vector<double> d = products(Arch::sm_70, in);
        EXPECT_EQ(d, reference(in, [&](const auto& a, const auto& b, double c) {
                      return f16 ? dot_f16(how, a, b, c) : dot_f32(how, a, b, c);
                  }));
        const std::vector<double> near = reference(in, exact);
        for (size_t i = 0; i < near.size(); ++i)
            EXPECT_NEAR(d[i], near[i], f16 ? std::ldexp(32, -11) : std::ldexp(32, -21));
    }
}

// From Ampere on there is no such tensor core: two or four fused multiply-adds in f32.
TEST_P(Volta, IsFusedMultiplyAddsFromAmpereOn) {
    const bool f16 = GetParam().d_is_f16();
    const auto fused = [&](const std::vector<double>& x, const std::vector<double>& y, double z) {
        std::array<float, 4> a;
        std::array<float, 4> b;
        for (size_t i = 0; i < 4; ++i) {
            a[i] = static_cast<float>(x[i]);
            b[i] = static_cast<float>(y[i]);
        }
        const auto c = static_cast<float>(z);
        const float low = std::fma(a[1], b[1], a[0] * b[0]);
        if (!f16) return double{c + std::fma(a[3], b[3], std::fma(a[2], b[2], low))};
        return value_of_f16(f16_of((c + low) + std::fma(a[3], b[3], a[2] * b[2])));
    };
    for (uint32_t seed = 1; seed <= 20; ++seed) {
        const VoltaOperands in = random_normal(seed);
        for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_90})
            EXPECT_EQ(products(arch, in), reference(in, fused)) << isa::row(arch).name;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Volta, testing::ValuesIn(volta_cases()),
                         [](const auto& tested) { return tested.param.entry(); });

}  // namespace

}  // namespace lockwarp::exec
