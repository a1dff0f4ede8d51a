// SPDX-License-Identifier: Apache-2.0
// The questions of docs/lanes.md: each command, run as it stands there, prints its answer.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "emu/check/check.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

struct Question {
    int number;
    std::string command, answer;
};

std::vector<Question> questions() {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/docs/lanes.md");
    std::vector<Question> out;
    // "| 5 | question | `lockwarp command` | `answer` |"
    const std::string before = " | `lockwarp ";
    const std::string between = "` | `";
    for (std::string line; std::getline(file, line);) {
        const size_t command = line.find(before);
        const size_t answer = line.find(between, command);
        const bool numbered =
            line.size() > 2 && std::isdigit(static_cast<unsigned char>(line[2])) != 0;
        if (!line.starts_with("| ") || !numbered || !line.ends_with("` |") ||
            command == std::string::npos || answer == std::string::npos)
            continue;
        const size_t from = command + before.size();
        const size_t said = answer + between.size();
        out.push_back({std::stoi(line.substr(2)), line.substr(from, answer - from),
                       line.substr(said, line.size() - 3 - said)});
    }
    return out;
}

// Words; files of the project by their whole path.
std::vector<std::string> words_of(const std::string& command) {
    std::istringstream in(command);
    std::vector<std::string> out;
    for (std::string word; in >> word;)
        out.push_back(word.starts_with("tests/") || word.starts_with("gpu/")
                          ? LOCKWARP_SOURCE_DIR "/" + word
                          : word);
    return out;
}

// A program's own fault and what is found in it: 1; nothing to compare: 2.
int status_of(int number) {
    return number == 10 || number == 13 || number == 25 ? 1 : number == 23 ? 2 : 0;
}

TEST(Questions, EachCommandPrintsItsAnswer) {
    const std::vector<Question> all = questions();
    ASSERT_EQ(all.size(), 27u);
    for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].number, static_cast<int>(i) + 1);
        const Folder folder;
        const Ended e = run_here(folder, words_of(all[i].command));
        EXPECT_NE((e.out + e.err).find(all[i].answer), std::string::npos) << all[i].command << "\n"
                                                                          << e.out << e.err;
        EXPECT_EQ(e.status, status_of(all[i].number)) << all[i].command;
        if (!all[i].command.starts_with("run") && e.status == 0) {
            EXPECT_LE(e.out.find('\n'), 100u) << all[i].command;
        }
    }
}

// No line that people read is wider than 100 columns; of tables of a wide matrix too.
TEST(Questions, AnswersFitTheTerminal) {
    for (const char* command :
         {"info",
          "info m16n8k16.f32.f16",
          "info mma.sp.m16n8k32.f32.f16.f16.f32",
          "info m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
          "info wmma.m16n16k16.f32.f16.f16.f32 --arch sm_70",
          "table m16n8k256.s32.b1.b1.s32.and.popc A",
          "table m16n8k16.f32.f16",
          "table m16n8k16.f32.f16 --by lane",
          "table ldmatrix.x4",
          "table SM90_64x256x16_F32F16F16_SS D",
          "explain m16n8k16.f32.f16 D 0 0 --arch all",
          "explain m8n8k4.f32.f16.f16.f32 D 0 0 --arch all",
          "explain m16n8k8.f64 D 1 1",
          "explain m16n8k32.s32.s8.s8.s32 D 1 1",
          "explain m16n8k32.f32.e4m3.e4m3.f32 D 1 1 --arch all",
          "equiv m16n8k8.f32.f16 m16n8k16.f32.f16 --arch all",
          "banks ld.shared.b32 --stride 128",
          "banks ldmatrix.x4 --stride 64",
          "swizzle 5,0,5 123",
          "movmatrix",
          "stmatrix x4 --stride 48",
          "layout SM90_64x256x16_F32F16F16_RS --cute",
          "descriptor encode --start 64 --swizzle 32"}) {
        const Folder folder;
        const Ended e = run_here(folder, words_of(command));
        EXPECT_EQ(e.status, 0) << command << e.err;
        std::istringstream lines(e.out);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), 100u) << command << "\n" << line;
    }
}

