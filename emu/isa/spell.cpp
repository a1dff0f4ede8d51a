// SPDX-License-Identifier: Apache-2.0
// The row and the modifiers of an instruction, or why the assembler would refuse them.
#include <algorithm>

#include "emu/isa/requirements.hpp"
#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

void not_executed(Spelling& s, const ptx::Instruction& i) {
    s.error = "Instruction '" + spelled(i) + "' is not executed yet";
    s.not_executed = true;
}

// Whether the module's .target and .version allow a feature; otherwise the spelling's error.
bool supported(const Resolver& r, Spelling& s, std::string_view feature, uint16_t target,
               uint16_t version) {
    s.error = unsupported(r, feature, target, version);
    return s.error.empty();
}

// What a modifier alone demands.
bool modifiers_supported(const Resolver& r, Spelling& s, const ptx::Instruction& i) {
    for (const Requirement* q : demands(i.opcode, i.modifiers)) {
        std::string words(q->words);
        if (const size_t at = words.find('@'); at != std::string::npos)
            words.replace(at, 1, i.opcode);
        if (!supported(r, s, words, q->target, q->ptx)) return false;
    }
    return true;
}

// Hints to the caches are for global memory alone.
bool hints_allowed(Spelling& s, const ptx::Instruction& i) {
    const Op op = s.form->op;
    if (op == Op::ld || op == Op::st) {
        const auto operation = std::ranges::find_if(i.modifiers, [](const ptx::Modifier& m) {
            return is_one_of(set_named("ldcop"), m.text) || is_one_of(set_named("stcop"), m.text);
        });  // of the cache, .ca ... .wt
        const auto hint = std::ranges::find_if(
            i.modifiers, [](const ptx::Modifier& m) { return m.text.starts_with(".L1::"); });
        if (operation != i.modifiers.end() && hint != i.modifiers.end()) {
            s.error = "Modifier '." + hint->text.substr(5) +
                      "' cannot be combined with modifier '" + operation->text + "'";
            return false;
        }
    }
    const bool memory = op == Op::ld || op == Op::st || op == Op::atom || op == Op::red;
    if (!memory || s.mod.space == ptx::Space::none || s.mod.space == ptx::Space::global)
        return true;
    std::string_view space;
    for (const ptx::Modifier& m : i.modifiers) {
        Modifiers one;
        if (apply_modifier(m.text, one) && one.space != ptx::Space::none) space = m.text;
    }
    const std::string where = "' cannot be applied to '" + std::string(space) +
                              "' space for instruction '" + i.opcode + "'";
    for (const ptx::Modifier& m : i.modifiers) {
        if (m.text == ".L2::cache_hint")
            s.error = "Modifier '" + m.text + where;
        else if (m.text.starts_with(".L1::"))
            s.error = "Modifier '." + m.text.substr(5) + where;
        else if (m.text.starts_with(".L2::"))
            s.error = "State space incorrect for feature 'cache prefetching'";
    }
    return s.error.empty();
}

// Whether the module's .target and .version have the row, in the words that the assembler has for
// its opcode.
bool row_supported(const Resolver& r, Spelling& s, const ptx::Instruction& i,
                   const std::string& types) {
    const Form& f = *s.form;
    const OpRow& op = row(f.op);
    if (!op.by_target) {
        std::string feature(f.feature);
        if (const size_t at = feature.find('@'); at != std::string::npos)
            feature.replace(at, 1, types);
        return supported(r, s, feature, f.target, f.ptx) && supported(r, s, f.also, 0, f.also_ptx);
    }
    const std::string name = f.feature.empty() ? name_of(i) : std::string(f.feature);
    if (!supported(r, s, name, 0, f.ptx)) return false;
    if (r.program.target < f.target ||
        (op.family != 0 && op.family != family_of(r.program.target)) ||
        (op.suffix != Suffix::none && r.program.suffix == Suffix::none))
        s.error = "Instruction '" + name + "' not supported on .target 'sm_" +
                  std::to_string(r.program.target) + std::string(text_of(r.program.suffix)) + "'";
    return s.error.empty();
}

