#include "tools/explorer_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <span>

#include "lanes/explorer.hpp"
#include "lanes/instruction.hpp"
#include "tools/files.hpp"
#include "tools/run_command.hpp"

namespace lockwarp::tools {

void add_explorer(CLI::App& app, ExplorerCommand& o) {
    CLI::App* explorer = app.add_subcommand(
        "explorer", "Write a page to explore all instructions in a browser; it needs no network");
    explorer->add_option("--out", o.out, "the file to write (default: lanes.html)")
        ->type_name("FILE");
}

int explorer_command(const ExplorerCommand& o) {
    const std::string page = lanes::explorer_page(LOCKWARP_VERSION);
    const Problem problem =
        write_file(o.out, {reinterpret_cast<const uint8_t*>(page.data()), page.size()});
    if (!problem.empty()) {
        spdlog::error("{}", problem);
        return wrong_input;
    }
    fmt::print("{}: {:.1f} MB, {} instructions\n", o.out, static_cast<double>(page.size()) / 1e6,
               lanes::all_keys().size());
    return std::fflush(stdout) == 0 ? done : wrong_input;
}

}  // namespace lockwarp::tools
