// SPDX-License-Identifier: Apache-2.0
// lockwarp explorer
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lockwarp::tools {

struct ExplorerCommand {
    std::string out = "lanes.html";
};

int explorer_command(const ExplorerCommand& command);

}  // namespace lockwarp::tools
