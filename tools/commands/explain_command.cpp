// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/explain_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/commands/commands.hpp"

namespace lockwarp::tools {

namespace {

// "sm_80,sm_90", or "all"; empty: `usual`.
std::vector<isa::Arch> architectures(const std::string& text, isa::Arch usual, std::string& error) {
    std::vector<isa::Arch> out;
    if (text.empty()) return {usual};
    for (size_t at = 0; at <= text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string name = text.substr(at, comma - at);
        at = comma + 1;
        if (const auto found = isa::arch_named(name)) {
            out.push_back(*found);
            continue;
        }
        error = unknown_architecture(name);
        return {};
    }
    return out;
}

lanes::Answer explained(const ExplainCommand& o) {
    if (o.operand != "D")
        return lanes::wrong(
            fmt::format("an element of D is explained, as in explain INSN D 3 2; '{}' "
                        "is not D",
                        o.operand.substr(0, 60)));
    const bool one = o.archs.find(',') == std::string::npos && o.archs != "all";
    const lanes::Found found = named_instruction(o.instruction, one ? o.archs : "");
    if (!found.instruction) return lanes::wrong(found.error);
    std::string error;
    std::vector<isa::Arch> archs;
    if (o.archs == "all") {
        for (const isa::ArchRow& a : isa::arch_rows)
            if (isa::has(a, found.instruction->target)) archs.push_back(a.arch);
    } else {
        archs = architectures(o.archs, found.instruction->arch, error);
    }
    if (archs.empty()) return lanes::wrong(error);
    std::vector<lanes::Product> products;
    for (const isa::Arch a : archs) {
        const launch::Result<lanes::Product> product = lanes::product_of(*found.instruction, a);
        if (!product) return lanes::wrong(product.error().sentence);
        products.push_back(*product);
    }
    const auto place = [](int64_t n) {
        return n < 0 || n > UINT32_MAX ? UINT32_MAX : static_cast<unsigned>(n);
    };
    const launch::Result<lanes::DotInputs> inputs =
        lanes::read_inputs(*found.instruction, place(o.row), place(o.column), o.inputs);
    if (!inputs) return lanes::wrong(inputs.error().sentence);
    lanes::Answer a = explain(products, place(o.row), place(o.column), *inputs);
    if (o.inputs.a.empty() && o.inputs.b.empty() && o.inputs.c.empty() && o.inputs.file.empty())
        a.notes.push_back(
            fmt::format("No values were given (--a, --b, --c, --in): these are random, "
                        "of --seed {}.",
                        o.inputs.seed));
    return a;
}

lanes::Answer compared(const ExplainCommand& o) {
    const lanes::Found x = named_instruction(o.instruction, "");
    if (!x.instruction) return lanes::wrong(x.error);
    const lanes::Found y = named_instruction(o.other, "");
    if (!y.instruction) return lanes::wrong(y.error);
    std::string error;
    const auto own = [](const std::string& name) { return name.find('@') != std::string::npos; };
    std::vector<std::pair<lanes::Product, lanes::Product>> pairs;
    std::vector<std::pair<isa::Arch, isa::Arch>> archs;
    if (own(o.instruction) || own(o.other) || o.archs.empty()) {
        archs.emplace_back(x.instruction->arch, own(o.other) || !own(o.instruction)
                                                    ? y.instruction->arch
                                                    : x.instruction->arch);
    } else if (o.archs == "all") {
        for (const isa::ArchRow& a : isa::arch_rows)
            if (isa::has(a, std::max(x.instruction->target, y.instruction->target)))
                archs.emplace_back(a.arch, a.arch);
    } else {
        for (const isa::Arch a : architectures(o.archs, isa::default_arch, error))
            archs.emplace_back(a, a);
    }
    if (archs.empty()) return lanes::wrong(error);
    for (const auto& [first, second] : archs) {
        const launch::Result<lanes::Product> px = lanes::product_of(*x.instruction, first);
        if (!px) return lanes::wrong(px.error().sentence);
        const launch::Result<lanes::Product> py = lanes::product_of(*y.instruction, second);
        if (!py) return lanes::wrong(py.error().sentence);
        pairs.emplace_back(*px, *py);
    }
    return equivalent(pairs, o.tries);
}

}  // namespace

void add_explain(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ExplainCommand>();
    ExplainCommand& o = *shared;
    CLI::App* explain = app.add_subcommand(
        "explain", "One element's sum step by step: products, losses, blocks, rounding");
    explain->add_option("INSN", o.instruction, "the instruction, as of info")->required();
    explain->add_option("OPERAND", o.operand, "D")->required();
    explain->add_option("ROW", o.row, "of D")->required();
    explain->add_option("COLUMN", o.column, "of D")->required();
    explain->add_option("--arch", o.archs, "architectures, as sm_80,sm_90, or all")
        ->type_name("LIST");
    explain
        ->add_option("--a", o.inputs.a,
                     "row ROW of A: k numbers, or bits as 0x3c00; or all of A, row by row; or "
                     "lanes: and the values of every lane's fragment")
        ->type_name("VALUES");
    explain->add_option("--b", o.inputs.b, "column COLUMN of B, likewise")->type_name("VALUES");
    explain->add_option("--c", o.inputs.c, "the element of C, likewise")->type_name("VALUES");
    explain->add_option("--in", o.inputs.file, "a JSON file {\"A\": ..., \"B\": ..., \"C\": ...}")
        ->type_name("FILE");
    explain->add_option("--seed", o.inputs.seed, "of the values that are not given");
    add_answer_options(*explain, o.answer);
    explain->callback(
        [shared, &status] { status = print_answer(explained(*shared), shared->answer); });
}

void add_equiv(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ExplainCommand>();
    ExplainCommand& o = *shared;
    CLI::App* equiv = app.add_subcommand(
        "equiv", "Whether two instructions give the same bits; else inputs where they do not");
    equiv->add_option("X", o.instruction, "an instruction, or INSN@ARCH")->required();
    equiv->add_option("Y", o.other, "another; the one of smaller k is repeated")->required();
    equiv->add_option("--arch", o.archs, "architectures, as sm_80,sm_90, or all")
        ->type_name("LIST");
    equiv->add_option("--tries", o.tries, "inputs to look for a witness among")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 30));
    add_answer_options(*equiv, o.answer);
    equiv->callback(
        [shared, &status] { status = print_answer(compared(*shared), shared->answer); });
}

}  // namespace lockwarp::tools
