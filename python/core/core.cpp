// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include "lockwarp/version.hpp"
#include "python/core/bindings.hpp"
#include "python/core/failure.hpp"

NB_MODULE(_core, m) {
    namespace nb = nanobind;
    namespace python = lockwarp::python;
    // Triton keeps compiled kernels, and with them ours, until the process ends.
    nb::set_leak_warnings(false);
    m.attr("version") = nb::str(lockwarp::version.data(), lockwarp::version.size());
    const auto error = nb::exception<python::Failure>(m, "Error", PyExc_Exception);
    nb::exception<python::NoGpu>(m, "NoGpu", error);
    python::bind_modules(m);
    python::bind_products(m);
    python::bind_lanes(m);
    python::bind_answers(m);
    python::bind_engines(m);
    python::bind_dlpack(m);
    python::bind_tensor_maps(m);
}
