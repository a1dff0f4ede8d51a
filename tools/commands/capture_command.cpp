// SPDX-License-Identifier: Apache-2.0
// lockwarp capture: launches of a program on a GPU as launch files.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/commands/beside.hpp"
#include "tools/commands/commands.hpp"

namespace lockwarp::tools {

void add_capture(CLI::App& app, int& status) {
    const auto shared = std::make_shared<BesideOptions>();
    CLI::App* capture = app.add_subcommand(
        "capture", "Run a CUDA program on a GPU, and write a launch file of each launch");
    capture->add_option("--out", shared->out, "the folder for launch files")
        ->type_name("DIR")
        ->required();
    add_beside_options(*capture, *shared);
    capture->add_option("PROGRAM", shared->words, "behind --: the program and its arguments")
        ->required();
    capture->positionals_at_end();
    capture->callback(
        [shared, &status] { status = end_beside_gpu(*shared, run_beside_gpu(*shared)); });
}

}  // namespace lockwarp::tools
