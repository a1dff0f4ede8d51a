// SPDX-License-Identifier: Apache-2.0
// What buffers begin with: the same bytes everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "launch/launch_file.hpp"
#include "launch/values.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

// The bytes of a buffer with an "init" of the launch file.
std::vector<uint8_t> bytes_of(uint64_t count, const std::string& init) {
    const std::string text =
        R"({"schema":"lockwarp-launch/1","ptx":"k","grid":[1],"block":[1],"buffers":{"A":{"bytes":)" +
        std::to_string(count) + R"(,"init":)" + init + "}}}";
    LaunchFile file;
    EXPECT_EQ(take(parse_launch_file(text, "x.json"), file), "");
    std::vector<uint8_t> out;
    EXPECT_EQ(take(initial_bytes(file, file.buffers.at(0)), out), "");
    return out;
}

std::string hex(const std::vector<uint8_t>& bytes) {
    std::string out;
    for (const uint8_t b : bytes) out += hex_of(isa::Type::b8, b).substr(2);
    return out;
}

uint64_t word(const std::vector<uint8_t>& bytes, size_t i) {
    return i * 8 + 8 <= bytes.size() ? element(bytes, isa::Type::u64, i) : 0;
}

TEST(Init, FillHexAndSequence) {
    EXPECT_EQ(hex(bytes_of(3, R"({"fill": 171})")), "ababab");
    EXPECT_EQ(hex(bytes_of(5, R"({"hex": "003cFf"})")), "003cff003c");
    EXPECT_EQ(hex(bytes_of(4, R"({"sequence": {"type": "u8"}})")), "00010203");
    EXPECT_EQ(
        hex(bytes_of(8, R"({"sequence": {"type": "f16", "start": 1, "step": 2, "divide": 4}})")),
        "0034003a003d003f");
    EXPECT_EQ(hex(bytes_of(4, R"({"sequence": {"type": "s8", "start": 127, "step": 1}})")),
              "7f7f7f7f");
    EXPECT_EQ(hex(bytes_of(0, R"({"fill": 1})")), "");
}

// SplitMix64's published first outputs for seed 1234567. A .u64 element keeps the upper 53 bits.
TEST(Init, RandomIsSplitMix64) {
    constexpr uint64_t published[] = {6457827717110365317u, 3203168211198807973u,
                                      9817491932198370423u, 4593380528125082431u,
                                      16408922859458223821u};
    const std::vector<uint8_t> bytes =
        bytes_of(sizeof published, R"({"random": {"type": "u64", "seed": 1234567}})");
    for (size_t i = 0; i < std::size(published); ++i)
        EXPECT_EQ(word(bytes, i), published[i] & ~uint64_t{0x7ff}) << i;
}

