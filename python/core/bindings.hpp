// SPDX-License-Identifier: Apache-2.0
// The parts of the extension module lockwarp._core. Nothing of it is for users: python/lockwarp is.
#pragma once

#include <nanobind/nanobind.h>

namespace lockwarp::python {

void bind_modules(nanobind::module_& m);   // Module, Kernel, launches
void bind_products(nanobind::module_& m);  // Product
void bind_lanes(nanobind::module_& m);     // layouts, answers to questions
void bind_dlpack(nanobind::module_& m);    // memory of other libraries

}  // namespace lockwarp::python
