// SPDX-License-Identifier: Apache-2.0
#include "emu/warp/cluster.hpp"

namespace lockwarp::warp {

namespace {

Dim3 place_of(const Dim3& within, uint64_t index) {
    return {static_cast<uint32_t>(index % within.x),
            static_cast<uint32_t>(index / within.x % within.y),
            static_cast<uint32_t>(index / within.x / within.y)};
}

uint64_t index_of(const Dim3& within, const Dim3& place) {
    return (uint64_t{place.z} * within.y + place.y) * within.x + place.x;
}

std::string text(const Dim3& d) {
    return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) +
           ")";
}

std::optional<Dim3> required(const isa::Program& p) {
    const auto& [x, y, z] = p.required_cluster;
    return x == 0 ? std::nullopt : std::optional(Dim3{x, y, z});
}

bool same(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

}  // namespace

uint64_t Clusters::cluster_of(uint64_t cta) const {
    const Dim3 at = place_of(grid, cta);
    return index_of(clusters(), {at.x / shape.x, at.y / shape.y, at.z / shape.z});
}

uint32_t Clusters::rank_of(uint64_t cta) const {
    const Dim3 at = place_of(grid, cta);
    return static_cast<uint32_t>(index_of(shape, {at.x % shape.x, at.y % shape.y, at.z % shape.z}));
}

uint64_t Clusters::cta(uint64_t cluster, uint32_t rank) const {
    const Dim3 of = place_of(clusters(), cluster);
    const Dim3 in = place_of(shape, rank);
    return index_of(grid, {of.x * shape.x + in.x, of.y * shape.y + in.y, of.z * shape.z + in.z});
}

uint64_t Clusters::slab() const {
    if (shape.z > 1) return uint64_t{grid.x} * grid.y * shape.z;
    return shape.y > 1 ? uint64_t{grid.x} * shape.y : shape.x;
}

Clusters clusters_of(const isa::Program& program, const Dim3& grid,
                     const std::optional<Dim3>& asked) {
    const std::optional<Dim3> shape = asked ? asked : required(program);
    return {grid, shape.value_or(Dim3{}), shape.has_value()};
}

std::string cluster_refusal(const isa::Program& program, const Dim3& grid,
                            const std::optional<Dim3>& asked, bool non_portable) {
    const std::optional<Dim3> own = required(program);
    const isa::ArchRow& arch = isa::row(program.arch);
    if (program.grid_of_clusters)
        return "the kernel counts its grid in clusters (.blocksareclusters), which is not "
               "supported";
    if (asked && own && !same(*asked, *own))
        return "cluster " + text(*asked) + ": the kernel requires " + text(*own) +
               " (.reqnctapercluster)";
    if (!asked && !own)
        return program.needs_cluster ? "the kernel is to be launched with clusters "
                                       "(.explicitcluster): name their shape"
                                     : "";
    const Dim3 shape = asked ? *asked : *own;
    const std::string name = "cluster " + text(shape);
    if (arch.cluster_max == 0) return name + ": " + std::string(arch.name) + " has no clusters";
    if (shape.count() == 0) return name + ": a cluster has 1 CTA or more in each dimension";
    if (program.max_cluster_rank != 0 && shape.count() > program.max_cluster_rank)
        return name + ": the kernel allows at most " + std::to_string(program.max_cluster_rank) +
               " CTAs (.maxclusterrank)";
    if (shape.count() > arch.cluster_max)
        return name + " of " + std::to_string(shape.count()) + " CTAs: " + std::string(arch.name) +
               " has clusters of at most " + std::to_string(arch.cluster_max);
    if (shape.count() > arch.cluster_portable && !non_portable)
        return name + " of " + std::to_string(shape.count()) + " CTAs: more than " +
               std::to_string(arch.cluster_portable) +
               " are not portable, and the launch does not allow that";
    if (grid.x % shape.x != 0 || grid.y % shape.y != 0 || grid.z % shape.z != 0)
        return name + " does not divide the grid " + text(grid);
    return "";
}

}  // namespace lockwarp::warp
