// The dot products of real GPUs, replayed bit for bit (arXiv 2512.07004).
#include <gtest/gtest.h>

#include "emu/num/dot.hpp"
#include "tests/num/recordings.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Type;

using Product = void (*)(const DotRow&, MatrixShape, MatrixTypes, const uint64_t*, const uint64_t*,
                         const uint64_t*, uint64_t*);

struct Replay {
    int compared = 0;
    int different = 0;
};

Replay replay(const DotRecording& recording, const DotRow& row, Product product) {
    const std::vector<uint32_t> words = read_words(dot_folder() / recording.file);
    const int k = recording.k;
    const size_t stride = 2 * static_cast<size_t>(k) + 2;
    Replay result;
    for (size_t at = 0; at + stride <= words.size(); at += stride) {
        const std::vector<uint64_t> a(&words[at], &words[at] + k);
        const std::vector<uint64_t> b(&words[at + k], &words[at + k] + k);
        // The recorded wgmma began from zero.
        const uint64_t c = recording.sum.block == 0 ? words[at + 2 * k] : 0;
        uint64_t d = 0;
        product(row, {1, 1, k}, {recording.a, recording.a, recording.d, recording.d}, a.data(),
                b.data(), &c, &d);
        ++result.compared;
        result.different += d != words[at + 2 * k + 1];
    }
    return result;
}

class DotReplay : public ::testing::TestWithParam<DotRecording> {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(dot_folder() / GetParam().file))
            GTEST_SKIP() << GetParam().file << " is not there";
        const DotRow* row =
            find_dot_row(GetParam().arch, 0, 0, GetParam().k, GetParam().a, GetParam().d);
        ASSERT_NE(row, nullptr);
        row_ = *row;
        if (GetParam().sum.block == 0) return;
        row_.method = Method::fused_blocks;
        row_.sum = GetParam().sum;
    }
    DotRow row_{};
};

TEST_P(DotReplay, Plain) {
    const Replay result = replay(GetParam(), row_, matrix_product);
    EXPECT_GT(result.compared, 0);
    EXPECT_EQ(result.different, 0) << "of " << result.compared;
}

TEST_P(DotReplay, Fast) {
    const Replay result = replay(GetParam(), row_, matrix_product_fast);
    EXPECT_GT(result.compared, 0);
    EXPECT_EQ(result.different, 0) << "of " << result.compared;
}

// The replay can fail: with one bit more or less, half the block, or another rounding, it does. An
// f16 result shows only a coarse change of the bits that the sum keeps.
TEST_P(DotReplay, NoticesAnotherFraction) {
    const int step = GetParam().d != Type::f16 ? 1 : GetParam().a == Type::f16 ? 8 : 15;
    DotRow other = row_;
    other.sum.fraction = static_cast<uint8_t>(row_.sum.fraction - step);
    EXPECT_GT(replay(GetParam(), other, matrix_product).different, 0);
    if (GetParam().d == Type::f16) return;
    other.sum.fraction = static_cast<uint8_t>(row_.sum.fraction + step);
    EXPECT_GT(replay(GetParam(), other, matrix_product).different, 0);
}

TEST_P(DotReplay, NoticesAnotherBlock) {
    row_.sum.block = static_cast<uint8_t>(std::min<int>(row_.sum.block, GetParam().k) / 2);
    EXPECT_GT(replay(GetParam(), row_, matrix_product).different, 0);
}

TEST_P(DotReplay, NoticesAnotherRounding) {
    row_.sum.rounding = row_.sum.rounding == Rounding::rz ? Rounding::rn : Rounding::rz;
    EXPECT_GT(replay(GetParam(), row_, matrix_product).different, 0);
}

std::string test_name(const ::testing::TestParamInfo<DotRecording>& info) {
    std::string name = info.param.file.substr(0, info.param.file.rfind('.'));
    for (char& letter : name)
        if (letter == '.') letter = '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(Published, DotReplay, ::testing::ValuesIn(dot_recordings()), test_name);

}  // namespace
}  // namespace lockwarp::num::testing
