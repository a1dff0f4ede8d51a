// SPDX-License-Identifier: Apache-2.0
// lockwarp diff
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <optional>

#include "debug/difference.hpp"
#include "debug/words.hpp"
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
    std::string arch;   // one, or two with a comma
    std::string order;  // likewise
};

// "7" as the usual order and 7, "1,2" as both. false: no numbers.
bool parse_orders(const std::string& text, std::array<std::optional<uint64_t>, 2>& out) {
    const size_t comma = text.find(',');
    const std::optional<uint64_t> first = debug::number_of(text.substr(0, comma));
    if (!first) return false;
    if (comma == std::string::npos) {
        out = {std::nullopt, first};
        return true;
    }
    const std::optional<uint64_t> second = debug::number_of(text.substr(comma + 1));
    out = {first, second};
    return second.has_value();
}

std::string order_name(const std::optional<uint64_t>& order) {
    return order ? fmt::format("order {}", *order) : std::string("the usual order");
}

// The files of the two runs: a launch file, two of them, or two sources and a launch file.
std::optional<std::array<std::vector<std::string>, 2>> files_of(
    const std::vector<std::string>& files) {
    const auto is_launch = [](const std::string& f) { return f.ends_with(".json"); };
    using Sides = std::array<std::vector<std::string>, 2>;
    if (files.size() == 1) return Sides{files, files};
    if (files.size() == 2 && is_launch(files[0])) return Sides{{{files[0]}, {files[1]}}};
    if (files.size() == 2) return Sides{files, files};
    if (files.size() == 3 && !is_launch(files[0]) && !is_launch(files[1]))
        return Sides{{{files[0], files[2]}, {files[1], files[2]}}};
    return std::nullopt;
}

int diff_command(const DiffOptions& o) {
    const size_t comma = o.arch.find(',');
    const std::array<std::string, 2> archs{
        o.arch.substr(0, comma), comma == std::string::npos ? o.arch : o.arch.substr(comma + 1)};
    const auto files = files_of(o.files);
    if (!files)
        return refuse("diff takes one launch file or two, or two sources and a launch file");
    std::array<std::optional<uint64_t>, 2> orders;
    if (!o.order.empty() && !parse_orders(o.order, orders))
        return refuse("--order " + o.order + ": a seed, or two with a comma");
    const bool same_files = (*files)[0] == (*files)[1];
    const bool is_twice = o.files.size() == 2 && o.files[0].ends_with(".json");
    if (same_files && !is_twice && comma == std::string::npos && o.order.empty())
        return refuse(
            "one launch file is compared on two architectures, --arch sm_80,sm_90, or in two "
            "orders, --order SEED");
    std::array<std::vector<launch::Loaded>, 2> sides;
    std::array<std::string, 2> names;
    for (size_t i = 0; i < 2; ++i) {
        launch::Result<std::vector<launch::Loaded>> loaded =
            launch::load_all((*files)[i], archs[i], o.nvcc);
        if (!loaded) return refuse(loaded.error());
        sides[i] = std::move(*loaded);
        names[i] = !same_files                  ? (*files)[i].front()
                   : comma != std::string::npos ? archs[i]
                                                : order_name(orders[i]);
    }
    const launch::Result<debug::Difference> found = debug::difference(
        {sides[0], names[0], orders[0]}, {sides[1], names[1], orders[1]}, &interrupt_flag());
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
    diff->add_option("FILES", o.files,
                     "two launch files; two sources (.ptx, .cu) and a launch file; or one launch "
                     "file with two architectures or orders")
        ->required();
    add_nvcc_options(*diff, o.nvcc);
    diff->add_option("--arch", o.arch,
                     "sm_80,sm_90: of the first run and of the second; or of both");
    diff->add_option(
            "--order", o.order,
            "SEED: of warps and CTAs, compared with the usual order; SEED,SEED: two others")
        ->type_name("SEED");
    diff->callback([shared, &status] { status = diff_command(*shared); });
}

}  // namespace lockwarp::tools
