// SPDX-License-Identifier: Apache-2.0
// Which part of the work: --shard and what launchers say.
#include "tools/shard.hpp"
#include "tests/results.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <map>

namespace lockwarp::tools {
namespace {

using Variables = std::map<std::string, std::string>;

// "2/4 (SOURCE)", or the problem.
std::string chosen(const Variables& variables, const std::string& text = "") {
    Shard s;
    const Environment environment = [&](const char* name) {
        const auto at = variables.find(name);
        return at == variables.end() ? nullptr : at->second.c_str();
    };
    const std::string why = take(choose_shard(text, environment), s);
    EXPECT_LT(s.index, s.count);
    return why.empty() ? shard_text(s) : why;
}

TEST(Shard, AsGiven) {
    Shard s;
    EXPECT_EQ(take(parse_shard("1/4"), s), "");
    EXPECT_EQ(s.index, 0u);
    EXPECT_EQ(s.count, 4u);
    EXPECT_EQ(take(parse_shard("4/4"), s), "");
    EXPECT_EQ(s.index, 3u);
    EXPECT_EQ(take(parse_shard("1/1"), s), "");
    EXPECT_EQ(take(parse_shard("1000000000/1000000000"), s), "");
    for (const char* wrong : {"0/4",
                              "5/4",
                              "",
                              "/",
                              "1",
                              "1/",
                              "/4",
                              "a/4",
                              "1/b",
                              "1/4/2",
                              " 1/4",
                              "1/4 ",
                              "-1/4",
                              "+1/4",
                              "1/-4",
                              "0/0",
                              "1/0",
                              "1.0/4",
                              "0x1/4",
                              "1/1000000001",
                              "18446744073709551617/18446744073709551618",
                              "99999999999999999999999/4"}) {
        s = {7, 9, "x"};
        EXPECT_EQ(take(parse_shard(wrong), s),
                  "--shard '" + std::string(wrong).substr(0, 40) +
                      "': I/N is expected, the I-th of N: of four 1/4, 2/4, 3/4 and 4/4");
        EXPECT_EQ(s.index, 7u);
    }
    EXPECT_EQ(chosen({{"SLURM_PROCID", "junk"}}, "2/4"), "shard 2/4 (--shard)");
}

TEST(Shard, FromTheEnvironment) {
    EXPECT_EQ(chosen({}), "");
    EXPECT_EQ(chosen({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}}), "shard 2/4 (SLURM_PROCID)");
    EXPECT_EQ(chosen({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "3"}}),
              "shard 1/3 (OMPI_COMM_WORLD_RANK)");
    EXPECT_EQ(chosen({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}), "shard 3/3 (PMI_RANK)");
    EXPECT_EQ(chosen({{"JOB_COMPLETION_INDEX", "4"}, {"LOCKWARP_SHARDS", "5"}}),
              "shard 5/5 (JOB_COMPLETION_INDEX)");
    EXPECT_EQ(chosen({{"LOCKWARP_SHARD", "5"}, {"LOCKWARP_SHARDS", "5"}}),
              "shard 5/5 (LOCKWARP_SHARD)");
    EXPECT_EQ(chosen({{"LOCKWARP_SHARD", ""}, {"PMI_RANK", ""}}), "") << "empty is not set";
}

Variables array(const std::string& id, const std::string& least, const std::string& most,
                const std::string& step, const std::string& count) {
    return {{"SLURM_ARRAY_TASK_ID", id},       {"SLURM_ARRAY_TASK_MIN", least},
            {"SLURM_ARRAY_TASK_MAX", most},    {"SLURM_ARRAY_TASK_STEP", step},
            {"SLURM_ARRAY_TASK_COUNT", count}, {"SLURM_JOB_ID", "77"}};
}

Variables joined(Variables a, const Variables& b) {
    a.insert(b.begin(), b.end());
    return a;
}

