// SPDX-License-Identifier: Apache-2.0
// The parts of the extension module lockwarp._core. Nothing of it is for users: python/lockwarp is.
#pragma once

#include <nanobind/nanobind.h>

namespace lockwarp::python {

void bind_modules(nanobind::module_& m);   // Module, Kernel, launches
void bind_products(nanobind::module_& m);  // Product
void bind_engines(nanobind::module_& m);   // time, validate, run, replay
void bind_answers(nanobind::module_& m);   // questions about lanes, sums and banks
void bind_lanes(nanobind::module_& m);     // layouts
void bind_dlpack(nanobind::module_& m);    // memory of other libraries
void bind_tensor_maps(nanobind::module_& m);

}  // namespace lockwarp::python
