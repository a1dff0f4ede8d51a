// SPDX-License-Identifier: Apache-2.0
// What vprintf makes of each conversion, and how long the text of one call may be. More of it:
// call_test.cpp, bounds_test.cpp.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// What one thread prints of a format, with these numbers as its arguments, and then zeros.
std::string printed(std::string_view format, const std::string& arguments = "7",
                    uint32_t* counted = nullptr) {
    std::string bytes;
    for (const char c : format) bytes += std::to_string(int{c}) + ", ";
    const std::string outside =
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); "
        ".const .align 1 .b8 word[4] = {119, 111, 0, 119}; "
        ".const .align 8 .b64 pack[16] = {" +
        arguments + "}; .global .b8 text[" + std::to_string(format.size() + 1) + "] = {" + bytes +
        "0};";
    const std::string body =
        "mov.u64 %rd7, text; cvta.global.u64 %rd7, %rd7;\n"
        "mov.u64 %rd6, pack; cvta.const.u64 %rd6, %rd6;\n"
        "{ .param .b64 f; .param .b64 a; .param .b32 b;\n"
        "st.param.b64 [f], %rd7; st.param.b64 [a], %rd6;\n"
        "call.uni (b), vprintf, (f, a); ld.param.b32 %r3, [b]; }\n"
        "st.global.u32 [%rd2], %r3;\n";
    Given given;
    given.block.x = 1;
    given.buffers = {Bytes(4), Bytes(4)};
    const Outcome got = run_well(program_of(kernel(body, outside), given.arch), given);
    EXPECT_EQ(got.result.printed.size(), 1u);
    if (counted != nullptr) *counted = words_of(got.buffers[1])[0];
    return got.result.printed.empty() ? "" : got.result.printed[0].text;
}

TEST(Printf, ItMayBeDeclaredWithoutItsResult) {
    Given given;
    given.block.x = 1;
    given.buffers = {Bytes(4), Bytes(4)};
    const std::string body =
        "mov.u64 %rd7, text; cvta.global.u64 %rd7, %rd7;\n"
        "{ .param .b64 f; .param .b64 a;\n"
        "st.param.b64 [f], %rd7; st.param.b64 [a], 0;\n call.uni vprintf, (f, a); }\n";
    const std::string outside =
        ".extern .func vprintf(.param .b64 f, .param .b64 a); "
        ".global .b8 text[3] = {104, 105, 0};";
    const Outcome got = run_well(program_of(kernel(body, outside), given.arch), given);
    ASSERT_EQ(got.result.printed.size(), 1u);
    EXPECT_EQ(got.result.printed[0].text, "hi");
}

TEST(Printf, TextOfOneCallIsBounded) {
    std::string format;
    for (int i = 0; i < 30; ++i) format += "%4096d";
    const std::string text = printed(format);
    EXPECT_EQ(text.size(), 16 * 4096u);
    EXPECT_EQ(text.substr(4090, 7), "     7 ");
}

// A number of 32 bits is followed by the next one at a multiple of its size.
TEST(Printf, EachConversion) {
    constexpr const char* all_bits = "0xfedcba98fffefdfc";  // -66052, -1, -516, -4
    constexpr const char* quarter = "0x3fd0000000000000, 0x4024000000000000";
    struct Row {
        const char* format;
        const char* arguments;
        const char* text;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"%d|%i", all_bits, "-66052|-19088744"},
             {"%hd|%hhd", all_bits, "-516|-104"},
             {"%hd|%hhi", "0x0000007f00007fff", "32767|127"},
             {"%ld", all_bits, "-81985526906814980"},
             {"%lld", all_bits, "-81985526906814980"},
             {"%jd", all_bits, "-81985526906814980"},
             {"%u|%o", all_bits, "4294901244|37667135230"},
             {"%hu|%hhu", all_bits, "65020|152"},
             {"%hx|%hhX", all_bits, "fdfc|98"},
             {"%lu", all_bits, "18364758546802736636"},
             {"%llx|%d", "0xfedcba98fffefdfc, 5", "fedcba98fffefdfc|5"},
             {"%zX", all_bits, "FEDCBA98FFFEFDFC"},
             {"%#x|%#o", "0x000000080000000a", "0xa|010"},
             {"%d|%ld|%d", "1, 2, 3", "1|2|3"},
             {"%c%c|", "0x0000006200000141", "Ab|"},
             {"%3c|%-3c|", "0x0000006200000041", "  A|b  |"},
             {"%p", "0x1234", "0x1234"},
             {"%s|%4s|%-4s|%.1s|", "generic(word), generic(word), generic(word), generic(word)",
              "wo|  wo|wo  |w|"},
             {"%f|%F", quarter, "0.250000|10.000000"},
             {"%e|%E", quarter, "2.500000e-01|1.000000E+01"},
             {"%g|%G", quarter, "0.25|10"},
             {"%a|%A", quarter, "0x1p-2|0X1.4P+3"},
             {"%.1f|%8.2f|", quarter, "0.2|   10.00|"},
             {"%Lf", quarter, "0.250000"},
             {"%+d|% d|%05d", "0x0000000500000007, 9", "+7| 5|00009"},
             {"%5d|%-5d|%.3d", "0x0000000500000007, 9", "    7|5    |009"},
             // The digits of a width, and of a precision, are numbers of their own.
             {"%40.96d", "7",
              "00000000000000000000000000000000000000000000000000000000000000000000000000000000000"
              "0000000000007"},
             {"%9.9d|%9.9d", "0x0000000600000007", "000000007|000000006"},
             {"100%% %d", "7", "100% 7"},
             {"%%d", "7", "%d"},
             // No conversions: they stand as they are, and take no argument.
             {"%y %d", "7", "%y 7"},
             {"%5k|%n|%d", "7", "%5k|%n|7"},
             {"%*d %d", "7", "%*d 7"},
             {"end %", "7", "end %"},
             {"end %5", "7", "end %5"},
             {"end %ll", "7", "end %ll"},
             {"", "7", ""},
         })
        EXPECT_EQ(printed(row.format, row.arguments), row.text) << row.format;
}

// What vprintf returns.
TEST(Printf, ConversionsAreCounted) {
    EXPECT_EQ(printed("%d%%%y%s|%c", "7, generic(word), 66"), "7%%ywo|B");
    for (const auto& [format, count] :
         std::initializer_list<std::pair<const char*, uint32_t>>{{"", 0},
                                                                 {"no", 0},
                                                                 {"%d", 1},
                                                                 {"%d%%", 1},
                                                                 {"%d%u%x%o%X%i", 6},
                                                                 {"%y%d", 1},
                                                                 {"%c%p%f", 3}}) {
        uint32_t counted = 99;
        printed(format, "7", &counted);
        EXPECT_EQ(counted, count) << format;
    }
}

// Of a width that is too large the digits that make it so are left out.
TEST(Printf, WidthsAreBounded) {
    EXPECT_EQ(printed("%-5000d|"), "7" + std::string(499, ' ') + "|");
    EXPECT_EQ(printed("%4096d"), std::string(4095, ' ') + "7");
    EXPECT_EQ(printed("%4097d"), std::string(408, ' ') + "7");
    EXPECT_EQ(printed("%12.345d"), std::string(344, '0') + "7");
}

}  // namespace

}  // namespace lockwarp::exec
