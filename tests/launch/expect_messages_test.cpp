// SPDX-License-Identifier: Apache-2.0
// Expectations and tensor maps of launch files: what is read, and what is told, to the letter.
#include <gtest/gtest.h>

#include <algorithm>

#include "launch/launch_file.hpp"
#include "launch/values.hpp"
#include "tests/launch/messages.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

constexpr const char* head =
    R"({"schema": "lockwarp-launch/1", "ptx": "k", "grid": [1], "block": [1], )"
    R"("buffers": {"A": {"bytes": 4096}, "B": {"bytes": 64}, "C": {"bytes": 64}}, )";

Expectation expected(const std::string& text) {
    LaunchFile file;
    EXPECT_EQ(
        take(parse_launch_file(std::string(head) + "\"expect\": [" + text + "]}", "x.json"), file),
        "")
        << text;
    return file.expectations.empty() ? Expectation{} : file.expectations[0];
}

TEST(Expectations, OfBytes) {
    Expectation e = expected(R"({"buffer": "A", "is": {"fill": 7}})");
    EXPECT_EQ(e.name, "A");
    EXPECT_EQ(e.offset, 0u);
    EXPECT_EQ(e.bytes, 0u);
    EXPECT_EQ(e.type, isa::Type::b8);
    EXPECT_EQ(e.init.fill, 7);
    EXPECT_FALSE(e.product);
    EXPECT_TRUE(e.tolerance.exact());
    e = expected(R"({"variable": "v", "offset": 3, "bytes": 8, "is": {"values": {"u16": [1]}}})");
    EXPECT_EQ(e.name, "v");
    EXPECT_EQ(e.offset, 3u);
    EXPECT_EQ(e.bytes, 8u);
    EXPECT_EQ(e.type, isa::Type::u16) << "as what it is compared with";
    e = expected(R"({"buffer": "A", "type": "f32", "is": {"values": {"u16": [1]}}, "ulp": 2})");
    EXPECT_EQ(e.type, isa::Type::f32);
    EXPECT_EQ(e.tolerance.ulp, 2);
    EXPECT_FALSE(e.tolerance.absolute || e.tolerance.relative || e.tolerance.exact());
    e = expected(R"({"buffer": "A", "is": "zeros", "absolute": 0.5, "relative": 0})");
    EXPECT_EQ(e.tolerance.absolute, 0.5);
    EXPECT_EQ(e.tolerance.relative, 0);
    EXPECT_FALSE(e.tolerance.ulp || e.tolerance.exact());
    EXPECT_TRUE(expected(R"({"buffer": "A", "is": "zeros", "exact": true})").tolerance.exact());
}

TEST(Expectations, OfProducts) {
    struct Row {
        const char *formula, *d, *a, *b, *c;
        bool a_transposed, b_transposed;
    };
    const Row rows[] = {{"D = A*B", "D", "A", "B", "", false, false},
                        {"D=A*B+C", "D", "A", "B", "C", false, false},
                        {"  x_1  =  A'  *  B'  +  C  ", "x_1", "A", "B", "C", true, true},
                        {"A = A' * A + A", "A", "A", "A", "A", true, false},
                        {"D = B*C'", "D", "B", "C", "", false, true}};
    for (const Row& row : rows) {
        const Expectation e = expected(
            std::string(R"({"product": ")") + row.formula +
            R"(", "shape": [2, 3, 4], "types": {"A": "f16", "B": "s8", "C": "u8", "D": "f32"}})");
        ASSERT_TRUE(e.product) << row.formula;
        const Product& p = *e.product;
        EXPECT_EQ(e.name, row.d);
        EXPECT_EQ(e.type, isa::Type::f32);
        EXPECT_EQ(p.d, row.d);
        EXPECT_EQ(p.a, row.a);
        EXPECT_EQ(p.b, row.b);
        EXPECT_EQ(p.c, row.c);
        EXPECT_EQ(p.a_transposed, row.a_transposed);
        EXPECT_EQ(p.b_transposed, row.b_transposed);
        EXPECT_EQ(p.m, 2u);
        EXPECT_EQ(p.n, 3u);
        EXPECT_EQ(p.k, 4u);
        EXPECT_EQ(p.type_a, isa::Type::f16);
        EXPECT_EQ(p.type_b, isa::Type::s8);
        EXPECT_EQ(p.type_c, isa::Type::u8);
        EXPECT_EQ(p.type_d, isa::Type::f32);
    }
    const Product p = *expected(R"({"product": "D = A*B", "shape": [1, 1, 4294967296],
                                    "types": {"A": "bf16", "D": "f32"}})")
                           .product;
    EXPECT_EQ(p.type_b, isa::Type::bf16) << "as A";
    EXPECT_EQ(p.type_c, isa::Type::f32) << "as D";
    EXPECT_EQ(p.k, uint64_t{1} << 32);
}

