// SPDX-License-Identifier: Apache-2.0
#include "python/core/listeners.hpp"

#include <algorithm>
#include <iterator>

#include "tools/report/findings.hpp"
#include "tools/report/report.hpp"

namespace lockwarp::python {

Listeners::Listeners(std::vector<const check::CheckRow*> rows, const isa::Program& program,
                     warp::Launch& launch, const ptx::Module* module,
                     const check::Described& described)
    : rows_(std::move(rows)), checking_(rows_, program, launch, module, described) {}

void Listeners::conclude(const launch::Input& in, const isa::Program& program, Outcome& out) const {
    if (out.result.trap) {
        out.trap_report = tools::trap_report(in, program, *out.result.trap);
        out.trap_places = ptx::places_of(ptx::source_map(in.module), out.result.trap->place);
    }
    const std::vector<check::Found> all = checking_.found(out.result);
    for (const check::CheckRow* row : rows_) {
        Found& found = out.found.emplace_back(Found{row, {}, {}});
        std::ranges::copy_if(all, std::back_inserter(found.findings),
                             [&](const check::Found& f) { return f.check == row; });
        found.report = tools::findings_report(in, program, found.findings);
    }
}

}  // namespace lockwarp::python
