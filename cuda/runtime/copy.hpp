// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

// Bytes of an array's element.
size_t element_bytes_of(const Array* array);
// A copy of the runtime as one of the driver. A Failure where the kind is none.
Copy3D driver_copy(const CopyBox& box);
// The other way round.
CopyBox runtime_copy(const Copy3D& copy);

}  // namespace lockwarp::cuda
