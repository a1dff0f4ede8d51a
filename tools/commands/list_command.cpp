// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/list_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>
#include <vector>

#include "emu/exec/families.hpp"
#include "emu/isa/forms.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/wmma.hpp"
#include "emu/num/dot.hpp"
#include "lanes/answer.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/lanes_command.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/report/kind_lines.hpp"

namespace lockwarp::tools {

namespace {

// How the arithmetic of a variant is known on an architecture; "-": the architecture lacks it.
std::string_view known_by(const isa::MmaVariant& v, const isa::ArchRow& arch) {
    if (!isa::has(arch, v.target)) return "-";
    const num::DotRow* row = num::find_dot_row(arch.arch, v.m, v.n, v.k, v.a, v.d, v.kind);
    return row == nullptr ? "-" : isa::brief(num::known(*row, v).evidence);
}

// The same of wmma.mma.
std::string_view known_by(const isa::WmmaVariant& v, const isa::ArchRow& arch) {
    const num::DotRow* row = !isa::has(arch, v.target) ? nullptr
                                                       : num::find_dot_row(arch.arch, v.m, v.n, v.k,
                                                                           v.ab, isa::sum_type(v));
    return row == nullptr ? "-" : isa::brief(num::known(*row, v.k).evidence);
}

// Words in lines of at most 100 columns.
std::string wrapped(const std::set<std::string_view>& words, std::string_view indent) {
    std::string out;
    std::string line{indent};
    for (const std::string_view w : words) {
        if (line.size() + w.size() + 1 > lanes::line_columns) {
            out += line + "\n";
            line = indent;
        }
        if (line.size() > indent.size()) line += ' ';
        line += w;
    }
    return out + line + "\n";
}

std::string variants(bool markdown) {
    const std::string_view separator = markdown ? " | " : " ";
    const std::string_view edge = markdown ? "| " : "";
    const std::string_view end = markdown ? " |\n" : "\n";
    const auto finish = [&](std::string& text) {
        while (!markdown && text.ends_with(' ')) text.pop_back();
        text += end;
    };
    // As text all architectures fit 100 columns: without "sm_", which they share.
    const unsigned cell = markdown ? 6 : 5;
    std::string out = fmt::format("{}{:<34}", edge, markdown ? "variant" : "variant, by sm_");
    for (const isa::ArchRow& a : isa::arch_rows)
        out += fmt::format("{}{:<{}}", separator, a.name.substr(markdown ? 0 : 3), cell);
    finish(out);
    if (markdown) {
        out += "|---|";
        for (size_t i = 0; i < isa::arch_rows.size(); ++i) out += "---|";
        out += "\n";
    }
    std::vector<VariantLine> lines;
    const auto add = [&](std::string name, const auto& v) {
        std::string words;
        for (const isa::ArchRow& a : isa::arch_rows)
            words += fmt::format("{}{:<{}}", separator, known_by(v, a), cell);
        lines.push_back({std::move(name), words});
    };
    for (const isa::MmaVariant& v : isa::mma_variants()) add(std::string(v.key), v);
    // One line for the orders of A and B, which change nothing.
    std::set<std::string> seen;
    for (const isa::WmmaVariant& v : isa::wmma_variants()) {
        std::string key(v.key);
        for (const std::string_view order : {".row", ".col"})
            for (size_t at; (at = key.find(order)) != std::string::npos;) key.erase(at, 4);
        if (seen.insert(key).second) add(key, v);
    }
    for (const VariantLine& l : joined(lines)) {
        // A long name has a line of its own.
        const bool fits = markdown || l.name.size() <= 34;
        out += fmt::format("{}{}{:<34}{}", edge, fits ? "" : l.name + "\n", fits ? l.name : "",
                           l.words);
        finish(out);
    }
    return out + "\n" + std::string(other_pairs) + "\n";
}

}  // namespace

std::string instruction_list(bool markdown) {
    std::set<std::string_view> executed;
    for (const isa::Form& f : isa::forms())
        if (exec::is_executed(f.op)) executed.insert(f.opcode);
    std::set<std::string_view> later(isa::opcodes_not_executed().begin(),
                                     isa::opcodes_not_executed().end());
    for (const isa::Form& f : isa::forms())
        if (!executed.contains(f.opcode)) later.insert(f.opcode);
    const std::string_view fence = markdown ? "```\n" : "";
    const std::string_view indent = markdown ? "" : "  ";
    std::string out;
    out +=
        "Matrix variants, and how their arithmetic is known on each architecture: measured, "
        "replayed,\n"
        "from the literature, derived from related instructions, or - where there is none:\n\n";
    out += variants(markdown);
    out += "\nInstructions that are executed:\n\n";
    out += std::string(fence) + wrapped(executed, indent) + std::string(fence);
    out += "\nInstructions of PTX that are not executed yet:\n\n";
    out += std::string(fence) + wrapped(later, indent) + std::string(fence);
    return out;
}

void add_list(CLI::App& app, int& status) {
    struct Options {
        bool markdown = false;
        LanesCommand lanes;
    };
    const auto shared = std::make_shared<Options>();
    CLI::App* list = app.add_subcommand("list", "Print the instructions that are executed");
    list->add_flag("--markdown", shared->markdown, "as the documents have it");
    list->add_option("--arch", shared->lanes.arch,
                     "instead, the instructions of an architecture whose operands lie in lanes, as "
                     "info has them")
        ->type_name("ARCH");
    add_answer_options(*list, shared->lanes.answer);
    list->callback([shared, &status] {
        if (!shared->lanes.arch.empty() || shared->lanes.answer.json) {
            status = list_lanes(shared->lanes);
            return;
        }
        fmt::print("{}", instruction_list(shared->markdown));
        status = std::fflush(stdout) == 0 ? done : wrong_input;
    });
}

}  // namespace lockwarp::tools
