// lockwarp validate
#pragma once

#include <string>
#include <vector>

namespace lockwarp::tools {

struct ValidateOptions {
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json
    unsigned gpu = 0;
    std::vector<std::string> only;  // opcodes
    bool final_only = false;
    uint64_t trace_megabytes = 1024;
    uint64_t max_steps = 0;
    unsigned threads = 0;
};

int validate_command(const ValidateOptions& options);

}  // namespace lockwarp::tools
