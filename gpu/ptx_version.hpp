// SPDX-License-Identifier: Apache-2.0
// Which .version a driver's compiler reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockwarp::gpu {

// The newest .version, major * 10 + minor, that a driver reads which speaks this version of CUDA
// (as cuDriverGetVersion gives it, 12040 for 12.4); 0: not known, the driver is newer than this.
uint32_t newest_ptx(int cuda);

// The text with its .version lowered to `newest` where it is above that; `newest` 0: as it is. A
// module that needs what the lower version does not have is refused by the compiler, which names
// it.
std::string with_version_at_most(std::string_view ptx, uint32_t newest);

}  // namespace lockwarp::gpu
