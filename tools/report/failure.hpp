// SPDX-License-Identifier: Apache-2.0
// How a command says on stderr why it ends.
#pragma once

#include <string>

#include "launch/result.hpp"

namespace lockwarp::tools {

// The sentence, or every diagnostic with its caret and how many there are; ends with a line break.
std::string text_of(const launch::Error& error);

// Says it; the exit status of wrong input.
int refuse(const launch::Error& error);
int refuse(const std::string& sentence);

}  // namespace lockwarp::tools
