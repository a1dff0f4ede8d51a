// SPDX-License-Identifier: Apache-2.0
#include "tools/report/first_error.hpp"

#include "emu/lockwarp.hpp"
#include "launch/described.hpp"

namespace lockwarp::tools {

std::optional<CheckedFinding> first_error(const std::vector<launch::Loaded>& steps,
                                          launch::State state, const std::atomic<bool>* stop) {
    static const check::Chosen chosen =
        check::choose("race-shared,race-global,uninitialised,sync,memory");
    check::Described described = launch::described(steps.front().in.launch, state.memory);
    std::optional<CheckedFinding> gravest;
    const auto hear = [&](const launch::Loaded& step, const ptx::SourceMap& sources,
                          const check::Found& f) {
        if (f.finding.severity != check::Severity::error) return;
        CheckedFinding found = checked_finding(step.in, step.program, sources, f);
        if (!gravest || gravity_of(found) < gravity_of(*gravest)) gravest = std::move(found);
    };
    for (const launch::Loaded& step : steps) {
        launch::Result<warp::Launch> launch =
            launch::make_launch(step.in.launch, step.in.kernel(), step.program, state.memory);
        if (!launch) return gravest;
        std::vector<uint8_t> variables = launch::variables_before(state, step.in, step.program);
        launch->variables = &variables;
        launch->stop = stop;
        const check::Checking checking(chosen.rows, step.program, *launch, &step.in.module,
                                       described);
        const warp::Result result = exec::launch(step.program, *launch);
        const ptx::SourceMap sources = ptx::source_map(step.in.module);
        for (const check::Found& f : checking.found(result)) hear(step, sources, f);
        if (result.refusal || result.trap) {
            if (result.trap)
                if (const std::optional<check::Found> trap = checking.found(*result.trap))
                    hear(step, sources, *trap);
            return gravest;
        }
        launch::keep_variables(state, step.in, step.program, variables);
        described = checking.described();
    }
    return gravest;
}

}  // namespace lockwarp::tools
