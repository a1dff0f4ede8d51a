// SPDX-License-Identifier: Apache-2.0
// The video instructions, against what the PTX manual's pseudocode says of them, written down here
// a second time ("Scalar Video Instructions", "SIMD Video Instructions"), but for what an H200 does
// otherwise: "H200:" stands before each such point. Operands, their selectors and modifiers are
// drawn; every opcode, type, secondary operation and selector has its turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "emu/isa/forms.hpp"
#include "tests/exec/operands.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

__extension__ using Number = __int128;

// An instruction as it is written, part by part.
struct Written {
    std::string opcode;
    std::vector<std::string> types;      // dtype (but of vset), atype, btype
    std::vector<std::string> modifiers;  // behind the types
    std::array<std::string, 3> select;   // of d, a, b
    std::array<std::string, 3> minus;    // before a, b, c: "-" or nothing
    bool third = false;

    bool has(std::string_view m) const {
        return std::ranges::find(modifiers, m) != modifiers.end();
    }
    bool is_set() const { return opcode.starts_with("vset"); }
    bool is_sum() const { return opcode == "vadd" || opcode == "vsub"; }
    bool is_shift() const { return opcode == "vshl" || opcode == "vshr"; }
    unsigned elements() const { return opcode.back() == '2' ? 2 : opcode.back() == '4' ? 4 : 1; }
    // "vadd" of "vadd4"
    std::string operation() const {
        return elements() == 1 ? opcode : opcode.substr(0, opcode.size() - 1);
    }
    std::string text() const {
        std::string out = opcode;
        for (const std::string& t : types) out += t;
        for (const std::string& m : modifiers) out += m;
        out += " %r20" + select[0] + ", " + minus[0] + "%r10" + select[1] + ", " + minus[1] +
               "%r11" + select[2];
        return out + (third ? ", " + minus[2] + "%r12" : "");
    }
};

// Bytes [from, from + count) of a number, as one of a type.
Number part(uint64_t bits, unsigned from, unsigned count, const std::string& type) {
    Number out = 0;
    for (unsigned i = 0; i < count; ++i)
        out += static_cast<Number>(bits >> (8 * (from + i)) & 0xff) << (8 * i);
    const Number values = Number{1} << (8 * count);
    return type[1] == 's' && out >= values / 2 ? out - values : out;
}

Number in_range(Number v, unsigned bytes, const std::string& type) {
    const Number values = Number{1} << (8 * bytes);
    const Number low = type[1] == 's' ? -values / 2 : Number{0};
    if (v < low) return low;
    return v > low + values - 1 ? low + values - 1 : v;
}

// Which bytes a scalar selector names: the first and how many.
std::pair<unsigned, unsigned> bytes_of(const std::string& selector) {
    if (selector.empty()) return {0, 4};
    const auto n = static_cast<unsigned>(selector[2] - '0');
    return selector[1] == 'b' ? std::pair{n, 1u} : std::pair{2 * n, 2u};
}

Number operated(const Written& w, Number a, Number b) {
    const std::string op = w.operation();
    if (op == "vadd") return a + b;
    if (op == "vsub") return a - b;
    if (op == "vabsdiff") return a > b ? a - b : b - a;
    if (op == "vmin") return a < b ? a : b;
    if (op == "vmax") return a > b ? a : b;
    if (op == "vavrg") {
        const Number sum = a + b + (a + b < 0 ? 0 : 1);
        return sum >= 0 ? sum / 2 : -((1 - sum) / 2);
    }
    if (op == "vset") {
        const bool yes = w.has(".eq")   ? a == b
                         : w.has(".ne") ? a != b
                         : w.has(".lt") ? a < b
                         : w.has(".le") ? a <= b
                         : w.has(".gt") ? a > b
                                        : a >= b;
        return yes ? 1 : 0;
    }
    // vshl, vshr: the amount is unsigned.
    unsigned by = w.has(".wrap") ? static_cast<unsigned>(b % 32)
                                 : static_cast<unsigned>(b > 32 ? Number{32} : b);
    for (; by != 0; --by) a = op == "vshl" ? a * 2 : a >= 0 ? a / 2 : -((1 - a) / 2);
    return a;
}

uint32_t low_word(Number v) { return static_cast<uint32_t>(v & 0xffffffff); }

