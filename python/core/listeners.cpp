// SPDX-License-Identifier: Apache-2.0
#include "python/core/listeners.hpp"

#include "tools/report/report.hpp"

namespace lockwarp::python {

Listeners::Listeners(std::vector<const check::CheckRow*> rows, const isa::Program& program,
                     warp::Launch& launch)
    : rows_(std::move(rows)) {
    for (const check::CheckRow* row : rows_) {
        checks_.push_back(row->make(program, launch));
        launch.observers.push_back(checks_.back().get());
    }
}

void Listeners::conclude(const launch::Input& in, const isa::Program& program, Outcome& out) const {
    if (out.result.trap) {
        out.trap_report = tools::trap_report(in, program, *out.result.trap);
        out.trap_places = ptx::places_of(ptx::source_map(in.module), out.result.trap->place);
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
        Found& found = out.found.emplace_back(Found{rows_[i], checks_[i]->findings(), {}});
        found.report = tools::findings_report(in, program, rows_[i]->word, found.findings);
    }
}

}  // namespace lockwarp::python
