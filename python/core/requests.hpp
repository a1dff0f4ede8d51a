// SPDX-License-Identifier: Apache-2.0
// A launch as Python hands it over.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/core/module.hpp"

namespace lockwarp::python {

using Three = std::array<uint32_t, 3>;

// grid, block, dynamic shared bytes, parameters, memory (address, bytes, name), threads, max_steps
// (0: no limit), cooperative, cluster (zeros: none asked for), whether asynchronous instructions
// are late, whether the cluster may be larger than is portable.
using RequestArguments = std::tuple<Three, Three, uint32_t, nanobind::bytes,
                                    std::vector<std::tuple<uint64_t, uint64_t, std::string>>,
                                    unsigned, uint64_t, bool, Three, bool, bool>;

inline Request request_of(const RequestArguments& a) {
    const auto& [grid, block, shared, parameters, memory, threads, max_steps, cooperative, cluster,
                 late, non_portable] = a;
    Request out;
    out.grid = {grid[0], grid[1], grid[2]};
    out.block = {block[0], block[1], block[2]};
    out.dynamic_shared = shared;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(parameters.c_str());
    out.parameters.assign(bytes, bytes + parameters.size());
    for (const auto& [address, size, name] : memory) out.memory.push_back({address, size, name});
    out.threads = threads;
    if (max_steps != 0) out.max_steps = max_steps;
    out.cooperative = cooperative;
    out.schedule.late = late;
    if (cluster[0] != 0) out.cluster = warp::Dim3{cluster[0], cluster[1], cluster[2]};
    out.non_portable_cluster = non_portable;
    return out;
}

}  // namespace lockwarp::python
