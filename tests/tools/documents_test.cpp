// SPDX-License-Identifier: Apache-2.0
// What the README, CONTRIBUTING.md and docs/ show is what the program prints and what the tables
// say.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/tools/process.hpp"
#include "tools/commands/list_command.hpp"

namespace lockwarp::documents_test {
namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/" + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// README.md, CONTRIBUTING.md and the pages of docs/.
std::vector<std::string> pages() {
    std::vector<std::string> out{"README.md", "CONTRIBUTING.md"};
    for (const auto& entry : std::filesystem::directory_iterator(LOCKWARP_SOURCE_DIR "/docs"))
        if (entry.path().extension() == ".md")
            out.push_back("docs/" + entry.path().filename().string());
    std::ranges::sort(out);
    return out;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

// A command as a shell parts it, with double quotes; files of the project by their whole path.
std::vector<std::string> arguments_of(const std::string& command) {
    std::vector<std::string> out;
    std::string word;
    bool quoted = false;
    for (const char c : command + " ") {
        if (c == '"') {
            quoted = !quoted;
        } else if (c != ' ' || quoted) {
            word += c;
        } else if (!word.empty()) {
            const bool file = word.starts_with("tests/") || word.starts_with("gpu/");
            out.push_back(file ? LOCKWARP_SOURCE_DIR "/" + word : word);
            word.clear();
        }
    }
    return out;
}

// Files of the project by their path in it.
std::string without_folder(std::string text) {
    const std::string folder = LOCKWARP_SOURCE_DIR "/";
    for (size_t at = 0; (at = text.find(folder, at)) != std::string::npos;)
        text.erase(at, folder.size());
    return text;
}

// What a session shows of one command: lines that stand together, and "..." between them.
void expect_session(const std::string& page, const std::string& command,
                    const std::vector<std::string>& shown, int status) {
    const lockwarp::tools::Folder folder;
    const lockwarp::tools::Ended e = lockwarp::tools::run(folder, arguments_of(command));
    EXPECT_EQ(e.status, status) << page << ": " << command << "\n" << e.err;
    const std::vector<std::string> printed = lines_of(without_folder(e.out));
    size_t at = 0;
    bool anywhere = false;
    for (const std::string& line : shown) {
        if (line == "...") {
            anywhere = true;
            continue;
        }
        while (anywhere && at < printed.size() && printed[at] != line) ++at;
        ASSERT_LT(at, printed.size()) << page << ": " << command << "\nprints no line\n" << line;
        EXPECT_EQ(printed[at], line) << page << ": " << command;
        ++at;
        anywhere = false;
    }
    EXPECT_TRUE(anywhere || at == printed.size()) << page << ": " << command << " prints more";
}

// Each block between ```console and ``` is commands ("$ lockwarp ...") and what they print; in one
// of
// "```console exit=1" they end with that status.
TEST(Documents, SessionsAreWhatTheCommandsPrint) {
    size_t sessions = 0;
    for (const std::string& page : pages()) {
        bool inside = false;
        int status = 0;
        std::string command;
        std::vector<std::string> shown;
        const auto finish = [&] {
            if (!command.empty()) {
                EXPECT_FALSE(shown.empty()) << page << ": " << command;
                expect_session(page, command, shown, status);
                ++sessions;
            }
            command.clear();
            shown.clear();
        };
        for (const std::string& line : lines_of(text_of(page))) {
            const std::string before = "$ lockwarp ";
            if (line == "```console" || line == "```console exit=1") {
                inside = true;
                status = line == "```console" ? 0 : 1;
            } else if (line.starts_with("```")) {
                finish();
                inside = false;
            } else if (inside && line.starts_with(before)) {
                finish();
                command = line.substr(before.size());
            } else if (inside) {
                shown.push_back(line);
            }
        }
    }
    EXPECT_GE(sessions, 8u);
}

// A page without its blocks of code, in which "](" is no link.
std::string without_code(const std::string& text) {
    std::string out;
    bool code = false;
    for (const std::string& line : lines_of(text)) {
        const bool fence = line.starts_with("```");
        if (!code && !fence) out += line + "\n";
        if (fence) code = !code;
    }
    return out;
}

TEST(Documents, LinksLeadToFiles) {
    size_t links = 0;
    for (const std::string& page : pages()) {
        const std::string text = without_code(text_of(page));
        for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
            std::string link = text.substr(at + 2, text.find(')', at) - at - 2);
            link = link.substr(0, link.find('#'));
            if (link.empty() || link.starts_with("http")) continue;
            const auto folder = std::filesystem::path(LOCKWARP_SOURCE_DIR "/" + page).parent_path();
            EXPECT_TRUE(std::filesystem::exists(folder / link)) << page << ": " << link;
            ++links;
        }
    }
    EXPECT_GE(links, 50u);
}

TEST(Documents, EveryPageIsOnTheMap) {
    const std::string readme = text_of("README.md");
    for (const std::string& page : pages())
        EXPECT_TRUE(page == "README.md" || readme.find("](" + page + ")") != std::string::npos)
            << page;
    EXPECT_LE(lines_of(readme).size(), 250u);
}

// Every command of --help has its page.
TEST(Documents, NameEveryCommand) {
    std::string all;
    for (const std::string& page : pages()) all += text_of(page);
    const lockwarp::tools::Folder folder;
    size_t commands = 0;
    for (const std::string& line :
         lines_of(lockwarp::tools::run(folder, {"--help"}).out.substr(0))) {
        // "  validate              Run launch files ..."
        if (!line.starts_with("  ") || line.size() < 25 || line[2] == ' ' || line[2] == '-' ||
            line.starts_with("  lockwarp") || line[23] != ' ')
            continue;
        const std::string name = line.substr(2, line.find(' ', 2) - 2);
        EXPECT_TRUE(all.find("`" + name) != std::string::npos ||
                    all.find("lockwarp " + name) != std::string::npos)
            << name;
        ++commands;
    }
    EXPECT_GE(commands, 25u);
}

// Words with one space between them.
std::string plain(const std::string& text) {
    std::istringstream words(text);
    std::string out;
    for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
    return out;
}

TEST(Documents, ListWhatTheTablesHave) {
    const std::string page = text_of("docs/fidelity.md");
    const std::string begin = "<!-- printed by: lockwarp list --markdown -->\n";
    const size_t at = page.find(begin);
    ASSERT_NE(at, std::string::npos);
    const size_t end = page.find("<!-- end -->", at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(page.substr(at + begin.size(), end - at - begin.size()),
              lockwarp::tools::instruction_list(true));
}

// The one row that makes a variant is a row of the table.
TEST(Documents, ShowARowOfTheMatrixTable) {
    const std::string page = text_of("CONTRIBUTING.md");
    const std::string begin = "```diff\n";
    const size_t at = page.find(begin);
    ASSERT_NE(at, std::string::npos);
    const size_t end = page.find("```", at + begin.size());
    ASSERT_NE(end, std::string::npos);
    std::string row = page.substr(at + begin.size(), end - at - begin.size());
    for (size_t line = 0; line < row.size(); line = row.find('\n', line) + 1) {
        ASSERT_EQ(row[line], '+');
        row[line] = ' ';
    }
    EXPECT_NE(plain(text_of("emu/isa/matrix_rows.hpp")).find(plain(row)), std::string::npos) << row;
}

}  // namespace
}  // namespace lockwarp::documents_test
