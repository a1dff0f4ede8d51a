// The row and the modifiers of an instruction, or why the assembler would refuse them.
#include <algorithm>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

std::string arch_text(uint16_t number) { return "sm_" + std::to_string(number); }

std::string version_text(uint16_t version) {
    return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

// What an instruction may look like, for the second line of a message.
std::string usage(std::string_view opcode) {
    std::string text;
    size_t shown = 0;
    for (const Form& f : forms()) {
        if (f.opcode != opcode) continue;
        if (++shown > 4) return text + ", ...";
        text += (text.empty() ? "" : ", ") + std::string(opcode) + std::string(f.syntax);
    }
    return text;
}

bool known_shape(std::string_view text) {
    std::string_view rest = set_named("shape");
    while (!rest.empty()) {
        const size_t bar = rest.find('|');
        if (rest.substr(0, bar) == text) return true;
        if (bar == std::string_view::npos) break;
        rest.remove_prefix(bar + 1);
    }
    return false;
}

std::string not_executed(const std::string& spelling) {
    return "Instruction '" + spelling + "' is not executed yet";
}

// Whether the module's .target and .version allow a feature; otherwise the spelling's error.
bool supported(const Resolver& r, Spelling& s, std::string_view feature, uint16_t target,
               uint16_t version) {
    const std::string begin = "Feature '" + std::string(feature) + "' requires ";
    if (r.program.target < target)
        s.error = begin + ".target " + arch_text(target) + " or higher";
    else if (r.version < version)
        s.error = begin + "PTX ISA .version " + version_text(version) + " or later";
    return s.error.empty();
}

// The mma variant, or why there is none, in the assembler's words.
void choose_mma(Resolver& r, Spelling& s, std::span<const ptx::Modifier> modifiers) {
    const Modifiers& m = s.mod;
    const auto [d, a, b, c] = m.type;
    const std::string shape = modifiers[2].text;
    s.mma = find_mma(m.m, m.n, m.k, d, a, b, c, m.order[0], m.order[1]);
    if (s.mma != nullptr && m.satfinite && !s.mma->satfinite) {
        s.error = "Unexpected instruction types specified for 'mma'";
        s.hint = std::string(s.mma->key) + " has no .satfinite";
        return;
    }
    if (s.mma != nullptr) {
        supported(r, s, s.mma->feature, s.mma->target, s.mma->ptx);
        return;
    }
    const bool row_col = m.order[0] == Order::row && m.order[1] == Order::col;
    if (!row_col && find_mma(m.m, m.n, m.k, d, a, b, c, Order::row, Order::col) != nullptr) {
        s.error = m.order[0] == Order::col ? "Illegal alayout '.col' for instruction 'mma'"
                                           : "Illegal blayout '.row' for instruction 'mma'";
        return;
    }
    const MmaVariant* same = find_mma(m.m, m.n, m.k, c, a, b, c, m.order[0], m.order[1]);
    if (c != d && a == Type::f16 && b == Type::f16 && is_float(d) && same != nullptr) {
        if (!supported(r, s, same->feature, same->target, same->ptx)) return;
        const std::string type{row(c).name};
        s.error = ".dtype must be '" + type + "' when .ctype is '" + type +
                  "' for 'mma' instruction with shape '" + shape + "'";
        return;
    }
    const auto later = [](Type t) {
        return t == Type::e4m3 || t == Type::e5m2 || t == Type::s4 || t == Type::u4 ||
               t == Type::b1;
    };
    if (later(a) && later(b)) {
        s.error = not_executed("mma" + shape + std::string(row(d).name) + std::string(row(a).name) +
                               std::string(row(b).name) + std::string(row(c).name));
        return;
    }
    s.error = "Unexpected instruction types specified for 'mma'";
    for (const MmaVariant& v : mma_variants())
        if (v.m == m.m && v.n == m.n && v.k == m.k)
            s.hint += (s.hint.empty() ? "with this shape: " : ", ") + std::string(v.key);
}

// Which modifier is the wrong one: the first that no row of the opcode takes.
std::string wrong_modifier(const ptx::Instruction& i) {
    for (const ptx::Modifier& m : i.modifiers)
        if (modifier_not_executed(i.opcode, m.text)) return not_executed(spelled(i));
    for (const ptx::Modifier& m : i.modifiers) {
        Modifiers ignored;
        if ((i.opcode == "mma" && m.text.starts_with(".m") && !known_shape(m.text)) ||
            !apply_modifier(m.text, ignored))
            return "Unknown modifier '" + m.text + "'";
    }
    for (const ptx::Modifier& m : i.modifiers) {
        bool taken = false;
        for (const Form& f : forms()) {
            if (f.opcode != i.opcode) continue;
            // A modifier belongs to a syntax if it stands in it or in one of its named sets.
            std::string_view syntax = f.syntax;
            for (size_t at = 0; at < syntax.size() && !taken; ++at) {
                if (syntax[at] == '<') {
                    const size_t end = syntax.find('>', at);
                    const std::string set =
                        "|" + std::string(set_named(syntax.substr(at + 1, end - at - 1))) + "|";
                    taken = set.find("|" + m.text + "|") != std::string::npos;
                } else if (syntax[at] == '.') {
                    const size_t end =
                        std::min(syntax.find_first_of(".|{}<", at + 1), syntax.size());
                    taken = syntax.substr(at, end - at) == m.text;
                }
            }
        }
        if (!taken) return "Illegal modifier '" + m.text + "' for instruction '" + i.opcode + "'";
    }
    return "Unexpected instruction types specified for '" + i.opcode + "'";
}

}  // namespace

