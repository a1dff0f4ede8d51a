// SPDX-License-Identifier: Apache-2.0
// Every scalar instruction in every spelling that the rows allow, beside its definition
// (definition.hpp): a row without one fails. One test an opcode.
//
// LOCKWARP_TEST_SCALE=N makes N times the random operands (N*2000 an instruction; 500 for 10^6).
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tests/exec/definition.hpp"
#include "tests/exec/scalar_operands.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

struct Elsewhere {
    std::string_view opcode;
    std::string_view test;  // in tests/exec
};

// Opcodes that give values, but not by their operands alone, or of the whole warp; or that have
// definitions of their own.
constexpr Elsewhere elsewhere[] = {
    {"activemask", "warp_test"},
    {"alloca", "call_test"},
    {"bar", "barrier_test"},
    {"barrier", "barrier_test"},
    {"createpolicy", "cluster_test"},
    {"cvta", "generic_address_test"},
    {"elect", "collective_test"},
    {"getctarank", "cluster_test"},
    {"isspacep", "generic_address_test"},
    {"mapa", "cluster_test"},
    {"match", "collective_test"},
    {"mbarrier", "mbarrier_test"},
    {"movmatrix", "trap_test"},
    {"redux", "collective_test"},
    {"shfl", "warp_test"},
    {"stacksave", "call_test"},
    {"suq", "texture_test"},
    {"txq", "texture_test"},
    {"vote", "warp_test"},
};

bool is_elsewhere(std::string_view opcode) {
    return std::ranges::find(elsewhere, opcode, &Elsewhere::opcode) != std::end(elsewhere);
}

bool is_destination(isa::Slot slot) {
    using enum isa::Slot;
    return slot == destination || slot == wide_destination || slot == packed_destination ||
           slot == predicate_written || slot == predicate_or_pair || slot == value_or_pair ||
           slot == value_pair;
}

bool is_source(isa::Slot slot) {
    using enum isa::Slot;
    return slot == source || slot == wide_source || slot == packed_source ||
           slot == predicate_read || slot == constant;
}

// Whether a row makes values of registers and constants: it has a destination, and nothing else
// than those. Values of 128 bits and vectors are tests/exec/wide_test.cpp's.
bool is_scalar(const isa::Form& f) {
    if (is_elsewhere(f.opcode)) return false;
    for (const isa::ModifierGroup& group : f.groups)
        if (group.set == "vec" || isa::is_one_of(group.alternatives, ".b128")) return false;
    bool writes = false;
    for (const isa::OperandSlot& slot : f.slots) {
        if (slot.optional || (!is_destination(slot.slot) && !is_source(slot.slot))) return false;
        writes |= is_destination(slot.slot);
    }
    return writes;
}

std::vector<std::string> scalar_opcodes() {
    std::set<std::string> out;
    for (const isa::Form& f : isa::forms())
        if (is_scalar(f)) out.emplace(f.opcode);
    return {out.begin(), out.end()};
}

// Every way of writing a row: with every subset of its optional parts.
std::vector<std::string> all_spellings(const isa::Form& f) {
    std::vector<std::string> out;
    const auto any = [](const isa::ModifierGroup&) { return true; };
    for (const std::string& text : isa::expansions_of_subsets(f, any))
        out.push_back(std::string(f.opcode) + text);
    return out;
}

// One instruction of a kernel.
struct Instance {
    std::string text;
    Definition definition;
    std::array<TypeName, 2> destination{};  // of 0 bits: none
    std::array<unsigned, 2> held{};         // bits of their registers
    bool reads_carry = false;
    bool writes_carry = false;
    bool predicate_beside_table = false;  // lop3: the fourth source, above the constant
    uint64_t table = 0;
};

struct Group {
    isa::Arch arch = isa::Arch::sm_90;
    std::vector<TypeName> sources;
    std::vector<Instance> instances;
};

TypeName type_of(const isa::OperandSlot& slot, const Spelled& s) {
    if (slot.rule == isa::TypeRule::own) return s.types.at(0);
    if (slot.rule == isa::TypeRule::second) return s.types.at(1);
    if (slot.rule == isa::TypeRule::named) return type_named(isa::row(slot.named).name);
    const std::string sign = s.types.at(0).kind == TypeKind::signed_whole ? ".s" : ".u";
    return type_named(sign + std::to_string(2 * s.types[0].width));
}

std::string register_name(unsigned width, size_t n) {
    return (width == 1 ? "%p" : width == 16 ? "%h" : width == 32 ? "%r" : "%q") + std::to_string(n);
}

unsigned register_width(const TypeName& t) { return t.width == 1 ? 1 : std::max(t.width, 16u); }

