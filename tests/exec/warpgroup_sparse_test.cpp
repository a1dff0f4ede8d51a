// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async.sp on small whole numbers, whose sums are exact in any order: A is drawn with its
// zeros, packed by the manual's rules, and D is compared with the plain product of the whole A.
#include <algorithm>
#include <cstring>
#include <random>

#include "emu/isa/elements.hpp"
#include "emu/isa/warpgroup.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

using isa::Type;

constexpr unsigned m = 64;
constexpr size_t b_begin = 8192, image_bytes = 65536;

struct Case {
    Type d, a, b;
    unsigned n;
    bool registers = false;   // A
    unsigned selector = 0;    // of 16- and 32-bit types: 0 or 1
    bool swizzled = false;    // 128 bytes; else none
    bool transposed = false;  // B, swizzled or not
    bool adds = true;
};

// A whole number as bits of the type.
uint64_t bits_of(Type type, int value) {
    if (!isa::is_float(type))
        return static_cast<uint32_t>(value) & (type == Type::s32 ? ~0u : 255u);
    struct Format {
        unsigned exponent, fraction;
    };
    const Format f = type == Type::f16    ? Format{5, 10}
                     : type == Type::bf16 ? Format{8, 7}
                     : type == Type::e4m3 ? Format{4, 3}
                     : type == Type::e5m2 ? Format{5, 2}
                                          : Format{8, 23};
    if (value == 0) return 0;
    const auto size = static_cast<unsigned>(value < 0 ? -value : value);
    const unsigned log = 31 - static_cast<unsigned>(__builtin_clz(size));
    const uint64_t exponent = (1u << (f.exponent - 1)) - 1 + log;
    const uint64_t fraction =
        log <= f.fraction ? uint64_t{size} << (f.fraction - log) : ~uint64_t{0};
    return uint64_t{value < 0} << (f.exponent + f.fraction) | exponent << f.fraction |
           (fraction & ((uint64_t{1} << f.fraction) - 1));
}

struct Drawn {
    unsigned k;                                          // of A with its zeros
    std::vector<int> a, b, c;                            // [row][k], [column][k], [row][column]
    std::vector<int> held;                               // A's elements that are held, [row][k / 2]
    std::array<std::array<uint32_t, 32>, 4> metadata{};  // by warp and lane
};

// Of a row's four bits for `group`: where the manual's pictures have them (wgmma, "Sparse matrix
// storage" and the selectors; the thread and value layouts of 64 x k metadata).
void put_metadata(Drawn& d, unsigned width, unsigned selector, unsigned row, unsigned group,
                  unsigned bits) {
    const unsigned warp = row / 16, g = row % 8, below = row / 8 % 2;
    if (width == 8) {  // each thread of four has 32 elements along k of one of two rows
        d.metadata[warp][4 * g + below + 2 * (group * 4 / 32)] |= bits << (group % 8 * 4);
        return;
    }
    // Two threads of four have half of k each, of two rows.
    const unsigned half = group / 4;
    d.metadata[warp][4 * g + 2 * selector + half] |= bits << (group % 4 * 4 + 16 * below);
}

Drawn draw(const Case& t, uint32_t seed) {
    std::mt19937 random(seed);
    const unsigned width = isa::bits(t.a);
    Drawn d;
    d.k = 512 / width;
    const auto number = [&](Type type) {
        const int value = static_cast<int>(random() % 7) - 3;
        return type == Type::u8 ? value + 3 : value;
    };
    for (unsigned i = 0; i < t.n * d.k; ++i) d.b.push_back(number(t.b));
    for (unsigned i = 0; i < m * t.n; ++i) d.c.push_back(number(Type::s8));
    d.a.assign(size_t{m} * d.k, 0);
    for (unsigned row = 0; row < m; ++row)
        for (unsigned group = 0; group < d.k * (width == 32 ? 2 : 1) / 4; ++group) {
            if (width == 32) {  // one of two, said as two halves
                const auto place = static_cast<unsigned>(random() % 2);
                const int value = number(t.a);
                d.a[row * d.k + group * 2 + place] = value;
                d.held.push_back(value);
                put_metadata(d, width, t.selector, row, group, place == 0 ? 4 : 14);
                continue;
            }
            const auto first = static_cast<unsigned>(random() % 3);
            const auto second = first + 1 + static_cast<unsigned>(random() % (3 - first));
            for (const unsigned place : {first, second}) {
                const int value = number(t.a);
                d.a[row * d.k + group * 4 + place] = value;
                d.held.push_back(value);
            }
            put_metadata(d, width, t.selector, row, group, first | second << 2);
        }
    return d;
}

