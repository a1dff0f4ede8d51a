// SPDX-License-Identifier: Apache-2.0
// lockwarp why
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockwarp::tools {

struct WhyOptions {
    std::vector<std::string> files;  // [SOURCE] LAUNCH.json
    std::vector<std::string> nvcc;   // its options
    std::string arch;
    std::vector<std::string> product;
    std::string shape;  // of a matrix that is expected without a product
    std::string svg;
    std::string json;
};

int why_command(const WhyOptions& options);

}  // namespace lockwarp::tools