// The variants of a shape and kind, those first that have the most of the types.
std::string variants_like(const MmaQuery& asked) {
    std::vector<const MmaVariant*> near;
    for (const MmaVariant& v : mma_variants())
        if (v.m == asked.m && v.n == asked.n && v.k == asked.k && v.sparse == asked.sparse &&
            v.kind == asked.kind)
            near.push_back(&v);
    std::ranges::stable_sort(near, std::ranges::greater{}, [&](const MmaVariant* v) {
        return (v->d == asked.types[0]) + (v->a == asked.types[1]) + (v->b == asked.types[2]) +
               (v->c == asked.types[3]);
    });
    constexpr size_t shown = 8;
    std::string text;
    for (size_t n = 0; n < std::min(near.size(), shown); ++n)
        text += (n == 0 ? "with this shape: " : ", ") + std::string(near[n]->key);
    if (near.size() > shown)
        text += " and " + std::to_string(near.size() - shown) + " more (lockwarp info)";
    return text;
}

// The mma variant, or why there is none, in the assembler's words.
void choose_mma(Resolver& r, Spelling& s, std::span<const ptx::Modifier> modifiers) {
    const Modifiers& m = s.mod;
    const MmaQuery asked = query_of(m);
    const auto [d, a, b, c] = m.type;
    const std::string shape = std::ranges::find_if(modifiers, [](const ptx::Modifier& one) {
                                  return one.text.starts_with(".m");
                              })->text;
    s.mma = find_mma(asked);
    if (s.mma != nullptr && m.satfinite && !s.mma->satfinite) {
        s.error = "Unexpected instruction types specified for 'mma'";
        s.hint = std::string(s.mma->key) + " has no .satfinite";
        return;
    }
    if (s.mma != nullptr) {
        // What few machines have is not asked for by their number.
        const uint16_t target = s.mma->specific[0].words.empty() ? s.mma->target : 0;
        if (!supported(r, s, s.mma->feature, target, s.mma->ptx) ||
            !supported(r, s, s.mma->also, target, s.mma->also_ptx))
            return;
        s.error = specific_unsupported(r, *s.mma);
        if (s.error.empty() && s.mma->ordered &&
            std::ranges::find(modifiers, ".sp", &ptx::Modifier::text) != modifiers.end())
            s.error = "Illegal modifier '.sp' for instruction 'mma'";
        return;
    }
    if (s.error = kind_refusal(r, asked, m.block_scale, shape); !s.error.empty()) return;
    MmaQuery other = asked;
    other.orders = {Order::row, Order::col};
    if (find_mma(other) != nullptr) {  // which is not what was asked for
        s.error = m.order[0] == Order::col ? "Illegal alayout '.col' for instruction 'mma'"
                                           : "Illegal blayout '.row' for instruction 'mma'";
        return;
    }
    other = asked;
    other.types[0] = c;
    const MmaVariant* same = find_mma(other);
    const bool of_floats = a == Type::f16 && b == Type::f16 && (d == Type::f16 || d == Type::f32);
    if (of_floats && same != nullptr) {
        if (!supported(r, s, same->feature, same->target, same->ptx)) return;
        const std::string type{row(c).name};
        s.error = ".dtype must be '" + type + "' when .ctype is '" + type +
                  "' for 'mma' instruction with shape '" + shape + "'";
        return;
    }
    s.error = m.sparse
                  ? "Incorrect instruction type specified for Sparse mma with shape '" + shape + "'"
                  : "Unexpected instruction types specified for 'mma'";
    s.hint = variants_like(asked);
}

// Every modifier that a row names.
void add_modifiers(const Form& form, std::vector<std::string_view>& out) {
    for (const ModifierGroup& group : form.groups)
        out.insert(out.end(), group.alternatives.begin(), group.alternatives.end());
}

