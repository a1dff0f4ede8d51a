// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async on whole matrices: operands are laid out in shared memory as the PTX manual's
// pictures have them (core matrices of 8 x 16 bytes; atoms of 8 rows of 32, 64 or 128 bytes whose
// 16-byte chunks are exchanged), and D is compared with the definition of the products.
#include <cstring>
#include <random>

#include "emu/isa/warpgroup.hpp"
#include "emu/num/dot.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec::warpgroup_test {

namespace {

using isa::Swizzle;
using isa::Type;

constexpr size_t image_bytes = 65536;
constexpr size_t b_begin = 32768;
constexpr unsigned m = 64;

struct Options {
    const isa::WarpgroupVariant* variant;
    bool registers = false;  // A
    std::array<bool, 2> transposed{}, negated{};
    std::array<Swizzle, 2> swizzle{};
    bool adds = true;
    bool satfinite = false;
};

unsigned span_of(Swizzle s) {
    return s == Swizzle::bytes_128  ? 128
           : s == Swizzle::bytes_64 ? 64
           : s == Swizzle::bytes_32 ? 32
                                    : 0;
}

// One operand of `lines` lines of 32 bytes, in shared memory from `begin` on.
struct Placed {
    unsigned leading, stride;
    std::vector<size_t> chunk;  // K-major: by line and half; transposed: by eight lines and k
};

Placed place(Swizzle swizzle, bool transposed, unsigned lines, size_t begin) {
    const unsigned span = span_of(swizzle);
    Placed p{};
    // Row r of an atom: its chunk c stands where chunk c ^ exchanged(r) would.
    const auto exchanged = [&](unsigned r) {
        return span == 128 ? r % 8 : span == 64 ? r / 2 % 4 : r / 4 % 2;
    };
    if (!transposed) {
        p.leading = 128;
        p.stride = span == 0 ? 256 : 8 * span;
        for (unsigned line = 0; line < lines; ++line)
            for (unsigned half = 0; half < 2; ++half)
                p.chunk.push_back(begin + line / 8 * p.stride +
                                  (span == 0
                                       ? half * 128 + line % 8 * 16
                                       : line % 8 * span + (half ^ exchanged(line % 8)) * 16));
        return p;
    }
    const unsigned groups = lines / 8;
    p.leading = span == 0 ? 128 * groups : 16 * span;
    p.stride = span == 0 ? 128 : 8 * span;
    for (unsigned group = 0; group < groups; ++group)
        for (unsigned k = 0; k < 16; ++k) {
            const unsigned chunks = span / 16;  // of a row
            p.chunk.push_back(begin + (span == 0 ? group * 128 + k / 8 * p.leading + k % 8 * 16
                                                 : group / chunks * p.leading + k / 8 * p.stride +
                                                       k % 8 * span +
                                                       (group % chunks ^ exchanged(k % 8)) * 16));
        }
    return p;
}

uint64_t descriptor_of(const Placed& p, Swizzle swizzle, size_t begin) {
    return begin >> 4 | uint64_t{p.leading >> 4} << 16 | uint64_t{p.stride >> 4} << 32 |
           uint64_t{static_cast<unsigned>(swizzle)} << 62;
}

// An operand's elements, line by line, in 32 bytes of each line.
std::vector<uint8_t> lines_of(const std::vector<uint64_t>& elements, unsigned k, unsigned width) {
    std::vector<uint8_t> out(elements.size() / k * 32);
    for (size_t i = 0; i < elements.size(); ++i) {
        const size_t bit = i / k * 256 + i % k * width;
        for (unsigned b = 0; b < width; ++b)
            out[(bit + b) / 8] |= static_cast<uint8_t>((elements[i] >> b & 1) << (bit + b) % 8);
    }
    return out;
}

void store(const Placed& p, bool transposed, const std::vector<uint8_t>& lines, Bytes& image) {
    for (size_t c = 0; c < p.chunk.size(); ++c)
        for (size_t i = 0; i < 16; ++i) {
            const size_t line = transposed ? c / 16 * 8 + i / 2 : c / 2;
            const size_t byte = transposed ? c % 16 * 2 + i % 2 : c % 2 * 16 + i;
            image[p.chunk[c] + i] = lines[line * 32 + byte];
        }
}

std::string list_of(const char* prefix, unsigned n) {
    std::string text = "{";
    for (unsigned i = 0; i < n; ++i) text += (i == 0 ? "" : ", ") + (prefix + std::to_string(i));
    return text + "}";
}

unsigned d_registers(const isa::WarpgroupVariant& v) { return v.n * isa::bits(v.types->d) / 64; }

std::string spelling_of(const Options& o) {
    std::string key(o.variant->key());
    const size_t at = key.find(".m64");
    const std::string shape = key.substr(at, key.find('.', at + 1) - at);
    return "wgmma.mma_async.sync.aligned" + shape + (o.satfinite ? ".satfinite" : "") +
           key.substr(at + shape.size());
}

std::string program_text(const Options& o, uint64_t a, uint64_t b) {
    const isa::WarpgroupVariant& v = *o.variant;
    const unsigned n = d_registers(v);
    const auto sign = [&](bool negated) {
        return negated ? std::string(", -1") : std::string(", 1");
    };
    const auto order = [&](bool t) { return t ? std::string(", 1") : std::string(", 0"); };
    std::string constants;
    if (isa::is_float(v.types->a)) constants = sign(o.negated[0]) + sign(o.negated[1]);
    if (isa::bits(v.types->a) == 16)
        constants += (o.registers ? "" : order(o.transposed[0])) + order(o.transposed[1]);
    std::string text = R"(.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 sm[];
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p, %q; .reg .b32 %r<8>, %a<4>, %d<128>; .reg .b64 %i, %o, %at, %x, %da, %db;
ld.param.u64 %i, [in]; ld.param.u64 %o, [out];
mov.u32 %r0, %tid.x; mul.wide.u32 %x, %r0, 4; add.u64 %i, %i, %x; add.u64 %o, %o, %x;
shl.b32 %r1, %r0, 2; mov.u32 %r2, sm; add.u32 %r1, %r1, %r2; mov.u32 %r3, 0;
loop:
ld.global.b32 %r4, [%i]; st.shared.b32 [%r1], %r4;
add.u64 %i, %i, 512; add.u32 %r1, %r1, 512; add.u32 %r3, %r3, 1;
setp.lt.u32 %p, %r3, 128; @%p bra loop;
)";
    for (unsigned i = 0; i < 4; ++i)
        text +=
            "ld.global.b32 %a" + std::to_string(i) + ", [%i+" + std::to_string(512 * i) + "];\n";
    for (unsigned i = 0; i < n; ++i)
        text += "ld.global.b32 %d" + std::to_string(i) + ", [%i+" + std::to_string(512 * (i + 4)) +
                "];\n";
    text += "shr.u32 %r5, %r2, 4; cvt.u64.u32 %x, %r5; mov.u64 %da, " + std::to_string(a) +
            "; mov.u64 %db, " + std::to_string(b) +
            "; add.u64 %da, %da, %x; add.u64 %db, %db, %x;\nsetp.ne.u32 %q, %r2, 0;\n"
            "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\n" +
            spelling_of(o) + " " + list_of("%d", n) + ", " +
            (o.registers ? list_of("%a", 4) : std::string("%da")) + ", %db, " +
            (o.adds ? "%q" : "!%q") + constants +
            ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
    for (unsigned i = 0; i < n; ++i)
        text +=
            "st.global.b32 [%o+" + std::to_string(512 * i) + "], %d" + std::to_string(i) + ";\n";
    return text + "ret;\n}\n";
}