// Where byte `at` of a row of `line` lies: K-major, of rows of `bytes` bytes.
size_t place(const Case& t, unsigned line, unsigned at, unsigned leading) {
    if (t.swizzled) return line * 128 + (((at / 16) ^ line % 8) * 16 | at % 16);
    return line / 8 * 128 + at / 16 * leading + line % 8 * 16 + at % 16;
}

std::string list_of(const char* prefix, unsigned n) {
    std::string text = "{";
    for (unsigned i = 0; i < n; ++i) text += (i == 0 ? "" : ", ") + (prefix + std::to_string(i));
    return text + "}";
}

std::string name_of(Type t) { return std::string(isa::row(t).name); }

void check(const Case& t, uint32_t seed) {
    const unsigned width = isa::bits(t.a), size = width / 8, d_bits = isa::bits(t.d);
    const Drawn drawn = draw(t, seed);
    const unsigned registers = t.n * d_bits / 64;
    const unsigned leading_a = 1024, leading_b = 128 * (t.n / 8);
    Bytes image(image_bytes);
    const auto put = [&](size_t at, uint64_t bits) { std::memcpy(&image[at], &bits, size); };
    for (unsigned row = 0; row < m; ++row)
        for (unsigned i = 0; i < drawn.k / 2; ++i)
            put(place(t, row, i * size, leading_a),
                bits_of(t.a, drawn.held[row * drawn.k / 2 + i]));
    for (unsigned column = 0; column < t.n; ++column)
        for (unsigned i = 0; i < drawn.k; ++i) {
            size_t at = place(t, column, i * size, leading_b);
            // MN-major: eight columns lie together; without a swizzle, k in steps of eight.
            if (t.transposed)
                at = t.swizzled
                         ? column / 64 * 4096 + i / 8 * 1024 + i % 8 * 128 +
                               ((column % 64 / 8) ^ i % 8) * 16 + column % 8 * 2
                         : column / 8 * 128 + i / 8 * leading_b + i % 8 * 16 + column % 8 * 2;
            put(b_begin + at, bits_of(t.b, drawn.b[column * drawn.k + i]));
        }
    const auto descriptor = [&](size_t begin, unsigned leading, unsigned stride) {
        return begin >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 |
               uint64_t{t.swizzled} << 62;
    };
    const uint64_t da = descriptor(0, leading_a, t.swizzled ? 1024 : 128);
    const uint64_t db =
        descriptor(b_begin, t.transposed && t.swizzled ? 4096 : leading_b, t.swizzled ? 1024 : 128);
    // Behind the image: metadata, A's registers, D's.
    Bytes in = image;
    in.resize(image_bytes + 512 * (5 + registers));
    for (unsigned thread = 0; thread < 128; ++thread) {
        std::memcpy(&in[image_bytes + 4 * thread], &drawn.metadata[thread / 32][thread % 32], 4);
        for (unsigned i = 0; i < 4; ++i)
            for (unsigned j = 0; j < 4 / size; ++j) {
                const unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i % 2);
                const unsigned k = (thread % 4 * 4 + i / 2 * 16) / size + j;
                const uint64_t bits = bits_of(t.a, drawn.held[row * drawn.k / 2 + k]);
                std::memcpy(&in[image_bytes + 512 * (1 + i) + 4 * thread + j * size], &bits, size);
            }
    }
    const auto d_place = [&](unsigned row, unsigned column) {
        const unsigned thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
        const unsigned i = column / 8 * 4 + row / 8 % 2 * 2 + column % 2;
        return size_t{512} * (i * d_bits / 32) + 4 * thread + i * d_bits % 32 / 8;
    };
    for (unsigned row = 0; row < m; ++row)
        for (unsigned column = 0; column < t.n; ++column) {
            const uint64_t bits = bits_of(t.d, drawn.c[row * t.n + column]);
            std::memcpy(&in[image_bytes + 512 * 5 + d_place(row, column)], &bits, d_bits / 8);
        }
    std::string text = R"(.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 sm[];
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p, %q; .reg .b32 %r<8>, %e, %a<4>, %d<128>; .reg .b64 %i, %o, %x, %da, %db;
ld.param.u64 %i, [in]; ld.param.u64 %o, [out];
mov.u32 %r0, %tid.x; mul.wide.u32 %x, %r0, 4; add.u64 %i, %i, %x; add.u64 %o, %o, %x;
shl.b32 %r1, %r0, 2; mov.u32 %r2, sm; add.u32 %r1, %r1, %r2; mov.u32 %r3, 0;
loop:
ld.global.b32 %r4, [%i]; st.shared.b32 [%r1], %r4;
add.u64 %i, %i, 512; add.u32 %r1, %r1, 512; add.u32 %r3, %r3, 1;
setp.lt.u32 %p, %r3, 128; @%p bra loop;
ld.global.b32 %e, [%i];
)";
    const auto at = [](unsigned i) { return "+" + std::to_string(512 * i) + "]"; };
    for (unsigned i = 0; i < 4; ++i)
        text += "ld.global.b32 %a" + std::to_string(i) + ", [%i" + at(1 + i) + ";\n";
    for (unsigned i = 0; i < registers; ++i)
        text += "ld.global.b32 %d" + std::to_string(i) + ", [%i" + at(5 + i) + ";\n";
    std::string constants = isa::is_float(t.a) ? ", 1, 1" : "";
    if (width == 16)
        constants += (t.registers ? "" : ", 0") + std::string(t.transposed ? ", 1" : ", 0");
    text += "shr.u32 %r5, %r2, 4; cvt.u64.u32 %x, %r5; mov.u64 %da, " + std::to_string(da) +
            "; mov.u64 %db, " + std::to_string(db) +
            "; add.u64 %da, %da, %x; add.u64 %db, %db, %x;\nsetp.ne.u32 %q, %r2, 0;\n"
            "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\n"
            "wgmma.mma_async.sp.sync.aligned.m64n" +
            std::to_string(t.n) + "k" + std::to_string(drawn.k) + name_of(t.d) + name_of(t.a) +
            name_of(t.b) + " " + list_of("%d", registers) + ", " +
            (t.registers ? list_of("%a", 4) : "%da") + ", %db, %e, " + std::to_string(t.selector) +
            ", " + (t.adds ? "%q" : "!%q") + constants +
            ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
    for (unsigned i = 0; i < registers; ++i)
        text += "st.global.b32 [%o" + at(i) + ", %d" + std::to_string(i) + ";\n";
    text += "ret;\n}\n";
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = 128;
    given.dynamic_shared = image_bytes;
    given.buffers = {in, Bytes(size_t{512} * registers)};
    const Outcome out = run_well(program_of(text, given.arch), given);
    for (unsigned row = 0; row < m; ++row)
        for (unsigned column = 0; column < t.n; ++column) {
            int sum = t.adds ? drawn.c[row * t.n + column] : 0;
            for (unsigned i = 0; i < drawn.k; ++i)
                sum += drawn.a[row * drawn.k + i] * drawn.b[column * drawn.k + i];
            uint64_t got = 0;
            std::memcpy(&got, &out.buffers[1][d_place(row, column)], d_bits / 8);
            ASSERT_EQ(got, bits_of(t.d, sum))
                << name_of(t.d) << name_of(t.a) << name_of(t.b) << " n " << t.n << " row " << row
                << " column " << column << (t.registers ? " A in registers" : "");
        }
}

