// SPDX-License-Identifier: Apache-2.0
// The options by which a command leaves a report for CI: --json, --junit, --github.
#pragma once

#include <string>

#include "launch/result.hpp"
#include "validate/summary.hpp"

namespace CLI {
class App;
}

namespace lockwarp::tools {

struct ReportOptions {
    std::string json, junit;  // files; empty: none
    bool github = false;
};

void add_report_options(CLI::App& command, ReportOptions& o);

// --junit and --github only, for a command whose JSON has an option of its own.
void add_ci_options(CLI::App& command, ReportOptions& o);

// Writes what was asked for. Where GitHub Actions runs it (GITHUB_ACTIONS is true) or --github is
// given: annotations to stderr, which GitHub reads as it does stdout, and the job summary appended
// to the file that GITHUB_STEP_SUMMARY names. Both files are written, or
// neither is; that they cannot be does not keep GitHub's.
[[nodiscard]] launch::Result<void> write_reports(const validate::Summary& s,
                                                 const ReportOptions& o);

// Whether files can be written, as far as that can be told before there is something to write.
[[nodiscard]] launch::Result<void> check_output(const std::string& path);
[[nodiscard]] launch::Result<void> check_reports(const ReportOptions& o);

// Of a command that cannot run (there is no GPU): says why, leaves reports that say "skipped", and
// gives the exit status.
int skip(const std::string& command, const std::string& why, const ReportOptions& o);

}  // namespace lockwarp::tools
