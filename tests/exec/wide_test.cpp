// SPDX-License-Identifier: Apache-2.0
// Registers and memory of 128 bits, and moves of vectors.
#include "tests/exec/support.hpp"

namespace lockwarp::exec::wide_test {

namespace {

Given on_sm_90() {
    Given given;
    given.arch = isa::Arch::sm_90;
    return given;
}

// What each thread stores at [%rd3], for a body that has registers %q of 128 bits; %r5 to %r8 hold
// four words of its own, %q1 all of them.
std::vector<FourWords> wide(const std::string& body, Given given = on_sm_90()) {
    const size_t threads = given.grid.count() * given.block.count();
    Words in;
    for (uint32_t i = 0; i < threads * 4; ++i) in.push_back(0x9e3779b9 * (i + 1));
    std::string text = kernel(
        ".reg .b128 %q<8>;\n.shared .align 16 .b8 sm[1024];\n"
        "mul.wide.u32 %rd9, %r0, 16;\n"
        "add.u64 %rd9, %rd9, %rd1;\n"
        "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd9];\n"
        "mov.b128 %q1, {%r5, %r6, %r7, %r8};\n" +
            body,
        {}, "sm_90");
    text.replace(text.find(".version 8.0"), 12, ".version 8.6");
    given.buffers = {bytes_of(in), Bytes(threads * 16, 0xee)};
    const Words words =
        words_of(run_well(program_of(text, given.arch), std::move(given)).buffers[1]);
    std::vector<FourWords> out(threads);
    for (size_t i = 0; i < words.size(); ++i) out[i / 4][i % 4] = words[i];
    return out;
}

std::vector<FourWords> inputs(size_t threads = 32) {
    std::vector<FourWords> out(threads);
    for (uint32_t i = 0; i < threads * 4; ++i) out[i / 4][i % 4] = 0x9e3779b9 * (i + 1);
    return out;
}

TEST(Wide, LoadsAndStoresMoveSixteenBytes) {
    EXPECT_EQ(wide("st.global.b128 [%rd3], %q1;\n"), inputs());
    EXPECT_EQ(wide("ld.global.b128 %q2, [%rd9];\nst.release.sys.global.b128 [%rd3], %q2;\n"),
              inputs());
    EXPECT_EQ(wide("mov.u32 %r3, sm;\nmad.lo.u32 %r2, %r1, 16, %r3;\n"
                   "st.shared::cluster.b128 [%r2], %q1;\nld.volatile.shared.b128 %q3, [%r2];\n"
                   "st.global.b128 [%rd3], %q3;\n"),
              inputs());
}

TEST(Wide, VectorsPackAndUnpackFromTheLowEnd) {
    const std::string bodies[] = {
        "mov.b128 {%r1, %r2, %r3, %r4}, %q1;\nst.global.v4.b32 [%rd3], {%r1, %r2, %r3, %r4};\n",
        "mov.b128 {%rd5, %rd6}, %q1;\nst.global.v2.b64 [%rd3], {%rd5, %rd6};\n",
        "mov.b128 {%rd5, _}, %q1;\nmov.b128 {_, %rd6}, %q1;\nmov.b128 %q2, {%rd5, %rd6};\n"
        "mov.b128 %q3, %q2;\nst.global.b128 [%rd3], %q3;\n",
    };
    for (const std::string& body : bodies) EXPECT_EQ(wide(body), inputs()) << body;
    EXPECT_EQ(wide("mov.b128 %q2, -5;\nst.global.b128 [%rd3], %q2;\n")[3],
              (FourWords{0xfffffffb, 0xffffffff, 0, 0}))
        << "a constant is extended by zeros, as ptxas does it";
}

TEST(Wide, OnlyLanesOfTheGuardMove) {
    std::vector<FourWords> expected = inputs();
    for (size_t i = 1; i < 32; i += 2) expected[i] = {7, 7, 7, 7};
    EXPECT_EQ(wide("and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n"
                   "mov.b64 {%r2, %r3}, 0x700000007;\n"
                   "mov.b128 %q2, {%r2, %r3, %r2, %r3};\n@%p1 mov.b128 %q2, %q1;\n"
                   "st.global.b128 [%rd3], %q2;\n"),
              expected);
}

TEST(Wide, ExchangeAndCompare) {
    // The lanes exchange with one place, one after another.
    const auto exchanged = wide(
        "mov.u32 %r2, sm;\natom.shared.exch.b128 %q2, [%r2], %q1;\n"
        "st.global.b128 [%rd3], %q2;\n");
    const auto in = inputs();
    EXPECT_EQ(exchanged[0], (FourWords{}));
    for (size_t i = 1; i < 32; ++i) EXPECT_EQ(exchanged[i], in[i - 1]) << i;
    // The one whose value is there puts another in its place.
    const auto compared = wide(R"(
mov.b128 %q3, 0;
st.global.b128 [%rd3], %q1;
atom.cas.b128 %q2, [%rd3], %q1, %q3;
setp.eq.u32 %p1, %r1, 4;
@%p1 mov.b128 %q1, {%rd3, %rd3};
st.global.b128 [%rd3], %q1;
atom.global.cas.b128 %q2, [%rd3], %q2, %q3;
)");
    for (size_t i = 0; i < 32; ++i)
        EXPECT_EQ(compared[i] == FourWords{}, i != 4) << "the value of " << i << " was there";
}

// CTAs in parallel add one to a pair of 64-bit numbers, together: none is lost.
TEST(Wide, CompareAndSwapIsAtomicAmongCtas) {
    Given given = on_sm_90();
    given.grid.x = 64;
    given.block.x = 1;
    given.threads = 4;
    const auto out = wide(R"(
LOOP:
ld.relaxed.gpu.global.b128 %q2, [%rd4];
mov.b128 {%rd5, %rd6}, %q2;
add.u64 %rd7, %rd5, 1;
add.u64 %rd8, %rd6, 2;
mov.b128 %q3, {%rd7, %rd8};
atom.global.cas.b128 %q4, [%rd4], %q2, %q3;
mov.b128 {%rd7, %rd8}, %q4;
setp.ne.u64 %p1, %rd7, %rd5;
@%p1 bra LOOP;
)",
                          given);
    const uint64_t low = out[0][0] | uint64_t{out[0][1]} << 32;
    const uint64_t high = out[0][2] | uint64_t{out[0][3]} << 32;
    EXPECT_EQ(low, 0xeeeeeeeeeeeeeeee + 64);
    EXPECT_EQ(high, 0xeeeeeeeeeeeeeeee + 128);
}

TEST(Wide, VectorsMoveElementByElement) {
    const auto in = inputs();
    const auto turned = wide(
        "mov.v4.b32 {%r5, %r6, %r7, %r8}, {%r6, %r7, %r8, %r5};\n"
        "st.global.v4.b32 [%rd3], {%r5, %r6, %r7, %r8};\n");
    const auto tids = wide(
        "mov.v4.u32 {%r5, %r6, %r7, %r8}, %tid;\n"
        "mov.v2.f32 {%f1, %f2}, {%r5, 0f3f800000};\n"
        "st.global.v4.b32 [%rd3], {%f1, %r6, %f2, %r8};\n");
    for (uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(turned[i], (FourWords{in[i][1], in[i][2], in[i][3], in[i][0]}));
        EXPECT_EQ(tids[i], (FourWords{i, 0, 0x3f800000, 0}));
    }
}

TEST(Wide, AddressesAreMultiplesOfSixteen) {
    std::string text = kernel(".reg .b128 %q;\nld.global.b128 %q, [%rd1+8];\n", {}, "sm_90");
    text.replace(text.find(".version 8.0"), 12, ".version 8.6");
    Given given = on_sm_90();
    given.buffers = {Bytes(256), Bytes(4096)};
    EXPECT_EQ(fault_of(run(program_of(text, given.arch), given).result),
              "misaligned address: must be a multiple of 16 at line 21, CTA (0,0,0), warp 0, lane "
              "0, address 0x10000008, step 10");
}

}  // namespace

}  // namespace lockwarp::exec::wide_test
