// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's assembler computes of instructions on constants, against what it answers:
// data/folds.tsv, which scripts/ask_folds.py makes and describes.
#include "emu/isa/folds.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "emu/ptx/parser.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

TEST(Folds, WhatPtxasComputesOfConstants) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/isa/data/folds.tsv");
    std::vector<std::string> instructions;
    std::vector<bool> folded;
    std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .pred %pred_<9>; "
        ".reg .b16 %b16_<9>; .reg .b32 %b32_<9>; .reg .b64 %b64_<9>;\n";
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        folded.push_back(line[0] == '+');
        instructions.push_back(line.substr(2));
        text += instructions.back() + "\n";
    }
    const ptx::Parsed parsed = ptx::parse(text + "}\n");
    ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
    const Resolved resolved = resolve(parsed.module, Arch::sm_90, "k");
    ASSERT_TRUE(resolved.diagnostics.empty()) << resolved.diagnostics[0].message;
    ASSERT_EQ(resolved.program.operations.size(), instructions.size() + 1);  // and an exit
    for (size_t i = 0; i < instructions.size(); ++i)
        EXPECT_EQ(folds(resolved.program.operations[i]), folded[i]) << instructions[i];
    EXPECT_GE(instructions.size(), 1600u);
}

}  // namespace
}  // namespace lockwarp::isa
