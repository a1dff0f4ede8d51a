// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

Copy3D box_of(const Copy2D& c);
// A Failure where a side does not lie within one allocation, or one array.
void copy_3d(const Copy3D& c);
void fill_node(const MemsetNode& n);
// Whichever device the memory is of, blocking or in a stream.
Result copy_between_devices(const Copy3D& c);
Result copy_between_devices(const Copy3D& c, Stream* stream);
// The same Failures, and nothing is done.
void check_copy(const Copy3D& c);
void check_fill(const MemsetNode& n);

}  // namespace lockwarp::cuda
