// SPDX-License-Identifier: Apache-2.0
// The explorer's page: one file that loads nothing, with every instruction as the tables have it.
#include "lanes/explorer.hpp"

#include <gtest/gtest.h>

#include "lanes/banks.hpp"
#include "lanes/formula.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::lanes::explorer_test {
namespace {

using json = nlohmann::ordered_json;

const std::string& page() {
    static const std::string text = explorer_page("1.2.3", json{{"of", json::object()}});
    return text;
}

// What a browser would read.
const json& data() {
    static const json parsed = [] {
        const std::string_view text = page();
        constexpr std::string_view opening = "<script type=\"application/json\" id=\"data\">";
        const size_t at = text.find(opening);
        if (at == std::string_view::npos) return json();
        const std::string_view rest = text.substr(at + opening.size());
        return json::parse(rest.substr(0, rest.find("</script>")));
    }();
    return parsed;
}

TEST(Explorer, LoadsNothing) {
    for (const char* sign : {"http://", "https://", "src=", "@import", "url(", "fetch(",
                             "XMLHttpRequest", "WebSocket", "sendBeacon", "import("})
        EXPECT_EQ(page().find(sign), std::string::npos) << sign;
    EXPECT_NE(page().find("default-src 'none'"), std::string::npos);
    EXPECT_EQ(page().find("LOCKWARP-DATA"), std::string::npos);
    EXPECT_LT(page().size(), 6'000'000u);
    EXPECT_EQ(page().find("</html>"), page().size() - 8);
}

TEST(Explorer, HasEveryInstructionOnEveryArchitecture) {
    const std::vector<std::string> keys = all_keys();
    ASSERT_EQ(data()["instructions"].size(), keys.size());
    for (size_t n = 0; n < keys.size(); ++n) {
        const json& i = data()["instructions"][n];
        ASSERT_EQ(i["key"], keys[n]);
        size_t at = 0;
        for (const isa::ArchRow& a : isa::arch_rows) {
            if (!make(keys[n], a.arch).instruction) continue;
            ASSERT_LT(at, i["archs"].size()) << keys[n];
            EXPECT_EQ(data()["archs"][i["archs"][at++][0].get<size_t>()][0], a.name);
        }
        EXPECT_EQ(at, i["archs"].size()) << keys[n];
    }
}

// An operand read back from the page, and what make() gives.
void compare(const json& mine, const Operand& o, const std::string& key) {
    SCOPED_TRACE(key + " " + o.name);
    EXPECT_EQ(mine["name"], o.name);
    EXPECT_EQ(mine["type"], isa::row(o.type).name.substr(1));
    EXPECT_EQ(mine["rows"], o.rows);
    EXPECT_EQ(mine["columns"], o.columns);
    EXPECT_EQ(mine["parts"], o.parts);
    EXPECT_EQ(mine["lanes"], o.lanes);
    EXPECT_EQ(mine["values"], o.values);
    EXPECT_EQ(mine["registers"], o.registers);
    EXPECT_EQ(mine["register_bits"], o.register_bits);
    const json& table = data()["tables"][mine["table"].get<size_t>()];
    const json& places = data()["places"][mine["places"].get<size_t>()];
    const size_t stride = table["values"];
    ASSERT_EQ(table["at"].size(), stride * o.lanes);
    size_t held = 0;
    for (size_t lane = 0; lane < o.lanes; ++lane)
        for (size_t v = 0; v < o.values; ++v) held += table["at"][lane * stride + v] >= 0;
    EXPECT_EQ(held, o.held.size());
    for (const Held& h : o.held) {
        ASSERT_EQ(table["at"][h.lane * stride + h.value],
                  (h.part * o.columns + h.column) * o.rows + h.row);
        ASSERT_EQ(places[3u * h.value], h.reg);
        ASSERT_EQ(places[3u * h.value + 1], h.low);
        ASSERT_EQ(places[3u * h.value + 2], h.high);
    }
    const Formulas f = formulas(o);
    const json& written = data()["formulas"][mine["formulas"].get<size_t>()];
    ASSERT_EQ(written["forward"].size(), f.forward.size());
    ASSERT_EQ(written["backward"].size(), f.backward.size());
    for (size_t n = 0; n < f.forward.size(); ++n)
        EXPECT_EQ(written["forward"][n]["text"], text_of(f.forward[n], o));
    for (size_t n = 0; n < f.backward.size(); ++n)
        EXPECT_EQ(written["backward"][n]["text"], text_of(f.backward[n], o));
}

TEST(Explorer, HasTheTablesOfEveryOperand) {
    size_t count = 0;
    for (const json& i : data()["instructions"]) {
        const std::string key = i["key"];
        // Of warpgroups the small, the largest and some between.
        const unsigned n = i["shape"][1];
        if (i["family"] == "wgmma" && n > 24 && n != 256 && n % 88 != 0) continue;
        for (size_t at = 0; at < i["archs"].size(); ++at) {
            if (at != 0 && i["family"] != "wmma") break;
            const auto arch = static_cast<isa::Arch>(i["archs"][at][0].get<int>());
            const Instruction real = *make(key, arch).instruction;
            const json& set = data()["sets"][i["archs"][at][1].get<size_t>()];
            ASSERT_EQ(set.size(), real.operands.size()) << key;
            for (size_t o = 0; o < set.size(); ++o)
                compare(data()["operands"][set[o].get<size_t>()], real.operands[o], key);
            ++count;
        }
    }
    EXPECT_GT(count, 700u);
}

TEST(Explorer, HasTheWavefrontsOfEveryStrideAndSwizzle) {
    const json& memory = data()["memory"];
    EXPECT_EQ(memory["access"].size(), 12u);
    const json& x4 = memory["access"]["ldmatrix.x4"];
    const size_t swizzles = memory["swizzles"].size();
    ASSERT_EQ(x4["patterns"].size(), memory["strides"].size() * swizzles);
    std::string error;
    const Access access = *access_named("ldmatrix.x4", error);
    for (size_t s = 0; s < memory["strides"].size(); ++s)
        for (size_t z = 0; z < swizzles; ++z) {
            Pattern p;
            p.stride = memory["strides"][s];
            p.swizzle = swizzle_named(memory["swizzles"][z][1].get<std::string>());
            EXPECT_EQ(p.swizzle.has_value(), z != 0);
            const json& mine = memory["patterns"][x4["patterns"][s * swizzles + z].get<size_t>()];
            const std::vector<uint32_t> all = addresses(access, p, error);
            unsigned sum = 0;
            for (const json& phase : mine["phases"]) sum += phase[2].get<unsigned>();
            EXPECT_EQ(sum, wavefronts(access, all)) << p.stride << ' ' << z;
            for (size_t lane = 0; lane < all.size(); ++lane)
                EXPECT_EQ(mine["lanes"][lane][0], all[lane]);
        }
}

TEST(Explorer, TextInTheDataEndsNoScript) {
    const std::string text = explorer_page("</script><img>", json{{"of", json::object()}});
    EXPECT_EQ(text.find("<img>"), std::string::npos);
    EXPECT_NE(text.find("\\u003c/script>\\u003cimg>"), std::string::npos);
}

}  // namespace
}  // namespace lockwarp::lanes::explorer_test
