// SPDX-License-Identifier: Apache-2.0
// What answers about shared memory say: their lines, tables and notes, and what wrong input is
// told.
#include <gtest/gtest.h>

#include "lanes/banks.hpp"
#include "lanes/expression.hpp"

namespace lockwarp::lanes {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Access access(std::string_view name) {
    std::string error;
    const auto a = access_named(name, error);
    EXPECT_TRUE(a) << error;
    return a.value_or(Access{});
}

TEST(ExpressionWords, SayWhatShouldStandWhere) {
    const std::pair<std::string, std::string> rows[] = {
        {"", "lane, stride or a number should stand at character 1"},
        {"lane+", "lane, stride or a number should stand at character 6"},
        {"x", "lane, stride or a number of 32 bits should stand at character 1"},
        {"lane*0x", "lane, stride or a number of 32 bits should stand at character 6"},
        {"0xFF", "lane, stride or a number of 32 bits should stand at character 1"},
        {"4294967296", "lane, stride or a number of 32 bits should stand at character 1"},
        {"1 2", "an operator should stand at character 3"},
        {"lane)", "an operator should stand at character 5"},
        {"(lane", "')' should stand at character 6"},
        {"(lane 1)", "')' should stand at character 7"},
        {"1<<32", "a shift by at most 31 should stand at character 6"},
        {"1>>32", "a shift by at most 31 should stand at character 6"},
        {"(lane-22)/2", "no negative value should stand at character 12"},
        {"(lane-22)%2", "no negative value should stand at character 12"},
        {"(lane-22)<<2", "no negative value should stand at character 13"},
        {"2>>(lane-22)", "no negative value should stand at character 13"},
        {"lane/0", "a number other than 0 should stand at character 7"},
        {"lane%0", "a number other than 0 should stand at character 7"},
        {"65536*65536", "a value of 32 bits should stand at character 12"},
        {"4294967295+1", "a value of 32 bits should stand at character 13"},
        {"4294967295*4294967295", "a value of 32 bits should stand at character 22"},
        {"0-4294967295-1", "a value of 32 bits should stand at character 15"},
        {"lane-22+", "lane, stride or a number should stand at character 9"},
        {"18446744073709551617", "lane, stride or a number of 32 bits should stand at character 1"},
        {"0x1g", "an operator should stand at character 4"},
        {"1a", "an operator should stand at character 2"},
        {"1A", "an operator should stand at character 2"},
        {"(1 2", "')' should stand at character 4"},
        {"1/0+(65536*65536)", "a number other than 0 should stand at character 4"},
        {"(1<<33)+1", "a shift by at most 31 should stand at character 7"},
        {std::string(100, '(') + "1" + std::string(100, ')'),
         "something less deep should stand at character 101"},
    };
    for (const auto& [text, said] : rows) {
        std::string error;
        EXPECT_FALSE(evaluate(text, 21, 80, error)) << text;
        EXPECT_EQ(error, "'" + text + "': " + said);
    }
    std::string error;
    EXPECT_FALSE(evaluate("lane-22", 21, 80, error));
    EXPECT_EQ(error, "'lane-22' is -1: not a number of 32 bits");
    EXPECT_FALSE(evaluate(std::string(401, '1'), 21, 80, error));
    EXPECT_EQ(error, "an expression of 401 characters is too long");
}

TEST(ExpressionWords, OperatorsBindAsInC) {
    const std::pair<std::string, uint32_t> rows[] = {
        {"2+3*4-1", 13},
        {"1<<2+1", 8},
        {"100/7%4", 2},
        {"2*3%4", 2},
        {"6-2-1", 3},
        {"64>>2>>1", 8},
        {"1|2^3&5", 3},
        {"6&3|8", 10},
        {"5^1|2", 6},
        {"1\t+ 2 ", 3},
        {"0xff", 255},
        {"0xa09", 0xa09},
        {"0x12345678", 0x12345678},
        {"0x9abcdef0", 0x9abcdef0},
        {"(1|2 ) *3", 9},
        {"4294967295", 4294967295},
        {"4294967295-4294967295", 0},
        {"1<<31", 1u << 31},
        {"2147483648>>31", 1},
        {"0<<5", 0},
        {"0/5", 0},
        {"lane*stride", 21 * 80},
        {"((lane))", 21},
        {std::string(99, '(') + "1" + std::string(99, ')'), 1},
        {std::string(399, ' ') + "1", 1},
    };
    for (const auto& [text, value] : rows) {
        std::string error;
        EXPECT_EQ(evaluate(text, 21, 80, error), value) << text << ": " << error;
    }
}

TEST(DescriptorWords, OfEachSwizzle) {
    struct Row {
        unsigned bytes;
        const char *code, *line, *meaning, *k_major, *mn_major;
    };
    const Row rows[] = {
        {0, "0", "0x0000004000010040: start 0x400, LBO 16, SBO 1024, no swizzle, base offset 0",
         "none: core matrices of 8 rows x 16 bytes",
         "start + mn/8*SBO + mn%8*16 + k*esz/16*LBO + k*esz%16",
         "start + mn*esz/16*SBO + mn*esz%16 + k/8*LBO + k%8*16"},
        {128, "1",
         "0x4000004000010040: start 0x400, LBO 16, SBO 1024, 128-byte swizzle, base offset 0",
         "Swizzle<3,4,3>: address ^= ((address >> 7) & 7) << 4",
         "start + mn/8*SBO + mn%8*128 + k*esz        (LBO is not read)",
         "start + mn*esz/128*LBO + mn*esz%128 + k/8*SBO + k%8*128"},
        {64, "2",
         "0x8000004000010040: start 0x400, LBO 16, SBO 1024, 64-byte swizzle, base offset 0",
         "Swizzle<2,4,3>: address ^= ((address >> 7) & 3) << 4",
         "start + mn/8*SBO + mn%8*64 + k*esz        (LBO is not read)",
         "start + mn*esz/64*LBO + mn*esz%64 + k/8*SBO + k%8*64"},
        {32, "3",
         "0xc000004000010040: start 0x400, LBO 16, SBO 1024, 32-byte swizzle, base offset 0",
         "Swizzle<1,4,3>: address ^= ((address >> 7) & 1) << 4",
         "start + mn/8*SBO + mn%8*32 + k*esz        (LBO is not read)",
         "start + mn*esz/32*LBO + mn*esz%32 + k/8*SBO + k%8*32"},
    };
    for (const Row& row : rows) {
        const Answer a = encode_descriptor({0x400, 16, 1024, 0, row.bytes});
        EXPECT_EQ(a.error, "");
        EXPECT_EQ(a.line, row.line);
        ASSERT_EQ(a.grids.size(), 2u);
        EXPECT_EQ(a.grids[0].header,
                  (std::vector<std::string>{"bits", "field", "value", "meaning"}));
        EXPECT_EQ(a.grids[0].rows,
                  (Rows{{"13:0", "start address >> 4", "0x40", "0x400, modulo 256 KiB"},
                        {"29:16", "leading byte offset >> 4", "1", "LBO 16 bytes"},
                        {"45:32", "stride byte offset >> 4", "64", "SBO 1024 bytes"},
                        {"51:49", "base offset", "0", "the pattern begins on a multiple of 8 rows"},
                        {"63:62", "swizzle", row.code, row.meaning}}));
        EXPECT_EQ(a.grids[1].title,
                  "Byte address of element (mn, k) of an operand of esz bytes, before the "
                  "swizzle:");
        EXPECT_EQ(a.grids[1].rows, (Rows{{"K-major", row.k_major}, {"MN-major", row.mn_major}}));
        EXPECT_TRUE(a.notes.empty());
    }
}

TEST(DescriptorWords, NotesAndWhatIsWrong) {
    const Answer reserved = decode_descriptor(0x4000004000010040 | 1ull << 14 | 1ull << 46);
    EXPECT_EQ(reserved.notes, std::vector<std::string>{
                                  "bits 0x400000004000 are reserved; sm_90 does not read them"});
    const std::string note =
        "the start is not a multiple of 1024 (8 rows of 128): right for a step along k inside the "
        "pattern, else it needs a base offset";
    EXPECT_EQ(encode_descriptor({0x410, 16, 1024, 0, 128}).notes, std::vector{note});
    const Answer based = encode_descriptor({0x410, 16, 1024, 5, 128});
    EXPECT_TRUE(based.notes.empty());
    EXPECT_EQ(based.grids[0].rows[3],
              (std::vector<std::string>{"51:49", "base offset", "5",
                                        "(address >> 7) & 7 of where the pattern begins"}));
    EXPECT_TRUE(encode_descriptor({0x410, 16, 1024, 0, 0}).notes.empty());
    const std::string limit = " has to be a multiple of 16 below 262144; ";
    EXPECT_EQ(encode_descriptor({8, 0, 0, 0, 0}).error, "the start address" + limit + "8 is not");
    EXPECT_EQ(encode_descriptor({0, 24, 0, 0, 0}).error,
              "the leading byte offset" + limit + "24 is not");
    EXPECT_EQ(encode_descriptor({0, 0, 262144, 0, 0}).error,
              "the stride byte offset" + limit + "262144 is not");
    EXPECT_EQ(encode_descriptor({0, 0, 0, 8, 0}).error, "the base offset is 0 to 7");
    EXPECT_EQ(encode_descriptor({0, 0, 0, 0, 16}).error, "the swizzle is 0, 32, 64 or 128 bytes");
    EXPECT_EQ(encode_descriptor({262128, 262128, 262128, 7, 32}).error, "");
}

TEST(BankWords, WithAndWithoutConflicts) {
    const Answer none = banks(access("ld.shared.b32"), {"", 4, {}, 1});
    EXPECT_EQ(none.line, "ld.shared.b32: 1 wavefront, no conflict");
    EXPECT_EQ(none.lines, std::vector<std::string>{"address of a lane: lane*stride with stride 4"});
    EXPECT_EQ(none.grids[0].rows, (Rows{{"0", "0 to 31", "1", "-"}}));
    EXPECT_TRUE(none.notes.empty());

    const Answer two = banks(access("ld.shared.b32"), {"", 8, {}, 1});
    EXPECT_EQ(two.line, "ld.shared.b32: 2 wavefronts instead of 1, up to 2-way conflicts");
    ASSERT_EQ(two.grids[0].rows.size(), 1u);
    std::string all;
    for (int lane = 0; lane < 16; ++lane)
        all += (lane == 0 ? "lanes " : "; lanes ") + std::to_string(lane) + " " +
               std::to_string(lane + 16) + " on bank " + std::to_string(2 * lane);
    EXPECT_EQ(two.grids[0].rows[0], (std::vector<std::string>{"0", "0 to 31", "2", all}));
    ASSERT_FALSE(two.notes.empty());
    EXPECT_EQ(two.notes[0], "without a conflict: stride 12 (4 bytes of padding)");

    const Answer wide = banks(access("ld.shared.v4.b32"), {"", 128, {}, 1});
    EXPECT_EQ(wide.line, "ld.shared.v4.b32: 32 wavefronts instead of 4, up to 8-way conflicts");
    EXPECT_EQ(wide.grids[0].rows[1],
              (std::vector<std::string>{"1", "8 to 15", "8",
                                        "lanes 8 9 10 11 12 13 14 15 on banks 0 to 3"}));
    EXPECT_EQ(wide.notes,
              (std::vector<std::string>{"without a conflict: stride 144 (16 bytes of padding)",
                                        "without a conflict: Swizzle<3,4,3> of the byte address"}));

    const Answer swizzled = banks(access("ldmatrix.x4.trans"), {"", 128, Swizzle{3, 3, 4}, 2});
    EXPECT_EQ(swizzled.lines,
              std::vector<std::string>{"address of a lane: (lane%16)*stride + lane/16*16 with "
                                       "stride 128, Swizzle<3,3,4> of 2-byte elements"});
    EXPECT_EQ(swizzled.notes.back(),
              "without a conflict: Swizzle<3,4,3> of the byte address in place of Swizzle<3,3,4>");
    EXPECT_EQ(banks(access("ld.shared.b32"), {"lane*4", 0, Swizzle{3, 4, 3}, 1}).lines,
              std::vector<std::string>{"address of a lane: lane*4, Swizzle<3,4,3> of bytes"});

    const Answer hopeless = banks(access("ld.shared.b32"), {"lane*128", 0, {}, 1});
    EXPECT_EQ(hopeless.notes, std::vector<std::string>{
                                  "no padding up to 256 bytes and no Swizzle<B,4,S> removes all"});
    EXPECT_EQ(banks(access("ld.shared.b32"), {"lane*2", 0, {}, 1}).error,
              "lane 1: address 2 is not a multiple of 4; ld.shared.b32 traps (misaligned address)");
}

TEST(MatrixRowWords, OfLoadsAndStores) {
    EXPECT_EQ(matrix_rows(access("ld.shared.b32"), {"", 80, {}, 1}).error,
              "ld.shared.b32 moves no matrices");
    const Answer four = matrix_rows(access("ldmatrix.x4"), {"", 80, {}, 1});
    EXPECT_EQ(four.line,
              "ldmatrix.x4: lane 8j+r gives the address of row r of matrix j; 4 wavefronts");
    EXPECT_EQ(four.grids[0].header,
              (std::vector<std::string>{"lane", "address", "row", "goes to"}));
    EXPECT_EQ(four.grids[0].rows[9],
              (std::vector<std::string>{"9", "0x2d0", "row 1 of matrix 1", "r1 of lanes 4 5 6 7"}));
    EXPECT_TRUE(four.notes.empty());
    const Answer one = matrix_rows(access("stmatrix.x1"), {"", 16, {}, 1});
    EXPECT_EQ(one.line,
              "stmatrix.x1: lane 8j+r gives the address of row r of matrix j; 1 wavefront");
    EXPECT_EQ(one.grids[0].header[3], "comes from");
    EXPECT_TRUE(one.notes.empty());
    const Answer turned = matrix_rows(access("ldmatrix.x1.trans"), {"", 16, {}, 1});
    EXPECT_EQ(turned.grids[0].rows[2][3], "r0[15:0] of lanes 1 5 9 13 17 21 25 29");
    EXPECT_EQ(turned.grids[0].rows[3][3], "r0[31:16] of lanes 1 5 9 13 17 21 25 29");
    ASSERT_EQ(turned.notes.size(), 2u);
    EXPECT_EQ(turned.notes[0],
              "Lanes 8 to 31 give no row. On sm_75 their addresses are read all the same and must "
              "be valid, or the kernel traps; later architectures ignore them. Let every lane give "
              "a valid address: (lane%8).");
    EXPECT_TRUE(turned.notes[1].starts_with("Transposed are elements of 16 bits."));
}

// The bits that are read and the bits that change, wherever they are.
TEST(SwizzleWords, OfEachPlaceAndNumberOfBits) {
    const auto bits = [](int low, int count) {
        return count == 1
                   ? "bit " + std::to_string(low)
                   : "bits " + std::to_string(low) + " to " + std::to_string(low + count - 1);
    };
    for (const int count : {1, 2, 3, 4})
        for (const int base : {0, 3, 4})
            for (int shift = -5; shift <= 5; ++shift) {
                if (std::abs(shift) < count) continue;
                const Swizzle s{count, base, shift};
                const int low = base, high = base + std::abs(shift);
                const int from = shift > 0 ? high : low, to = shift > 0 ? low : high;
                const Answer a = explain_swizzle(s, {uint32_t{1} << from});
                EXPECT_EQ(a.line, text_of(s) + ": " + bits(to, count) + " ^= " + bits(from, count));
                EXPECT_EQ(a.data["from_bit"], from) << a.line;
                EXPECT_EQ(a.data["to_bit"], to) << a.line;
                EXPECT_EQ(a.data["swizzle"], (nlohmann::ordered_json{count, base, shift}));
                const uint32_t x = uint32_t{1} << from, y = x | uint32_t{1} << to;
                EXPECT_EQ(a.data["values"].dump(),
                          "[{\"x\":" + std::to_string(x) + ",\"y\":" + std::to_string(y) + "}]");
                const bool is_small = shift > 0 && count <= 3;
                ASSERT_EQ(a.grids.size(), is_small ? 3u : 2u) << a.line;
                // The highest bit that is named comes first, and the last is bit 0.
                const auto& rows = a.grids[0].rows;
                ASSERT_EQ(rows.size(), static_cast<size_t>(high + count)) << a.line;
                for (int bit = 0; bit < high + count; ++bit) {
                    std::string is = "x[" + std::to_string(bit) + "]";
                    if (bit >= to && bit < to + count)
                        is += " ^ x[" + std::to_string(bit - to + from) + "]";
                    EXPECT_EQ(rows[rows.size() - 1 - static_cast<size_t>(bit)],
                              (std::vector<std::string>{std::to_string(bit), is}))
                        << a.line;
                }
                // As many digits as bits are named, and eight at least.
                const auto width = static_cast<size_t>(std::max(high + count, 8));
                for (const size_t column : {2u, 3u}) {
                    const std::string& digits = a.grids.back().rows[0][column];
                    EXPECT_EQ(digits.size(), width) << a.line;
                    EXPECT_EQ(std::stoul(digits, nullptr, 2), column == 2 ? x : y) << a.line;
                }
                if (!is_small) continue;
                const Grid& whole = a.grids[1];
                EXPECT_EQ(whole.title, "Chunks of " + std::to_string(1 << base) + " in rows of " +
                                           std::to_string(1 << (base + shift)) +
                                           ": where chunk c of row r of x goes:");
                const auto columns = size_t{1} << count;
                ASSERT_EQ(whole.header.size(), columns + 1);
                ASSERT_EQ(whole.rows.size(), columns);
                for (size_t r = 0; r < columns; ++r) {
                    EXPECT_EQ(whole.header[r + 1], "c" + std::to_string(r));
                    ASSERT_EQ(whole.rows[r].size(), columns + 1);
                    EXPECT_EQ(whole.rows[r][0], std::to_string(r));
                    for (size_t c = 0; c < columns; ++c)
                        EXPECT_EQ(whole.rows[r][c + 1], std::to_string(r ^ c)) << a.line;
                }
            }
}

TEST(SwizzleWords, BitByBit) {
    const Answer a = explain_swizzle({3, 4, 3}, {0x80, 5});
    EXPECT_EQ(a.line, "Swizzle<3,4,3>: bits 4 to 6 ^= bits 7 to 9");
    EXPECT_EQ(a.lines, std::vector<std::string>{"y = x ^ ((x & 0x380) >> 3)"});
    ASSERT_EQ(a.grids.size(), 3u);
    ASSERT_EQ(a.grids[0].rows.size(), 10u);
    for (int bit = 9; bit >= 0; --bit) {
        const std::string own = "x[" + std::to_string(bit) + "]";
        const std::string is =
            bit >= 4 && bit < 7 ? own + " ^ x[" + std::to_string(bit + 3) + "]" : own;
        EXPECT_EQ(a.grids[0].rows[static_cast<size_t>(9 - bit)],
                  (std::vector<std::string>{std::to_string(bit), is}));
    }
    EXPECT_EQ(a.grids[1].title, "Chunks of 16 in rows of 128: where chunk c of row r of x goes:");
    ASSERT_EQ(a.grids[1].rows.size(), 8u);
    for (unsigned r = 0; r < 8; ++r)
        for (unsigned c = 0; c < 8; ++c)
            EXPECT_EQ(a.grids[1].rows[r][c + 1], std::to_string(r ^ c));
    EXPECT_EQ(a.grids[2].rows, (Rows{{"128 0x80", "144 0x90", "0010000000", "0010010000"},
                                     {"5 0x5", "5 0x5", "0000000101", "0000000101"}}));
    EXPECT_EQ(a.data["values"],
              nlohmann::ordered_json::parse(R"([{"x": 128, "y": 144}, {"x": 5, "y": 5}])"));
    EXPECT_EQ(a.notes, std::vector<std::string>{
                           "The unit is that of the index: Swizzle<3,4,3> of bytes and "
                           "Swizzle<3,3,3> of 16-bit elements are the same, chunks of 16 bytes in "
                           "rows of 128."});
    const Answer back = explain_swizzle({2, 4, -3}, {});
    EXPECT_EQ(back.line, "Swizzle<2,4,-3>: bits 7 to 8 ^= bits 4 to 5");
    EXPECT_EQ(back.lines, std::vector<std::string>{"y = x ^ ((x & 0x30) << 3)"});
    EXPECT_EQ(back.grids.size(), 1u);
    EXPECT_EQ(back.grids[0].rows.size(), 9u);
    EXPECT_EQ(explain_swizzle({1, 0, 5}, {}).line, "Swizzle<1,0,5>: bit 0 ^= bit 5");
    const Answer same = explain_swizzle({0, 4, 3}, {});
    EXPECT_EQ(same.line, "Swizzle<0,4,3>: the identity");
    EXPECT_TRUE(same.lines.empty());
    EXPECT_TRUE(same.grids.empty());
}

}  // namespace
}  // namespace lockwarp::lanes
