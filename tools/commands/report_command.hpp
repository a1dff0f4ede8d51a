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

void add_report(CLI::App& app, ReportCommand& command);

// `report` is the subcommand that add_report added, parsed.
int report_command(const CLI::App& report, const ReportCommand& command);

}  // namespace lockwarp::tools
