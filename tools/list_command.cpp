#include "tools/list_command.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "emu/isa/forms.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/num/dot.hpp"

namespace lockwarp::tools {

namespace {

constexpr size_t columns = 100;

// How the arithmetic of a variant is known on an architecture, short enough for a table; "-": the
// architecture lacks it.
std::string_view known_by(const isa::MmaVariant& v, const isa::ArchRow& arch) {
    if (v.target > arch.number) return "-";
    const num::DotRow* row = num::find_dot_row(arch.arch, v.m, v.n, v.k, v.a, v.d);
    if (row == nullptr) return "-";
    switch (num::known(*row, v).evidence) {
        case num::Evidence::measured:
            return "meas.";
        case num::Evidence::replayed:
            return "repl.";
        case num::Evidence::literature:
            return "lit.";
        case num::Evidence::derived:
            return "der.";
    }
    return "-";
}

// Words in lines of at most 100 columns.
std::string wrapped(const std::set<std::string_view>& words, std::string_view indent) {
    std::string out;
    std::string line{indent};
    for (const std::string_view w : words) {
        if (line.size() + w.size() + 1 > columns) {
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
    std::string out = fmt::format("{}{:<34}", edge, "variant");
    for (const isa::ArchRow& a : isa::arch_rows) out += fmt::format("{}{:<6}", separator, a.name);
    finish(out);
    if (markdown) {
        out += "|---|";
        for (size_t i = 0; i < isa::arch_rows.size(); ++i) out += "---|";
        out += "\n";
    }
    for (const isa::MmaVariant& v : isa::mma_variants()) {
        out += fmt::format("{}{:<34}", edge, v.key);
        for (const isa::ArchRow& a : isa::arch_rows)
            out += fmt::format("{}{:<6}", separator, known_by(v, a));
        finish(out);
    }
    return out;
}

}  // namespace

std::string instruction_list(bool markdown) {
    std::set<std::string_view> executed;
    for (const isa::Form& f : isa::forms()) executed.insert(f.opcode);
    const std::set<std::string_view> later(isa::opcodes_not_executed().begin(),
                                           isa::opcodes_not_executed().end());
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

}  // namespace lockwarp::tools