std::vector<std::string_view> modifiers_of(std::string_view opcode) {
    std::vector<std::string_view> out;
    for (const Form* f : forms_of(opcode)) add_modifiers(*f, out);
    return out;
}

// What an instruction may look like, for the second line of a message: the rows that have most of
// its modifiers.
std::string usage(const ptx::Instruction& i) {
    constexpr size_t max_shown = 4;
    std::vector<const Form*> best;
    size_t most = 0;
    for (const Form* f : forms_of(i.opcode)) {
        std::vector<std::string_view> known;
        add_modifiers(*f, known);
        const auto common =
            static_cast<size_t>(std::ranges::count_if(i.modifiers, [&](const ptx::Modifier& m) {
                return std::ranges::find(known, m.text) != known.end();
            }));
        if (common > most) best.clear();
        most = std::max(most, common);
        if (common == most) best.push_back(f);
    }
    std::string text;
    for (size_t n = 0; n < std::min(best.size(), max_shown); ++n)
        text += (n == 0 ? "" : ", ") + i.opcode + std::string(best[n]->syntax);
    return text + (best.size() > max_shown ? ", ..." : "");
}

// Modifiers of machines beyond those modelled, in the assembler's words.
struct Beyond {
    std::string_view opcode;
    std::string_view modifier;
    std::string_view words;
};

constexpr auto beyond = std::to_array<Beyond>({
    {"cvt", ".rs", "Feature '.rs'"},
    {"cvt", ".e2m1x2", "Instruction 'cvt with .e2m1x2'"},
    {"cvt", ".e2m3x2", "Instruction 'cvt with .e2m3x2/.e3m2x2'"},
    {"cvt", ".e3m2x2", "Instruction 'cvt with .e2m3x2/.e3m2x2'"},
    {"cvt", ".ue8m0x2", "Instruction 'cvt with .ue8m0x2'"},
});

// What is wrong with modifiers that no row of the opcode takes: the first that is none of the
// opcode's, or their combination.
void wrong_modifiers(const Resolver& r, const ptx::Instruction& i, Spelling& s) {
    const auto has = [&](std::string_view text) {
        return std::ranges::find(i.modifiers, text, &ptx::Modifier::text) != i.modifiers.end();
    };
    if ((i.opcode == "shfl" || i.opcode == "vote") && !has(".sync") && r.version >= 64) {
        s.error = "Instruction '" + i.opcode +
                  "' without '.sync' is not supported on .target sm_70 and higher from PTX ISA "
                  "version 6.4";
        return;
    }
    for (const Beyond& b : beyond)
        if (b.opcode == i.opcode && has(b.modifier)) {
            s.error = std::string(b.words) + " not supported on .target 'sm_" +
                      std::to_string(r.program.target) + "'";
            return;
        }
    if (wrong_later(r, i, s)) return;
    for (const ptx::Modifier& m : i.modifiers)
        if (modifier_not_executed(i.opcode, m.text)) return not_executed(s, i);
    const std::vector<std::string_view> known = modifiers_of(i.opcode);
    s.hint = usage(i);
    if (i.opcode == "wmma") return wrong_wmma(r, i, known, s);
    if (wrong_bulk(i, s)) return;
    for (size_t n = 0; n < i.modifiers.size(); ++n) {
        const std::string& text = i.modifiers[n].text;
        Modifiers ignored;
        if ((i.opcode == "mma" && text.starts_with(".m") && !is_one_of(set_named("shape"), text)) ||
            (i.opcode == "wgmma" && text.starts_with(".m64") &&
             !is_one_of(set_named("wgmmashape"), text)) ||
            !apply_modifier(text, ignored)) {
            s.error = "Unknown modifier '" + text + "'";
            s.wrong_modifier = static_cast<int>(n);
            if (const std::string_view near = nearest(text, known); !near.empty())
                s.hint = "did you mean '" + std::string(near) + "'?";
            return;
        }
    }
    for (size_t n = 0; n < i.modifiers.size(); ++n) {
        const std::string& text = i.modifiers[n].text;
        if (std::ranges::find(known, text) != known.end()) continue;
        s.error = "Illegal modifier '" + text + "' for instruction '" + i.opcode + "'";
        s.wrong_modifier = static_cast<int>(n);
        return;
    }
    s.error = "Unexpected instruction types specified for '" + i.opcode + "'";
}

}  // namespace

