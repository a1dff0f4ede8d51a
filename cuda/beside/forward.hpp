// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 that hands all calls to another one.
#pragma once

namespace lockwarp::beside {

// A function of the driver behind this one; nullptr where it has none of that name.
void* behind(const char* symbol);

template <class F>
F* behind_as(const char* symbol) {
    return reinterpret_cast<F*>(behind(symbol));
}

}  // namespace lockwarp::beside
