// SPDX-License-Identifier: Apache-2.0
// What a program did under `lockwarp exec`, from the lines that its processes wrote.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/report/checked.hpp"

namespace lockwarp::tools {

struct ExecKernel {
    CheckedFile checked;  // its name, findings, and a trap as what stopped it
    uint64_t launches = 0;
    uint64_t cycles = 0, nanoseconds = 0;  // by the model, of all its launches
};

struct ExecReport {
    std::vector<ExecKernel> kernels;         // in the order of their first launches
    std::map<std::string, uint64_t> blocks;  // of malloc that are left, by heap
};

ExecReport read_exec_report(const std::string& path);

// "exec: 12 launches of 3 kernels: 2 errors, 1 note", a line.
std::string exec_answer(const ExecReport& report);
// A line for each kernel, the longest first.
std::string exec_times(const ExecReport& report);
std::string exec_junit(const ExecReport& report);
// Something was launched, and nothing was found.
bool is_clean(const ExecReport& report);

}  // namespace lockwarp::tools