TEST(Expectations, SayWhatIsWrong) {
    const std::string types = value_type_names();
    const std::string formula =
        "field 'expect[0].product': \"D = A*B\" is expected (A' for A stored K x M, B' for B "
        "stored "
        "N x K), or \"D = A*B + C\", not ";
    expect(std::string(head) + "\"expect\": ^{}}", "field 'expect': a list is expected, not {}");
    expect_all(
        std::string(head) + "\"expect\": [",
        {
            {"^5", "field 'expect[0]': an object is expected, not 5"},
            {R"({"buffer": "A", "is": "zeros"}, ^{"is": "zeros"})",
             "field 'expect[1].buffer': is missing"},
            {R"(^{"buffer": "A"})", "field 'expect[0].is': is missing"},
            {R"({"buffer": ^1, "is": "zeros"})",
             "field 'expect[0].buffer': a text is expected, not 1"},
            {R"({"buffer": "A", "is": ^5})",
             "field 'expect[0].is': one of {\"file\"}, {\"files\"}, {\"hex\"}, {\"fill\"}, "
             "{\"zeros\"}, "
             "{\"values\"}, {\"random\"}, {\"sequence\"} is expected, or \"zeros\", or of a buffer "
             "\"undefined\""},
            {R"({"buffer": "A", ^"bufer": "A", "is": "zeros"})",
             "field 'expect[0].bufer': is not known; did you mean 'buffer'?"},
            {R"({"buffer": "A", "is": "zeros", ^"shape": [1, 1, 1]})",
             "field 'expect[0].shape': is not known; known here: buffer, variable, offset, bytes, "
             "type, "
             "is, exact, ulp, absolute, relative"},
            {R"({"buffer": "A", "is": "zeros", "offset": ^-1})",
             "field 'expect[0].offset': a whole number from 0 to 17592186044416 is expected, not "
             "-1"},
            {R"({"buffer": "A", "is": "zeros", "bytes": ^1.5})",
             "field 'expect[0].bytes': a whole number from 0 to 17592186044416 is expected, not "
             "1.5"},
            {R"({"buffer": "A", "is": "zeros", "type": ^"g32"})",
             "field 'expect[0].type': 'g32' is not a type; one of " + types},
            {R"({"buffer": "A", "is": "zeros", "type": "f32", "bytes": 8})", ""},
            {R"({"buffer": "A", "is": "zeros", "type": "f32", "bytes": ^6})",
             "field 'expect[0].bytes': a multiple of 4 is expected"},
            {R"({"buffer": "A", "is": {"values": {"u16": [1]}}, "bytes": ^7})",
             "field 'expect[0].bytes': a multiple of 2 is expected"},
            {R"({"buffer": "A", "is": "zeros", "ulp": ^-1})",
             "field 'expect[0].ulp': a number that is not negative is expected"},
            {R"({"buffer": "A", "is": "zeros", "absolute": ^-0.5})",
             "field 'expect[0].absolute': a number that is not negative is expected"},
            {R"({"buffer": "A", "is": "zeros", "relative": ^"1"})",
             "field 'expect[0].relative': a number is expected, not \"1\""},
            {R"({"buffer": "A", "is": "zeros", "exact": ^false})",
             "field 'expect[0].exact': true is expected"},
            {R"({"buffer": "A", "is": "zeros", "exact": ^true, "ulp": 0})",
             "field 'expect[0].exact': stands alone"},
            {R"({"buffer": "A", "is": "zeros", "exact": ^true, "absolute": 0})",
             "field 'expect[0].exact': stands alone"},
            {R"({"buffer": "A", "is": "zeros", "exact": ^true, "relative": 0})",
             "field 'expect[0].exact': stands alone"},
            {R"({"buffer": "A", "is": "zeros", "exact": ^1})",
             "field 'expect[0].exact': true or false is expected, not 1"},
        },
        "]}");
    for (const std::string text : {"", "D", "D = A", "A*B", "D*A = B", "= A*B", "D = *B", "D = A*",
                                   "D = A*B +", "D = '*B", "D = A*'"})
        expect(std::string(head) + R"("expect": [{"product": ^")" + text +
                   R"(", "shape": [1, 1, 1], "types": {"A": "f16", "D": "f16"}}]})",
               formula + "\"" + text + "\"");
    expect_all(
        std::string(head) + "\"expect\": [",
        {
            {R"({"product": ^5, "shape": [1, 1, 1], "types": {}})",
             "field 'expect[0].product': a text is expected, not 5"},
            {R"(^{"product": "D = A*B", "types": {"A": "f16", "D": "f16"}})",
             "field 'expect[0].shape': is missing"},
            {R"(^{"product": "D = A*B", "shape": [1, 1, 1]})",
             "field 'expect[0].types': is missing"},
            {R"({"product": "D = A*B", "shape": ^[1, 1], "types": {}})",
             "field 'expect[0].shape': [M, N, K] is expected, not [1, 1]"},
            {R"({"product": "D = A*B", "shape": ^[1, 1, 1, 1], "types": {}})",
             "field 'expect[0].shape': [M, N, K] is expected, not [1, 1, 1, 1]"},
            {R"({"product": "D = A*B", "shape": ^5, "types": {}})",
             "field 'expect[0].shape': [M, N, K] is expected, not 5"},
            {R"({"product": "D = A*B", "shape": [1, ^0, 1], "types": {}})",
             "field 'expect[0].shape': is 0"},
            {R"({"product": "D = A*B", "shape": [1, 1, ^4294967297], "types": {}})",
             "field 'expect[0].shape': a whole number from 0 to 4294967296 is expected, not "
             "4294967297"},
            {R"({"product": "D = A*B", "shape": [1, 1, 1], "types": ^[]})",
             "field 'expect[0].types': an object is expected, not []"},
            {R"({"product": "D = A*B", "shape": [1, 1, 1], "types": ^{"D": "f16"}})",
             "field 'expect[0].types.A': is missing"},
            {R"({"product": "D = A*B", "shape": [1, 1, 1], "types": ^{"A": "f16"}})",
             "field 'expect[0].types.D': is missing"},
            {R"({"product": "D = A*B", "shape": [1, 1, 1], "types": {"A": "f16", "D": ^"x"}})",
             "field 'expect[0].types.D': 'x' is not a type; one of " + types},
            {R"({"product": "D = A*B", "shape": [1, 1, 1], "types": {"A": "f16", ^"E": "f16"}})",
             "field 'expect[0].types.E': is not known; known here: A, B, C, D"},
            {R"({"product": "D = A*B", ^"buffer": "A", "shape": [1, 1, 1], "types": {}})",
             "field 'expect[0].buffer': is not known; known here: product, shape, types, exact, "
             "ulp, "
             "absolute, relative"},
            {R"(^{"product": "D = Q*B", "shape": [1, 1, 1], "types": {"A": "f16", "D": "f16"}})",
             "field 'expect[0].product': there is no buffer 'Q'"},
            {R"(^{"product": "D = A*Q", "shape": [1, 1, 1], "types": {"A": "f16", "D": "f16"}})",
             "field 'expect[0].product': there is no buffer 'Q'"},
            {R"(^{"product": "D = A*B + Q", "shape": [1, 1, 1], "types": {"A": "f16", "D": "f16"}})",
             "field 'expect[0].product': there is no buffer 'Q'"},
        },
        "]}");
}

