// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

// A copy of the runtime as one of the driver. A Failure where the kind is none, or an array is
// part of it.
Copy3D driver_copy(const CopyBox& box);
// The other way round.
CopyBox runtime_copy(const Copy3D& copy);

}  // namespace lockwarp::cuda
