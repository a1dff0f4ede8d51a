// SPDX-License-Identifier: Apache-2.0
// What the tests of the tables and of resolution share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"

namespace lockwarp::isa {

// "line:column: message", and " (hint)" where there is one, for each diagnostic.
std::string messages(const std::vector<ptx::Diagnostic>& diagnostics);

// Parses and resolves a whole module; the text must be good syntax.
Resolved resolved(const std::string& text, Arch arch, std::string_view entry = "");

// A module with one entry: three lines of header, then on line 4 `outside`, on line 5
// ".entry k() {", and the body from line 6 on.
std::string module_of(std::string_view body, std::string_view target = "sm_90",
                      std::string_view version = "9.0", std::string_view outside = "");

// The program of such a module, which must have no diagnostics.
Program program_of(std::string_view body, std::string_view outside = "");

// The diagnostics of such a module for sm_90, as messages() writes them.
std::string errors_of(std::string_view body, std::string_view outside = "");

// The first operation of that family; fails the test where there is none.
const Operation& first_of(const Program& program, Op op);

}  // namespace lockwarp::isa
