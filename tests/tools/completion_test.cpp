// SPDX-License-Identifier: Apache-2.0
// Completions and the manual page, as the program prints them.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <sstream>

#include "tests/tools/process.hpp"
#include "tools/commands/completion.hpp"

namespace lockwarp::completion_test {
namespace {

using lockwarp::tools::Folder;

// What a shell command prints; its exit status.
std::string shell(const std::string& command, int& status) {
    std::string out;
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return out;
    std::array<char, 4096> part{};
    for (size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) != 0;)
        out.append(part.data(), n);
    status = WEXITSTATUS(::pclose(pipe));
    return out;
}

bool there_is(const std::string& program) {
    int status = 0;
    return !shell("command -v " + program, status).empty();
}

// "lockwarp completion WHAT" in a file of the folder.
void print_to(const Folder& folder, const std::string& what, const std::string& name) {
    const auto printed = lockwarp::tools::run(folder, {"completion", what});
    ASSERT_EQ(printed.status, 0) << printed.err;
    folder.write(name, printed.out);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

// The commands that --help lists: the lines that begin with two spaces and a lower-case word, below
// a heading.
std::vector<std::string> commands_of_help() {
    const Folder folder;
    std::vector<std::string> out;
    bool below = false;
    for (const std::string& line : lines_of(lockwarp::tools::run(folder, {"--help"}).out)) {
        if (!line.starts_with(' ')) {
            below = line.ends_with(':') && line != "Options:" && line != "Examples:";
            continue;
        }
        if (below && line.size() > 2 && line[2] >= 'a' && line[2] <= 'z')
            out.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
    return out;
}

// What bash's completion offers for the last of the words; one word a line.
std::string offered(const Folder& folder, const std::string& words) {
    int status = 0;
    return shell("cd '" + folder.path.string() +
                     "' && bash -c 'source ./lockwarp.bash; COMP_WORDS=(" + words +
                     "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _lockwarp 2>/dev/null; "
                     "printf \"%s\\n\" \"${COMPREPLY[@]}\"'",
                 status);
}

TEST(Completion, BashOffersCommandsOptionsAndValues) {
    const Folder folder;
    print_to(folder, "bash", "lockwarp.bash");
    std::vector<std::string> commands = lines_of(offered(folder, "lockwarp \"\""));
    EXPECT_EQ(commands, commands_of_help());
    EXPECT_EQ(offered(folder, "lockwarp vali"), "validate\n");
    EXPECT_EQ(offered(folder, "lockwarp run --ar"), "--arch\n");
    EXPECT_EQ(offered(folder, "lockwarp run --arch sm_9"), "sm_90\n");
    EXPECT_EQ(offered(folder, "lockwarp run --arch = sm_9"), "sm_90\n");
    EXPECT_EQ(offered(folder, "lockwarp report me"), "merge\n");
    EXPECT_EQ(offered(folder, "lockwarp table x --by e"), "element\n");
    EXPECT_EQ(offered(folder, "lockwarp where --format mark"), "markdown\n");
    EXPECT_EQ(offered(folder, "lockwarp where mma.m16n8k16.f32.f16"),
              "mma.m16n8k16.f32.f16.f16.f32\n");
    EXPECT_EQ(offered(folder, "lockwarp run --no-such"), "\n");
    EXPECT_EQ(offered(folder, "lockwarp compl"), "\n");  // hidden
}

TEST(Completion, ZshOffersThem) {
    if (!there_is("zsh")) GTEST_SKIP() << "there is no zsh here";
    const Folder folder;
    print_to(folder, "zsh", "_lockwarp");
    int status = 0;
    const std::string lines = shell(
        "zsh -f " LOCKWARP_SOURCE_DIR "/tests/tools/complete.zsh '" + folder.path.string() +
            "' 'lockwarp vali' 'lockwarp run --ar' 'lockwarp run --arch sm_9' 'lockwarp report me' "
            "'lockwarp table mma --by el' 'lockwarp where mma.m16n8k16.f32.f16'",
        status);
    if (status == 77) GTEST_SKIP() << "this zsh has no zpty";
    EXPECT_EQ(lines,
              "lockwarp validate \nlockwarp run --arch \nlockwarp run --arch sm_90 \n"
              "lockwarp report merge \nlockwarp table mma --by element \n"
              "lockwarp where mma.m16n8k16.f32.f16.f16.f32 \n");
}

TEST(Completion, NamesTheShellsThereAre) {
    const Folder folder;
    const auto other = lockwarp::tools::run(folder, {"completion", "fish"});
    EXPECT_EQ(other.status, 2);
    EXPECT_NE(other.err.find("bash"), std::string::npos) << other.err;
}

TEST(ManualPage, HasASectionForEveryCommandOfHelp) {
    const Folder folder;
    print_to(folder, "man", "lockwarp.1");
    const std::string page = folder.read("lockwarp.1");
    const std::vector<std::string> commands = commands_of_help();
    EXPECT_GT(commands.size(), 20u);
    for (const std::string& command : commands)
        EXPECT_NE(page.find("\n.SS lockwarp " + command + "\n"), std::string::npos) << command;
    EXPECT_NE(page.find("\n.SS lockwarp report merge\n"), std::string::npos);
}

TEST(ManualPage, IsWhatManReads) {
    if (!there_is("man") || !there_is("groff")) GTEST_SKIP() << "there is no man here";
    const Folder folder;
    print_to(folder, "man", "lockwarp.1");
    int status = 0;
    const std::string warnings = shell("cd '" + folder.path.string() +
                                           "' && LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "
                                           "lockwarp.1 2>&1 >lockwarp.txt",
                                       status);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(warnings, "");
    const std::string text = folder.read("lockwarp.txt");
    EXPECT_NE(text.find("lockwarp run [OPTIONS] FILES..."), std::string::npos);
    EXPECT_NE(text.find("Exit status: 0 done"), std::string::npos);
}

// What a command takes by place and by name, in its section and no other.
TEST(ManualPage, WhatACommandTakes) {
    CLI::App app{"All.", "lockwarp"};
    bool version = false;
    app.add_flag("--version", version, "Of all.");
    CLI::App* one = app.add_subcommand("one", "The first.");
    int lane = 0;
    std::vector<std::string> files;
    one->add_option("FILES", files, "Some files.")->required();
    one->add_option("LANE", lane, "A lane.");
    one->add_option("-l,--line", lane, "A line.")->type_name("N");
    CLI::App* below = one->add_subcommand("below", "Below it.");
    below->footer("An example");
    const std::string page = lockwarp::tools::manual_page(app, "1.2");
    const size_t begin = page.find(".SS lockwarp one\n");
    ASSERT_NE(begin, std::string::npos) << page;
    EXPECT_EQ(page.substr(begin, page.find(".SH EXAMPLES") - begin),
              ".SS lockwarp one\nThe first.\n"
              ".PP\n\\fBlockwarp one\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR \\fIFILES\\fR... "
              "[\\fILANE\\fR]\n"
              ".TP\n\\fIFILES\\fR\nSome files.\n.TP\n\\fILANE\\fR\nA lane.\n"
              ".TP\n\\fB\\-\\-line\\fR, \\fB\\-l\\fR \\fIN\\fR\nA line.\n"
              ".SS lockwarp one below\nBelow it.\n"
              ".PP\n\\fBlockwarp one below\\fR [\\fIOPTIONS\\fR]\n.PP\n.nf\n\\&An example\n.fi\n");
    const size_t options = page.find(".SH OPTIONS\n");
    EXPECT_EQ(
        page.substr(options, page.find(".SH COMMANDS") - options),
        ".SH OPTIONS\n.TP\n\\fB\\-\\-help\\fR, \\fB\\-h\\fR\nPrint this help message and exit\n"
        ".TP\n\\fB\\-\\-version\\fR\nOf all.\n"
        ".PP\n\\fB\\-\\-help\\fR after a command tells of that command.\n");
}

// A request of roff begins with a point or an apostrophe; what is shown as it is has a sign before
// each of its lines.
TEST(ManualPage, NoTextIsTakenForARequest) {
    CLI::App app{".first of all", "lockwarp"};
    app.add_subcommand("one", "'second");
    app.add_subcommand("two", "a third. 'And' \\more");
    app.add_option("--name", ".fourth");
    app.footer(".fifth\n\n'sixth");
    const std::string page = lockwarp::tools::manual_page(app, "1.2");
    for (const char* const line : {"\\&.first of all", "\\&'second", "a third. 'And' \\emore",
                                   "\\&.fifth", "\\&", "\\&'sixth"})
        EXPECT_NE(page.find("\n" + std::string(line) + "\n"), std::string::npos) << page;
    EXPECT_NE(page.find("\\&.fourth"), std::string::npos) << page;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with('.')) {
            EXPECT_TRUE(std::string_view(".TH .SH .SS .PP .TP .nf .fi .B .I .RS .RE")
                            .find(line.substr(0, 3)) != std::string_view::npos)
                << line;
        }
}

}  // namespace
}  // namespace lockwarp::completion_test
