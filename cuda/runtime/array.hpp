// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

// The driver's format of the runtime's channels. A Failure where there is none.
void set_format(const ChannelDescription& c, int& format, unsigned& channels);
// The other way round.
ChannelDescription channels_of(int format, unsigned channels);

}  // namespace lockwarp::cuda
