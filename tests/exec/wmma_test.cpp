// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.mma, wmma.store: every variant on every architecture against a product written
// out here, in every order, with lines further apart; and what programs do to fragments in between.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "tests/exec/reference.hpp"
#include "tests/exec/wmma_support.hpp"

namespace lockwarp::exec {

namespace {

using isa::Arch;
using isa::Order;
using isa::Type;
using isa::WmmaVariant;

// A matrix of small integers, row by row as PTX counts: A is m x k, B k x n.
struct Matrix {
    unsigned rows, columns;
    std::vector<int> values;
    int& at(unsigned row, unsigned column) { return values[row * columns + column]; }
    int at(unsigned row, unsigned column) const { return values[row * columns + column]; }
};

// The least and the largest integer of a type that the tests use.
struct Range {
    int low, high;
};
Range range_of(Type t) {
    switch (t) {
        case Type::b1:
            return {0, 1};
        case Type::u4:
            return {0, 15};
        case Type::s4:
            return {-8, 7};
        case Type::u8:
            return {0, 255};
        case Type::s8:
            return {-128, 127};
        default:
            return {-4, 4};
    }
}

uint64_t encoded(Type t, int value) {
    switch (t) {
        case Type::f16:
            return f16_of(value);
        case Type::bf16:
            return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
        case Type::tf32:
        case Type::f32:
            return std::bit_cast<uint32_t>(static_cast<float>(value));
        case Type::f64:
            return std::bit_cast<uint64_t>(static_cast<double>(value));
        default:
            return static_cast<uint32_t>(value) & ((uint64_t{1} << isa::bits(t)) - 1);
    }
}

void put(Bytes& bytes, size_t at, const Storage& s, const Matrix& m) {
    for (unsigned r = 0; r < m.rows; ++r)
        for (unsigned c = 0; c < m.columns; ++c)
            exec::put(bytes, at, s, r, c, encoded(s.type, m.at(r, c)));
}

Matrix random_matrix(unsigned rows, unsigned columns, Range range, std::mt19937& random) {
    Matrix m{rows, columns, std::vector<int>(size_t{rows} * columns)};
    for (int& v : m.values)
        v = range.low + static_cast<int>(random() % unsigned(range.high - range.low + 1));
    return m;
}

constexpr size_t part_bytes = 4096;  // of A, B and C in the buffer `in`

// One program: loads, the text in between, the product, the store. C and D by rows.
struct Once {
    const WmmaVariant& v;
    Arch arch;
    unsigned more = 0;  // elements between the lines, in units of 32 bytes
    Order c_order = Order::row;
    Order d_order = Order::row;
    std::string_view space = ".global";
    std::string between = "";
    std::string_view after = "";

    Order order(char which) const {
        return which == 'a'   ? v.a_order
               : which == 'b' ? v.b_order
               : which == 'c' ? c_order
                              : d_order;
    }

    Storage storage(char which) const {
        return storage_of(matrix_of(v, which), order(which), more);
    }

    std::string move(char which, const std::string& at) const {
        return move_text(v, arch, which, order(which), space, at,
                         more == 0 ? "" : std::to_string(storage(which).stride));
    }

