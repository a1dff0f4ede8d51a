// SPDX-License-Identifier: Apache-2.0
// What instructions give for operands that NVIDIA's assembler computes them of, against what it
// computes: data/folded.tsv, which scripts/ask_folds.py makes and describes.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "emu/num/folded.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec::folded_values_test {
namespace {

constexpr size_t cases = 10'000;
constexpr size_t edge_cases = 1'500;
constexpr size_t batch = 100;

struct Register {
    std::string name;
    unsigned width;
    std::string kind;  // "f16x2", "b32", "pred"
};

struct Line {
    size_t computed;  // cases
    uint64_t digest;
    std::string instruction;
};

struct File {
    std::map<std::string, std::vector<uint64_t>> edges;  // by kind
    std::vector<Line> lines;
};

File file() {
    std::ifstream in(LOCKWARP_SOURCE_DIR "/tests/exec/data/folded.tsv");
    File out;
    for (std::string text; std::getline(in, text);) {
        std::istringstream words(text);
        std::string first, second;
        words >> first >> second;
        if (first.empty() || first == "#") continue;
        if (first == "edges") {
            for (std::string word; words >> word;)
                out.edges[second].push_back(std::stoull(word, nullptr, 16));
        } else {
            const size_t at = text.find(' ', text.find(' ') + 1) + 1;
            out.lines.push_back(
                {std::stoul(first), std::stoull(second, nullptr, 16), text.substr(at)});
        }
    }
    return out;
}

struct FloatKind {
    unsigned width;
    unsigned fraction;
};
const std::map<std::string, FloatKind> floats{
    {"f16", {16, 10}}, {"bf16", {16, 7}}, {"f32", {32, 23}}, {"f64", {64, 52}}};
const std::map<std::string, unsigned> widths{{"pred", 1}, {"b16", 16}, {"b32", 32}, {"b64", 64}};

bool is_packed(const std::string& kind) { return kind.ends_with("x2"); }
std::string half_of(const std::string& kind) { return kind.substr(0, kind.size() - 2); }

unsigned float_width(const std::string& kind) {
    const auto at = floats.find(is_packed(kind) ? half_of(kind) : kind);
    return at == floats.end() ? 0 : at->second.width * (is_packed(kind) ? 2 : 1);
}

// The result, and the sources.
std::vector<Register> registers_of(const std::string& instruction) {
    std::vector<std::string> types;
    std::istringstream spelling(instruction.substr(0, instruction.find(' ')));
    for (std::string word; std::getline(spelling, word, '.');) types.insert(types.begin(), word);
    std::vector<Register> out;
    for (size_t at = 0; (at = instruction.find('%', at)) != std::string::npos; ++at) {
        const size_t end = instruction.find_first_of(",;|", at);
        const std::string name = instruction.substr(at, end - at);
        if (std::ranges::find(out, name, &Register::name) != out.end()) continue;
        const std::string type = name.substr(1, name.find('_') - 1);
        const unsigned width = widths.at(type);
        const auto same = std::ranges::find(types, width, float_width);
        out.push_back({name, width, same == types.end() ? type : *same});
    }
    return out;
}

// splitmix64.
class Words {
  public:
    uint64_t next() {
        uint64_t z = x_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }

  private:
    uint64_t x_ = 0;
};

uint64_t random_operand(const std::string& kind, uint64_t word, uint64_t other) {
    const auto at = floats.find(kind);
    if (at == floats.end()) {
        const unsigned width = widths.at(kind);
        const uint64_t value = word >> (64 - width) >> other % width;
        return other >> 63 != 0 ? value ^ ~uint64_t{0} >> (64 - width) : value;
    }
    const auto [width, fraction] = at->second;
    const uint64_t bits = word >> (64 - width);
    const uint64_t exponents = (uint64_t{1} << (width - fraction - 1)) - 1;
    uint64_t exponent = bits >> fraction & exponents;
    if ((other & 1) != 0)
        exponent = exponents / 2 - 8 + (other >> 1) % 16;
    else if (exponent == exponents)
        exponent = 1;
    return (bits & ~(exponents << fraction)) | exponent << fraction;
}

uint64_t operand(const std::string& kind, const File& f, bool edge, Words& words) {
    if (is_packed(kind)) {
        const uint64_t low = operand(half_of(kind), f, edge, words);
        return operand(half_of(kind), f, edge, words) << 16 | low;
    }
    const uint64_t word = words.next();
    const uint64_t other = words.next();
    if (kind == "pred") return word >> 63;
    if (!edge) return random_operand(kind, word, other);
    const std::vector<uint64_t>& list = f.edges.at(kind);
    return list[(word >> 32) % list.size()];
}

// Of each source, its values in all cases: 64 bits each.
Bytes operands_of(const std::vector<Register>& registers, const File& f) {
    Words words;
    const size_t sources = registers.size() - 1;
    std::vector<uint64_t> out(cases * sources);
    for (size_t i = 0; i < cases; ++i) {
        for (size_t k = 0; k < sources; ++k)
            out[k * cases + i] = operand(registers[k + 1].kind, f, i < edge_cases, words);
        if (i % 16 == 0 && sources > 1 && registers[1].kind == registers[2].kind)
            out[cases + i] = out[i];
    }
    Bytes bytes(out.size() * 8);
    std::memcpy(bytes.data(), out.data(), bytes.size());
    return bytes;
}

// Each thread a case; its result as 64 bits.
std::string kernel_of(const std::string& instruction, const std::vector<Register>& registers) {
    std::ostringstream text;
    text << ".version 9.0\n.target sm_90\n.address_size 64\n"
            ".entry k(.param .u64 in, .param .u64 out) {\n"
            ".reg .pred %in; .reg .b32 %x, %y; .reg .b64 %at, %out, %value;\n";
    for (const Register& r : registers)
        text << ".reg ." << (r.width == 1 ? "pred" : "b" + std::to_string(r.width)) << ' ' << r.name
             << ";\n";
    text << "mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x; mul.lo.u32 %x, %x, %y;\n"
            "mov.u32 %y, %tid.x; add.u32 %x, %x, %y;\n"
         << "setp.lt.u32 %in, %x, " << cases << "; @!%in exit; mul.wide.u32 %value, %x, 8;\n"
         << "ld.param.u64 %at, [in]; add.u64 %at, %at, %value;\n"
            "ld.param.u64 %out, [out]; add.u64 %out, %out, %value;\n";
    for (size_t k = 1; k < registers.size(); ++k) {
        const Register& r = registers[k];
        const std::string address = "[%at+" + std::to_string((k - 1) * cases * 8) + "];\n";
        if (r.width == 1)
            text << "ld.global.u32 %x, " << address << "setp.ne.u32 " << r.name << ", %x, 0;\n";
        else
            text << "ld.global.b" << r.width << ' ' << r.name << ", " << address;
    }
    const Register& d = registers[0];
    text << instruction << '\n';
    if (d.width == 1) text << "selp.b32 %x, 1, 0, " << d.name << "; cvt.u64.u32 %value, %x;\n";
    if (d.width == 16) text << "cvt.u64.u16 %value, " << d.name << ";\n";
    if (d.width == 32) text << "cvt.u64.u32 %value, " << d.name << ";\n";
    if (d.width == 64) text << "mov.b64 %value, " << d.name << ";\n";
    text << "st.global.b64 [%out], %value;\nret; }\n";
    return text.str();
}

const isa::Operation& operation_of(const isa::Program& program, uint32_t line) {
    return *std::ranges::find(program.operations, line,
                              [](const isa::Operation& o) { return o.place.line; });
}

// A digest of a batch: words of 32 bits, as the assembler itself computes it.
uint32_t digest_of(std::span<const uint64_t> values, bool wide) {
    uint32_t h = 0x811c9dc5;
    for (const uint64_t v : values) {
        h = (h ^ static_cast<uint32_t>(v)) * 0x1000193;
        if (wide) h = (h ^ static_cast<uint32_t>(v >> 32)) * 0x1000193;
    }
    return h;
}

std::vector<uint64_t> longs_of(const Bytes& bytes) {
    std::vector<uint64_t> out(bytes.size() / 8);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

// What the emulator gives of constants: of all cases that the assembler computes, in batches.
struct Answer {
    size_t computed = 0;
    uint64_t digest = 0xcbf29ce484222325;
};

Answer answer_of(const std::string& instruction, const File& f) {
    const std::vector<Register> registers = registers_of(instruction);
    const std::string text = kernel_of(instruction, registers);
    const isa::Program program = program_of(text, isa::Arch::sm_90, "k");
    const auto line = std::count(text.begin(), text.begin() + text.find("\n" + instruction), '\n');
    const isa::Operation& o = operation_of(program, static_cast<uint32_t>(line + 2));
    Given given;
    given.grid = {(cases + 255) / 256, 1, 1};
    given.block = {256, 1, 1};
    given.buffers = {operands_of(registers, f), Bytes(cases * 8)};
    const std::vector<uint64_t> operands = longs_of(given.buffers[0]);
    const std::vector<uint64_t> results = longs_of(run_well(program, given).buffers[1]);
    Answer out;
    for (size_t first = 0; first < cases; first += batch) {
        std::vector<uint64_t> values;
        for (size_t i = first; i < first + batch; ++i) {
            std::array<uint64_t, 5> x{};
            for (size_t k = 0; k + 1 < registers.size(); ++k) x[k] = operands[k * cases + i];
            const num::FoldedConstant folded = num::folded_constant(o, x, results[i]);
            if (!folded.left) values.push_back(folded.value);
        }
        out.computed += values.size();
        out.digest = (out.digest ^ digest_of(values, registers[0].width == 64)) * 0x100000001b3;
    }
    return out;
}

TEST(FoldedValues, TenThousandConstantsOfEachInstructionAsPtxasComputes) {
    const File f = file();
    EXPECT_GE(f.lines.size(), 590u);
    for (const Line& l : f.lines) {
        const Answer a = answer_of(l.instruction, f);
        EXPECT_EQ(a.computed, l.computed) << l.instruction;
        EXPECT_EQ(a.digest, l.digest) << l.instruction;
    }
}

}  // namespace
}  // namespace lockwarp::exec::folded_values_test