TEST(Questions, WrongOnesExitWith2AndSayWhatIsRight) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"where m16n8k16.f32.f16 A 16 0", "rows 0 to 15, columns 0 to 15"},
        {"where m16n8k16.f32.f16 A -1 0", "rows 0 to 15"},
        {"where m16n8k16.f32.f16 Q 0 0", "it has A, B, C, D"},
        {"what m16n8k16.f32.f16 A --lane 40", "no lane 40"},
        {"what m16n8k16.f32.f16 A --lane 3 --reg 4", "0 to 3"},
        {"table m16n8k61.f32.f16", "the nearest"},
        {"info m16n8k16.f32.f16 --arch sm_75", "sm_75 does not have"},
        {"info m16n8k16.f32.f16 --arch sm_76", "there are sm_70"},
        {"list --arch sm_7", "there are sm_70"},
        {"info m16n8k16", "fits"},
        {"where SM90_64x64x16_F32F16F16_SS B 0 0", "shared memory"},
        {"nosuch", "there is no command 'nosuch'"},
        {"valdiate", "there is no command 'valdiate'; did you mean 'validate'?"},
        {"descriptor decoed 0x0", "there is no command 'decoed'; did you mean 'decode'?"},
        {"--nosuch", "there is no option '--nosuch'"},
        {"layout m16n8k16.f32.f16 --format png", "text, markdown, csv, json, svg, html"},
        {"layout --diff sm_80 sm_90", "layout INSN --diff ARCH ARCH"},
        {"layout m16n8k16.f32.f16 --diff sm_90 m16n8k16.f32.bf16", "no instruction 'sm_90'"},
        {"layout m16n8k16.f32.f16 --diff m16n8k16.f32.bf16 sm_90", "no instruction 'sm_90'"},
        {"tensormap " LOCKWARP_SOURCE_DIR "/gpu/kernels/tma_gemm.json --name a --at 1",
         "--at: this map has 2 coordinates"},
        {"tensormap " LOCKWARP_SOURCE_DIR "/gpu/kernels/tma_gemm.json --name a --at 1 2 3",
         "--at: this map has 2 coordinates"},
        {"tensormap " LOCKWARP_SOURCE_DIR "/gpu/kernels/tma_gemm.json --name a --at 1 2 --offset 1",
         "--offset: an im2col map has one for each spatial dimension"},
        {"compat C:m16n8k16.f32.f16 m16n8k16.f32.f16", "OPERAND:INSN"},
        {"compat C:m16n8k16.f32.f16 A:m8n8k4.f32.f16.f16.f32", "lanes"},
        {"explain m16n8k16.f32.f16 A 0 0", "is not D"},
        {"explain ldmatrix.x4 D 0 0", "is not a product"},
        {"explain mma.sp.m16n8k32.f32.f16.f16.f32 D 0 0", "sparse"},
        {"explain m16n8k16.f32.f16 D 0 0 --arch sm_80,sm_1", "no architecture 'sm_1'"},
        // Of a name that is too long its first 60 characters.
        {"explain m16n8k16.f32.f16 D 0 0 --arch "
         "s0123456789b0123456789c0123456789d0123456789e0123456789f0123456789",
         "no architecture 's0123456789b0123456789c0123456789d0123456789e0123456789f0123'; there"},
        {"equiv m16n8k16.f32.f16 m16n8k16.f32.bf16", "different types"},
        {"banks ldmatrix.x3", "ldmatrix.x1, .x2, .x4"},
        {"banks ldmatrix.x4 --stride 100", "is not a multiple of 16"},
        {"banks ldmatrix.x4 --address lane*", "should stand at character"},
        {"ldmatrix x5", "ldmatrix.x1"},
        {"swizzle 3,4", "B,M,S"},
        {"swizzle 3,4,3 0x1ffffffff", "error: '0x1ffffffff' is not a 32-bit index"},
        {"swizzle 3,4,3 " + std::string(200, '7'),
         "error: '" + std::string(100, '7') + "' is not a 32-bit index"},
        {"descriptor decode 12345678901234567890123", "is not a 64-bit number"},
        {"descriptor encode --start 8", "multiple of 16"},
    };
    for (const auto& [command, answer] : wrong) {
        const Folder folder;
        const Ended e = run_here(folder, words_of(command));
        EXPECT_EQ(e.status, 2) << command << e.out;
        EXPECT_NE(e.err.find(answer), std::string::npos) << command << "\n" << e.err;
        EXPECT_EQ(e.out, "") << command;
    }
}

