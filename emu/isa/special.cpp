// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

namespace {

// PTX manual, "Special Registers". What ptxas makes a constant of is one here.
constexpr auto rows = std::to_array<SpecialRow>({
    {"%tid.x", Type::u32, Special::tid_x},
    {"%tid.y", Type::u32, Special::tid_y},
    {"%tid.z", Type::u32, Special::tid_z},
    {"%ntid.x", Type::u32, Special::ntid_x},
    {"%ntid.y", Type::u32, Special::ntid_y},
    {"%ntid.z", Type::u32, Special::ntid_z},
    {"%ctaid.x", Type::u32, Special::ctaid_x},
    {"%ctaid.y", Type::u32, Special::ctaid_y},
    {"%ctaid.z", Type::u32, Special::ctaid_z},
    {"%nctaid.x", Type::u32, Special::nctaid_x},
    {"%nctaid.y", Type::u32, Special::nctaid_y},
    {"%nctaid.z", Type::u32, Special::nctaid_z},
    {"%laneid", Type::u32, Special::laneid},
    {"%warpid", Type::u32, Special::warpid, true},
    {"%nwarpid", Type::u32, Special::nwarpid, true},
    {"%smid", Type::u32, Special::smid, true},
    {"%nsmid", Type::u32, Special::nsmid, true},
    {"%gridid", Type::u64, Special::gridid, true},
    {"%lanemask_eq", Type::u32, Special::lanemask_eq},
    {"%lanemask_le", Type::u32, Special::lanemask_le},
    {"%lanemask_lt", Type::u32, Special::lanemask_lt},
    {"%lanemask_ge", Type::u32, Special::lanemask_ge},
    {"%lanemask_gt", Type::u32, Special::lanemask_gt},
    {"%clock", Type::u32, Special::clock, true},
    {"%clock_hi", Type::u32, Special::clock_hi, true},
    {"%clock64", Type::u64, Special::clock64, true},
    {"%globaltimer", Type::u64, Special::globaltimer, true},
    {"%globaltimer_lo", Type::u32, Special::globaltimer_lo, true},
    {"%globaltimer_hi", Type::u32, Special::globaltimer_hi, true},
    {"%total_smem_size", Type::u32, Special::total_smem_size},
    {"%dynamic_smem_size", Type::u32, Special::dynamic_smem_size},
    {"%aggr_smem_size", Type::u32, Special::aggr_smem_size, false, 90, 81},
    {"%tid.w", Type::u32, Special::zero},
    {"%ntid.w", Type::u32, Special::zero},
    {"%ctaid.w", Type::u32, Special::zero},
    {"%nctaid.w", Type::u32, Special::zero},
    {"%clusterid.x", Type::u32, Special::clusterid_x, false, 90, 78},
    {"%clusterid.y", Type::u32, Special::clusterid_y, false, 90, 78},
    {"%clusterid.z", Type::u32, Special::clusterid_z, false, 90, 78},
    {"%clusterid.w", Type::u32, Special::zero, false, 90, 78},
    {"%nclusterid.x", Type::u32, Special::nclusterid_x, false, 90, 78},
    {"%nclusterid.y", Type::u32, Special::nclusterid_y, false, 90, 78},
    {"%nclusterid.z", Type::u32, Special::nclusterid_z, false, 90, 78},
    {"%nclusterid.w", Type::u32, Special::zero, false, 90, 78},
    {"%cluster_ctaid.x", Type::u32, Special::cluster_ctaid_x, false, 90, 78},
    {"%cluster_ctaid.y", Type::u32, Special::cluster_ctaid_y, false, 90, 78},
    {"%cluster_ctaid.z", Type::u32, Special::cluster_ctaid_z, false, 90, 78},
    {"%cluster_ctaid.w", Type::u32, Special::zero, false, 90, 78},
    {"%cluster_nctaid.x", Type::u32, Special::cluster_nctaid_x, false, 90, 78},
    {"%cluster_nctaid.y", Type::u32, Special::cluster_nctaid_y, false, 90, 78},
    {"%cluster_nctaid.z", Type::u32, Special::cluster_nctaid_z, false, 90, 78},
    {"%cluster_nctaid.w", Type::u32, Special::zero, false, 90, 78},
    {"%cluster_ctarank", Type::u32, Special::cluster_ctarank, false, 90, 78},
    {"%cluster_nctarank", Type::u32, Special::cluster_nctarank, false, 90, 78},
    {"%is_explicit_cluster", Type::pred, Special::is_explicit_cluster, false, 90, 78},
    {"%current_graph_exec", Type::u64, Special::zero64, false, 0, 80},
    {"%reserved_smem_offset_begin", Type::u32, Special::zero, false, 80, 76},
    {"%reserved_smem_offset_end", Type::u32, Special::machine, true, 80, 76},
    {"%reserved_smem_offset_cap", Type::u32, Special::reserved, false, 80, 76},
    {"%reserved_smem_offset_0", Type::u32, Special::zero, false, 80, 76},
    {"%reserved_smem_offset_1", Type::u32, Special::reserved_begin, true, 80, 76},
    {"%pm0", Type::u32, Special::machine, true},
    {"%pm1", Type::u32, Special::machine, true},
    {"%pm2", Type::u32, Special::machine, true},
    {"%pm3", Type::u32, Special::machine, true},
    {"%pm4", Type::u32, Special::machine, true},
    {"%pm5", Type::u32, Special::machine, true},
    {"%pm6", Type::u32, Special::machine, true},
    {"%pm7", Type::u32, Special::machine, true},
    {"%pm0_64", Type::u64, Special::machine64, true},
    {"%pm1_64", Type::u64, Special::machine64, true},
    {"%pm2_64", Type::u64, Special::machine64, true},
    {"%pm3_64", Type::u64, Special::machine64, true},
    {"%pm4_64", Type::u64, Special::machine64, true},
    {"%pm5_64", Type::u64, Special::machine64, true},
    {"%pm6_64", Type::u64, Special::machine64, true},
    {"%pm7_64", Type::u64, Special::machine64, true},
    {"%envreg0", Type::u32, Special::machine, true},
    {"%envreg1", Type::u32, Special::workspace_high, true},
    {"%envreg2", Type::u32, Special::workspace_low, true},
    {"%envreg3", Type::u32, Special::machine, true},
    {"%envreg4", Type::u32, Special::machine, true},
    {"%envreg5", Type::u32, Special::machine, true},
    {"%envreg6", Type::u32, Special::machine, true},
    {"%envreg7", Type::u32, Special::machine, true},
    {"%envreg8", Type::u32, Special::machine, true},
    {"%envreg9", Type::u32, Special::machine, true},
    {"%envreg10", Type::u32, Special::machine, true},
    {"%envreg11", Type::u32, Special::machine, true},
    {"%envreg12", Type::u32, Special::machine, true},
    {"%envreg13", Type::u32, Special::machine, true},
    {"%envreg14", Type::u32, Special::machine, true},
    {"%envreg15", Type::u32, Special::machine, true},
    {"%envreg16", Type::u32, Special::machine, true},
    {"%envreg17", Type::u32, Special::machine, true},
    {"%envreg18", Type::u32, Special::machine, true},
    {"%envreg19", Type::u32, Special::machine, true},
    {"%envreg20", Type::u32, Special::machine, true},
    {"%envreg21", Type::u32, Special::machine, true},
    {"%envreg22", Type::u32, Special::machine, true},
    {"%envreg23", Type::u32, Special::machine, true},
    {"%envreg24", Type::u32, Special::machine, true},
    {"%envreg25", Type::u32, Special::machine, true},
    {"%envreg26", Type::u32, Special::machine, true},
    {"%envreg27", Type::u32, Special::machine, true},
    {"%envreg28", Type::u32, Special::machine, true},
    {"%envreg29", Type::u32, Special::machine, true},
    {"%envreg30", Type::u32, Special::machine, true},
    {"%envreg31", Type::u32, Special::machine, true},
});

constexpr auto sorted = [] {
    std::array<const SpecialRow*, rows.size()> out{};
    for (size_t i = 0; i < out.size(); ++i) out[i] = &rows[i];
    std::ranges::sort(out, {}, &SpecialRow::name);
    return out;
}();

static_assert(std::ranges::adjacent_find(sorted, {}, &SpecialRow::name) == sorted.end(),
              "a name stands once");

}  // namespace

std::span<const SpecialRow> special_rows() { return rows; }

const SpecialRow* special_named(std::string_view name) {
    const auto* const found = std::ranges::lower_bound(sorted, name, {}, &SpecialRow::name);
    return found == sorted.end() || (*found)->name != name ? nullptr : *found;
}

}  // namespace lockwarp::isa