// The instruction with registers as wide as its types, or, where `wide` and the row allows it, with
// 64 bits for whole numbers. Adds the types of its sources to `sources`.
Instance instance_of(const isa::Form& f, const std::string& text, uint64_t table, bool wide,
                     std::vector<TypeName>& sources) {
    Instance out;
    Spelled s = spelled(text);
    s.sources = f.op == isa::Op::min3 || f.op == isa::Op::max3 ? 3 : 0;
    out.definition = definition_of(s);
    out.table = table;
    out.reads_carry = s.opcode == "addc" || s.opcode == "subc" || s.opcode == "madc";
    out.writes_carry = s.has(".cc");
    out.text = text;
    size_t destinations = 0;
    const auto written = [&](const TypeName& t, bool stretches) {
        const unsigned width = stretches ? 64 : register_width(t);
        out.destination[destinations] = t;
        out.held[destinations] = width;
        return register_name(width, 10 + destinations++);
    };
    const auto read = [&](const TypeName& t, bool stretches) {
        sources.push_back(t);
        return register_name(stretches ? 64 : register_width(t), sources.size() - 1);
    };
    const TypeName predicate = type_named(".pred");
    for (const isa::OperandSlot& slot : f.slots) {
        out.text += &slot == f.slots.data() ? " " : ", ";
        switch (slot.slot) {
            case isa::Slot::destination:
            case isa::Slot::packed_destination:
            case isa::Slot::wide_destination: {
                const TypeName t = type_of(slot, s);
                const bool stretches = slot.slot == isa::Slot::wide_destination;
                out.text += written(t, wide && stretches && t.kind != TypeKind::floating);
                break;
            }
            case isa::Slot::value_pair: {
                const std::string d = written(type_of(slot, s), false);
                out.text += d + "|" + written(predicate, false);
                break;
            }
            case isa::Slot::predicate_written:
                out.text += written(predicate, false);
                break;
            case isa::Slot::predicate_or_pair:
                out.text += written(predicate, false);
                out.text += "|" + written(predicate, false);
                break;
            case isa::Slot::source:
            case isa::Slot::packed_source:
            case isa::Slot::wide_source: {
                const TypeName t = type_of(slot, s);
                const bool stretches = slot.slot == isa::Slot::wide_source;
                out.text += read(t, wide && stretches && t.kind != TypeKind::floating);
                break;
            }
            case isa::Slot::predicate_read:
                out.text += read(predicate, false);
                out.predicate_beside_table = f.op == isa::Op::lop3;
                break;
            case isa::Slot::constant:
                out.text += std::to_string(table);
                break;
            default:
                ADD_FAILURE() << "an operand that this test does not know: " << text;
        }
    }
    return out;
}

// The instances of an opcode, those with sources of the same types together.
std::vector<Group> groups_of(std::string_view opcode) {
    std::map<std::string, Group> groups;
    const auto add = [&](const isa::Form& f, const std::string& text, uint64_t table, bool wide) {
        std::vector<TypeName> sources;
        Instance instance = instance_of(f, text, table, wide, sources);
        std::vector<TypeName> same;
        if (wide && instance.text == instance_of(f, text, table, false, same).text) return;
        if (!instance.definition) {
            ADD_FAILURE() << "no definition of " << text;
            return;
        }
        std::string key;
        for (const TypeName& t : sources) key += t.name;
        const bool later = !isa::has(isa::Arch::sm_90, f.target);
        Group& group = groups[key + (later ? " of sm_100" : "")];
        if (later) group.arch = isa::Arch::sm_100;
        group.sources = sources;
        group.instances.push_back(std::move(instance));
    };
    for (const isa::Form& f : isa::forms()) {
        if (f.opcode != opcode || !is_scalar(f)) continue;
        for (const std::string& text : all_spellings(f)) {
            if (f.op == isa::Op::lop3) {
                for (const uint64_t table : {0x00, 0x17, 0x2d, 0x96, 0xca, 0xe8, 0xff})
                    add(f, text, table, false);
                continue;
            }
            add(f, text, 0, false);
            if (f.slots[0].slot == isa::Slot::wide_destination) add(f, text, 0, true);
        }
    }
    std::vector<Group> out;
    for (auto& [key, group] : groups) out.push_back(std::move(group));
    return out;
}

