// SPDX-License-Identifier: Apache-2.0
// Questions about tensor maps.
#include "lanes/tensor_map.hpp"

#include <gtest/gtest.h>

namespace lockwarp::lanes::tensor_map_test {
namespace {

TensorMapQuestion swizzled_question() {
    TensorMapQuestion q;
    isa::TensorMap& m = q.copy.map;
    m.type = isa::TensorType::f16;
    m.rank = 2;
    m.dim = {200, 180, 1, 1, 1};
    m.stride = {400, 0, 0, 0};
    m.box = {64, 64, 1, 1, 1};
    m.swizzle = isa::TensorSwizzle::bytes_128;
    return q;
}

std::string line_of(const TensorMapQuestion& q) { return ask_tensor_map(q).line; }

TEST(TensorMapQuestions, Summary) {
    const Answer a = ask_tensor_map(swizzled_question());
    EXPECT_EQ(a.line, "FLOAT16 200 x 180, box 64 x 64: 8192 bytes a copy, swizzle 128B");
    EXPECT_TRUE(a.notes.empty());
    ASSERT_EQ(a.grids.size(), 2u);
    // The chunks of row 1 are those of row 0 with neighbours exchanged.
    EXPECT_EQ(a.grids[1].rows[0][1], "[0, 0]");
    EXPECT_EQ(a.grids[1].rows[1][1], "[8, 1]");
    EXPECT_EQ(a.grids[1].rows[1][2], "[0, 1]");
}

TEST(TensorMapQuestions, ByteAndElement) {
    TensorMapQuestion q = swizzled_question();
    q.byte = 272;
    EXPECT_EQ(line_of(q), "byte 272 of the box: element [24, 2], byte 0, at globalAddress + 848");
    q.byte.reset();
    q.element = std::vector<int64_t>{24, 2};
    EXPECT_EQ(line_of(q), "element [24, 2]: byte 272 of the box");
    q.element = std::vector<int64_t>{64, 2};
    EXPECT_EQ(line_of(q), "element [64, 2]: this copy does not bring it");
    q.element.reset();
    q.copy.at = {192, 170};
    q.byte = 16;
    EXPECT_EQ(line_of(q), "byte 16 of the box: element [200, 170], byte 0: outside the tensor");
}

// Where each byte of the box comes from, and back.
TEST(TensorMapQuestions, EachAnswersTheOther) {
    TensorMapQuestion q = swizzled_question();
    q.copy.map.box = {16, 9, 1, 1, 1};
    q.copy.at = {8, 3};
    for (int64_t y = 3; y < 12; ++y)
        for (int64_t x = 8; x < 24; ++x) {
            q.byte.reset();
            q.element = std::vector<int64_t>{x, y};
            const std::string line = line_of(q);
            const size_t at = line.find("byte ");
            ASSERT_NE(at, std::string::npos) << line;
            q.byte = std::stoul(line.substr(at + 5));
            q.element.reset();
            const std::string element = "element [" + std::to_string(x) + ", " + std::to_string(y);
            EXPECT_NE(line_of(q).find(element + "], byte 0"), std::string::npos) << line_of(q);
        }
    q.byte = 40;  // behind a row of 32 bytes in its span of 128
    EXPECT_EQ(line_of(q), "byte 40 of the box: nothing is copied there");
}

TEST(TensorMapQuestions, SaysWhatIsWrong) {
    TensorMapQuestion q = swizzled_question();
    q.copy.map.stride[0] = 404;
    EXPECT_EQ(ask_tensor_map(q).notes,
              std::vector<std::string>{
                  "the driver refuses it: globalStrides[0] = 404 is not a multiple of 16"});
    q = swizzled_question();
    q.copy.at = {4, 0};
    EXPECT_EQ(ask_tensor_map(q).notes,
              std::vector<std::string>{"illegal as a load: coordinate 0 = 4 of 2 bytes each is not "
                                       "a multiple of 16 bytes"});
    q = swizzled_question();
    q.shared = 64;
    EXPECT_EQ(ask_tensor_map(q).error, "a box in shared memory begins at a multiple of 128");
}

}  // namespace
}  // namespace lockwarp::lanes::tensor_map_test
