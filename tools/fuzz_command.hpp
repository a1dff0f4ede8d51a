// lockwarp fuzz
#pragma once

#include <string>
#include <vector>

namespace lockwarp::tools {

struct FuzzCommand {
    unsigned gpu = 0;
    uint64_t seed = 1;
    uint64_t cases = 100;
    double seconds = 0;  // 0: no limit
    std::vector<std::string> only;
    unsigned instructions = 48;
    uint32_t ctas = 64;
    std::string out = "fuzz-found";
    unsigned threads = 0;
    bool list = false;  // print what is generated
};

int fuzz_command(const FuzzCommand& command);

}  // namespace lockwarp::tools
