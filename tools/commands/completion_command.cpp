// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "lockwarp/version.hpp"
#include "tools/commands/command_tree.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"

namespace lockwarp::tools {

namespace {

using Words = std::vector<std::string>;

std::string shell_word(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

Words names_of(const std::vector<const CLI::App*>& apps) {
    Words out;
    for (const CLI::App* c : apps) out.push_back(c->get_name());
    return out;
}

// Calls f for the app and every command below it with its words: "lockwarp report merge".
template <typename F>
void for_each_command(const CLI::App& app, const std::string& path, const F& f) {
    f(app, path);
    for (const CLI::App* c : listed_commands(app))
        for_each_command(*c, path + " " + c->get_name(), f);
}

// A shell variable with the words of a list.
std::string list_variable(std::string_view list) { return fmt::format("_lockwarp_{}", list); }

std::string bash_words(const Completion& c) {
    if (!c.list.empty()) return "$" + list_variable(c.list);
    return fmt::format("'{}'", fmt::join(c.words, " "));
}

// bash: a case label for each option with a value, and what completes the value.
std::string bash_value_cases(const CLI::App& app, const std::string& path) {
    std::string out;
    for (const CLI::Option* option : listed_options(app)) {
        if (!takes_value(*option)) continue;
        Words labels;
        for (const std::string& s : spellings(*option))
            labels.push_back(shell_word(path + " " + s));
        const Completion c = completion_of(*option);
        std::string action = "return";
        if (c.what == Completes::folders) action = "compopt -o dirnames +o default; return";
        if (c.what == Completes::nothing) action = "compopt +o default; return";
        if (c.what == Completes::words) action = "words=" + bash_words(c);
        out += fmt::format("        {}) {} ;;\n", fmt::join(labels, " | "), action);
    }
    return out;
}

// bash: what else may stand in a command's words: options behind a dash; commands, or the words of
// its positional arguments.
std::string bash_command_case(const CLI::App& app, const std::string& path) {
    Words options;
    for (const CLI::Option* option : listed_options(app))
        for (std::string& s : spellings(*option)) options.push_back(std::move(s));
    std::string words = fmt::format("'{}'", fmt::join(names_of(listed_commands(app)), " "));
    for (const CLI::Option* p : positionals(app))
        if (const Completion c = completion_of(*p); c.what == Completes::words)
            words += "' '" + bash_words(c);
    return fmt::format("        {}) options='{}' words={} ;;\n", shell_word(path),
                       fmt::join(options, " "), words);
}

// The text in one line with a backslash before each character of `special`.
std::string escaped(const std::string& text, std::string_view special) {
    std::string out;
    for (const char c : one_line(text)) {
        if (special.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

// zsh: a part of an _arguments specification.
std::string zsh_escaped(const std::string& text) { return escaped(text, "[]:\\"); }

std::string zsh_action(const CLI::Option& option) {
    const Completion c = completion_of(option);
    switch (c.what) {
        case Completes::nothing:
            return " ";
        case Completes::files:
            return "_files";
        case Completes::folders:
            return "_files -/";
        case Completes::words:
            return c.list.empty() ? fmt::format("({})", fmt::join(c.words, " "))
                                  : " compadd -a " + list_variable(c.list);
    }
    return " ";
}

bool repeats(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

std::string zsh_arguments(const CLI::App& app) {
    std::string out;
    for (const CLI::Option* option : listed_options(app))
        for (const std::string& spelling : spellings(*option)) {
            std::string spec = repeats(*option) ? "*" + spelling : spelling;
            spec += "[" + zsh_escaped(option->get_description()) + "]";
            if (takes_value(*option))
                spec += ":" + zsh_escaped(value_name(*option)) + ":" + zsh_action(*option);
            out += " \\\n        " + shell_word(spec);
        }
    for (const CLI::Option* p : positionals(app)) {
        const std::string spec = fmt::format("{}:{}:{}", repeats(*p) ? "*" : "",
                                             zsh_escaped(value_name(*p)), zsh_action(*p));
        out += " \\\n        " + shell_word(spec);
    }
    return out;
}

std::string zsh_function_name(const std::string& path) {
    std::string out = "_" + path;
    std::replace(out.begin(), out.end(), ' ', '_');
    return out;
}

std::string zsh_function(const CLI::App& app, const std::string& path) {
    const std::vector<const CLI::App*> below = listed_commands(app);
    std::string out = zsh_function_name(path) + "() {\n";
    if (below.empty()) return out + "    _arguments -s -S" + zsh_arguments(app) + "\n}\n\n";
    out += "    local curcontext=$curcontext state line\n    local -a commands=(\n";
    for (const CLI::App* c : below)
        out += fmt::format("        {}\n",
                           shell_word(c->get_name() + ":" + escaped(c->get_description(), ":\\")));
    out += "    )\n    _arguments -C -S" + zsh_arguments(app);
    out += " \\\n        '1: :->command' '*:: :->rest'\n";
    out += "    case $state in\n        command) _describe command commands ;;\n        rest)\n";
    out += "            case $line[1] in\n";
    for (const CLI::App* c : below)
        out += fmt::format("                {}) {} ;;\n", c->get_name(),
                           zsh_function_name(path + " " + c->get_name()));
    return out + "            esac ;;\n    esac\n}\n\n";
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
    Words paths;
    std::string lists, values, others;
    for (const WordList& list : word_lists())
        lists += fmt::format("{}='{}'\n", list_variable(list.name), fmt::join(list.words, " "));
    for_each_command(app, app.get_name(), [&](const CLI::App& a, const std::string& path) {
        if (&a != &app) paths.push_back(shell_word(path));
        values += bash_value_cases(a, path);
        others += bash_command_case(a, path);
    });
    return fmt::format(
        "# Completes lockwarp's commands, options and their values; printed by: lockwarp "
        "completion "
        "bash\n\n{}\n"
        "_lockwarp() {{\n"
        "    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
        "    local path=lockwarp options= words= i\n"
        "    COMPREPLY=()\n"
        "    for ((i = 1; i < COMP_CWORD; ++i)); do\n"
        "        case \"$path ${{COMP_WORDS[i]}}\" in\n"
        "        {}) path+=\" ${{COMP_WORDS[i]}}\" ;;\n"
        "        esac\n"
        "    done\n"
        "    # --option=value comes as three words.\n"
        "    if [ \"$current\" = = ]; then\n"
        "        current=\n"
        "    elif [ \"$previous\" = = ]; then\n"
        "        previous=${{COMP_WORDS[COMP_CWORD - 2]}}\n"
        "    fi\n"
        "    case \"$path $previous\" in\n{}    *)\n"
        "        case \"$path\" in\n{}        esac\n"
        "        case \"$current\" in -*) words=$options ;; esac ;;\n"
        "    esac\n"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "}}\n"
        "complete -o bashdefault -o default -F _lockwarp lockwarp\n",
        lists, fmt::join(paths, " | "), values, others);
}

std::string zsh_completion(const CLI::App& app) {
    std::string out =
        "#compdef lockwarp\n"
        "# Completes lockwarp's commands, options and their values; printed by: lockwarp "
        "completion "
        "zsh\n\n";
    for (const WordList& list : word_lists())
        out += fmt::format("typeset -ga {}=({})\n", list_variable(list.name),
                           fmt::join(list.words, " "));
    out += "\n";
    for_each_command(app, app.get_name(), [&](const CLI::App& a, const std::string& path) {
        out += zsh_function(a, path);
    });
    return out + "_lockwarp \"$@\"\n";
}

// `lockwarp completion bash|zsh|man`, for those who make packages.
void add_completion(CLI::App& app, int& status) {
    auto what = std::make_shared<std::string>();
    CLI::App* const completion = app.add_subcommand(
        "completion", "Print completions for a shell, or the page lockwarp(1) for man");
    completion->add_option("WHAT", *what, "bash, zsh or man")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "man"}));
    completion->group("");
    completion->callback([&app, &status, what] {
        const std::string text = *what == "bash"  ? bash_completion(app)
                                 : *what == "zsh" ? zsh_completion(app)
                                                  : manual_page(app, version);
        fmt::print("{}", text);
        status = std::fflush(stdout) == 0 ? done : wrong_input;
    });
}

}  // namespace lockwarp::tools