TEST(TensorMapFields, EachByItsName) {
    LaunchFile f;
    ASSERT_EQ(take(parse_launch_file(std::string(head) + R"("tensorMaps": {"comment": "none",
      "one": {"tensorDataType": "FLOAT32", "tensorRank": 1, "globalAddress": "B",
              "globalDim": [16], "boxDim": [8]},
      "three": {"tensorDataType": "TFLOAT32", "tensorRank": 3,
              "globalAddress": {"buffer": "A", "offset": 64}, "globalDim": [8, 7, 6],
              "globalStrides": [32, 256], "boxDim": [4, 2, 1], "elementStrides": [1, 3, 8],
              "interleave": "16B", "swizzle": "NONE", "l2Promotion": "L2_64B",
              "oobFill": "NAN_REQUEST_ZERO_FMA"}}})",
                                     "x.json"),
                   f),
              "");
    ASSERT_EQ(f.tensor_maps.size(), 2u);
    const isa::TensorMap& one = f.tensor_maps[0].map;
    EXPECT_EQ(f.tensor_maps[0].name, "one");
    EXPECT_EQ(f.tensor_maps[0].buffer, "B");
    EXPECT_EQ(f.tensor_maps[0].offset, 0u);
    isa::TensorMap is{.type = isa::TensorType::f32, .rank = 1};
    is.dim[0] = 16;
    is.box[0] = 8;
    EXPECT_EQ(one, is);
    is = {.type = isa::TensorType::tf32, .rank = 3};
    is.dim = {8, 7, 6, 1, 1};
    is.stride = {32, 256, 0, 0};
    is.box = {4, 2, 1, 1, 1};
    is.element_stride = {1, 3, 8, 1, 1};
    is.interleave = isa::TensorInterleave::bytes_16;
    is.promotion = isa::TensorPromotion::bytes_64;
    is.fill = isa::TensorFill::nan;
    EXPECT_EQ(f.tensor_maps[1].map, is);
    EXPECT_EQ(f.tensor_maps[1].buffer, "A");
    EXPECT_EQ(f.tensor_maps[1].offset, 64u);
}

