// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/fidelity_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "evidence/fidelity.hpp"
#include "gpu/trace.hpp"
#include "lanes/answer.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/fidelity_table.hpp"
#include "tools/report/kind_lines.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

using evidence::Fidelity;
using evidence::FidelityRow;

constexpr size_t name_column = 36;
constexpr size_t word_column = 19;

// Words after `begin` in lines of at most 100 columns, continued at `indent`.
std::string wrapped(const std::string& begin, std::string_view text, size_t indent) {
    std::string out;
    std::string line = begin;
    bool first = true;
    while (!text.empty()) {
        // A word that no line has room for is cut.
        const size_t space = text.find(' ');
        const std::string_view word = text.substr(0, std::min(space, lanes::line_columns - indent));
        text.remove_prefix(word.size() == space ? space + 1 : word.size());
        if (!first && line.size() + 1 + word.size() > lanes::line_columns) {
            out += line + "\n";
            line = std::string(indent, ' ');
            first = true;
        }
        line += (first ? "" : " ") + std::string(word);
        first = false;
    }
    while (line.ends_with(' ')) line.pop_back();
    return out + line + "\n";
}

using Tally = std::array<size_t, static_cast<size_t>(Fidelity::count_)>;

Tally tally(const std::vector<FidelityRow>& rows) {
    Tally out{};
    for (const FidelityRow& r : rows) ++out[static_cast<size_t>(r.fidelity)];
    return out;
}

bool runs(Fidelity f) { return f < Fidelity::not_supported; }

// "sm_90: 214 of 230 exact on hardware, 10 literature": of instructions
std::string headline(const isa::ArchRow& arch, const std::vector<FidelityRow>& rows) {
    const Tally counts = tally(rows);
    size_t all = 0;
    std::string rest;
    for (const evidence::FidelityWord& w : evidence::fidelity_words()) {
        const size_t n = counts[static_cast<size_t>(w.fidelity)];
        if (runs(w.fidelity)) all += n;
        if (runs(w.fidelity) && w.fidelity != Fidelity::exact && n != 0)
            rest += fmt::format(", {} {}", n, w.word);
    }
    return fmt::format("{}: {} of {} exact on hardware{}\n", arch.name, counts[0], all, rest);
}

// What stands behind the column of names; a long name has a line of its own.
std::string named(const std::string& name, std::string_view word, std::string_view text,
                  size_t indent) {
    const bool fits = name.size() < name_column;
    const std::string begin = fmt::format("{:<{}}{}", fits ? name : "", name_column, word);
    return (fits ? "" : name + "\n") + wrapped(begin, text, indent);
}

std::string line(const std::string& name, Fidelity f, const std::string& detail) {
    return named(name, fmt::format("{:<{}}", evidence::word_of(f), word_column), detail,
                 name_column + word_column);
}

std::string values_of(uint64_t values) {
    return values == 0 ? "" : validate::grouped(values) + " values, ";
}

// The forms of one opcode in one line: the least known of those that the architecture has.
std::string opcode_line(const std::vector<FidelityRow>& rows) {
    const FidelityRow* worst = nullptr;
    size_t supported = 0;
    size_t exact = 0;
    uint64_t values = 0;
    for (const FidelityRow& r : rows) {
        if (!runs(r.fidelity)) continue;
        ++supported;
        exact += r.fidelity == Fidelity::exact;
        values += r.values;
        if (worst == nullptr || r.fidelity > worst->fidelity) worst = &r;
    }
    if (worst == nullptr) return line(rows[0].opcode, rows[0].fidelity, rows[0].source);
    std::string detail;
    if (supported != rows.size()) detail = fmt::format("{} of {} forms; ", supported, rows.size());
    if (worst->fidelity == Fidelity::exact)
        return line(rows[0].opcode, Fidelity::exact, detail + values_of(values) + worst->source);
    if (exact != 0)
        detail += fmt::format("{} of {} forms exact; {}: ", exact, supported, worst->instruction);
    if (worst->recorded != 0)
        detail += fmt::format("{} of {} spellings exact; ", worst->recorded, worst->spellings);
    return line(rows[0].opcode, worst->fidelity, detail + worst->source);
}

std::string arch_text(const isa::ArchRow& arch) {
    const std::vector<FidelityRow> rows = evidence::fidelity(arch.arch);
    const Tally counts = tally(rows);
    std::string out = headline(arch, rows);
    out += fmt::format("{} not supported by it, {} opcodes of PTX not executed yet\n\n",
                       counts[static_cast<size_t>(Fidelity::not_supported)],
                       counts[static_cast<size_t>(Fidelity::not_executed)]);
    std::vector<std::string> opcodes;
    std::string later;
    std::vector<VariantLine> variants;
    for (const FidelityRow& r : rows) {
        if (r.opcode == "mma")
            variants.push_back(
                {r.instruction, fmt::format("{:<{}}", evidence::word_of(r.fidelity), word_column) +
                                    (r.fidelity == Fidelity::exact ? values_of(r.values) : "") +
                                    r.source});
        else if (r.fidelity == Fidelity::not_executed)
            later += (later.empty() ? "" : " ") + r.opcode;
        else if (std::ranges::find(opcodes, r.opcode) == opcodes.end())
            opcodes.push_back(r.opcode);
    }
    std::ranges::sort(opcodes);
    for (const VariantLine& l : joined(variants))
        out += named(l.name, l.words.substr(0, word_column), l.words.substr(word_column),
                     name_column + word_column);
    out += "\n" + std::string(other_pairs) + "\n\n";
    for (const std::string& opcode : opcodes) {
        std::vector<FidelityRow> of;
        std::ranges::copy_if(rows, std::back_inserter(of),
                             [&](const FidelityRow& r) { return r.opcode == opcode; });
        out += opcode_line(of);
    }
    return out + "\n" + wrapped("not executed yet: ", later, 2);
}

