// SPDX-License-Identifier: Apache-2.0
// What the tests of the parser share.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "emu/ptx/parser.hpp"

namespace lockwarp::ptx {

// The directives that begin every module; a test's text stands behind them, from line 4 on.
inline constexpr std::string_view header = ".version 9.0\n.target sm_90a\n.address_size 64\n";

std::string read_file(const std::filesystem::path& path);

// The paths below a directory that end in ".ptx", sorted.
std::vector<std::filesystem::path> ptx_files(const std::filesystem::path& directory);

// "line:column: message" for each diagnostic, each with a newline.
std::string messages(const std::vector<Diagnostic>& diagnostics);

// The tree of the header and `text`, which must have no diagnostics.
Module module_of(std::string_view text);

// The statements of ".entry k() { text }"; the braces stand on lines of their own.
std::vector<Statement> body_of(std::string_view text);

// The only instruction of `text`.
Instruction instruction_of(std::string_view text);

// The diagnostics of the header and `text`, as messages() writes them.
std::string errors_of(std::string_view text);

// Fails the test unless the text has no diagnostics and its printed tree parses to the same tree.
void expect_round_trip(const std::string& text, const std::string& what);

}  // namespace lockwarp::ptx
