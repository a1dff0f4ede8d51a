// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

// A Failure where a side does not lie within one allocation. Arrays are not supported.
void copy_2d(const Copy2D& c);
void copy_3d(const Copy3D& c);
void fill_node(const MemsetNode& n);

}  // namespace lockwarp::cuda