// JSON, CSV and the rest of every kind of table: they are read back.
TEST(Questions, EveryFormat) {
    for (const char* command :
         {"table m8n8k4.f32.f16.f16.f32 A", "where m16n8k16.f32.f16 A 3 7", "info ldmatrix.x4",
          "what m16n8k16.f32.f16 D --lane 3 --reg 1", "layout SM80_16x8x16_F32F16F16F32_TN",
          "banks ldmatrix.x4 --stride 128", "ldmatrix x2 --stride 80", "movmatrix",
          "layout SM90_16x8x16_C64C64C64C64_TN", "swizzle 3,4,3 0x80",
          "layout wmma.m16n16k16.f32.f16.f16.f32 --diff sm_70 sm_80",
          "compat C:m16n8k16.f32.f16 A:m16n8k16.f32.f16", "descriptor decode 0x4000004000010000",
          "equiv m16n8k16.f32.f16@sm_80 m16n8k16.f32.f16@sm_86",
          "explain m16n8k8.f32.bf16 D 0 0 --a lanes:2,1,1,1 --b lanes:1,1 --c 0"})
        for (const char* format : {"text", "markdown", "csv", "json", "svg", "html"}) {
            const Folder folder;
            std::vector<std::string> words = words_of(command);
            words.insert(words.end(), {"--format", format});
            const Ended e = run_here(folder, words);
            EXPECT_EQ(e.status, 0) << command << format << e.err;
            EXPECT_GT(e.out.size(), 30u) << command << format;
            EXPECT_EQ(e.out.starts_with("<svg "), std::string(format) == "svg") << command;
        }
}

const std::string copies = R"(
	cp.async.cg.shared.global [%r4], [%rd4], 16;
	cp.async.commit_group;
)";

Ended checked(const std::string& before_read) {
    const Folder folder;
    std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/questions/in_flight.ptx");
    std::stringstream text;
    text << file.rdbuf();
    std::string ptx = text.str();
    const std::string from = "\tcp.async.cg.shared.global";
    const size_t begin = ptx.find(from);
    const size_t end = ptx.find("\txor.b32");
    ptx.replace(begin, end - begin, before_read);
    folder.write("in_flight.ptx", ptx);
    std::ifstream json(LOCKWARP_SOURCE_DIR "/tests/questions/in_flight.json");
    std::stringstream launch;
    launch << json.rdbuf();
    folder.write("in_flight.json", launch.str());
    return run_here(folder, {"run", "in_flight.json", "--check"});
}

