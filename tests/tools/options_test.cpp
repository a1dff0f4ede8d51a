// SPDX-License-Identifier: Apache-2.0
// The options of each command as its --help lists them: none is lost, and none comes unnoticed.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

struct OptionsRow {
    const char* command;
    // ! for each word that must be there before them;
    // --name[LOW,HIGH] of a number with limits, --name! where it must be there, --name+--other
    // where it needs another, --name^--other where it excludes another.
    const char* options;
};
constexpr OptionsRow options_of_commands[] = {
    {"run",
     "! --nvcc --arch --out --print --product --check{all} --stats "
     "--max-steps[1,18446744073709551615] --threads[1,1024] --order "
     "--orders[1,1000000] --async --optimize[0,4] --at --show+--at --lane[0,31]+--at "
     "--json --junit --github --shard -j,--jobs[1,1024] --time-limit[0.001,1e+09]"},
    {"check",
     "! --nvcc --check --format --output --suppress --arch "
     "--max-steps[1,18446744073709551615] --threads[1,1024] --order "
     "--orders[1,1000000] --time-limit[0.001,1e+09]"},
    {"why", "! --nvcc --arch --product --shape --svg --json --time-limit[0.001,1e+09]"},
    {"exec",
     "! --arch --devices[1,16] --check{all} --time --order --patience[0,1e+06] --async --keep-ptx "
     "--record --junit"},
    {"debug", "! --nvcc --arch --ex --product --order --batch"},
    {"dap", "--port"},
    {"trace",
     "! --nvcc --arch --line --warp --lane --instruction --register --cta --max-rows "
     "--output --time-limit[0.001,1e+09]"},
    {"diff", "! --nvcc --arch --order --time-limit[0.001,1e+09]"},
    {"init", "! --nvcc --arch"},
    {"time",
     "--nvcc --launch[1,10000] --arch --compare --lines --timeline --from "
     "--cycles[1,1000000] --trace --svg --json --registers[1,255] --against "
     "--scatter --cold --all --time-limit[0.001,1e+09]"},
    {"capture", "! --out! --kernel --launch --max-memory[1,1048576] --keep-ptx --driver"},
    {"validate",
     "--nvcc --lockstep --kernel --launch --max-memory[1,1048576] --keep-ptx --driver "
     "--gpus,--gpu --limit[0,1e+06] --compile-limit[0,1e+06] --optimize[0,4] --every "
     "--only --lines --digests^--words --words^--digests --final --ctas --warps "
     "--arch --trace-mb[1,1048576] --max-steps --threads -j,--jobs --save --stats "
     "--shard --json --junit --github --time-limit[0.001,1e+09]"},
    {"fuzz",
     "--gpus,--gpu --limit[0,1e+06] --compile-limit[0,1e+06] --optimize[0,4] --plain "
     "--arch --seed --cases[1,18446744073709551615] --time[0.001,1e+09] --only "
     "--instructions[1,2000] --ctas[1,65535] --jobs[1,256] --shrink --out --threads "
     "--shard --json --junit --github --list --time-limit[0.001,1e+09]"},
    {"record",
     "--nvcc --suite --out --gpus,--gpu --limit[0,1e+06] --compile-limit[0,1e+06] "
     "--optimize[0,4] --only --final --trace-mb[1,1048576] --max-steps --threads "
     "--time-limit[0.001,1e+09]"},
    {"replay",
     "! --max-steps[1,18446744073709551615] --threads[1,1024] --shard --json --junit "
     "--github --time-limit[0.001,1e+09]"},
    {"special",
     "--gpus,--gpu --limit[0,1e+06] --compile-limit[0,1e+06] --optimize[0,4] "
     "--emulator --from --count --threads[1,1024] --json --junit --github --list "
     "--time-limit[0.001,1e+09]"},
    {"calibrate",
     "--only --warps[1,32] --out --ptx --arch --list --emulator --against --lines "
     "--gpus,--gpu --limit[0,1e+06] --compile-limit[0,1e+06] --optimize[0,4] "
     "--time-limit[0.001,1e+09]"},
    {"measure",
     "! --nvcc --gpus,--gpu --limit[0,1e+06] --compile-limit[0,1e+06] --optimize[0,4] "
     "--emulator --in-process --runs[1,10000] --out --time-limit[0.001,1e+09]"},
    {"fidelity", "--arch --json --from"},
    {"list", "--markdown --arch --format --json"},
    {"arch", "--format --json"},
    {"report", ""},
    {"info", "--arch --format --json"},
    {"where", "!!!! --arch --format --json"},
    {"what", "!! --lane! --reg --arch --format --json"},
    {"table", "! --by --arch --format --json"},
    {"layout", "--cute --diff --arch --format --json"},
    {"compat", "!! --arch --format --json"},
    {"explorer", "--out"},
    {"explain", "!!!! --arch --a --b --c --in --seed --format --json"},
    {"equiv", "!! --arch --tries[1,1073741824] --format --json"},
    {"banks", "! --stride --address --swizzle --of --format --json"},
    {"ldmatrix", "! --trans --elements --stride --address --swizzle --of --format --json"},
    {"stmatrix", "! --trans --elements --stride --address --swizzle --of --format --json"},
    {"movmatrix", "--format --json"},
    {"swizzle", "! --format --json"},
    {"descriptor", ""},
    {"tensormap", "! --name --at --offset --byte --element --shared --format --json"},
};

// "  --jobs N:UINT in [1 - 256]   programs at a time" -> "--jobs[1,256]", one of each option.
std::string options_in(const std::string& help) {
    static const std::regex begin("^  (-\\S+)");
    static const std::regex limits(R"(^  \S+ [A-Z:/]+ in \[(\S+) - (\S+)\])");
    static const std::regex required(R"(^  \S.* REQUIRED)");
    static const std::regex other(R"((Needs|Excludes): (--\w+))");
    std::istringstream lines(help.substr(0, help.find("\nExamples:")));
    std::string out;
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, match, begin) && match[1] != "-h,--help")
            out += (out.empty() ? "" : " ") + match[1].str();
        if (std::regex_search(line, match, limits))
            out += "[" + match[1].str() + "," + match[2].str() + "]";
        if (std::regex_search(line, match, required)) out += "!";
        if (std::regex_search(line, match, other))
            out += (match[1] == "Needs" ? "+" : "^") + match[2].str();
    }
    return out;
}

TEST(Options, OfEachCommand) {
    const Folder folder;
    std::string commands;
    for (const OptionsRow& row : options_of_commands) {
        const Ended help = run_here(folder, {row.command, "--help"});
        EXPECT_EQ(help.status, 0) << row.command;
        EXPECT_EQ(options_in(help.out), row.options) << row.command;
        commands += std::string("\n  ") + row.command;
    }
    // These are all the commands.
    const std::string top = run_here(folder, {"--help"}).out;
    std::string listed;
    static const std::regex command(R"(\n  [a-z]+(?= {3}))");
    for (std::sregex_iterator at(top.begin(), top.end(), command), end; at != end; ++at)
        listed += at->str();
    EXPECT_EQ(listed, commands);
}

}  // namespace
}  // namespace lockwarp::tools