// Sixteen bytes of each type with seed 7, as the first version of the program made them.
TEST(Init, RandomBytesStayTheSame) {
    const struct {
        std::string type, distribution, bytes;
    } cases[] = {
        {"f16", "uniform", "0db3bbbb6a3a4f3116ae02b81aac80b5"},
        {"bf16", "uniform", "62be77bf4d3f2a3ec3bd00bf83bdb0be"},
        {"tf32", "uniform", "00a061be006077bf00404d3f00e0293e"},
        {"f32", "uniform", "f1a061be866777bf81304d3f5cd7293e"},
        {"f64", "uniform", "f8cda61b1e34ccbfe8f002caf0eceebf"},
        {"e4m3", "uniform", "a6b735239cb098abb4a3b5373534341c"},
        {"e5m2", "uniform", "b3bc3a31aeb8acb6bab2ba3b3b3a3a2e"},
        {"s8", "uniform", "e3846615f3c0f7d4a2e99a756a5e5c0c"},
        {"u8", "uniform", "6304e6957340775422691af5eadedc8c"},
        {"s16", "uniform", "cbe34c8497663a15d3f3dabfcbf7fdd3"},
        {"u16", "uniform", "cb634c0497e63a95d373da3fcb77fd53"},
        {"s32", "uniform", "e4e1cbe3d83c4c848040986670eb3a15"},
        {"u32", "uniform", "e4e1cb63d83c4c04804098e670eb3a95"},
        {"s64", "uniform", "00083259e4e1cbe300603cf4d73c4c84"},
        {"u64", "uniform", "00083259e4e1cb6300603cf4d73c4c04"},
        {"b8", "uniform", "6304e6957340775422691af5eadedc8c"},
        {"b16", "uniform", "cb634c0497e63a95d373da3fcb77fd53"},
        {"b32", "uniform", "e4e1cb63d83c4c04804098e670eb3a95"},
        {"b64", "uniform", "00083259e4e1cb6300603cf4d73c4c04"},
        {"f16", "normal", "01bc563d273809bb83b5cf392637abaf"},
        {"bf16", "normal", "80bfab3f053f61bfb0be3a3fe53ef5bd"},
        {"tf32", "normal", "002080bf00c0aa3f00e0043f002061bf"},
        {"f32", "normal", "441f80bf73b1aa3f25d4043f671e61bf"},
        {"f64", "normal", "00005073e803f0bf0000006c2e56f53f"},
        {"e4m3", "normal", "b83b30b6ab342e9f3b3e39b438b9bc40"},
        {"e5m2", "normal", "bc3d38bbb63a37b03e3f3dba3cbdbe40"},
        {"s8", "normal", "e02a10e4f5170efc2c3724e820dbd23e"},
        {"u8", "normal", "00552100002e1c00596e48004100007d"},
        {"s16", "normal", "f8dfac2a9a10dce3faf43c174d0e2bfc"},
        {"u16", "normal", "00005855352100000000792e9a1c0000"},
        {"s32", "normal", "1a2ff8dfd85cac2aad849a101b33dce3"},
        {"u32", "normal", "00000000b0b958555a09352100000000"},
        {"s64", "normal", "00000060192ff8df00000000d85cac2a"},
        {"u64", "normal", "000000000000000000000000b0b95855"},
        {"b8", "normal", "00552100002e1c00596e48004100007d"},
        {"b16", "normal", "00005855352100000000792e9a1c0000"},
        {"b32", "normal", "00000000b0b958555a09352100000000"},
        {"b64", "normal", "000000000000000000000000b0b95855"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(hex(bytes_of(16, R"({"random": {"seed": 7, "type": ")" + c.type +
                                       R"(", "distribution": ")" + c.distribution + R"("}})")),
                  c.bytes)
            << c.type << ' ' << c.distribution;
}

struct Moments {
    double mean, deviation, least, most;
};

Moments moments_of(const std::string& init) {
    constexpr size_t count = 100000;
    const std::vector<uint8_t> bytes = bytes_of(count * 8, init);
    Moments m{0, 0, HUGE_VAL, -HUGE_VAL};
    double squares = 0;
    for (size_t i = 0; i < count; ++i) {
        const double v = value_of(isa::Type::f64, word(bytes, i));
        m.mean += v / count;
        squares += v * v / count;
        m.least = std::min(m.least, v);
        m.most = std::max(m.most, v);
    }
    m.deviation = std::sqrt(squares - m.mean * m.mean);
    return m;
}

TEST(Init, Distributions) {
    const Moments normal = moments_of(
        R"({"random": {"type": "f64", "distribution": "normal", "mean": 3, "stddev": 2}})");
    EXPECT_NEAR(normal.mean, 3, 0.05);
    EXPECT_NEAR(normal.deviation, 2, 0.05);
    EXPECT_LT(normal.least, -3);
    EXPECT_GT(normal.most, 9);
    const Moments uniform = moments_of(R"({"random": {"type": "f64", "min": -2, "max": 4}})");
    EXPECT_NEAR(uniform.mean, 1, 0.05);
    EXPECT_NEAR(uniform.deviation, 6 / std::sqrt(12), 0.05);
    EXPECT_GE(uniform.least, -2);
    EXPECT_LT(uniform.most, 4);
    EXPECT_LT(uniform.least, -1.99);
    EXPECT_GT(uniform.most, 3.99);
}