TEST(Shard, SlurmArrays) {
    EXPECT_EQ(chosen(array("0", "0", "3", "1", "4")), "shard 1/4 (SLURM_ARRAY_TASK_ID)");
    EXPECT_EQ(chosen(array("4", "1", "4", "1", "4")), "shard 4/4 (SLURM_ARRAY_TASK_ID)");
    EXPECT_EQ(chosen(array("7", "1", "7", "2", "4")), "shard 4/4 (SLURM_ARRAY_TASK_ID)");
    EXPECT_EQ(chosen(array("9", "9", "9", "1", "1")), "shard 1/1 (SLURM_ARRAY_TASK_ID)");
    EXPECT_EQ(chosen(array("1", "2", "0", "1", "2")),
              "SLURM_ARRAY_TASK_ID: 2 to 0 in steps of 1 are not 2 numbers "
              "(SLURM_ARRAY_TASK_COUNT); --shard I/N says which shard this is");
    // --array=1,3,7: the numbers do not say which of three this is.
    EXPECT_EQ(chosen(array("3", "1", "7", "1", "3")),
              "SLURM_ARRAY_TASK_ID: 1 to 7 in steps of 1 are not 3 numbers "
              "(SLURM_ARRAY_TASK_COUNT); --shard I/N says which shard this is");
    EXPECT_TRUE(chosen(array("2", "1", "7", "2", "4"))
                    .starts_with("SLURM_ARRAY_TASK_ID=2 is not one of the 4 from 1 to 7"));
    EXPECT_TRUE(chosen(array("0", "1", "4", "1", "4")).starts_with("SLURM_ARRAY_TASK_ID=0 is not"));
    EXPECT_TRUE(chosen(array("5", "1", "4", "1", "4")).starts_with("SLURM_ARRAY_TASK_ID=5 is not"));
    EXPECT_TRUE(chosen(array("1", "1", "4", "0", "4")).starts_with("SLURM_ARRAY_TASK_STEP='0'"));
    Variables v = array("1", "1", "4", "1", "4");
    v.erase("SLURM_ARRAY_TASK_MIN");
    EXPECT_TRUE(chosen(v).starts_with(
        "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_MIN is not; --shard"));
}

TEST(Shard, SlurmArraysOfTasks) {
    const Variables third = array("3", "1", "4", "1", "4");
    // The script of an array's job has these for its one task.
    EXPECT_EQ(chosen(joined(third, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}})),
              "shard 3/4 (SLURM_ARRAY_TASK_ID)");
    EXPECT_EQ(
        chosen(joined(
            third, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}})),
        "shard 3/4 (SLURM_ARRAY_TASK_ID)");
    EXPECT_EQ(chosen(joined(third, {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}})),
              "shard 6/8 (SLURM_ARRAY_TASK_ID, SLURM_PROCID)");
    EXPECT_EQ(chosen(joined(array("5", "5", "5", "1", "1"),
                            {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}})),
              "shard 2/2 (SLURM_PROCID)");
    EXPECT_EQ(chosen(joined(array("5", "5", "5", "1", "1"),
                            {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})),
              "shard 1/1 (SLURM_ARRAY_TASK_ID)");
    EXPECT_EQ(chosen(joined(third, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}})),
              "shard 5/8 (SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK)");
    // Each of the parts exactly once.
    std::map<uint64_t, int> seen;
    for (int id = 1; id <= 4; ++id)
        for (int task = 0; task < 3; ++task) {
            Shard s;
            const Variables v =
                joined(array(std::to_string(id), "1", "4", "1", "4"),
                       {{"SLURM_PROCID", std::to_string(task)}, {"SLURM_STEP_NUM_TASKS", "3"}});
            const Environment environment = [&](const char* name) {
                const auto at = v.find(name);
                return at == v.end() ? nullptr : at->second.c_str();
            };
            ASSERT_EQ(take(choose_shard("", environment), s), "");
            EXPECT_EQ(s.count, 12u);
            ++seen[s.index];
        }
    EXPECT_EQ(seen.size(), 12u);
}

