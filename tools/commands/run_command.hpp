// lockwarp run
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockwarp::tools {

struct RunOptions {
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json
    std::string arch;
    std::string out;
    std::vector<std::string> print;
    std::vector<std::string> product;
    bool stats = false;
    bool check = false;      // for reads of what a cp.async may still be bringing
    uint64_t max_steps = 0;  // 0: no limit
    unsigned threads = 0;
};

// Exit status.
inline constexpr int done = 0;
inline constexpr int differs_or_trapped = 1;
inline constexpr int wrong_input = 2;
inline constexpr int no_gpu = 77;
inline constexpr int interrupted = 130;

int run_command(const RunOptions& options);

}  // namespace lockwarp::tools
