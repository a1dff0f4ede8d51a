// SPDX-License-Identifier: Apache-2.0
// lockwarp debug
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockwarp::tools {

struct DebugOptions {
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json
    std::vector<std::string> nvcc;
    std::string arch;
    std::vector<std::string> commands;  // in their order; of -x as "source FILE"
    std::vector<std::string> product;   // what the result should be (--product)
    std::optional<uint64_t> order;
    bool batch = false;
};

int debug_command(const DebugOptions& options);

// The words of a command line, with gdb's -x FILE, -ex COMMAND and -batch as debug takes them.
std::vector<std::string> with_gdb_options(std::vector<std::string> words);

}  // namespace lockwarp::tools
