// SPDX-License-Identifier: Apache-2.0
// Matrix instructions without a kernel against the definition, every variant on every architecture.
#include <gtest/gtest.h>

#include <random>

#include "emu/isa/elements.hpp"
#include "emu/isa/wmma.hpp"
#include "emu/num/dot.hpp"
#include "emu/num/ieee.hpp"
#include "tests/engine/support.hpp"

namespace lockwarp::engine {
namespace {

using isa::Arch;
using isa::Type;

struct Case {
    std::string key;
    lockwarp_mma_info info{};
    const isa::MmaVariant* mma = nullptr;
    const isa::WmmaVariant* wmma = nullptr;
    Type a{}, b{}, c{}, d{}, sum{};
};

Type type_of(const char* name) { return isa::type_named("." + std::string(name)); }

std::vector<Case> all_cases() {
    std::vector<Case> out;
    for (size_t i = 0; i < lockwarp_mma_count(); ++i) {
        Case c;
        c.info.struct_size = sizeof c.info;
        EXPECT_EQ(lockwarp_mma_at(i, &c.info), LOCKWARP_OK);
        c.key = c.info.key;
        for (const isa::MmaVariant& v : isa::mma_variants())
            if (v.key == c.key) c.mma = &v;
        for (const isa::WmmaVariant& v : isa::wmma_variants())
            if (v.key == c.key) c.wmma = &v;
        c.a = type_of(c.info.a_type);
        c.b = type_of(c.info.b_type);
        c.c = type_of(c.info.c_type);
        c.d = type_of(c.info.d_type);
        c.sum = c.wmma != nullptr ? isa::sum_type(*c.wmma) : c.d;
        out.push_back(c);
    }
    return out;
}

// Elements as numbers, and as memory has them. Of `fill` all bits are random, or of floating-point
// types most are of ordinary size.
struct Matrix {
    std::vector<uint64_t> values;
    std::vector<uint8_t> packed, bytes;

