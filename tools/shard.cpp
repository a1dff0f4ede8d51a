// SPDX-License-Identifier: Apache-2.0
#include "tools/shard.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace lockwarp::tools {

namespace {

constexpr uint64_t max_shards = 1'000'000'000;  // of a level; two multiply within 64 bits

enum class Level : uint8_t {
    asked,  // set for us by hand: nothing else is asked
    job,    // one job of an array
    task,   // one process of a job; an array of jobs of several tasks is split by both
};

// Who starts shards, and the variables by which it says which one this is. Of a level the first
// row that has more than one shard counts: a launcher within another's job comes before it.
struct SourceRow {
    Level level;
    const char* index;
    const char* count;
    uint64_t base;  // of the first index, where `first` is null
    const char* first = nullptr;
    const char* last = nullptr;
    const char* step = nullptr;
    // A job's own script has the task's variables too, though it runs once. Where `in_job` is set,
    // the row counts only where `count_in_job` is, and that is the count.
    const char* in_job = nullptr;
    const char* count_in_job = nullptr;
};

constexpr auto source_rows = std::to_array<SourceRow>({
    {Level::asked, "LOCKWARP_SHARD", "LOCKWARP_SHARDS", 1},
    {Level::job, "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 0, "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"},
    // A Kubernetes indexed job does not tell its pods how many they are.
    {Level::job, "JOB_COMPLETION_INDEX", "LOCKWARP_SHARDS", 0},
    {Level::task, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0},
    {Level::task, "PMI_RANK", "PMI_SIZE", 0},
    {Level::task, "SLURM_PROCID", "SLURM_NTASKS", 0, nullptr, nullptr, nullptr, "SLURM_JOB_ID",
     "SLURM_STEP_NUM_TASKS"},
});

std::optional<uint64_t> number(std::string_view text) {
    uint64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return n;
}

// Reads variables and remembers the first thing that is wrong. An empty variable is not set.
struct Reader {
    const Environment& environment;
    std::optional<std::string> wrong;

    std::optional<std::string> text(const char* name) const {
        const char* value = name == nullptr ? nullptr : environment(name);
        if (value == nullptr || *value == '\0') return std::nullopt;
        return value;
    }

    void fail(const std::string& what) {
        if (!wrong) wrong = what + "; --shard I/N says which shard this is";
    }

    uint64_t value(const char* name, uint64_t least, const char* beside) {
        const std::optional<std::string> t = text(name);
        if (!t) {
            fail(fmt::format("{} is set, but {} is not", beside, name));
            return least;
        }
        const std::optional<uint64_t> n = number(*t);
        if (n && *n >= least && *n <= max_shards) return *n;
        fail(fmt::format("{}='{}': a whole number from {} to {} is expected", name,
                         t->substr(0, 40), least, max_shards));
        return least;
    }
};

// What a row says; nothing where its index is not set.
std::optional<Shard> shard_of(Reader& r, const SourceRow& row) {
    if (!r.text(row.index)) return std::nullopt;
    const bool in_job = r.text(row.in_job).has_value() || r.text(row.count_in_job).has_value();
    if (in_job && !r.text(row.count_in_job)) return std::nullopt;
    const char* count_name = in_job ? row.count_in_job : row.count;
    const uint64_t given = r.value(row.index, 0, row.index);
    const uint64_t count = r.value(count_name, 1, row.index);
    const uint64_t first = row.first != nullptr ? r.value(row.first, 0, row.index) : row.base;
    const uint64_t step = r.text(row.step) ? r.value(row.step, 1, row.index) : 1;
    const uint64_t last =
        r.text(row.last) ? r.value(row.last, 0, row.index) : first + (count - 1) * step;
    if (r.wrong) return std::nullopt;
    // From a number down to a lower one there are far more, modulo 2^64, than max_shards.
    if ((last - first) / step + 1 != count)
        r.fail(fmt::format("{}: {} to {} in steps of {} are not {} numbers ({})", row.index, first,
                           last, step, count, count_name));
    else if (given < first || given > last || (given - first) % step != 0)
        r.fail(fmt::format("{}={} is not one of the {} from {} to {} ({})", row.index, given, count,
                           first, last, count_name));
    if (r.wrong) return std::nullopt;
    return Shard{(given - first) / step, count, row.index};
}

// The first row of the level with more than one shard, else the first that says anything.
std::optional<Shard> shard_of(Reader& r, Level level) {
    std::optional<Shard> out;
    for (const SourceRow& row : source_rows) {
        if (row.level != level || r.wrong) continue;
        const std::optional<Shard> s = shard_of(r, row);
        if (s && (!out || out->count == 1) && (!out || s->count > 1)) out = s;
        if (out && out->count > 1) break;
    }
    return out;
}

}  // namespace

launch::Result<Shard> parse_shard(const std::string& text) {
    const size_t slash = text.find('/');
    const std::optional<uint64_t> index = number(std::string_view(text).substr(0, slash));
    const std::optional<uint64_t> count = slash == std::string::npos
                                              ? std::nullopt
                                              : number(std::string_view(text).substr(slash + 1));
    if (!index || !count || *index == 0 || *index > *count || *count > max_shards)
        return launch::failure("--shard '" + text.substr(0, 40) +
                               "': I/N is expected, the I-th of N: of four 1/4, 2/4, 3/4 and 4/4");
    return Shard{*index - 1, *count, "--shard"};
}

launch::Result<Shard> choose_shard(const std::string& text, const Environment& environment) {
    if (!text.empty()) return parse_shard(text);
    Reader r{environment, {}};
    const std::optional<Shard> asked = shard_of(r, Level::asked);
    std::optional<Shard> job, task;
    if (!asked) {
        job = shard_of(r, Level::job);
        task = shard_of(r, Level::task);
    }
    // A count of ours that no index goes with: the shards would all do everything.
    if (!asked && r.text("LOCKWARP_SHARDS") && (!job || job->source != "JOB_COMPLETION_INDEX"))
        r.fail("LOCKWARP_SHARDS is set, but neither LOCKWARP_SHARD nor JOB_COMPLETION_INDEX is");
    if (r.wrong) return launch::failure(*r.wrong);
    if (asked) return *asked;
    if (job && task && job->count > 1 && task->count > 1)
        return Shard{job->index * task->count + task->index, job->count * task->count,
                     job->source + ", " + task->source};
    if (job && (job->count > 1 || !task || task->count == 1)) return *job;
    return task.value_or(Shard{});
}

launch::Result<Shard> choose_shard(const std::string& text) {
    return choose_shard(text, [](const char* name) { return std::getenv(name); });
}

std::string shard_text(const Shard& s) {
    if (s.source.empty()) return {};
    return fmt::format("shard {}/{} ({})", s.index + 1, s.count, s.source);
}

Part part_of(const Shard& s, uint64_t total) {
    const uint64_t each = total / s.count, more = total % s.count;
    return {s.index * each + std::min(s.index, more), each + (s.index < more ? 1 : 0)};
}

void add_shard_option(CLI::App& command, std::string& text) {
    std::string help =
        "do the I-th of N parts of the work, 1/N to N/N (default: what the environment says, else "
        "all of it:";
    for (const SourceRow& row : source_rows)
        help += fmt::format("{} {} of {}{}", &row == &source_rows[0] ? "" : ",", row.index,
                            row.count, row.base == 1 ? " (from 1)" : "");
    command.add_option("--shard", text, help + ")")->type_name("I/N");
}

}  // namespace lockwarp::tools
