// SPDX-License-Identifier: Apache-2.0
// What DWARF in .section says of types, and that no input of it does harm.
#include "emu/ptx/debug_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "emu/ptx/parser.hpp"

namespace lockwarp::ptx {
namespace {

std::string text_of(const std::string& path) {
    std::ifstream in(std::string(LOCKWARP_SOURCE_DIR "/") + path);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
}

DebugInfo info_of(const std::string& text) { return debug_info(parse(text).module); }

constexpr const char* header = ".version 7.0\n.target sm_80\n.address_size 64\n";

TEST(DebugInfo, WhatNvccWrites) {
    const DebugInfo info = info_of(text_of("gpu/kernels/launches_G.sm_80.ptx"));
    const DebugFunction* const scaled = info.find_function("scaled");
    ASSERT_NE(scaled, nullptr);
    ASSERT_EQ(scaled->parameters.size(), 1u);
    EXPECT_EQ(scaled->parameters[0].name, "p");
    const uint32_t type = info.plain(scaled->parameters[0].type);
    EXPECT_TRUE(info.is_constant(scaled->parameters[0].type));
    EXPECT_EQ(info.size_of(type), 472u);
    const DebugType& t = info.types.at(type);
    EXPECT_EQ(t.name, "Scaled");
    std::string all;
    for (const DebugMember& m : t.members)
        all += std::to_string(m.at) + " " + info.spelled(m.type) + " " + m.name + "\n";
    EXPECT_EQ(all,
              "0 Shape shape\n8 const float* in\n16 float* out\n24 float scale\n"
              "28 unsigned char[4] flags\n32 long long[55] strides\n");
    const DebugFunction* const eighteen = info.find_function("eighteen");
    ASSERT_NE(eighteen, nullptr);
    ASSERT_EQ(eighteen->parameters.size(), 18u);
    EXPECT_EQ(info.spelled(eighteen->parameters[0].type), "Empty");
    EXPECT_EQ(info.size_of(eighteen->parameters[0].type), 1u);
    EXPECT_EQ(eighteen->parameters[17].name, "out");
    EXPECT_EQ(info.spelled(eighteen->parameters[17].type), "long long*");
    EXPECT_EQ(info.spelled(info.find_function("grouped")->parameters[0].type),
              "const __half* const*");
    EXPECT_EQ(info.find_function("none"), nullptr);
}

TEST(DebugInfo, NothingWithoutIt) {
    const DebugInfo info = info_of(text_of("gpu/kernels/launches.sm_80.ptx"));
    EXPECT_TRUE(info.types.empty());
    EXPECT_TRUE(info.functions.empty());
}

// Version 5: forms in the abbreviations, names in .debug_str by label, a symbol's address,
// comments, a difference of labels, a member that says its size, and a function without a name.
constexpr const char* version_5 = R"(
.section .debug_abbrev {
.b8 1, 0x11, 1, 0, 0 // Abbreviation [1] compile unit { not a brace
.b8 2, 0x24, 0, 3, 0xe, 0x3e, 0xb, 0xb, 0xb, 0, 0
.b8 3, 1, 1, 0x49, 0x13, 0, 0
.b8 4, 0x21, 0, 0x37, 0x21, 6, 0, 0
.b8 5, 0x34, 0, 3, 8, 0x49, 0x13, 2, 0x18, 0, 0
.b8 6, 0x17, 1, 3, 8, 0xb, 0xb, 0, 0
.b8 7, 0xd, 0, 3, 8, 0x49, 0x13, 0xb, 0xb, 0, 0
.b8 8, 0xd, 0, 3, 8, 0x49, 0x13, 0x3c, 0xc, 0, 0
.b8 9, 0x2e, 0, 0, 0
.b8 0 }
.section .debug_info {
$L__begin:
.b32 $L__end-$L__after
$L__after:
.b8 5, 0, 1, 8
.b32 .debug_abbrev
.b8 1
$L__type:
.b8 2
.b32 $L__name+2
.b8 4, 4
.b8 3
.b32 $L__type-$L__begin /* within the unit */
.b8 4, 4, 0
.b8 5, 116, 0
.b32 $L__type+7
.b8 9, 3
.b64 tile
.b8 6, 85, 0, 4, 7, 102, 0
.b32 13
.b8 4, 8, 103, 0
.b32 13
.b8 1, 8, 104, 0
.b32 13
.b8 0, 9, 0, 0
$L__end:
}
.section .debug_str { $L__name: .b8 1,2,102,108,111,97,116,0 }
)";

TEST(DebugInfo, Version5) {
    const DebugInfo info = info_of(std::string(header) + version_5);
    ASSERT_EQ(info.variables.size(), 1u);
    EXPECT_EQ(info.variables[0].symbol, "tile");
    EXPECT_EQ(info.variables[0].name, "t");
    EXPECT_EQ(info.spelled(info.variables[0].type), "float[6][6]");
    EXPECT_EQ(info.size_of(info.variables[0].type), 144u);
    const auto u = std::ranges::find(info.types, "U", &DebugType::name);
    ASSERT_NE(u, info.types.end());
    EXPECT_EQ(u->kind, DebugKind::union_);
    // Of its members g is static.
    ASSERT_EQ(u->members.size(), 2u);
    EXPECT_EQ(u->members[0].name, "f");
    EXPECT_EQ(u->members[1].name, "h");
    EXPECT_EQ(info.spelled(u->members[1].type), "float");
    EXPECT_FALSE(u->members[0].is_bit_field);
    EXPECT_TRUE(info.functions.empty());
}

// Units of other kinds have a number more, and those of types an offset too.
TEST(DebugInfo, KindsOfUnits) {
    const DebugInfo compiled = info_of(std::string(header) + version_5);
    const std::pair<int, std::string> kinds[] = {{4, ".b64 77\n"},
                                                 {5, ".b64 77\n"},
                                                 {2, ".b64 77\n.b32 13\n"},
                                                 {6, ".b64 77\n.b32 13\n"},
                                                 {3, ""}};
    for (const auto& [kind, more] : kinds) {
        std::string text = version_5;
        const std::string begin = ".b8 5, 0, 1, 8\n.b32 .debug_abbrev\n";
        // References within the unit count from its begin.
        for (size_t at = text.find(".b32 13\n"); at != std::string::npos;
             at = text.find(".b32 13\n"))
            text.replace(at, 8,
                         ".b32 " +
                             std::to_string(13 + (more.empty()       ? 0
                                                  : more.size() > 10 ? 12
                                                                     : 8)) +
                             " \n");
        text.replace(text.find(begin), begin.size(),
                     ".b8 5, 0, " + std::to_string(kind) + ", 8\n.b32 .debug_abbrev\n" + more);
        const DebugInfo info = info_of(std::string(header) + text);
        ASSERT_EQ(info.variables.size(), 1u) << kind;
        EXPECT_EQ(info.spelled(info.variables[0].type), "float[6][6]") << kind;
        EXPECT_EQ(info.types.size(), compiled.types.size()) << kind;
        const auto u = std::ranges::find(info.types, "U", &DebugType::name);
        ASSERT_NE(u, info.types.end()) << kind;
        ASSERT_EQ(u->members.size(), 2u) << kind;
        EXPECT_EQ(info.spelled(u->members[1].type), "float") << kind;
    }
}

// Of an array's last dimension nothing is known.
TEST(DebugInfo, ADimensionWithoutABound) {
    // The second dimension, and the first.
    for (const bool second : {true, false}) {
        std::string text = version_5;
        const auto replace = [&](const std::string& what, const std::string& by) {
            const size_t at = text.find(what);
            ASSERT_NE(at, std::string::npos) << what;
            text.replace(at, what.size(), by);
        };
        replace(".b8 9, 0x2e, 0, 0, 0\n", ".b8 9, 0x2e, 0, 0, 0\n.b8 10, 0x21, 0, 0, 0\n");
        replace(".b8 4, 4, 0\n", second ? ".b8 4, 10, 0\n" : ".b8 10, 4, 0\n");
        const DebugInfo info = info_of(std::string(header) + text);
        ASSERT_EQ(info.variables.size(), 1u);
        EXPECT_EQ(info.size_of(info.variables[0].type), 0u);
        const DebugType& array = info.types.at(info.variables[0].type);
        EXPECT_EQ(array.count, second ? 6u : 0u);
        ASSERT_LT(array.target, info.types.size());
        EXPECT_EQ(info.types[array.target].kind, DebugKind::array);
        EXPECT_EQ(info.types[array.target].count, second ? 0u : 6u);
    }
}

// Of a pointer a dimension says nothing.
TEST(DebugInfo, DimensionsOfWhatIsNoArray) {
    const DebugInfo info = info_of(std::string(header) + R"(
.section .debug_abbrev { .b8 1,0x11,1,0,0, 2,0x24,0,3,8,0xb,0xb,0,0, 3,0xf,1,0x49,0x13,0,0,
  4,0x21,0,0x37,0xb,0,0, 0 }
.section .debug_info { .b32 40 .b8 2,0 .b32 0 .b8 8, 1,
  2,105,0,4, 3 .b32 12 .b8 4,7, 4,7, 0, 0 })");
    ASSERT_EQ(info.types.size(), 2u);
    EXPECT_EQ(info.spelled(1), "i*");
    EXPECT_EQ(info.types[1].count, 0u);
}

TEST(DebugInfo, TypesThatAreNotThere) {
    DebugInfo info;
    info.types.resize(2);
    info.types[1] = {
        .kind = DebugKind::constant, .name = "x", .bytes = 4, .target = 0, .members = {}};
    info.types.pop_back();
    for (const uint32_t type : {1u, 2u}) {
        EXPECT_EQ(info.size_of(type), 0u);
        EXPECT_EQ(info.plain(type), no_type);
        EXPECT_FALSE(info.is_constant(type));
        EXPECT_EQ(info.spelled(type), "?");
    }
    EXPECT_EQ(info.spelled(no_type), "void");
}

// What is larger than any memory has no size that is said.
TEST(DebugInfo, SizesBeyondAnyMemory) {
    constexpr uint64_t most = uint64_t{1} << 48;
    DebugInfo info;
    info.types.resize(2);
    info.types[1].kind = DebugKind::array;
    info.types[1].target = 0;
    const struct {
        uint64_t bytes, count, size;  // of the element and the array; what is said of the array
    } rows[] = {
        {4, 6, 24},       {most, 1, most},  {1, most, most},
        {most + 1, 1, 0}, {1, most + 1, 0}, {uint64_t{1} << 63, 2, 0},
    };
    for (const auto& r : rows) {
        info.types[0].bytes = r.bytes;
        info.types[1].count = r.count;
        EXPECT_EQ(info.size_of(1), r.size) << r.bytes << " " << r.count;
    }
}

// Types that are of themselves.
TEST(DebugInfo, Cycles) {
    const DebugInfo info = info_of(std::string(header) + R"(
.section .debug_abbrev { .b8 1,0x11,1,0,0, 2,0x16,0,0x49,0x13,0,0, 3,1,0,0x49,0x13,0,0,
  4,0xf,0,0x49,0x13,0,0, 5,0x2e,0,3,8,0x31,0x13,0,0, 0 }
.section .debug_info { .b32 40 .b8 2,0 .b32 0 .b8 8, 1,
  2 .b32 12 .b8 3 .b32 17 .b8 4 .b32 22 .b8 5,102,0 .b32 27 .b8 0 })");
    ASSERT_EQ(info.types.size(), 3u);
    for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_LE(info.spelled(i).size(), 200u);
        EXPECT_EQ(info.size_of(i), info.types[i].kind == DebugKind::pointer ? 8u : 0u);
        (void)info.plain(i);
    }
    EXPECT_EQ(info.functions.size(), 1u);
}

