// SPDX-License-Identifier: Apache-2.0
// Functions of constants against what NVIDIA's assembler answers: data/folds.tsv, which
// scripts/ask_folds.py makes and describes.
#include "emu/num/folded.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace lockwarp::num {
namespace {

const std::map<std::string, Special> functions{
    {"ex2.approx", Special::ex2},   {"lg2.approx", Special::lg2},
    {"rcp.approx", Special::rcp},   {"rsqrt.approx", Special::rsqrt},
    {"sqrt.approx", Special::sqrt}, {"sin.approx", Special::sin},
    {"cos.approx", Special::cos},   {"div.approx", Special::div_approx},
    {"div.full", Special::div_full}};

struct Form {
    Special function;
    bool ftz;
    bool quotient;
};

Form form_of(const std::string& name) {
    const size_t ftz = name.find(".ftz");
    const auto found = functions.find(name.substr(0, ftz));
    EXPECT_NE(found, functions.end()) << name;
    return {found->second, ftz != std::string::npos, name.starts_with("div")};
}

uint32_t answer(const Form& f, uint32_t a, uint32_t b, uint32_t left) {
    const uint32_t value = folded_f32(f.function, f.ftz, a, b);
    return is_folded(f.function, value) ? value : left;
}

struct Line {
    std::string function;
    std::string answer;
    std::vector<std::string> operands;
};

std::vector<Line> lines() {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/num/data/folds.tsv");
    std::vector<Line> out;
    for (std::string text; std::getline(file, text);) {
        if (text.empty() || text[0] == '#') continue;
        std::istringstream words(text);
        Line line;
        words >> line.function >> line.answer;
        for (std::string word; words >> word;) line.operands.push_back(word);
        out.push_back(std::move(line));
    }
    return out;
}

uint32_t hex(const std::string& text) {
    return static_cast<uint32_t>(std::stoull(text, nullptr, 16));
}

TEST(Folded, ListedOperandsAsPtxasAnswers) {
    size_t compared = 0;
    for (const Line& l : lines()) {
        if (l.operands[0][0] == '=') continue;
        const uint32_t b = l.operands.size() > 1 ? hex(l.operands[1]) : 0;
        constexpr uint32_t left = 0xffffffff;
        const uint32_t expected = l.answer == "-" ? left : hex(l.answer);
        EXPECT_EQ(answer(form_of(l.function), hex(l.operands[0]), b, left), expected)
            << l.function << ' ' << l.operands[0] << ' ' << b;
        ++compared;
    }
    EXPECT_GE(compared, 2700u);
}

// 10,000 operands of each function, made as scripts/ask_folds.py does.
TEST(Folded, TenThousandOperandsEachAsPtxasAnswers) {
    std::map<std::string, std::vector<std::string>> digests;
    for (const Line& l : lines())
        if (l.operands[0][0] == '=') digests[l.function].push_back(l.answer);
    EXPECT_EQ(digests.size(), 2 * functions.size());
    for (const auto& [name, expected] : digests) {
        const Form f = form_of(name);
        ASSERT_EQ(expected.size(), 100u) << name;
        uint64_t x = 1;
        size_t made = 0;
        const auto next = [&] {
            x = x * 6364136223846793005u + 1442695040888963407u;
            const auto bits = static_cast<uint32_t>(x >> 32);
            return made++ % 2 == 0
                       ? bits
                       : (bits & 0x807fffff) | static_cast<uint32_t>(96 + (x >> 26) % 64) << 23;
        };
        for (const std::string& of_batch : expected) {
            uint64_t digest = 0xcbf29ce484222325;
            for (int i = 0; i < 100; ++i) {
                const uint32_t a = next();
                const uint32_t b = f.quotient ? next() : 0;
                digest = (digest ^ answer(f, a, b, 0xffffffff)) * 0x100000001b3;
            }
            EXPECT_EQ(digest, std::stoull(of_batch, nullptr, 16)) << name;
        }
    }
}

// The five operands that show that a result is rounded to f64 before it is rounded to f32.
TEST(Folded, RoundedTwice) {
    EXPECT_EQ(folded_f32(Special::sin, false, 0x46199998), 0xbeb1fa5eu);
    EXPECT_EQ(folded_f32(Special::cos, false, 0x5f18b878), 0x3f7f14bcu);
    EXPECT_EQ(folded_f32(Special::cos, false, 0x6115cb11), 0x3f78142eu);
    EXPECT_EQ(folded_f32(Special::ex2, false, 0x3b429d37), 0x3f804384u);
    EXPECT_EQ(folded_f32(Special::ex2, false, 0xbcf3a937), 0x3f7ac6b0u);
}

TEST(Folded, QuotientsByAConstantAreProductsWithItsReciprocal) {
    uint64_t x = 7;
    for (int i = 0; i < 100'000; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        const auto a = static_cast<uint32_t>(x >> 32);
        const auto b = static_cast<uint32_t>(x >> 11);
        for (const Special f : {Special::div_approx, Special::div_full})
            for (const bool ftz : {false, true}) {
                const uint32_t folded = folded_reciprocal(f, ftz, b);
                const uint32_t unit = unit_reciprocal(f, ftz, b);
                ASSERT_EQ(product_with_reciprocal(f, ftz, a, b, folded), folded_f32(f, ftz, a, b));
                ASSERT_EQ(product_with_reciprocal(f, ftz, a, b, unit),
                          special_function(mufu_tables, f, isa::Type::f32, ftz, a, b));
            }
    }
}

}  // namespace
}  // namespace lockwarp::num
