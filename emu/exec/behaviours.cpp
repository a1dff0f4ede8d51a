// SPDX-License-Identifier: Apache-2.0
// The behaviour of each opcode. Where modifiers choose between families, a function here says how.
#include "emu/exec/families.hpp"
#include "emu/exec/tensor.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;

bool is_float(const Operation& o) { return isa::is_float(o.mod.type[0]); }
bool is_pair(const Operation& o) { return isa::row(o.mod.type[0]).lanes == 2; }
bool is_predicate(const Operation& o) { return o.mod.type[0] == Type::pred; }
bool is_b128(const Operation& o) { return o.mod.type[0] == Type::b128; }

Handler add(const Operation& o) {
    if (o.mod.cc) return carried_add(o);
    if (is_float(o)) return float_add(o);
    return is_pair(o) ? pair_add(o) : integer_add(o);
}

Handler sub(const Operation& o) {
    if (o.mod.cc) return carried_sub(o);
    return is_float(o) ? float_sub(o) : integer_sub(o);
}

Handler mad(const Operation& o) { return o.mod.cc ? carried_mad(o) : integer_mad(o); }

Handler min(const Operation& o) {
    if (is_float(o)) return float_min(o);
    if (is_pair(o)) return pair_min(o);
    return o.mod.relu ? relu_min(o) : integer_min(o);
}

Handler max(const Operation& o) {
    if (is_float(o)) return float_max(o);
    if (is_pair(o)) return pair_max(o);
    return o.mod.relu ? relu_max(o) : integer_max(o);
}

template <Choose* of_floats, Choose* of_integers>
Handler by_number(const Operation& o) {
    return is_float(o) ? of_floats(o) : of_integers(o);
}

template <Choose* of_predicates, Choose* of_integers>
Handler by_bits(const Operation& o) {
    return is_predicate(o) ? of_predicates(o) : of_integers(o);
}

template <Choose* of_b128, Choose* of_others>
Handler by_width(const Operation& o) {
    return is_b128(o) ? of_b128(o) : of_others(o);
}

Handler mov(const Operation& o) {
    if (is_b128(o) || o.mod.vec > 1) return wide_mov(o);
    return is_predicate(o) ? predicate_mov(o) : register_mov(o);
}

// Of instructions that are not executed yet.
Handler absent(const Operation&) { return nullptr; }

