// SPDX-License-Identifier: Apache-2.0
// Tensor maps: our encoding and our rules against those of an H200's driver, recorded.
#include "emu/isa/tensor_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/hardware/recordings.hpp"

namespace lockwarp {
namespace {

using isa::TensorMap;
using isa::TensorMapBytes;

// One call of the driver: "T type rank address dim*5 stride*4 box*5 steps*5 interleave swizzle
// promotion fill = result bytes", of im2col "I" with lower*3 upper*3 channels pixels for the box;
// addresses, dimensions and strides in hexadecimal.
struct Call {
    TensorMap map;
    bool representable = true;  // each enumeration has a value that it knows
    int result = -1;
    std::string bytes;
};

template <class E, size_t n>
void take(std::istream& in, E& value, const std::array<std::string_view, n>&, Call& c) {
    unsigned v = 0;
    in >> v;
    c.representable &= v < n;
    if (v < n) value = static_cast<E>(v);
}

Call parse(const std::string& line) {
    Call c;
    std::istringstream in(line);
    std::string kind, equals;
    unsigned type = 0;
    in >> kind >> type >> c.map.rank >> std::hex >> c.map.address;
    c.map.im2col = kind == "I";
    const auto found = std::ranges::find(isa::tensor_types, type, &isa::TensorTypeRow::driver);
    c.representable = found != isa::tensor_types.end();
    if (c.representable) c.map.type = found->type;
    for (uint64_t& v : c.map.dim) in >> v;
    for (uint64_t& v : c.map.stride) in >> v;
    in >> std::dec;
    if (c.map.im2col) {
        for (int32_t& v : c.map.lower) in >> v;
        for (int32_t& v : c.map.upper) in >> v;
        in >> c.map.channels >> c.map.pixels;
    } else {
        for (uint32_t& v : c.map.box) in >> v;
    }
    for (uint32_t& v : c.map.element_stride) in >> v;
    take(in, c.map.interleave, isa::interleave_names, c);
    take(in, c.map.swizzle, isa::tensor_swizzle_names, c);
    take(in, c.map.promotion, isa::promotion_names, c);
    take(in, c.map.fill, isa::fill_names, c);
    in >> equals >> c.result;
    if (!in || equals != "=") ADD_FAILURE() << "not a line: " << line;
    in >> c.bytes;
    return c;
}

std::string hex(const TensorMapBytes& bytes) {
    std::string out;
    for (const uint8_t b : bytes) {
        out += "0123456789abcdef"[b >> 4];
        out += "0123456789abcdef"[b & 15];
    }
    return out;
}

TensorMapBytes bytes_of(const std::string& text) {
    TensorMapBytes out{};
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    return out;
}

// What the driver does not write down of a map: fields beyond its rank.
TensorMap within_rank(TensorMap m) {
    const TensorMap none;
    for (unsigned i = m.rank; i < isa::max_tensor_rank; ++i) {
        m.dim[i] = none.dim[i];
        m.box[i] = none.box[i];
        m.element_stride[i] = none.element_stride[i];
    }
    for (unsigned i = m.rank - 1; i < isa::max_tensor_rank - 1; ++i) m.stride[i] = none.stride[i];
    for (unsigned i = m.im2col ? m.rank - 2 : 0; i < 3; ++i) m.lower[i] = m.upper[i] = 0;
    if (m.im2col) m.box = none.box;
    return m;
}

TEST(TensorMap, EncodesAndRefusesAsTheDriver) {
    std::istringstream lines(hardware::read_text("tensor_maps/encodings"));
    std::string line;
    int accepted = 0, refused = 0, differences = 0;
    while (std::getline(lines, line) && differences < 5) {
        const Call c = parse(line);
        const std::vector<std::string> why =
            c.representable ? isa::refusals(c.map) : std::vector<std::string>{"an enumeration"};
        const bool same_verdict = why.empty() == (c.result == 0);
        if (!same_verdict) {
            ++differences;
            ADD_FAILURE() << line << "\n" << (why.empty() ? "accepted" : why.front());
        } else if (c.result != 0) {
            ++refused;
        } else {
            ++accepted;
            const std::string ours = hex(isa::encode(c.map));
            const auto read = isa::decode_tensor_map(bytes_of(c.bytes));
            const bool good = ours == c.bytes && read && *read == within_rank(c.map);
            differences += !good;
            EXPECT_EQ(ours, c.bytes) << line;
            EXPECT_TRUE(read && *read == within_rank(c.map)) << line;
        }
    }
    EXPECT_GT(accepted, 1800);
    EXPECT_GT(refused, 1700);
}

// Each rule is broken by a map that breaks no other.
TEST(TensorMap, SaysWhichRuleIsBroken) {
    const auto tiled = [](auto change) {
        TensorMap m{.type = isa::TensorType::f16, .rank = 3, .dim = {64, 64, 8, 1, 1}};
        m.stride = {128, 8192, 0, 0};
        m.box = {64, 8, 1, 1, 1};
        change(m);
        return m;
    };
    const auto im2col = [&](auto change) {
        return tiled([&](TensorMap& m) {
            m.im2col = true;
            m.channels = 64;
            m.pixels = 16;
            change(m);
        });
    };
    struct Row {
        TensorMap map;
        std::string words;
    };
    const std::vector<Row> rows{
        {tiled([](TensorMap& m) { m.rank = 6; }), "tensorRank = 6 is not 1 to 5"},
        {tiled([](TensorMap& m) {
             m.rank = 2;
             m.interleave = isa::TensorInterleave::bytes_16;
         }),
         "tensorRank = 2 is below 3, and interleave is 16B"},
        {tiled([](TensorMap& m) {
             m.type = isa::TensorType::u16;
             m.fill = isa::TensorFill::nan;
         }),
         "oobFill = NAN_REQUEST_ZERO_FMA, and tensorDataType = UINT16 is no floating-point type"},
        {tiled([](TensorMap& m) { m.address = 24; }), "globalAddress = 24 is not a multiple of 16"},
        {tiled([](TensorMap& m) { m.dim[2] = 0; }), "globalDim[2] = 0 is not 1 to 2^32"},
        {tiled([](TensorMap& m) { m.stride[1] = 24; }),
         "globalStrides[1] = 24 is not a multiple of 16"},
        {tiled([](TensorMap& m) { m.box[1] = 257; }), "boxDim[1] = 257 is not 1 to 256"},
        {im2col([](TensorMap& m) { m.pixels = 0; }), "pixelsPerColumn = 0 is not 1 to 1024"},
        {im2col([](TensorMap& m) { m.lower[0] = -40000; }),
         "pixelBoxLowerCorner[0] = -40000 is not -32768 to 32767"},
        {im2col([](TensorMap& m) { m.lower[0] = 64; }),
         "the pixel box is empty: globalDim[1] = 64, pixelBoxLowerCorner[0] = 64, "
         "pixelBoxUpperCorner[0] = 0 leave 0 pixels"},
        {tiled([](TensorMap& m) { m.element_stride[1] = 9; }),
         "elementStrides[1] = 9 is not 1 to 8"},
        {tiled([](TensorMap& m) { m.box[0] = 12; }),
         "boxDim[0] = 12 of 2 bytes each, 24 bytes, is not a multiple of 16 bytes"},
        {tiled([](TensorMap& m) { m.swizzle = isa::TensorSwizzle::bytes_64; }),
         "boxDim[0] = 64 of 2 bytes each, 128 bytes, is more than the 64 of the swizzle"},
        {tiled([](TensorMap& m) {
             m.box = {64, 256, 8, 1, 1};
         }),
         "a box has 262144 bytes, more than 233472"},
    };
    ASSERT_EQ(rows.size(), isa::tensor_map_rules().size());
    for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(isa::refusals(rows[i].map), std::vector{rows[i].words}) << i;
        EXPECT_EQ(isa::tensor_map_rules()[i].broken(rows[i].map), rows[i].words);
    }
    EXPECT_TRUE(isa::refusals(tiled([](TensorMap&) {})).empty());
    EXPECT_TRUE(isa::refusals(im2col([](TensorMap&) {})).empty());
}

// Each field of the list is where the encoding has it: no two share a bit, and a map with all its
// fields used has no bit outside.
TEST(TensorMap, FieldsAreWhereTheListSays) {
    for (const bool im2col : {false, true}) {
        std::array<bool, 8 * isa::tensor_map_bytes> used{};
        for (const isa::TensorMapField& f : isa::tensor_map_fields(im2col))
            for (unsigned i = f.bit; i < f.bit + f.bits; ++i) {
                EXPECT_FALSE(used[i]) << f.name << " shares bit " << i;
                used[i] = true;
            }
        std::istringstream lines(hardware::read_text("tensor_maps/encodings"));
        std::string line;
        while (std::getline(lines, line)) {
            const Call c = parse(line);
            if (c.result != 0 || c.map.im2col != im2col) continue;
            const TensorMapBytes bytes = bytes_of(c.bytes);
            for (unsigned i = 0; i < used.size(); ++i)
                if ((bytes[i / 8] >> (i % 8) & 1) != 0) {
                    ASSERT_TRUE(used[i]) << "bit " << i << " of " << line;
                }
        }
    }
}

TEST(TensorMap, WhatIsNoneIsNotDecoded) {
    TensorMapBytes bytes = isa::encode({.type = isa::TensorType::f16, .rank = 2});
    ASSERT_TRUE(isa::decode_tensor_map(bytes));
    bytes[8] = 0x70 | (bytes[8] & 0x0f);  // rank 8
    EXPECT_FALSE(isa::decode_tensor_map(bytes));
    bytes = isa::encode({.type = isa::TensorType::bf16, .rank = 2});
    bytes[8] |= 0x80;  // the type behind it
    EXPECT_FALSE(isa::decode_tensor_map(bytes));
}

}  // namespace
}  // namespace lockwarp
