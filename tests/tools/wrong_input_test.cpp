// SPDX-License-Identifier: Apache-2.0
// Hundreds of wrong inputs over all commands: none crashes, hangs, replaces a special file or is
// taken for right, and each is answered with a sentence. Most are given to the commands in this
// process: under the sanitizers the start of one takes longer than they do.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/tools/process.hpp"
#include "tools/commands/cli.hpp"
#include "tools/commands/command_tree.hpp"
#include "tools/commands/usage.hpp"

namespace lockwarp::tools::wrong_input_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr auto too_long = std::chrono::seconds(20);

// Waits for the end of a command that may hang.
Ended finish_or_kill(const Started& started) {
    std::jthread killer([child = started.child](const std::stop_token& stop) {
        const auto end = std::chrono::steady_clock::now() + too_long;
        while (!stop.stop_requested() && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(milliseconds(5));
        if (!stop.stop_requested()) ::kill(child, SIGKILL);
    });
    return finish(started);
}

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> out;
    std::string word;
    bool quoted = false, any = false;
    for (const char c : line + " ") {
        if (c == '\'') {
            quoted = !quoted;
            any = true;
        } else if (c != ' ' || quoted) {
            word += c;
        } else if (!word.empty() || any) {
            out.push_back(word);
            word.clear();
            any = false;
        }
    }
    return out;
}

// In a process of its own, or here.
enum class Where : uint8_t { process, here };

void expect_refused(const Folder& folder, const std::vector<std::string>& words, Where where,
                    const std::string& named = "") {
    std::string line;
    for (const std::string& w : words) line += w + " ";
    const Ended e =
        where == Where::here ? run_here(folder, words) : finish_or_kill(start(folder, words));
    EXPECT_TRUE(e.status == 1 || e.status == 2 || e.status == 77) << line << e.status << e.err;
    EXPECT_TRUE(e.err.find("error: ") != std::string::npos || e.out.starts_with("TRAP  "))
        << line << e.err;
    EXPECT_EQ(e.err.find('\x1b'), std::string::npos) << line << e.err;
    EXPECT_EQ(e.out.find('\x1b'), std::string::npos) << line << e.out;
    if (!named.empty()) {
        EXPECT_NE(e.err.find(named), std::string::npos) << line << e.err;
    }
}

const std::string good_ptx =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
    ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 5;\n"
    "ret;\n}\n";

std::string launch(const std::string& more = "", const std::string& entry = "k") {
    return R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "entry": ")" + entry +
           R"(", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [{"buffer": "A"}],
              "buffers": {"A": {"bytes": 64}}, "outputs": ["A"])" +
           more + "}";
}

// 100 MB that are nothing.
void write_noise(const fs::path& path) {
    std::ofstream file(path, std::ios::binary);
    std::vector<uint64_t> block(1 << 17);
    uint64_t state = 1;
    for (int n = 0; n < 100; ++n) {
        for (uint64_t& word : block)
            word = state = state * 6364136223846793005u + 1442695040888963407u;
        file.write(reinterpret_cast<const char*>(block.data()), 1 << 20);
    }
}

void write_inputs(const Folder& folder) {
    folder.write("k.ptx", good_ptx);
    folder.write("k.json", launch());
    folder.write("empty", "");
    folder.write("empty.json", "");
    folder.write("empty.lwr", "");
    folder.write("zero.ptx", std::string(1000, '\0'));
    folder.write("zero.cu", std::string(1000, '\0'));
    folder.write("list.json", "[]");
    folder.write("deep.json", std::string(100000, '['));
    folder.write("entry.json", launch("", "\\u001b[31mred"));
    folder.write("arch.json", launch(R"(, "arch": "\u001b]0;title\u0007")"));
    folder.write("field.json", launch(R"(, "outputs": ["\u001b[2J"])"));
    folder.write("block.json", launch(R"(, "block": [2000, 1, 1])"));
    folder.write("text.lwr", "\x1b[31mno recording");
    folder.write("file.txt", "text");
    ::mkfifo((folder.path / "fifo").c_str(), 0600);
    ::mkfifo((folder.path / "fifo.json").c_str(), 0600);
    ::mkfifo((folder.path / "fifo.lwr").c_str(), 0600);
    fs::create_directory(folder.path / "folder");
    fs::create_symlink("loop.json", folder.path / "loop.json");
    fs::create_symlink("nowhere", folder.path / "dangling.json");
    write_noise(folder.path / "noise");
    for (const char* name : {"noise.json", "noise.ptx", "noise.lwr", "noise.cu"})
        fs::create_symlink("noise", folder.path / name);
}

