// SPDX-License-Identifier: Apache-2.0
// Every variant of mma on every architecture, run as PTX, against the second definition of its
// arithmetic (tests/num/dot_oracle.hpp) and against the manual's own formulas of which lane holds
// which element (PTX manual, "Matrix Fragments for mma..."), written here once more.
//
// LOCKWARP_TEST_SCALE multiplies the number of products: 1000 gives a million results a variant.
#include <map>
#include <set>

#include "emu/exec/context.hpp"
#include "emu/num/dot.hpp"
#include "tests/exec/support.hpp"
#include "tests/num/dot_oracle.hpp"
#include "tests/num/inputs.hpp"

namespace lockwarp::exec {

namespace {

using isa::Type;
using num::testing::InputClass;

enum class Matrix : uint8_t { a, b, d };

struct Place {
    unsigned row, column;  // A: m, k   B: n, k   D: m, n
};

// Element `i` of a lane, for the shapes that a whole warp computes: g and t are the manual's
// groupID and threadID_in_group.
Place place_of(const isa::MmaVariant& v, Matrix matrix, unsigned width, unsigned lane, unsigned i) {
    const unsigned g = lane / 4;
    const unsigned t = lane % 4;
    if (matrix == Matrix::d) return {g + 8 * (i / 2), 2 * t + i % 2};
    const unsigned each = width >= 32 ? 1 : 32 / width;  // elements in a register
    const unsigned n = i / each;
    const unsigned within = t * each + i % each;
    if (matrix == Matrix::b || v.m == 8) return {g, n * 4 * each + within};
    return {g + 8 * (n % 2), n / 2 * 4 * each + within};
}

// The same for mma.m8n8k4 of f16, within the lane's quad-pair.
Place volta_place(const isa::MmaVariant& v, Matrix matrix, Type type, unsigned lane, unsigned i) {
    const unsigned high = lane < 16 ? 0 : 4;
    if (matrix == Matrix::d && type == Type::f32)
        return {(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
    if (matrix == Matrix::d) return {lane % 4 + high, i};
    const isa::Order along = matrix == Matrix::a ? isa::Order::row : isa::Order::col;
    const isa::Order order = matrix == Matrix::a ? v.a_order : v.b_order;
    return order == along ? Place{lane % 4 + high, i} : Place{i + high, lane % 4};
}

// Bits that an element of A or B has: those of .kind::f8f6f4 and mxf8f6f4 stand in bytes.
unsigned held(const isa::MmaVariant& v, Type type) {
    const bool in_bytes = v.kind == isa::MmaKind::f8f6f4 || v.kind == isa::MmaKind::mxf8f6f4;
    return in_bytes && isa::bits(type) < 8 ? 8 : isa::bits(type);
}

// One operand in the registers of the warp: register by register, lane by lane.
struct Registers {
    Type type;
    unsigned held;   // bits of an element
    unsigned count;  // of registers

    unsigned width() const { return isa::bits(type) == 64 ? 64 : 32; }
    unsigned each() const { return width() / held; }
    // Four bits in a byte are its bits 2 to 5, six its bits 0 to 5 (PTX manual, "mma").
    unsigned below() const { return held == 8 && isa::bits(type) == 4 ? 2 : 0; }
    size_t words() const { return size_t{count} * width(); }
};

struct Shape {
    Registers a, b, c, d;
    size_t in_words() const { return a.words() + b.words() + c.words() + 3 * 32; }
};

Shape shape_of(const isa::MmaVariant& v) {
    const auto registers = [&](Type type, unsigned rows, unsigned columns) {
        // A quad-pair has eight lanes for a matrix.
        const unsigned lanes = v.threads == isa::Threads::quad_pairs ? 8 : 32;
        const unsigned width = isa::bits(type) == 64 ? 64 : 32;
        return Registers{type, held(v, type), rows * columns * held(v, type) / lanes / width};
    };
    return {registers(v.a, v.m, v.stored_k()), registers(v.b, v.n, v.k), registers(v.c, v.m, v.n),
            registers(v.d, v.m, v.n)};
}

Place place_of(const isa::MmaVariant& v, Matrix matrix, Type type, unsigned lane, unsigned i) {
    return v.threads == isa::Threads::quad_pairs ? volta_place(v, matrix, type, lane, i)
                                                 : place_of(v, matrix, held(v, type), lane, i);
}

unsigned product_of(const isa::MmaVariant& v, unsigned lane) {
    return v.threads == isa::Threads::quad_pairs ? lane % 16 / 4 : 0;
}

// Calls visit(product, place, word, shift) for each element of an operand; `word` counts from the
// operand's first.
template <class Visit>
void each_element(const isa::MmaVariant& v, Matrix matrix, const Registers& r, Visit visit) {
    for (unsigned n = 0; n < r.count; ++n)
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned e = 0; e < r.each(); ++e)
                visit(product_of(v, lane), place_of(v, matrix, r.type, lane, n * r.each() + e),
                      size_t{n} * r.width() + lane * (r.width() / 32), e * r.held + r.below());
}

std::string registers_text(const char* prefix, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
        text += (i == 0 ? "%" : ", %") + std::string(prefix) + std::to_string(i);
    return text + "}";
}

// The key holds the modifiers in the order of the instruction.
std::string spelling_of(const isa::MmaVariant& v, bool satfinite) {
    std::string text{v.key};
    if (v.ordered) text.insert(text.find(".sp") + 3, "::ordered_metadata");
    const size_t shape = text.find(".m");
    text.insert(shape, ".sync.aligned");
    const size_t types = text.find('.', shape + 15);
    if (v.threads == isa::Threads::warp) text.insert(types, ".row.col");
    if (satfinite) text.insert(types + 8, ".satfinite");
    return text;
}

// What a module's .target is, for the machine: with a suffix where the variant wants one.
std::string target_of(const isa::MmaVariant& v, const isa::ArchRow& arch) {
    return std::string(arch.name) + (v.suffix() == isa::Suffix::a   ? "a"
                                     : v.suffix() == isa::Suffix::f ? "f"
                                                                    : "");
}

// Which lanes and bytes give what rows and columns have beside their elements.
struct Selectors {
    unsigned metadata = 0;
    std::array<unsigned, 2> byte{}, thread{};  // of the factors of A, and of B
    bool in_registers = false;
};

std::string ids_text(const Selectors& s, size_t which) {
    if (s.in_registers) return which == 0 ? "{%h0, %h1}" : "{%h2, %h3}";
    return "{" + std::to_string(s.byte.at(which)) + ", " + std::to_string(s.thread.at(which)) + "}";
}

// A kernel k(in, out): CTA i takes words [i * in_words, ...) and gives D.
std::string module_of(const isa::MmaVariant& v, const isa::ArchRow& arch, bool satfinite,
                      const Selectors& selectors) {
    const Shape shape = shape_of(v);
    std::string declarations;
    std::string loads;
    size_t word = 0;
    const auto take = [&](const char* prefix, const Registers& r) {
        declarations += "    .reg .b" + std::to_string(r.width()) + " %" + prefix + "<" +
                        std::to_string(r.count) + ">;\n";
        for (unsigned i = 0; i < r.count; ++i, word += r.width())
            loads += "    ld.global.b" + std::to_string(r.width()) + " %" + prefix +
                     std::to_string(i) + ", [%rd" + (r.width() == 64 ? "8" : "4") + "+" +
                     std::to_string(4 * word) + "];\n";
    };
    take("a", shape.a);
    take("b", shape.b);
    take("c", shape.c);
    for (const char* name : {"%e", "%sa", "%sb"}) {
        loads += "    ld.global.b32 " + std::string(name) + ", [%rd4+" + std::to_string(4 * word) +
                 "];\n";
        word += 32;
    }
    std::string stores;
    for (unsigned i = 0; i < shape.d.count; ++i)
        stores += "    st.global.b" + std::to_string(shape.d.width()) + " [%rd" +
                  (shape.d.width() == 64 ? "9" : "5") + "+" +
                  std::to_string(4 * i * shape.d.width()) + "], %d" + std::to_string(i) + ";\n";
    std::string rest = v.sparse ? ", %e, " + std::to_string(selectors.metadata) : "";
    if (v.scales != 0)
        rest += ", {%sa}, " + ids_text(selectors, 0) + ", %sb, " + ids_text(selectors, 1);
    // Of registers the low bits are taken.
    if (selectors.in_registers)
        loads += "    .reg .u16 %h<4>; mov.u16 %h0, " + std::to_string(selectors.byte[0] + 4) +
                 "; mov.u16 %h1, " + std::to_string(selectors.thread[0] + 0xa00) +
                 "; mov.u16 %h2, " + std::to_string(selectors.byte[1] + 0xfff0) +
                 "; mov.u16 %h3, " + std::to_string(selectors.thread[1] + 0x7f04) + ";\n";
    return ".version 9.0\n.target " + target_of(v, arch) +
           "\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n" +
           "    .reg .b64 %rd<10>; .reg .b32 %t<3>, %e, %sa, %sb;\n" + declarations +
           "    .reg .b" + std::to_string(shape.d.width()) + " %d<" +
           std::to_string(shape.d.count) + ">;\n" +
           "    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
           "    mov.u32 %t1, %tid.x; mov.u32 %t2, %ctaid.x; mul.wide.u32 %rd3, %t1, 4;\n"
           "    mad.wide.u32 %rd6, %t2, " +
           std::to_string(4 * shape.in_words()) + ", %rd1; mad.wide.u32 %rd7, %t2, " +
           std::to_string(4 * shape.d.words()) +
           ", %rd2;\n"
           "    add.u64 %rd4, %rd6, %rd3; add.u64 %rd5, %rd7, %rd3;\n"
           "    add.u64 %rd8, %rd4, %rd3; add.u64 %rd9, %rd5, %rd3;\n" +
           loads + "    " + spelling_of(v, satfinite) + " " + registers_text("d", shape.d.count) +
           ", " + registers_text("a", shape.a.count) + ", " + registers_text("b", shape.b.count) +
           ", " + registers_text("c", shape.c.count) + rest + ";\n" + stores + "    ret;\n}\n";
}

uint64_t element_at(const Words& words, size_t base, size_t word, unsigned shift, Type type) {
    const uint64_t low = words[base + word] >> shift;
    const unsigned width = isa::bits(type);
    if (width == 64) return low | uint64_t{words[base + word + 1]} << 32;
    return low & ((uint64_t{1} << width) - 1);
}

void put(Words& words, size_t base, size_t word, unsigned shift, Type type, uint64_t bits) {
    words[base + word] |= static_cast<uint32_t>(bits) << shift;
    if (isa::bits(type) == 64) words[base + word + 1] = static_cast<uint32_t>(bits >> 32);
}

// Of each group of four places in a row of A, which two are there. PTX manual, "Sparse matrix
// storage"; the lanes as an H200 reads them.
struct Metadata {
    unsigned groups = 0;
    bool wide = false;             // elements of 16 and 32 bits
    std::vector<uint8_t> nibbles;  // row by row

    void put(Words& words, size_t base, unsigned selector) const {
        for (unsigned row = 0; row < 16; ++row)
            for (unsigned group = 0; group < groups; ++group) {
                const unsigned quad = row % 8;
                const unsigned high = row / 8;
                unsigned lane = 4 * quad;
                unsigned shift = 0;
                if (groups == 4) {  // one lane of four has both rows
                    lane += selector;
                    shift = 16 * high + 4 * group;
                } else if (groups == 8 && wide) {  // one of two lanes has half of both rows
                    lane += 2 * selector + group / 4;
                    shift = 16 * high + 4 * (group % 4);
                } else if (groups == 8) {  // one of two lanes has a row
                    lane += 2 * selector + high;
                    shift = 4 * group;
                } else {
                    lane += high + 2 * (group / 8);
                    shift = 4 * (group % 8);
                }
                words[base + lane] |= uint32_t{nibbles[row * groups + group]} << shift;
            }
    }
};

// The element of the whole row that stored element i is, or what an H100 makes of one where the
// metadata says no such thing.
uint64_t in_whole_row(const isa::MmaVariant& v, const uint8_t* nibbles, unsigned i,
                      const uint64_t* row) {
    const auto place = [&](unsigned stored) {
        return 4 * (stored / 2) + (nibbles[stored / 2] >> (2 * (stored % 2)) & 3u);
    };
    if (v.a == Type::tf32) {  // two places an element, one for each half
        const auto half = [&](unsigned at) { return row[at / 2] >> 16 * (at % 2) & 0xFFFF; };
        return half(place(2 * i + 1)) << 16 | half(place(2 * i));
    }
    return row[held(v, v.a) == 4 ? 2 * place(i / 2) + i % 2 : place(i)];
}

struct Product {
    num::testing::Operands x;  // A with its stored elements only
    Metadata metadata;
    std::vector<uint8_t> factors_a, factors_b;
};

class MatrixDefinition {
  public:
    MatrixDefinition(const isa::MmaVariant& v, const isa::ArchRow& arch)
        : v_(v),
          arch_(arch),
          shape_(shape_of(v)),
          row_(num::find_dot_row(arch.arch, v.m, v.n, v.k, v.a, v.d, v.kind)) {}

    void check(InputClass input, bool satfinite, const Selectors& selectors, unsigned cases,
               uint64_t seed) {
        ASSERT_NE(row_, nullptr) << v_.key << " on " << arch_.name;
        num::testing::Random random(seed);
        const num::MatrixTypes types{v_.a, v_.b, v_.c, v_.d, satfinite, v_.combine};
        const unsigned products = v_.threads == isa::Threads::quad_pairs ? 4 : 1;
        Words in(shape_.in_words() * cases);
        std::vector<Product> given;
        for (unsigned i = 0; i < cases; ++i)
            for (unsigned q = 0; q < products; ++q) given.push_back(make(input, types, random));
        for (unsigned i = 0; i < cases; ++i)
            place(in, i, &given[size_t{i} * products], selectors, random);
        const isa::Program program =
            program_of(module_of(v_, arch_, satfinite, selectors), arch_.arch, "k");
        Given launch;
        launch.arch = arch_.arch;
        launch.grid.x = cases;
        launch.buffers = {bytes_of(in), Bytes(4 * shape_.d.words() * cases)};
        const Words out = words_of(run_well(program, launch).buffers[1]);
        size_t different = 0;
        for (unsigned i = 0; i < cases; ++i)
            each_element(
                v_, Matrix::d, shape_.d, [&](unsigned q, Place at, size_t word, unsigned shift) {
                    const uint64_t actual =
                        element_at(out, i * shape_.d.words(), word, shift, v_.d);
                    const uint64_t expected = element(given[size_t{i} * products + q], types, at);
                    ++compared;
                    if (actual == expected || different++ >= 3) return;
                    ADD_FAILURE() << v_.key << " on " << arch_.name << ", " << name(input)
                                  << (satfinite ? ", satfinite" : "") << ", D[" << at.row << "]["
                                  << at.column << "] = 0x" << std::hex << actual << ", expected 0x"
                                  << expected;
                });
        EXPECT_EQ(different, 0u) << v_.key << " on " << arch_.name;
    }

    size_t compared = 0;

  private:
    Product make(InputClass input, num::MatrixTypes types, num::testing::Random& random) const {
        const auto k = static_cast<int>(v_.k);
        Product p{num::testing::make_operands(input, {v_.m, v_.n, k}, types, random), {}, {}, {}};
        if (v_.scales != 0) {
            p.factors_a = num::testing::make_factors(input, v_.scale, v_.m * v_.scales, random);
            p.factors_b = num::testing::make_factors(input, v_.scale, v_.n * v_.scales, random);
        }
        if (!v_.sparse) return p;
        p.metadata.groups = v_.k * (v_.a == Type::tf32 ? 2 : 1) / (held(v_, v_.a) == 4 ? 8 : 4);
        p.metadata.wide = isa::bits(v_.a) >= 16;
        constexpr std::array<uint8_t, 6> any{4, 14, 8, 9, 12, 13};
        const bool is_wrong = random() % 4 == 0;
        for (unsigned i = 0; i < 16 * p.metadata.groups; ++i)
            p.metadata.nibbles.push_back(is_wrong ? static_cast<uint8_t>(random() % 16)
                                                  : any[random() % (v_.a == Type::tf32 ? 2 : 6)]);
        std::vector<uint64_t> stored;
        for (unsigned row = 0; row < v_.m; ++row)
            for (unsigned i = 0; i < v_.k / 2u; ++i)
                stored.push_back(
                    in_whole_row(v_, nibbles_of(p, row), i, &p.x.a[size_t{row} * v_.k]));
        p.x.a = std::move(stored);
        return p;
    }

    static const uint8_t* nibbles_of(const Product& p, unsigned row) {
        return &p.metadata.nibbles[size_t{row} * p.metadata.groups];
    }

    // Padding is not read, and neither are the metadata and factors of other lanes and bytes.
    static uint32_t around(const Registers& r, num::testing::Random& random) {
        if (r.held == isa::bits(r.type)) return 0;
        uint32_t elements = 0;
        for (unsigned e = 0; e < r.each(); ++e)
            elements |= ((1u << isa::bits(r.type)) - 1) << (e * r.held + r.below());
        return static_cast<uint32_t>(random()) & ~elements;
    }

    // PTX manual, "Block scaling for mma.sync": row g of A by lane 4g or 4g + 2, row g + 8 by the
    // lane behind it, column g of B by one of the lanes 4g to 4g + 3.
    void put_factors(Words& in, size_t base, const Product& p, const Selectors& s,
                     num::testing::Random& random) const {
        for (size_t i = 0; i < 64; ++i) in[base + i] = static_cast<uint32_t>(random());
        const auto put_byte = [&](size_t word, size_t byte, uint8_t value) {
            in[word] &= ~(0xFFu << 8 * byte);
            in[word] |= uint32_t{value} << 8 * byte;
        };
        for (size_t i = 0; i < v_.scales; ++i) {
            for (size_t row = 0; row < 16; ++row)
                put_byte(base + row % 8 * 4 + s.thread[0] * 2 + (row < 8 ? 0 : 1), s.byte[0] + i,
                         p.factors_a[row * v_.scales + i]);
            for (size_t column = 0; column < 8; ++column)
                put_byte(base + 32 + column * 4 + s.thread[1], s.byte[1] + i,
                         p.factors_b[column * v_.scales + i]);
        }
    }

    void place(Words& in, unsigned i, const Product* products, const Selectors& selectors,
               num::testing::Random& random) const {
        size_t base = i * shape_.in_words();
        for (size_t word = 0; word < shape_.a.words(); ++word)
            in[base + word] = around(shape_.a, random);
        for (size_t word = 0; word < shape_.b.words(); ++word)
            in[base + shape_.a.words() + word] = around(shape_.b, random);
        each_element(v_, Matrix::a, shape_.a, [&](unsigned q, Place at, size_t word, unsigned s) {
            put(in, base, word, s, v_.a, products[q].x.a[at.row * v_.stored_k() + at.column]);
        });
        base += shape_.a.words();
        each_element(v_, Matrix::b, shape_.b, [&](unsigned q, Place at, size_t word, unsigned s) {
            put(in, base, word, s, v_.b, products[q].x.b[at.row * v_.k + at.column]);
        });
        base += shape_.b.words();
        each_element(v_, Matrix::d, shape_.c, [&](unsigned q, Place at, size_t word, unsigned s) {
            put(in, base, word, s, v_.c, products[q].x.c[at.row * v_.n + at.column]);
        });
        base += shape_.c.words();
        if (v_.sparse) products[0].metadata.put(in, base, selectors.metadata);
        base += 32;
        if (v_.scales != 0) put_factors(in, base, products[0], selectors, random);
    }

    uint64_t element(const Product& p, num::MatrixTypes types, Place at) const {
        const unsigned k = v_.stored_k();
        const uint64_t* const a = &p.x.a[at.row * k];
        const uint64_t* const b = &p.x.b[at.column * v_.k];
        std::vector<uint64_t> chosen(b, b + k);
        for (unsigned i = 0; v_.sparse && i < k; ++i)
            chosen[i] = in_whole_row(v_, nibbles_of(p, at.row), i, b);
        if (v_.scales != 0) {
            const auto factors = [&](const std::vector<uint8_t>& all, size_t of) {
                const auto first = all.begin() + static_cast<std::ptrdiff_t>(of * v_.scales);
                return std::vector<uint8_t>(first, first + v_.scales);
            };
            return num::testing::scaled_oracle_element(
                *row_, types, v_.scale, static_cast<int>(k), a, chosen.data(),
                factors(p.factors_a, at.row), factors(p.factors_b, at.column),
                p.x.c[at.row * v_.n + at.column]);
        }
        return num::testing::oracle_element(*row_, types, static_cast<int>(k), a, chosen.data(),
                                            p.x.c[at.row * v_.n + at.column]);
    }

    const isa::MmaVariant& v_;
    const isa::ArchRow& arch_;
    Shape shape_;
    const num::DotRow* row_;
};

struct Named {
    const isa::MmaVariant* variant;
};

void PrintTo(const Named& named, std::ostream* out) { *out << named.variant->key; }

class Variants : public testing::TestWithParam<Named> {};

TEST_P(Variants, OnEveryArchitecture) {
    const isa::MmaVariant& v = *GetParam().variant;
    size_t architectures = 0;
    for (const isa::ArchRow& arch : isa::arch_rows) {
        if (!isa::has(arch, v.target)) continue;
        ++architectures;
        MatrixDefinition definition(v, arch);
        uint64_t seed = arch.number;
        const unsigned of_metadata = v.sparse ? 4 / isa::metadata_lanes(v) : 1;
        for (int input = 0; input < num::testing::input_classes; ++input) {
            const unsigned cases =
                test_scale() * (v.m == 8 && v.threads == isa::Threads::warp ? 2 : 1);
            const bool satfinite = v.satfinite && input % 2 != 0;
            // All of the selectors take their turn.
            const auto n = static_cast<unsigned>(input);
            Selectors selectors{n % of_metadata, {}, {}, false};
            if (v.scales != 0)
                selectors = {0,
                             {n % (4u / v.scales) * v.scales, n / 2 % (4u / v.scales) * v.scales},
                             {n % 2, n % 4},
                             n % 3 == 0};
            definition.check(static_cast<InputClass>(input), satfinite, selectors, cases,
                             ++seed * 7919);
        }
        EXPECT_GE(definition.compared, size_t{1000} * test_scale());
    }
    EXPECT_GT(architectures, 0u);
}

std::vector<Named> all_variants() {
    std::vector<Named> out;
    for (const isa::MmaVariant& v : isa::mma_variants()) out.push_back({&v});
    return out;
}

std::string name_of_variant(const testing::TestParamInfo<Named>& info) {
    return test_name(info.param.variant->key);
}

INSTANTIATE_TEST_SUITE_P(Mma, Variants, testing::ValuesIn(all_variants()), name_of_variant);

// Those have the fast way by tiles, without which they are right and slow.
TEST(MmaPlans, OfFloatsOfWholeWordsAreTiled) {
    std::set<std::string> tiled;
    for (const isa::MmaVariant& v : isa::mma_variants()) {
        MmaPlan plan;
        if (isa::has(isa::Arch::sm_90, v.target) && make_plan(v, isa::Arch::sm_90, false, plan) &&
            plan.tile.good)
            tiled.insert(std::string(v.key));
    }
    EXPECT_EQ(tiled, (std::set<std::string>{
                         "mma.m16n8k16.f16.f16.f16.f16", "mma.m16n8k16.f32.bf16.bf16.f32",
                         "mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k4.f32.tf32.tf32.f32",
                         "mma.m16n8k8.f16.f16.f16.f16", "mma.m16n8k8.f32.bf16.bf16.f32",
                         "mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"}));
}

}  // namespace

}  // namespace lockwarp::exec