// Row and column of element i of D in the registers of a thread (PTX manual, "Register Fragments
// and Shared Memory Matrix Layouts", D of m64nNk16).
std::array<unsigned, 2> place_of_d(unsigned thread, unsigned i) {
    return {thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + thread % 4 * 2 + i % 2};
}

class Elements {
  public:
    explicit Elements(uint32_t seed) : random_(seed) {}

    std::vector<uint64_t> draw(Type type, size_t n, bool specials) {
        std::vector<uint64_t> out(n);
        const unsigned width = isa::bits(type);
        for (uint64_t& x : out) {
            x = random_() & (width >= 32 ? 0xffffffffu : (1u << width) - 1);
            if (!isa::is_float(type) || specials) continue;
            // Exponents near each other, so that sums have bits to lose.
            const unsigned fraction = type == Type::f16    ? 10
                                      : type == Type::bf16 ? 7
                                      : type == Type::e4m3 ? 3
                                      : type == Type::e5m2 ? 2
                                                           : 23;
            const unsigned exponent_bits = width - 1 - fraction;
            const uint64_t bias = (uint64_t{1} << (exponent_bits - 1)) - 1;
            const uint64_t exponent = bias - 3 + random_() % 6;
            x = (x & ((uint64_t{1} << fraction) - 1)) | exponent << fraction |
                (x >> (width - 1) & 1) << (width - 1);
        }
        return out;
    }

    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_()) % n; }

  private:
    std::mt19937 random_;
};