TEST(TensorMapFields, SayWhatIsWrong) {
    const std::string rest =
        R"(, "globalAddress": "A", "globalDim": [16, 4], "globalStrides": [64], "boxDim": [4, 4])";
    const std::string typed = R"("tensorDataType": "FLOAT32", "tensorRank": 2)";
    expect(std::string(head) + "\"tensorMaps\": ^[]}",
           "field 'tensorMaps': an object of tensor maps by name is expected");
    expect_all(
        std::string(head) + R"("tensorMaps": {"m": )",
        {
            {"^5", "field 'tensorMaps.m': an object is expected, not 5"},
            {"^\"none\"", "field 'tensorMaps.m': an object is expected, not \"none\""},
            {"{" + typed + rest + "}", ""},
            {"^{\"tensorRank\": 2" + rest + "}", "field 'tensorMaps.m.tensorDataType': is missing"},
            {R"(^{"tensorDataType": "FLOAT32", "globalAddress": "A"})",
             "field 'tensorMaps.m.tensorRank': is missing"},
            {"^{" + typed + "}", "field 'tensorMaps.m.globalAddress': is missing"},
            {R"({"tensorDataType": ^"FLOAT", "tensorRank": 2)" + rest + "}",
             "field 'tensorMaps.m.tensorDataType': one of UINT8, UINT16, UINT32, INT32, UINT64, "
             "INT64, "
             "FLOAT16, FLOAT32, FLOAT32_FTZ, FLOAT64, BFLOAT16, TFLOAT32, TFLOAT32_FTZ is "
             "expected, "
             "not \"FLOAT\""},
            {R"({"tensorDataType": "FLOAT32", "tensorRank": ^0)" + rest + "}",
             "field 'tensorMaps.m.tensorRank': 1 to 5 is expected, not 0"},
            {R"({"tensorDataType": "FLOAT32", "tensorRank": ^6)" + rest + "}",
             "field 'tensorMaps.m.tensorRank': 1 to 5 is expected, not 6"},
            {R"({"tensorDataType": "FLOAT32", "tensorRank": ^-2)" + rest + "}",
             "field 'tensorMaps.m.tensorRank': a whole number from 0 to 4294967295 is expected, "
             "not "
             "-2"},
            {"{" + typed + R"(, "globalAddress": ^5, "globalDim": [16, 4]})",
             "field 'tensorMaps.m.globalAddress': a text is expected, not 5"},
            {"^{" + typed + R"(, "globalAddress": "Z", "globalDim": [16, 4], "globalStrides": [64],
          "boxDim": [4, 4]})",
             "field 'tensorMaps.m.globalAddress': there is no buffer 'Z'"},
            {"^{" + typed + R"(, "globalAddress": "A", "globalStrides": [64], "boxDim": [4, 4]})",
             "field 'tensorMaps.m.globalDim': is missing"},
            {"^{" + typed + R"(, "globalAddress": "A", "globalDim": [16, 4], "boxDim": [4, 4]})",
             "field 'tensorMaps.m.globalStrides': is missing"},
            {"^{" + typed +
                 R"(, "globalAddress": "A", "globalDim": [16, 4], "globalStrides": [64]})",
             "field 'tensorMaps.m.boxDim': is missing"},
            {"{" + typed + R"(, "globalAddress": "A", "globalDim": ^[16], "globalStrides": [64]})",
             "field 'tensorMaps.m.globalDim': a list of 2 numbers is expected, as tensorRank says, "
             "not "
             "[16]"},
            {"{" + typed + R"(, "globalAddress": "A", "globalDim": ^16})",
             "field 'tensorMaps.m.globalDim': a list of 2 numbers is expected, as tensorRank says, "
             "not "
             "16"},
            {"{" + typed + R"(, "globalAddress": "A", "globalDim": [16, ^-4]})",
             "field 'tensorMaps.m.globalDim[1]': a whole number from 0 to 4611686018427387904 is "
             "expected, not -4"},
            {"{" + typed + rest + R"(, "elementStrides": ^[1]})",
             "field 'tensorMaps.m.elementStrides': a list of 2 numbers is expected, as tensorRank "
             "says, "
             "not [1]"},
            {"{" + typed + rest + R"(, "elementStrides": ^[1, 9]})",
             "field 'tensorMaps.m': elementStrides[1] = 9 is not 1 to 8"},
            {"{" + typed + rest + R"(, "interleave": ^"64B"})",
             "field 'tensorMaps.m.interleave': one of NONE, 16B, 32B is expected, not \"64B\""},
            {"{" + typed + rest + R"(, "swizzle": ^1})",
             "field 'tensorMaps.m.swizzle': a text is expected, not 1"},
            {"{" + typed + rest + R"(, "l2Promotion": ^"L2"})",
             "field 'tensorMaps.m.l2Promotion': one of NONE, L2_64B, L2_128B, L2_256B is expected, "
             "not "
             "\"L2\""},
            {"{" + typed + rest + R"(, "oobFill": ^"NAN"})",
             "field 'tensorMaps.m.oobFill': one of NONE, NAN_REQUEST_ZERO_FMA is expected, not "
             "\"NAN\""},
            {"{" + typed + R"(, "globalAddress": "A", "globalDim": [16, 4], "globalStrides": ^[72],
          "boxDim": [4, 257]})",
             "field 'tensorMaps.m': globalStrides[0] = 72 is not a multiple of 16; boxDim[1] = 257 "
             "is "
             "not 1 to 256"},
            {"{" + typed +
                 R"(, "globalAddress": ^{"buffer": "A", "offset": 8}, "globalDim": [16, 4],
          "globalStrides": [64], "boxDim": [4, 4]})",
             "field 'tensorMaps.m': globalAddress = 8 is not a multiple of 16"},
            {"{" + typed + rest + R"(, ^"pitch": 3})",
             "field 'tensorMaps.m.pitch': is not known; known here: tensorDataType, tensorRank, "
             "globalAddress, globalDim, globalStrides, boxDim, elementStrides, interleave, "
             "swizzle, "
             "l2Promotion, oobFill, pixelBoxLowerCorner, pixelBoxUpperCorner, channelsPerPixel, "
             "pixelsPerColumn"},
        },
        "}}");
}

