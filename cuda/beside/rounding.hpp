// SPDX-License-Identifier: Apache-2.0
// PTX without leave to fuse. "mul/add sequences with no rounding modifiers may be optimized to use
// fused-multiply-add instructions" (PTX manual, mul): which ones is the compiler's affair, and the
// emulator rounds after each.
#pragma once

#include <string>
#include <string_view>

namespace lockwarp::beside {

// The text with .rn, which is what they mean, in each floating-point add, sub and mul that says no
// rounding. Empty: all do.
std::string with_rounding(std::string_view ptx);

// The text with a function of its own, which does nothing, in place of vprintf. Empty: it has none.
std::string without_printing(std::string_view ptx);

// Of a module's text without comments: the kernel's, and that of all functions that have a body
// there, which it may call.
std::string code_of(std::string_view text, std::string_view kernel);

}  // namespace lockwarp::beside