void negate(Type type, std::vector<uint64_t>& elements) {
    for (uint64_t& x : elements) x ^= uint64_t{1} << (isa::bits(type) - 1);
}

void check(const Options& o, uint32_t seed) {
    const isa::WarpgroupTypes& t = *o.variant->types;
    const unsigned n = o.variant->n, k = t.k, width = isa::bits(t.a);
    Elements random(seed);
    const bool specials = random.below(4) == 0;
    std::vector<uint64_t> a = random.draw(t.a, size_t{m} * k, specials);
    std::vector<uint64_t> b = random.draw(t.b, size_t{n} * k, specials);
    const std::vector<uint64_t> c = random.draw(t.d, size_t{m} * n, specials);
    Bytes image(image_bytes);
    for (uint8_t& x : image) x = static_cast<uint8_t>(random.below(256));
    const Placed at_a = place(o.swizzle[0], o.transposed[0], m, 0);
    const Placed at_b = place(o.swizzle[1], o.transposed[1], n, b_begin);
    const std::vector<uint8_t> a_lines = lines_of(a, k, width);
    if (!o.registers) store(at_a, o.transposed[0], a_lines, image);
    store(at_b, o.transposed[1], lines_of(b, k, width), image);
    Bytes in = image;
    in.resize(image_bytes + 512 * (4 + d_registers(*o.variant)));
    // A: register i of a thread has row lane / 4 + 8 * (i % 2) of its warp's, and the bytes
    // 4 * (lane % 4) + 16 * (i / 2) and on of it.
    for (unsigned i = 0; i < 4; ++i)
        for (unsigned thread = 0; thread < 128; ++thread)
            std::memcpy(&in[image_bytes + 512 * i + 4 * thread],
                        &a_lines[(thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8) * 32 +
                                 thread % 4 * 4 + i / 2 * 16],
                        4);
    const unsigned d_bits = isa::bits(t.d);
    const auto d_place = [&](unsigned thread, unsigned i) {  // of element i
        return image_bytes + 512 * (4 + i * d_bits / 32) + 4 * thread + i * d_bits % 32 / 8;
    };
    const unsigned elements = n / 2;
    for (unsigned thread = 0; thread < 128; ++thread)
        for (unsigned i = 0; i < elements; ++i) {
            const auto [row, column] = place_of_d(thread, i);
            std::memcpy(&in[d_place(thread, i)], &c[row * n + column], d_bits / 8);
        }
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = 128;
    given.dynamic_shared = image_bytes;
    given.buffers = {in, Bytes(size_t{512} * d_registers(*o.variant))};
    const std::string text = program_text(o, descriptor_of(at_a, o.swizzle[0], 0),
                                          descriptor_of(at_b, o.swizzle[1], b_begin));
    const Outcome out = run_well(program_of(text, given.arch), given);
    if (o.negated[0]) negate(t.a, a);
    if (o.negated[1]) negate(t.b, b);
    std::vector<uint64_t> expected = o.adds ? c : std::vector<uint64_t>(c.size());
    num::matrix_product(*num::find_warpgroup_row(given.arch, t.a, t.d),
                        {static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)},
                        {t.a, t.b, t.d, t.d, o.satfinite,
                         t.a == Type::b1 ? isa::Combine::and_ : isa::Combine::none},
                        a.data(), b.data(), expected.data(), expected.data());
    for (unsigned thread = 0; thread < 128; ++thread)
        for (unsigned i = 0; i < elements; ++i) {
            const auto [row, column] = place_of_d(thread, i);
            uint64_t got = 0;
            std::memcpy(&got, &out.buffers[1][d_place(thread, i) - image_bytes - 2048], d_bits / 8);
            ASSERT_EQ(got, expected[row * n + column])
                << spelling_of(o) << " seed " << seed << " row " << row << " column " << column
                << (o.registers ? " A in registers" : "");
        }
}

