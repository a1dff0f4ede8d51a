// SPDX-License-Identifier: Apache-2.0
// Instructions and rows: which row an instruction is of, and what can be written for a row.
#include <algorithm>
#include <array>

#include "emu/isa/forms.hpp"

namespace lockwarp::isa {

namespace {

// Every way of writing the groups that stand there.
std::vector<std::string> spread(const Form& form, const std::vector<bool>& stands) {
    std::vector<std::string> texts{""};
    for (size_t i = 0; i < form.groups.size(); ++i) {
        if (!stands[i]) continue;
        std::vector<std::string> longer;
        longer.reserve(texts.size() * form.groups[i].alternatives.size());
        for (const std::string& text : texts)
            for (const std::string_view modifier : form.groups[i].alternatives)
                longer.push_back(text + std::string(modifier));
        texts = std::move(longer);
    }
    return texts;
}

std::vector<bool> required(const Form& form) {
    std::vector<bool> out;
    for (const ModifierGroup& group : form.groups) out.push_back(!group.optional);
    return out;
}

}  // namespace

bool is_one_of(std::span<const std::string_view> set, std::string_view modifier) {
    return std::ranges::find(set, modifier) != set.end();
}

Type type_of(const OperandSlot& slot, const Modifiers& modifiers) {
    const Type own = modifiers.type[0];
    switch (slot.rule) {
        case TypeRule::own:
            return own;
        case TypeRule::second:
            return modifiers.type[1];
        case TypeRule::named:
            return slot.named;
        case TypeRule::twice_as_wide:
            break;
    }
    for (const TypeRow& wide : type_rows)
        if (wide.kind == row(own).kind && wide.lanes == 1 && wide.bits == 2 * bits(own))
            return wide.type;
    return Type::none;
}

bool matches(const Form& form, std::span<const ptx::Modifier> modifiers) {
    for (const ModifierGroup& group : form.groups) {
        if (!modifiers.empty() && is_one_of(group.alternatives, modifiers[0].text))
            modifiers = modifiers.subspan(1);
        else if (!group.optional)
            return false;
    }
    return modifiers.empty();
}

std::vector<ptx::Modifier> in_order(const Form& form, std::span<const ptx::Modifier> modifiers) {
    const size_t count = modifiers.size();
    // Types stand in their order, and so do state spaces: it says which operand has which.
    enum Ordered : uint8_t { no, type, space };
    std::vector<Ordered> ordered;
    for (const ptx::Modifier& m : modifiers) {
        Modifiers one;
        apply_modifier(m.text, one);
        ordered.push_back(one.types != 0 || type_named(m.text) != Type::none ? type
                          : one.space != ptx::Space::none                    ? space
                                                                             : no);
    }
    std::vector<ptx::Modifier> out;
    std::vector<bool> used(count, false);
    std::array<size_t, 3> next{};  // those of an order are taken from here on
    for (const ModifierGroup& group : form.groups) {
        const auto fits = [&](size_t i) {
            if (used[i] || i < next[ordered[i]]) return false;
            if (group.of_name && i != out.size()) return false;
            return is_one_of(group.alternatives, modifiers[i].text);
        };
        size_t found = 0;
        while (found < count && !fits(found)) ++found;
        if (found == count) {
            if (group.optional) continue;
            return {};
        }
        used[found] = true;
        if (ordered[found] != no) next[ordered[found]] = found + 1;
        out.push_back(modifiers[found]);
    }
    if (out.size() != count) out.clear();
    return out;
}

FoundForm find_form(const ptx::Instruction& i) {
    const std::span<const Form* const> rows = forms_of(i.opcode);
    // Of rows with the same modifiers, the first that has as many operands; else the first.
    FoundForm first;
    for (const Form* f : rows) {
        if (!matches(*f, i.modifiers)) continue;
        if (i.operands.size() <= f->slots.size()) return {f, i.modifiers};
        if (first.form == nullptr) first = {f, i.modifiers};
    }
    if (first.form != nullptr) return first;
    for (const Form* f : rows) {
        std::vector<ptx::Modifier> modifiers = in_order(*f, i.modifiers);
        if (modifiers.empty()) continue;
        if (i.operands.size() <= f->slots.size()) return {f, std::move(modifiers)};
        if (first.form == nullptr) first = {f, std::move(modifiers)};
    }
    return first;
}

std::vector<std::string> expansions(const Form& form) {
    std::vector<bool> stands = required(form);
    std::vector<std::string> out = spread(form, stands);
    for (size_t i = 0; i < form.groups.size(); ++i) {
        if (!form.groups[i].optional) continue;
        stands[i] = true;
        for (std::string& text : spread(form, stands)) out.push_back(std::move(text));
        stands[i] = false;
    }
    return out;
}

std::vector<std::string> expansions_of_subsets(const Form& form,
                                               bool (*wanted)(const ModifierGroup&)) {
    std::vector<std::vector<bool>> subsets{required(form)};
    for (size_t i = 0; i < form.groups.size(); ++i) {
        if (!form.groups[i].optional || !wanted(form.groups[i])) continue;
        for (size_t k = 0, n = subsets.size(); k < n; ++k) {
            subsets.push_back(subsets[k]);
            subsets.back()[i] = true;
        }
    }
    std::vector<std::string> out;
    for (const std::vector<bool>& stands : subsets)
        for (std::string& text : spread(form, stands)) out.push_back(std::move(text));
    return out;
}

}  // namespace lockwarp::isa
