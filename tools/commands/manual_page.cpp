// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tools/commands/command_tree.hpp"
#include "tools/commands/completion.hpp"

namespace lockwarp::tools {

namespace {

// Text that man prints as it is.
std::string roff(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return out;
}

// A paragraph that man fills; no line of it is taken as a request.
std::string filled(const std::string& text) {
    const std::string line = roff(one_line(text));
    return (line.starts_with('.') || line.starts_with('\'') ? "\\&" : "") + line + "\n";
}

// Lines that man keeps as they are.
std::string kept(const std::string& text) {
    std::string out = ".nf\n";
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        out += "\\&" + roff(text.substr(at, end - at)) + "\n";
        at = end + 1;
    }
    return out + ".fi\n";
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string option_entry(const CLI::Option& option) {
    std::string names;
    for (const std::string& s : spellings(option)) names += (names.empty() ? "" : ", ") + bold(s);
    if (takes_value(option)) names += " " + italic(value_name(option));
    return ".TP\n" + names + "\n" + filled(option.get_description());
}

// "lockwarp where [OPTIONS] INSN OPERAND"
std::string usage(const CLI::App& app, const std::string& path) {
    std::string out = bold(path);
    if (!listed_options(app).empty()) out += " [" + italic("OPTIONS") + "]";
    if (!listed_commands(app).empty()) out += " " + italic("COMMAND");
    for (const CLI::Option* p : positionals(app)) {
        const std::string name =
            italic(value_name(*p)) + (p->get_items_expected_max() > 1 ? "..." : "");
        out += p->get_required() ? " " + name : " [" + name + "]";
    }
    return out;
}

// One command and those below it.
std::string command_section(const CLI::App& app, const std::string& path,
                            const std::string& known_footer) {
    std::string out = ".SS " + roff(path) + "\n" + filled(app.get_description());
    out += ".PP\n" + usage(app, path) + "\n";
    for (const CLI::Option* p : positionals(app))
        out += ".TP\n" + italic(value_name(*p)) + "\n" + filled(p->get_description());
    for (const CLI::Option* o : listed_options(app))
        if (o != app.get_help_ptr()) out += option_entry(*o);  // said of all commands at once
    if (const std::string footer = app.get_footer(); !footer.empty() && footer != known_footer)
        out += ".PP\n" + kept(footer);
    for (const CLI::App* c : listed_commands(app))
        out += command_section(*c, path + " " + c->get_name(), app.get_footer());
    return out;
}

}  // namespace

std::string manual_page(const CLI::App& app, std::string_view version) {
    std::string out = fmt::format(
        ".TH LOCKWARP 1 \"\" \"lockwarp {}\" \"User Commands\"\n"
        ".SH NAME\nlockwarp \\- tensor\\-core kernels (PTX) on the CPU, bit for bit as on an "
        "NVIDIA "
        "GPU\n.SH SYNOPSIS\n{}\n.SH DESCRIPTION\n{}.SH OPTIONS\n",
        version, usage(app, app.get_name()), filled(app.get_description()));
    for (const CLI::Option* o : listed_options(app)) out += option_entry(*o);
    out += ".PP\n" + bold("--help") + " after a command tells of that command.\n.SH COMMANDS\n";
    const std::string footer = app.get_footer();
    for (const CLI::App* c : listed_commands(app))
        out += command_section(*c, app.get_name() + " " + c->get_name(), footer);
    return out + ".SH EXAMPLES AND EXIT STATUS\n" + kept(footer);
}

}  // namespace lockwarp::tools
