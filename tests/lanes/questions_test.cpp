// SPDX-License-Identifier: Apache-2.0
// Answers as data: tables that hold every element, layouts side by side, registers used again.
#include "lanes/questions.hpp"

#include <gtest/gtest.h>

#include <set>

namespace lockwarp::lanes {
namespace {

// Of every mma, wmma and matrix move on every architecture, each table once.
TEST(Table, JsonHasEveryElementOfEveryVariant) {
    std::set<std::string> seen;
    size_t tables = 0;
    for (const std::string& key : all_keys()) {
        if (key.starts_with("wgmma")) continue;
        for (const isa::ArchRow& a : isa::arch_rows) {
            const Found found = make(key, a.arch);
            if (!found.instruction) continue;
            std::string shape;
            for (const Operand& o : found.instruction->operands)
                shape += o.name + text_of(o.elements.layout) + std::to_string(o.rows) + "x" +
                         std::to_string(o.columns) + std::to_string(isa::bits(o.type)) + " ";
            if (!seen.insert(shape).second) continue;
            ++tables;
            const auto data = table(*found.instruction, "", By::element).data;
            ASSERT_EQ(data["operands"].size(), found.instruction->operands.size());
            for (const auto& o : data["operands"]) {
                std::set<std::tuple<int, int, int>> elements;
                int parts = 1;
                for (const auto& e : o["elements"]) {
                    const char* part = e.contains("matrix") ? "matrix" : "quad_pair";
                    elements.insert(
                        {e.value(part, 0), e["row"].get<int>(), e["column"].get<int>()});
                    parts = std::max(parts, e.value(part, 0) + 1);
                }
                EXPECT_EQ(elements.size(),
                          parts * o["rows"].get<size_t>() * o["columns"].get<size_t>())
                    << key << o["name"];
            }
        }
    }
    EXPECT_GT(tables, 60u);
}

TEST(Compatible, AccumulatorsAsOperands) {
    const auto verdict = [](std::string_view x, std::string_view from, std::string_view y,
                            std::string_view to) -> std::string {
        const Answer a = compatible(*find(x, std::nullopt).instruction, from,
                                    *find(y, std::nullopt).instruction, to);
        return a.error.empty() ? a.data["verdict"].get<std::string>() : "error";
    };
    const char* f16 = "m16n8k16.f32.f16";
    EXPECT_EQ(verdict(f16, "C", f16, "A"), "identity");
    EXPECT_EQ(verdict(f16, "D", f16, "C"), "identity");
    EXPECT_EQ(verdict("m16n8k8.f32.f16", "C", "m16n8k8.f32.f16", "A"), "identity");
    EXPECT_EQ(verdict("m16n8k8.f32.tf32", "C", "m16n8k8.f32.tf32", "A"), "shuffle");
    EXPECT_EQ(verdict("m16n8k32.s32.s8.s8.s32", "C", "m16n8k32.s32.s8.s8.s32", "A"), "shuffle");
    EXPECT_EQ(verdict("SM90_64x64x16_F32F16F16_SS", "C", "SM90_64x64x16_F32F16F16_SS", "A"),
              "identity");
    EXPECT_EQ(verdict(f16, "C", "m8n8k4.f32.f16.f16.f32", "A"), "error");
    // f32 C of m8n8k4 has two columns of four rows in a lane, its A four of one row.
    EXPECT_EQ(verdict("m8n8k4.f32.f16.f16.f32", "C", "m8n8k4.f32.f16.f16.f32", "A"), "shuffle");
    EXPECT_EQ(verdict("m8n8k4.row.col.f16.f16.f16.f16", "C", "m8n8k4.row.col.f16.f16.f16.f16", "A"),
              "identity");
}

// What was asked about stands out, and nothing else.
TEST(Pictures, ShowWhatWasAskedAbout) {
    std::set<std::string> all;
    const auto shows = [&](const Answer& a, const Instruction& i, const std::string& operand,
                           const std::function<bool(const Held&)>& chosen) {
        const std::string svg = a.svg();
        EXPECT_EQ(svg, picture(i, operand, chosen)) << a.line;
        all.insert(svg);
    };
    for (const char* name : {"m16n8k16.f32.f16", "m8n8k4.f64", "m16n8k32.s32.u8.s8.s32"}) {
        const Instruction i = *find(name, std::nullopt).instruction;
        for (const Operand& o : i.operands) {
            for (const unsigned lane : {0u, 6u, 31u}) {
                shows(what(i, o.name, lane, std::nullopt), i, o.name,
                      [&](const Held& h) { return h.lane == lane; });
                for (unsigned reg = 0; reg < o.registers; ++reg)
                    shows(what(i, o.name, lane, reg), i, o.name,
                          [&](const Held& h) { return h.lane == lane && h.reg == reg; });
            }
            shows(where(i, o.name, 1, 2), i, o.name,
                  [&](const Held& h) { return h.row == 1 && h.column == 2; });
        }
    }
    EXPECT_GT(all.size(), 100u) << "they differ";
}

TEST(Formats, OfOneAnswer) {
    const Answer a = where(*find("m16n8k16.f32.f16", std::nullopt).instruction, "A", 3, 7);
    EXPECT_EQ(a.line, "A[3][7] = a1 = A.r0[31:16] @ lane 15");
    EXPECT_EQ(*render(a, Format::csv), "element,lane,value,register,bits\nA[3][7],15,1,0,31:16\n");
    EXPECT_NE(render(a, Format::markdown)->find("| A[3][7] | 15 | 1 | 0 | 31:16 |"),
              std::string::npos);
    const auto json = nlohmann::json::parse(*render(a, Format::json));
    EXPECT_EQ(json["owners"][0]["lane"], 15);
    EXPECT_EQ(json["owners"][0]["bits"], (nlohmann::json{31, 16}));
    EXPECT_TRUE(render(a, Format::svg)->starts_with("<svg "));
    for (const Format format : {Format::text, Format::csv, Format::json, Format::svg})
        EXPECT_FALSE(render(wrong("no"), format));
    Answer sentence;
    sentence.line = "no, \"they\" are not";
    EXPECT_EQ(*render(sentence, Format::csv), "answer\n\"no, \"\"they\"\" are not\"\n");
    EXPECT_TRUE(render(sentence, Format::svg)->starts_with("<svg "));
    EXPECT_EQ(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
}

}  // namespace
}  // namespace lockwarp::lanes
