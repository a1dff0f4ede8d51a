// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

// Bytes of an array's element.
size_t element_bytes_of(const Array* array);
// A copy of the runtime as one of the driver. A Failure where the kind is none.
Copy3D driver_copy(const CopyBox& box);
// A variable's bytes from `offset` on. A Failure where it has not so many.
void* within(const void* variable, size_t count, size_t offset);
// A Failure where a copy to a variable, or from one, cannot be of that kind.
void require_to_symbol(CopyKind kind);
void require_from_symbol(CopyKind kind);
// The other way round.
CopyBox runtime_copy(const Copy3D& copy);

}  // namespace lockwarp::cuda
