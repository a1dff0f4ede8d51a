// SPDX-License-Identifier: Apache-2.0
// Instructions made from the rows: operands of the right kinds for a form's operand pattern.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/forms.hpp"
#include "emu/isa/matrix.hpp"

namespace lockwarp::isa {

// What stands before instances in the body of an entry: registers of every type, a variable in
// each state space. One line.
std::string declarations();
// The parameter that instances load from.
inline constexpr std::string_view parameters = ".param .align 16 .b8 pa[64]";

// One instruction of a form, with modifiers as expansions() writes them: "add.rn.f32 ...;".
std::string instance(const Form& form, const std::string& modifiers);

// One instruction of a matrix variant.
std::string instance(const MmaVariant& variant);

// The machine's .target that a module with the variant has to have.
inline std::string target_of(const MmaVariant& v, const ArchRow& machine) {
    return std::string(machine.name) + std::string(text_of(v.suffix()));
}

// The modifiers of ".rn.f32", as the parser gives them.
std::vector<ptx::Modifier> modifiers_of(std::string_view text);

// A whole module with instructions, one a line.
std::string module_with(const std::vector<std::string>& instructions, std::string_view target,
                        std::string_view version);

}  // namespace lockwarp::isa
