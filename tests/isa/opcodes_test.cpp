// SPDX-License-Identifier: Apache-2.0
// The rows of the opcodes beside those of the forms.
#include "emu/isa/opcodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "emu/isa/forms.hpp"

namespace lockwarp::isa {
namespace {

// A form's opcode and what it must be written with, up to the first choice and with its first
// alternative; dimensions as ".Nd".
std::string spelled(const Form& form) {
    std::string out(form.opcode);
    for (const ModifierGroup& group : form.groups) {
        if (group.optional) continue;
        if (is_one_of(group.alternatives, ".3d")) {
            out += ".Nd";
            continue;
        }
        if (!group.set.empty()) break;
        out += group.alternatives[0];
        if (group.alternatives.size() > 1) break;
    }
    return out;
}

bool has_modifier(const Form& form, std::string_view modifier, bool required) {
    return std::ranges::any_of(form.groups, [&](const ModifierGroup& group) {
        return !(required && group.optional) && is_one_of(group.alternatives, modifier);
    });
}

bool has_slot(const Form& form, std::initializer_list<Slot> slots) {
    return std::ranges::any_of(form.slots, [&](const OperandSlot& slot) {
        return std::ranges::find(slots, slot.slot) != slots.end();
    });
}

TEST(Opcodes, EachIsWrittenAsItsRowSays) {
    for (const OpRow& r : op_rows) {
        bool found = false;
        for (const Form& form : forms())
            found |= form.op == r.op && (spelled(form) + ".").starts_with(r.name) &&
                     std::string_view(".").find((spelled(form) + ".")[r.name.size()]) == 0;
        EXPECT_TRUE(found) << r.name;
    }
}

// What decides how a warp comes to it is the opcode, not a modifier that may be left out.
TEST(Opcodes, StepsAreThoseOfTheirForms) {
    for (const Form& form : forms()) {
        const OpRow& r = row(form.op);
        const std::string text = std::string(form.opcode) + std::string(form.syntax);
        const bool sync = has_modifier(form, ".sync", false);
        const bool aligned = sync && has_modifier(form, ".aligned", true);
        // The assembler takes wgmma without .aligned too.
        if (form.opcode != "wgmma") {
            EXPECT_EQ(aligned, r.step == StepKind::aligned) << text;
        }
        if (r.step == StepKind::collective) {
            EXPECT_TRUE(sync) << text;
        }
        if (r.step == StepKind::plain) {
            EXPECT_FALSE(sync) << text;
        }
    }
}

// "d, a" of a chain of values: no address, no label, no fragment among its operands.
TEST(Opcodes, ValuesHaveNoAddressesAndOthersHaveAReason) {
    for (const Form& form : forms()) {
        const bool addressed = has_slot(
            form, {Slot::address, Slot::global_address, Slot::shared_address, Slot::texture});
        const bool held = has_slot(form, {Slot::label, Slot::branch_targets, Slot::call,
                                          Slot::matrices, Slot::fragment, Slot::wmma_fragment});
        if (on_values(form.op)) {
            EXPECT_FALSE(addressed || held) << form.opcode << form.syntax;
        }
        // A descriptor gives the places of wgmma's matrices.
        if (row(form.op).memory != Memory::none && row(form.op).matrix != Matrix::warpgroup) {
            EXPECT_TRUE(addressed) << form.opcode;
        }
    }
}

}  // namespace
}  // namespace lockwarp::isa
