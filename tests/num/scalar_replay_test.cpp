// SPDX-License-Identifier: Apache-2.0
// The scalar instructions recorded on an H200, driver 580: every word, bit for bit.
#include <gtest/gtest.h>

#include <functional>

#include "emu/num/ieee.hpp"
#include "emu/num/mufu.hpp"
#include "tests/hardware/recordings.hpp"

namespace lockwarp::num::testing::scalar_replay_test {
namespace {

using isa::Type;

using Word = uint32_t;
using Model = std::function<Word(const std::array<Word, 3>&)>;
constexpr Rounding rn = Rounding::rn;

Word word(uint64_t bits) { return static_cast<Word>(bits); }

// Element by element over a packed pair of 16 bits.
template <class Operation>
Model packed(Operation operation) {
    return [operation](const std::array<Word, 3>& x) {
        const uint64_t low = operation(x[0] & 0xFFFF, x[1] & 0xFFFF, x[2] & 0xFFFF);
        const uint64_t high = operation(x[0] >> 16, x[1] >> 16, x[2] >> 16);
        return word(high << 16 | low);
    };
}

// cvt.*x2.f32 d, a, b: a goes to the upper half.
Model narrow(Type to, Rounding r, Flags flags) {
    return [=](const std::array<Word, 3>& x) {
        const uint64_t high = convert(Type::f32, to, x[0], r, flags);
        return word(high << isa::bits(to) | convert(Type::f32, to, x[1], r, flags));
    };
}

Model widen_to_f16(Type from) {
    return [=](const std::array<Word, 3>& x) {
        const uint64_t high = convert(from, Type::f16, (x[0] >> 8) & 0xFF, rn);
        return word(high << 16 | convert(from, Type::f16, x[0] & 0xFF, rn));
    };
}

struct ScalarRecording {
    std::string name;
    int operands;
    Model model;
};

const std::vector<ScalarRecording>& scalar_recordings() {
    static const std::vector<ScalarRecording> recordings{
        {"add.f16x2", 2, packed([](Word a, Word b, Word) { return add(Type::f16, a, b, rn); })},
        {"mul.f16x2", 2, packed([](Word a, Word b, Word) { return mul(Type::f16, a, b, rn); })},
        {"max.f16x2", 2, packed([](Word a, Word b, Word) { return max(Type::f16, a, b); })},
        {"fma.rn.f16x2", 3,
         packed([](Word a, Word b, Word c) { return fma(Type::f16, a, b, c, rn); })},
        {"fma.rn.bf16x2", 3,
         packed([](Word a, Word b, Word c) { return fma(Type::bf16, a, b, c, rn); })},
        {"add.rz.f32", 2, [](auto& x) { return word(add(Type::f32, x[0], x[1], Rounding::rz)); }},
        {"max.f32", 2, [](auto& x) { return word(max(Type::f32, x[0], x[1])); }},
        {"fma.rn.f32", 3, [](auto& x) { return word(fma(Type::f32, x[0], x[1], x[2], rn)); }},
        {"fma.rn.ftz.f32", 3,
         [](auto& x) { return word(fma(Type::f32, x[0], x[1], x[2], rn, {.ftz = true})); }},
        {"ex2.approx.ftz.f32", 1, [](auto& x) { return word(ex2_approx(Type::f32, x[0], true)); }},
        {"rcp.approx.ftz.f32", 1, [](auto& x) { return word(rcp_approx(Type::f32, x[0], true)); }},
        {"rcp.rn.f32", 1, [](auto& x) { return word(div(Type::f32, 0x3F800000, x[0], rn)); }},
        {"sqrt.rn.f32", 1, [](auto& x) { return word(sqrt(Type::f32, x[0], rn)); }},
        {"cvt.f32.f16", 1,
         [](auto& x) { return word(convert(Type::f16, Type::f32, x[0] & 0xFFFF, rn)); }},
        {"cvt.rn.f16x2.f32", 2, narrow(Type::f16, rn, {})},
        {"cvt.rz.f16x2.f32", 2, narrow(Type::f16, Rounding::rz, {})},
        {"cvt.rn.relu.f16x2.f32", 2, narrow(Type::f16, rn, {.relu = true})},
        {"cvt.rn.bf16x2.f32", 2, narrow(Type::bf16, rn, {})},
        {"cvt.rz.bf16x2.f32", 2, narrow(Type::bf16, Rounding::rz, {})},
        {"cvt.rn.satfinite.e4m3x2.f32", 2, narrow(Type::e4m3, rn, {.satfinite = true})},
        {"cvt.rn.satfinite.e5m2x2.f32", 2, narrow(Type::e5m2, rn, {.satfinite = true})},
        {"cvt.rn.f16x2.e4m3x2", 1, widen_to_f16(Type::e4m3)},
        {"cvt.rn.f16x2.e5m2x2", 1, widen_to_f16(Type::e5m2)},
        {"cvt.rn.tf32.f32", 1,
         [](auto& x) { return word(convert(Type::f32, Type::tf32, x[0], rn)); }},
        {"cvt.rna.tf32.f32", 1,
         [](auto& x) { return word(convert(Type::f32, Type::tf32, x[0], Rounding::rna)); }},
        {"cvt.rni.s32.f32", 1,
         [](auto& x) { return word(to_integer(Type::f32, x[0], rn, 32, true)); }},
    };
    return recordings;
}

TEST(ScalarReplay, EveryWord) {
    for (const ScalarRecording& recording : scalar_recordings()) {
        SCOPED_TRACE(recording.name);
        const hardware::Recording recorded = hardware::read("alu/" + recording.name);
        ASSERT_EQ(recorded.in_words, 32 * static_cast<size_t>(recording.operands));
        ASSERT_EQ(recorded.out_words, 32u);
        int compared = 0;
        int different = 0;
        for (size_t at = 0; at < recorded.cases; ++at)
            for (size_t lane = 0; lane < 32; ++lane) {
                std::array<Word, 3> x{};
                for (int i = 0; i < recording.operands; ++i)
                    x[i] = recorded.in[at * recorded.in_words + 32 * i + lane];
                const Word expected = recorded.out[32 * at + lane];
                const Word actual = recording.model(x);
                ++compared;
                if (actual != expected && different++ == 0)
                    ADD_FAILURE() << std::hex << "first difference: operands " << x[0] << ' '
                                  << x[1] << ' ' << x[2] << ", hardware " << expected << ", model "
                                  << actual;
            }
        EXPECT_GT(compared, 0);
        EXPECT_EQ(different, 0) << "of " << compared;
    }
}

}  // namespace
}  // namespace lockwarp::num::testing::scalar_replay_test
