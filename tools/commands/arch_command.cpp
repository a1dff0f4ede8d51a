// SPDX-License-Identifier: Apache-2.0
// lockwarp arch: the architectures that are modelled, from their rows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "emu/isa/arch.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/wmma.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/lanes_command.hpp"

namespace lockwarp::tools {

namespace {

struct ArchCommand {
    std::string name;  // empty: all
    AnswerOptions answer;
};

size_t mma_variants_of(const isa::ArchRow& a) {
    return static_cast<size_t>(std::ranges::count_if(
        isa::mma_variants(), [&](const isa::MmaVariant& v) { return isa::has(a, v.target); }));
}

lanes::Answer architectures(const std::string& name) {
    if (!name.empty() && !isa::arch_named(name)) return lanes::wrong(unknown_architecture(name));
    lanes::Answer out;
    lanes::Grid grid;
    grid.header = {"architecture", "product",        "from .version",
                   "mma variants", "shared, static", "shared, at most"};
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const isa::ArchRow& a : isa::arch_rows) {
        if (!name.empty() && isa::arch_named(name) != a.arch) continue;
        const std::string version = fmt::format("{}.{}", a.ptx / 10, a.ptx % 10);
        const size_t variants = mma_variants_of(a);
        grid.rows.push_back({std::string(a.name), std::string(a.product), version,
                             std::to_string(variants), std::to_string(a.shared_default),
                             std::to_string(a.shared_max)});
        all.push_back({{"name", a.name},
                       {"product", a.product},
                       {"ptx", version},
                       {"mma_variants", variants},
                       {"shared_static", a.shared_default},
                       {"shared_max", a.shared_max}});
    }
    out.line = grid.rows.size() == 1
                   ? fmt::format("{} is modelled after {}", grid.rows[0][0], grid.rows[0][1])
                   : fmt::format("{} architectures are modelled", grid.rows.size());
    out.notes = {
        "Shared memory in bytes for one CTA: of its own variables, and with dynamic memory.",
        "How far each instruction is known: lockwarp fidelity --arch NAME."};
    out.data = {{"architectures", all}};
    out.grids.push_back(std::move(grid));
    return out;
}

}  // namespace

void add_arch(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ArchCommand>();
    CLI::App* arch = app.add_subcommand("arch", "The architectures that are modelled");
    arch->add_option("NAME", shared->name, "one of them, as sm_80 (default: all)");
    add_answer_options(*arch, shared->answer);
    arch->callback(
        [shared, &status] { status = print_answer(architectures(shared->name), shared->answer); });
}

}  // namespace lockwarp::tools
