// The rows of instructions: each way of writing each of them resolves and has behaviour.
#include "emu/isa/forms.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "emu/exec/context.hpp"
#include "tests/isa/instances.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

// What stands between an instruction and its run, in a module for `target`; empty: nothing.
std::string obstacle(const std::string& instruction, const std::string& target = "sm_90") {
    const Resolved r = resolved(module_with({instruction}, target, "9.0"), *arch_named(target));
    if (!r.diagnostics.empty()) return r.diagnostics[0].message;
    exec::Code code;
    const std::vector<std::string> missing = exec::bind(r.program, false, code);
    return missing.empty() ? "" : missing[0];
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Spellings that a row allows and a rule beside the rows refuses, with the assembler's words.
std::string_view refused(const Form& form, std::string_view modifiers) {
    const bool memory = form.op == Op::ld || form.op == Op::st;
    const bool v4_64 = contains(modifiers, ".v4") && modifiers.ends_with("64");
    const bool vector = contains(modifiers, ".v2") || contains(modifiers, ".v4");
    if ((form.op == Op::mov && v4_64) || (form.opcode == "ldu" && v4_64) ||
        (memory && vector && modifiers.ends_with("128")))
        return "Vector type too large, exceeds 128 bit limit";
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
        if (form.op == Op::mma || form.op == Op::call) continue;
        for (const std::string& modifiers : expansions(form.syntax)) {
            const std::string text = instance(form, modifiers);
            EXPECT_EQ(obstacle(text), refused(form, modifiers)) << text;
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
            if (form.opcode != "wmma" || form.target > a.number) continue;
            for (const std::string& modifiers : expansions(form.syntax))
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
        for (const std::string& modifiers : expansions(form.syntax)) {
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
        if (form.op == Op::mma) continue;
        for (const std::string& modifiers : expansions(form.syntax))
            EXPECT_TRUE(matches(form.syntax, modifiers_of(modifiers)))
                << form.opcode << form.syntax << " <- " << modifiers;
    }
}

// What an instruction means does not depend on the order of the rows.
TEST(Forms, NoSpellingBelongsToTwoRows) {
    std::map<std::string, size_t> owner;
    for (size_t i = 0; i < forms().size(); ++i) {
        const Form& form = forms()[i];
        if (form.op == Op::mma) continue;
        std::set<std::string> spellings;
        for (const std::string& modifiers : expansions(form.syntax))
            spellings.insert(std::string(form.opcode) + modifiers);
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
    EXPECT_TRUE(later.contains("wgmma"));
    EXPECT_TRUE(executed.contains("mma"));
}

TEST(Forms, EveryModifierIsKnown) {
    for (const Form& form : forms()) {
        if (form.op == Op::mma) continue;
        for (const std::string& modifiers : expansions(form.syntax))
            for (const ptx::Modifier& m : modifiers_of(modifiers)) {
                Modifiers out;
                ASSERT_TRUE(apply_modifier(m.text, out)) << form.opcode << modifiers;
            }
    }
}

TEST(Forms, Expansions) {
    EXPECT_EQ(expansions(".lo|.hi.u32"), (std::vector<std::string>{".lo.u32", ".hi.u32"}));
    EXPECT_EQ(expansions("{.a|.b}.c{.d}"),
              (std::vector<std::string>{".c", ".a.c", ".b.c", ".c.d"}));
    EXPECT_EQ(expansions("<vec>"), (std::vector<std::string>{".v2", ".v4"}));
    EXPECT_EQ(expansions(""), (std::vector<std::string>{""}));
}

TEST(Forms, Matches) {
    EXPECT_TRUE(matches("{<rnd>}{.ftz}.f32", modifiers_of(".rz.f32")));
    EXPECT_TRUE(matches("{<rnd>}{.ftz}.f32", modifiers_of(".rn.ftz.f32")));
    EXPECT_FALSE(matches("{<rnd>}{.ftz}.f32", modifiers_of(".ftz.rn.f32")));
    EXPECT_FALSE(matches("{<rnd>}{.ftz}.f32", modifiers_of(".rn.ftz")));
    EXPECT_FALSE(matches("{<rnd>}{.ftz}.f32", modifiers_of(".f32.f32")));
    EXPECT_FALSE(matches(".f32", {}));
    EXPECT_TRUE(matches("", {}));
}

TEST(Forms, NamedSetsThatRowsNameExist) {
    for (const Form& form : forms())
        for (size_t at = form.syntax.find('<'); at != std::string_view::npos;
             at = form.syntax.find('<', at + 1)) {
            const std::string_view name =
                form.syntax.substr(at + 1, form.syntax.find('>', at) - at - 1);
            EXPECT_FALSE(set_named(name).empty()) << name;
        }
    EXPECT_TRUE(set_named("nothing").empty());
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
