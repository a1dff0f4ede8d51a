// SPDX-License-Identifier: Apache-2.0
// Expressions over registers and memory, with C's operators and precedence:
//   %r3  %r3.f32  %rd4 + 16  lane  warp  cta  ctaid.x  tid.x  step  D[3][5]  D.f32[77]
//   shared[0x40]  shared.f16[%r5]  global.f32[%rd4]  1.5  0x3c00
// Integers are computed in 64 bits, with two's complement; one floating operand makes both doubles.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "debug/view.hpp"
#include "launch/result.hpp"

namespace lockwarp::debug {

struct Node;

// Parsed once, evaluated often. An empty one is none.
class Expression {
  public:
    static launch::Result<Expression> parse(std::string_view text);
    const std::string& text() const { return text_; }
    bool empty() const { return root_ == nullptr; }
    // In the view's lane. An error: a name that is unknown, memory that is not there, a division by
    // zero.
    launch::Result<Value> evaluate(const View& view) const;
    // The memory that it names, where it is an element, and the register, where it is one.
    struct Target {
        ptx::Space space = ptx::Space::none;  // none: a register
        uint64_t address = 0;
        uint64_t bytes = 0;
        isa::Type type = isa::Type::none;
        const isa::Register* reg = nullptr;
    };
    launch::Result<Target> target(const View& view) const;

  private:
    std::string text_;
    std::shared_ptr<const Node> root_;
};

bool is_true(const Value& v);

}  // namespace lockwarp::debug