    Matrix(Type type, size_t count, std::mt19937_64& random) {
        const unsigned width = isa::bits(type);
        const unsigned step = width == 6 ? 8 : width;
        packed.resize((count * step + 7) / 8);
        bytes.resize(width < 8 ? count : packed.size());
        for (size_t i = 0; i < count; ++i) {
            uint64_t v = random();
            if (width < 64) v &= (uint64_t{1} << width) - 1;
            if (type == Type::tf32) v &= ~uint64_t{0x1fff};
            // Exponents near the middle, so that sums are of several products.
            if (width >= 16 && isa::is_float(type) && random() % 64 != 0) {
                const num::FormatRow& f = num::format(type == Type::tf32 ? Type::f32 : type);
                const uint64_t fraction = v & ((uint64_t{1} << f.fraction_bits) - 1);
                const auto exponent = static_cast<uint64_t>(num::bias(f)) - 3 + random() % 6;
                v = num::with_sign(f, (random() & 1) != 0, exponent << f.fraction_bits | fraction);
                if (type == Type::tf32) v &= ~uint64_t{0x1fff};
            }
            values.push_back(v);
            if (width >= 8) {
                std::memcpy(packed.data() + i * width / 8, &v, width / 8);
            } else {
                packed[i * step / 8] |= static_cast<uint8_t>(v << (i * step % 8));
                bytes[i] = static_cast<uint8_t>(v);
            }
        }
        if (width >= 8) bytes = packed;
    }
};

// The definition, from the manual: of sparse A by the column that each stored element stands for.
std::vector<uint64_t> expected(const Case& c, Arch arch, const num::DotRow& row, const Matrix& a,
                               const Matrix& b, const Matrix& e,
                               const std::vector<uint8_t>& metadata,
                               const std::vector<uint8_t>& a_scales,
                               const std::vector<uint8_t>& b_scales) {
    const auto [m, n, k, stored] =
        std::array<size_t, 4>{c.info.m, c.info.n, c.info.k, c.info.stored_k};
    std::vector<uint64_t> out;
    const unsigned held =
        c.mma != nullptr ? isa::held_bits(isa::fragment(c.mma->fragment_a), c.a) : 0;
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j) {
            std::vector<uint64_t> line, column;
            for (size_t s = 0; s < stored; ++s) {
                size_t from = s;
                if (c.info.groups != 0) {
                    // Elements of a group of four units, of which two are stored.
                    const size_t elements = held >= 32 ? 2 : held == 4 ? 8 : 4;
                    const size_t kept = elements / 2;
                    const size_t group = s / kept;
                    const uint8_t meta = metadata[i * c.info.groups + group];
                    const size_t unit = held == 32  ? 2 * (s % kept)
                                        : held == 4 ? s % kept / 2
                                                    : s % kept;
                    const size_t place = unit == 0 ? meta & 3 : meta >> 2 & 3;
                    from = group * elements + (held == 32  ? place / 2
                                               : held == 4 ? 2 * place + s % 2
                                                           : place);
                }
                line.push_back(a.values[i * stored + s]);
                column.push_back(b.values[from * n + j]);
            }
            uint64_t addend = e.values[i * n + j];
            isa::Combine combine = isa::Combine::none;
            if (c.mma != nullptr) combine = c.mma->combine;
            if (c.wmma != nullptr) combine = c.wmma->combine;
            num::MatrixTypes types{c.a, c.b, c.c, c.sum, false, combine};
            if (c.wmma != nullptr && isa::wmma_machine(arch).converts_c) {
                addend =
                    c.c == c.sum ? addend : num::convert(c.c, c.sum, addend, isa::Rounding::rn);
                types.c = c.sum;
            }
            uint64_t d = 0;
            const num::MatrixShape shape{1, 1, static_cast<int>(stored)};
            if (c.info.scales == 0) {
                num::matrix_product(row, shape, types, line.data(), column.data(), &addend, &d);
            } else {
                const int scales = static_cast<int>(c.info.scales);
                const num::Scales factors{c.mma->scale, scales, &a_scales[i * c.info.scales],
                                          &b_scales[j * c.info.scales]};
                num::scaled_product(row, shape, types, factors, line.data(), column.data(), &addend,
                                    &d);
            }
            out.push_back(c.d == c.sum ? d : num::convert(c.sum, c.d, d, isa::Rounding::rn));
        }
    (void)k;
    return out;
}

std::vector<uint8_t> random_bytes(size_t count, std::mt19937_64& random) {
    std::vector<uint8_t> out(count);
    for (uint8_t& b : out) b = static_cast<uint8_t>(random());
    return out;
}

// Places of two units, the first before the second; of tf32, whose elements are two units each, one
// element.
std::vector<uint8_t> random_metadata(size_t count, bool pairs, std::mt19937_64& random) {
    constexpr std::array<uint8_t, 6> any{0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
    constexpr std::array<uint8_t, 2> both{0x4, 0xe};
    std::vector<uint8_t> out(count);
    for (uint8_t& m : out) m = pairs ? both[random() % 2] : any[random() % any.size()];
    return out;
}

// Two products by one call, packed and in bytes.
void compare(const Case& c, Arch arch, const num::DotRow& row, std::mt19937_64& random) {
    SCOPED_TRACE(c.key + " on " + std::string(isa::row(arch).name));
    const bool pairs = c.a == Type::tf32;
    const size_t size_d = size_t{c.info.m} * c.info.n * isa::bits(c.d) / 8;
    for (const bool in_bytes : {false, true}) {
        const Matrix a(c.a, size_t{c.info.m} * c.info.stored_k, random);
        const Matrix b(c.b, size_t{c.info.k} * c.info.n, random);
        const Matrix e(c.c, size_t{c.info.m} * c.info.n, random);
        const auto metadata = random_metadata(size_t{c.info.m} * c.info.groups, pairs, random);
        const auto a_scales = random_bytes(size_t{c.info.m} * c.info.scales, random);
        const auto b_scales = random_bytes(size_t{c.info.n} * c.info.scales, random);
        const auto want = expected(c, arch, row, a, b, e, metadata, a_scales, b_scales);
        std::vector<uint8_t> d(2 * size_d);
        lockwarp_mma_operands o{};
        o.struct_size = sizeof o;
        o.batch = 2;
        o.a = in_bytes ? a.bytes.data() : a.packed.data();
        o.b = in_bytes ? b.bytes.data() : b.packed.data();
        o.c = e.packed.data();
        o.d = d.data();
        o.a_stride = o.b_stride = o.c_stride = LOCKWARP_SAME;
        o.metadata = metadata.data();
        o.a_scales = a_scales.data();
        o.b_scales = b_scales.data();
        o.metadata_stride = o.a_scales_stride = o.b_scales_stride = LOCKWARP_SAME;
        o.flags = in_bytes ? LOCKWARP_MMA_BYTES : 0;
        o.threads = 1;
        lockwarp_error* error = nullptr;
        ASSERT_EQ(lockwarp_mma(c.key.c_str(), isa::row(arch).name.data(), &o, &error), LOCKWARP_OK)
            << lockwarp_error_message(error);
        for (size_t i = 0; i < want.size(); ++i)
            for (size_t product = 0; product < 2; ++product) {
                uint64_t got = 0;
                std::memcpy(&got, d.data() + product * size_d + i * isa::bits(c.d) / 8,
                            isa::bits(c.d) / 8);
                ASSERT_EQ(got, want[i]) << "element " << i << " of product " << product;
            }
    }
}

TEST(Multiply, GivesTheDefinitionsBitsForEveryVariant) {
    std::mt19937_64 random(17);
    size_t compared = 0;
    size_t refused = 0;
    for (const Case& c : all_cases()) {
        ASSERT_NE(c.mma != nullptr, c.wmma != nullptr) << c.key;
        for (const isa::ArchRow& arch : isa::arch_rows) {
            const auto* row =
                num::find_dot_row(arch.arch, static_cast<int>(c.info.m), static_cast<int>(c.info.n),
                                  static_cast<int>(c.info.k), c.a, c.sum,
                                  c.mma != nullptr ? c.mma->kind : isa::MmaKind::none);
            lockwarp_mma_info info{};
            info.struct_size = sizeof info;
            const lockwarp_status found =
                lockwarp_mma_find(c.key.c_str(), arch.name.data(), &info, nullptr);
            if (row == nullptr || arch.number < c.info.target) {
                EXPECT_EQ(found, LOCKWARP_UNSUPPORTED) << c.key << " on " << arch.name;
                ++refused;
                continue;
            }
            EXPECT_EQ(found, LOCKWARP_OK);
            EXPECT_STRNE(info.evidence, "");
            compare(c, arch.arch, *row, random);
            ++compared;
        }
    }
    EXPECT_GT(compared, 1000u);
    EXPECT_GT(refused, 100u);
}

lockwarp_status find(const char* key, const char* arch, std::string* message = nullptr) {
    lockwarp_mma_info info{};
    info.struct_size = sizeof info;
    lockwarp_error* raw = nullptr;
    const lockwarp_status status = lockwarp_mma_find(key, arch, &info, &raw);
    const Error error(raw);
    if (message != nullptr)
        *message = status == LOCKWARP_OK ? info.key : lockwarp_error_message(raw);
    return status;
}

TEST(Multiply, NamesTheNearestKeys) {
    std::string text;
    EXPECT_EQ(find("m16n8k16.f32.f16.f16.f32", "sm_90", &text), LOCKWARP_OK);
    EXPECT_EQ(text, "mma.m16n8k16.f32.f16.f16.f32");
    EXPECT_EQ(find("m16n16k16.row.col.f32.f16.f16.f32", nullptr, &text), LOCKWARP_OK);
    EXPECT_EQ(text, "wmma.mma.m16n16k16.row.col.f32.f16.f16.f32");
    EXPECT_EQ(find("m16n8k16.f32.f16.f16.f23", "sm_90", &text), LOCKWARP_NOT_FOUND);
    EXPECT_NE(text.find("mma.m16n8k16.f32.f16.f16.f32"), std::string::npos) << text;
    EXPECT_EQ(find("m16n8k16.f32.bf16.bf16.f32", "sm_75", &text), LOCKWARP_UNSUPPORTED);
    EXPECT_NE(text.find("needs sm_80"), std::string::npos) << text;
    EXPECT_EQ(find("m16n8k16.f32.f16.f16.f32", "sm_91"), LOCKWARP_NOT_FOUND);
    EXPECT_EQ(find(nullptr, nullptr), LOCKWARP_INVALID_ARGUMENT);
}

TEST(Multiply, RefusesOperandsThatCannotBe) {
    std::vector<uint8_t> bytes(4096);
    lockwarp_mma_operands o{};
    o.struct_size = sizeof o;
    o.batch = 2;
    o.a = o.b = bytes.data();
    const char* const key = "mma.m16n8k16.f32.f16.f16.f32";
    const auto status = [&](const char* k) { return lockwarp_mma(k, "sm_90", &o, nullptr); };
    EXPECT_EQ(status(key), LOCKWARP_INVALID_ARGUMENT);  // no d
    std::vector<uint8_t> d(2 * 512);
    o.d = d.data();
    EXPECT_EQ(status(key), LOCKWARP_OK);
    o.d_stride = LOCKWARP_SAME;
    EXPECT_EQ(status(key), LOCKWARP_INVALID_ARGUMENT);
    o.d_stride = 511;
    EXPECT_EQ(status(key), LOCKWARP_INVALID_ARGUMENT);
    o.d_stride = 0;
    o.flags = LOCKWARP_MMA_SATFINITE;
    EXPECT_EQ(status(key), LOCKWARP_INVALID_ARGUMENT);
    EXPECT_EQ(status("mma.m16n8k32.s32.s8.s8.s32"), LOCKWARP_OK);
    o.flags = 1u << 30;
    EXPECT_EQ(status(key), LOCKWARP_INVALID_ARGUMENT);
    o.flags = 0;
    EXPECT_EQ(status("mma.sp.m16n8k32.f32.f16.f16.f32"), LOCKWARP_INVALID_ARGUMENT);  // no metadata
    lockwarp_stop* made = nullptr;
    ASSERT_EQ(lockwarp_stop_create(&made), LOCKWARP_OK);
    const Stop stop(made);
    lockwarp_stop_request(made);
    o.stop = made;
    EXPECT_EQ(status(key), LOCKWARP_STOPPED);
}

}  // namespace
}  // namespace lockwarp::engine
