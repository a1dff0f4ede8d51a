// SPDX-License-Identifier: Apache-2.0
// One launch file of `validate`: its launches, each on the emulator and on a GPU, and what came of
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/engine.hpp"
#include "launch/input.hpp"
#include "tools/commands/validate_command.hpp"
#include "tools/exit_status.hpp"
#include "validate/lockstep.hpp"
#include "validate/summary.hpp"

namespace lockwarp::tools {

// What each launch file is compared with, and how.
struct Job {
    const ValidateOptions& options;
    validate::Options how;
    isa::Arch arch;
};

// One launch file and what came of it.
struct Outcome {
    bool ended = false;  // false: not begun, or stopped
    validate::CaseResult result;
    validate::Summary counted;  // its instructions
    int status = done;
    std::optional<launch::Error> refused;  // what stands on stderr where the input is wrong
    bool left_out = false;                 // a program's launch in which nothing is to be compared
    bool ordered = false;                  // compared in the GPU's order of its threads
};

// Where the input is wrong, by its reason.
Outcome refused(const std::string& name, launch::Error why);

// The launches of a file in their order, each compared, up to the first that differs. The next one
// begins with what the emulator left.
Outcome run_one(const Job& job, const std::string& name, std::vector<launch::Input> steps,
                gpu::Engine& engine);

}  // namespace lockwarp::tools
