// SPDX-License-Identifier: Apache-2.0
// Clusters of CTAs: which shape a launch gives them, where their CTAs are in the grid, and what the
// driver refuses. PTX manual, "Cluster Dimension Directives"; CUDA C++ programming guide, "Thread
// Block Clusters".
#pragma once

#include <optional>
#include <string>

#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::warp {

// The clusters of a grid. Without any each CTA is one by itself.
struct Clusters {
    Dim3 grid;   // CTAs
    Dim3 shape;  // CTAs of a cluster, %cluster_nctaid; each dimension divides the grid's
    // %is_explicit_cluster: the launch or the kernel asks for clusters, if only of one CTA.
    bool is_explicit = false;

    uint32_t size() const { return static_cast<uint32_t>(shape.count()); }
    uint64_t count() const { return grid.count() / shape.count(); }
    // %nclusterid
    Dim3 clusters() const { return {grid.x / shape.x, grid.y / shape.y, grid.z / shape.z}; }
    // The cluster, x fastest, and in it the rank, x fastest, of the CTA with that index.
    uint64_t cluster_of(uint64_t cta) const;
    uint32_t rank_of(uint64_t cta) const;
    // The index of a cluster's CTA of that rank.
    uint64_t cta(uint64_t cluster, uint32_t rank) const;
    // [n * slab(), m * slab()) are the CTAs of whole clusters, for any n and m.
    uint64_t slab() const;
};

// As the launch asks for them, else as the kernel does. They must not be refused.
Clusters clusters_of(const isa::Program& program, const Dim3& grid,
                     const std::optional<Dim3>& asked);

// Which rule clusters break (the driver's CUDA_ERROR_INVALID_CLUSTER_SIZE, measured on an H200), as
// a sentence; empty: none. asked, non_portable: Launch::cluster, Launch::non_portable_cluster.
std::string cluster_refusal(const isa::Program& program, const Dim3& grid,
                            const std::optional<Dim3>& asked, bool non_portable);

}  // namespace lockwarp::warp
