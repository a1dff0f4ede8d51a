// SPDX-License-Identifier: Apache-2.0
#include "emu/num/mufu.hpp"

#include "emu/num/mufu_model.hpp"

namespace lockwarp::num {

uint64_t ex2_approx(isa::Type t, uint64_t a, bool ftz) {
    return special_function(mufu_tables, Special::ex2, t, ftz, a);
}

uint64_t lg2_approx(isa::Type t, uint64_t a, bool ftz) {
    return special_function(mufu_tables, Special::lg2, t, ftz, a);
}

uint64_t rcp_approx(isa::Type t, uint64_t a, bool ftz) {
    return special_function(mufu_tables, Special::rcp, t, ftz, a);
}

uint64_t rsqrt_approx(isa::Type t, uint64_t a, bool ftz) {
    return special_function(mufu_tables, Special::rsqrt, t, ftz, a);
}

uint64_t sqrt_approx(isa::Type t, uint64_t a, bool ftz) {
    return special_function(mufu_tables, Special::sqrt, t, ftz, a);
}

uint64_t sin_approx(isa::Type t, uint64_t a, bool ftz) {
    return special_function(mufu_tables, Special::sin, t, ftz, a);
}

uint64_t cos_approx(isa::Type t, uint64_t a, bool ftz) {
    return special_function(mufu_tables, Special::cos, t, ftz, a);
}

uint64_t tanh_approx(isa::Type t, uint64_t a, bool ftz) {
    return special_function(mufu_tables, Special::tanh, t, ftz, a);
}

uint64_t div_approx(uint64_t a, uint64_t b, bool ftz) {
    return special_function(mufu_tables, Special::div_approx, isa::Type::f32, ftz, a, b);
}

uint64_t div_full(uint64_t a, uint64_t b, bool ftz) {
    return special_function(mufu_tables, Special::div_full, isa::Type::f32, ftz, a, b);
}

}  // namespace lockwarp::num
