// SPDX-License-Identifier: Apache-2.0
// The questions about sums: explain, equiv.
#pragma once

#include <string>

#include "lanes/explain.hpp"
#include "tools/commands/lanes_command.hpp"

namespace lockwarp::tools {

struct ExplainCommand {
    AnswerOptions answer;
    std::string instruction, other, operand;
    int64_t row = 0, column = 0;
    std::string archs;  // "sm_80,sm_90"
    lanes::InputTexts inputs;
    uint64_t tries = 20000;
};

}  // namespace lockwarp::tools