TEST(Init, SeedsDiffer) {
    EXPECT_NE(bytes_of(64, R"({"random": {"type": "f32", "seed": 1}})"),
              bytes_of(64, R"({"random": {"type": "f32", "seed": 2}})"));
}

TEST(Values, BitsOfNumbers) {
    using isa::Type;
    EXPECT_EQ(bits_of(Type::f16, 1.5), 0x3e00u);
    EXPECT_EQ(bits_of(Type::f16, 1e9), 0x7c00u);
    EXPECT_EQ(bits_of(Type::bf16, 1.0), 0x3f80u);
    EXPECT_EQ(bits_of(Type::f32, 0.1), 0x3dcccccdu);
    EXPECT_EQ(bits_of(Type::f64, 1.0), 0x3ff0000000000000u);
    EXPECT_EQ(bits_of(Type::s8, -300), 0x80u);
    EXPECT_EQ(bits_of(Type::s8, 2.5), 2u);
    EXPECT_EQ(bits_of(Type::u8, -1), 0u);
    EXPECT_EQ(bits_of(Type::u8, 300), 255u);
    EXPECT_EQ(bits_of(Type::s32, -5), 0xfffffffbu);
    EXPECT_EQ(value_of(Type::s8, 0x80), -128);
    EXPECT_EQ(value_of(Type::u8, 0x80), 128);
    EXPECT_EQ(value_of(Type::f16, 0x3e00), 1.5);
}

TEST(Values, TextOfBits) {
    using isa::Type;
    EXPECT_EQ(text_of(Type::f16, 0x3e00, -1), "1.5");
    EXPECT_EQ(text_of(Type::f16, 0x3e00, 3), "1.500");
    EXPECT_EQ(text_of(Type::f32, 0x3dcccccd, -1), "0.1");
    EXPECT_EQ(text_of(Type::f32, 0x7f800000, 4), "inf");
    EXPECT_EQ(text_of(Type::f32, 0xff800000, -1), "-inf");
    EXPECT_EQ(text_of(Type::f32, 0xffc00001, -1), "nan");
    EXPECT_EQ(text_of(Type::f32, 0x80000000, -1), "-0");
    EXPECT_EQ(text_of(Type::s8, 0xfd, 4), "-3");
    EXPECT_EQ(text_of(Type::u64, UINT64_MAX, -1), "18446744073709551615");
    EXPECT_EQ(text_of(Type::b16, 0x1f, -1), "0x001f");
    EXPECT_EQ(hex_of(Type::f16, 0x3c00), "0x3c00");
    EXPECT_EQ(hex_of(Type::u8, 5), "0x05");
    EXPECT_EQ(hex_of(Type::f64, 5), "0x0000000000000005");
}

TEST(Values, BytesOfHex) {
    EXPECT_EQ(bytes_of_hex("00fFa1"), std::string("\x00\xff\xa1", 3));
    EXPECT_EQ(bytes_of_hex(""), "");
    for (const char* bad : {"0", "0g", "0x00", "-1", " 1", "+1", "00 0"})
        EXPECT_FALSE(bytes_of_hex(bad).has_value()) << bad;
}

TEST(Values, Types) {
    EXPECT_EQ(value_type("f16"), isa::Type::f16);
    EXPECT_EQ(value_type("e4m3"), isa::Type::e4m3);
    for (const char* bad : {"", ".f16", "f16x2", "pred", "s4", "b128", "F16", "b1"})
        EXPECT_EQ(value_type(bad), isa::Type::none) << bad;
    EXPECT_NE(value_type_names().find("bf16, "), std::string::npos);
}

}  // namespace
}  // namespace lockwarp::launch
