// SPDX-License-Identifier: Apache-2.0
// Wrong usage: what CLI11 says, with what may have been meant; and checks that options of one kind
// share.
#pragma once

#include <string>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace lockwarp::tools {

// "error: ..." with the command or option that a misspelt one may mean.
std::string usage_message(const CLI::App* app, const CLI::Error& error);

// Of every option of the command: an empty value is refused, and, where a whole number is expected,
// one that is none or needs more than 64 bits.
void check_values(CLI::App& command);

}  // namespace lockwarp::tools
