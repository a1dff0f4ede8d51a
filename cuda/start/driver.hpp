// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockwarp::start {

// libcuda.so.1 beside this library, opened when it is first asked for; nullptr: it cannot be.
void* driver_library();

}  // namespace lockwarp::start
