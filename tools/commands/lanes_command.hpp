// SPDX-License-Identifier: Apache-2.0
// The questions about lanes: info, where, what, table, layout, compat.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lanes/answer.hpp"
#include "lanes/instruction.hpp"

namespace CLI {
class App;
}

namespace lockwarp::tools {

// How an answer is written; each of these commands has these.
struct AnswerOptions {
    std::string format = "text";
    bool json = false;  // as --format json
};
void add_answer_options(CLI::App& command, AnswerOptions& o);

// Prints the answer, or what is wrong with the question to stderr; the exit status.
int print_answer(const lanes::Answer& a, const AnswerOptions& o);

// What is wrong with a name that is no architecture, and which there are.
std::string unknown_architecture(const std::string& name);

// The instruction of a name, or of "NAME@ARCH"; `arch` may be empty.
lanes::Found named_instruction(const std::string& name, const std::string& arch);

struct LanesCommand {
    AnswerOptions answer;
    std::string instruction, other, operand;
    std::vector<std::string> archs;
    std::string arch;
    int64_t row = 0, column = 0, lane = 0;
    std::optional<int64_t> reg;
    std::string by = "element";
    std::vector<std::string> difference;
};

// list --arch: the instructions of an architecture.
int list_lanes(const LanesCommand& o);

}  // namespace lockwarp::tools