TEST(TensorMapFields, OfIm2col) {
    const std::string begin = R"({"tensorDataType": "FLOAT16", "globalAddress": "A", )";
    const std::string extents =
        R"("globalDim": [16, 4, 4], "globalStrides": [32, 128], "pixelBoxLowerCorner": [)";
    const std::string rank = "\"tensorRank\": 3, ";
    const std::string column = R"("channelsPerPixel": 16, "pixelsPerColumn": 8)";
    const std::string integer = "a whole number is expected, not ";
    expect_all(std::string(head) + R"("tensorMaps": {"m": )" + begin,
               {
                   {rank + extents + "-1], \"pixelBoxUpperCorner\": [1], " + column + "}", ""},
                   {"\"tensorRank\": ^2, " + column + "}",
                    "field 'tensorMaps.m.tensorRank': 3 to 5 is expected, not 2"},
                   {"\"tensorRank\": ^6, \"channelsPerPixel\": 1}",
                    "field 'tensorMaps.m.tensorRank': 3 to 5 is expected, not 6"},
                   {rank + "\"boxDim\": ^[1], " + column + "}",
                    "field 'tensorMaps.m.boxDim': an im2col map has none"},
                   {"\"boxDim\": ^[1], \"pixelBoxLowerCorner\": [1]}",
                    "field 'tensorMaps.m.boxDim': an im2col map has none"},
                   {rank + extents + "^1.5], \"pixelBoxUpperCorner\": [1], " + column + "}",
                    "field 'tensorMaps.m.pixelBoxLowerCorner[0]': " + integer + "1.5"},
                   {rank + extents + "0], \"pixelBoxUpperCorner\": [^2147483648], " + column + "}",
                    "field 'tensorMaps.m.pixelBoxUpperCorner[0]': " + integer + "2147483648"},
                   {rank + extents + "0], \"pixelBoxUpperCorner\": [^-2147483648], " + column + "}",
                    "field 'tensorMaps.m.pixelBoxUpperCorner[0]': " + integer + "-2147483648"},
                   {rank + extents + "^\"0\"], \"pixelBoxUpperCorner\": [0], " + column + "}",
                    "field 'tensorMaps.m.pixelBoxLowerCorner[0]': a number is expected, not \"0\""},
               },
               "}}");
    const std::string upper = "0], \"pixelBoxUpperCorner\": [0], ";
    expect(std::string(head) + R"("tensorMaps": {"m": ^)" + begin + rank + extents + upper +
               "\"pixelsPerColumn\": 8}}}",
           "field 'tensorMaps.m.channelsPerPixel': is missing");
    expect(std::string(head) + R"("tensorMaps": {"m": ^)" + begin + rank + extents + upper +
               "\"channelsPerPixel\": 16}}}",
           "field 'tensorMaps.m.pixelsPerColumn': is missing");
    expect(std::string(head) + R"("tensorMaps": {"m": ^)" + begin + rank + extents + "0], " +
               column + "}}}",
           "field 'tensorMaps.m.pixelBoxUpperCorner': is missing");
}

TEST(TensorMapFields, PlacedInBytes) {
    const std::string maps =
        R"("tensorMaps": {"map1": {"tensorDataType": "FLOAT32", "tensorRank": 1, "globalAddress": "B",
           "globalDim": [16], "boxDim": [8]}}, )";
    const std::string zeros(2 * 130, '0');
    expect_all(
        std::string(head) + maps + R"("args": [{"bytes": ")" + zeros + R"(", "tensorMaps": )",
        {
            {R"({"0": "map1"})", ""},
            {R"({"2": "map1", "comment": 5})", ""},
            {R"({"3": ^"map1"})", "field 'args[0].tensorMaps.3': 128 bytes there do not fit 130"},
            {R"({"131": ^"map1"})",
             "field 'args[0].tensorMaps.131': 128 bytes there do not fit 130"},
            {R"({"x": ^"map1"})", "field 'args[0].tensorMaps.x': the key must be a byte offset"},
            {R"({"0": ^5})", "field 'args[0].tensorMaps.0': a text is expected, not 5"},
            {R"({"0": ^"map2"})",
             "field 'args[0].tensorMaps.0': there is no tensor map 'map2'; did you mean 'map1'?"},
        },
        "}]}");
}

}  // namespace
}  // namespace lockwarp::launch
