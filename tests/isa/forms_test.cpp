// SPDX-License-Identifier: Apache-2.0
// The rows of instructions: each way of writing each of them resolves and has behaviour.
#include "emu/isa/forms.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "emu/exec/families.hpp"
#include "emu/isa/form_text.hpp"
#include "tests/isa/instances.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

// What stands between an instruction and its run, in a module for `target`; empty: nothing.
std::string obstacle(const std::string& instruction, const std::string& target = "sm_90a") {
    const Resolved r = resolved(module_with({instruction}, target, "9.0"), *arch_named(target));
    if (!r.diagnostics.empty()) return r.diagnostics[0].message;
    exec::Code code;
    const std::vector<std::string> missing = exec::bind(r.program, false, code);
    return missing.empty() ? "" : missing[0];
}

// Its spellings are too many, and most of them no variant.
bool by_variants(const Form& form) { return form.op == Op::mma || form.op == Op::wgmma_mma; }

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Spellings that a row allows and a rule beside the rows refuses, with the assembler's words.
std::string_view refused(const Form& form, std::string_view modifiers) {
    const bool memory = form.op == Op::ld || form.op == Op::st || form.op == Op::async_store;
    const bool v4_64 = contains(modifiers, ".v4") && modifiers.ends_with("64");
    const bool vector = contains(modifiers, ".v2") || contains(modifiers, ".v4");
    if ((form.op == Op::mov && v4_64) || (form.opcode == "ldu" && v4_64) ||
        (memory && vector && modifiers.ends_with("128")))
        return "Vector type too large, exceeds 128 bit limit";
    if (form.op == Op::async_store && v4_64) return "Vector type too large, exceeds 128 bit limit";
    if (memory && v4_64)
        return "Feature '256 bit wide load/store' requires .target sm_100 or higher";
    if (form.op == Op::st && contains(modifiers, ".param"))
        return "Illegal to write to function input parameter 'pa'";
    return "";
}

TEST(Forms, EverySpellingHasBehaviour) {
    size_t count = 0;
    for (const Form& form : forms()) {
        // By variants, below; calls: tests/exec/call_test.cpp.
        if (by_variants(form) || form.op == Op::call) continue;
        for (const std::string& modifiers : expansions(form)) {
            const std::string text = instance(form, modifiers);
            if (form.target >= 100)
                EXPECT_EQ(obstacle(text, "sm_100a"), "") << text;
            else if (exec::is_executed(form.op) || !refused(form, modifiers).empty())
                EXPECT_EQ(obstacle(text), refused(form, modifiers)) << text;
            else
                EXPECT_TRUE(obstacle(text).ends_with(std::string(row(form.op).name) +
                                                     " has no behaviour on sm_90"))
                    << text << ": " << obstacle(text);
            ++count;
        }
    }
    EXPECT_GT(count, 5000u);
}

// Every wmma instruction on every machine that has it: its fragments and its arithmetic are there.
TEST(Forms, EveryWmmaHasBehaviourOnItsMachines) {
    for (const ArchRow& a : arch_rows) {
        std::vector<std::string> texts;
        for (const Form& form : forms()) {
            if (form.opcode != "wmma" || !has(a, form.target)) continue;
            for (const std::string& modifiers : expansions(form))
                texts.push_back(instance(form, modifiers));
        }
        const Resolved r = resolved(module_with(texts, a.name, "9.0"), a.arch);
        ASSERT_TRUE(r.diagnostics.empty()) << a.name << ": " << r.diagnostics[0].message;
        exec::Code code;
        for (const std::string& missing : exec::bind(r.program, false, code))
            ADD_FAILURE() << a.name << ": " << missing;
        EXPECT_EQ(texts.empty(), false);
    }
}

TEST(Forms, EveryWmmaVariantHasASpellingAndARequirement) {
    std::set<std::string_view> found;
    for (const Form& form : forms()) {
        if (form.op != Op::wmma_mma) continue;
        for (const std::string& modifiers : expansions(form)) {
            const Resolved r =
                resolved(module_with({instance(form, modifiers)}, "sm_90", "9.0"), Arch::sm_90);
            ASSERT_TRUE(r.diagnostics.empty()) << modifiers;
            const WmmaVariant* v = first_of(r.program, Op::wmma_mma).wmma;
            ASSERT_NE(v, nullptr) << modifiers;
            EXPECT_EQ(v->target, form.target) << modifiers;
            EXPECT_TRUE(v->satfinite || modifiers.find(".satfinite") == std::string::npos);
            found.insert(v->key);
        }
    }
    EXPECT_EQ(found.size(), wmma_variants().size());
}