// A kernel with these instances. Each thread has four numbers, and of each instance leaves three.
std::string kernel_of(const Group& g, size_t from, size_t to) {
    std::string text = ".version 9.0\n.target " + std::string(isa::row(g.arch).name) +
                       "\n.address_size 64\n"
                       ".entry k(.param .u64 in, .param .u64 out)\n{\n"
                       ".reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<32>; .reg .b64 %q<32>;\n"
                       "ld.param.u64 %q20, [in]; ld.param.u64 %q21, [out];\n"
                       "mov.u32 %r20, %ctaid.x; mov.u32 %r21, %ntid.x; mov.u32 %r22, %tid.x;\n"
                       "mad.lo.u32 %r20, %r20, %r21, %r22; mov.u32 %r23, %nctaid.x;\n"
                       "mul.lo.u32 %r21, %r21, %r23; mul.wide.u32 %q22, %r21, 24;\n"
                       "mul.wide.u32 %q23, %r20, 32; add.u64 %q20, %q20, %q23;\n"
                       "mul.wide.u32 %q23, %r20, 24; add.u64 %q21, %q21, %q23;\n";
    for (size_t i = 0; i < 4; ++i) {
        const std::string n = std::to_string(i);
        text += "ld.global.u64 %q" + n + ", [%q20+" + std::to_string(8 * i) + "]; cvt.u32.u64 %r" +
                n + ", %q" + n + "; cvt.u16.u64 %h" + n + ", %q" + n + "; and.b32 %r24, %r" + n +
                ", 1; setp.ne.u32 %p" + n + ", %r24, 0;\n";
    }
    text += "and.b32 %r25, %r3, 1;\n";
    for (size_t i = from; i < to; ++i) {
        const Instance& n = g.instances[i];
        text += "mov.u64 %q24, 0; mov.u64 %q25, 0; mov.u64 %q26, 0;\n";
        if (n.reads_carry) text += "add.cc.u32 %r26, %r25, 0xffffffff;\n";
        text += n.text + ";\n";
        if (n.writes_carry) text += "addc.u64 %q26, 0, 0;\n";
        for (size_t d = 0; d < 2; ++d) {
            const std::string to_store = "%q2" + std::to_string(4 + d);
            const std::string result = register_name(n.held[d], 10 + d);
            if (n.held[d] == 1) text += "selp.u64 " + to_store + ", 1, 0, " + result + ";\n";
            if (n.held[d] == 16 || n.held[d] == 32)
                text += "cvt.u64.u" + std::to_string(n.held[d]) + " " + to_store + ", " + result +
                        ";\n";
            if (n.held[d] == 64) text += "mov.u64 " + to_store + ", " + result + ";\n";
        }
        text +=
            "st.global.u64 [%q21], %q24; st.global.u64 [%q21+8], %q25;\n"
            "st.global.u64 [%q21+16], %q26; add.u64 %q21, %q21, %q22;\n";
    }
    return text + "ret;\n}\n";
}

// As a register holds it: extended by the sign of its type.
uint64_t held_value(const TypeName& t, unsigned held, uint64_t value) {
    return t.width == 0 ? 0
           : t.kind == TypeKind::signed_whole && t.lanes == 1
               ? lower(static_cast<uint64_t>(whole_of(t, value)), held)
               : lower(value, held);
}

struct Counts {
    size_t compared = 0;
    size_t different = 0;
    std::string first;  // difference
};

void compare_one(const Instance& n, const Operands& given, const uint64_t* actual, Counts& counts) {
    Sources sources{given, (given[3] & 1) != 0};
    for (size_t i = 0; i < 3; ++i) sources.value[i] = given[i];
    if (n.predicate_beside_table)
        sources.value[3] = n.table | (given[3] & 1) << 8;
    else if (n.text.starts_with("lop3"))
        sources.value[3] = n.table;
    const Results expected = n.definition(sources);
    ++counts.compared;
    bool same = actual[2] == (n.writes_carry ? expected.carry : 0);
    std::array<uint64_t, 2> words{};
    for (size_t d = 0; d < 2; ++d) {
        words[d] = held_value(n.destination[d], n.held[d], expected.value[d]);
        same = same &&
               (expected.accepts ? d == 1 || expected.accepts(actual[0]) : actual[d] == words[d]);
    }
    if (same || counts.different++ != 0) return;
    std::ostringstream out;
    out << n.text << std::hex << "\n  of";
    for (const uint64_t v : given) out << " 0x" << v;
    out << "\n  gives 0x" << actual[0] << " 0x" << actual[1] << ", carry " << actual[2]
        << "\n  is defined as " << (expected.accepts ? "within its bounds, not " : "") << "0x"
        << words[0] << " 0x" << words[1] << ", carry " << expected.carry;
    counts.first = out.str();
}

constexpr uint32_t threads = 128;