std::string unsupported(const Resolver& r, std::string_view feature, uint16_t target,
                        uint16_t version) {
    const bool words = feature.find('\'') != std::string_view::npos;
    const std::string begin =
        (words ? std::string(feature) : "Feature '" + std::string(feature) + "'") + " requires ";
    // fp8 came with sm_90; sm_89 has it from 8.1 on.
    if (target == 89 && version == 78 && r.version < 81) target = 90;
    if (r.program.target < target)
        return begin + ".target sm_" + std::to_string(target) + " or higher";
    if (r.version < version)
        return begin + "PTX ISA .version " + std::to_string(version / 10) + "." +
               std::to_string(version % 10) + " or later";
    return {};
}

void spell_into(const ptx::Instruction& i, std::string& text) {
    text = i.opcode;
    for (const ptx::Modifier& m : i.modifiers) text += m.text;
}

std::string spelled(const ptx::Instruction& i) {
    std::string text;
    spell_into(i, text);
    return text;
}

// What the assembler says of ld and st of more than 128 bits. Empty: the machine has them.
std::string too_wide(const Resolver& r, const Spelling& s, const ptx::Instruction& i) {
    if (bits(s.mod.type[0]) == 128 || i.opcode == "ldu")
        return "Vector type too large, exceeds 128 bit limit";
    constexpr std::string_view feature = "256 bit wide load/store";
    const std::string error = unsupported(r, feature, 100, 88);
    if (!error.empty() || s.mod.space == ptx::Space::none || s.mod.space == ptx::Space::global)
        return error;
    return "global state space expected for feature '" + std::string(feature) + "'";
}

Spelling spell(Resolver& r, const ptx::Instruction& i) {
    Spelling s;
    const FoundForm found = find_form(i);
    s.form = found.form;
    if (s.form == nullptr) {
        if (forms_of(i.opcode).empty()) {
            if (std::ranges::find(opcodes_not_executed(), i.opcode) !=
                opcodes_not_executed().end()) {
                not_executed(s, i);
                return s;
            }
            std::vector<std::string_view> names;
            for (const Form& f : forms()) names.push_back(f.opcode);
            s.error = "Not a name of any known instruction: '" + i.opcode + "'";
            if (const std::string_view near = nearest(i.opcode, names); !near.empty())
                s.hint = "did you mean '" + std::string(near) + "'?";
            return s;
        }
        wrong_modifiers(r, i, s);
        return s;
    }
    std::string types;
    for (const ptx::Modifier& m : found.modifiers) {
        apply_modifier(m.text, s.mod);
        if (type_named(m.text) != Type::none) types += m.text;
    }
    const OpRow& op = row(s.form->op);
    if (i.opcode == "wgmma") {
        choose_warpgroup(r, s, found.modifiers);
        return s;
    }
    if (!hints_allowed(s, i) || !row_supported(r, s, i, types) || !modifiers_supported(r, s, i))
        return s;
    if (op.wmma)
        choose_wmma(r, s);
    else if (op.matrix == Matrix::product)
        choose_mma(r, s, found.modifiers);
    else if ((s.form->op == Op::ld || s.form->op == Op::st) &&
             s.mod.vec * bits(s.mod.type[0]) > 128)
        s.error = too_wide(r, s, i);
    else if ((s.form->op == Op::mov || s.form->op == Op::async_store) &&
             s.mod.vec * bits(s.mod.type[0]) > 128)
        s.error = "Vector type too large, exceeds 128 bit limit";
    return s;
}

}  // namespace lockwarp::isa
