// SPDX-License-Identifier: Apache-2.0
// Every byte and every element of boxes against a plain walk over coordinates.
#include <gtest/gtest.h>

#include <map>

#include "lanes/tensor_map.hpp"

namespace lockwarp::lanes::tensor_map_model_test {
namespace {

using Coordinates = std::vector<int64_t>;

struct Byte {
    Coordinates at;
    unsigned byte = 0;  // of the element; with an interleave of the slice
    bool inside = false;
    uint64_t global = 0;  // from globalAddress on
};

struct Box {
    std::map<uint32_t, Byte> bytes;  // by place in the box
    uint32_t size = 0;
};

std::string text_of(const Coordinates& at) {
    std::string out = "[";
    for (size_t i = 0; i < at.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(at[i]);
    return out + "]";
}

bool is_sliced(const isa::TensorMap& m) { return m.interleave != isa::TensorInterleave::none; }

uint32_t slice_of(const isa::TensorMap& m) {
    return m.interleave == isa::TensorInterleave::bytes_16 ? 16 : 32;
}

// A box that is no im2col: its rows one after another, dimension 0 (of slices: 1 row a position)
// innermost.
Box walked(const TensorMapQuestion& q) {
    const isa::TensorMap& m = q.copy.map;
    const uint32_t size = isa::element_bytes(m);
    const bool sliced = is_sliced(m);
    const uint32_t row = sliced ? slice_of(m) : m.box[0] * size;
    const unsigned swizzle = static_cast<unsigned>(m.swizzle);
    const uint32_t pitch = sliced || swizzle == 0 ? row : 16u << swizzle;
    std::vector<unsigned> dimensions;  // that rows are counted along
    for (unsigned d = sliced ? 0 : 1; d < m.rank; ++d)
        if (!sliced || d != m.rank - 2) dimensions.push_back(d);
    std::vector<uint32_t> step(dimensions.size(), 0);
    Box out;
    for (bool more = true; more;) {
        Coordinates first(q.copy.at.begin(), q.copy.at.begin() + m.rank);
        for (size_t i = 0; i < step.size(); ++i)
            first[dimensions[i]] += step[i] * m.element_stride[dimensions[i]];
        for (uint32_t b = 0; b < row; ++b) {
            Byte one{first, sliced ? b : b % size, true, sliced ? b : b % size};
            if (!sliced) one.at[0] += b / size;
            for (unsigned d = 0; d < m.rank; ++d) {
                one.inside &= one.at[d] >= 0 && one.at[d] < static_cast<int64_t>(m.dim[d]);
                const uint64_t width = d != 0 ? m.stride[d - 1] : sliced ? row : size;
                one.global += static_cast<uint64_t>(one.at[d]) * width;
            }
            uint32_t place = q.shared + out.size + b;
            for (unsigned bit = 0; bit < swizzle; ++bit)
                place ^= (place >> (7 + bit) & 1u) << (4 + bit);
            out.bytes[place - q.shared] = one;
        }
        out.size += pitch;
        more = false;
        for (size_t i = 0; i < step.size() && !more; ++i) {
            const unsigned d = dimensions[i];
            more = (++step[i]) * m.element_stride[d] < m.box[d];
            if (!more) step[i] = 0;
        }
    }
    return out;
}

std::string line_of(TensorMapQuestion q) { return ask_tensor_map(q).line; }

void expect_bytes(TensorMapQuestion q, const Box& box) {
    const isa::TensorMap& m = q.copy.map;
    const uint32_t size = isa::element_bytes(m);
    size_t wrong = 0;
    for (uint32_t b = 0; b < box.size + 2; ++b) {
        std::string is = "byte " + std::to_string(b) + " of the box: ";
        const auto found = box.bytes.find(b);
        if (found == box.bytes.end()) {
            is += "nothing is copied there";
        } else {
            const Byte& one = found->second;
            is += "element " + text_of(one.at);
            if (is_sliced(m))
                is += ", channel " + std::to_string(one.byte / size) + " of its slice";
            if (size > 1) is += ", byte " + std::to_string(one.byte % size);
            is += one.inside ? ", at globalAddress + " + std::to_string(one.global)
                             : ": outside the tensor";
        }
        q.byte = b;
        const std::string line = line_of(q);
        if (line != is && ++wrong < 4) {
            EXPECT_EQ(line, is);
        }
    }
    EXPECT_EQ(wrong, 0u);
}

void expect_elements(TensorMapQuestion q, const Box& box) {
    std::map<Coordinates, uint32_t> first;
    for (const auto& [place, one] : box.bytes)
        if (one.byte == 0) {
            EXPECT_TRUE(first.emplace(one.at, place).second);
        }
    size_t wrong = 0;
    const auto ask = [&](const Coordinates& at) {
        q.element = at;
        const auto found = first.find(at);
        const std::string is =
            "element " + text_of(at) + ": " +
            (found == first.end() ? "this copy does not bring it"
                                  : "byte " + std::to_string(found->second) + " of the box");
        const std::string line = line_of(q);
        if (line != is && ++wrong < 4) {
            EXPECT_EQ(line, is);
        }
    };
    for (const auto& [at, place] : first) {
        ask(at);
        for (unsigned d = 0; d < at.size(); ++d)
            for (const int64_t by : {-1, 1}) {
                Coordinates beside = at;
                beside[d] += by;
                ask(beside);
            }
    }
    EXPECT_EQ(wrong, 0u);
}

// 16 bytes a cell, 128 a line, at most 16 lines.
void expect_picture(const TensorMapQuestion& q, const Box& box) {
    const Answer a = ask_tensor_map(q);
    ASSERT_EQ(a.grids.size(), 2u);
    const Grid& g = a.grids[1];
    EXPECT_EQ(g.title, "Shared memory, 16 bytes a cell: the coordinates of its first element");
    EXPECT_EQ(g.header, (std::vector<std::string>{"address", "+0", "+16", "+32", "+48", "+64",
                                                  "+80", "+96", "+112"}));
    ASSERT_EQ(g.rows.size(), std::min((box.size + 127) / 128, 16u));
    for (uint32_t line = 0; line < g.rows.size(); ++line) {
        std::array<char, 16> hex{};
        std::snprintf(hex.data(), hex.size(), "0x%x", q.shared + 128 * line);
        std::vector<std::string> row{hex.data()};
        for (uint32_t cell = 0; cell < 8; ++cell) {
            const uint32_t at = 128 * line + 16 * cell;
            const auto first = box.bytes.find(at);
            if (first == box.bytes.end()) {
                row.emplace_back();
                continue;
            }
            bool inside = false;
            for (uint32_t b = at; b < at + 16; ++b) inside |= box.bytes.at(b).inside;
            row.push_back((inside ? "" : "outside ") + text_of(first->second.at));
        }
        EXPECT_EQ(g.rows[line], row);
    }
}

void expect_all(const TensorMapQuestion& q, const std::string& summary) {
    SCOPED_TRACE(summary);
    const Box box = walked(q);
    const Answer a = ask_tensor_map(q);
    EXPECT_EQ(a.error, "");
    EXPECT_EQ(a.notes, std::vector<std::string>{});
    EXPECT_EQ(a.line, summary);
    expect_bytes(q, box);
    expect_elements(q, box);
    expect_picture(q, box);
}

TensorMapQuestion question(isa::TensorType type, const std::vector<uint64_t>& dim,
                           const std::vector<uint64_t>& stride, const std::vector<uint32_t>& box,
                           const std::vector<int32_t>& at) {
    TensorMapQuestion q;
    isa::TensorMap& m = q.copy.map;
    m.type = type;
    m.rank = static_cast<uint32_t>(dim.size());
    m.address = 0x4000;
    std::ranges::copy(dim, m.dim.begin());
    std::ranges::copy(stride, m.stride.begin());
    std::ranges::copy(box, m.box.begin());
    std::ranges::copy(at, q.copy.at.begin());
    return q;
}

TEST(TensorMapModel, BoxesOfEachRank) {
    using isa::TensorType;
    expect_all(question(TensorType::u8, {100}, {}, {32}, {80}),
               "UINT8 100, box 32: 32 bytes a copy");
    expect_all(question(TensorType::f32, {9, 5}, {48}, {8, 4}, {4, -2}),
               "FLOAT32 9 x 5, box 8 x 4: 128 bytes a copy");
    expect_all(question(TensorType::f64, {6, 3, 4}, {48, 160}, {2, 2, 3}, {-2, 2, 1}),
               "FLOAT64 6 x 3 x 4, box 2 x 2 x 3: 96 bytes a copy");
    expect_all(question(TensorType::bf16, {16, 2, 3, 2}, {32, 64, 192}, {8, 2, 1, 2}, {8, 0, 2, 1}),
               "BFLOAT16 16 x 2 x 3 x 2, box 8 x 2 x 1 x 2: 64 bytes a copy");
    expect_all(question(TensorType::s32, {4, 2, 2, 2, 3}, {16, 32, 64, 128}, {4, 1, 2, 1, 2},
                        {0, 1, 0, 1, 2}),
               "INT32 4 x 2 x 2 x 2 x 3, box 4 x 1 x 2 x 1 x 2: 64 bytes a copy");
}

TEST(TensorMapModel, EverySwizzle) {
    using isa::TensorType;
    const std::pair<isa::TensorSwizzle, std::string> rows[] = {
        {isa::TensorSwizzle::none, ""},
        {isa::TensorSwizzle::bytes_32, ", swizzle 32B"},
        {isa::TensorSwizzle::bytes_64, ", swizzle 64B"},
        {isa::TensorSwizzle::bytes_128, ", swizzle 128B"}};
    for (const auto& [swizzle, words] : rows)
        for (const uint32_t shared : {0u, 128u, 640u}) {
            TensorMapQuestion q = question(TensorType::f16, {20, 12}, {48}, {16, 10}, {8, 4});
            q.copy.map.swizzle = swizzle;
            q.shared = shared;
            expect_all(q, "FLOAT16 20 x 12, box 16 x 10: 320 bytes a copy" + words);
        }
    TensorMapQuestion q = question(TensorType::f16, {64, 12}, {128}, {64, 10}, {0, 4});
    q.copy.map.swizzle = isa::TensorSwizzle::bytes_128;
    expect_all(q, "FLOAT16 64 x 12, box 64 x 10: 1280 bytes a copy, swizzle 128B");
}

TEST(TensorMapModel, StridesOfElements) {
    using isa::TensorType;
    TensorMapQuestion q = question(TensorType::u16, {16, 9, 7}, {32, 288}, {8, 5, 4}, {0, 2, 1});
    q.copy.map.element_stride = {1, 2, 3, 1, 1};
    expect_all(q, "UINT16 16 x 9 x 7, box 8 x 5 x 4: 96 bytes a copy");
}

// With an interleave a position holds 16 or 32 bytes of channels, and one slice is copied.
TEST(TensorMapModel, Interleaves) {
    using isa::TensorType;
    for (const uint32_t bytes : {16u, 32u}) {
        const uint64_t width = bytes;
        TensorMapQuestion q =
            question(TensorType::f16, {5, 4, 3, 2}, {5 * width, 20 * width, 60 * width},
                     {8, 3, 1, 2}, {2, 2, 1, 0});
        q.copy.map.interleave =
            bytes == 16 ? isa::TensorInterleave::bytes_16 : isa::TensorInterleave::bytes_32;
        const uint32_t copied = 8 * 3 * 2 * bytes;
        expect_all(q, "FLOAT16 5 x 4 x 3 x 2, box 8 x 3 x 1 x 2: " + std::to_string(copied) +
                          " bytes a copy, interleave " + std::to_string(bytes) + "B");
    }
}

// A column of pixels that goes on with the next image, its channels cut at the last.
TEST(TensorMapModel, OfIm2col) {
    TensorMapQuestion q =
        question(isa::TensorType::f32, {6, 3, 2, 2}, {32, 96, 192}, {}, {4, 1, 1, 0});
    isa::TensorMap& m = q.copy.map;
    m.im2col = true;
    m.channels = 4;
    m.pixels = 4;
    const Answer a = ask_tensor_map(q);
    EXPECT_EQ(a.line, "FLOAT32 6 x 3 x 2 x 2, columns of 4 pixels x 4 channels: 64 bytes a copy");
    EXPECT_TRUE(a.notes.empty());
    ASSERT_EQ(a.grids.size(), 2u);
    EXPECT_EQ(
        a.grids[1].rows,
        (std::vector<std::vector<std::string>>{{"0x0", "[4, 1, 1, 0]", "[4, 2, 1, 0]",
                                                "[4, 0, 0, 1]", "[4, 1, 0, 1]", "", "", "", ""}}));
    q.byte = 20;
    EXPECT_EQ(line_of(q),
              "byte 20 of the box: element [5, 2, 1, 0], byte 0, at globalAddress + "
              "180");
    q.byte = 24;
    EXPECT_EQ(line_of(q), "byte 24 of the box: element [6, 2, 1, 0], byte 0: outside the tensor");
    q.byte.reset();
    q.element = Coordinates{5, 1, 0, 1};
    EXPECT_EQ(line_of(q), "element [5, 1, 0, 1]: byte 52 of the box");
    q.element = Coordinates{5, 0, 1, 0};
    EXPECT_EQ(line_of(q), "element [5, 0, 1, 0]: this copy does not bring it");
    q.element = Coordinates{5, 0, 1};
    EXPECT_EQ(ask_tensor_map(q).error, "an element of this map has 4 coordinates");
}

// The fields of the 128 bytes, and which grids and notes an answer has.
TEST(TensorMapModel, FieldsAndWhatIsLeftOut) {
    TensorMapQuestion q = question(isa::TensorType::f16, {64, 12}, {128}, {64, 10}, {0, 4});
    q.copy.map.swizzle = isa::TensorSwizzle::bytes_128;
    q.copy.map.element_stride[1] = 2;
    const Answer a = ask_tensor_map(q);
    ASSERT_EQ(a.grids.size(), 2u);
    EXPECT_EQ(a.grids[0].header,
              (std::vector<std::string>{"byte", "bits", "field", "value", "meaning"}));
    const auto has = [&](const Grid& g, const std::vector<std::string>& row) {
        return std::ranges::find(g.rows, row) != g.rows.end();
    };
    EXPECT_TRUE(has(a.grids[0], {"0x00", "63:0", "globalAddress", "0x4000", "bytes"}));
    EXPECT_TRUE(has(a.grids[0], {"0x08", "6:4", "tensorRank", "0x1", "minus 1"}));
    EXPECT_TRUE(
        has(a.grids[0], {"0x08", "14:13", "swizzle", "0x3", "0 none, 1 32B, 2 64B, 3 128B"}));
    EXPECT_TRUE(has(a.grids[0], {"0x0c", "31:0", "globalStrides[0]", "0x8", "bits 35:4"}));
    EXPECT_TRUE(has(a.grids[0], {"0x20", "31:0", "globalDim[0]", "0x3f", "minus 1"}));
    EXPECT_TRUE(has(a.grids[0], {"0x34", "5:3", "elementStrides[1]", "0x1", "minus 1"}));
    EXPECT_TRUE(has(a.grids[0], {"0x38", "7:0", "boxDim[1]", "0x9", "minus 1"}));
    ASSERT_EQ(a.lines.size(), 1u);
    const std::string& hex = a.lines[0];
    ASSERT_EQ(hex.size(), 256u);
    EXPECT_EQ(hex.substr(0, 16), "0040000000000000");
    EXPECT_EQ(hex.substr(64, 16), "3f0000000b000000");
    EXPECT_EQ(a.data["bytes"], hex);
    EXPECT_EQ(a.data["errors"], nlohmann::ordered_json::array());

    q.byte = 0;
    EXPECT_EQ(ask_tensor_map(q).grids.size(), 1u) << "the picture alone";
    q.byte.reset();
    q.element = Coordinates{0, 4};
    EXPECT_EQ(ask_tensor_map(q).grids.size(), 1u);
    q.copy.map.box[0] = 65;
    const Answer wrong = ask_tensor_map(q);
    EXPECT_EQ(wrong.line, "FLOAT16 64 x 12, box 65 x 10: 650 bytes a copy, swizzle 128B");
    EXPECT_EQ(wrong.notes,
              (std::vector<std::string>{
                  "the driver refuses it: boxDim[0] = 65 of 2 bytes each, 130 bytes, is not a "
                  "multiple of 16 bytes",
                  "the driver refuses it: boxDim[0] = 65 of 2 bytes each, 130 bytes, is more than "
                  "the 128 of the swizzle"}));
    EXPECT_EQ(wrong.data["errors"].size(), 2u);
    ASSERT_EQ(wrong.grids.size(), 1u);
    EXPECT_TRUE(has(wrong.grids[0], {"0x34", "31:24", "boxDim[0]", "0x40", "minus 1"}));
    // Of what the driver refuses not also that a load is illegal.
    q.copy.at = {4, 0};
    EXPECT_EQ(ask_tensor_map(q).notes.size(), 2u);
}

}  // namespace
}  // namespace lockwarp::lanes::tensor_map_model_test