// Predicates count in the lowest bit of their operand.
void make_predicates(const Group& g, std::vector<Operands>& operands) {
    for (size_t i = 0; i < g.sources.size() && i < 4; ++i)
        if (g.sources[i].width == 1)
            for (Operands& o : operands) o[i] &= 1;
}

Counts compare(const Group& g, std::vector<Operands> operands) {
    Counts counts;
    make_predicates(g, operands);
    const size_t asked = operands.size();
    operands.resize((asked + threads - 1) / threads * threads, operands[0]);
    Bytes in;
    for (const Operands& o : operands)
        for (const uint64_t v : o) append(in, v);
    // Up to 32 MB of results at once.
    const size_t most = std::clamp<size_t>((size_t{32} << 20) / (24 * operands.size()), 1, 24);
    for (size_t from = 0; from < g.instances.size(); from += most) {
        const size_t to = std::min(from + most, g.instances.size());
        Given launch;
        launch.arch = g.arch;
        launch.block.x = threads;
        launch.grid.x = static_cast<uint32_t>(operands.size() / threads);
        launch.buffers = {in, Bytes((to - from) * operands.size() * 24, 0xee)};
        const isa::Program program = program_of(kernel_of(g, from, to), launch.arch);
        const Outcome outcome = run_well(program, std::move(launch));
        const auto* results = reinterpret_cast<const uint64_t*>(outcome.buffers[1].data());
        for (size_t i = from; i < to; ++i)
            for (size_t t = 0; t < asked; ++t)
                compare_one(g.instances[i], operands[t],
                            results + ((i - from) * operands.size() + t) * 3, counts);
    }
    return counts;
}

class Definitions : public testing::TestWithParam<std::string> {};

TEST_P(Definitions, EverySpellingGivesWhatItIsDefinedAs) {
    const bool many_spellings = GetParam() == "set" || GetParam() == "setp";
    size_t compared = 0;
    for (const Group& g : groups_of(GetParam())) {
        const Counts counts = compare(
            g, operands_of(g.sources, many_spellings ? Amount::few : Amount::usual, test_scale()));
        EXPECT_EQ(counts.different, 0u) << "of " << counts.compared << "; " << counts.first;
        compared += counts.compared;
    }
    EXPECT_GT(compared, 200u);
}

std::string opcode_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Scalar, Definitions, testing::ValuesIn(scalar_opcodes()), opcode_name);

// Definitions that are a little wrong are told from the instructions.
TEST(DefinitionsThatAreWrong, AreNoticed) {
    const struct {
        std::string_view opcode, instead;
    } wrong[] = {{"add.rn.f32", "add.rz.f32"},
                 {"add.f64", "sub.f64"},
                 {"fma.rn.ftz.f32", "fma.rn.f32"},
                 {"cvt.rni.s32.f32", "cvt.rmi.s32.f32"},
                 {"cvt.rn.satfinite.e4m3x2.f16x2", "cvt.rn.satfinite.relu.e4m3x2.f16x2"},
                 {"min.f32", "min.NaN.f32"},
                 {"add.f32x2", "add.ftz.f32x2"},
                 {"add.f32.f16", "add.f32.bf16"},
                 {"fma.rn.oob.f16", "fma.rn.f16"},
                 {"max.abs.f32", "max.f32"},
                 {"shr.s32", "shr.u32"},
                 {"set.lt.f16x2.f16x2", "set.le.f16x2.f16x2"},
                 {"ex2.approx.f16", "ex2.approx.f32"}};
    for (const auto& w : wrong) {
        const std::string opcode(w.opcode.substr(0, w.opcode.find('.')));
        size_t found = 0;
        for (Group& g : groups_of(opcode)) {
            std::erase_if(g.instances, [&](const Instance& n) {
                return n.text.substr(0, n.text.find(' ')) != w.opcode;
            });
            for (Instance& n : g.instances) n.definition = definition_of(spelled(w.instead));
            if (!g.instances.empty())
                found += compare(g, operands_of(g.sources, Amount::usual, 1)).different;
        }
        EXPECT_GT(found, 0u) << w.opcode << " as " << w.instead;
    }
}

TEST(DefinitionsElsewhere, ExistAndNameTheirOpcodes) {
    for (const Elsewhere& e : elsewhere) {
        const std::string path = LOCKWARP_SOURCE_DIR "/tests/exec/" + std::string(e.test) + ".cpp";
        ASSERT_TRUE(std::filesystem::exists(path)) << path;
        EXPECT_NE(read_text(path).find(std::string(e.opcode)), std::string::npos)
            << e.opcode << " in " << path;
    }
}

}  // namespace

}  // namespace lockwarp::exec