// What the low bits of a number say, as a signed or an unsigned one of so many bits.
Number wrapped(Number v, unsigned bits, bool is_signed) {
    const Number values = Number{1} << bits;
    v %= values;
    if (v < 0) v += values;
    return is_signed && v >= values / 2 ? v - values : v;
}

Number saturated(const Written& w, Number value, unsigned bytes, const std::string& dtype) {
    // H200: a shift's result is taken modulo 2^34 and clamped to a word, whatever d's selector.
    if (w.is_shift()) return in_range(wrapped(value, 34, true), 4, dtype);
    // H200: what is below 0 is too large for a byte or a half.
    const Number largest = in_range(Number{1} << 40, bytes, dtype);
    if (bytes < 4) return value < 0 || value > largest ? largest : value;
    // H200: .u32 has no upper end.
    if (dtype == ".u32") return value < 0 ? Number{0} : value;
    return in_range(value, 4, dtype);
}

// d, of an instruction on one value.
uint32_t scalar(const Written& w, uint32_t a, uint32_t b, uint32_t c) {
    const std::string& dtype = w.types[0];  // H200: that of vset is a's type, for c
    const size_t first = w.is_set() ? 0 : 1;
    const auto [a_from, a_count] = bytes_of(w.select[1]);
    const auto [b_from, b_count] = bytes_of(w.select[2]);
    const auto [d_from, d_count] = bytes_of(w.select[0]);
    Number value = operated(w, part(a, a_from, a_count, w.types[first]),
                            part(b, b_from, b_count, w.types[first + 1]));
    if (w.has(".sat")) value = saturated(w, value, d_count, dtype);
    const uint32_t word = low_word(value);
    if (w.has(".add")) return word + c;
    if (w.has(".min") || w.has(".max")) {
        // H200: of sums, and of shifts with .sat, the low word with its sign is compared; numbers
        // of 64 bits are, as d's type has them.
        if (w.is_sum() || (w.is_shift() && w.has(".sat"))) value = wrapped(value, 32, true);
        value = wrapped(value, 64, dtype == ".s32");
        return (value < part(c, 0, 4, dtype)) == w.has(".min") ? word : c;
    }
    uint32_t out = c;
    for (unsigned i = d_from; i < d_from + d_count; ++i) {
        // H200: of the result's two halves it is the one of d's selector.
        const unsigned byte = d_count == 1 ? 0 : i;
        out = (out & ~(0xffu << (8 * i))) | (word >> (8 * byte) & 0xff) << (8 * i);
    }
    return out;
}

uint32_t multiplied(const Written& w, uint32_t a, uint32_t b, uint32_t c) {
    const bool negates = w.minus[0] != w.minus[1];
    const bool is_signed =
        w.types[1] == ".s32" || w.types[2] == ".s32" || negates || !w.minus[2].empty();
    // H200: a whole word is a signed factor, and c is signed, whatever the types.
    const auto factor = [&](uint32_t bits, size_t i) {
        const auto [from, count] = bytes_of(w.select[i]);
        return part(bits, from, count, count == 4 ? ".s32" : w.types[i]);
    };
    const Number product = factor(a, 1) * factor(b, 2);
    const Number other = part(c, 0, 4, ".s32");
    Number value = (negates ? -product : product) + (w.minus[2].empty() ? other : -other) +
                   (w.has(".po") ? 1 : 0);
    unsigned by = w.has(".shr7") ? 7 : w.has(".shr15") ? 15 : 0;
    // H200: an unsigned sum below 0 is shifted as its 64 bits.
    if (by != 0) value = wrapped(value, 64, is_signed);
    for (; by != 0; --by) value = value >= 0 ? value / 2 : -((1 - value) / 2);
    return low_word(w.has(".sat") ? in_range(value, 4, is_signed ? ".s32" : ".u32") : value);
}

