// SPDX-License-Identifier: Apache-2.0
// What lockwarp time prints: text, timeline, JSON, a trace for Perfetto, pictures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/ptx/source_map.hpp"
#include "emu/timing/timing.hpp"
#include "launch/input.hpp"

namespace lockwarp::tools {

// A launch, and what the model says of it.
struct Timed {
    launch::Input in;
    std::unique_ptr<isa::Program> program;  // lowering points to it
    timing::Lowering lowering;
    timing::Report report;
    ptx::SourceMap sources;
    uint64_t block_threads = 0;
};

double microseconds(const timing::Report& report);

// The answer in one line, then residency, pipes, stalls, and the `lines` instructions that cost
// most.
std::string time_text(const Timed& t, unsigned lines);
std::string time_json(const Timed& t);

// Architectures side by side: a column each.
std::string compare_text(const std::vector<Timed>& all);

// Which instructions of the events a timeline shows.
struct Window {
    bool sub_core = false;  // else a warp
    unsigned number = 0;
    uint64_t from = 0, cycles = 64;
};
// A row an instruction, a column one or more cycles.
std::string timeline_text(const Timed& t, const Window& w);

// Chrome's trace event format, which Perfetto reads: a microsecond stands for a cycle.
std::string trace_json(const Timed& t);

// The use of the pipes over time.
std::string use_svg(const Timed& t);

// Predicted and measured, both axes logarithmic.
struct Point {
    std::string name;
    double predicted = 0, measured = 0;
};
std::string scatter_svg(const std::vector<Point>& points, const std::string& title);

}  // namespace lockwarp::tools
