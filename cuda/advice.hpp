// SPDX-License-Identifier: Apache-2.0
// What a program said of the pages of managed memory (cuMemAdvise, cuMemPrefetchAsync), for who
// asks (cuMemRangeGetAttribute). It changes nothing: all of that memory is in one place.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

struct Advice {
    bool read_mostly = false;
    std::optional<DeviceId> preferred;  // a device, or the host
    std::set<DeviceId> accessed_by;     // likewise
    std::optional<Location> prefetched;
};

// Of an allocation: what each of its pages has, from the page of that number to the next one's.
struct Advices {
    std::mutex mutex;
    std::map<uint64_t, Advice> from_page{{0, {}}};
};

}  // namespace lockwarp::cuda