// d, of an instruction on two or four values side by side.
uint32_t side_by_side(const Written& w, uint32_t a, uint32_t b, uint32_t c) {
    const unsigned elements = w.elements();
    const unsigned bytes = 4 / elements;
    const std::string dtype = w.is_set() ? ".u32" : w.types[0];
    const size_t first = w.is_set() ? 0 : 1;
    // The defaults that the manual gives.
    const std::string all = elements == 2 ? "10" : "3210";
    const auto digits = [](const std::string& s, const std::string& otherwise) {
        return s.empty() ? otherwise : s.substr(2);
    };
    const std::string of_d = digits(w.select[0], all);
    const std::string of_a = digits(w.select[1], all);
    const std::string of_b = digits(w.select[2], elements == 2 ? "32" : "7654");
    const uint64_t both = uint64_t{b} << 32 | a;
    Number sum = c;
    uint32_t merged = c;
    for (unsigned i = 0; i < elements; ++i) {
        if (of_d.find(static_cast<char>('0' + i)) == std::string::npos) continue;
        const auto source = [&](const std::string& which, const std::string& type) {
            const auto n = static_cast<unsigned>(which[elements - 1 - i] - '0');
            return part(both, n * bytes, bytes, type);
        };
        Number value = operated(w, source(of_a, w.types[first]), source(of_b, w.types[first + 1]));
        if (w.has(".sat")) value = in_range(value, bytes, dtype);
        sum += value;
        const uint32_t ones = elements == 2 ? 0xffff : 0xff;
        merged = (merged & ~(ones << (8 * bytes * i))) | (low_word(value) & ones)
                                                             << (8 * bytes * i);
    }
    return w.has(".add") ? low_word(sum) : merged;
}

uint32_t defined(const Written& w, uint32_t a, uint32_t b, uint32_t c) {
    if (w.opcode == "vmad") return multiplied(w, a, b, c);
    return w.elements() == 1 ? scalar(w, a, b, c) : side_by_side(w, a, b, c);
}

using Random = std::mt19937_64;

template <class T>
const T& any(Random& r, const std::vector<T>& of) {
    return of[r() % of.size()];
}

