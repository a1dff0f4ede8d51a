// The questions about lanes: info, where, what, table, layout, compat.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lanes/answer.hpp"

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

struct LanesCommand {
    AnswerOptions answer;
    std::string instruction, other, operand;
    std::vector<std::string> archs;
    std::string arch;
    int64_t row = 0, column = 0, lane = 0;
    std::optional<int64_t> reg;
    std::string by = "element";
    bool cute = false;
    std::vector<std::string> difference;
};

void add_lanes(CLI::App& app, LanesCommand& o);

// nullopt: none of these commands was given.
std::optional<int> lanes_command(const CLI::App& app, const LanesCommand& o);

}  // namespace lockwarp::tools