Options drawn(const isa::WarpgroupVariant& v, uint32_t seed) {
    Elements random(seed ^ 0x5eed);
    const auto coin = [&] { return random.below(2) == 1; };
    Options o{&v};
    o.registers = coin();
    o.adds = random.below(8) != 0;
    const bool is_float = isa::is_float(v.types->a);
    if (!is_float) o.satfinite = v.types->a != Type::b1 && coin();
    for (size_t i = 0; i < 2; ++i) {
        if (is_float) o.negated[i] = coin();
        o.transposed[i] = isa::bits(v.types->a) == 16 && coin() && !(i == 0 && o.registers);
        o.swizzle[i] = static_cast<Swizzle>(random.below(4));
    }
    return o;
}

TEST(Warpgroup, EveryVariantIsItsDefinition) {
    uint32_t seed = 1;
    for (const isa::WarpgroupVariant& v : isa::warpgroup_variants()) {
        ASSERT_NO_FATAL_FAILURE(check(drawn(v, seed), seed));
        ++seed;
    }
    EXPECT_EQ(seed - 1, isa::warpgroup_variants().size());
}

// Every way to lay out A and B, with the operands that may be transposed.
TEST(Warpgroup, EveryLayoutOfBothOperands) {
    unsigned done = 0;
    for (const unsigned n : {8u, 64u, 136u}) {
        const isa::WarpgroupVariant& v =
            *isa::find_warpgroup(Type::f32, Type::bf16, Type::bf16, n, 16);
        for (unsigned i = 0; i < 64; ++i) {
            Options o{&v};
            o.transposed = {(i & 1) != 0, (i & 2) != 0};
            o.swizzle = {static_cast<Swizzle>(i >> 2 & 3), static_cast<Swizzle>(i >> 4)};
            ASSERT_NO_FATAL_FAILURE(check(o, 1000 + done++));
        }
    }
    EXPECT_EQ(done, 192u);
}

TEST(Warpgroup, AStartInsideAnAtomIsExchangedByItsAddress) {
    // The second 16 elements along k of rows of 128 bytes: 32 bytes further on.
    constexpr isa::MatrixDescriptor d{0x400 + 32, 16, 1024, 0, Swizzle::bytes_128};
    EXPECT_EQ(isa::element_address(d, false, 16, 0, 0), 0x400u + 32);
    EXPECT_EQ(isa::element_address(d, false, 16, 1, 0), 0x480u + (2 ^ 1) * 16);
    EXPECT_EQ(isa::element_address(d, false, 16, 7, 8), 0x780u + (3 ^ 7) * 16);
    EXPECT_EQ(isa::element_address(d, false, 16, 8, 1), 0x800u + 32 + 2);
}

TEST(Warpgroup, AMatrixBeyondSharedMemoryIsATrap) {
    const Options o{isa::find_warpgroup(Type::f32, Type::f16, Type::f16, 8, 16)};
    const auto fault = [&](uint64_t a, uint64_t b) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.block.x = 128;
        given.dynamic_shared = image_bytes;
        given.buffers = {Bytes(image_bytes + 4096), Bytes(4096)};
        return fault_of(run(program_of(program_text(o, a, b), given.arch), given).result);
    };
    const uint64_t strides = uint64_t{8} << 16 | uint64_t{16} << 32;
    const uint64_t last = (image_bytes - 256) >> 4;
    EXPECT_EQ(fault(strides, strides | last), "");
    EXPECT_NE(fault(strides, strides | (last + 1)).find("out of bounds"), std::string::npos)
        << fault(strides, strides | (last + 1));
    EXPECT_NE(fault(strides | (last - 111), strides).find("out of bounds"), std::string::npos);
    EXPECT_EQ(fault(strides | (last - 112), strides), "");
}

