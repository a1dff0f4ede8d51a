// SPDX-License-Identifier: Apache-2.0
// lockwarp trace: the rows that each choice leaves, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

// Two CTAs of two warps; each line from 7 on gives one row a lane.
void write_kernel(const Folder& folder, const std::string& line_10) {
    folder.write("k.ptx", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b32 %r<4>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
add.u32 %r2, %r1, 5;
st.global.u32 [%rd1], %r2;
)" + line_10 + "\n}\n");
    folder.write("k.json", R"({"schema": "lockwarp-launch/1", "ptx": "k.ptx", "grid": [2],
        "block": [64], "buffers": {"p": {"zeros": 4}}, "args": [{"buffer": "p"}]})");
}

Ended trace(const Folder& folder, std::vector<std::string> options) {
    options.insert(options.begin(), {"trace", "k.json"});
    return run_here(folder, options);
}

TEST(Trace, HasTheRowsOfAChoice) {
    const Folder folder;
    write_kernel(folder, "ret;");
    struct Choice {
        std::vector<std::string> options;
        int rows;
    };
    for (const Choice& row :
         std::vector<Choice>{{{"--line", "7"}, 128},
                             {{"--line", "7-8"}, 256},
                             {{"--line", "8-8"}, 128},
                             {{"--line", "7,9"}, 256},
                             {{"--line", "8-4294967295", "--lane", "0"}, 12},
                             {{"--line", "7", "--warp", "1"}, 64},
                             {{"--line", "7", "--warp", "0,1", "--lane", "3,31"}, 8},
                             {{"--line", "7-9", "--register", "%r2"}, 128},
                             {{"--instruction", "add,st"}, 256},
                             {{"--line", "7", "--cta", "1,0,0"}, 64},
                             {{"--line", "7", "--cta", "0", "--cta", "1"}, 128},
                             {{"--line", "7", "--max-rows", "5"}, 5}}) {
        std::string line;
        for (const std::string& word : row.options) line += " " + word;
        const Ended e = trace(folder, row.options);
        EXPECT_EQ(e.status, 0) << line << e.err;
        EXPECT_EQ(std::ranges::count(e.out, '\n'), row.rows + 1) << line;
    }
    const Ended written = trace(folder, {"--line", "7", "--output", "t.tsv"});
    EXPECT_EQ(written.out, "128 rows in t.tsv\n");
    EXPECT_EQ(folder.read("t.tsv"), trace(folder, {"--line", "7"}).out);
}

TEST(Trace, RefusesWhatIsNone) {
    const Folder folder;
    write_kernel(folder, "ret;");
    for (const char* line : {"0", "0-7", "8-7", "x", "7-", "-7", "4294967296", "7-4294967296"}) {
        const Ended e = trace(folder, {std::string("--line=") + line});
        EXPECT_EQ(e.status, 2) << line;
        EXPECT_EQ(e.err,
                  std::string("error: --line takes a line of the PTX or two with '-', not '") +
                      line + "'\n");
    }
    struct Wrong {
        const char* option;
        const char* error;
    };
    for (const Wrong& row : std::initializer_list<Wrong>{
             {"--cta=2", "--cta: the grid has no CTA '2'"},
             {"--line=4294967295", "no instruction is of this choice: nothing was written"},
             {"--output=none/t", "none/t: cannot be written"},
             {"--output=/dev/full", "the trace could not be written"}}) {
        const Ended e = trace(folder, {row.option});
        EXPECT_EQ(e.status, 2) << row.option;
        EXPECT_EQ(e.err, std::string("error: ") + row.error + "\n");
    }
    EXPECT_EQ(trace(folder, {"--line", "7", "--output", "/dev/full"}).status, 2);
}

TEST(Trace, EndsAtATrap) {
    const Folder folder;
    write_kernel(folder, "trap;");
    const Ended e = trace(folder, {"--line", "7", "--cta", "0"});
    EXPECT_EQ(e.status, 1);
    EXPECT_EQ(e.err, "error: trap instruction at k.ptx:10; the rows up to there are written\n");
    EXPECT_GE(std::ranges::count(e.out, '\n'), 33);
}

}  // namespace
}  // namespace lockwarp::tools
