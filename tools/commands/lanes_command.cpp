// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/lanes_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "lanes/questions.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"

namespace lockwarp::tools {

namespace {

constexpr std::string_view names_help =
    "INSN: a key (mma.m16n8k16.f32.f16.f16.f32), the PTX mnemonic, a part of it that fits one\n"
    "instruction (m16n8k16.f32.f16), or CuTe's name (SM80_16x8x16_F32F16F16F32_TN).";

// nullopt, with `error` set, for a name that is no architecture; empty for none.
std::optional<std::optional<isa::Arch>> architecture(const std::string& name, std::string& error) {
    if (name.empty()) return std::optional<isa::Arch>{};
    if (const auto found = isa::arch_named(name)) return std::optional<isa::Arch>{found};
    error = unknown_architecture(name);
    return std::nullopt;
}

lanes::Answer difference(const LanesCommand& o) {
    // Two architectures of one instruction, or two instructions.
    const bool archs = isa::arch_named(o.difference[0]) && isa::arch_named(o.difference[1]);
    if (archs && o.instruction.empty()) return lanes::wrong("layout INSN --diff ARCH ARCH");
    lanes::Found x = archs ? named_instruction(o.instruction, o.difference[0])
                           : named_instruction(o.difference[0], o.arch);
    lanes::Found y = archs ? named_instruction(o.instruction, o.difference[1])
                           : named_instruction(o.difference[1], o.arch);
    if (!x.instruction) return lanes::wrong(x.error);
    if (!y.instruction) return lanes::wrong(y.error);
    return lanes::layout_difference(*x.instruction, *y.instruction);
}

// "C:INSN"
lanes::Answer compatible(const LanesCommand& o) {
    const auto split = [](const std::string& text) {
        const size_t colon = text.find(':');
        const bool operand = colon == 1;
        return operand ? std::pair(text.substr(0, 1), text.substr(2))
                       : std::pair(std::string(), text);
    };
    const auto [from, x] = split(o.instruction);
    const auto [to, y] = split(o.other);
    if (from.empty() || to.empty())
        return lanes::wrong(
            "compat takes OPERAND:INSN twice, as in compat C:m16n8k16.f32.f16 "
            "A:m16n8k16.f32.f16");
    const lanes::Found a = named_instruction(x, o.arch);
    if (!a.instruction) return lanes::wrong(a.error);
    const lanes::Found b = named_instruction(y, o.arch);
    if (!b.instruction) return lanes::wrong(b.error);
    return lanes::compatible(*a.instruction, from, *b.instruction, to);
}

void add_instruction(CLI::App& command, LanesCommand& o) {
    command.add_option("INSN", o.instruction, "the instruction; see below")->required();
    command.footer(std::string(names_help));
}

void add_common(CLI::App& command, LanesCommand& o) {
    command
        .add_option("--arch", o.arch,
                    "the architecture to answer for (default: sm_90, or the first that has the "
                    "instruction)")
        ->type_name("ARCH");
    add_answer_options(command, o.answer);
}

// A negative number is outside of everything.
unsigned number(int64_t n) {
    return n < 0 || n > UINT32_MAX ? UINT32_MAX : static_cast<unsigned>(n);
}

// Prints what is asked about the instruction that is named.
int answered(const LanesCommand& o,
             const std::function<lanes::Answer(const lanes::Instruction&)>& question) {
    if (o.instruction.empty()) return print_answer(lanes::wrong("which instruction?"), o.answer);
    const lanes::Found found = named_instruction(o.instruction, o.arch);
    return print_answer(
        found.instruction ? question(*found.instruction) : lanes::wrong(found.error), o.answer);
}

}  // namespace

std::string unknown_architecture(const std::string& name) {
    std::string text = fmt::format("no architecture '{}'; there are", name.substr(0, 60));
    for (const isa::ArchRow& a : isa::arch_rows) text += fmt::format(" {}", a.name);
    return text;
}

lanes::Found named_instruction(const std::string& name, const std::string& arch) {
    lanes::Found out;
    const size_t at = name.rfind('@');
    const std::string own = at == std::string::npos ? arch : name.substr(at + 1);
    const auto chosen = architecture(own, out.error);
    return chosen ? lanes::find(name.substr(0, at), *chosen) : out;
}

void add_answer_options(CLI::App& command, AnswerOptions& o) {
    command
        .add_option("--format", o.format,
                    fmt::format("how to write the answer: {}", lanes::format_names))
        ->type_name("FORMAT");
    command.add_flag("--json", o.json, "as --format json");
}

int print_answer(const lanes::Answer& a, const AnswerOptions& o) {
    if (!a.error.empty()) {
        spdlog::error("{}", a.error);
        return wrong_input;
    }
    const auto format = o.json ? lanes::Format::json : lanes::format_named(o.format);
    if (!format) {
        spdlog::error("no format '{}'; there are {}", o.format, lanes::format_names);
        return wrong_input;
    }
    const auto text = lanes::render(a, *format);
    if (!text) {
        spdlog::error("this answer has no {} form", o.format);
        return wrong_input;
    }
    fmt::print("{}", *text);
    return done;
}

int list_lanes(const LanesCommand& o) {
    std::string error;
    const auto arch = architecture(o.arch, error);
    return print_answer(arch ? lanes::list(*arch) : lanes::wrong(error), o.answer);
}

void add_info(CLI::App& app, int& status) {
    const auto shared = std::make_shared<LanesCommand>();
    LanesCommand& o = *shared;
    CLI::App* info = app.add_subcommand(
        "info", "Describe an instruction: operands, formulas, what it becomes where");
    info->add_option("INSN", o.instruction, "the instruction (default: list them all)");
    info->footer(std::string(names_help));
    add_common(*info, o);
    info->callback([shared, &status] {
        status = shared->instruction.empty() ? list_lanes(*shared) : answered(*shared, lanes::info);
    });
}

void add_where(CLI::App& app, int& status) {
    const auto shared = std::make_shared<LanesCommand>();
    LanesCommand& o = *shared;
    CLI::App* where = app.add_subcommand("where", "Which lane and register hold an element");
    add_instruction(*where, o);
    where->add_option("OPERAND", o.operand, "A, B, C or D; E: metadata; SFA, SFB: scale factors")
        ->required();
    where->add_option("ROW", o.row, "of A: m; of B: k; of C and D: m")->required();
    where->add_option("COLUMN", o.column, "of A: k; of B: n; of C and D: n")->required();
    add_common(*where, o);
    where->callback([shared, &status] {
        status = answered(*shared, [&](const lanes::Instruction& i) {
            return lanes::where(i, shared->operand, number(shared->row), number(shared->column));
        });
    });
}

void add_what(CLI::App& app, int& status) {
    const auto shared = std::make_shared<LanesCommand>();
    LanesCommand& o = *shared;
    CLI::App* what = app.add_subcommand("what", "Which elements a lane holds");
    add_instruction(*what, o);
    what->add_option("OPERAND", o.operand, "A, B, C or D")->required();
    what->add_option("--lane", o.lane, "0 to 31; of a warpgroup 0 to 127")->required();
    what->add_option("--reg", o.reg, "one register of the lane's");
    add_common(*what, o);
    what->callback([shared, &status] {
        status = answered(*shared, [&](const lanes::Instruction& i) {
            return lanes::what(i, shared->operand, number(shared->lane),
                               shared->reg ? std::optional(number(*shared->reg)) : std::nullopt);
        });
    });
}

void add_table(CLI::App& app, int& status) {
    const auto shared = std::make_shared<LanesCommand>();
    LanesCommand& o = *shared;
    CLI::App* table = app.add_subcommand("table", "Every element, or every lane, of an operand");
    add_instruction(*table, o);
    table->add_option("OPERAND", o.operand, "A, B, C or D (default: all)");
    table->add_option("--by", o.by, "a line for each row of the matrix, or for each lane")
        ->check(CLI::IsMember({"element", "lane"}));
    add_common(*table, o);
    table->callback([shared, &status] {
        status = answered(*shared, [&](const lanes::Instruction& i) {
            return lanes::table(i, shared->operand,
                                shared->by == "lane" ? lanes::By::lane : lanes::By::element);
        });
    });
}

void add_layout(CLI::App& app, int& status) {
    const auto shared = std::make_shared<LanesCommand>();
    LanesCommand& o = *shared;
    CLI::App* layout = app.add_subcommand("layout", "The layouts in CuTe's notation");
    layout->add_option("INSN", o.instruction, "the instruction; see below");
    layout->add_flag("--cute")->description("CuTe's notation, which is the only one");
    layout
        ->add_option("--diff", o.difference,
                     "two architectures of INSN, or two instructions: what lies elsewhere")
        ->expected(2)
        ->type_name("X Y");
    layout->footer(std::string(names_help));
    add_common(*layout, o);
    layout->callback([shared, &status] {
        if (!shared->difference.empty()) {
            status = print_answer(difference(*shared), shared->answer);
            return;
        }
        status = answered(*shared, [&](const lanes::Instruction& i) {
            const bool cute = shared->instruction.starts_with("SM");
            return lanes::layout(i, cute ? shared->instruction : i.key);
        });
    });
}

void add_compat(CLI::App& app, int& status) {
    const auto shared = std::make_shared<LanesCommand>();
    LanesCommand& o = *shared;
    CLI::App* compat =
        app.add_subcommand("compat", "Whether one operand's registers may be used as another's");
    compat->add_option("FROM", o.instruction, "OPERAND:INSN, the accumulator that is there")
        ->required();
    compat->add_option("TO", o.other, "OPERAND:INSN, the operand it is to become")->required();
    compat->footer(std::string(names_help));
    add_common(*compat, o);
    compat->callback(
        [shared, &status] { status = print_answer(compatible(*shared), shared->answer); });
}

}  // namespace lockwarp::tools
