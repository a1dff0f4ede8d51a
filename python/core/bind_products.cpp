// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/core/bindings.hpp"
#include "python/core/interruptible.hpp"
#include "python/core/product.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

nb::list matrices_of(const Product& p) {
    nb::list out;
    for (const Matrix& m : p.matrices())
        out.append(nb::make_tuple(m.name, std::string(isa::row(m.type).name.substr(1)), m.rows,
                                  m.columns, m.bytes));
    return out;
}

// given: an address and a step of each matrix, in the order of matrices().
void run(const Product& p, const std::vector<std::tuple<uint64_t, uint64_t>>& given, uint64_t count,
         unsigned threads) {
    std::vector<Given> all;
    for (const auto& [address, step] : given) all.push_back({address, step});
    constexpr uint64_t few = 512;  // take less time than a signal may wait
    if (count <= few) {
        const std::atomic<bool> stop{false};
        const nb::gil_scoped_release released;
        p.run(all, count, threads, stop);
        return;
    }
    interruptible([&](const std::atomic<bool>& stop) { p.run(all, count, threads, stop); });
}

}  // namespace

void bind_products(nb::module_& m) {
    nb::class_<Product>(m, "Product")
        .def(nb::init<const std::string&, const std::string&, bool>())
        .def_prop_ro("key", [](const Product& p) { return p.instruction().key; })
        .def_prop_ro(
            "arch",
            [](const Product& p) { return std::string(isa::row(p.instruction().arch).name); })
        .def_prop_ro("matrices", matrices_of)
        .def("run", run);
}

}  // namespace lockwarp::python
