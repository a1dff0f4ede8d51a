// The tables of the special function unit. Each is a quadratic over segments of the operand's
// fraction, in integers. Internal to this room.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lockwarp::num {

struct Coefficients {
    int32_t c0, c1, c2;
};

// A value is ((c0 << c0_shift) + bias + c1 * d + c2 * square(d)) >> result_shift.
struct MufuTable {
    std::span<const Coefficients> rows;
    int c0_shift;
    int bias;
    int result_shift;
};

extern const MufuTable reciprocal_table;    // 1/x of [1, 2): 128 segments
extern const MufuTable power_of_two_table;  // 2^x of [0, 1)
extern const MufuTable rsqrt_even_table;    // of [1, 2)
extern const MufuTable rsqrt_odd_table;     // of [2, 4)
extern const MufuTable sqrt_even_table;
extern const MufuTable sqrt_odd_table;
extern const MufuTable logarithm_table;  // log2(x) of [1, 2)
extern const MufuTable sine_table;       // sin(x * pi/2) of [0, 1)
extern const MufuTable
    tangent_table;  // tanh(x) of [2^-8, 8): mufu.cpp has the rows of each exponent

}  // namespace lockwarp::num
