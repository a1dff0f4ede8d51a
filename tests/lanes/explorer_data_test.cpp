// SPDX-License-Identifier: Apache-2.0
// What the explorer's page is made from, beside the answers that the commands give.
#include <gtest/gtest.h>

#include <set>

#include "lanes/banks.hpp"
#include "lanes/explorer.hpp"
#include "lanes/formula.hpp"
#include "lanes/questions.hpp"

namespace lockwarp::lanes::explorer_data_test {
namespace {

using json = nlohmann::ordered_json;

const json& data() {
    static const json all = explorer_data("4.5.6");
    return all;
}

const json& item(const char* list, const json& at) { return data()[list][at.get<size_t>()]; }

const json& instruction(const std::string& key) {
    for (const json& i : data()["instructions"])
        if (i["key"] == key) return i;
    throw std::out_of_range(key);
}

TEST(ExplorerData, HasItsParts) {
    std::vector<std::string> names;
    for (const auto& [name, value] : data().items()) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"version", "archs", "quad_pairs", "tables",
                                               "operands", "places", "formulas", "sets", "products",
                                               "instructions", "memory"}));
    EXPECT_EQ(data()["version"], "4.5.6");
    ASSERT_EQ(data()["archs"].size(), isa::arch_rows.size());
    for (size_t n = 0; n < isa::arch_rows.size(); ++n)
        EXPECT_EQ(data()["archs"][n], (json{isa::arch_rows[n].name, isa::arch_rows[n].product}));
    // PTX manual, m8n8k4: quad-pair q is lanes 4q to 4q+3 and 16+4q to 19+4q.
    ASSERT_EQ(data()["quad_pairs"].size(), 32u);
    for (unsigned lane = 0; lane < 32; ++lane)
        EXPECT_EQ(data()["quad_pairs"][lane], lane % 16 / 4) << lane;
    // Nothing is there twice.
    for (const char* list : {"operands", "places", "formulas", "sets", "products"}) {
        std::set<std::string> seen;
        for (const json& one : data()[list]) EXPECT_TRUE(seen.insert(one.dump()).second) << list;
        EXPECT_GT(seen.size(), 5u);
    }
}

TEST(ExplorerData, SaysWhatInfoSays) {
    const std::vector<std::pair<std::string, std::string>> families{
        {"mma.", "mma"},           {"wmma.", "wmma"},         {"wgmma.", "wgmma"},
        {"ldmatrix.", "ldmatrix"}, {"stmatrix.", "stmatrix"}, {"movmatrix.", "movmatrix"}};
    size_t products = 0;
    for (const json& i : data()["instructions"]) {
        const std::string key = i["key"];
        if (i["family"] == "wgmma" && i["shape"][1].get<unsigned>() % 64 != 0) continue;
        for (const auto& [begin, family] : families)
            if (key.starts_with(begin)) {
                EXPECT_EQ(i["family"], family);
            }
        const json& first = i["archs"][0];
        const Instruction real =
            *make(key, static_cast<isa::Arch>(first[0].get<int>())).instruction;
        const Answer about = info(real);
        EXPECT_EQ(i["ptx"], real.ptx);
        EXPECT_EQ(i["cute"], real.cute);
        EXPECT_EQ(key + ": " + i["about"].get<std::string>(), about.line);
        EXPECT_EQ(i["shape"], (json{real.m, real.n, real.k}));
        EXPECT_EQ(i["target"], real.target);
        json notes = json::array();
        for (const std::string& line : about.lines)
            if (line != "PTX:  " + real.ptx && line != "CuTe: " + real.cute) notes.push_back(line);
        EXPECT_EQ(i["notes"], notes);
        for (const json& a : i["archs"]) {
            const std::string name = data()["archs"][a[0].get<size_t>()][0];
            const bool listed =
                about.data.contains("architectures") && about.data["architectures"].contains(name);
            ASSERT_EQ(a[2].get<int>() >= 0, listed) << key << name;
            if (!listed) continue;
            EXPECT_EQ(item("products", a[2]), about.data["architectures"][name]) << key << name;
            ++products;
        }
        for (size_t o = 0; o < real.operands.size(); ++o) {
            const json& mine = item("operands", item("sets", first[1])[o]);
            const Operand& is = real.operands[o];
            EXPECT_EQ(mine["coordinates"], about.grids[0].rows[o][2]);
            EXPECT_EQ(mine["part_word"], is.part_word);
            const bool is_volta =
                key.starts_with("wmma")
                    ? real.arch == isa::Arch::sm_70
                    : key.starts_with("mma.m8n8k4") && real.operands[0].type == isa::Type::f16;
            EXPECT_EQ(mine["quad_pairs"], is_volta) << key;
            EXPECT_EQ(mine["layout"],
                      is.elements.layout.threads() > 1 ? text_of(is.elements.layout) : "");
        }
    }
    EXPECT_GT(products, 300u);
}