// A type whose last attribute is cut off is none.
TEST(DebugInfo, AnEntryThatIsNotWhole) {
    for (const bool whole : {true, false}) {
        const DebugInfo info = info_of(std::string(header) + R"(
.section .debug_abbrev { .b8 1,0x11,1,0,0, 2,0x24,0,3,8,0xb,0xb,0,0, 0 }
.section .debug_info { .b32 40 .b8 2,0 .b32 0 .b8 8, 1, 2,105,0)" +
                                       (whole ? ",4 }" : " }"));
        EXPECT_EQ(info.types.size(), whole ? 1u : 0u);
    }
}

TEST(DebugInfo, DamagedData) {
    const Module good = parse(text_of("gpu/kernels/launches_G.sm_80.ptx")).module;
    std::mt19937 random(1);
    size_t functions = 0;
    for (int round = 0; round < 300; ++round) {
        Module damaged;
        for (const auto& item : good.items) {
            const auto* d = std::get_if<Directive>(&item);
            if (d == nullptr || d->name != ".section") continue;
            Directive copy = *d;
            std::string& text = copy.operands[1].text;
            for (int i = 0; i < 1 + round % 8; ++i)
                text[random() % text.size()] = "0123456789,.b\n"[random() % 14];
            if (round % 5 == 0) text.resize(random() % text.size());
            damaged.items.emplace_back(std::move(copy));
        }
        const DebugInfo info = debug_info(damaged);
        functions += info.functions.size();
        for (uint32_t i = 0; i < info.types.size(); ++i) {
            (void)info.spelled(i);
            (void)info.size_of(i);
        }
    }
    EXPECT_GT(functions, 0u);  // some damage leaves what stands before it
}

