// SPDX-License-Identifier: Apache-2.0
// One launch file, run on the emulator and held against what it expects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emu/check/check.hpp"
#include "launch/state.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/report/matrices.hpp"
#include "validate/summary.hpp"

namespace lockwarp::tools {

// What is to be shown of the buffers.
struct Requests {
    std::vector<PrintRequest> prints;
    std::vector<launch::Expectation> products;
    std::vector<const check::CheckRow*> checks;
};

// Reads the options; an error says which is wrong.
[[nodiscard]] launch::Result<Requests> parse_requests(const RunOptions& options);

struct FileRun {
    int status = done;
    std::string text;                      // for a person; whole lines
    std::string wrong;                     // of it what is wrong
    std::optional<launch::Error> refused;  // nothing ran
    validate::CaseResult result;
    size_t expectations = 0;
};

// files: [SOURCE] LAUNCH.json. threads: 0 all cores. Alone: with a bar on a terminal. Outputs go to
// `out`; empty: nowhere.
FileRun run_file(const RunOptions& options, const Requests& requests,
                 const std::vector<std::string>& files, unsigned threads, bool alone,
                 const std::string& out);

}  // namespace lockwarp::tools
