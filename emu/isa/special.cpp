#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

namespace {

// PTX manual, "Special Registers". Cluster registers are those of a launch without clusters.
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
    {"%total_smem_size", Type::u32, Special::total_smem_size, true},
    {"%dynamic_smem_size", Type::u32, Special::dynamic_smem_size},
    {"%aggr_smem_size", Type::u32, Special::aggr_smem_size, true},
    {"%cluster_ctarank", Type::u32, Special::zero},
});

}  // namespace

std::span<const SpecialRow> special_rows() { return rows; }

}  // namespace lockwarp::isa
