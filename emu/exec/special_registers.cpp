// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/special_registers.hpp"

#include "emu/exec/cluster.hpp"
#include "emu/exec/families.hpp"
#include "emu/isa/specials.hpp"

namespace lockwarp::exec {

namespace {

using isa::Special;

// Shared memory that the driver keeps for itself and for CUDA's cooperative groups; it is there
// only in programs that ask where.
constexpr uint32_t reserved_bytes = 1024;

// Where it begins, behind the variables; from Program::shared_begin.
uint64_t reserved_begin(const isa::Program& program, const warp::Launch& launch) {
    return (program.shared_static + uint64_t{launch.dynamic_shared} + 15) / 16 * 16;
}

template <class T>
void put(Context& c, isa::Ref ref, uint32_t mask, uint64_t value) {
    auto* d = slot<T>(c, ref);
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<Lane<T>>(value); });
}

}  // namespace

uint64_t shared_bytes(const isa::Program& program, const warp::Launch& launch) {
    const bool asks = isa::reads(program, Special::reserved_begin);
    return isa::in_shared_units(program.arch,
                                asks ? reserved_begin(program, launch) + reserved_bytes
                                     : program.shared_static + uint64_t{launch.dynamic_shared});
}

bool is_of_lane(Special which) {
    switch (which) {
        case Special::tid_x:
        case Special::tid_y:
        case Special::tid_z:
        case Special::laneid:
        case Special::lanemask_eq:
        case Special::lanemask_le:
        case Special::lanemask_lt:
        case Special::lanemask_ge:
        case Special::lanemask_gt:
            return true;
        default:
            return false;
    }
}

uint64_t special_value(Special which, const Context& c, uint32_t warp, uint32_t lane) {
    const isa::Program& program = *c.program;
    const warp::Launch& launch = *c.launch;
    const warp::Cta& cta = *c.cta;
    const uint32_t thread = warp * 32 + lane;
    const warp::Dim3& block = launch.block;
    const warp::Dim3& grid = launch.grid;
    const warp::Clusters& of = c.cluster->of;
    const uint32_t bit = 1u << lane;
    switch (which) {
        case Special::tid_x:
            return thread % block.x;
        case Special::tid_y:
            return thread / block.x % block.y;
        case Special::tid_z:
            return thread / block.x / block.y;
        case Special::ntid_x:
            return block.x;
        case Special::ntid_y:
            return block.y;
        case Special::ntid_z:
            return block.z;
        case Special::ctaid_x:
            return cta.id[0];
        case Special::ctaid_y:
            return cta.id[1];
        case Special::ctaid_z:
            return cta.id[2];
        case Special::nctaid_x:
            return grid.x;
        case Special::nctaid_y:
            return grid.y;
        case Special::nctaid_z:
            return grid.z;
        case Special::laneid:
            return lane;
        case Special::warpid:
            return warp;
        case Special::nwarpid:
            return cta.warps.size();
        case Special::nsmid:
            return 1;
        case Special::lanemask_eq:
            return bit;
        case Special::lanemask_le:
            return bit | (bit - 1);
        case Special::lanemask_lt:
            return bit - 1;
        case Special::lanemask_ge:
            return ~(bit - 1);
        case Special::lanemask_gt:
            return ~(bit | (bit - 1));
        case Special::total_smem_size:
            return isa::in_shared_units(program.arch,
                                        program.shared_static + uint64_t{launch.dynamic_shared});
        case Special::aggr_smem_size:
            // With what the driver keeps, and in no units (an H100, driver 580.159.04).
            return program.shared_begin + program.shared_static + launch.dynamic_shared;
        case Special::dynamic_smem_size:
            return launch.dynamic_shared;
        case Special::workspace_low:
            return launch.cooperative ? uint32_t{isa::grid_workspace & 0xffffffff} : 0;
        case Special::workspace_high:
            return launch.cooperative ? isa::grid_workspace >> 32 : 0;
        case Special::clusterid_x:
            return cta.id[0] / of.shape.x;
        case Special::clusterid_y:
            return cta.id[1] / of.shape.y;
        case Special::clusterid_z:
            return cta.id[2] / of.shape.z;
        case Special::nclusterid_x:
            return of.clusters().x;
        case Special::nclusterid_y:
            return of.clusters().y;
        case Special::nclusterid_z:
            return of.clusters().z;
        case Special::cluster_ctaid_x:
            return cta.id[0] % of.shape.x;
        case Special::cluster_ctaid_y:
            return cta.id[1] % of.shape.y;
        case Special::cluster_ctaid_z:
            return cta.id[2] % of.shape.z;
        case Special::cluster_nctaid_x:
            return of.shape.x;
        case Special::cluster_nctaid_y:
            return of.shape.y;
        case Special::cluster_nctaid_z:
            return of.shape.z;
        case Special::cluster_ctarank:
            return cta.rank;
        case Special::cluster_nctarank:
            return of.size();
        case Special::is_explicit_cluster:
            return uint64_t{of.is_explicit};
        case Special::reserved:
            return reserved_bytes;
        case Special::reserved_begin:
            return c.shared_begin + reserved_begin(program, launch);
        default:
            return 0;
    }
}

void after_clocks(Context& c, const Step& s, uint32_t mask) {
    const uint64_t now = c.warp->step + c.warp->slept;
    for (const isa::SpecialUse& use : c.program->specials) {
        if (!isa::is_clock(use.special)) continue;
        const bool is_high =
            use.special == Special::clock_hi || use.special == Special::globaltimer_hi;
        const uint64_t value = is_high ? now >> 32 : now;
        if (isa::bits(use.type) == 64)
            put<uint64_t>(c, use.ref, mask, value);
        else
            put<uint32_t>(c, use.ref, mask, value);
    }
    const Handler run = behaviour(s.op->op).choose(*s.op);
    run(c, s, mask);
}

}  // namespace lockwarp::exec