TEST(InFlight, WhatIsEarlyAndWhatIsNot) {
    struct Case {
        std::string before_read;
        const char* word;  // nullptr: nothing is early
    };
    const std::string zero = "\tcp.async.wait_group 0;\n";
    const std::string one = "\tcp.async.wait_group 1;\n";
    const std::string all = "\tcp.async.wait_all;\n";
    const std::string bar = "\tbar.sync 0;\n";
    const std::string uncommitted = "\tcp.async.cg.shared.global [%r4], [%rd4], 16;\n";
    const std::string empty = "\tcp.async.commit_group;\n";
    for (const Case& c :
         {Case{copies + bar, "has not waited"}, Case{copies + zero, "has met no barrier"},
          Case{copies + bar + zero, "copied by warp 0, lane 0"}, Case{copies + zero + bar, nullptr},
          Case{copies + all + bar, nullptr}, Case{copies + one + bar, "has not waited"},
          Case{copies + empty + one + bar, nullptr},
          Case{uncommitted + zero + bar, "has not waited"}, Case{uncommitted + all + bar, nullptr},
          // A second copy into what the other warp may still read.
          Case{copies + zero + bar + copies, "a barrier that both meet comes before"},
          Case{copies + zero + bar + copies + bar, "has not waited"},
          Case{copies + zero + bar + copies + zero, "has met no barrier"},
          Case{copies + zero + bar + bar + copies + zero + bar, nullptr},
          // Overwritten by a store: no longer what was copied, where it was waited for.
          Case{copies + all + "\tst.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};\n" + bar, nullptr},
          Case{copies + "\tst.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};\n" + bar,
               "which of the two comes last is chance"}}) {
        const Ended e = checked(c.before_read);
        EXPECT_EQ(e.status, c.word == nullptr ? 0 : 1) << c.before_read << e.out << e.err;
        if (c.word != nullptr) {
            EXPECT_TRUE(e.out.starts_with("CHECK  ")) << e.out;
            EXPECT_NE(e.out.find(c.word), std::string::npos) << c.before_read << e.out;
        }
    }
}

// None of the project's kernels reads early.
TEST(InFlight, KernelsThatCopyDoNotReadEarly) {
    size_t count = 0;
    const Folder folder;
    for (const char* name : {"gemm_sm80", "gemm_sm80_zfill", "attention", "attention_O0",
                             "persistent_gemm", "triton_attention_sm80"}) {
        const Ended e = run_here(
            folder,
            {"run", std::string(LOCKWARP_SOURCE_DIR "/gpu/kernels/") + name + ".json", "--check"});
        EXPECT_EQ(e.status, 0) << name << e.out << e.err;
        ++count;
    }
    EXPECT_EQ(count, 6u);
}

// Threads 0 to 7 store 4 bytes each into a row of 8, and read the first dynamic bytes.
const std::string rows_of_eight = R"(.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 more[];
.shared .align 16 .b8 spare[48];
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	.shared .align 16 .b8 tile[64];
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 3;
	mov.u32 %r3, tile;
	add.u32 %r3, %r3, %r2;
	st.shared.u32 [%r3], %r1;
	mov.u32 %r4, spare;
	ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r4+STEP];
	mov.u32 %r4, more;
	ld.shared.u32 %r5, [%r4];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r5;
	ret;
}
)";

Ended run_rows(const std::string& step, const std::string& check, uint32_t dynamic) {
    const Folder folder;
    std::string ptx = rows_of_eight;
    ptx.replace(ptx.find("STEP"), 4, step);
    folder.write("k.ptx", ptx);
    folder.write("k.json",
                 R"({"schema":"lockwarp-launch/1","ptx":"k.ptx","grid":[2,1,1],"block":[8,1,1],)"
                 R"("dynamic_shared":)" +
                     std::to_string(dynamic) +
                     R"(,"buffers":{"out":{"bytes":32,"init":{"fill":0}}},)"
                     R"("args":[{"buffer":"out"}],"outputs":["out"]})");
    return run_here(folder, {"run", "k.json", check});
}

