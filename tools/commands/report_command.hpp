// SPDX-License-Identifier: Apache-2.0
// lockwarp report merge, lockwarp report show
#pragma once

#include <string>
#include <vector>

#include "tools/report/report_options.hpp"

namespace lockwarp::tools {

struct ReportCommand {
    std::vector<std::string> files;  // merge
    std::string file;                // show
    ReportOptions options;           // merge; json: where the merged report goes, else to stdout
};

}  // namespace lockwarp::tools
