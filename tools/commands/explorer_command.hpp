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

void add_explorer(CLI::App& app, ExplorerCommand& command);
int explorer_command(const ExplorerCommand& command);

}  // namespace lockwarp::tools
