// SPDX-License-Identifier: Apache-2.0
// Where .shared variables lie, against where NVIDIA's assembler puts them: data/shared.tsv, which
// scripts/ask_shared.py makes and describes.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "emu/isa/placement.hpp"
#include "emu/ptx/parser.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

struct Recorded {
    std::string text;
    std::vector<std::pair<std::string, uint64_t>> named;
};

std::string link(const std::string& word) { return word == "none" ? "" : "." + word + " "; }

Recorded read(const std::string& line) {
    std::istringstream words(line);
    std::string entry;
    std::string dynamic;
    words >> entry >> dynamic;
    Recorded out;
    std::string of_module;
    std::string own;
    size_t count = 0;
    for (std::string word; words >> word;) {
        std::istringstream parts(word);
        std::vector<std::string> p;
        for (std::string part; std::getline(parts, part, ':');) p.push_back(part);
        const std::string name = "v" + std::to_string(count++);
        (p[0] == "m" ? of_module : own) +=
            link(p[1]) + ".shared .align " + p[3] + " .b8 " + name + "[" + p[2] + "];\n";
        if (p[4] != "-") out.named.emplace_back(name, std::stoull(p[4]));
    }
    if (dynamic != "0:-") {
        const size_t colon = dynamic.find(':');
        of_module += ".extern .shared .align " + dynamic.substr(0, colon) + " .b8 dynamic[];\n";
        out.named.emplace_back("dynamic", std::stoull(dynamic.substr(colon + 1)));
    }
    out.text = ".version 8.0\n.target sm_75\n.address_size 64\n" + of_module + link(entry) +
               ".entry k() {\n" + own + ".reg .u32 %t;\n";
    for (const auto& [name, address] : out.named) out.text += "mov.u32 %t, " + name + ";\n";
    out.text += "ret; }\n";
    return out;
}

TEST(Shared, VariablesLieWherePtxasPutsThem) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/isa/data/shared.tsv");
    size_t compared = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        const Recorded recorded = read(line);
        const ptx::Parsed parsed = ptx::parse(recorded.text);
        ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
        for (const Arch arch : {Arch::sm_75, Arch::sm_90}) {
            const Resolved resolved = resolve(parsed.module, arch, "k");
            ASSERT_TRUE(resolved.diagnostics.empty()) << resolved.diagnostics[0].message;
            for (const auto& [name, address] : recorded.named) {
                const auto v = std::ranges::find(resolved.program.variables, name, &Placed::name);
                ASSERT_NE(v, resolved.program.variables.end());
                EXPECT_EQ(v->address - row(arch).shared_base, address) << line << ' ' << name;
                ++compared;
            }
        }
        EXPECT_TRUE(shared_places_known(parsed.module, "k"));
    }
    EXPECT_GE(compared, 1000u);
}

// A variable of which no bytes can be laid out (of 2^40 and more) takes none from the others.
TEST(Global, VariablesWithoutAPlace) {
    const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    const std::string first = ".global .align 8 .b8 a[24];\n", last = ".global .b32 c;\n";
    const ptx::Parsed without = ptx::parse(head + first + last);
    const ptx::Parsed with = ptx::parse(head + first + ".global .b64 b[1099511627776];\n" + last);
    ASSERT_TRUE(with.diagnostics.empty()) << with.diagnostics[0].message;
    const auto addresses = [](const ptx::Parsed& parsed) {
        std::map<std::string, uint64_t> out;
        for (const auto& [v, address] : lay_out_global(parsed.module, 0x1000))
            out[v->name] = address;
        return out;
    };
    EXPECT_EQ(addresses(without).size(), 2u);
    EXPECT_EQ(addresses(with), addresses(without));
}

// Functions that share: their order is not known, and all they name is there.
TEST(Shared, PlacesAreNotKnownWhereCalledFunctionsNameVariables) {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .b32 m;\n"
        ".func f() { .reg .u32 %t; mov.u32 %t, m; ret; }\n.entry k() { call f; ret; }\n"
        ".entry j() { .reg .u32 %t; mov.u32 %t, m; ret; }\n";
    const ptx::Parsed parsed = ptx::parse(text);
    ASSERT_TRUE(parsed.diagnostics.empty());
    EXPECT_FALSE(shared_places_known(parsed.module, "k"));
    EXPECT_TRUE(shared_places_known(parsed.module, "j"));
    EXPECT_TRUE(resolve(parsed.module, Arch::sm_80, "k").diagnostics.empty());
}

}  // namespace
}  // namespace lockwarp::isa
