// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's assembler accepts for each target and what it refuses: as recorded in
// data/ptxas.tsv, which scripts/ask_ptxas.py makes and describes. Its words: legality_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/isa/instances.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

struct Recorded {
    std::string module;
    std::vector<std::string> targets;
    std::map<std::string, std::string> first_version;  // by target, "7.4"
    std::map<std::string, std::string> messages;       // by number
    // By instruction, what targets said: numbers of messages. One that is absent accepts it.
    std::map<std::string, std::map<std::string, std::string>> answers;
};

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

Recorded read(const std::string& name) {
    Recorded out;
    std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/isa/data/" + name);
    for (std::string line; std::getline(file, line);) {
        const size_t tab = line.find('\t');
        const auto pairs = [&](size_t from, std::map<std::string, std::string>& to) {
            for (const std::string& word : words_of(line.substr(from)))
                to[word.substr(0, word.find(':'))] = word.substr(word.find(':') + 1);
        };
        if (line.empty() || line[0] == '#') continue;
        if (line[0] == '|')
            out.module += line.substr(1) + "\n";
        else if (line[0] == '?')
            out.targets = words_of(line.substr(1));
        else if (line[0] == '!')
            pairs(1, out.first_version);
        else if (line[0] == '=')
            out.messages[line.substr(1, tab - 1)] = line.substr(tab + 1);
        else if (tab == std::string::npos)
            out.answers[line];
        else
            pairs(tab + 1, out.answers[line.substr(0, tab)]);
    }
    return out;
}

const Recorded& recorded() {
    static const Recorded all = read("ptxas.tsv");
    return all;
}

// What a target said of an instruction; empty: it accepts it.
std::string said_by(const Recorded& all, const std::map<std::string, std::string>& by_target,
                    const std::string& target) {
    const auto found = by_target.find(target);
    std::string words = found == by_target.end() ? "" : all.messages.at(found->second);
    if (const size_t at = words.find("@target"); at != std::string::npos)
        words.replace(at, 7, target);
    return words;
}

// The first and the last spelling of each form, and each variant of mma.
std::set<std::string> instructions() {
    std::set<std::string> out;
    for (const Form& form : forms()) {
        // Of wgmma: warpgroup_test.cpp.
        if (form.op == Op::mma || form.op == Op::call || form.opcode == "wgmma") continue;
        const std::vector<std::string> all = expansions(form);
        for (const std::string& modifiers : {all.front(), all.back()})
            out.insert(instance(form, modifiers));
    }
    for (const MmaVariant& v : mma_variants()) out.insert(instance(v));
    return out;
}

bool executed(const std::string& instruction) {
    const std::string opcode = instruction.substr(0, instruction.find_first_of(". "));
    const auto& others = opcodes_not_executed();
    return std::ranges::find(others, opcode) == others.end();
}

TEST(Ptxas, WasAskedAboutEveryFormAndMatrixVariant) {
    EXPECT_EQ(module_with({"@instruction"}, "@target", "9.0"), recorded().module);
    for (const std::string& i : instructions())
        EXPECT_TRUE(recorded().answers.contains(i)) << "to be added to data/ptxas.tsv:\n" << i;
}

TEST(Ptxas, WasAskedAboutEveryTargetOfEveryArchitecture) {
    const std::vector<std::string>& targets = recorded().targets;
    const auto asked = [&](const std::string& t) {
        return std::ranges::find(targets, t) != targets.end();
    };
    for (const ArchRow& a : arch_rows) {
        if (a.arch == Arch::sm_70) continue;  // ptxas 13.0 has it no more
        const std::string name(a.name);
        EXPECT_TRUE(asked(name)) << name;
        EXPECT_TRUE(a.family == 0 || (asked(name + "a") && asked(name + "f"))) << name;
    }
}