TEST(UnusedShared, SaysWhichBytesOfWhichVariable) {
    const Ended e = run_rows("16", "--check=performance", 1024);
    EXPECT_EQ(e.status, 0) << e.out << e.err;
    EXPECT_TRUE(
        e.out.starts_with("CHECK  3 notes: tile: no thread accesses 32 of 64 bytes, at "
                          "[0x4, 0x8), [0xc, 0x10), [0x14, 0x18), [0x1c, 0x20) and 4 more\n"))
        << e.out;
    for (const char* text :
         {"spare: no thread accesses 32 of 48 bytes, at [0x0, 0x10), [0x20, 0x30)",
          "more: no thread accesses 1020 of 1024 bytes, at [0x4, 0x400)"})
        EXPECT_NE(e.out.find(text), std::string::npos) << text << e.out;
}

TEST(UnusedShared, IsOneOfTheChecksAndNoFault) {
    for (const char* names : {"--check", "--check=all", "--check=sync,performance"})
        EXPECT_NE(run_rows("0", names, 16).out.find("unused-shared"), std::string::npos) << names;
    EXPECT_EQ(run_rows("0", "--check=sync", 16).out.find("unused-shared"), std::string::npos);
    const Ended e = run_rows("0", "--check=early", 16);
    EXPECT_EQ(e.status, 2);
    EXPECT_NE(e.err.find("--check=early: there is no check \"early\"; there are all, "
                         "race-shared, race-global, uninitialised, sync"),
              std::string::npos)
        << e.err;
    // Whatever is used is not said: all of the first variable, and no dynamic memory.
    EXPECT_EQ(run_here(Folder(),
                       {"run", std::string(LOCKWARP_SOURCE_DIR) + "/tests/questions/in_flight.json",
                        "--check=performance"})
                  .out.find("unused-shared"),
              std::string::npos);
}

// Help is printed from the table.
TEST(Checks, AreInTheHelp) {
    std::string help = run_here(Folder(), {"run", "--help"}).out;
    for (size_t at = 0; (at = help.find_first_of(" \n", at)) != std::string::npos;) {
        const size_t end = std::min(help.find_first_not_of(" \n", at), help.size());
        help.replace(at, end - at, " ");
        ++at;
    }
    ASSERT_FALSE(check::checks().empty());
    for (const check::CheckRow& row : check::checks()) {
        EXPECT_NE(help.find(row.finds), std::string::npos) << row.finds << help;
        EXPECT_NE(help.find(row.name), std::string::npos) << row.name;
    }
}

Ended ask(const std::string& line) { return run_here(Folder(), words_of(line)); }

// Matrix descriptor (PTX manual, "Matrix Descriptor Format"): bits 0 to 13 the address over 16, 16
// to 29 and 32 to 45 the offsets over 16, 49 to 51 the base offset, 62 and 63 the swizzle.
TEST(MemoryCommand, EachFieldOfADescriptor) {
    struct Row {
        const char* fields;
        const char* bits;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"--start 64", "0x0000000000000004"},
             {"--start 262128", "0x0000000000003fff"},
             {"--start 0 --lbo 32", "0x0000000000020000"},
             {"--start 0 --sbo 256", "0x0000001000000000"},
             {"--start 0 --swizzle 128 --base-offset 3", "0x4006000000000000"},
             {"--start 0 --swizzle 128", "0x4000000000000000"},
             {"--start 0 --swizzle 64", "0x8000000000000000"},
             {"--start 0 --swizzle 32", "0xc000000000000000"},
             {"--start 0 --swizzle 0", "0x0000000000000000"}}) {
        const Ended e = ask(std::string("descriptor encode ") + row.fields);
        EXPECT_EQ(e.status, 0) << row.fields << e.err;
        EXPECT_NE(e.out.find(row.bits), std::string::npos) << row.fields << "\n" << e.out;
        EXPECT_EQ(ask(std::string("descriptor decode ") + row.bits).status, 0);
        const Ended data = ask(std::string("descriptor encode --json ") + row.fields);
        EXPECT_EQ(data.status, 0) << row.fields << data.err;
        EXPECT_TRUE(nlohmann::json::accept(data.out)) << data.out;
        EXPECT_NE(data.out.find(row.bits), std::string::npos) << row.fields << "\n" << data.out;
    }
    for (const char* fields :
         {"--start 8", "--start 262144", "--start 4294967296", "--start -16", "--start 0 --lbo -16",
          "--start 0 --sbo 4294967312", "--start 0 --swizzle 96", "--start 0 --base-offset 8"})
        EXPECT_EQ(ask(std::string("descriptor encode ") + fields).status, 2) << fields;
}