TEST(Forms, EveryMatrixVariantHasBehaviour) {
    for (const MmaVariant& v : mma_variants()) {
        const ArchRow& newest = arch_rows.back();
        EXPECT_EQ(obstacle(instance(v), target_of(v, newest)), "") << v.key;
        const std::string on_hopper = v.target <= 90 ? obstacle(instance(v)) : "";
        EXPECT_EQ(on_hopper, "") << v.key;
    }
}

TEST(Forms, NoTwoMatrixVariantsHaveOneKeyOrOneSpelling) {
    std::set<std::string_view> keys;
    std::set<std::string> spellings;
    for (const MmaVariant& v : mma_variants()) {
        EXPECT_TRUE(keys.insert(v.key).second) << v.key;
        const std::string text = instance(v);
        EXPECT_TRUE(spellings.insert(text.substr(0, text.find(' '))).second) << v.key;
    }
}

// The modifiers of a key, in the order of the key, are those of the instruction.
TEST(Forms, KeysOfKindsAreSpelledAsTheInstruction) {
    for (const MmaVariant& v : mma_variants()) {
        if (v.kind == MmaKind::none) continue;
        const std::string text = instance(v);
        std::string key = text.substr(0, text.find(' '));
        for (const std::string_view part : {"::ordered_metadata", ".sync.aligned", ".row.col"})
            if (const size_t at = key.find(part); at != std::string::npos)
                key.erase(at, part.size());
        EXPECT_EQ(key, v.key);
    }
}

TEST(Forms, EverySpellingMatchesItsRow) {
    for (const Form& form : forms()) {
        if (by_variants(form)) continue;
        for (const std::string& modifiers : expansions(form))
            EXPECT_TRUE(matches(form, modifiers_of(modifiers)))
                << form.opcode << form.syntax << " <- " << modifiers;
    }
}

// What an instruction means does not depend on the order of the rows.
TEST(Forms, NoSpellingBelongsToTwoRows) {
    std::map<std::string, size_t> owner;
    for (size_t i = 0; i < forms().size(); ++i) {
        const Form& form = forms()[i];
        if (by_variants(form)) continue;
        std::set<std::string> spellings;
        for (const std::string& modifiers : expansions(form))
            spellings.insert(std::string(form.opcode) + modifiers + " with " +
                             std::to_string(form.slots.size()) + " operands");
        for (const std::string& s : spellings) EXPECT_TRUE(owner.try_emplace(s, i).second) << s;
    }
}

TEST(Forms, OpcodesAreExecutedOrNotNeverBoth) {
    std::set<std::string_view> executed;
    for (const Form& form : forms()) executed.insert(form.opcode);
    std::set<std::string_view> later;
    for (const std::string_view opcode : opcodes_not_executed()) {
        EXPECT_TRUE(later.insert(opcode).second) << opcode << " stands twice";
        EXPECT_FALSE(executed.contains(opcode)) << opcode;
    }
    EXPECT_TRUE(later.contains("tcgen05"));
    EXPECT_TRUE(executed.contains("mma"));
}

TEST(Forms, EveryModifierIsKnown) {
    for (const Form& form : forms()) {
        if (by_variants(form)) continue;
        for (const std::string& modifiers : expansions(form))
            for (const ptx::Modifier& m : modifiers_of(modifiers)) {
                Modifiers out;
                ASSERT_TRUE(apply_modifier(m.text, out)) << form.opcode << modifiers;
            }
    }
}

// The row of an opcode with this syntax line.
const Form& form_of(std::string_view opcode, std::string_view syntax) {
    for (const Form* f : forms_of(opcode))
        if (f->syntax == syntax) return *f;
    ADD_FAILURE() << "no row " << opcode << syntax;
    return forms()[0];
}

TEST(Forms, Expansions) {
    EXPECT_EQ(expansions(form_of("dp2a", ".lo|.hi.u32|.s32.u32|.s32")).size(), 8u);
    EXPECT_EQ(expansions(form_of("mad24", ".lo|.hi.u32|.s32")),
              (std::vector<std::string>{".lo.u32", ".lo.s32", ".hi.u32", ".hi.s32"}));
    EXPECT_EQ(expansions(form_of("prefetch", "{.global|.local}.L1|.L2")),
              (std::vector<std::string>{".L1", ".L2", ".global.L1", ".global.L2", ".local.L1",
                                        ".local.L2"}));
    EXPECT_EQ(expansions(form_of("not", "<bits>")),
              (std::vector<std::string>{".b16", ".b32", ".b64"}));
    EXPECT_EQ(expansions(form_of("exit", "")), (std::vector<std::string>{""}));
}

