// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "launch/variables.hpp"
#include "python/core/bindings.hpp"
#include "python/core/failure.hpp"
#include "python/core/interruptible.hpp"
#include "python/core/module.hpp"
#include "python/core/names.hpp"
#include "python/core/outcome.hpp"
#include "python/core/requests.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

// What is known of the memory, for checks: (address, bytes) that nobody gave a value, and (address,
// bytes of an element, sizes of the dimensions, elements from row to row) of arrays.
using Undefined = std::vector<std::tuple<uint64_t, uint64_t>>;
using Shapes = std::vector<std::tuple<uint64_t, uint32_t, std::vector<uint64_t>, uint64_t>>;

nb::tuple launch(const Kernel& kernel, const RequestArguments& arguments, const std::string& checks,
                 const Undefined& undefined, const Shapes& shapes) {
    const Request request = request_of(arguments);
    check::Described described;
    for (const auto& [address, bytes] : undefined) described.undefined.push_back({address, bytes});
    for (const auto& [address, bytes, sizes, stride] : shapes) {
        const bool held = bytes != 0 && !sizes.empty() && stride >= sizes.back() &&
                          std::ranges::find(sizes, uint64_t{0}) == sizes.end();
        if (!held) throw Failure("a shape that no array has");
        described.shapes.push_back({address, bytes, sizes, stride});
    }
    const std::vector<const check::CheckRow*> rows = checks_named(checks);
    Outcome outcome;
    interruptible([&](const std::atomic<bool>& stop) {
        outcome = kernel.launch(request, rows, described, stop);
    });
    return outcome_object(kernel.program(), kernel.source().places, outcome);
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
        .def("launch", launch, nb::arg("request"), nb::arg("checks"),
             nb::arg("undefined") = Undefined{}, nb::arg("shapes") = Shapes{});
}

}  // namespace lockwarp::python
