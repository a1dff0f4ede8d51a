// SPDX-License-Identifier: Apache-2.0
// What is answered of every instruction, to the letter: each kind of answer of each family as one
// number. Where one differs the answers are in a file, to be compared with those of the last
// version: a row of the tables that is new changes them, a change of the code should not.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <set>

#include "lanes/explain.hpp"
#include "lanes/questions.hpp"
#include "launch/values.hpp"

namespace lockwarp::lanes {
namespace {

uint64_t digest(const std::string& text) {  // FNV-1a
    uint64_t out = 0xcbf29ce484222325;
    for (const char c : text) out = (out ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return out;
}

// Its instructions, each as on its usual architecture; of wmma on every one. Of warpgroups the
// smallest, one that is no power of two and the largest.
std::vector<Instruction> of_family(const std::string& family) {
    std::vector<Instruction> out;
    for (const std::string& key : all_keys()) {
        const bool sparse = key.starts_with("mma.sp");
        if (!key.starts_with(family) || (family == "mma." && sparse)) continue;
        if (family == "wgmma." && key.find("n8k") == std::string::npos &&
            key.find("n24k") == std::string::npos && key.find("n256k") == std::string::npos)
            continue;
        if (family != "wmma.") {
            out.push_back(*make(key, std::nullopt).instruction);
            continue;
        }
        for (const isa::ArchRow& a : isa::arch_rows)
            if (const Found f = make(key, a.arch); f.instruction) out.push_back(*f.instruction);
    }
    return out;
}

// Without those whose operands all lie as another's.
std::vector<Instruction> distinct(std::vector<Instruction> all) {
    std::set<std::string> seen;
    std::erase_if(all, [&](const Instruction& i) {
        std::string kind;
        for (const Operand& o : i.operands)
            kind += o.name + text_of(o.elements.layout) + " " + std::to_string(o.rows) + " " +
                    std::to_string(o.columns) + " " + std::to_string(isa::bits(o.type)) + " " +
                    std::to_string(o.parts) + ";";
        return !seen.insert(kind).second;
    });
    return all;
}

std::string text(const Answer& a) { return render(a, Format::text).value_or(a.error) + "\n"; }

// What is known of an instruction grows from version to version, and is not the code's.
std::string without_evidence(Answer a) {
    for (Grid& g : a.grids) {
        if (g.header.back() != "known") continue;
        g.header.pop_back();
        for (auto& row : g.rows) row.pop_back();
    }
    if (a.data.contains("architectures"))
        for (auto& [name, one] : a.data["architectures"].items())
            for (const char* field : {"evidence", "source"}) one.erase(field);
    return text(a) + a.data.dump();
}

struct Question {
    const char* name;
    bool each;  // of all instructions, not only of those that differ in their operands
    std::function<std::string(const Instruction&)> answer;
};

const std::vector<Question>& questions() {
    static const std::vector<Question> all{
        {"info", true, [](const Instruction& i) { return without_evidence(info(i)); }},
        {"layout", true,
         [](const Instruction& i) {
             std::string out = text(layout(i, i.key)) + layout(i, i.key).data.dump();
             if (!i.cute.empty()) out += text(layout(i, i.cute));
             return out;
         }},
        {"by element", false, [](const Instruction& i) { return text(table(i, "", By::element)); }},
        {"by lane", false, [](const Instruction& i) { return text(table(i, "", By::lane)); }},
        {"where and what", false,
         [](const Instruction& i) {
             std::string out;
             for (const Operand& o : i.operands) {
                 const Answer w = where(i, o.name, o.rows - 1, o.columns / 2);
                 out += text(w) + w.data.dump();
                 for (const unsigned lane : {0u, 13u, o.lanes - 1}) {
                     const Answer all_of = what(i, o.name, lane, std::nullopt);
                     out += text(all_of) + all_of.data.dump() +
                            text(what(i, o.name, lane, o.registers - 1));
                 }
                 out += text(where(i, o.name, o.rows, 0)) + text(where(i, o.name, 0, o.columns)) +
                        text(what(i, o.name, o.lanes, std::nullopt)) +
                        text(what(i, o.name, 0, o.registers));
             }
             return out + text(where(i, "B", 0, 0)) + text(what(i, "Q", 0, std::nullopt));
         }},
        {"pictures", false,
         [](const Instruction& i) {
             if (i.n > 64) return std::string();  // as the others, and large
             std::string out = picture(i, "");
             for (const Operand& o : i.operands)
                 out += picture(i, o.name, [](const Held& h) { return h.lane == 5; });
             return out;
         }},
    };
    return all;
}

struct Row {
    const char *question, *family;
    uint64_t digest;
};
const Row rows[] = {
    {"info", "mma.", 0x9990776ebf62dea8},
    {"layout", "mma.", 0x59345935e01e3c49},
    {"by element", "mma.", 0x63589f016bc112f8},
    {"by lane", "mma.", 0x404053a3cea938de},
    {"where and what", "mma.", 0x44ba63a6caa6ba73},
    {"pictures", "mma.", 0xc957ab00b009d803},
    {"info", "mma.sp", 0xff961471c709209d},
    {"layout", "mma.sp", 0x5bd263917aad36e5},
    {"by element", "mma.sp", 0x454f85ffc213ce89},
    {"by lane", "mma.sp", 0x37aa0feccc952855},
    {"where and what", "mma.sp", 0x11f6229d90dab0c1},
    {"pictures", "mma.sp", 0x168c767972dd1a48},
    {"info", "wmma.", 0x83b8d83eca667627},
    {"layout", "wmma.", 0xef9ccb7cf490c092},
    {"by element", "wmma.", 0x6dacab1baa301907},
    {"by lane", "wmma.", 0xfd9aa0979f276cf8},
    {"where and what", "wmma.", 0x04ca4822ae30d525},
    {"pictures", "wmma.", 0x5a4b46d079aae7be},
    {"info", "wgmma.", 0xbf6a8944bdea7533},
    {"layout", "wgmma.", 0x1747d22f2164cd14},
    {"by element", "wgmma.", 0xff812132bc967680},
    {"by lane", "wgmma.", 0xd14264f83a82e760},
    {"where and what", "wgmma.", 0x1342439e0b5c14a7},
    {"pictures", "wgmma.", 0x5a0f747d537dfb19},
    {"info", "ldmatrix.", 0x77a4ed3397755f6b},
    {"layout", "ldmatrix.", 0x72d10d6ed9ec595d},
    {"by element", "ldmatrix.", 0xd2bca5dd2f2aa99a},
    {"by lane", "ldmatrix.", 0x5c21718a6e683336},
    {"where and what", "ldmatrix.", 0xa295b1c884395d2e},
    {"pictures", "ldmatrix.", 0xf900a56ff194e647},
    {"info", "stmatrix.", 0xe48a92b5243c2833},
    {"layout", "stmatrix.", 0x40fc9092be3f3965},
    {"by element", "stmatrix.", 0x9d0a4710b2a5f16c},
    {"by lane", "stmatrix.", 0x7f3545f40cd997a1},
    {"where and what", "stmatrix.", 0x1c78fe7665b2a382},
    {"pictures", "stmatrix.", 0x8595440d5d9d9033},
    {"info", "movmatrix.", 0x37d265df1f3f0642},
    {"layout", "movmatrix.", 0xfc77097a71ea962c},
    {"by element", "movmatrix.", 0x3673a6f9d9a3b7be},
    {"by lane", "movmatrix.", 0x9d8cae46dbae987f},
    {"where and what", "movmatrix.", 0x3a429f67a7c05771},
    {"pictures", "movmatrix.", 0xab25fbae85b6a446},
};

TEST(Letters, OfEveryAnswer) {
    std::set<std::string> known;
    for (const Row& row : rows) known.insert(std::string(row.question) + row.family);
    size_t asked = 0;
    for (const char* family :
         {"mma.", "mma.sp", "wmma.", "wgmma.", "ldmatrix.", "stmatrix.", "movmatrix."}) {
        const std::vector<Instruction> all = of_family(family);
        ASSERT_FALSE(all.empty()) << family;
        const std::vector<Instruction> different = distinct(all);
        for (const Question& q : questions()) {
            std::string answers;
            for (const Instruction& i : q.each ? all : different) answers += q.answer(i);
            uint64_t expected = 0;
            for (const Row& row : rows)
                if (row.question == std::string(q.name) && row.family == std::string(family)) {
                    expected = row.digest;
                    ++asked;
                }
            if (digest(answers) == expected) continue;
            const std::string file = testing::TempDir() + q.name + " " + family + ".txt";
            std::ofstream(file) << answers;
            std::array<char, 32> is{};
            std::snprintf(is.data(), is.size(), "0x%016lx", digest(answers));
            ADD_FAILURE() << "{\"" << q.name << "\", \"" << family << "\", " << is.data()
                          << "},  // " << file;
        }
    }
    EXPECT_EQ(asked, std::size(rows));
}

// A name, and the digest of what is answered of it.
struct Answered {
    const char* name;
    uint64_t digest;
};

void expect_digest(const Answered& row, const std::string& answers) {
    if (digest(answers) == row.digest) return;
    const std::string file = testing::TempDir() + row.name + ".txt";
    std::ofstream(file) << answers;
    std::array<char, 32> is{};
    std::snprintf(is.data(), is.size(), "0x%016lx", digest(answers));
    ADD_FAILURE() << "{\"" << row.name << "\", " << is.data() << "},  // " << file;
}

// Sums that cut, absorb, cancel, overflow and have infinities and NaN in them.
std::vector<DotInputs> hard_inputs(const Product& p) {
    const auto of = [&](isa::Type t, double value) { return launch::bits_of(t, value); };
    std::vector<DotInputs> out;
    const auto add = [&](double c, const std::function<double(unsigned)>& a,
                         const std::function<double(unsigned)>& b) {
        DotInputs in;
        for (unsigned k = 0; k < p.k; ++k) {
            in.a.push_back(of(p.types.a, a(k)));
            in.b.push_back(of(p.types.b, b(k)));
        }
        in.c = of(p.types.c, c);
        out.push_back(in);
    };
    const auto one = [](unsigned) { return 1.0; };
    add(
        0, [](unsigned) { return 0.0; }, one);
    add(0.5, one, [](unsigned k) { return k % 2 == 0 ? 3.0 : -3.0; });
    add(
        4096, [](unsigned k) { return k == 1 ? 1.75 : std::ldexp(1.5, -static_cast<int>(k)); },
        one);
    add(
        -1, [](unsigned k) { return k == 0 ? 448.0 : -0.0625; },
        [](unsigned k) { return k % 3 == 0 ? 224.0 : 0.015625; });
    add(
        60000, [](unsigned) { return 30000.0; }, [](unsigned) { return 40000.0; });
    add(
        0, [](unsigned k) { return k == 2 ? INFINITY : 1.0; }, one);
    add(
        -INFINITY, [](unsigned k) { return k == 0 ? INFINITY : 1.0; }, one);
    return out;
}

// Explanations of every kind of sum, on one architecture and on all that have it.
TEST(Letters, OfExplanations) {
    const std::vector<std::pair<const char*, uint64_t>> expected = {
        {"mma.m8n8k4.row.col.f32.f16.f16.f32", 0x19c25987f3783cdf},
        {"mma.m16n8k8.f16.f16.f16.f16", 0xdc6af8e505e1fd1a},
        {"mma.m16n8k16.f32.f16.f16.f32", 0xbe9a5f297777f5ce},
        {"mma.m16n8k16.f32.bf16.bf16.f32", 0x4caad00e2b40abd8},
        {"mma.m16n8k8.f32.tf32.tf32.f32", 0x3bf80c5f2f7cc189},
        {"mma.m16n8k32.f32.e4m3.e5m2.f32", 0xa9eca4e898cf878a},
        {"mma.m16n8k32.f16.e4m3.e4m3.f16", 0x5007ece516743b59},
        {"mma.m16n8k32.s32.s8.u8.s32", 0x73b8c69e3f73ffc2},
        {"mma.m8n8k128.s32.b1.b1.s32.xor.popc", 0x8b4b2250e390a84a},
        {"mma.m8n8k4.f64.f64.f64.f64", 0x2b037dcf4184b4f7},
        {"wmma.mma.m16n16k16.row.col.f16.f16.f16.f16", 0x30e65160a27d1ec8},
        {"wmma.mma.m16n16k8.row.col.f32.tf32.tf32.f32", 0xce875558265e903b},
    };
    for (const auto& [name, digest_is] : expected) {
        const Found f = find(name, std::nullopt);
        ASSERT_TRUE(f.instruction) << f.error;
        std::vector<Product> all;
        for (const isa::ArchRow& a : isa::arch_rows)
            if (const auto p = product_of(*f.instruction, a.arch); p) all.push_back(*p);
        ASSERT_FALSE(all.empty()) << name;
        std::string answers;
        for (const DotInputs& in : hard_inputs(all[0]))
            for (const std::vector<Product>& some :
                 {all, std::vector<Product>{all.front()}, std::vector<Product>{all.back()}}) {
                const Answer a = explain(some, 3, 2, in);
                answers += text(a) + a.data.dump();
            }
        expect_digest({name, digest_is}, answers);
    }
}

// One operand's registers as another's, of each and some of those behind it; and how the two's
// operands differ.
TEST(Letters, OfPairsOfInstructions) {
    std::vector<Instruction> all;
    for (const char* family : {"mma.", "wmma.", "wgmma.m64n24", "ldmatrix.", "movmatrix."})
        for (Instruction& i : distinct(of_family(family))) all.push_back(std::move(i));
    std::string registers, differences;
    for (size_t at = 0; at < all.size(); ++at)
        for (const size_t further : {0u, 1u, 2u, 5u, 11u}) {
            const Instruction& x = all[at];
            const Instruction& y = all[(at + further) % all.size()];
            for (const auto& [from, to] : {std::pair("C", "A"), std::pair("D", "B"),
                                           std::pair("A", "C"), std::pair("D", "D")}) {
                const Answer a = compatible(x, from, y, to);
                registers += text(a) + a.data.dump();
            }
            const Answer a = layout_difference(x, y);
            differences += text(a) + a.data.dump();
        }
    expect_digest({"registers", 0x7058efef528106b4}, registers);
    expect_digest({"differences", 0xd2975e18a44a5ccc}, differences);
}

// Witnesses are searched for in the same places, and made as small.
TEST(Letters, OfEquivalence) {
    struct Pair {
        const char *x, *y;
    };
    const std::vector<std::pair<Pair, uint64_t>> expected = {
        {{"m16n8k8.f32.f16", "m16n8k16.f32.f16"}, 0x71a343b6d6f7884b},
        {{"m16n8k16.f32.bf16", "m16n8k16.f32.bf16"}, 0x78df135879ad4f8c},
        {{"m16n8k32.f32.e4m3.e4m3.f32", "m16n8k32.f32.e4m3.e4m3.f32"}, 0x0e57899f546e094f},
        {{"wmma.m16n16k8.f32.tf32", "m16n8k4.f32.tf32"}, 0x712eb42ea44f7e2d},
        {{"m8n8k4.row.col.f16.f16.f16.f16", "m16n8k8.f16.f16"}, 0x0244b48712cf5f4d},
        {{"m8n8k16.s32.s8.s8.s32", "m16n8k32.s32.s8.s8.s32"}, 0x9cbcd6fd99621556},
        {{"m8n8k4.f64", "m16n8k16.f64"}, 0x30d17ffd81372677},
        {{"m16n8k16.f32.f16", "m16n8k16.f32.bf16"}, 0x55f8f56be0065691},
    };
    for (const auto& [pair, digest_is] : expected) {
        const Instruction x = *find(pair.x, std::nullopt).instruction;
        const Instruction y = *find(pair.y, std::nullopt).instruction;
        std::vector<std::pair<Product, Product>> all;
        std::string answers;
        for (const isa::ArchRow& a : isa::arch_rows)
            for (const isa::ArchRow& b : isa::arch_rows) {
                const auto px = product_of(x, a.arch), py = product_of(y, b.arch);
                if (!px || !py || (a.arch > b.arch && all.size() > 12)) continue;
                all.emplace_back(*px, *py);
                const Answer one = equivalent({all.back()}, 40);
                answers += text(one) + one.data.dump();
            }
        ASSERT_FALSE(all.empty()) << pair.x;
        const Answer together = equivalent(all, 3);
        expect_digest({pair.x, digest_is}, answers + text(together) + together.data.dump());
    }
}

}  // namespace
}  // namespace lockwarp::lanes