TEST(SparseWarpgroup, EveryTypeIsTheProductOfTheWholeA) {
    unsigned done = 0;
    for (const isa::WarpgroupTypes& t : isa::warpgroup_types) {
        if (t.a == Type::b1) continue;
        for (const unsigned n : {8u, 64u, 96u})
            for (const bool registers : {false, true})
                for (unsigned selector = 0; selector < (isa::bits(t.a) == 8 ? 1u : 2u);
                     ++selector) {
                    Case one{t.d, t.a, t.b, n, registers, selector};
                    one.swizzled = (done & 1) != 0;
                    one.adds = done % 5 != 0;
                    ASSERT_NO_FATAL_FAILURE(check(one, ++done));
                }
    }
    EXPECT_EQ(done, 120u);
}

TEST(SparseWarpgroup, BMayBeTransposed) {
    for (const bool swizzled : {false, true})
        for (const Type type : {Type::f16, Type::bf16}) {
            Case one{Type::f32, type, type, 128};
            one.swizzled = swizzled;
            one.transposed = true;
            ASSERT_NO_FATAL_FAILURE(check(one, 7));
        }
}

// What A's single element, 1 or its negative, is multiplied with, of a column of B as it comes:
// `four` for every group, `scale` that of A or B. By column.
std::array<uint32_t, 8> chosen_by(unsigned four, const char* scales, const Bytes& b) {
    const std::string text = R"(.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %q; .reg .b32 %r<8>, %d<4>; .reg .b64 %i, %o, %x;
.shared .align 128 .b8 sm[512];
ld.param.u64 %i, [in]; ld.param.u64 %o, [out];
mov.u32 %r0, %tid.x; mul.wide.u32 %x, %r0, 4; add.u64 %i, %i, %x;
ld.global.b32 %r1, [%i]; shl.b32 %r2, %r0, 2; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3;
st.shared.b32 [%r2], %r1;
shr.u32 %r3, %r3, 4; cvt.u64.u32 %x, %r3; add.u64 %x, %x, 0x800080000;
setp.eq.u32 %q, %r0, 0; selp.b32 %r4, 0x3f800000, 0, %q; mov.b32 %r5, 0;
setp.ne.u32 %q, %r0, %r0;
mov.u32 %r6, )" + std::to_string(four * 0x11111111) +
                             R"(; fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;
wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32 {%d0,%d1,%d2,%d3}, {%r4,%r5,%r5,%r5}, %x,
%r6, 0, %q, )" + scales +
                             R"(;
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
mul.wide.u32 %x, %r0, 8; add.u64 %o, %o, %x;
setp.lt.u32 %q, %r0, 4; @%q st.global.v2.b32 [%o], {%d0, %d1};
ret;
}
)";
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = 128;
    given.buffers = {b, Bytes(32)};
    const Outcome left = run_well(program_of(text, given.arch), given);
    std::array<uint32_t, 8> out{};
    std::memcpy(out.data(), left.buffers[1].data(), sizeof out);
    return out;
}

// On an H100, of .tf32, with every four bits of metadata: the lower and the upper half of what is
// chosen, each from its own place, and its sign is changed afterwards.
TEST(SparseWarpgroup, HalvesAreChosenBeforeTheSignIsChanged) {
    std::mt19937 random(3);
    Words b(128);
    for (uint32_t& word : b) word = (random() & 0xbfffbfff) | 0x20002000;  // no infinities
    Bytes in(4 * b.size());
    std::memcpy(in.data(), b.data(), in.size());
    for (unsigned four = 0; four < 16; ++four) {
        std::array<uint32_t, 8> expected{}, negative{};
        for (unsigned n = 0; n < 8; ++n) {
            const auto half = [&](unsigned place) {
                return b[4 * n + place / 2] >> 16 * (place % 2) & 0xffff;
            };
            // Of the lower half .tf32 has three bits.
            expected[n] = half(four >> 2) << 16 | (half(four & 3) & 0xe000);
            negative[n] = expected[n] ^ 0x80000000;
        }
        EXPECT_EQ(chosen_by(four, "1, 1", in), expected) << four;
        EXPECT_EQ(chosen_by(four, "-1, 1", in), negative) << four;
        EXPECT_EQ(chosen_by(four, "1, -1", in), negative) << four;
        EXPECT_EQ(chosen_by(four, "-1, -1", in), expected) << four;
    }
}

// The metadata of a warp's 16 rows stands where that of mma.sp does, which was compared with a GPU.
TEST(SparseWarpgroup, MetadataStandsAsThatOfMmaSp) {
    unsigned compared = 0;
    for (const isa::MmaVariant& v : isa::mma_variants()) {
        const bool same = v.sparse && v.m == 16 && v.n == 8 && v.kind == isa::MmaKind::none &&
                          v.k * isa::bits(v.a) == 512 && isa::bits(v.a) >= 8;
        if (!same) continue;
        ++compared;
        for (const isa::Element e : isa::metadata_elements(v)) {
            Drawn d;
            put_metadata(d, isa::bits(v.a), 0, e.row, e.column, 15);
            EXPECT_EQ(d.metadata[0][e.lane], 15u << e.shift) << v.key;
        }
    }
    EXPECT_GE(compared, 8u);
}

}  // namespace
}  // namespace lockwarp::exec
