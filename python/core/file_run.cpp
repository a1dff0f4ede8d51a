// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "launch/described.hpp"
#include "launch/variables.hpp"
#include "python/core/engines.hpp"
#include "python/core/failure.hpp"
#include "python/core/listeners.hpp"
#include "python/core/names.hpp"
#include "tools/report/expectation.hpp"

namespace lockwarp::python {

namespace {

using Named = std::vector<std::pair<std::string, std::vector<uint8_t>>>;

tools::Buffers views(const Named& bytes) {
    tools::Buffers out;
    for (const auto& [name, b] : bytes) out[name] = b;
    return out;
}

// A buffer's or a variable's bytes as they are now.
std::vector<uint8_t> bytes_named(const launch::State& state,
                                 const std::vector<launch::Loaded>& steps,
                                 const std::string& name) {
    const launch::LaunchFile& file = steps.front().in.launch;
    if (const launch::BufferField* const b = file.find_buffer(name))
        return state.memory.bytes[static_cast<size_t>(b - file.buffers.data())];
    std::vector<uint8_t> out;
    for (const launch::Loaded& step : steps)
        if (std::vector<uint8_t> now = launch::variable_bytes(state, step.in, step.program, name);
            !now.empty())
            out = std::move(now);
    return out;
}

Named buffers_of(const launch::LaunchFile& file, const launch::State& state) {
    Named out;
    for (size_t i = 0; i < file.buffers.size(); ++i)
        out.emplace_back(file.buffers[i].name, state.memory.bytes[i]);
    return out;
}

Outcome run_step(const launch::Loaded& step, launch::State& state, check::Described& described,
                 const std::string& checks, unsigned threads, uint64_t max_steps,
                 const exec::Schedule& schedule, const std::atomic<bool>& stop) {
    warp::Launch launch =
        taken(launch::make_launch(step.in.launch, step.in.kernel(), step.program, state.memory));
    std::vector<uint8_t> variables = launch::variables_before(state, step.in, step.program);
    launch.variables = &variables;
    launch.stop = &stop;
    launch.threads = threads;
    launch.max_steps = max_steps;
    const std::vector<const check::CheckRow*> rows = checks_named(checks);
    const Listeners listeners(rows, step.program, launch, &step.in.module, described);
    Outcome out;
    out.result = exec::launch(step.program, launch, schedule);
    if (out.result.refusal) {
        const std::string& what = out.result.refusal->what;
        const std::string& path = step.in.launch.path;
        throw Failure(what.starts_with(path + ":") ? what : path + ": " + what);
    }
    launch::keep_variables(state, step.in, step.program, variables);
    listeners.conclude(step.in, step.program, out);
    described = listeners.described();
    return out;
}

}  // namespace

FileOutcome run_file(const std::string& path, const std::string& arch, const std::string& checks,
                     unsigned threads, uint64_t max_steps, const exec::Schedule& schedule,
                     const std::atomic<bool>& stop) {
    check_early(schedule, !checks.empty());
    const std::vector<launch::Loaded> steps = taken(launch::load_all({path}, arch));
    const launch::LaunchFile& file = steps.front().in.launch;
    for (const launch::Loaded& step : steps)
        (void)taken(launch::lay_out(step.in.launch, step.in.kernel(), step.program));
    launch::State state = taken(launch::make_state(file));
    check::Described described = launch::described(file, state.memory);
    const auto all_named = [&] {
        Named out = buffers_of(file, state);
        for (const launch::Expectation& e : file.expectations)
            if (file.find_buffer(e.name) == nullptr && !e.name.empty())
                out.emplace_back(e.name, bytes_named(state, steps, e.name));
        return out;
    };
    const Named before = all_named();
    for (const launch::Expectation& e : file.expectations)
        taken(tools::check_fit(file, e, views(before)));
    FileOutcome out;
    for (const launch::Loaded& step : steps) {
        out.launches.push_back(
            {step.program, ptx::source_map(step.in.module),
             run_step(step, state, described, checks, threads, max_steps, schedule, stop)});
        if (out.launches.back().outcome.result.trap) break;
    }
    out.buffers = buffers_of(file, state);
    for (const launch::Output& o : file.outputs)
        out.outputs.emplace_back(o.name, bytes_named(state, steps, o.name));
    if (out.launches.back().outcome.result.trap) return out;
    const Named after = all_named();
    for (const launch::Expectation& e : file.expectations) {
        const tools::Checked checked =
            taken(tools::check_expectation(file, e, views(before), views(after)));
        out.expectations.emplace_back(checked.different == 0, tools::checked_text(checked));
    }
    return out;
}

}  // namespace lockwarp::python