std::string json_of(const std::vector<const isa::ArchRow*>& archs) {
    nlohmann::ordered_json j;
    j["schema"] = "lockwarp-fidelity/1";
    j["architectures"] = nlohmann::ordered_json::array();
    for (const isa::ArchRow* arch : archs) {
        const std::vector<FidelityRow> rows = evidence::fidelity(arch->arch);
        const Tally counts = tally(rows);
        nlohmann::ordered_json of;
        of["arch"] = arch->name;
        for (const evidence::FidelityWord& w : evidence::fidelity_words())
            of["counts"][std::string(w.word)] = counts[static_cast<size_t>(w.fidelity)];
        for (const FidelityRow& r : rows)
            of["instructions"].push_back({{"opcode", r.opcode},
                                          {"instruction", r.instruction},
                                          {"fidelity", evidence::word_of(r.fidelity)},
                                          {"source", r.source},
                                          {"values", r.values},
                                          {"spellings", r.spellings},
                                          {"recorded", r.recorded}});
        j["architectures"].push_back(std::move(of));
    }
    return j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string fidelity_help() {
    std::string out =
        "How far an instruction is known to have the hardware's bits: from the tables of the\n"
        "architectures and from recordings of GPUs. An instruction is a row of the tables: one "
        "mma\n"
        "variant, or one line of an opcode's syntax with all its spellings.\n\n";
    for (const evidence::FidelityWord& w : evidence::fidelity_words())
        out += wrapped(fmt::format("  {:<{}}", w.word, word_column), w.meaning, word_column + 2);
    return out;
}

void add_fidelity(CLI::App& app, int& status) {
    const auto shared = std::make_shared<FidelityCommand>();
    FidelityCommand& o = *shared;
    CLI::App* fidelity = app.add_subcommand(
        "fidelity", "Print how far each instruction is known to have the hardware's bits");
    fidelity->add_option("--arch", o.arch,
                         "each instruction of this architecture (default: all "
                         "architectures, one line each)");
    fidelity->add_flag("--json", o.json, "print JSON, every row of the instruction tables");
    fidelity
        ->add_option("--from", o.from,
                     "compare the recordings (.lwr) and reports in a folder; print the table of "
                     "what they hold (evidence/recorded.tsv)")
        ->type_name("FOLDER");
    fidelity->footer(fidelity_help());
    fidelity->callback([shared, &status] { status = fidelity_command(*shared); });
}

int fidelity_command(const FidelityCommand& command) {
    if (!command.from.empty()) {
        const launch::Result<RecordedTable> table = recorded_table(command.from);
        if (!table) return refuse(table.error());
        fmt::print("{}", table->text);
        return done;
    }
    std::vector<const isa::ArchRow*> archs;
    const std::optional<isa::Arch> named = isa::arch_named(command.arch);
    if (!command.arch.empty() && !named) {
        std::string known;
        for (const isa::ArchRow& a : isa::arch_rows) known += " " + std::string(a.name);
        return refuse("'" + command.arch + "' is not modelled; known:" + known);
    }
    for (const isa::ArchRow& a : isa::arch_rows)
        if (command.arch.empty() || a.arch == *named) archs.push_back(&a);
    if (command.json) {
        fmt::print("{}", json_of(archs));
    } else if (archs.size() == 1) {
        fmt::print("{}", arch_text(*archs[0]));
    } else {
        for (const isa::ArchRow* a : archs)
            fmt::print("{}", headline(*a, evidence::fidelity(a->arch)));
        fmt::print("\nlockwarp fidelity --arch {} has a line for each instruction\n",
                   archs.back()->name);
    }
    return done;
}

std::string fidelity_note(const isa::Program& program, const ptx::Module& module) {
    const std::vector<evidence::FidelityNote> notes = evidence::less_than_exact(program, module);
    if (notes.empty()) return {};
    constexpr size_t most = 3;
    size_t count = 0;
    for (const evidence::FidelityNote& n : notes) count += n.count;
    const std::vector<const ptx::Instruction*> all = gpu::instructions_of(module, program);
    const auto written = all.size() - std::ranges::count(all, nullptr);
    std::string out =
        fmt::format("fidelity: {} of {} instructions rest on less than {} hardware:\n", count,
                    written, isa::row(program.arch).name);
    // Matrix instructions and what is inexact by name; scalar ones together.
    size_t shown = 0;
    size_t rest = 0;
    size_t scalar = 0;
    for (const evidence::FidelityNote& n : notes) {
        if (!n.matrix && n.fidelity != Fidelity::inexact)
            scalar += n.count;
        else if (shown++ < most)
            out +=
                named("  " + n.instruction, "",
                      fmt::format("{}: {}", evidence::word_of(n.fidelity), n.source), name_column);
        else
            rest += n.count;
    }
    if (rest != 0) out += fmt::format("  and {} more\n", rest);
    if (scalar != 0)
        out += fmt::format("  {:<{}}{}: PTX manual\n",
                           fmt::format("{} scalar instruction{}", scalar, scalar == 1 ? "" : "s"),
                           name_column - 2, evidence::word_of(Fidelity::literature));
    return out;
}

}  // namespace lockwarp::tools
