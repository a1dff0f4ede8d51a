// SPDX-License-Identifier: Apache-2.0
#include "emu/timing/opcodes.hpp"

namespace lockwarp::timing {

namespace {

using isa::Op;
using isa::Operation;
using ptx::Space;

bool is_float(const Operation& o) { return isa::is_float(o.mod.type[0]); }

template <Kind narrow>
Kind by_width(const Operation& o) {
    return width(o) == 64 ? Kind::alu64 : narrow;
}

Kind float_kind(const Operation& o) {
    if (o.mod.type[0] == Type::f64) return Kind::f64;
    return isa::element_of(o.mod.type[0]) == Type::f32 ? Kind::f32 : Kind::f16x2;
}

Kind sum(const Operation& o) { return is_float(o) ? float_kind(o) : by_width<Kind::add>(o); }

Kind product(const Operation& o) {
    if (is_float(o)) return float_kind(o);
    return width(o) == 64 || o.mod.part == isa::Part::hi || o.mod.part == isa::Part::wide
               ? Kind::multiply64
               : Kind::multiply;
}

Kind quotient(const Operation& o) {
    if (is_float(o)) return width(o) == 64 ? Kind::divide_f64 : Kind::divide_f32;
    return width(o) == 64 ? Kind::divide_u64 : Kind::divide_u32;
}

Kind root(const Operation& o) { return width(o) == 64 ? Kind::divide_f64 : Kind::root_f32; }

Kind special_function(const Operation& o) {
    return o.mod.ftz || width(o) != 32 ? Kind::mufu : Kind::mufu_scaled;
}

Kind comparison(const Operation& o) {
    if (width(o) != 64) return Kind::predicate;
    return is_float(o) ? Kind::f64 : Kind::alu64;
}

Kind conversion(const Operation& o) {
    const Type to = o.mod.type[0], from = o.mod.types > 1 ? o.mod.type[1] : to;
    if (!isa::is_float(to) && !isa::is_float(from))
        // A half of 64 bits, or a zero for the other, costs nothing.
        return isa::bits(to) >= 32 &&
                       (isa::bits(from) == 64 || (isa::bits(from) == 32 && !isa::is_signed(from)))
                   ? Kind::free
                   : Kind::alu;
    // To an integer as to 64 bits: the unit of the special functions does it.
    return isa::bits(to) == 64 || isa::bits(from) == 64 ||
                   (isa::is_float(from) && !isa::is_float(to))
               ? Kind::convert64
               : Kind::convert;
}

Kind shuffle(const Operation& o) {
    return o.mod.shuffle == isa::Shuffle::idx ? Kind::shuffle_index : Kind::shuffle;
}

Kind copied(const Operation& o) { return o.reads_clock ? Kind::clock : Kind::free; }
Action read_clock(const Operation& o) { return o.reads_clock ? Action::clock : Action::plain; }

// Parameters and constants are operands, but at an address in a register.
Action loaded(const Operation& o) {
    if (o.mod.space == Space::param || o.mod.space == Space::const_)
        return o.address[0].base == isa::no_ref ? Action::free : Action::plain;
    return Action::load;
}
Action stored(const Operation& o) {
    return o.mod.space == Space::param ? Action::free : Action::store;
}
Action arrived(const Operation& o) {
    return o.mod.arrive ? Action::barrier_arrive : Action::barrier;
}

// fence.mbarrier_init, a release at the cluster's scope, costs an issue.
Kind fence_kind(const Operation& o) {
    using enum isa::MemoryScope;
    if (o.mod.scope == none)
        return o.mod.space == Space::shared ? Kind::fence_shared : Kind::fence_proxy;
    const bool made = o.mod.scope == cluster && o.mod.memory_order == isa::MemoryOrder::release;
    if (made) return Kind::warp_barrier;
    return o.mod.scope == cta ? Kind::fence : Kind::fence_wide;
}

constexpr auto alu = by_width<Kind::alu>;

constexpr std::array<OpTiming, isa::op_count> rows{{
    {.op = Op::mov, .kind = copied, .action = read_clock},
    {.op = Op::ld,
     .kind = Kind::constant,
     .action = loaded,
     .fold = Fold::access,
     .data = Data::elements},
    {.op = Op::st, .kind = alu, .action = stored, .fold = Fold::access, .data = Data::elements},
    {.op = Op::cvta, .kind = Kind::free},
    {.op = Op::isspacep, .kind = Kind::free},
    {.op = Op::mapa, .kind = Kind::free},
    {.op = Op::getctarank, .kind = Kind::free},
    {.op = Op::policy_fraction, .kind = Kind::free},
    {.op = Op::policy_range, .kind = Kind::free},
    {.op = Op::policy_convert, .kind = Kind::free},
    {.op = Op::hint, .kind = Kind::free},
    {.op = Op::cvt, .kind = conversion, .fold = Fold::convert},
    {.op = Op::cvt_pack, .kind = conversion},
    {.op = Op::prefetch, .kind = Kind::free},
    {.op = Op::atom, .kind = alu, .action = Action::atomic, .data = Data::elements, .atomic = true},
    {.op = Op::red, .kind = alu, .action = Action::store, .data = Data::elements, .atomic = true},

    {.op = Op::add, .kind = sum, .fold = Fold::sum},
    {.op = Op::sub, .kind = sum, .fold = Fold::sum},
    {.op = Op::mul, .kind = product, .fold = Fold::product},
    {.op = Op::mad, .kind = product},
    {.op = Op::fma, .kind = float_kind},
    {.op = Op::add_mixed, .kind = Kind::f32},
    {.op = Op::sub_mixed, .kind = Kind::f32},
    {.op = Op::fma_mixed, .kind = Kind::f32},
    {.op = Op::div, .kind = quotient},
    {.op = Op::rem, .kind = quotient},
    {.op = Op::abs, .kind = alu, .fold = Fold::sign},
    {.op = Op::neg, .kind = alu, .fold = Fold::sign},
    {.op = Op::min, .kind = alu},
    {.op = Op::max, .kind = alu},
    {.op = Op::min3, .kind = alu},
    {.op = Op::max3, .kind = alu},
    {.op = Op::rcp, .kind = root},
    {.op = Op::sqrt, .kind = root},
    {.op = Op::sad, .kind = alu},
    {.op = Op::copysign, .kind = alu},
    {.op = Op::ex2, .kind = special_function},
    {.op = Op::lg2, .kind = special_function},
    {.op = Op::rsqrt, .kind = special_function},
    {.op = Op::sin, .kind = Kind::mufu_scaled},
    {.op = Op::cos, .kind = Kind::mufu_scaled},
    {.op = Op::tanh, .kind = Kind::mufu},
    {.op = Op::rcp_approx, .kind = special_function},
    {.op = Op::sqrt_approx, .kind = special_function},
    {.op = Op::div_approx, .kind = Kind::divide_f32_full},
    {.op = Op::div_full, .kind = Kind::divide_f32_full},
    {.op = Op::popc, .kind = Kind::count_bits},
    {.op = Op::clz, .kind = Kind::find_bit},
    {.op = Op::bfind, .kind = Kind::find_bit},
    {.op = Op::brev, .kind = Kind::count_bits},
    {.op = Op::bfe, .kind = Kind::bit_field},
    {.op = Op::bfi, .kind = Kind::bit_field},
    {.op = Op::and_, .kind = alu, .fold = Fold::logic},
    {.op = Op::or_, .kind = alu, .fold = Fold::logic},
    {.op = Op::xor_, .kind = alu, .fold = Fold::logic},
    {.op = Op::not_, .kind = alu, .fold = Fold::logic},
    {.op = Op::cnot, .kind = alu},
    {.op = Op::lop3, .kind = alu, .fold = Fold::logic},
    {.op = Op::shl, .kind = alu, .fold = Fold::shift},
    {.op = Op::shr, .kind = alu},
    {.op = Op::shf, .kind = alu},
    {.op = Op::prmt, .kind = alu},
    {.op = Op::dp4a, .kind = Kind::multiply},
    {.op = Op::dp2a, .kind = Kind::multiply},
    {.op = Op::addc, .kind = by_width<Kind::add>},
    {.op = Op::subc, .kind = by_width<Kind::add>},
    {.op = Op::madc, .kind = product},
    {.op = Op::mul24, .kind = Kind::multiply},
    {.op = Op::mad24, .kind = Kind::multiply},
    {.op = Op::bmsk, .kind = Kind::bit_field},
    {.op = Op::szext, .kind = Kind::bit_field},
    {.op = Op::fns, .kind = Kind::find_bit},
    {.op = Op::testp, .kind = comparison},
    {.op = Op::setp, .kind = comparison},
    {.op = Op::set, .kind = alu},
    {.op = Op::selp, .kind = alu},
    {.op = Op::slct, .kind = alu},
    {.op = Op::vadd, .kind = Kind::bit_field},
    {.op = Op::vsub, .kind = Kind::bit_field},
    {.op = Op::vabsdiff, .kind = Kind::bit_field},
    {.op = Op::vmin, .kind = Kind::bit_field},
    {.op = Op::vmax, .kind = Kind::bit_field},
    {.op = Op::vset, .kind = Kind::bit_field},
    {.op = Op::vshl, .kind = Kind::bit_field},
    {.op = Op::vshr, .kind = Kind::bit_field},
    {.op = Op::vmad, .kind = Kind::multiply64},
    {.op = Op::vadd2, .kind = Kind::bit_field},
    {.op = Op::vsub2, .kind = Kind::bit_field},
    {.op = Op::vavrg2, .kind = Kind::bit_field},
    {.op = Op::vabsdiff2, .kind = Kind::bit_field},
    {.op = Op::vmin2, .kind = Kind::bit_field},
    {.op = Op::vmax2, .kind = Kind::bit_field},
    {.op = Op::vset2, .kind = Kind::bit_field},
    {.op = Op::vadd4, .kind = Kind::bit_field},
    {.op = Op::vsub4, .kind = Kind::bit_field},
    {.op = Op::vavrg4, .kind = Kind::bit_field},
    {.op = Op::vabsdiff4, .kind = Kind::bit_field},
    {.op = Op::vmin4, .kind = Kind::bit_field},
    {.op = Op::vmax4, .kind = Kind::bit_field},
    {.op = Op::vset4, .kind = Kind::bit_field},

    {.op = Op::bra, .kind = Kind::branch, .action = Action::branch},
    {.op = Op::brx, .kind = Kind::branch, .action = Action::branch},
    {.op = Op::call, .kind = Kind::call, .action = Action::branch},
    {.op = Op::alloca_, .kind = alu},
    {.op = Op::stacksave, .kind = alu},
    {.op = Op::stackrestore, .kind = alu},
    {.op = Op::ret, .kind = Kind::branch, .action = Action::branch},
    {.op = Op::exit, .kind = Kind::alu, .action = Action::exit},
    {.op = Op::trap, .kind = Kind::alu, .action = Action::exit},
    {.op = Op::brkpt, .kind = Kind::alu},
    {.op = Op::nanosleep, .kind = Kind::wait},
    {.op = Op::fence, .kind = fence_kind},
    {.op = Op::bar, .kind = Kind::barrier, .action = arrived},
    {.op = Op::bar_red, .kind = Kind::barrier, .action = arrived},
    {.op = Op::bar_warp, .kind = Kind::warp_barrier},
    {.op = Op::activemask, .kind = Kind::vote},
    {.op = Op::shfl, .kind = shuffle},
    {.op = Op::vote, .kind = Kind::vote},
    {.op = Op::match, .kind = Kind::match},
    {.op = Op::redux, .kind = Kind::reduce},
    {.op = Op::redux_float, .kind = Kind::reduce},
    {.op = Op::elect, .kind = Kind::vote},

    {.op = Op::cp_async, .kind = alu, .action = Action::copy},
    {.op = Op::cp_async_commit, .kind = Kind::wait, .action = Action::copy_commit},
    {.op = Op::cp_async_wait, .kind = Kind::wait, .action = Action::copy_wait},
    {.op = Op::cp_async_wait_all, .kind = Kind::wait, .action = Action::copy_wait_all},
    {.op = Op::bulk_load, .kind = alu, .action = Action::bulk_load},
    {.op = Op::bulk_send, .kind = alu},
    {.op = Op::bulk_store, .kind = alu, .action = Action::bulk_store},
    {.op = Op::bulk_reduce, .kind = alu, .action = Action::bulk_store},
    {.op = Op::bulk_send_reduce, .kind = alu},
    {.op = Op::bulk_prefetch, .kind = Kind::free},
    {.op = Op::bulk_commit, .kind = Kind::wait, .action = Action::bulk_commit},
    {.op = Op::bulk_wait, .kind = Kind::wait, .action = Action::bulk_wait},
    {.op = Op::tensor_load, .kind = alu, .action = Action::bulk_load},
    {.op = Op::tensor_store, .kind = alu, .action = Action::bulk_store},
    {.op = Op::tensor_reduce, .kind = alu, .action = Action::bulk_store},
    {.op = Op::tensor_prefetch, .kind = Kind::free},
    {.op = Op::tensormap_replace, .kind = alu, .action = Action::store},
    {.op = Op::tensormap_copy, .kind = alu},
    {.op = Op::launch_cancel, .kind = alu},
    {.op = Op::launch_canceled, .kind = alu},
    {.op = Op::launch_first, .kind = alu},
    {.op = Op::async_store, .kind = alu, .action = Action::store, .data = Data::elements},
    {.op = Op::async_reduce,
     .kind = alu,
     .action = Action::store,
     .data = Data::elements,
     .atomic = true},
    {.op = Op::multimem_load, .kind = alu, .action = Action::load, .data = Data::elements},
    {.op = Op::multimem_store, .kind = alu, .action = Action::store, .data = Data::elements},
    {.op = Op::multimem_reduce,
     .kind = alu,
     .action = Action::store,
     .data = Data::elements,
     .atomic = true},
    {.op = Op::tex, .kind = alu, .action = Action::load, .data = Data::elements},
    {.op = Op::tld4, .kind = alu, .action = Action::load, .data = Data::elements},
    {.op = Op::suld, .kind = alu, .action = Action::load, .data = Data::elements},
    {.op = Op::sust, .kind = alu, .action = Action::store, .data = Data::elements},
    {.op = Op::texture_query, .kind = alu},
    {.op = Op::surface_query, .kind = alu},
    {.op = Op::set_max_registers, .kind = Kind::registers},
    {.op = Op::cluster_arrive, .kind = alu},
    {.op = Op::cluster_wait, .kind = Kind::barrier, .action = arrived},
    {.op = Op::mbarrier_init, .kind = alu, .action = Action::store},
    {.op = Op::mbarrier_inval, .kind = alu, .action = Action::store},
    {.op = Op::mbarrier_expect, .kind = alu, .action = Action::store},
    {.op = Op::mbarrier_complete, .kind = alu, .action = Action::store},
    {.op = Op::mbarrier_arrive, .kind = alu, .action = Action::atomic, .atomic = true},
    {.op = Op::mbarrier_drop, .kind = alu, .action = Action::atomic, .atomic = true},
    {.op = Op::mbarrier_wait, .kind = Kind::wait, .action = Action::phase_wait},
    {.op = Op::mbarrier_pending, .kind = alu},
    {.op = Op::mbarrier_copies, .kind = alu, .action = Action::store},

    {.op = Op::ldmatrix, .kind = alu, .action = Action::load, .data = Data::fragment},
    {.op = Op::stmatrix, .kind = alu, .action = Action::store, .data = Data::fragment},
    {.op = Op::movmatrix, .kind = Kind::move_matrix},
    {.op = Op::mma, .kind = alu, .action = Action::tensor},
    {.op = Op::wmma_load, .kind = alu, .action = Action::load, .data = Data::fragment},
    {.op = Op::wmma_store, .kind = alu, .action = Action::store, .data = Data::fragment},
    {.op = Op::wmma_mma, .kind = alu, .action = Action::tensor},
    {.op = Op::wgmma_mma, .kind = alu, .action = Action::tensor},
    {.op = Op::wgmma_fence, .kind = Kind::warp_barrier},
    {.op = Op::wgmma_commit, .kind = alu, .action = Action::product_commit},
    {.op = Op::wgmma_wait, .kind = Kind::wait, .action = Action::product_wait},
}};

static_assert(isa::complete(rows));

}  // namespace

const OpTiming& op_timing(Op op) { return rows[static_cast<size_t>(op)]; }

unsigned width(const Operation& o) { return o.mod.types == 0 ? 32 : isa::bits(o.mod.type[0]); }

}  // namespace lockwarp::timing