// Time is in proportion to the text: many units that have all abbreviations, and entries with
// attributes of no bytes.
TEST(DebugInfo, HostileTables) {
    std::string text = std::string(header) + ".section .debug_abbrev { .b8 1,0x24,0";
    for (int i = 0; i < 20'000; ++i) text += ",3,0x19";
    text += ",0,0,0 }\n.section .debug_info { ";
    for (int i = 0; i < 2'000; ++i)
        text += ".b32 17 .b8 2,0 .b32 " + std::to_string(i) + " .b8 8,1,1,1,1,1,1,1,1,1,1\n";
    const DebugInfo info = info_of(text + "}");
    EXPECT_GT(info.types.size(), 0u);
    EXPECT_LE(info.types.size(), 20'000u);
}

// 16 million of them, the table's too.
TEST(DebugInfo, HowManyAttributesAreRead) {
    std::string text = std::string(header) + ".section .debug_abbrev { .b8 1,0x24,0";
    for (int i = 0; i < 20'000; ++i) text += ",3,0x19";
    text += ",0,0,2,0x24,0,0,0,0 }\n.section .debug_info { .b32 2007 .b8 2,0 .b32 0 .b8 8";
    for (int i = 0; i < 2'000; ++i) text += ",1";
    EXPECT_EQ(info_of(text + " }").types.size(), 798u);
    // Then not one more, though it has none.
    EXPECT_EQ(info_of(text + "\n.b32 9 .b8 2,0 .b32 0 .b8 8,2,2 }").types.size(), 798u);
}

}  // namespace
}  // namespace lockwarp::ptx
