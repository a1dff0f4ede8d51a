// SPDX-License-Identifier: Apache-2.0
// Tensor maps of launch files: every field, good and bad, and where their bytes go.
#include <gtest/gtest.h>

#include "emu/isa/tensor_map.hpp"
#include "launch/launch_file.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch::tensor_map_test {
namespace {

std::string file(const std::string& maps, const std::string& rest) {
    return R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [1], "block": [32],
               "tensorMaps": {)" +
           maps + "}, " + rest + "}";
}

const std::string tiled = R"("a": {"tensorDataType": "BFLOAT16", "tensorRank": 2,
    "globalAddress": {"buffer": "A", "offset": 256}, "globalDim": [640, 512],
    "globalStrides": [1280], "boxDim": [64, 128], "elementStrides": [1, 2], "interleave": "NONE",
    "swizzle": "128B", "l2Promotion": "L2_256B", "oobFill": "NAN_REQUEST_ZERO_FMA"})";

const std::string buffers =
    R"("buffers": {"A": {"bytes": 655616}, "B": {"bytes": 512, "tensorMaps": {"256": "a"}}})";

isa::TensorMap expected(uint64_t address) {
    isa::TensorMap m{.type = isa::TensorType::bf16, .rank = 2, .address = address};
    m.dim = {640, 512, 1, 1, 1};
    m.stride = {1280, 0, 0, 0};
    m.box = {64, 128, 1, 1, 1};
    m.element_stride = {1, 2, 1, 1, 1};
    m.swizzle = isa::TensorSwizzle::bytes_128;
    m.promotion = isa::TensorPromotion::bytes_256;
    m.fill = isa::TensorFill::nan;
    return m;
}

isa::TensorMap map_at(const std::vector<uint8_t>& bytes, size_t at) {
    const std::span<const uint8_t, isa::tensor_map_bytes> span(bytes.data() + at,
                                                               isa::tensor_map_bytes);
    return isa::decode_tensor_map(span).value_or(isa::TensorMap{});
}

TEST(LaunchTensorMap, GoesIntoBuffers) {
    LaunchFile f;
    ASSERT_EQ(take(parse_launch_file(file(tiled, buffers), "x.json"), f), "");
    ASSERT_EQ(f.tensor_maps.size(), 1u);
    Memory memory;
    ASSERT_EQ(take(place_buffers(f), memory), "");
    EXPECT_EQ(map_at(memory.bytes[1], 256), expected(memory.addresses[0] + 256));
    for (size_t i = 0; i < 256; ++i) ASSERT_EQ(memory.bytes[1][i], 0);
}

TEST(LaunchTensorMap, GoesIntoArguments) {
    LaunchFile f;
    const std::string bytes = std::string(2 * (64 + 128), '0');
    ASSERT_EQ(take(parse_launch_file(
                       file(tiled, buffers + R"(, "args": [{"tensorMap": "a"},
                       {"struct": [{"s32": 1}, {"tensorMap": "a"}]},
                       {"bytes": ")" + bytes +
                                       R"(", "pointers": {"8": "B"}, "tensorMaps": {"64": "a"}}])"),
                       "x.json"),
                   f),
              "");
    const std::vector<Argument>& args = f.launches[0].arguments;
    ASSERT_EQ(args.size(), 3u);
    EXPECT_EQ(args[0].bytes.size(), 128u);
    EXPECT_EQ(args[0].type, "tensorMap");
    EXPECT_EQ(args[1].bytes.size(), 192u);
    const size_t at[] = {0, 64, 64};
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(map_at(args[i].bytes, at[i]), expected(0)) << i;
        ASSERT_EQ(args[i].maps.size(), 1u);
        EXPECT_EQ(args[i].maps[0].at, at[i]);
        const Pointer& p = args[i].pointers.back();
        EXPECT_EQ(p.at, at[i]);
        EXPECT_EQ(p.buffer, "A");
        EXPECT_EQ(p.offset, 256u);
    }
}

TEST(LaunchTensorMap, OfIm2col) {
    LaunchFile f;
    ASSERT_EQ(
        take(parse_launch_file(file(R"("i": {"tensorDataType": "FLOAT16", "tensorRank": 4,
        "globalAddress": "A", "globalDim": [64, 30, 20, 8], "globalStrides": [128, 3840, 76800],
        "pixelBoxLowerCorner": [-1, -2], "pixelBoxUpperCorner": [-1, 3], "channelsPerPixel": 64,
        "pixelsPerColumn": 128, "swizzle": "128B"})",
                                    buffers.substr(0, buffers.find(", \"tensorMaps\"")) + "}}"),
                               "x.json"),
             f),
        "");
    const isa::TensorMap& m = f.tensor_maps[0].map;
    EXPECT_TRUE(m.im2col);
    EXPECT_EQ(m.lower, (std::array<int32_t, 3>{-1, -2, 0}));
    EXPECT_EQ(m.upper, (std::array<int32_t, 3>{-1, 3, 0}));
    EXPECT_EQ(m.channels, 64u);
    EXPECT_EQ(m.pixels, 128u);
}

TEST(LaunchTensorMap, SaysWhatIsWrong) {
    const auto with = [](const std::string& from, const std::string& to) {
        std::string text = tiled;
        const size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return text.replace(at, from.size(), to);
    };
    const struct {
        std::string maps, rest, message;
    } cases[] = {
        {with("[1280]", "[1288]"), buffers,
         "field 'tensorMaps.a': globalStrides[0] = 1288 is not a multiple of 16"},
        {with("[64, 128]", "[64, 257]"), buffers,
         "field 'tensorMaps.a': boxDim[1] = 257 is not 1 to 256"},
        {with("256}", "8}"), buffers,
         "field 'tensorMaps.a': globalAddress = 8 is not a multiple of 16"},
        {with("\"128B\"", "\"64B\""), buffers,
         "field 'tensorMaps.a': boxDim[0] = 64 of 2 bytes each, 128 bytes, is more than the 64 of "
         "the swizzle"},
        {with("\"128B\"", "\"128\""), buffers,
         "field 'tensorMaps.a.swizzle': one of NONE, 32B, 64B, 128B is expected, not \"128\""},
        {with("[1280]", "[]"), buffers,
         "field 'tensorMaps.a.globalStrides': a list of 1 numbers is expected, as tensorRank says"},
        {with("\"boxDim\"", "\"box\""), buffers, "field 'tensorMaps.a.box': is not known"},
        {with("\"A\"", "\"C\""), buffers,
         "field 'tensorMaps.a.globalAddress': there is no buffer 'C'"},
        {tiled, R"("buffers": {"A": {"bytes": 655616}}, "args": [{"tensorMap": "b"}])",
         "field 'args[0].tensorMap': there is no tensor map 'b'"},
        {tiled, R"("buffers": {"A": {"bytes": 655616, "tensorMaps": {"655600": "a"}}})",
         "field 'buffers.A.tensorMaps.655600': 128 bytes there do not fit 655616"},
    };
    for (const auto& c : cases) {
        LaunchFile f;
        const std::string problem = take(parse_launch_file(file(c.maps, c.rest), "x.json"), f);
        EXPECT_NE(problem.find(c.message), std::string::npos)
            << problem << "\n  expected " << c.message;
    }
}

}  // namespace
}  // namespace lockwarp::launch::tensor_map_test
