// SPDX-License-Identifier: Apache-2.0
// lockwarp special
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/engines.hpp"
#include "tools/report/report_options.hpp"
#include "validate/special.hpp"

namespace lockwarp::tools {

struct SpecialCommand {
    std::vector<std::string> forms;  // "ex2", "rcp.approx.ftz.f32"; empty: all
    EngineOptions engines;
    bool emulator = false;  // in a GPU's place
    uint64_t first = 0;
    uint64_t count = UINT64_MAX;
    unsigned threads = 0;
    ReportOptions reports;
    bool list = false;  // print the forms
};

int special_command(const SpecialCommand& command);

// The forms that are named, in their order. A problem names what is none.
[[nodiscard]] launch::Result<std::vector<gpu::SpecialForm>> chosen_forms(
    const std::vector<std::string>& names);

// What is printed: the answer, the devices, a line for each form, then what differs. `absent`:
// forms that the machine does not have.
std::string special_text(const std::vector<validate::SpecialReport>& reports,
                         const std::vector<gpu::Device>& devices,
                         const std::vector<std::string>& absent);

}  // namespace lockwarp::tools
