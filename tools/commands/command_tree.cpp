// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/command_tree.hpp"

#include <array>
#include <sstream>

#include "emu/isa/arch.hpp"
#include "lanes/answer.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::tools {

namespace {

using Words = std::vector<std::string>;

Words architectures() {
    Words out;
    for (const isa::ArchRow& a : isa::arch_rows) out.emplace_back(a.name);
    return out;
}

// "text, markdown, csv" or "element,lane"
Words split(std::string text) {
    for (char& c : text)
        if (c == ',') c = ' ';
    std::istringstream in(text);
    Words out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

Words formats() { return split(std::string(lanes::format_names)); }

struct ListRow {
    std::string_view name;
    Words (*words)();
};

constexpr std::array list_rows{
    ListRow{"architectures", architectures},
    ListRow{"formats", formats},
    ListRow{"instructions", lanes::all_keys},
};

// What the value of an option, or a positional argument, of this name may be.
struct NamedCompletion {
    std::string_view name;
    Completes what;
    std::string_view list;
};

constexpr std::array named_completions{
    NamedCompletion{"--arch", Completes::words, "architectures"},
    NamedCompletion{"ARCH", Completes::words, "architectures"},
    NamedCompletion{"FORMAT", Completes::words, "formats"},
    NamedCompletion{"INSN", Completes::words, "instructions"},
    NamedCompletion{"FILE", Completes::files, ""},
    NamedCompletion{"FILES", Completes::files, ""},
    NamedCompletion{"DIR", Completes::folders, ""},
    NamedCompletion{"FOLDER", Completes::folders, ""},
};

}  // namespace

std::vector<const CLI::App*> listed_commands(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); });
}

std::vector<const CLI::Option*> listed_options(const CLI::App& app) {
    return app.get_options(
        [](const CLI::Option* o) { return o->nonpositional() && !o->get_group().empty(); });
}

std::vector<const CLI::Option*> positionals(const CLI::App& app) {
    return app.get_options(
        [](const CLI::Option* o) { return o->get_positional() && !o->get_group().empty(); });
}

std::vector<std::string> spellings(const CLI::Option& option) {
    Words out;
    for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
    for (const std::string& name : option.get_snames()) out.push_back("-" + name);
    return out;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() != 0; }

std::string value_name(const CLI::Option& option) {
    if (!option.nonpositional()) return option.get_name(true);
    const std::string type = option.get_type_name();
    return type.substr(0, type.find(':'));
}

Completion completion_of(const CLI::Option& option) {
    Words names = spellings(option);
    names.push_back(value_name(option));
    for (const std::string& name : names)
        for (const NamedCompletion& row : named_completions)
            if (row.name == name) return {row.what, {}, row.list};
    const std::string type = option.get_type_name();  // "TEXT:{element,lane}"
    const size_t open = type.find('{');
    if (open == std::string::npos || type.back() != '}') return {};
    return {Completes::words, split(type.substr(open + 1, type.size() - open - 2)), {}};
}

std::vector<WordList> word_lists() {
    std::vector<WordList> out;
    for (const ListRow& row : list_rows) out.push_back({row.name, row.words()});
    return out;
}

std::string one_line(const std::string& text) {
    std::istringstream in(text);
    std::string out;
    for (std::string word; in >> word;) out += (out.empty() ? "" : " ") + word;
    return out;
}

}  // namespace lockwarp::tools
