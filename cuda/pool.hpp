// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/memory.hpp"

namespace lockwarp::cuda {

// Of what is allocated from it.
Kind kind_of(const Pool& pool);

}  // namespace lockwarp::cuda