std::string spelled(const ptx::Instruction& i) {
    std::string text = i.opcode;
    for (const ptx::Modifier& m : i.modifiers) text += m.text;
    return text;
}

Spelling spell(Resolver& r, const ptx::Instruction& i) {
    Spelling s;
    bool opcode_known = false;
    for (const Form& f : forms()) {
        if (f.opcode != i.opcode) continue;
        opcode_known = true;
        if (!matches(f.syntax, i.modifiers)) continue;
        s.form = &f;
        break;
    }
    if (s.form == nullptr) {
        if (!opcode_known) {
            if (std::ranges::find(opcodes_not_executed(), i.opcode) !=
                opcodes_not_executed().end()) {
                s.error = not_executed(spelled(i));
                return s;
            }
            std::vector<std::string_view> names;
            for (const Form& f : forms()) names.push_back(f.opcode);
            s.error = "Not a name of any known instruction: '" + i.opcode + "'";
            if (const std::string_view near = nearest(i.opcode, names); !near.empty())
                s.hint = "did you mean '" + std::string(near) + "'?";
            return s;
        }
        s.error = wrong_modifier(i);
        if (!s.error.ends_with("not executed yet")) s.hint = usage(i.opcode);
        return s;
    }
    for (const ptx::Modifier& m : i.modifiers) apply_modifier(m.text, s.mod);
    if ((s.form->op == Op::atom || s.form->op == Op::red) && s.mod.space == ptx::Space::shared)
        for (const ptx::Modifier& m : i.modifiers)
            if (m.text == ".L2::cache_hint")
                s.error =
                    "Modifier '.L2::cache_hint' cannot be applied to '.shared' space for "
                    "instruction '" +
                    i.opcode + "'";
    if (!s.error.empty() || !supported(r, s, s.form->feature, s.form->target, s.form->ptx))
        return s;
    if (s.form->op == Op::mma)
        choose_mma(r, s, i.modifiers);
    else if ((s.form->op == Op::ld || s.form->op == Op::st) &&
             s.mod.vec * bits(s.mod.type[0]) > 128)
        s.error = "Feature '256 bit wide load/store' requires .target sm_100 or higher";
    return s;
}

}  // namespace lockwarp::isa
