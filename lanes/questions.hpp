// SPDX-License-Identifier: Apache-2.0
// The questions about lanes, each answered from the tables.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "lanes/answer.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::lanes {

// All instructions, or those of one architecture.
Answer list(std::optional<isa::Arch> arch);

// Shape, types, registers, architectures and what it becomes on each, formulas both ways.
Answer info(const Instruction& i);

// The owners of one element.
Answer where(const Instruction& i, std::string_view operand, unsigned row, unsigned column);

// What a lane holds, or one register of it.
Answer what(const Instruction& i, std::string_view operand, unsigned lane,
            std::optional<unsigned> reg);

enum class By : uint8_t { element, lane };
// Every element of an operand; without one, of all operands.
Answer table(const Instruction& i, std::string_view operand, By by);

// The CuTe layouts: (thread, value) -> (m, k), (n, k), (m, n).
Answer layout(const Instruction& i, std::string_view name);

// The operands of two instructions, or of one on two architectures, that are laid out alike.
Answer layout_difference(const Instruction& x, const Instruction& y);

// Whether operand `to` of y may be made of operand `from` of x in place: by the identity, another
// order of a lane's values, or not without shuffles.
Answer compatible(const Instruction& x, std::string_view from, const Instruction& y,
                  std::string_view to);

// movmatrix: which lane and half of a register each lane's values come from.
Answer moved();

// A picture in the arrangement of the PTX manual: A left, B above, C and D right below. Of one
// operand alone where it is named.
// `chosen`: elements that stand out, the others fade; empty: none does.
std::string picture(const Instruction& i, std::string_view operand,
                    const std::function<bool(const Held&)>& chosen = {});

}  // namespace lockwarp::lanes
