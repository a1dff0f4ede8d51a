// SPDX-License-Identifier: Apache-2.0
// lockwarp diff
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "debug/difference.hpp"
#include "tools/commands/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/nvcc_options.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/summary_text.hpp"
#include "tools/signals.hpp"

namespace lockwarp::tools {

namespace {

struct DiffOptions {
    std::vector<std::string> files;
    std::vector<std::string> nvcc;
    std::string arch;  // one, or two with a comma
};

int diff_command(const DiffOptions& o) {
    const size_t comma = o.arch.find(',');
    const std::array<std::string, 2> archs{
        o.arch.substr(0, comma), comma == std::string::npos ? o.arch : o.arch.substr(comma + 1)};
    if (o.files.size() > 2) return refuse("diff takes one launch file or two");
    if (o.files.size() == 1 && comma == std::string::npos)
        return refuse("one launch file is compared on two architectures: --arch sm_80,sm_90");
    std::array<std::vector<launch::Loaded>, 2> sides;
    std::array<std::string, 2> names;
    for (size_t i = 0; i < 2; ++i) {
        const std::string& file = o.files[std::min(i, o.files.size() - 1)];
        launch::Result<std::vector<launch::Loaded>> loaded =
            launch::load_all({file}, archs[i], o.nvcc);
        if (!loaded) return refuse(loaded.error());
        sides[i] = std::move(*loaded);
        names[i] = o.files.size() == 1 ? archs[i] : file;
    }
    const launch::Result<debug::Difference> found =
        debug::difference(sides[0], sides[1], names, &interrupt_flag());
    if (interrupted_now()) return interrupted;
    if (!found) return refuse(found.error());
    fmt::print("{}", clean(found->text));
    return found->differs ? differs_or_trapped : done;
}

}  // namespace

void add_diff(CLI::App& app, int& status) {
    const auto shared = std::make_shared<DiffOptions>();
    DiffOptions& o = *shared;
    CLI::App* diff = app.add_subcommand(
        "diff", "The first register in which two runs differ, and how that spreads");
    diff->add_option("FILES", o.files, "two launch files, or one with two architectures")
        ->required();
    add_nvcc_options(*diff, o.nvcc);
    diff->add_option("--arch", o.arch,
                     "sm_80,sm_90: of the first run and of the second; or of both");
    diff->callback([shared, &status] { status = diff_command(*shared); });
}

}  // namespace lockwarp::tools