TEST(MemoryCommand, NumbersAsTheyAreWritten) {
    const std::string sixteen = ask("descriptor decode 16").out;
    EXPECT_NE(sixteen, "");
    for (const char* same : {"0x10", "0X10", "0x0010", "016"})
        EXPECT_EQ(ask(std::string("descriptor decode ") + same).out, sixteen) << same;
    EXPECT_NE(ask("descriptor decode 10").out, sixteen);
    for (const char* wrong : {"0x", "x10", "16x", "0x1g", "18446744073709551616"}) {
        const Ended e = ask(std::string("descriptor decode ") + wrong);
        EXPECT_EQ(e.status, 2) << wrong;
        EXPECT_EQ(e.err, std::string("error: '") + wrong + "' is not a 64-bit number\n");
    }
    EXPECT_EQ(ask("descriptor decode 18446744073709551615").status, 0);
    EXPECT_EQ(ask("swizzle 3,4,3 4294967295").status, 0);
    EXPECT_EQ(ask("swizzle 3,4,3 0 4294967296").err, "error: '4294967296' is not a 32-bit index\n");
}

TEST(MemoryCommand, WhatTransIsFor) {
    struct Row {
        const char* type;
        int status;
        const char* line;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"b16", 0, "yes: .trans transposes 8x8 matrices of 16-bit elements\n"},
             {"b8", 0,
              "no: .trans moves units of 16 bits, so that two neighbouring bytes stay together\n"},
             {"b32", 0,
              "no: .trans moves units of 16 bits, so that a 32-bit element comes apart in "
              "halves\n"},
             {"b64", 2, "error: --elements b64: it is b8, b16 or b32\n"}}) {
        const Ended e = ask(std::string("ldmatrix x4 --elements ") + row.type);
        EXPECT_EQ(e.status, row.status);
        EXPECT_TRUE((e.out + e.err).starts_with(row.line)) << e.out << e.err;
    }
    EXPECT_NE(ask("ldmatrix x2").out, ask("ldmatrix x2 --trans").out);
    EXPECT_NE(ask("ldmatrix x2").out, ask("stmatrix x2").out);
}

TEST(MemoryCommand, PatternsOfBanks) {
    // The default stride is what an access takes.
    EXPECT_EQ(ask("banks ld.shared.b32").out, ask("banks ld.shared.b32 --stride 4").out);
    EXPECT_NE(ask("banks ld.shared.b32").out, ask("banks ld.shared.b32 --stride 0").out);
    EXPECT_EQ(ask("banks ld.shared.b32 --stride 1048576").status, 0);
    EXPECT_EQ(ask("banks ld.shared.b32 --stride 1048577").err,
              "error: a stride of 1048577 bytes is none: 0 to 1048576\n");
    for (const char* unit : {"b9", "b", "byte", "b128"})
        EXPECT_EQ(ask(std::string("banks ld.shared.b32 --swizzle 3,4,3 --of ") + unit).err,
                  std::string("error: --of ") + unit + ": it is bytes, b8, b16, b32 or b64\n");
    EXPECT_EQ(ask("banks ld.shared.b32 --swizzle 3,4,3").out,
              ask("banks ld.shared.b32 --swizzle 3,4,3 --of bytes").out);
    EXPECT_EQ(ask("banks ld.shared.b32 --swizzle 9,9").err,
              "error: no swizzle '9,9'; one is B,M,S with B and M from 0 and |S| at least B, as "
              "3,4,3\n");
}

}  // namespace
}  // namespace lockwarp::tools