// What every command that reads a file is given in its place.
const std::vector<std::string> readers = {"run @",
                                          "time @ --arch sm_80",
                                          "validate @",
                                          "record @",
                                          "replay @",
                                          "measure @",
                                          "report show @",
                                          "report merge @",
                                          "run @ k.json",
                                          "time --against @",
                                          "calibrate --against @",
                                          "explain m16n8k8.f32.bf16 D 0 0 --in @"};
const std::vector<std::string> no_inputs = {
    "empty",         "empty.json", "empty.lwr",  "list.json", "deep.json", "text.lwr",
    "file.txt",      "fifo",       "fifo.json",  "fifo.lwr",  "folder",    "loop.json",
    "dangling.json", "noise",      "noise.json", "noise.lwr", "noise.ptx", "/dev/zero",
    "/dev/null",     "/dev/full",  "missing",    "''"};

TEST(WrongInput, FilesThatAreNone) {
    const Folder folder;
    write_inputs(folder);
    size_t count = 0;
    for (const std::string& reader : readers)
        for (const std::string& input : no_inputs) {
            std::string line = reader;
            line.replace(line.find('@'), 1, input);
            const bool first = input == no_inputs.front();
            expect_refused(folder, words_of(line), first ? Where::process : Where::here);
            ++count;
        }
    EXPECT_GE(count, 200u);
    for (const char* name : {"fifo", "fifo.json", "fifo.lwr"})
        EXPECT_TRUE(fs::is_fifo(folder.path / name)) << name;
}

