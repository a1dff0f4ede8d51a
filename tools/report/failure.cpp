// SPDX-License-Identifier: Apache-2.0
#include "tools/report/failure.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "tools/exit_status.hpp"
#include "tools/report/report.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

std::string text_of(const launch::Error& error) {
    if (error.diagnostics.empty()) return error.sentence + "\n";
    const size_t n = error.diagnostics.size();
    return fmt::format("{}{} error{} in {}\n",
                       caret_report(error.path, error.source, error.diagnostics), n,
                       n == 1 ? "" : "s", error.path);
}

int refuse(const launch::Error& error) {
    if (error.diagnostics.empty()) return refuse(error.sentence);
    fmt::print(stderr, "{}", clean(text_of(error)));
    return wrong_input;
}

int refuse(const std::string& sentence) {
    spdlog::error("{}", sentence);
    return wrong_input;
}

}  // namespace lockwarp::tools
