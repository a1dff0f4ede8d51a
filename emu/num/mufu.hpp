// SPDX-License-Identifier: Apache-2.0
// The .approx functions of PTX, bit for bit as an H200 gives them: quadratic tables, evaluated in
// integers as the special function unit does. A value is a bit pattern in the low end of a
// uint64_t, as in ieee.hpp; packed types are taken one element at a time. mufu_model.hpp defines
// them, for host and GPU; `lockwarp special` compares them with a GPU.
//
// Compared with an H200, driver 580, without a difference: functions of f32, f16 and bf16 on every
// operand, f64 on every high word, quotients on 2^36 pairs each; rsqrt.approx.f64 without .ftz
// is ptxas 13.0's code around them. Of other architectures nothing is known: the same tables serve
// there.
#pragma once

#include <cstdint>

#include "emu/isa/types.hpp"

namespace lockwarp::num {

// Types: f32; where said, also others. Without ftz, operands and results are subnormal too, as in
// the code that NVIDIA's assembler makes of those forms.
uint64_t ex2_approx(isa::Type t, uint64_t a, bool ftz);    // f32, f16, bf16
uint64_t lg2_approx(isa::Type t, uint64_t a, bool ftz);    // f32
uint64_t rcp_approx(isa::Type t, uint64_t a, bool ftz);    // f32; f64 always flushes
uint64_t rsqrt_approx(isa::Type t, uint64_t a, bool ftz);  // f32, f64
uint64_t sqrt_approx(isa::Type t, uint64_t a, bool ftz);   // f32
uint64_t sin_approx(isa::Type t, uint64_t a, bool ftz);    // f32
uint64_t cos_approx(isa::Type t, uint64_t a, bool ftz);    // f32
uint64_t tanh_approx(isa::Type t, uint64_t a, bool ftz);   // f32, f16, bf16; never flushes

// Of f32.
uint64_t div_approx(uint64_t a, uint64_t b, bool ftz);
uint64_t div_full(uint64_t a, uint64_t b, bool ftz);

}  // namespace lockwarp::num