// The page evaluates the terms of formulas itself.
TEST(ExplorerData, TermsGiveEveryElement) {
    size_t compared = 0;
    for (const char* key :
         {"mma.m16n8k16.f32.f16.f16.f32", "mma.m8n8k4.row.col.f32.f16.f16.f32", "ldmatrix.x4.trans",
          "wgmma.m64n24k16.f32.f16.f16", "mma.sp.m16n8k32.f32.f16.f16.f32"}) {
        const json& i = instruction(key);
        const Instruction real =
            *make(key, static_cast<isa::Arch>(i["archs"][0][0].get<int>())).instruction;
        for (size_t o = 0; o < real.operands.size(); ++o) {
            const json& f =
                item("formulas", item("operands", item("sets", i["archs"][0][1])[o])["formulas"]);
            for (const Held& h : real.operands[o].held)
                for (const json& one : f["forward"]) {
                    uint32_t sum = 0;
                    for (const json& t : one["terms"]) {
                        ASSERT_EQ(t.size(), 4u);
                        uint32_t v = t[0] == "l" ? h.lane : h.value;
                        v /= t[1].get<uint32_t>();
                        if (t[2] != 0) v %= t[2].get<uint32_t>();
                        sum += v * t[3].get<uint32_t>();
                    }
                    const std::string result = one["result"];
                    EXPECT_EQ(sum, result == "r" ? h.row : result == "c" ? h.column : h.part);
                    ++compared;
                }
        }
    }
    EXPECT_GT(compared, 10000u);
}

TEST(ExplorerData, SharedMemoryAsBanksSaysIt) {
    const json& memory = data()["memory"];
    const std::vector<std::pair<std::string, std::optional<Swizzle>>> swizzles{
        {"none", std::nullopt},
        {"32B", Swizzle{1, 4, 3}},
        {"64B", Swizzle{2, 4, 3}},
        {"128B", Swizzle{3, 4, 3}}};
    ASSERT_EQ(memory["swizzles"].size(), swizzles.size());
    for (size_t n = 0; n < swizzles.size(); ++n)
        EXPECT_EQ(memory["swizzles"][n],
                  (json{swizzles[n].first, n == 0 ? "" : text_of(*swizzles[n].second)}));
    ASSERT_EQ(memory["strides"].size(), 32u);
    for (unsigned n = 0; n < 32; ++n) EXPECT_EQ(memory["strides"][n], 16 * (n + 1));
    size_t accesses = 0;
    for (const std::string& key : all_keys()) {
        const bool moves = key.starts_with("ldmatrix") || key.starts_with("stmatrix");
        ASSERT_EQ(memory["access"].contains(key), moves) << key;
        if (!moves) continue;
        ++accesses;
        std::string error;
        const Access a = *access_named(key, error);
        const json& mine = memory["access"][key];
        EXPECT_EQ(mine["address"], usual_expression(a));
        const json& rows = memory["rows"][mine["rows"].get<size_t>()];
        ASSERT_EQ(rows.size(), a.lanes);
        for (unsigned lane = 0; lane < a.lanes; ++lane)
            EXPECT_EQ(rows[lane], (json{lane / 8, lane % 8}));
        ASSERT_EQ(mine["patterns"].size(), 32 * swizzles.size());
        for (unsigned n = 0; n < mine["patterns"].size(); n += 5) {
            const Pattern p{"", 16 * (n / 4 + 1), swizzles[n % 4].second, 1};
            const Answer is = banks(a, p);
            const json& pattern = memory["patterns"][mine["patterns"][n].get<size_t>()];
            EXPECT_EQ(key + ": " + pattern["line"].get<std::string>(), is.line);
            EXPECT_EQ(pattern["notes"], json(is.notes));
            ASSERT_EQ(pattern["lanes"].size(), a.lanes);
            for (unsigned lane = 0; lane < a.lanes; ++lane) {
                const unsigned address = is.data["addresses"][lane];
                EXPECT_EQ(pattern["lanes"][lane], (json{address, address % 128 / 4}));
            }
            ASSERT_EQ(pattern["phases"].size(), is.data["phases"].size());
            for (size_t phase = 0; phase < pattern["phases"].size(); ++phase) {
                const json& said = is.data["phases"][phase];
                EXPECT_EQ(pattern["phases"][phase], (json{said["lanes"][0], 8, said["wavefronts"],
                                                          is.grids[0].rows[phase].back()}));
            }
        }
    }
    EXPECT_EQ(accesses, 12u);
}

// Of tables that begin alike the longest is kept.
TEST(ExplorerData, NoTableIsTheBeginOfAnother) {
    const json& tables = data()["tables"];
    std::set<size_t> used;
    for (const json& o : data()["operands"]) {
        const size_t at = o["table"];
        ASSERT_LT(at, tables.size());
        used.insert(at);
        EXPECT_GE(tables[at]["values"], o["values"]);
        EXPECT_EQ(tables[at]["at"].size(),
                  tables[at]["values"].get<size_t>() * o["lanes"].get<size_t>());
    }
    EXPECT_EQ(used.size(), tables.size()) << "one is of no operand";
    // The accumulators of a warpgroup are the first columns of the widest.
    const auto table_of = [&](const std::string& key, size_t operand) {
        const json& i = instruction(key);
        return item("operands", item("sets", i["archs"][0][1])[operand])["table"].get<size_t>();
    };
    const size_t widest = table_of("wgmma.m64n256k16.f32.f16.f16", 2);
    EXPECT_EQ(tables[widest]["values"], 128);
    for (const char* n : {"8", "24", "128", "248"})
        EXPECT_EQ(table_of("wgmma.m64n" + std::string(n) + "k16.f32.f16.f16", 2), widest);
}

}  // namespace
}  // namespace lockwarp::lanes::explorer_data_test