constexpr std::array<Behaviour, isa::op_count> behaviours{{
    {Op::mov, mov},
    {Op::ld, by_width<wide_ld, ordinary_ld>},
    {Op::st, by_width<wide_st, ordinary_st>},
    {Op::cvta, cvta_handler},
    {Op::isspacep, isspacep_handler},
    {Op::mapa, mapa_handler},
    {Op::getctarank, getctarank_handler},
    {Op::policy_fraction, policy_fraction_handler},
    {Op::policy_range, policy_range_handler},
    {Op::policy_convert, policy_convert_handler},
    {Op::hint, nothing_handler},
    {Op::cvt, cvt_handler, fast_cvt},
    {Op::cvt_pack, cvt_pack_handler},
    {Op::prefetch, nothing_handler},
    {Op::atom, by_width<wide_atom, ordinary_atom>},
    {Op::red, ordinary_atom},
    {Op::add, add, fast_add},
    {Op::sub, sub, fast_sub},
    {Op::mul, by_number<float_mul, integer_mul>, fast_mul},
    {Op::mad, mad},
    {Op::fma, fma_handler, fast_fma},
    {Op::add_mixed, mixed_add},
    {Op::sub_mixed, mixed_sub},
    {Op::fma_mixed, mixed_fma_handler},
    {Op::div, by_number<float_div, integer_div>, fast_div},
    {Op::rem, rem_handler},
    {Op::abs, by_number<float_abs, integer_abs>, fast_abs},
    {Op::neg, by_number<float_neg, integer_neg>, fast_neg},
    {Op::min, min, fast_min},
    {Op::max, max, fast_max},
    {Op::min3, min_of_three},
    {Op::max3, max_of_three},
    {Op::rcp, rcp_handler, fast_rcp},
    {Op::sqrt, sqrt_handler, fast_sqrt},
    {Op::sad, sad_handler},
    {Op::copysign, copysign_handler},
    {Op::ex2, ex2_handler},
    {Op::lg2, lg2_handler},
    {Op::rsqrt, rsqrt_handler},
    {Op::sin, sin_handler},
    {Op::cos, cos_handler},
    {Op::tanh, tanh_handler},
    {Op::rcp_approx, rcp_approx_handler},
    {Op::sqrt_approx, sqrt_approx_handler},
    {Op::div_approx, div_approx_handler},
    {Op::div_full, div_full_handler},
    {Op::popc, popc_handler},
    {Op::clz, clz_handler},
    {Op::bfind, bfind_handler},
    {Op::brev, brev_handler},
    {Op::bfe, bfe_handler},
    {Op::bfi, bfi_handler},
    {Op::and_, by_bits<predicate_and, integer_and>},
    {Op::or_, by_bits<predicate_or, integer_or>},
    {Op::xor_, by_bits<predicate_xor, integer_xor>},
    {Op::not_, by_bits<predicate_not, integer_not>},
    {Op::cnot, cnot_handler},
    {Op::lop3, lop3_handler},
    {Op::shl, shl_handler},
    {Op::shr, shr_handler},
    {Op::shf, shf_handler},
    {Op::prmt, prmt_handler},
    {Op::dp4a, dp4a_handler},
    {Op::dp2a, dp2a_handler},
    {Op::addc, carried_add},
    {Op::subc, carried_sub},
    {Op::madc, carried_mad},
    {Op::mul24, mul24_handler},
    {Op::mad24, mad24_handler},
    {Op::bmsk, bmsk_handler},
    {Op::szext, szext_handler},
    {Op::fns, fns_handler},
    {Op::testp, testp_handler},
    {Op::setp, setp_handler, fast_setp},
    {Op::set, set_handler},
    {Op::selp, selp_handler},
    {Op::slct, slct_handler},
    {Op::vadd, vadd_handler},
    {Op::vsub, vsub_handler},
    {Op::vabsdiff, vabsdiff_handler},
    {Op::vmin, vmin_handler},
    {Op::vmax, vmax_handler},
    {Op::vset, vset_handler},
    {Op::vshl, vshl_handler},
    {Op::vshr, vshr_handler},
    {Op::vmad, vmad_handler},
    {Op::vadd2, vadd2_handler},
    {Op::vsub2, vsub2_handler},
    {Op::vavrg2, vavrg2_handler},
    {Op::vabsdiff2, vabsdiff2_handler},
    {Op::vmin2, vmin2_handler},
    {Op::vmax2, vmax2_handler},
    {Op::vset2, vset2_handler},
    {Op::vadd4, vadd4_handler},
    {Op::vsub4, vsub4_handler},
    {Op::vavrg4, vavrg4_handler},
    {Op::vabsdiff4, vabsdiff4_handler},
    {Op::vmin4, vmin4_handler},
    {Op::vmax4, vmax4_handler},
    {Op::vset4, vset4_handler},
    Behaviour{Op::bra},
    Behaviour{Op::brx},
    Behaviour{Op::call},
    {Op::alloca_, alloca_handler},
    {Op::stacksave, stacksave_handler},
    {Op::stackrestore, stackrestore_handler},
    Behaviour{Op::ret},
    Behaviour{Op::exit},
    Behaviour{Op::trap},
    Behaviour{Op::brkpt},
    {Op::nanosleep, nanosleep_handler},
    {Op::fence, nothing_handler},
    Behaviour{Op::bar},
    Behaviour{Op::bar_red},
    {Op::bar_warp, bar_warp_handler},
    {Op::activemask, activemask_handler},
    {Op::shfl, shfl_handler},
    {Op::vote, vote_handler},
    {Op::match, match_handler},
    {Op::redux, redux_handler},
    {Op::redux_float, float_redux},
    {Op::elect, elect_handler},
    {Op::cp_async, cp_async_handler},
    {Op::cp_async_commit, nothing_handler},
    {Op::cp_async_wait, nothing_handler},
    {Op::cp_async_wait_all, nothing_handler},
    {Op::bulk_load, bulk_copy_handler},
    {Op::bulk_send, bulk_copy_handler},
    {Op::bulk_store, bulk_copy_handler},
    {Op::bulk_reduce, bulk_copy_handler},
    {Op::bulk_send_reduce, bulk_copy_handler},
    {Op::bulk_prefetch, bulk_prefetch_handler},
    {Op::bulk_commit, nothing_handler},
    {Op::bulk_wait, nothing_handler},
    {Op::tensor_load, tensor_load_handler},
    {Op::tensor_store, tensor_store_handler},
    {Op::tensor_reduce, tensor_reduce_handler},
    {Op::tensor_prefetch, nothing_handler},
    {Op::tensormap_replace, tensormap_replace_handler},
    {Op::tensormap_copy, tensormap_copy_handler},
    {Op::launch_cancel, launch_cancel_handler},
    {Op::launch_canceled, launch_canceled_handler},
    {Op::launch_first, launch_first_handler},
    {Op::async_store, async_store_handler},
    {Op::async_reduce, async_store_handler},
    {Op::multimem_load, multimem_load_handler},
    {Op::multimem_store, multimem_store_handler},
    {Op::multimem_reduce, ordinary_atom},
    {Op::tex, tex_handler},
    {Op::tld4, tld4_handler},
    {Op::suld, suld_handler},
    {Op::sust, sust_handler},
    {Op::texture_query, texture_query_handler},
    {Op::surface_query, texture_query_handler},
    {Op::set_max_registers, nothing_handler},
    Behaviour{Op::cluster_arrive},
    Behaviour{Op::cluster_wait},
    {Op::mbarrier_init, mbarrier_init_handler},
    {Op::mbarrier_inval, mbarrier_inval_handler},
    {Op::mbarrier_expect, mbarrier_transaction_handler},
    {Op::mbarrier_complete, mbarrier_transaction_handler},
    {Op::mbarrier_arrive, mbarrier_arrive_handler},
    {Op::mbarrier_drop, mbarrier_arrive_handler},
    {Op::mbarrier_wait, mbarrier_wait_handler},
    {Op::mbarrier_pending, mbarrier_pending_handler},
    {Op::mbarrier_copies, mbarrier_arrive_handler},
    {Op::ldmatrix, ldmatrix_handler},
    {Op::stmatrix, stmatrix_handler},
    {Op::movmatrix, movmatrix_handler},
    {Op::mma, mma_handler},
    {Op::wmma_load, wmma_load_handler},
    {Op::wmma_store, wmma_store_handler},
    {Op::wmma_mma, wmma_mma_handler},
    {Op::wgmma_mma, wgmma_handler},
    {Op::wgmma_fence, nothing_handler},
    {Op::wgmma_commit, wgmma_commit_handler},
    {Op::wgmma_wait, wgmma_wait_handler},
}};

static_assert(isa::complete(behaviours));
static_assert([] {
    for (const Behaviour& b : behaviours)
        if (b.handled != has_handler(isa::row(b.op).step)) return false;
    return true;
}());

}  // namespace

bool is_executed(Op op) { return behaviour(op).choose != absent; }

const Behaviour& behaviour(Op op) { return behaviours[static_cast<size_t>(op)]; }

}  // namespace lockwarp::exec