const std::vector<std::string> signs{".u32", ".s32"};
const std::vector<std::string> parts{"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
const std::vector<std::string> comparisons{".eq", ".ne", ".lt", ".le", ".gt", ".ge"};

std::string drawn_pick(Random& r, unsigned elements) {
    std::string out = elements == 2 ? ".h" : ".b";
    for (unsigned i = 0; i < elements; ++i) out += static_cast<char>('0' + r() % (2 * elements));
    return out == ".b1024" ? ".b1025" : out;
}

std::string drawn_mask(Random& r, unsigned elements) {
    std::string out = elements == 2 ? ".h" : ".b";
    const uint64_t mask = 1 + r() % ((1u << elements) - 1);
    for (unsigned i = elements; i-- > 0;)
        if (mask >> i & 1) out += static_cast<char>('0' + i);
    return out;
}

Written drawn(Random& r, const std::string& opcode) {
    Written w;
    w.opcode = opcode;
    for (int i = w.is_set() ? 1 : 0; i < 3; ++i) w.types.push_back(any(r, signs));
    if (w.is_set()) w.modifiers.push_back(any(r, comparisons));
    if (w.elements() != 1) {
        w.third = true;
        const uint64_t how = r() % 3;
        if (how == 1) w.modifiers.emplace_back(".add");
        if (how == 2 && !w.is_set()) w.modifiers.emplace_back(".sat");
        if (r() % 2 == 0) w.select[0] = drawn_mask(r, w.elements());
        for (size_t i = 1; i < 3; ++i)
            if (r() % 2 == 0) w.select[i] = drawn_pick(r, w.elements());
        return w;
    }
    for (size_t i = 1; i < 3; ++i) w.select[i] = any(r, parts);
    if (opcode == "vmad") {
        w.third = true;
        const bool plus_one = r() % 4 == 0;
        if (plus_one) w.modifiers.emplace_back(".po");
        switch (r() % (plus_one ? 2 : 5)) {
            case 0:
                break;
            case 1:
                w.minus[0] = w.minus[1] = "-";
                if (!plus_one && r() % 2 == 0) w.minus[2] = "-";
                break;
            default:
                w.minus[r() % 3] = "-";
        }
        if (r() % 2 == 0) w.modifiers.emplace_back(".sat");
        if (r() % 3 != 0) w.modifiers.emplace_back(r() % 2 == 0 ? ".shr7" : ".shr15");
        return w;
    }
    const bool shifts = opcode == "vshl" || opcode == "vshr";
    if (shifts) w.types[2] = ".u32";
    if (!w.is_set() && r() % 2 == 0) w.modifiers.emplace_back(".sat");
    if (shifts) w.modifiers.emplace_back(r() % 2 == 0 ? ".clamp" : ".wrap");
    switch (r() % 3) {
        case 0:
            break;
        case 1:
            w.third = true;
            w.modifiers.push_back(any(r, std::vector<std::string>{".add", ".min", ".max"}));
            break;
        default:
            w.third = true;
            w.select[0] = parts[1 + r() % (parts.size() - 1)];
    }
    return w;
}

std::vector<std::string> video_opcodes() {
    std::vector<std::string> out{"vadd", "vsub", "vabsdiff", "vmin", "vmax",
                                 "vset", "vshl", "vshr",     "vmad"};
    for (const char* op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"})
        for (const char* elements : {"2", "4"}) out.push_back(std::string(op) + elements);
    return out;
}

// Numbers whose bytes and halves stand at their edges, and random ones.
std::vector<Triple> operands() {
    constexpr std::array<uint8_t, 8> edges{0x00, 0x01, 0x1f, 0x20, 0x7f, 0x80, 0xfe, 0xff};
    Random r(5);
    std::vector<Triple> out;
    for (int i = 0; i < 500; ++i) {
        Triple t{};
        for (uint64_t& v : t)
            for (int byte = 0; byte < 4; ++byte) v = v << 8 | edges[r() % edges.size()];
        out.push_back(t);
        out.push_back({r() & 0xffffffff, r() & 0xffffffff, r() & 0xffffffff});
        out.push_back({edges[i % 8], edges[i / 8 % 8], static_cast<uint32_t>(r())});
    }
    return out;
}

class Video : public testing::TestWithParam<std::string> {};

TEST_P(Video, GivesWhatIsDefined) {
    static const std::vector<Triple> given = operands();
    Random r(17);
    std::set<std::string> written;
    std::map<std::string, unsigned> turns;
    size_t wrong = 0;
    for (int i = 0; i < 150; ++i) {
        const Written w = drawn(r, GetParam());
        if (!written.insert(w.text()).second) continue;
        for (const auto& [part, list] : {std::pair{"type", w.types}, {"modifier", w.modifiers}})
            for (size_t n = 0; n < list.size(); ++n) ++turns[part + std::to_string(n) + list[n]];
        const std::vector<uint64_t> actual =
            answers(w.text() + ";\ncvt.u64.u32 %rd20, %r20;\n", given);
        for (size_t k = 0; k < given.size(); ++k) {
            const auto a = static_cast<uint32_t>(given[k][0]);
            const auto b = static_cast<uint32_t>(given[k][1]);
            const auto c = static_cast<uint32_t>(given[k][2]);
            const uint32_t right = defined(w, a, b, c);
            if (actual[k] != right && wrong++ < 3)
                ADD_FAILURE() << w.text() << std::hex << "\n  of 0x" << a << ", 0x" << b << ", 0x"
                              << c << ": 0x" << actual[k] << ", expected 0x" << right;
        }
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(written.size(), 100u);
    for (const auto& [what, count] : turns) EXPECT_GT(count, 2u) << what;
}

std::string opcode_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Opcodes, Video, testing::ValuesIn(video_opcodes()), opcode_name);

// One case for each way in which an H200 (driver 580.159.04) departs from the manual's pseudocode.
TEST(VideoDepartures, AreWhatAnH200Gave) {
    const struct {
        const char* text;
        uint32_t a, b, c;
        uint32_t h200;
        uint32_t manual;
    } cases[] = {
        {"vadd.u32.u32.u32.max %r20, %r10, %r11, %r12", 0xffffffff, 0x2, 0x5, 0x5, 0x1},
        {"vadd.u32.u32.u32.max %r20, %r10, %r11, %r12", 0x80000000, 0x0, 0xffffffff, 0x80000000,
         0xffffffff},
        {"vsub.s32.s32.s32.min %r20, %r10, %r11, %r12", 0x80000000, 0x1, 0x0, 0x0, 0x7fffffff},
        {"vmax.u32.s32.s32.min %r20, %r10, %r11, %r12", 0xffffffff, 0xfffffffe, 0x5, 0x5,
         0xffffffff},
        {"vset.s32.s32.lt.max %r20, %r10, %r11, %r12", 0x0, 0x1, 0x80000000, 0x1, 0x80000000},
        {"vadd.u32.u32.u32.sat %r20, %r10, %r11, %r12", 0xffffffff, 0x2, 0x0, 0x1, 0xffffffff},
        {"vabsdiff.u32.u32.s32.sat.max %r20, %r10, %r11, %r12", 0xffffffff, 0x80000000, 0x5,
         0x7fffffff, 0xffffffff},
        {"vmad.u32.s32.u32.sat %r20, %r10, %r11, %r12", 0x1, 0xffffffff, 0x0, 0xffffffff,
         0x7fffffff},
        {"vshl.s32.s32.u32.sat.clamp %r20, %r10, %r11, %r12", 0x80000000, 0x20, 0x0, 0x0,
         0x80000000},
        {"vadd.s32.s32.s32.sat %r20.b1, %r10, %r11, %r12", 0xfffffff0, 0x0, 0x0, 0x7f00, 0xf000},
        {"vmin.u32.s32.s32.sat %r20.h0, %r10, %r11, %r12", 0xffffffff, 0x0, 0x0, 0xffff, 0x0},
        {"vadd.u32.u32.u32 %r20.h1, %r10, %r11, %r12", 0x12340000, 0x5678, 0x9abcdef0, 0x1234def0,
         0x5678def0},
        {"vset.u32.u32.lt %r20.h1, %r10, %r11, %r12", 0x1, 0x2, 0x0, 0x0, 0x10000},
        {"vshl.u32.u32.u32.wrap %r20.h1, %r10, %r11, %r12", 0x2000, 0x0, 0x0, 0x0, 0x20000000},
        {"vshl.u32.u32.u32.sat.wrap %r20, %r10, %r11, %r12", 0x80000000, 0x3, 0x0, 0x0, 0xffffffff},
        {"vshl.u32.u32.u32.sat.wrap %r20, %r10, %r11, %r12", 0x80000000, 0x2, 0x0, 0x0, 0xffffffff},
        {"vshl.s32.u32.u32.sat.wrap %r20.b1, %r10, %r11, %r12", 0x40000000, 0x1, 0x0, 0xff00,
         0x7f00},
        {"vshl.u32.s32.u32.sat.wrap.min %r20, %r10, %r11, %r12", 0x40000000, 0x1, 0xffffffff,
         0xffffffff, 0x80000000},
        {"vshr.u32.u32.u32.sat.wrap.max %r20, %r10, %r11, %r12", 0x80000000, 0x0, 0xffffffff,
         0x80000000, 0xffffffff},
        {"vmad.u32.u32.u32.shr7 %r20, %r10, %r11, %r12", 0x0, 0x0, 0x80000000, 0xff000000,
         0x1000000},
        {"vmad.u32.u32.u32.po.sat.shr7 %r20, %r10, %r11, %r12", 0x0, 0x0, 0x80000000, 0xffffffff,
         0x1000000},
        {"vmad.u32.u32.u32.sat %r20, %r10, %r11, %r12", 0xffffffff, 0xffffffff, 0x0, 0x1, 0x0},
        {"vmad.u32.u32.u32.sat %r20, %r10, %r11, %r12", 0xffffffff, 0x2, 0x0, 0x0, 0xffffffff},
    };
    for (const auto& [text, a, b, c, h200, manual] : cases) {
        const std::vector<uint64_t> actual =
            answers(std::string(text) + ";\ncvt.u64.u32 %rd20, %r20;\n", {{a, b, c}});
        EXPECT_EQ(actual.at(0), h200) << text;
        EXPECT_NE(h200, manual) << text;
    }
}

TEST(VideoOpcodes, AreThoseOfTheForms) {
    std::set<std::string> forms;
    for (const isa::Form& f : isa::forms())
        if (f.operands.find("Yd") != std::string_view::npos) forms.emplace(f.opcode);
    const std::vector<std::string> tested = video_opcodes();
    EXPECT_EQ(forms, std::set<std::string>(tested.begin(), tested.end()));
}

// A definition of another instruction is told from it.
TEST(VideoDefinitions, AreToldApart) {
    const std::vector<Triple> given = operands();
    Random r(3);
    for (const auto& [opcode, other] : {std::pair{"vadd2", "vavrg2"},
                                        {"vabsdiff", "vsub"},
                                        {"vmin4", "vmax4"},
                                        {"vshl", "vshr"}}) {
        Written w = drawn(r, opcode);
        const std::vector<uint64_t> actual =
            answers(w.text() + ";\ncvt.u64.u32 %rd20, %r20;\n", given);
        w.opcode = other;
        size_t different = 0;
        for (size_t k = 0; k < given.size(); ++k)
            different += actual[k] != defined(w, static_cast<uint32_t>(given[k][0]),
                                              static_cast<uint32_t>(given[k][1]),
                                              static_cast<uint32_t>(given[k][2]));
        EXPECT_GT(different, 0u) << opcode << " as " << other;
    }
}

}  // namespace

}  // namespace lockwarp::exec
