// SPDX-License-Identifier: Apache-2.0
// Tensor maps at the edges of each rule of the driver, and bytes that are none.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "emu/isa/tensor_copy.hpp"
#include "emu/isa/tensor_map.hpp"

namespace lockwarp::isa {
namespace {

using Change = std::function<void(TensorMap&)>;

TensorMap tiled(const Change& change) {
    TensorMap m{.type = TensorType::u8, .rank = 3, .dim = {64, 64, 8, 1, 1}};
    m.stride = {256, 8192, 16, 16};
    m.box = {16, 8, 1, 1, 1};
    change(m);
    return m;
}

TensorMap im2col(const Change& change) {
    return tiled([&](TensorMap& m) {
        m.im2col = true;
        m.channels = 16;
        m.pixels = 16;
        change(m);
    });
}

// All that the rules have to say.
std::string said(const TensorMap& m) {
    std::string out;
    for (const std::string& s : refusals(m)) out += (out.empty() ? "" : "; ") + s;
    return out;
}

// Of rank 3 an offset has 16 bits, of rank 4 the low 8 of each; of rank 5 they are added up,
// shifted by 5 and 10, and 5 bits each taken from the sum.
TEST(TensorCopies, OffsetsOfIm2col) {
    const auto first_row = [](unsigned rank, std::array<uint16_t, 3> offset, bool has = true) {
        const TensorMap m = im2col([&](TensorMap& map) {
            map.rank = rank;
            map.dim = {64, 70000, 1000, 1000, 1000};
        });
        const TensorCopy copy{m, {0, 5, 6, 7, 8}, offset, has};
        return TensorRows(copy).next().at;
    };
    using At = std::array<int64_t, max_tensor_rank>;
    EXPECT_EQ(first_row(3, {0x1234, 2, 3}), (At{0, 5 + 0x1234, 6, 7, 8}));
    EXPECT_EQ(first_row(4, {0x1234, 0xab0f, 3}), (At{0, 5 + 0x34, 6 + 0x0f, 7, 8}));
    EXPECT_EQ(first_row(5, {3, 17, 29}), (At{0, 5 + 3, 6 + 17, 7 + 29, 8}));
    EXPECT_EQ(first_row(5, {31, 30, 28}), (At{0, 5 + 31, 6 + 30, 7 + 28, 8}));
    // What is beyond 5 bits of one goes to the next: 100 is 4 and 3 of the next.
    EXPECT_EQ(first_row(5, {100, 10, 20}), (At{0, 5 + 4, 6 + 13, 7 + 20, 8}));
    EXPECT_EQ(first_row(5, {1, 40, 1}), (At{0, 5 + 1, 6 + 8, 7 + 2, 8}));
    for (const unsigned rank : {3u, 4u, 5u})
        EXPECT_EQ(first_row(rank, {1, 2, 3}, false), (At{0, 5, 6, 7, 8}));
}

TEST(TensorMapEdges, OfTiledMaps) {
    constexpr uint64_t top = uint64_t{1} << 57, most = uint64_t{1} << 32, far = uint64_t{1} << 40;
    const auto interleaved = [](TensorInterleave i, const Change& change) {
        return tiled([&](TensorMap& m) {
            m.interleave = i;
            change(m);
        });
    };
    const auto swizzled = [](TensorSwizzle s, uint32_t inner) {
        return tiled([&](TensorMap& m) {
            m.swizzle = s;
            m.box[0] = inner;
        });
    };
    const std::string as_32 = ", as interleave 32B asks for";
    const auto span = [](const std::string& inner, const std::string& of) {
        return "boxDim[0] = " + inner + " of 1 bytes each, " + inner + " bytes, is more than the " +
               of + " of the swizzle";
    };
    const std::pair<TensorMap, std::string> rows[] = {
        {tiled([](TensorMap& m) { m.rank = 1; }), ""},
        {tiled([](TensorMap& m) { m.rank = 5; }), ""},
        {tiled([](TensorMap& m) { m.rank = 0; }), "tensorRank = 0 is not 1 to 5"},
        {tiled([](TensorMap& m) { m.rank = 6; }), "tensorRank = 6 is not 1 to 5"},
        {interleaved(TensorInterleave::bytes_16, [](TensorMap& m) { m.rank = 3; }), ""},
        {interleaved(TensorInterleave::bytes_32, [](TensorMap& m) { m.rank = 1; }),
         "tensorRank = 1 is below 3, and interleave is 32B"},
        {tiled([](TensorMap& m) { m.address = top - 16; }), ""},
        {tiled([](TensorMap& m) { m.address = top; }),
         "globalAddress = 144115188075855872 is not below 2^57"},
        {tiled([](TensorMap& m) { m.address = 8; }), "globalAddress = 8 is not a multiple of 16"},
        {interleaved(TensorInterleave::bytes_16, [](TensorMap& m) { m.address = 16; }), ""},
        {interleaved(TensorInterleave::bytes_32, [](TensorMap& m) { m.address = 32; }), ""},
        {interleaved(TensorInterleave::bytes_32, [](TensorMap& m) { m.address = 16; }),
         "globalAddress = 16 is not a multiple of 32" + as_32},
        {tiled([](TensorMap& m) {
             m.dim = {1, most, 1, 0, 0};
         }),
         ""},
        {tiled([](TensorMap& m) { m.dim[0] = 0; }), "globalDim[0] = 0 is not 1 to 2^32"},
        {tiled([](TensorMap& m) { m.dim[2] = most + 1; }),
         "globalDim[2] = 4294967297 is not 1 to 2^32"},
        {tiled([](TensorMap& m) {
             m.stride = {0, far - 16, 8, 8};
         }),
         ""},
        {tiled([](TensorMap& m) { m.stride[0] = far; }),
         "globalStrides[0] = 1099511627776 is not below 2^40"},
        {tiled([](TensorMap& m) { m.stride[1] = 8; }),
         "globalStrides[1] = 8 is not a multiple of 16"},
        {interleaved(TensorInterleave::bytes_32, [](TensorMap& m) { m.stride[1] = 48; }),
         "globalStrides[1] = 48 is not a multiple of 32" + as_32},
        {tiled([](TensorMap& m) {
             m.box = {256, 1, 1, 0, 0};
         }),
         ""},
        {tiled([](TensorMap& m) { m.box[2] = 0; }), "boxDim[2] = 0 is not 1 to 256"},
        {tiled([](TensorMap& m) { m.box[2] = 256; }), ""},
        {tiled([](TensorMap& m) { m.box[2] = 257; }), "boxDim[2] = 257 is not 1 to 256"},
        {tiled([](TensorMap& m) {
             m.element_stride = {1, 8, 1, 0, 9};
         }),
         ""},
        {tiled([](TensorMap& m) { m.element_stride[2] = 0; }),
         "elementStrides[2] = 0 is not 1 to 8"},
        {tiled([](TensorMap& m) { m.element_stride[2] = 9; }),
         "elementStrides[2] = 9 is not 1 to 8"},
        {tiled([](TensorMap& m) { m.box[0] = 15; }),
         "boxDim[0] = 15 of 1 bytes each, 15 bytes, is not a multiple of 16 bytes"},
        {swizzled(TensorSwizzle::none, 256), ""},
        {swizzled(TensorSwizzle::bytes_32, 32), ""},
        {swizzled(TensorSwizzle::bytes_32, 48), span("48", "32")},
        {swizzled(TensorSwizzle::bytes_64, 64), ""},
        {swizzled(TensorSwizzle::bytes_64, 80), span("80", "64")},
        {swizzled(TensorSwizzle::bytes_128, 128), ""},
        {swizzled(TensorSwizzle::bytes_128, 144), span("144", "128")},
        // An interleave lifts that rule.
        {interleaved(TensorInterleave::bytes_32,
                     [](TensorMap& m) {
                         m.swizzle = TensorSwizzle::bytes_32;
                         m.box[0] = 64;
                     }),
         ""},
        {tiled([](TensorMap& m) {
             m.box = {256, 228, 4, 1, 1};
         }),
         ""},
        {tiled([](TensorMap& m) {
             m.box = {256, 229, 4, 1, 1};
         }),
         "a box has 234496 bytes, more than 233472"},
        // Elements that strides leave out do not count.
        {tiled([](TensorMap& m) {
             m.box = {256, 229, 8, 1, 1};
             m.element_stride = {1, 1, 4, 1, 1};
         }),
         ""},
    };
    for (const auto& [map, words] : rows) EXPECT_EQ(said(map), words);
    // Only what floating-point numbers are may be filled with NaN.
    for (const TensorTypeRow& type : tensor_types) {
        const TensorMap m = tiled([&](TensorMap& of) {
            of.type = type.type;
            of.fill = TensorFill::nan;
        });
        EXPECT_EQ(said(m), type.is_float
                               ? ""
                               : "oobFill = NAN_REQUEST_ZERO_FMA, and tensorDataType = " +
                                     std::string(type.name) + " is no floating-point type");
    }
}

TEST(TensorMapEdges, OfIm2colMaps) {
    const auto corner = [](uint32_t rank, unsigned i, int32_t lower, int32_t upper) {
        return im2col([&](TensorMap& m) {
            m.rank = rank;
            m.dim = {64, 100000, 100000, 100000, 8};
            m.lower[i] = lower;
            m.upper[i] = upper;
        });
    };
    const std::pair<TensorMap, std::string> rows[] = {
        {im2col([](TensorMap&) {}), ""},
        {im2col([](TensorMap& m) { m.rank = 2; }),
         "tensorRank = 2 is not 3 to 5, as im2col asks for"},
        {im2col([](TensorMap& m) { m.rank = 5; }), ""},
        {im2col([](TensorMap& m) { m.rank = 6; }), "tensorRank = 6 is not 1 to 5"},
        // It has no box, whatever stands there.
        {im2col([](TensorMap& m) {
             m.box = {0, 300, 0, 0, 0};
         }),
         ""},
        {im2col([](TensorMap& m) { m.channels = 256; }), ""},
        {im2col([](TensorMap& m) { m.channels = 0; }), "channelsPerPixel = 0 is not 1 to 256"},
        {im2col([](TensorMap& m) { m.channels = 272; }), "channelsPerPixel = 272 is not 1 to 256"},
        {im2col([](TensorMap& m) { m.channels = 17; }),
         "channelsPerPixel = 17 of 1 bytes each, 17 bytes, is not a multiple of 16 bytes"},
        {im2col([](TensorMap& m) {
             m.swizzle = TensorSwizzle::bytes_32;
             m.channels = 48;
         }),
         "channelsPerPixel = 48 of 1 bytes each, 48 bytes, is more than the 32 of the swizzle"},
        {im2col([](TensorMap& m) { m.pixels = 1; }), ""},
        {im2col([](TensorMap& m) { m.pixels = 1024; }), ""},
        {im2col([](TensorMap& m) { m.pixels = 0; }), "pixelsPerColumn = 0 is not 1 to 1024"},
        {im2col([](TensorMap& m) { m.pixels = 1025; }), "pixelsPerColumn = 1025 is not 1 to 1024"},
        {im2col([](TensorMap& m) {
             m.type = TensorType::u16;
             m.channels = 256;
             m.pixels = 456;
         }),
         ""},
        {im2col([](TensorMap& m) {
             m.type = TensorType::u16;
             m.channels = 256;
             m.pixels = 457;
         }),
         "a box has 233984 bytes, more than 233472"},
        {corner(3, 0, -32768, 32767), ""},
        {corner(3, 0, -32769, 0), "pixelBoxLowerCorner[0] = -32769 is not -32768 to 32767"},
        {corner(3, 0, 0, 32768), "pixelBoxUpperCorner[0] = 32768 is not -32768 to 32767"},
        {corner(3, 1, -40000, 40000), ""},
        {corner(4, 1, -128, 127), ""},
        {corner(4, 1, -129, 0), "pixelBoxLowerCorner[1] = -129 is not -128 to 127"},
        {corner(4, 0, 0, 128), "pixelBoxUpperCorner[0] = 128 is not -128 to 127"},
        {corner(5, 2, -16, 15), ""},
        {corner(5, 2, 16, 0), "pixelBoxLowerCorner[2] = 16 is not -16 to 15"},
        {corner(5, 2, 0, -17), "pixelBoxUpperCorner[2] = -17 is not -16 to 15"},
        // One pixel is enough.
        {im2col([](TensorMap& m) { m.lower[0] = 63; }), ""},
        {im2col([](TensorMap& m) {
             m.lower[0] = 0;
             m.upper[0] = -63;
         }),
         ""},
        {im2col([](TensorMap& m) {
             m.lower[0] = 1;
             m.upper[0] = -64;
         }),
         "the pixel box is empty: globalDim[1] = 64, pixelBoxLowerCorner[0] = 1, "
         "pixelBoxUpperCorner[0] = -64 leave -1 pixels"},
    };
    for (const auto& [map, words] : rows) EXPECT_EQ(said(map), words);
}

TEST(TensorMapEdges, WhatTheDriverDoesNotTakeHasNoBytes) {
    const TensorMapBytes none{};
    EXPECT_EQ(encode(tiled([](TensorMap& m) { m.rank = 0; })), none);
    EXPECT_EQ(encode(tiled([](TensorMap& m) { m.rank = 6; })), none);
    EXPECT_EQ(encode(im2col([](TensorMap& m) { m.rank = 2; })), none);
    for (uint32_t rank = 1; rank <= 5; ++rank)
        EXPECT_NE(encode(tiled([&](TensorMap& m) { m.rank = rank; })), none);
    for (uint32_t rank = 3; rank <= 5; ++rank)
        EXPECT_NE(encode(im2col([&](TensorMap& m) { m.rank = rank; })), none);
}

// The word of the kind holds any of 2^32 values: those that name a rank, a type and an interleave
// are decoded.
TEST(TensorMapEdges, WhichBytesAreMaps) {
    size_t decoded = 0;
    for (uint32_t kind = 0; kind < 1u << 19; ++kind) {
        TensorMapBytes bytes{};
        for (size_t i = 0; i < 4; ++i) bytes[8 + i] = static_cast<uint8_t>(kind >> 8 * i);
        const bool of_im2col = (kind & 1) != 0;
        const uint32_t rank = (kind >> 4 & 7) + 1, type = kind >> 7 & 15;
        const bool rounds = (kind >> 16 & 1) != 0;
        const bool good = rank <= 5 && (!of_im2col || rank >= 3) && (kind >> 11 & 3) != 3 &&
                          (rounds ? type == 7 || type == 8 : type <= 10);
        const std::optional<TensorMap> m = decode_tensor_map(bytes);
        ASSERT_EQ(m.has_value(), good) << std::hex << kind;
        if (!m) continue;
        ++decoded;
        ASSERT_EQ(m->im2col, of_im2col);
        ASSERT_EQ(m->rank, rank);
        ASSERT_EQ(row(m->type).field, type);
        ASSERT_EQ(row(m->type).rounds, rounds);
        ASSERT_EQ(static_cast<uint32_t>(m->interleave), kind >> 11 & 3);
        ASSERT_EQ(static_cast<uint32_t>(m->swizzle), kind >> 13 & 3);
        ASSERT_EQ(static_cast<uint32_t>(m->fill), kind >> 15 & 1);
        ASSERT_EQ(static_cast<uint32_t>(m->promotion), kind >> 17 & 3);
    }
    EXPECT_GT(decoded, 10000u);
}

}  // namespace
}  // namespace lockwarp::isa