// Each option of each command with an empty value, and with no number where one belongs: the parser
// refuses it, and of each command the program one of them.
TEST(WrongInput, ValuesOfEveryOption) {
    const Folder folder;
    size_t count = 0;
    int status = 0;
    CLI::App app;
    add_commands(app, status);
    const std::vector<std::string> no_numbers = {"-1", "abc", "1e400", "18446744073709551616"};
    for (const CLI::App* command : listed_commands(app)) {
        std::vector<std::string> words{command->get_name()};
        // What stands behind a program's name is the program's.
        for (const CLI::Option* p : positionals(*command))
            if (p->get_required() && command->get_name() != "exec") words.emplace_back("x");
        bool started = false;
        for (const CLI::Option* option : listed_options(*command)) {
            if (!takes_value(*option) || option->get_expected_min() == 0) continue;
            const std::string name = spellings(*option).front();
            std::vector<std::string> values{""};
            const std::string type = value_name(*option);
            if (type == "N" || type == "MB" || type == "BYTES" || type == "LEVEL" ||
                type == "SECONDS" || type == "CYCLE")
                values.insert(values.end(), no_numbers.begin(), no_numbers.end());
            for (const std::string& value : values) {
                std::vector<std::string> all = words;
                all.push_back(name + "=" + value);
                if (option->get_expected_min() == 2) all.emplace_back("");
                const std::string line = command->get_name() + " " + name + "=" + value;
                std::string said = "nothing";
                try {
                    app.parse(std::vector<std::string>(all.rbegin(), all.rend()));
                } catch (const CLI::ParseError& e) {
                    said = e.get_exit_code() == 0 ? "no error" : usage_message(&app, e);
                }
                EXPECT_TRUE(said.starts_with("error: ")) << line << ": " << said;
                EXPECT_EQ(said.find('\x1b'), std::string::npos) << line;
                if (!started) expect_refused(folder, all, Where::process, said);
                started = true;
                ++count;
            }
        }
    }
    EXPECT_GE(count, 200u);
    EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

// What a shell makes of a line; the command's stderr is in the file err.
int shell(const Folder& folder, const std::string& line) {
    const int status = std::system(("cd '" + folder.path.string() + "' && " + line).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(WrongInput, AnOutputThatTakesNothing) {
    const Folder folder;
    write_inputs(folder);
    for (const char* command : {" list", " table m16n8k16.f32.f16", " run k.json", " --help",
                                " where m16n8k16.f32.f16 A 3 7", " report show r.json",
                                " fuzz --plain --cases 1", " time k.json --arch sm_80"})
        for (const char* out : {">&-", "> /dev/full"}) {
            if (std::string(command).find("r.json") != std::string::npos) {
                ASSERT_EQ(
                    shell(folder, program() + " fuzz --plain --cases 1 --json r.json > /dev/null"),
                    0);
            }
            EXPECT_EQ(shell(folder, program() + command + " " + out + " 2> err"), 2)
                << command << out;
            EXPECT_NE(folder.read("err").find(" be written"), std::string::npos)
                << command << out << folder.read("err");
        }
}

#ifndef __SANITIZE_ADDRESS__
// Before anything has run, so that no hour of work is lost.
TEST(WrongInput, ReportsThatCannotBeWrittenAreRefusedFirst) {
    const Folder folder;
    for (const std::vector<std::string>& reports :
         std::vector<std::vector<std::string>>{{"--json", "none/r"},
                                               {"--junit", "none/r"},
                                               {"--json", "good.json", "--junit", "none/r"},
                                               {"--json", "none/r", "--junit", "good.xml"}}) {
        std::vector<std::string> words{"fuzz", "--plain", "--cases", "1", "--instructions", "1"};
        words.insert(words.end(), reports.begin(), reports.end());
        const Ended e = run(folder, words);
        EXPECT_EQ(e.status, 2) << e.err;
        EXPECT_EQ(e.out, "");
        EXPECT_NE(e.err.find("none/r"), std::string::npos) << e.err;
        EXPECT_TRUE(folder.names().empty());
    }
}

TEST(WrongInput, MoreMemoryThanThereIs) {
    const Folder folder;
    write_inputs(folder);
    std::string big = launch();
    big.replace(big.find("\"bytes\": 64"), 11, "\"bytes\": 2000000000");
    folder.write("big.json", big);
    for (const char* command : {" run big.json", " time big.json --arch sm_80"}) {
        EXPECT_EQ(shell(folder, "ulimit -v 1000000 && " + program() + command + " > out 2> err"), 2)
            << command;
        EXPECT_TRUE(folder.read("err").starts_with("error: ")) << folder.read("err");
    }
}
#endif

TEST(WrongInput, WordsThatNothingTakes) {
    const Folder folder;
    for (const auto& [line, says] : std::initializer_list<std::pair<const char*, const char*>>{
             {"run --chek k.json", "there is no option '--chek'; did you mean '--check'?"},
             {"run k.json --chek=all", "there is no option '--chek'; did you mean '--check'?"},
             {"run --chek", "there is no option '--chek'; did you mean '--check'?"},
             {"--versoin", "there is no option '--versoin'; did you mean '--version'?"},
             {"run k.json --nothing-like-it", "there is no option '--nothing-like-it'"},
             {"descriptor decode --stat 0", "there is no option '--stat'"},
             {"arch sm_80 sm_90", "'sm_90' is one argument too many"},
             {"arch -- sm_80 sm_90 sm_100", "'sm_90' is one argument too many"},
             {"descriptor decode 0 1", "'1' is one argument too many"},
             {"run", "FILES is required"},
             {"run --check", "FILES is required"}}) {
        const Ended e = run_here(folder, words_of(line));
        EXPECT_EQ(e.status, 2) << line;
        EXPECT_EQ(e.err,
                  std::string("error: ") + says + "\nRun with --help for more information.\n")
            << line;
    }
}

TEST(WrongInput, NumbersOfOptions) {
    const Folder folder;
    const std::string whole = "' is not a whole number from 0 to 18446744073709551615\n";
    for (const auto& [option, text, says] :
         std::initializer_list<std::tuple<const char*, std::string, std::string>>{
             {"--max-steps", "12x", whole},
             {"--max-steps", "2^64", whole},
             {"--max-steps", "-1", whole},
             {"--max-steps", " 1", whole},
             {"--max-steps", "18446744073709551616", whole},
             {"--time-limit", "1s", "' is not a number\n"},
             {"--time-limit", "inf", "' is not a number\n"},
             {"--time-limit", "1e999", "' is not a number\n"}}) {
        const Ended e = run_here(folder, {"run", "k.json", option, text});
        EXPECT_EQ(e.status, 2) << text;
        EXPECT_TRUE(e.err.starts_with("error: ")) << e.err;
        EXPECT_NE(e.err.find("'" + text + says), std::string::npos) << e.err;
    }
}

TEST(WrongInput, ByHand) {
    const Folder folder;
    write_inputs(folder);
    const std::vector<std::string> lines = {
        "",
        "rnu k.json",
        "run",
        "run --chek k.json",
        "run k.json k.json k.json",
        "run entry.json",
        "run arch.json",
        "run field.json",
        "run block.json",
        "run k.json --arch '\x1b[31m'",
        "run k.json --print '\x1b[31m:f32:1x1'",
        "run k.json --print A:f32:0x1",
        "run k.json --print A:f99:1x1",
        "run k.json --product A=A*A:0x1x1:f32:f32",
        "run k.json --check=nonsense",
        "run k.json --optimize 9",
        "run k.json --threads 0",
        "run k.json --max-steps 2^64",
        "run k.json --max-steps 1",
        "run k.json --time-limit 0",
        "run k.json --time-limit nan",
        "run k.json --out file.txt",
        "run k.json --out /dev/null",
        "run k.json --out fifo",
        "run zero.ptx k.json",
        "run zero.cu k.json",
        "time k.json --arch sm_1",
        "time k.json --from -5",
        "time k.json --timeline 99 --arch sm_80",
        "time k.json --timeline sub-core:9 --arch sm_80",
        "time k.json --arch sm_80 --svg folder",
        "time k.json --arch sm_80 --svg /dev/full",
        "time k.json --arch sm_80 --trace /dev/full --svg use.svg",
        "time k.json --arch sm_80 --trace missing/file",
        "replay text.lwr --shard 0/4",
        "replay text.lwr --shard 5/4",
        "replay text.lwr --shard ''",
        "fuzz --plain --cases 1 --shard ''",
        "fuzz --plain --cases 1 --shard 2/4",
        "fuzz --plain --cases 1 --only nonsense",
        "fuzz --plain --cases 1 --json same --junit same",
        "fuzz --plain --cases 1 --json /dev/full",
        "fuzz --plain --cases 1 --json folder",
        "fuzz --plain --cases 1 --json /dev/full --junit r.xml",
        "explain m16n8k8.f32.bf16 D 0 0 --a lanes:1e400,1,1,1 --b lanes:1,1 --c 0",
        "explain m16n8k8.f32.bf16 D 0 0 --a 1",
        "explain m16n8k8.f32.bf16 D 99 0",
        "explain m16n8k8.f32.bf16 D -1 0",
        "explain m16n8k8.f32.bf16 Q 0 0",
        "explain nonsense D 0 0",
        "where m16n8k16.f32.f16",
        "where m16n8k16.f32.f16 A 3",
        "where m16n8k16.f32.f16 A 99 0",
        "where m16n8k16.f32.f16 A 1e400 0",
        "where m16n8k16.f32.f16 Z 0 0",
        "where m16n8k16 A 0 0",
        "where '\x1b[31m' A 0 0",
        "what m16n8k16.f32.f16 A --lane 32",
        "what m16n8k16.f32.f16 A --lane 18446744073709551616",
        "what m16n8k16.f32.f16 A --lane 0 --reg 99",
        "table m16n8k16.f32.f16 A --by nothing",
        "table m16n8k16.f32.f16 A --format png",
        "layout SM90_8x8x4_C64C64C64C64_TN",
        "layout SM80_16x8x4_C64C64C64C64_TN",
        "layout SM80_8x8x4_C64C64C64C64_TT",
        "layout SM99_1x1x1_F32_TN",
        "layout m16n8k16.f32.f16 --diff sm_70",
        "compat C:m16n8k16.f32.f16",
        "compat nonsense more",
        "equiv m16n8k16.f32.f16 nonsense",
        "equiv m16n8k16.f32.f16@sm_1 m16n8k16.f32.f16@sm_80",
        "banks ldmatrix.x4 --stride -1",
        "banks ldmatrix.x4 --stride 1048577",
        "banks ldmatrix.x4 --address '1<<32'",
        "banks ldmatrix.x4 --address '1<<40'",
        "banks ldmatrix.x4 --address '(1<<30)*16'",
        "banks ldmatrix.x4 --address 4294967296",
        "banks ldmatrix.x4 --address 'lane/0'",
        "banks ldmatrix.x4 --address 'lane+'",
        "banks ldmatrix.x4 --address 'lane-1'",
        "banks ldmatrix.x4 --swizzle 3,4,2",
        "banks nonsense",
        "ldmatrix x3",
        "stmatrix x2 --elements b7",
        "swizzle 3,4,3 99999999999999999999",
        "swizzle 3,4",
        "swizzle 99,99,99",
        "descriptor",
        "descriptor decode nonsense",
        "descriptor decode 0x1ffffffffffffffff",
        "descriptor encode --start -1",
        "descriptor encode --start 1e400",
        "tensormap",
        "tensormap nonsense",
        "tensormap 00",
        "completion fish",
        "arch sm_1",
        "list --arch sm_1",
        "info '\x1b]0;title\x07'",
        "fidelity --arch sm_1",
        "explorer --out folder",
        "explorer --out ''",
        "special nonsense",
        "calibrate --emulator --only nonsense",
        "measure",
        "record",
        "record k.json --out fifo",
        "validate k.json --lines 9-1",
        "validate k.json --ctas x",
        "report",
        "report nonsense",
        "report merge k.json k.json",
        "report show k.json more",
    };
    for (const std::string& line : lines) expect_refused(folder, words_of(line), Where::here);
    EXPECT_GE(lines.size(), 100u);
    for (const char* name : {"fifo", "fifo.json", "fifo.lwr"})
        EXPECT_TRUE(fs::is_fifo(folder.path / name)) << name;
    for (const char* name : {"/dev/null", "/dev/full"})
        EXPECT_TRUE(fs::is_character_file(name)) << name;
    EXPECT_FALSE(fs::exists(folder.path / "use.svg"));
    EXPECT_FALSE(fs::exists(folder.path / "r.xml"));
    EXPECT_EQ(folder.read("file.txt"), "text");
}

}  // namespace
}  // namespace lockwarp::tools::wrong_input_test