// Warps 1 to 3 of a warpgroup come later to their product than warp 0, which waits for it, and then
// lets warp 4 write the tile anew. `commits`: which of them commit.
std::string one_speaks_for_all(const std::string& commits) {
    return ".version 8.0\n.target sm_90a\n.address_size 64\n"
           ".shared .align 128 .b8 tile[2304];\n.shared .align 8 .b64 empty;\n"
           ".visible .entry k(.param .u64 out)\n{\n"
           ".reg .pred %p<6>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;\n"
           "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
           "mov.u32 %r2, tile; mov.u32 %r3, empty;\n"
           "mul.wide.u32 %rd2, %r1, 16; add.u64 %rd1, %rd1, %rd2;\n"
           "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r3], 1;\n"
           "mov.u32 %r4, %r1;\n"
           "fill: mad.lo.u32 %r5, %r4, 4, %r2; st.shared.u32 [%r5], 0x3c003c00;\n"
           "add.u32 %r4, %r4, 160; setp.lt.u32 %p2, %r4, 576; @%p2 bra fill;\n"
           "fence.proxy.async; bar.sync 0;\n"
           "shr.u32 %r6, %r1, 5; setp.eq.u32 %p2, %r6, 4; @%p2 bra writer;\n"
           "mul.lo.u32 %r7, %r6, 1000; setp.eq.u32 %p4, %r6, 0; @%p4 bra product;\n"
           "later: sub.u32 %r7, %r7, 1; setp.ne.u32 %p4, %r7, 0; @%p4 bra later;\n"
           "product: bfe.u32 %r4, %r2, 4, 14; cvt.u64.u32 %rd3, %r4;\n"
           "or.b64 %rd3, %rd3, 0x1000080000; add.u64 %rd4, %rd3, 128;\n"
           "wgmma.fence.sync.aligned;\n"
           "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd3, %rd4,"
           " 0, 1, 1, 0, 0;\n" +
           commits +
           "wgmma.wait_group.sync.aligned 0;\n"
           "@%p1 mbarrier.arrive.shared.b64 %rd5, [%r3];\n"
           "st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4}; ret;\n"
           "writer: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra writer;\n"
           "and.b32 %r4, %r1, 31;\n"
           "clear: mad.lo.u32 %r5, %r4, 4, %r2; st.shared.u32 [%r5], 0; add.u32 %r4, %r4, 32;\n"
           "setp.lt.u32 %p2, %r4, 576; @%p2 bra clear;\nret;\n}\n";
}

Given five_warps() {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = 160;
    given.buffers = {Bytes(2048, 0xff)};
    return given;
}

TEST(Warpgroup, OneWarpThatHasWaitedSpeaksForAllFour) {
    const isa::Program program =
        program_of(one_speaks_for_all("wgmma.commit_group.sync.aligned;\n"), isa::Arch::sm_90);
    for (const uint32_t turn : {1U, 50U, 0U}) {
        Bytes out(2048, 0xff);
        warp::Launch l;
        l.block.x = 160;
        l.turn = turn;
        append(l.parameters, buffer_address(0));
        l.buffers.push_back({"A", buffer_address(0), out});
        ASSERT_EQ(fault_of(launch(program, l)), "");
        for (size_t at = 0; at < out.size(); at += 4) {
            float value = 0;
            std::memcpy(&value, &out[at], sizeof value);
            ASSERT_EQ(value, 16) << "turn " << turn << ", byte " << at;
        }
    }
}

// A descriptor has no rank: its matrices lie in the CTA's own shared memory, in a cluster too.
TEST(Warpgroup, ListenersHearOfTheCtasOwnSharedMemory) {
    struct Places {
        void retired(const warp::Retired& e) {
            for (uint32_t i = 0; i < e.access_count; ++i) {
                if (e.accesses[i].space != ptx::Space::shared) continue;
                ++count;
                remote |= e.accesses[i].remote;
            }
        }
        size_t count = 0;
        uint32_t remote = 0;
    };
    Alone<Places> all;
    Given given = five_warps();
    given.grid.x = 2;
    given.cluster = warp::Dim3{2, 1, 1};
    given.observers = {&all};
    run_well(program_of(one_speaks_for_all("wgmma.commit_group.sync.aligned;\n"), isa::Arch::sm_90),
             std::move(given));
    EXPECT_GT(all.listener.count, 16u);
    EXPECT_EQ(all.listener.remote, 0u);
}

TEST(Warpgroup, AGroupThatAWarpDoesNotCommitIsADeadlock) {
    const isa::Program program = program_of(
        one_speaks_for_all("setp.eq.u32 %p5, %r6, 2; @%p5 bra behind;\n"
                           "wgmma.commit_group.sync.aligned;\nbehind: @%p5 bar.sync 1;\n"),
        isa::Arch::sm_90);
    const std::string fault = fault_of(run(program, five_warps()).result);
    EXPECT_NE(fault.find("waits for products of its warpgroup that warp 2 has not committed"),
              std::string::npos)
        << fault;
}

}  // namespace
}  // namespace lockwarp::exec::warpgroup_test