TEST(Forms, ExpansionsOfSubsets) {
    const Form& form = form_of("sqrt", ".approx{.ftz}.f32");
    const auto all = [](const ModifierGroup&) { return true; };
    const auto none = [](const ModifierGroup&) { return false; };
    EXPECT_EQ(expansions_of_subsets(form, all),
              (std::vector<std::string>{".approx.f32", ".approx.ftz.f32"}));
    EXPECT_EQ(expansions_of_subsets(form, none), (std::vector<std::string>{".approx.f32"}));
    const auto rounds = [](const ModifierGroup& g) { return g.set == "rnd"; };
    const Form& add = form_of("add", "{<rnd>}{.ftz}{.sat}.f32");
    EXPECT_EQ(expansions_of_subsets(add, rounds),
              (std::vector<std::string>{".f32", ".rn.f32", ".rz.f32", ".rm.f32", ".rp.f32"}));
    EXPECT_EQ(expansions_of_subsets(add, all).size(), 5u * 2 * 2);
}

TEST(Forms, Matches) {
    const Form& add = form_of("add", "{<rnd>}{.ftz}{.sat}.f32");
    EXPECT_TRUE(matches(add, modifiers_of(".rz.f32")));
    EXPECT_TRUE(matches(add, modifiers_of(".rn.ftz.f32")));
    EXPECT_FALSE(matches(add, modifiers_of(".ftz.rn.f32")));
    EXPECT_FALSE(matches(add, modifiers_of(".rn.ftz")));
    EXPECT_FALSE(matches(add, modifiers_of(".f32.f32")));
    EXPECT_FALSE(matches(form_of("sqrt", "<rnd>.f64"), {}));
    EXPECT_TRUE(matches(form_of("exit", ""), {}));
}

// A modifier that may be left out is never taken for one that stands behind it: matches() goes
// through the groups once.
TEST(Forms, OptionalGroupsAreToldFromWhatFollows) {
    for (const Form& form : forms())
        for (size_t i = 0; i < form.groups.size(); ++i)
            for (size_t k = i + 1; form.groups[i].optional && k < form.groups.size(); ++k) {
                for (const std::string_view m : form.groups[i].alternatives)
                    EXPECT_FALSE(is_one_of(form.groups[k].alternatives, m))
                        << form.opcode << form.syntax << ": " << m;
                if (!form.groups[k].optional) break;
            }
}

TEST(Forms, RowsOfAnOpcode) {
    size_t rows = 0;
    std::string_view last;
    std::set<std::string_view> opcodes;
    for (const Form& form : forms()) opcodes.insert(form.opcode);
    for (const std::string_view opcode : opcodes) {
        const Form* before = nullptr;
        for (const Form* f : forms_of(opcode)) {
            EXPECT_EQ(f->opcode, opcode);
            EXPECT_LT(before, f) << "the order of the rows";
            before = f;
            ++rows;
        }
    }
    EXPECT_EQ(rows, forms().size());
    for (const std::string_view no : {"", "ad", "addd", "zzz", "tcgen05"})
        EXPECT_TRUE(forms_of(no).empty()) << no;
}

TEST(Forms, NamedSets) {
    EXPECT_EQ(set_named("vec").size(), 2u);
    EXPECT_EQ(set_named("vec")[0], ".v2");
    EXPECT_EQ(set_named("vec")[1], ".v4");
    EXPECT_TRUE(set_named("none of these").empty());
    EXPECT_TRUE(set_named("nothing").empty());
    for (const std::string_view name :
         {"shape", "wmmashape", "wmmaspace", "ldcop", "stcop"})  // that the resolver asks for
        EXPECT_FALSE(set_named(name).empty()) << name;
}

TEST(Forms, Slots) {
    const auto mad = form_of("mad", ".wide.u16|.u32|.s16|.s32").slots;
    ASSERT_EQ(mad.size(), 4u);
    Modifiers m;
    for (const Type type : {Type::u16, Type::s16, Type::u32, Type::s32}) {
        m.type[0] = type;
        EXPECT_EQ(type_of(mad[1], m), type);
        EXPECT_EQ(bits(type_of(mad[0], m)), 2 * bits(type));
        EXPECT_EQ(row(type_of(mad[3], m)).kind, row(type).kind);
    }
    m.type[1] = Type::f64;
    const auto slct = form_of("slct", "<any>.s32").slots;
    EXPECT_EQ(type_of(slct[3], m), Type::f64);
    const auto discard = form_of("discard", "{.global}.L2").slots;
    EXPECT_EQ(discard[1].slot, Slot::constant);
    EXPECT_TRUE(discard[1].fixed);
    EXPECT_EQ(discard[1].value, 128u);
    const auto bar = form_of("bar", "{.cta}.red.popc.u32").slots;
    ASSERT_EQ(bar.size(), 4u);
    EXPECT_TRUE(bar[2].optional);
    EXPECT_EQ(bar[2].slot, Slot::source);
    EXPECT_EQ(type_of(bar[2], m), Type::u32);
    EXPECT_FALSE(bar[3].optional);
    EXPECT_EQ(bar[3].slot, Slot::predicate_read);
}