TEST(Ptxas, FirstVersionsAreThoseOfTheRows) {
    size_t compared = 0;
    for (const ArchRow& a : arch_rows) {
        const auto found = recorded().first_version.find(std::string(a.name));
        if (found == recorded().first_version.end()) continue;
        EXPECT_EQ(found->second, std::to_string(a.ptx / 10) + "." + std::to_string(a.ptx % 10))
            << a.name;
        ++compared;
    }
    EXPECT_GE(compared, arch_rows.size() - 1);
}

class PtxasTarget : public testing::TestWithParam<std::string> {};

TEST_P(PtxasTarget, AcceptsAndRefusesAsItDid) {
    const std::string target = GetParam();
    const std::optional<Arch> arch = arch_named(target);
    if (!arch) GTEST_SKIP() << target << " is not modelled";
    size_t accepted = 0;
    size_t refused = 0;
    for (const auto& [instruction, by_target] : recorded().answers) {
        const std::string expected = said_by(recorded(), by_target, target);
        const Resolved r = resolved(module_with({instruction}, target, "9.0"), *arch);
        const std::string said = r.diagnostics.empty() ? "" : r.diagnostics[0].message;
        if (!executed(instruction)) {
            EXPECT_NE(said, "") << instruction;
        } else {
            EXPECT_EQ(said.empty(), expected.empty()) << instruction << '\n' << said << expected;
        }
        ++(expected.empty() ? accepted : refused);
    }
    EXPECT_GT(accepted, 400u);
    EXPECT_GT(refused, 10u);
}

// Hopper's asynchronous instructions, right and wrong, in the assembler's words.
TEST(Ptxas, SaysOfHoppersInstructions) {
    const Recorded all = read("ptxas_hopper.tsv");
    size_t accepted = 0;
    size_t refused = 0;
    for (const std::string& target : all.targets)
        for (const auto& [instruction, by_target] : all.answers) {
            const Resolved r =
                resolved(module_with({instruction}, target, "9.0"), *arch_named(target));
            const std::string said = r.diagnostics.empty() ? "" : r.diagnostics[0].message;
            const std::string expected = said_by(all, by_target, target);
            EXPECT_EQ(said, expected) << instruction << " on " << target;
            ++(expected.empty() ? accepted : refused);
        }
    EXPECT_GT(accepted, 400u);
    EXPECT_GT(refused, 400u);
}

// Instructions of which a modifier is left out, is another, or one too many: whether they are
// taken, and the words.
TEST(Ptxas, SaysOfOtherSpellings) {
    size_t accepted = 0;
    size_t refused = 0;
    for (const char* const name : {"ptxas_spellings.tsv", "ptxas_kinds.tsv"}) {
        const Recorded all = read(name);
        for (const std::string& target : all.targets)
            for (const auto& [instruction, by_target] : all.answers) {
                const Resolved r =
                    resolved(module_with({instruction}, target, "9.0"), *arch_named(target));
                const std::string said = r.diagnostics.empty() ? "" : r.diagnostics[0].message;
                const std::string expected = said_by(all, by_target, target);
                EXPECT_EQ(said, expected) << instruction << " on " << target;
                ++(expected.empty() ? accepted : refused);
            }
    }
    EXPECT_GT(accepted, 100u);
    EXPECT_GT(refused, 1000u);
}

TEST(Ptxas, WhatCudaPtxEmitsResolves) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/isa/data/cuda_ptx.txt");
    size_t count = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        ptx::Instruction i;
        const size_t dot = std::min(line.find('.'), line.size());
        i.opcode = line.substr(0, dot);
        i.modifiers = modifiers_of(std::string_view(line).substr(dot));
        const FoundForm found = find_form(i);
        ASSERT_NE(found.form, nullptr) << line;
        std::string modifiers;
        for (const ptx::Modifier& m : i.modifiers) modifiers += m.text;
        const Resolved r =
            resolved(module_with({instance(*found.form, modifiers)}, "sm_90a", "9.0"), Arch::sm_90);
        EXPECT_TRUE(r.diagnostics.empty()) << line << ": " << r.diagnostics[0].message;
        ++count;
    }
    EXPECT_GT(count, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Targets, PtxasTarget, testing::ValuesIn(recorded().targets),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace lockwarp::isa
