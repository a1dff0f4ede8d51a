// SPDX-License-Identifier: Apache-2.0
// lockwarp replay
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/report_options.hpp"

namespace CLI {
class App;
}

namespace lockwarp::tools {

struct ReplayOptions {
    std::vector<std::string> files;  // recordings, and folders of them
    uint64_t max_steps = 0;          // 0: no limit
    unsigned threads = 0;
    std::string shard;
    ReportOptions reports;
};

int replay_command(const ReplayOptions& options);

// The recordings that are meant: files as they are named; of a folder every *.lwr in it and in the
// folders directly in it, in the order of their names. None twice.
[[nodiscard]] launch::Result<std::vector<std::string>> find_recordings(
    const std::vector<std::string>& named);

}  // namespace lockwarp::tools
