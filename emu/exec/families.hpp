// SPDX-License-Identifier: Apache-2.0
// The families of behaviour: for an opcode, or for one where its modifiers choose that family, the
// handler of an operation. They are brought together in the table of behaviours.cpp.
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// atomic.cpp: what an atom or red of a lane makes of its elements, were they `before`.
void change_elements(Context& c, const Operation& o, unsigned lane, ptx::Space space,
                     const uint8_t* before, uint8_t* after);

// The handler of an operation that resolve accepted.
using Choose = Handler(const Operation&);

// One register's lanes after another's.
Choose carried_add, carried_sub, carried_mad;               // carry.cpp
Choose integer_add, integer_sub, integer_mul, integer_mad;  // integer.cpp
Choose integer_div, integer_neg, integer_abs, integer_min, integer_max;
Choose integer_and, integer_or, integer_xor, integer_not;
Choose rem_handler, sad_handler, cnot_handler, shl_handler, shr_handler, shf_handler;
Choose popc_handler, clz_handler, brev_handler, bfind_handler, bfe_handler, bfi_handler;
Choose prmt_handler, dp4a_handler, dp2a_handler;
Choose pair_add, pair_min, pair_max, relu_min, relu_max;  // bits.cpp
Choose mul24_handler, mad24_handler, bmsk_handler, szext_handler;
Choose fns_handler, lop3_handler, testp_handler;
Choose float_add, float_sub, float_mul, float_div;  // float.cpp
Choose float_min, float_max, float_abs, float_neg;
Choose mixed_add, mixed_sub, mixed_fma_handler, min_of_three, max_of_three;
Choose fma_handler, rcp_handler, sqrt_handler, copysign_handler;
// nullptr: not of these modifiers.
Choose fast_add, fast_sub, fast_mul, fast_div, fast_fma, fast_rcp, fast_sqrt;
Choose fast_min, fast_max, fast_abs, fast_neg;
Choose fast_cvt;                                              // convert.cpp
Choose fast_setp;                                             // compare.cpp
Choose ex2_handler, lg2_handler, rsqrt_handler, sin_handler;  // special_functions.cpp
Choose cos_handler, tanh_handler, rcp_approx_handler, sqrt_approx_handler;
Choose div_approx_handler, div_full_handler;
Choose setp_handler, set_handler, selp_handler, slct_handler;  // compare.cpp
Choose predicate_mov, predicate_and, predicate_or, predicate_xor, predicate_not;
Choose vadd_handler, vsub_handler, vabsdiff_handler, vmin_handler, vmax_handler;  // video.cpp
Choose vset_handler, vshl_handler, vshr_handler, vmad_handler;
Choose vadd2_handler, vsub2_handler, vavrg2_handler, vabsdiff2_handler;
Choose vmin2_handler, vmax2_handler, vset2_handler;
Choose vadd4_handler, vsub4_handler, vavrg4_handler, vabsdiff4_handler;
Choose vmin4_handler, vmax4_handler, vset4_handler;
Choose register_mov, cvta_handler, isspacep_handler, nanosleep_handler;  // move.cpp
Choose cvt_handler, cvt_pack_handler;                                    // convert.cpp
Choose policy_fraction_handler, policy_range_handler;                    // policy.cpp
Choose policy_convert_handler, mapa_handler, getctarank_handler;

// Memory.
Choose ordinary_ld, ordinary_st, cp_async_handler, nothing_handler;  // memory.cpp
Choose ordinary_atom;                                                // atomic.cpp
Choose wide_mov, wide_ld, wide_st, wide_atom;                        // wide.cpp: 128 bits, vectors
Choose mbarrier_init_handler, mbarrier_inval_handler;                // mbarrier.cpp
Choose mbarrier_transaction_handler, mbarrier_arrive_handler;
Choose mbarrier_wait_handler, mbarrier_pending_handler;
Choose launch_cancel_handler, launch_canceled_handler, launch_first_handler;
Choose bulk_copy_handler, bulk_prefetch_handler, async_store_handler;  // bulk_copy.cpp
Choose multimem_store_handler, multimem_load_handler;                  // multimem.cpp
Choose tex_handler, tld4_handler, suld_handler, sust_handler, texture_query_handler;  // texture.cpp
Choose alloca_handler, stacksave_handler, stackrestore_handler;                       // stack.cpp

// The warp.
Choose shfl_handler, vote_handler, match_handler, redux_handler, float_redux;  // warp_ops.cpp
Choose elect_handler, activemask_handler, bar_warp_handler;
Choose ldmatrix_handler, stmatrix_handler, movmatrix_handler;  // matrix.cpp
Choose mma_handler;
Choose wmma_load_handler, wmma_store_handler, wmma_mma_handler;  // wmma.cpp
Choose wgmma_handler, wgmma_commit_handler, wgmma_wait_handler;  // warpgroup.cpp

struct Behaviour {
    constexpr explicit Behaviour(isa::Op of) : op(of) {}
    constexpr Behaviour(isa::Op of, Choose* handler, Choose* fast_handler = nullptr)
        : op(of), handled(true), choose(handler), fast(fast_handler) {}

    isa::Op op;
    bool handled = false;      // false: the scheduler's own
    Choose* choose = nullptr;  // where it is handled
    Choose* fast = nullptr;    // the same bits by vector instructions, where it gives a handler
};

const Behaviour& behaviour(isa::Op op);

// false: bind() refuses every operation of the opcode, which is not executed yet.
bool is_executed(isa::Op op);

}  // namespace lockwarp::exec
