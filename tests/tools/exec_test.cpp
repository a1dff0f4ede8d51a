// SPDX-License-Identifier: Apache-2.0
// lockwarp exec: a program's own status, words and environment, and what is refused.
#include <gtest/gtest.h>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

TEST(Exec, HasTheStatusOfTheProgram) {
    const Folder folder;
    EXPECT_EQ(run(folder, {"exec", "--", "sh", "-c", "exit 7"}).status, 7);
    EXPECT_EQ(run(folder, {"exec", "--", "true"}).status, 0);
}

TEST(Exec, LeavesTheProgramsWordsAsTheyAre) {
    const Folder folder;
    const Ended ended =
        run(folder, {"exec", "--arch", "sm_90", "--", "echo", "--arch", "run", "-h", "--", "list"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out, "--arch run -h -- list\n");
    for (const auto& words :
         {std::vector<std::string>{"exec", "--"}, {"exec", "--order", "1", "--"}}) {
        std::vector<std::string> all = words;
        for (const char* const word :
             {"printf", "[%s]", "", "a b", "[1,2]", "[]", "--", "\x01", ""})
            all.emplace_back(word);
        EXPECT_EQ(run(folder, all).out, "[][a b][[1,2]][[]][--][\x01][]");
    }
}

TEST(Exec, ShowsTheProgramTheDriverAndTheArchitecture) {
    const Folder folder;
    const Ended ended =
        run(folder,
            {"exec", "--arch", "sm_90", "--", "sh", "-c",
             "test -e ${LD_LIBRARY_PATH%%:*}/libcuda.so.1 && "
             "ls ${LD_LIBRARY_PATH%%:*} && echo ${LD_LIBRARY_PATH#*:} $LOCKWARP_ARCH"},
            {"LD_LIBRARY_PATH=/of/the/user"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(
        ended.out,
        "beside\nlibcuda.so\nlibcuda.so.1\nlibcudart.so.12\nlibcudart.so.13\n"
        "liblockwarp_ptxas.so\nliblockwarp_start.so\nlibnvidia-ml.so.1\n/of/the/user sm_90\n");
}

TEST(Exec, LoadsItsStartBeforeTheProgram) {
    const Folder folder;
    const Ended ended = run(
        folder, {"exec", "--", "sh", "-c", "echo ${LD_PRELOAD##*/}; test -e ${LD_PRELOAD%%:*}"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out, "liblockwarp_start.so\n");
}

// With --keep-ptx a ptxas leaves the PTX it was given for machine code, and is itself otherwise.
// The text ends with a zero: some give the driver the file's bytes as they are.
TEST(Exec, KeepsThePtxOfPtxas) {
    const Folder folder;
    const std::string ptxas = LOCKWARP_STAND_IN_PTXAS;
    const std::string given = ".version 7.0\n" + std::string(100000, '/') + "\nend";
    const std::string text = given + '\0';
    const std::string machine = "\177ELF of the machine";
    folder.write("kernel.ptx", given);
    const auto left = [&](std::vector<std::string> words,
                          const std::vector<std::string>& environment = {}, bool keep = true) {
        folder.write("out", "");
        std::vector<std::string> all{"exec"};
        if (keep) all.emplace_back("--keep-ptx");
        all.emplace_back("--");
        all.push_back(ptxas);
        all.insert(all.end(), words.begin(), words.end());
        const Ended ended = run(folder, all, environment);
        EXPECT_NE(ended.err.find("ptxas info\n"), std::string::npos) << ended.err;
        return std::pair(ended.status, folder.read("out"));
    };
    EXPECT_EQ(left({"-arch=sm_80", "kernel.ptx", "-o", "out"}), std::pair(0, text));
    EXPECT_EQ(left({"--gpu-name=sm_80", "--output-file=out", "kernel.ptx"}), std::pair(0, text));
    EXPECT_EQ(left({"-o", "out", "--opt-level", "4", "kernel.ptx"}, {"STATUS=3"}),
              std::pair(3, text));
    // To be linked, without a text, not asked for, or no machine code.
    EXPECT_EQ(left({"-c", "kernel.ptx", "-o", "out"}), std::pair(0, machine));
    EXPECT_EQ(left({"--compile-only", "kernel.ptx", "-o", "out"}), std::pair(0, machine));
    EXPECT_EQ(left({"nowhere.ptx", "-o", "out"}), std::pair(0, machine));
    EXPECT_EQ(left({"kernel.ptx", "-o", "out"}, {}, false), std::pair(0, machine));
    EXPECT_EQ(left({"kernel.ptx", "-o", "out"}, {"TEXT=no ELF"}),
              std::pair(0, std::string("no ELF")));
    // By a shell, as nvcc starts it; another program of another name is left alone.
    EXPECT_EQ(run(folder, {"exec", "--keep-ptx", "--", "sh", "-c",
                           "cp " + ptxas + " other; ./other kernel.ptx -o other.out; " + ptxas +
                               " kernel.ptx -o out && ls"})
                  .out,
              "kernel.ptx\nother\nother.out\nout\n");
    EXPECT_EQ(folder.read("out"), text);
    EXPECT_EQ(folder.read("other.out"), machine);
}

// Beside the program's own output: cycles, what the checks say, JUnit and launch files, which have
// the memory that parameters lead to: "behind" is given the end of an array alone, in the text of
// "fixed" its address stands as a number.
TEST(Exec, ChecksTimesAndRecordsEachLaunch) {
    for (const char* const kernel : {"twice", "behind", "fixed"}) {
        const Folder folder;
        const Ended ended =
            run(folder, {"exec", "--check", "--time", "--junit", "junit.xml", "--record",
                         "launches", "--", LOCKWARP_DRIVER_PROGRAM, kernel});
        EXPECT_EQ(ended.status, 0) << ended.err;
        EXPECT_EQ(ended.out, "x[3] = 42\n");
        EXPECT_NE(ended.err.find("exec: 1 launch of 1 kernel: 0 errors"), std::string::npos)
            << ended.err;
        EXPECT_NE(ended.err.find("cycles of SMs"), std::string::npos) << ended.err;
        const std::string junit = folder.read("junit.xml");
        EXPECT_NE(junit.find("tests=\"1\" failures=\"0\""), std::string::npos) << junit;
        std::vector<std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(folder.path / "launches"))
            if (entry.path().extension() == ".json") files.push_back(entry.path().string());
        ASSERT_EQ(files.size(), 1u);
        const Ended again = run(folder, {"run", files[0]});
        EXPECT_EQ(again.status, 0) << again.err;
        EXPECT_NE(again.out.find("as expected"), std::string::npos) << again.out;
    }
}

// Kernels use what others got by malloc, or have freed.
TEST(Exec, ChecksBlocksOfOtherLaunches) {
    const Folder folder;
    const Ended ended = run(
        folder, {"exec", "--check", "--record", "launches", "--", LOCKWARP_DRIVER_PROGRAM, "heap"});
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.out, "seen 42\n");
    EXPECT_NE(ended.err.find("look, launch 3: error: loads from 4 bytes past the 8 that another "
                             "launch asked for [memory/beyond-block]"),
              std::string::npos)
        << ended.err;
    EXPECT_NE(ended.err.find("look, launch 5: error: loads from a block that another launch has "
                             "freed [memory/use-after-free]"),
              std::string::npos)
        << ended.err;
    EXPECT_NE(ended.err.find("launch files have no blocks of malloc that earlier launches left"),
              std::string::npos)
        << ended.err;
    EXPECT_NE(ended.err.find("exec: 6 launches of 3 kernels: 2 errors; 1 block of malloc was never "
                             "freed"),
              std::string::npos)
        << ended.err;
}

constexpr int segmentation_fault = 1000 + 11;

// The path of the launch file in a line of `err`.
std::string file_in(const std::string& err) {
    const size_t end = err.find(".json is the launch");
    if (end == std::string::npos) return {};
    const size_t begin = err.rfind("lockwarp: ", end) + 10;
    return err.substr(begin, end + 5 - begin);
}

TEST(Exec, WritesALaunchFileWhereTheEmulatorFails) {
    const Folder folder;
    const Ended ended =
        run(folder, {"exec", "--", LOCKWARP_DRIVER_PROGRAM}, {"LOCKWARP_EXEC_CRASH=1"});
    EXPECT_EQ(ended.status, segmentation_fault) << ended.err;
    EXPECT_NE(ended.err.find("lockwarp: a fault of Lockwarp's own: signal 11 (Segmentation fault) "
                             "in libcuda.so.1+0x"),
              std::string::npos)
        << ended.err;
    EXPECT_NE(ended.err.find("address 0x0, in launch 1 of the process, kernel twice, CTA (0,0,0), "
                             "warp 0, step 1, at PTX:"),
              std::string::npos)
        << ended.err;
    const std::string file = file_in(ended.err);
    ASSERT_TRUE(file.starts_with("lockwarp-crash-")) << ended.err;
    const Ended again = run(folder, {"run", file});
    EXPECT_EQ(again.status, 0) << again.err;
}

// What --record wrote before the launch is what the launch began with.
TEST(Exec, WritesTheMemoryBeforeTheFaultWhereItIsRecorded) {
    const Folder folder;
    const Ended ended = run(folder, {"exec", "--record", "launches", "--", LOCKWARP_DRIVER_PROGRAM},
                            {"LOCKWARP_EXEC_CRASH=1"});
    EXPECT_EQ(ended.status, segmentation_fault) << ended.err;
    const std::string file = file_in(ended.err);
    ASSERT_NE(file.find("/launches/000001.twice.json"), std::string::npos) << ended.err;
    EXPECT_EQ(run(folder, {"run", file}).status, 0);
}

TEST(Exec, LeavesFaultsOfTheProgramAlone) {
    const Folder folder;
    const Ended in_callback = run(folder, {"exec", "--", LOCKWARP_DRIVER_PROGRAM, "faulty"});
    EXPECT_EQ(in_callback.status, segmentation_fault);
    EXPECT_EQ(in_callback.out, "x[3] = 42\n");
    EXPECT_EQ(in_callback.err, "");
    // A kernel runs, and the program's own code on top of it.
    const Ended in_handler = run(folder, {"exec", "--", LOCKWARP_DRIVER_PROGRAM, "interrupted"});
    EXPECT_EQ(in_handler.status, segmentation_fault);
    EXPECT_EQ(in_handler.err, "");
    EXPECT_TRUE(folder.names().empty());
}

TEST(Exec, HasNothingToCheckWhereNothingIsLaunched) {
    const Folder folder;
    const Ended none = run(folder, {"exec", "--check", "--", "true"});
    EXPECT_EQ(none.status, 1);
    EXPECT_EQ(none.err, "exec: no kernel was launched: nothing was checked\n");
    EXPECT_EQ(run(folder, {"exec", "--check", "--", "sh", "-c", "exit 7"}).status, 7);
    // What a terminal sends to both is the program's to answer.
    for (const std::string signal : {"INT", "QUIT"})
        EXPECT_EQ(run(folder, {"exec", "--check", "--", "sh", "-c",
                               "sleep 0.2; kill -" + signal + " $PPID; exit 7"})
                      .status,
                  7)
            << signal;
    EXPECT_EQ(run(folder, {"exec", "--check=nothing", "--", "true"}).status, 2);
}

// Of its own files the program sees none.
TEST(Exec, LeavesNoFileOpenForTheProgram) {
    const Folder folder;
    const std::vector<std::string> list{"--", "ls", "/proc/self/fd"};
    const auto with = [&](std::vector<std::string> words) {
        words.insert(words.end(), list.begin(), list.end());
        return run(folder, words).out;
    };
    const std::string plain = with({"exec"});
    EXPECT_TRUE(plain.starts_with("0\n1\n")) << plain;
    EXPECT_EQ(with({"exec", "--time"}), plain);
    EXPECT_EQ(with({"exec", "--check"}), plain);
}

// What the driver beside it is told of each option.
TEST(Exec, EachOptionReachesTheProgramsDriver) {
    const Folder folder;
    const auto told = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "exec");
        words.insert(words.end(), {"--", "sh", "-c",
                                   "echo $LOCKWARP_ARCH $LOCKWARP_DEVICES order:"
                                   "$LOCKWARP_EXEC_ORDER async:$LOCKWARP_EXEC_ASYNC "
                                   "time:$LOCKWARP_EXEC_TIME check:$LOCKWARP_EXEC_CHECK "
                                   "record:$LOCKWARP_EXEC_RECORD"});
        return run(folder, words).out;
    };
    EXPECT_EQ(told({}), "sm_80 1 order: async: time: check: record:\n");
    EXPECT_EQ(told({"--arch", "sm_90", "--devices", "3", "--order", "0"}),
              "sm_90 3 order:0 async: time: check: record:\n");
    EXPECT_EQ(told({"--order", "12", "--async", "late"}),
              "sm_80 1 order:12 async:late time: check: record:\n");
    EXPECT_EQ(told({"--async", "early", "--time"}),
              "sm_80 1 order: async: time:1 check: record:\n");
    EXPECT_EQ(told({"--async", "early", "--check=memory"}),
              "sm_80 1 order: async: time: check:memory record:\n");
    EXPECT_EQ(told({"--record", "r"}),
              "sm_80 1 order: async: time: check: record:" + (folder.path / "r").string() + "\n");
    EXPECT_TRUE(std::filesystem::is_directory(folder.path / "r"));
    folder.write("file", "");
    EXPECT_EQ(run(folder, {"exec", "--record", "file", "--", "true"}).status, 2);
}

TEST(Exec, RefusesWhatCannotRun) {
    const Folder folder;
    const Ended none = run(folder, {"exec", "--", "./nothing"});
    EXPECT_EQ(none.status, 2);
    EXPECT_EQ(none.err, "error: ./nothing: No such file or directory\n");
    const Ended arch = run(folder, {"exec", "--arch", "sm_1", "--", "true"});
    EXPECT_EQ(arch.status, 2);
    EXPECT_NE(arch.err.find("no architecture 'sm_1'"), std::string::npos) << arch.err;
    EXPECT_EQ(run(folder, {"exec"}).status, 2);
    for (const std::string look : {"--check", "--time"}) {
        const Ended late = run(folder, {"exec", "--async", "late", look, "--", "true"});
        EXPECT_EQ(late.status, 2);
        EXPECT_NE(late.err.find("of the early schedule"), std::string::npos) << late.err;
    }
    EXPECT_EQ(run(folder, {"exec", "--async", "never", "--", "true"}).status, 2);
}

}  // namespace
}  // namespace lockwarp::tools