TEST(Shard, AJobsOwnScriptIsNoTask) {
    // sbatch --ntasks=4 runs its script once, as process 0 of 4: it must not do a quarter only.
    const Variables script{{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
    EXPECT_EQ(chosen(script), "");
    EXPECT_EQ(chosen(joined(script, {{"SLURM_STEP_NUM_TASKS", "4"}})), "shard 1/4 (SLURM_PROCID)");
    EXPECT_EQ(chosen(joined(script, {{"SLURM_STEP_NUM_TASKS", "2"}})), "shard 1/2 (SLURM_PROCID)");
    // mpirun within it, whose processes on other nodes are started by srun.
    EXPECT_EQ(chosen({{"SLURM_JOB_ID", "77"},
                      {"SLURM_PROCID", "1"},
                      {"SLURM_STEP_NUM_TASKS", "2"},
                      {"OMPI_COMM_WORLD_RANK", "5"},
                      {"OMPI_COMM_WORLD_SIZE", "8"}}),
              "shard 6/8 (OMPI_COMM_WORLD_RANK)");
    EXPECT_EQ(
        chosen(
            {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}),
        "shard 2/2 (SLURM_PROCID)");
}

TEST(Shard, HalfToldIsAnError) {
    const struct {
        Variables variables;
        std::string begin;
    } cases[] = {
        {{{"SLURM_PROCID", "1"}}, "SLURM_PROCID is set, but SLURM_NTASKS is not"},
        {{{"OMPI_COMM_WORLD_RANK", "1"}},
         "OMPI_COMM_WORLD_RANK is set, but OMPI_COMM_WORLD_SIZE is not"},
        {{{"PMI_RANK", "0"}, {"PMI_SIZE", ""}}, "PMI_RANK is set, but PMI_SIZE is not"},
        {{{"JOB_COMPLETION_INDEX", "0"}},
         "JOB_COMPLETION_INDEX is set, but LOCKWARP_SHARDS is not"},
        {{{"LOCKWARP_SHARD", "1"}}, "LOCKWARP_SHARD is set, but LOCKWARP_SHARDS is not"},
        {{{"LOCKWARP_SHARDS", "3"}}, "LOCKWARP_SHARDS is set, but neither"},
        {{{"LOCKWARP_SHARDS", "3"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}},
         "LOCKWARP_SHARDS is set, but neither"},
        {{{"LOCKWARP_SHARDS", "3"},
          {"SLURM_ARRAY_TASK_ID", "1"},
          {"SLURM_ARRAY_TASK_MIN", "0"},
          {"SLURM_ARRAY_TASK_MAX", "1"},
          {"SLURM_ARRAY_TASK_STEP", "1"},
          {"SLURM_ARRAY_TASK_COUNT", "2"}},
         "LOCKWARP_SHARDS is set, but neither"},
        {{{"SLURM_ARRAY_TASK_ID", "1"}},
         "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_COUNT is not"},
        {{{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}}, "PMI_RANK='one': a whole number from 0"},
        {{{"PMI_RANK", "-1"}, {"PMI_SIZE", "2"}}, "PMI_RANK='-1': a whole number from 0"},
        {{{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}, "PMI_SIZE='0': a whole number from 1"},
        {{{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}, "PMI_RANK=2 is not one of the 2 from 0 to 1"},
        {{{"PMI_RANK", "0"}, {"PMI_SIZE", "99999999999"}}, "PMI_SIZE='99999999999'"},
        {{{"LOCKWARP_SHARD", "0"}, {"LOCKWARP_SHARDS", "2"}}, "LOCKWARP_SHARD=0 is not one of"},
        {{{"LOCKWARP_SHARD", "3"}, {"LOCKWARP_SHARDS", "2"}}, "LOCKWARP_SHARD=3 is not one of"},
    };
    for (const auto& c : cases) {
        const std::string said = chosen(c.variables);
        EXPECT_TRUE(said.starts_with(c.begin)) << c.begin << "\nis\n" << said;
        EXPECT_TRUE(said.ends_with("; --shard I/N says which shard this is")) << said;
    }
}

TEST(Shard, PartsAreEverythingOnce) {
    for (const uint64_t total : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{100}, UINT64_MAX})
        for (const uint64_t count : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{8}}) {
            uint64_t next = 0;
            for (uint64_t i = 0; i < count; ++i) {
                const Part p = part_of({i, count, ""}, total);
                EXPECT_EQ(p.first, next);
                EXPECT_LE(p.count - total / count, 1u);
                next += p.count;
            }
            EXPECT_EQ(next, total);
        }
}

TEST(Shard, HelpNamesTheVariables) {
    CLI::App app;
    std::string text;
    add_shard_option(app, text);
    const std::string help = app.help();
    for (const char* name :
         {"--shard", "I/N", "LOCKWARP_SHARD of LOCKWARP_SHARDS (from 1)",
          "SLURM_ARRAY_TASK_ID of SLURM_ARRAY_TASK_COUNT", "SLURM_PROCID of SLURM_NTASKS",
          "JOB_COMPLETION_INDEX of LOCKWARP_SHARDS", "OMPI_COMM_WORLD_RANK of OMPI_COMM_WORLD_SIZE",
          "PMI_RANK of PMI_SIZE"})
        EXPECT_NE(help.find(name), std::string::npos) << name << "\n" << help;
}

}  // namespace
}  // namespace lockwarp::tools
