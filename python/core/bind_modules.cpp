// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "launch/variables.hpp"
#include "python/core/bindings.hpp"
#include "python/core/failure.hpp"
#include "python/core/interruptible.hpp"
#include "python/core/module.hpp"
#include "python/core/names.hpp"
#include "python/core/requests.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

nb::object place_object(const ptx::SourcePlace& p) {
    return nb::make_tuple(p.file, p.line, p.column, p.function);
}

nb::object trap_object(const Kernel& kernel, const Outcome& o) {
    if (!o.result.trap) return nb::none();
    const warp::Trap& t = *o.result.trap;
    nb::dict out;
    out["text"] = o.trap_report;
    out["kind"] = std::string(name_of(t.kind));
    out["detail"] = t.detail;
    out["entry"] = kernel.program().entry;
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
    out["space"] = t.has_address ? nb::object(nb::str(name_of(t.space).data())) : nb::none();
    return out;
}

nb::list findings_list(const Kernel& kernel, const Outcome& o) {
    nb::list out;
    for (const Found& f : o.found) {
        nb::list list;
        for (const check::Finding& one : f.findings.list) {
            nb::dict d;
            d["what"] = one.what;
            d["place"] = one.place;
            d["hint"] = one.hint;
            d["line"] = 0;
            nb::list places;
            if (one.operation) {
                const ptx::Place at = kernel.program().operations[*one.operation].place;
                d["line"] = at.line;
                for (const ptx::SourcePlace& p : ptx::places_of(kernel.source().places, at))
                    places.append(place_object(p));
            }
            d["places"] = places;
            list.append(d);
        }
        nb::dict d;
        d["check"] = std::string(f.check->name);
        d["is_fault"] = f.check->is_fault;
        d["summary"] = f.findings.list.empty() ? "" : f.findings.summary;
        d["text"] = f.report;
        d["findings"] = list;
        out.append(d);
    }
    return out;
}

nb::object outcome_object(const Kernel& kernel, const Outcome& o) {
    const warp::Statistics& s = o.result.statistics;
    nb::list printed;
    for (const warp::Printed& p : o.result.printed)
        printed.append(
            nb::make_tuple(p.cta_index, p.warp, p.lane, nb::bytes(p.text.data(), p.text.size())));
    return nb::make_tuple(
        nb::make_tuple(s.instructions, s.lane_operations, s.products, s.ctas, s.warps), printed,
        o.result.printed_bytes_lost, trap_object(kernel, o), findings_list(kernel, o));
}

nb::object launch(const Kernel& kernel, const RequestArguments& arguments,
                  const std::string& checks) {
    const Request request = request_of(arguments);
    const std::vector<const check::CheckRow*> rows = checks_named(checks);
    Outcome outcome;
    interruptible(
        [&](const std::atomic<bool>& stop) { outcome = kernel.launch(request, rows, stop); });
    return outcome_object(kernel, outcome);
}

nb::list parameters_of(const Kernel& k) {
    nb::list out;
    for (const isa::Parameter& p : k.program().parameters) {
        const std::string_view type = isa::row(p.type).name;
        out.append(nb::make_tuple(p.name, p.bytes, p.alignment, p.offset,
                                  std::string(type.substr(type.empty() ? 0 : 1)), p.is_array));
    }
    return out;
}

nb::bytes variable(const Kernel& k, const std::string& name) {
    const isa::Placed* const v = launch::find_variable(k.program(), name);
    if (v == nullptr) throw Failure(k.program().entry + " has no variable '" + name + "'");
    if (v->space == ptx::Space::const_)
        return nb::bytes(k.program().const_image.data() + v->address, v->bytes);
    const std::vector<uint8_t> image = k.variables();
    return nb::bytes(image.data() + (v->address - isa::module_global_base), v->bytes);
}

}  // namespace

void bind_modules(nb::module_& m) {
    nb::class_<Module>(m, "Module")
        .def_static("of_text", &Module::of_text, nb::call_guard<nb::gil_scoped_release>())
        .def_static("of_file", &Module::of_file, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("entries", &Module::entries)
        .def_prop_ro("arch",
                     [](const Module& k) { return std::string(isa::row(k.source().arch).name); })
        .def_prop_ro("source", [](const Module& k) { return k.source().in.source; })
        .def("kernel", &Module::kernel, nb::call_guard<nb::gil_scoped_release>());
    nb::class_<Kernel>(m, "Kernel")
        .def_prop_ro("name", [](const Kernel& k) { return k.program().entry; })
        .def_prop_ro("arch",
                     [](const Kernel& k) { return std::string(isa::row(k.program().arch).name); })
        .def_prop_ro("parameters", parameters_of)
        .def_prop_ro("parameter_bytes", [](const Kernel& k) { return k.program().parameter_bytes; })
        .def_prop_ro("shared_static", [](const Kernel& k) { return k.program().shared_static; })
        .def_prop_ro("required_block", [](const Kernel& k) { return k.program().required_block; })
        .def("variable", variable)
        .def("launch", launch);
}

}  // namespace lockwarp::python