// What a row may not be. In the table the same stops the compiler.
template <class Read>
std::string refused_text(std::string_view text, Read read) {
    try {
        while (!text.empty()) read(text);
    } catch (const char* words) {
        return words;
    }
    return "";
}

TEST(FormText, Groups) {
    const auto read = [](std::string_view& text) {
        const form_text::Group group = form_text::take_group(text);
        form_text::count_alternatives(group.alternatives);
    };
    for (const std::string_view good : {"", ".f32", ".rn|.rz.f32", "{.ftz}.f32", "{<rnd>}<any>",
                                        "<rnd>{.sat|.satfinite}.L2::cache_hint", ".m16n8k16"})
        EXPECT_EQ(refused_text(good, read), "") << good;
    for (const std::string_view open : {"{.ftz.f32", "<rnd", "{<rnd>", ".f32{"})
        EXPECT_EQ(refused_text(open, read), "a brace or '<' is not closed") << open;
    EXPECT_EQ(refused_text("{}.f32", read), "a group has no alternative");
    EXPECT_EQ(refused_text("<>", read), "a named set is not written '<name>'");
    EXPECT_EQ(refused_text("f32", read), "a modifier does not begin with '.'");
    EXPECT_EQ(refused_text(".rn|rz", read), "a modifier does not begin with '.'");
    EXPECT_EQ(refused_text("..f32", read), "a modifier has no name");
    EXPECT_EQ(refused_text(".rn|.f32|", read), "no alternative follows '|'");
    EXPECT_EQ(refused_text("{.rn.rz}", read), "alternatives are not separated by '|'");
    EXPECT_EQ(refused_text(".rn .rz", read), "alternatives are not separated by '|'");
    EXPECT_EQ(refused_text(".f33", read), "a modifier has no row in modifier_rows.hpp");
}

TEST(FormText, Slots) {
    const auto read = [](std::string_view& text) { form_text::take_slot(text); };
    for (const std::string_view good : {"", "D", "D S S", "D:w S:1 {S:.u32} H", "I:128", "Wd Wa"})
        EXPECT_EQ(refused_text(good, read), "") << good;
    for (const std::string_view unknown : {"B", "D  S", " D", "D,", "{}", "d2"})
        EXPECT_NE(refused_text(unknown, read), "") << unknown;
    EXPECT_EQ(refused_text("{S", read), "a brace is not closed");
    EXPECT_EQ(refused_text("S:2", read), "what follows ':' is not 1, w or a type");
    EXPECT_EQ(refused_text("S:.u33", read), "what follows ':' is not 1, w or a type");
    EXPECT_EQ(refused_text("I:x", read), "what follows ':' is not a number");
    EXPECT_EQ(refused_text("I:", read), "what follows ':' is not a number");
    EXPECT_EQ(refused_text("L:.u32", read), "this operand takes no type");
}

TEST(Forms, TypesStandInOrderAndShapesAreRead) {
    Modifiers m;
    for (const ptx::Modifier& one :
         modifiers_of(".sync.aligned.m16n8k256.row.col.satfinite.s32.b1.b1.s32"))
        ASSERT_TRUE(apply_modifier(one.text, m)) << one.text;
    EXPECT_EQ(m.m, 16);
    EXPECT_EQ(m.n, 8);
    EXPECT_EQ(m.k, 256);
    EXPECT_EQ(m.types, 4);
    EXPECT_EQ(m.type, (std::array{Type::s32, Type::b1, Type::b1, Type::s32}));
    EXPECT_EQ(m.order[0], Order::row);
    EXPECT_EQ(m.order[1], Order::col);
    EXPECT_TRUE(m.aligned);
    EXPECT_TRUE(m.satfinite);
    EXPECT_FALSE(apply_modifier(".f32", m)) << "a fifth type";
    for (const std::string_view bad : {".m", ".m16", ".m16n", ".m0n8k4", ".m16n8k8x", ".m16k8n8",
                                       ".m999n8k8", ".m16n8k99999999999", ".f33", ".", "", "f32"})
        EXPECT_FALSE(apply_modifier(bad, m)) << bad;
}

}  // namespace
}  // namespace lockwarp::isa
