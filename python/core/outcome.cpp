// SPDX-License-Identifier: Apache-2.0
#include "python/core/outcome.hpp"

#include <nanobind/stl/string.h>

#include "emu/ptx/space_name.hpp"
#include "python/core/names.hpp"
#include "tools/report/findings.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

nb::tuple place_object(const ptx::SourcePlace& p) {
    return nb::make_tuple(p.file, p.line, p.column, p.function);
}

nb::object trap_object(const isa::Program& program, const Outcome& o) {
    if (!o.result.trap) return nb::none();
    const warp::Trap& t = *o.result.trap;
    nb::dict out;
    out["text"] = o.trap_report;
    out["kind"] = std::string(name_of(t.kind));
    out["detail"] = t.detail;
    out["entry"] = program.entry;
    out["line"] = t.place.line;
    out["column"] = t.place.column;
    nb::list places;
    for (const ptx::SourcePlace& p : o.trap_places) places.append(place_object(p));
    out["places"] = places;
    out["cta"] = nb::make_tuple(t.cta[0], t.cta[1], t.cta[2]);
    out["warp"] = t.warp;
    out["step"] = t.step;
    out["lane"] = t.has_lane ? nb::object(nb::int_(t.lane)) : nb::none();
    out["address"] = t.has_address ? nb::object(nb::int_(t.address)) : nb::none();
    out["space"] = t.has_address ? nb::object(nb::str(ptx::name_of(t.space).data())) : nb::none();
    return out;
}

// "line" of the PTX, 0 of no instruction, and "places" in the source.
void put_site(nb::dict& d, const isa::Program& program, const ptx::SourceMap& sources,
              const check::Site& site) {
    d["line"] = 0;
    nb::list places;
    if (site.operation) {
        const ptx::Place at = program.operations[*site.operation].place;
        d["line"] = at.line;
        for (const ptx::SourcePlace& p : ptx::places_of(sources, at))
            places.append(place_object(p));
    }
    d["places"] = places;
}

nb::dict finding_object(const isa::Program& program, const ptx::SourceMap& sources,
                        const check::Found& found) {
    const check::Finding& f = found.finding;
    nb::dict d;
    d["kind"] = std::string(f.kind);
    d["is_fault"] = f.severity == check::Severity::error;
    d["what"] = f.message;
    d["place"] = tools::place_text(found);
    d["hint"] = f.hint;
    d["count"] = f.count;
    put_site(d, program, sources, f.here);
    d["other"] = nb::none();
    if (f.other) {
        nb::dict other;
        put_site(other, program, sources, *f.other);
        other["cta"] = nb::make_tuple(f.other->cta[0], f.other->cta[1], f.other->cta[2]);
        other["warp"] = f.other->warp;
        d["other"] = other;
    }
    return d;
}

nb::list findings_list(const isa::Program& program, const ptx::SourceMap& sources,
                       const Outcome& o) {
    nb::list out;
    for (const Found& f : o.found) {
        nb::list list;
        for (const check::Found& one : f.findings)
            list.append(finding_object(program, sources, one));
        nb::dict d;
        d["check"] = std::string(f.check->name);
        d["summary"] = f.findings.empty() ? "" : tools::counts_text(f.findings);
        d["text"] = f.report;
        d["findings"] = list;
        out.append(d);
    }
    return out;
}

}  // namespace

nb::tuple outcome_object(const isa::Program& program, const ptx::SourceMap& places,
                         const Outcome& o) {
    const warp::Statistics& s = o.result.statistics;
    nb::list printed;
    for (const warp::Printed& p : o.result.printed)
        printed.append(
            nb::make_tuple(p.cta_index, p.warp, p.lane, nb::bytes(p.text.data(), p.text.size())));
    return nb::make_tuple(
        nb::make_tuple(s.instructions, s.lane_operations, s.products, s.ctas, s.warps), printed,
        o.result.printed_bytes_lost, trap_object(program, o), findings_list(program, places, o));
}

}  // namespace lockwarp::python
