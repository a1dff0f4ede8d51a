// SPDX-License-Identifier: Apache-2.0
// The approximate functions of the special function unit. PTX manual, "Floating Point
// Instructions", "Half Precision Floating Point Instructions".
#include "emu/exec/families.hpp"
#include "emu/num/mufu.hpp"

namespace lockwarp::exec {

namespace {

using Function = uint64_t (*)(Type, uint64_t, bool ftz);
using Quotient = uint64_t (*)(uint64_t, uint64_t, bool ftz);

template <Function F>
void of_one(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const isa::Modifiers& m = s.op->mod;
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<uint32_t>(F(m.type[0], a[l], m.ftz)); });
}

template <Function F>
void of_two_halves(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const Type element = s.op->mod.type[0] == Type::f16x2 ? Type::f16 : Type::bf16;
    const bool ftz = s.op->mod.ftz;
    for_lanes(mask, [&](unsigned l) {
        const uint64_t low = F(element, a[l] & 0xffff, ftz);
        const uint64_t high = F(element, a[l] >> 16, ftz);
        d[l] = static_cast<uint32_t>(high << 16 | low);
    });
}

template <Function F>
void of_f64(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint64_t>(c, s.op->r[0]);
    const auto* a = slot<uint64_t>(c, s.op->r[1]);
    const bool ftz = s.op->mod.ftz;
    for_lanes(mask, [&](unsigned l) { d[l] = F(Type::f64, a[l], ftz); });
}

template <Function F>
Handler by_type(Type t) {
    if (t == Type::f64) return of_f64<F>;
    return isa::row(t).lanes == 2 ? of_two_halves<F> : of_one<F>;
}

template <Quotient F>
void quotient(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const bool ftz = s.op->mod.ftz;
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<uint32_t>(F(a[l], b[l], ftz)); });
}

}  // namespace

Handler ex2_handler(const Operation& o) { return by_type<num::ex2_approx>(o.mod.type[0]); }
Handler lg2_handler(const Operation& o) { return by_type<num::lg2_approx>(o.mod.type[0]); }
Handler rcp_approx_handler(const Operation& o) { return by_type<num::rcp_approx>(o.mod.type[0]); }
Handler rsqrt_handler(const Operation& o) { return by_type<num::rsqrt_approx>(o.mod.type[0]); }
Handler sqrt_approx_handler(const Operation& o) { return by_type<num::sqrt_approx>(o.mod.type[0]); }
Handler sin_handler(const Operation& o) { return by_type<num::sin_approx>(o.mod.type[0]); }
Handler cos_handler(const Operation& o) { return by_type<num::cos_approx>(o.mod.type[0]); }
Handler tanh_handler(const Operation& o) { return by_type<num::tanh_approx>(o.mod.type[0]); }
Handler div_approx_handler(const Operation&) { return quotient<num::div_approx>; }
Handler div_full_handler(const Operation&) { return quotient<num::div_full>; }

}  // namespace lockwarp::exec
