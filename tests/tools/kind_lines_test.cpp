// SPDX-License-Identifier: Apache-2.0
// What a table says of many variants with a .kind, in few lines.
#include "tools/report/kind_lines.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "emu/isa/matrix.hpp"
#include "tools/commands/list_command.hpp"

namespace {

using namespace lockwarp::tools;

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines lines_of(const Lines& given) {
    std::vector<VariantLine> lines;
    for (const auto& [name, words] : given) lines.push_back({name, words});
    Lines out;
    for (const VariantLine& l : joined(lines)) out.emplace_back(l.name, l.words);
    return out;
}

TEST(KindLines, JoinWhatSaysTheSame) {
    const std::string k = "mma.m16n8k32.kind::f8f6f4.f32.";
    EXPECT_EQ(lines_of({{"mma.m8n8k4.f64.f64.f64.f64", "x"}, {"mma.m16n8k4.f64.f64.f64.f64", "x"}}),
              (Lines{{"mma.m8n8k4.f64.f64.f64.f64", "x"}, {"mma.m16n8k4.f64.f64.f64.f64", "x"}}));
    EXPECT_EQ(lines_of({{k + "e4m3.e5m2.f32", "x"}}), (Lines{{k + "e4m3.e5m2.f32", "x"}}));
    EXPECT_EQ(lines_of({{k + "e4m3.e5m2.f32", "x"}, {k + "e5m2.e5m2.f32", "x"}}),
              (Lines{{k + "e4m3/e5m2.e5m2.f32", "x"}}));
    EXPECT_EQ(lines_of({{k + "e4m3.e4m3.f32", "x"},
                        {k + "e4m3.e5m2.f32", "x"},
                        {k + "e4m3.e2m1.f32", "y"},
                        {k + "e5m2.e4m3.f32", "x"},
                        {k + "e5m2.e5m2.f32", "x"},
                        {k + "e5m2.e2m1.f32", "y"},
                        {k + "e2m1.e4m3.f32", "y"},
                        {"mma.sp.m16n8k64.kind::f8f6f4.f16.e4m3.e4m3.f16", "x"}}),
              (Lines{{k + "e4m3/e5m2.e4m3/e5m2.f32", "x"},
                     {k + "A.B.f32", "y"},
                     {"mma.sp.m16n8k64.kind::f8f6f4.f16.e4m3.e4m3.f16", "x"}}));
    const std::string scaled =
        "mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
    EXPECT_EQ(lines_of({{scaled, "x"}}), (Lines{{scaled, "x"}}));
}

// Each variant of the tables has a line, and no line is long.
TEST(KindLines, OfTheWholeList) {
    std::istringstream text(instruction_list(false));
    std::set<std::string> names;
    for (std::string line; std::getline(text, line);) {
        EXPECT_LE(line.size(), 100u) << line;
        if (line.starts_with("mma.")) names.insert(line.substr(0, line.find(' ')));
    }
    size_t of_kinds = 0;
    for (const lockwarp::isa::MmaVariant& v : lockwarp::isa::mma_variants()) {
        if (v.kind == lockwarp::isa::MmaKind::none)
            EXPECT_TRUE(names.contains(std::string(v.key))) << v.key;
        else
            ++of_kinds;
    }
    size_t lines = 0;
    for (const std::string& n : names) lines += n.find(".kind::") != std::string::npos;
    EXPECT_GT(lines, 10u);
    EXPECT_LT(lines, of_kinds / 5);
}

}  // namespace
