// SPDX-License-Identifier: Apache-2.0
// A part of the work of one command, for a run spread over several machines or processes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "launch/result.hpp"

namespace CLI {
class App;
}

namespace lockwarp::tools {

struct Shard {
    uint64_t index = 0, count = 1;  // index < count
    std::string source;             // "--shard", "SLURM_PROCID"; empty: nothing says
};

// "2/4": the second of four.
[[nodiscard]] launch::Result<Shard> parse_shard(const std::string& text);

// The value of an environment variable, or null.
using Environment = std::function<const char*(const char*)>;

// From --shard's text, else (empty) from what the environment says; nothing: all of it, 1/1.
// A shard that is only half told is an error that names the variable. An array of jobs of several
// tasks each is split by both.
[[nodiscard]] launch::Result<Shard> choose_shard(const std::string& text);
[[nodiscard]] launch::Result<Shard> choose_shard(const std::string& text,
                                                 const Environment& environment);

// "shard 2/4 (SLURM_PROCID)"; empty where the work is not split and nothing says so.
std::string shard_text(const Shard& s);

// Of `total` things those of the shard: neighbours, so that seeds stay ranges. Every thing is in
// exactly one shard; their sizes differ by at most 1.
struct Part {
    uint64_t first = 0, count = 0;
};
Part part_of(const Shard& s, uint64_t total);

// --shard, its help with the variables that are read.
void add_shard_option(CLI::App& command, std::string& text);

}  // namespace lockwarp::tools
