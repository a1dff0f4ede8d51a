// SPDX-License-Identifier: Apache-2.0
// Explanations: the same bits as the products, of every variant on every architecture; what equiv
// says of the pairs that people ask about; inputs in all their forms.
#include "lanes/explain.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <random>

#include "emu/num/ieee.hpp"
#include "emu/num/trace.hpp"
#include "launch/values.hpp"
#include "tests/results.hpp"

namespace lockwarp::lanes {
namespace {

Instruction instruction(std::string_view name) {
    lanes::Found f = find(name, std::nullopt);
    EXPECT_TRUE(f.instruction) << f.error;
    return f.instruction.value_or(Instruction{});
}

Product product(const Instruction& i, isa::Arch arch) {
    Product p{};
    EXPECT_EQ(take(product_of(i, arch), p), "") << i.key;
    return p;
}

// The exact sum of a block, below 2^53 units, as an IEEE conversion rounds it.
uint64_t rounded(const Product& p, const num::TracedBlock& b) {
    const double sum = std::ldexp(static_cast<double>(b.sum), b.largest - b.fraction);
    const isa::Type d = p.types.d;
    const uint64_t bits =
        num::convert(isa::Type::f64, d, std::bit_cast<uint64_t>(sum), p.row->sum.rounding);
    // Toward zero they overflow to infinity, not to the largest number.
    if (p.row->sum.rounding == num::Rounding::rz && std::abs(sum) >= 0x1p128)
        return (b.sum < 0 ? 0xff800000u : 0x7f800000u);
    return bits << 1 == 0 || bits == uint64_t{1} << (isa::bits(d) - 1) ? 0 : bits;
}

TEST(Trace, GivesTheProductsBits) {
    size_t elements = 0;
    for (const Instruction& i : lanes::all_instructions(std::nullopt)) {
        for (const isa::ArchRow& a : isa::arch_rows) {
            const launch::Result<Product> product = product_of(i, a.arch);
            if (!product) continue;
            const Product& p = *product;
            std::mt19937_64 random(elements);
            for (int n = 0; n < 40; ++n) {
                std::vector<uint64_t> x(p.k);
                std::vector<uint64_t> y(p.k);
                for (uint64_t& v : x)
                    v = random() & ((uint64_t{2} << (isa::bits(p.types.a) - 1)) - 1);
                for (uint64_t& v : y)
                    v = random() & ((uint64_t{2} << (isa::bits(p.types.b) - 1)) - 1);
                uint64_t c = random() & ((uint64_t{2} << (isa::bits(p.types.c) - 1)) - 1);
                // Every other time without the infinities and NaN that random bits are full of.
                if (n % 2 == 0 && isa::is_float(p.types.a)) {
                    for (uint64_t& v : x)
                        v = launch::bits_of(p.types.a, static_cast<int>(v % 17) - 8.0);
                    for (uint64_t& v : y)
                        v = launch::bits_of(p.types.b, static_cast<int>(v % 9) / 16.0);
                    c = launch::bits_of(p.types.c, static_cast<double>(c % 1000) / 3);
                }
                uint64_t d = 0;
                num::matrix_product(*p.row, {1, 1, static_cast<int>(p.k)}, p.types, x.data(),
                                    y.data(), &c, &d);
                num::Trace trace;
                ASSERT_EQ(num::traced_element(*p.row, p.types, x, y, c, trace), d)
                    << i.key << " on " << a.name;
                EXPECT_FALSE(trace.blocks.empty() && trace.steps.empty()) << i.key;
                for (const num::TracedBlock& b : trace.blocks) {
                    int64_t sum = 0;
                    for (const num::TracedTerm& t : b.terms) sum += t.units;
                    EXPECT_EQ(sum, b.sum) << i.key;
                    // And rounded it is the result, where that has all of its type's bits.
                    const bool whole = p.row->sum.kept == num::format(p.types.d).fraction_bits + 1;
                    if (!b.special && whole) {
                        EXPECT_EQ(rounded(p, b), b.result) << i.key << " on " << a.name;
                    }
                    EXPECT_EQ(b.terms.empty(), b.special) << i.key;
                    EXPECT_EQ(b.special || b.terms.size() == static_cast<size_t>(b.count) + 1,
                              true);
                }
                ++elements;
            }
        }
    }
    EXPECT_GT(elements, 20000u);
}

// 2048 + 1 in f16, and a term far below the largest.
TEST(Explain, SaysWhatIsLost) {
    const Instruction i = instruction("m16n8k16.f16.f16.f16.f16");
    DotInputs in;
    ASSERT_EQ(take(read_inputs(i, 3, 2,
                               {.a = "2048 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
                                .b = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
                                .c = "0x0000"}),
                   in),
              "");
    const Answer a = explain({product(i, isa::Arch::sm_90)}, 3, 2, in);
    EXPECT_EQ(a.line, "D[3][2] = 0x6800 = 2048 on sm_90");
    const auto text = lanes::render(a, lanes::Format::text);
    EXPECT_NE(text->find("2049"), std::string::npos) << *text;
    EXPECT_NE(text->find("rounded, 1 lost"), std::string::npos) << *text;

    const Instruction f32 = instruction("m16n8k16.f32.f16");
    DotInputs far;
    ASSERT_EQ(take(read_inputs(f32, 0, 0,
                               {.a = "1,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
                                .b = "1,0x0001,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
                                .c = "16777216"}),
                   far),
              "");
    const Answer absorbed = explain({product(f32, isa::Arch::sm_90)}, 0, 0, far);
    EXPECT_EQ(absorbed.data["results"][0]["sums"][0]["absorbed"], 1);
    EXPECT_NE(lanes::render(absorbed, lanes::Format::text)->find("ABSORBED"), std::string::npos);
}

// What a thread of NVIDIA's forum asks: every lane holds a = {2,1,1,1}, b = {1,1}; d = {12,12,8,8}.
TEST(Explain, EveryLanesFragment) {
    const Instruction i = instruction("m16n8k8.f32.bf16");
    for (const auto& [row, value] : {std::pair(0u, "12"), std::pair(8u, "8")}) {
        DotInputs in;
        ASSERT_EQ(
            take(read_inputs(i, row, 1, {.a = "lanes:2,1,1,1", .b = "lanes:1,1", .c = "0"}), in),
            "");
        const Answer a = explain({product(i, isa::Arch::sm_80)}, row, 1, in);
        EXPECT_EQ(a.data["results"][0]["value"], value);
    }
}

TEST(Explain, InputsFromAFileAndWrongOnes) {
    const Instruction i = instruction("m16n8k8.f32.f16");
    const std::string path = testing::TempDir() + "inputs.json";
    {
        std::ofstream out(path);
        out << R"({"A": [1, 2, 3, 4, 5, 6, 7, "0x4800"], "B": [1,1,1,1,1,1,1,1], "C": 0.5})";
    }
    DotInputs in;
    ASSERT_EQ(take(read_inputs(i, 0, 0, {.file = path}), in), "");
    const Answer a = explain({product(i, isa::Arch::sm_80)}, 0, 0, in);
    EXPECT_EQ(a.data["results"][0]["value"], "36.5");
    const auto problem = [&](const InputTexts& t, unsigned row = 0) {
        DotInputs unused;
        return take(read_inputs(i, row, 0, t), unused);
    };
    EXPECT_NE(problem({.a = "1,2,3"}).find("--a takes 8 values"), std::string::npos);
    EXPECT_NE(problem({.a = "lanes:1"}).find("4 values of a lane"), std::string::npos);
    EXPECT_NE(problem({.c = "1,2"}).find("--c takes 1 value"), std::string::npos);
    EXPECT_NE(problem({.a = "1,x"}).find("'x' is not a value of f16"), std::string::npos);
    EXPECT_NE(problem({.b = "0x12345"}).find("is not a value of f16"), std::string::npos);
    EXPECT_NE(problem({}, 16).find("rows 0 to 15"), std::string::npos);
    EXPECT_NE(problem({.file = path + "not"}).find("not"), std::string::npos);
    {
        std::ofstream out(path);
        out << "[[[[[";
    }
    EXPECT_NE(problem({.file = path}).find("should be"), std::string::npos);
    {
        std::ofstream out(path);
        out << R"({"A": [null]})";
    }
    EXPECT_NE(problem({.file = path}).find("\"A\" holds numbers"), std::string::npos);
}

std::string verdict(std::string_view x, std::string_view y, isa::Arch on_x, isa::Arch on_y) {
    const Instruction a = instruction(x);
    const Instruction b = instruction(y);
    const Product px = product(a, on_x);
    const Product py = product(b, on_y);
    const Answer answer = equivalent({{px, py}}, 20000);
    const auto& pair = answer.data["pairs"][0];
    if (pair["verdict"] == "differ") {
        // The witness is one, by the definition itself.
        const auto bits = [](const nlohmann::ordered_json& j) {
            std::vector<uint64_t> out;
            for (const auto& one : j)
                out.push_back(std::stoull(one.get<std::string>(), nullptr, 16));
            return out;
        };
        const auto wa = bits(pair["witness"]["a"]);
        const auto wb = bits(pair["witness"]["b"]);
        std::array<uint64_t, 2> d{};
        for (size_t n = 0; n < 2; ++n) {
            const Product& p = n == 0 ? px : py;
            d[n] = std::stoull(pair["witness"]["c"].get<std::string>(), nullptr, 16);
            for (size_t from = 0; from < wa.size(); from += p.k)
                num::matrix_product(*p.row, {1, 1, static_cast<int>(p.k)}, p.types, &wa[from],
                                    &wb[from], &d[n], &d[n]);
        }
        EXPECT_NE(d[0], d[1]) << x << y;
        // As text for --a, --b and --c it is the same, to the bit.
        std::istringstream said(answer.notes.at(0));
        std::string word;
        said >> word;
        for (const auto& [option, type] :
             {std::pair("a", px.types.a), std::pair("b", px.types.b), std::pair("c", px.types.c)}) {
            std::string values;
            said >> word >> values;
            EXPECT_EQ(word, std::string("--") + option);
            std::istringstream list(values);
            nlohmann::ordered_json hex = nlohmann::ordered_json::array();
            for (std::string v; std::getline(list, v, ',');)
                hex.push_back(launch::hex_of(type, launch::bits_of(type, std::stod(v))));
            EXPECT_EQ(*option == 'c' ? hex.at(0) : hex, pair["witness"][option]) << values;
        }
    }
    return pair["verdict"];
}

// The witness is among so many inputs as are asked for, and no more.
TEST(Equiv, TriesNoMoreInputsThanAsked) {
    const Instruction half = instruction("m16n8k8.f32.f16");
    const Instruction whole = instruction("m16n8k16.f32.f16");
    const Product x = product(half, isa::Arch::sm_90), y = product(whole, isa::Arch::sm_90);
    const auto found = [&](uint64_t tries) {
        const Answer answer = equivalent({{x, y}}, tries);
        return answer.data["pairs"][0]["verdict"] == "differ";
    };
    EXPECT_FALSE(found(0));
    uint64_t tries = 1;
    while (tries < 20000 && !found(tries)) ++tries;
    EXPECT_EQ(tries, 22u);
    const Answer before = equivalent({{x, y}}, tries - 1);
    EXPECT_EQ(before.data["pairs"][0]["verdict"], "unknown");
    EXPECT_NE(before.line.find(std::to_string(tries - 1)), std::string::npos) << before.line;
}

TEST(Equiv, OfOtherTypesSaysNothing) {
    const auto error = [](std::string_view x, std::string_view y) {
        const Instruction a = instruction(x), b = instruction(y);
        return equivalent({{product(a, isa::Arch::sm_80), product(b, isa::Arch::sm_80)}}, 1).error;
    };
    const std::string s = "m16n8k32.s32.s8.s8.s32", u = "m16n8k32.s32.u8.s8.s32",
                      v = "m16n8k32.s32.s8.u8.s32";
    const std::string f = "m16n8k16.f32.f16.f16.f32", h = "m16n8k16.f16.f16.f16.f16";
    for (const auto& [x, y] : {std::pair(s, u), std::pair(s, v), std::pair(f, h)})
        EXPECT_EQ(error(x, y), "mma." + x + " and mma." + y + " have different types");
    EXPECT_EQ(error(s, s), "");
}

TEST(Equiv, ThePairsThatPeopleAskAbout) {
    using isa::Arch;
    const char* half = "m16n8k8.f32.f16";
    const char* whole = "m16n8k16.f32.f16";
    EXPECT_EQ(verdict(half, whole, Arch::sm_80, Arch::sm_80), "same");
    EXPECT_EQ(verdict(half, whole, Arch::sm_90, Arch::sm_90), "differ");
    EXPECT_EQ(verdict(whole, whole, Arch::sm_80, Arch::sm_86), "same");
    EXPECT_EQ(verdict(whole, whole, Arch::sm_80, Arch::sm_90), "differ");
    EXPECT_EQ(verdict("m16n8k32.f32.e4m3.e4m3.f32", "m16n8k32.f32.e4m3.e4m3.f32", Arch::sm_89,
                      Arch::sm_90),
              "differ");
    EXPECT_EQ(verdict("wmma.m16n16k8.f32.tf32", "m16n8k8.f32.tf32", Arch::sm_90, Arch::sm_90),
              "differ");
    EXPECT_EQ(verdict("m8n8k4.row.col.f32.f16.f16.f32", "m8n8k4.row.col.f32.f16.f16.f32",
                      Arch::sm_75, Arch::sm_80),
              "differ");
    EXPECT_EQ(verdict("m16n8k16.s32.s8.s8.s32", "m16n8k32.s32.s8.s8.s32", Arch::sm_80, Arch::sm_80),
              "same");
}

}  // namespace
}  // namespace lockwarp::lanes