    // What the program leaves in `out`.
    Bytes of(const Matrix& a, const Matrix& b, const Matrix& c) const {
        Bytes in(3 * part_bytes, 0xa7);
        put(in, 0, storage('a'), a);
        put(in, part_bytes, storage('b'), b);
        put(in, 2 * part_bytes, storage('c'), c);
        std::string body;
        std::string from[3] = {"%rd1", "%rd1+4096", "%rd1+8192"};
        if (space == ".shared") {
            // Each lane copies a part.
            body +=
                "mov.u32 %r2, sm;\nmad.lo.u32 %r3, %r1, 384, %r2;\n"
                "mul.wide.u32 %rd5, %r1, 384;\nadd.u64 %rd5, %rd5, %rd1;\n";
            for (unsigned i = 0; i < 384; i += 8)
                body += "ld.global.b64 %rd6, [%rd5+" + std::to_string(i) +
                        "];\nst.shared.b64 [%r3+" + std::to_string(i) + "], %rd6;\n";
            body += "bar.sync 0;\n";
            from[0] = "sm";
            from[1] = "sm+4096";
            from[2] = "%r2+8192";
        }
        body += move('a', from[0]) + move('b', from[1]) + move('c', from[2]) + between +
                mma_text(v, arch, after);
        Once out = *this;
        out.space = space == ".shared" ? "" : space;  // global, by generic address
        body += out.move('d', "%rd4") + "ret;";
        Given given;
        given.arch = arch;
        given.buffers = {in, Bytes(2 * part_bytes, 0x5c)};
        return run_well(program_of(kernel(body, ".shared .align 128 .b8 sm[12288];", target_of(v)),
                                   arch),
                        given)
            .buffers[1];
    }
};

int64_t sum_of(const WmmaVariant& v, const Matrix& a, const Matrix& b, const Matrix& c,
               unsigned row, unsigned column) {
    int64_t sum = c.at(row, column);
    for (unsigned k = 0; k < v.k; ++k) {
        const int x = a.at(row, k);
        const int y = b.at(k, column);
        sum += v.combine == isa::Combine::xor_ ? x ^ y : x * y;
    }
    return sum;
}

bool has(Arch arch, const WmmaVariant& v) { return isa::has(arch, v.target); }

// Products that every format holds: the same on every architecture, wherever its elements lie.
TEST(Wmma, IntegersAreExactInEveryOrderAndFromEverySpace) {
    std::mt19937 random(1);
    for (const isa::ArchRow& machine : isa::arch_rows)
        for (const WmmaVariant& v : isa::wmma_variants()) {
            if (!has(machine.arch, v)) continue;
            SCOPED_TRACE(std::string(machine.name) + " " + std::string(v.key));
            const Range range = range_of(v.ab);
            const Matrix a = random_matrix(v.m, v.k, range, random);
            const Matrix b = random_matrix(v.k, v.n, range, random);
            const Matrix c = random_matrix(v.m, v.n, {-30, 30}, random);
            for (unsigned more = 0; more < 3; ++more) {
                Once one{v, machine.arch};
                one.more = more;
                one.c_order = more == 1 ? Order::col : Order::row;
                one.d_order = more == 2 ? Order::col : Order::row;
                one.space = more == 0 ? "" : more == 1 ? ".shared" : ".global";
                // Shared memory has 4096 bytes for each.
                Bytes expected(2 * part_bytes, 0x5c);
                Matrix d{v.m, v.n, std::vector<int>(size_t{v.m} * v.n)};
                for (unsigned r = 0; r < v.m; ++r)
                    for (unsigned n = 0; n < v.n; ++n)
                        d.at(r, n) = static_cast<int>(sum_of(v, a, b, c, r, n));
                put(expected, 0, one.storage('d'), d);
                ASSERT_EQ(one.of(a, b, c), expected) << "form " << more;
            }
        }
}

// Normal values, summed as each architecture's tensor cores do; D of f16 beside C of f32, and the
// other way round, in f32 with one rounding last.
TEST(Wmma, BlocksOfF16AreTheArchitectures) {
    std::mt19937 random(2);
    std::normal_distribution<double> normal;
    size_t compared = 0;
    for (const isa::ArchRow& machine : isa::arch_rows)
        for (const WmmaVariant& v : isa::wmma_variants()) {
            if (v.ab != Type::f16 || v.m != 16) continue;
            std::vector<std::vector<double>> a(16), b(16);
            std::vector<double> c(256);
            Bytes in(3 * part_bytes);
            Once one{v, machine.arch};
            const auto write = [&](size_t at, char which, unsigned row, unsigned column,
                                   double value) {
                const Storage s = one.storage(which);
                const uint64_t bits = s.type == Type::f16
                                          ? f16_of(value)
                                          : std::bit_cast<uint32_t>(static_cast<float>(value));
                std::memcpy(in.data() + at + s.bit(row, column) / 8, &bits, isa::bits(s.type) / 8);
            };
            for (unsigned i = 0; i < 16; ++i)
                for (unsigned k = 0; k < 16; ++k) {
                    a[i].push_back(value_of_f16(f16_of(normal(random))));
                    b[i].push_back(value_of_f16(f16_of(normal(random))));
                    c[i * 16 + k] = value_of_f16(f16_of(normal(random)));
                    write(0, 'a', i, k, a[i][k]);
                    write(part_bytes, 'b', k, i, b[i][k]);
                    write(2 * part_bytes, 'c', i, k, c[i * 16 + k]);
                }
            std::string body = one.move('a', "%rd1") + one.move('b', "%rd1+4096") +
                               one.move('c', "%rd1+8192") + mma_text(v, machine.arch) +
                               one.move('d', "%rd4") + "ret;";
            Given given;
            given.arch = machine.arch;
            given.buffers = {in, Bytes(part_bytes)};
            const Bytes out =
                run_well(program_of(kernel(body, "", "sm_70"), machine.arch), given).buffers[1];
            const Block how = f16_block(machine.arch);
            for (unsigned i = 0; i < 16; ++i)
                for (unsigned j = 0; j < 16; ++j) {
                    const uint64_t bits = get(out, 0, one.storage('d'), i, j);
                    const double sum = v.c == Type::f16 && v.d == Type::f16
                                           ? dot_f16(how, a[i], b[j], c[i * 16 + j])
                                           : double{dot_f32(how, a[i], b[j], c[i * 16 + j])};
                    const uint64_t expected =
                        v.d == Type::f16 ? f16_of(sum)
                                         : std::bit_cast<uint32_t>(static_cast<float>(sum));
                    ASSERT_EQ(bits, expected)
                        << machine.name << " " << v.key << " " << i << " " << j;
                    ++compared;
                }
        }
    EXPECT_GT(compared, 6u * 16 * 256 - 1);
}

const WmmaVariant& variant(std::string_view key) {
    for (const WmmaVariant& v : isa::wmma_variants())
        if (v.key == key) return v;
    throw std::runtime_error("no such variant");
}

// The registers of sm_75 and later have A and B of 16x16x16 twice; the product reads the first
// copies (NVIDIA's assembler's code).
TEST(Wmma, CopiesOfElementsAreNotRead) {
    const WmmaVariant& v = variant("wmma.mma.m16n16k16.row.col.f32.f16.f16.f32");
    std::mt19937 random(3);
    const Matrix a = random_matrix(16, 16, {-4, 4}, random);
    const Matrix b = random_matrix(16, 16, {-4, 4}, random);
    const Matrix c = random_matrix(16, 16, {-4, 4}, random);
    std::string spoil;
    std::string both;  // doubles A: 2 in both halves
    for (unsigned i = 0; i < 4; ++i) {
        spoil += "mov.b32 %r" + std::to_string(14 + i) + ", -1;\nmov.b32 %r" +
                 std::to_string(24 + i) + ", -1;\n";
        const std::string r = "%r" + std::to_string(10 + i);
        both += "mul.f16x2 " + r + ", " + r + ", %r3;\n";
    }
    both = "mov.b32 %r3, 0x40004000;\n" + both;
    for (const isa::ArchRow& machine : isa::arch_rows) {
        if (machine.number < 75) continue;
        Once one{v, machine.arch};
        const Bytes plain = one.of(a, b, c);
        one.between = spoil;
        EXPECT_EQ(one.of(a, b, c), plain) << machine.name;
        one.between = both;
        Matrix twice = a;
        for (int& x : twice.values) x *= 2;
        EXPECT_EQ(one.of(a, b, c), (Once{v, machine.arch}.of(twice, b, c))) << machine.name;
    }
}

// x[i] of every fragment changed alike, as CUDA programs do it, is the matrix so changed: also
// where an element is in several lanes.
TEST(Wmma, WorkOnEachElementOfAFragmentIsWorkOnTheMatrix) {
    std::mt19937 random(4);
    for (const isa::ArchRow& machine : isa::arch_rows)
        for (const WmmaVariant& v : isa::wmma_variants()) {
            if (v.ab != Type::f16 || v.d != Type::f32 || v.c != Type::f32) continue;
            const Matrix a = random_matrix(v.m, v.k, {-4, 4}, random);
            const Matrix b = random_matrix(v.k, v.n, {-4, 4}, random);
            const Matrix c = random_matrix(v.m, v.n, {-4, 4}, random);
            std::string text = "mov.b32 %r3, 0xc200c200;\nmov.f32 %f1, 0f40400000;\n";
            for (unsigned i = 0; i < 8; ++i) {
                const std::string n = std::to_string(i);
                text += "mul.f16x2 %r1" + n + ", %r1" + n + ", %r3;\nneg.f16x2 %r2" + n + ", %r2" +
                        n + ";\nmov.b32 %f2, %r3" + n + ";\nmul.f32 %f2, %f2, %f1;\nmov.b32 %r3" +
                        n + ", %f2;\n";
            }
            Once one{v, machine.arch};
            one.between = text;
            Matrix a2 = a, b2 = b, c2 = c;
            for (int& x : a2.values) x *= -3;
            for (int& x : b2.values) x = -x;
            for (int& x : c2.values) x *= 3;
            EXPECT_EQ(one.of(a, b, c), (Once{v, machine.arch}.of(a2, b2, c2)))
                << machine.name << " " << v.key;
        }
}

TEST(Wmma, SaturationOfS32) {
    const WmmaVariant& v = variant("wmma.mma.m16n16k16.row.col.s32.s8.s8.s32");
    Matrix a{16, 16, std::vector<int>(256, 127)};
    Matrix b{16, 16, std::vector<int>(256, 127)};
    Matrix c{16, 16, std::vector<int>(256, INT32_MAX - 5)};
    for (unsigned j = 0; j < 16; ++j) a.at(3, j) = -128;
    for (unsigned j = 0; j < 16; ++j) c.at(3, j) = INT32_MIN + 7;
    for (const Arch arch : {Arch::sm_75, Arch::sm_80, Arch::sm_90}) {
        Once one{v, arch};
        const Bytes wrapped = one.of(a, b, c);
        one.after = ".satfinite";
        const Bytes clamped = one.of(a, b, c);
        const Storage s = one.storage('d');
        EXPECT_EQ(get(wrapped, 0, s, 0, 0), uint32_t{INT32_MAX} - 5 + 16 * 127 * 127);
        EXPECT_EQ(get(clamped, 0, s, 0, 0), static_cast<uint32_t>(INT32_MAX));
        EXPECT_EQ(get(clamped, 0, s, 3, 0), static_cast<uint32_t>(INT32_MIN));
    }
}

// 1 + 2^-60 and 1 - 2^-60, rounded to f64 in each direction; with 2^-60 in one step of four.
TEST(Wmma, RoundingOfF64) {
    const struct {
        const char* rounding;
        uint64_t plus, minus;
    } cases[] = {
        {"", 0x3ff0000000000000, 0x3ff0000000000000},
        {".rn", 0x3ff0000000000000, 0x3ff0000000000000},
        {".rz", 0x3ff0000000000000, 0x3fefffffffffffff},
        {".rm", 0x3ff0000000000000, 0x3fefffffffffffff},
        {".rp", 0x3ff0000000000001, 0x3ff0000000000000},
    };
    for (const Arch arch : {Arch::sm_80, Arch::sm_90})
        for (const auto& one : cases)
            for (const bool plus : {true, false}) {
                // A has one element in each row, at k = 2, and B ones everywhere.
                const std::string body =
                    std::string(
                        "and.b32 %r2, %r1, 3;\nsetp.eq.u32 %p1, %r2, 2;\n"
                        "mov.b64 %rd10, ") +
                    (plus ? "0x3c30000000000000" : "0xbc30000000000000") +
                    ";\nselp.b64 %rd10, %rd10, 0, %p1;\nmov.b64 %rd11, 0x3ff0000000000000;\n"
                    "wmma.mma.sync.aligned.row.col.m8n8k4" +
                    one.rounding +
                    ".f64.f64.f64.f64 {%rd20, %rd21}, {%rd10}, {%rd11}, {%rd11, %rd11};\n"
                    "st.global.v2.b64 [%rd3], {%rd20, %rd21};\nret;";
                Given given;
                given.arch = arch;
                const uint64_t expected = plus ? one.plus : one.minus;
                const auto low = static_cast<uint32_t>(expected);
                const auto high = static_cast<uint32_t>(expected >> 32);
                for (const FourWords& got : wide_results_of(body, {}, given))
                    EXPECT_EQ(got, (FourWords{low, high, low, high}))
                        << one.rounding << (plus ? " plus" : " minus");
            }
}

// On sm_90 wmma's m16n16k8 is two steps of four products (HMMA.1684 in its code), and mma.m16n8k8
// one of eight: between the steps the sum is cut to 24 bits. 1 + 3 * 2^-25 is cut to 1, and then
// 2^-25 more is lost; in one sum the four make 2^-23.
TEST(Wmma, Tf32IsNotMmasTf32OnHopper) {
    const std::string make =
        "mov.b32 %r2, 0;\nand.b32 %r3, %r1, 3;\nsetp.eq.u32 %p1, %r3, 0;\n"
        // %r10: k = lane % 4: 1, 2^-12, 2^-12, 2^-12. %r12 (A), %r21 (B): k = 4 alone has 2^-12.
        "selp.b32 %r10, 0x3f800000, 0x39800000, %p1;\nselp.b32 %r12, 0x39800000, 0, %p1;\n"
        "selp.b32 %r20, 0x3f800000, 0x39000000, %p1;\nselp.b32 %r21, 0x39000000, 0, %p1;\n"
        "mov.b32 %r11, %r10;\nmov.b32 %r13, %r12;\nmov.b32 %r22, %r20;\nmov.b32 %r23, %r21;\n";
    const std::string zero = "{%r2, %r2, %r2, %r2, %r2, %r2, %r2, %r2}";
    const std::string wmma =
        make +
        "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {%r40, %r41, %r42, %r43, %r44, "
        "%r45, %r46, %r47}, {%r10, %r11, %r12, %r13}, {%r20, %r21, %r22, %r23}, " +
        zero + ";\nst.global.u32 [%rd2], %r40;\nret;";
    const std::string mma = make +
                            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r40, %r41, %r42, "
                            "%r43}, {%r10, %r11, %r12, %r13}, {%r20, %r21}, {%r2, %r2, %r2, %r2};\n"
                            "st.global.u32 [%rd2], %r40;\nret;";
    Given given;
    given.arch = Arch::sm_90;
    EXPECT_EQ(results_of(wmma, {}, given), Words(32, 0x3f800000));
    EXPECT_EQ(results_of(mma, {}, given), Words(32, 0x3f800001));
    // Before, both are two steps.
    given.arch = Arch::sm_80;
    EXPECT_EQ(results_of(wmma, {}, given), Words(32, 0x3f800000));
    EXPECT_EQ(results_of(mma, {}, given), Words(32, 0x3f800000));
}

}  // namespace

}  // namespace lockwarp::exec
