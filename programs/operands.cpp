// SPDX-License-Identifier: Apache-2.0
#include "programs/operands.hpp"

#include <array>

namespace lockwarp::programs {

namespace {

using isa::Type;

struct Format {
    unsigned exponent_bits;
    unsigned fraction_bits;
};

Format format_of(Type t) {
    switch (t) {
        case Type::f16:
            return {5, 10};
        case Type::bf16:
            return {8, 7};
        case Type::e4m3:
            return {4, 3};
        case Type::e5m2:
            return {5, 2};
        case Type::f64:
            return {11, 52};
        default:
            return {8, 23};
    }
}

uint64_t floating(Type type, OperandClass from, launch::Random& r) {
    if (isa::bits(type) < 8) return r.next();  // few numbers, each as good as any
    const Format f = format_of(type);
    const uint64_t fraction_mask = (uint64_t{1} << f.fraction_bits) - 1;
    const uint64_t top = (uint64_t{1} << f.exponent_bits) - 1;  // exponent of Inf and NaN
    const uint64_t bias = top / 2;
    uint64_t sign = r.below(2);
    uint64_t exponent = 0;
    uint64_t fraction = r.next() & fraction_mask;
    // Few bits set, or all but few: what ties and carries are made of.
    if (r.one_in(3)) fraction = (uint64_t{1} << r.below(f.fraction_bits + 1)) & fraction_mask;
    if (r.one_in(6)) fraction = fraction_mask & ~(uint64_t{1} << r.below(f.fraction_bits));
    switch (from) {
        case OperandClass::narrow:
            exponent = bias - 2 + r.below(5);
            break;
        case OperandClass::medium:
            exponent = bias - bias / 4 + r.below(bias / 2 + 1);
            break;
        case OperandClass::full:
            exponent = r.below(top);
            break;
        case OperandClass::cancelling:
            exponent = bias - 1 + r.below(3);
            fraction = r.below(4) << (f.fraction_bits - 2);
            break;
        case OperandClass::subnormal:
            exponent = r.below(3);
            break;
        case OperandClass::special:
            switch (r.below(6)) {
                case 0:
                    exponent = top, fraction = 0;
                    break;
                case 1:
                    exponent = top;
                    break;
                case 2:
                    exponent = 0, fraction = 0;
                    break;
                case 3:
                    exponent = top - 1, fraction = fraction_mask;
                    break;
                case 4:
                    exponent = 0, fraction = 1;
                    break;
                default:
                    exponent = bias;
                    break;
            }
            break;
        case OperandClass::overflow:
            exponent = top - 1 - r.below(3);
            break;
        default:
            return r.next();
    }
    return (sign << f.exponent_bits | exponent) << f.fraction_bits | fraction;
}

uint64_t integer(unsigned width, launch::Random& r) {
    const uint64_t top = uint64_t{1} << (width - 1);
    switch (r.below(8)) {
        case 0:
            return 0;
        case 1:
            return ~uint64_t{0};
        case 2:
            return top;
        case 3:
            return top - 1;
        case 4:
            return r.below(40);
        case 5:
            return uint64_t{1} << r.below(width);
        case 6:
            return 0 - r.below(40);
        default:
            return r.next();
    }
}

}  // namespace

uint64_t operand(Type type, OperandClass from, launch::Random& random) {
    const unsigned width = isa::bits(type);
    const uint64_t value =
        isa::is_float(type) ? floating(type, from, random) : integer(width < 8 ? 8 : width, random);
    return width >= 64 ? value : value & ((uint64_t{1} << width) - 1);
}

uint64_t register_operand(Type type, OperandClass from, launch::Random& random) {
    switch (type) {
        case Type::f16x2:
        case Type::bf16x2:
        case Type::f32x2:
        case Type::e4m3x2:
        case Type::e5m2x2: {
            const Type element = isa::element_of(type);
            const uint64_t high = operand(element, from, random);
            return high << isa::bits(element) | operand(element, from, random);
        }
        // Instructions on 8 bits read a part of a wider register.
        case Type::u8:
        case Type::s8:
        case Type::b8:
            return operand(Type::u32, from, random);
        default:
            return operand(type, from, random);
    }
}

uint64_t fragment_register(Type element, unsigned held, OperandClass from, launch::Random& random) {
    if (held == 0) held = isa::bits(element);
    const unsigned width = isa::bits(element) == 64 ? 64 : 32;
    const unsigned below = held == 8 && isa::bits(element) == 4 ? 2 : 0;
    uint64_t out = 0;
    for (unsigned at = 0; at < width; at += held)
        out |= operand(element, from, random) << (at + below);
    return out;
}

uint32_t scale_register(Type scale, OperandClass from, launch::Random& random) {
    const bool power = scale == Type::ue8m0;
    const uint64_t one = power ? 127 : 7 << 3;
    uint64_t out = 0;
    for (unsigned at = 0; at < 32; at += 8) {
        uint64_t factor = one - 4 + random.below(9);
        if (from >= OperandClass::special || from == OperandClass::full) {
            // The smallest, the largest and NaN, or any.
            const std::array<uint64_t, 4> ends{0, 1, power ? 254u : 0x7E, power ? 255u : 0x7F};
            if (random.one_in(2)) factor = random.one_in(4) ? ends[random.below(4)] : random.next();
        }
        out |= (factor & 0xFF) << at;
    }
    return static_cast<uint32_t>(out);
}

uint32_t metadata_register(Type element, launch::Random& random) {
    if (random.one_in(4)) return static_cast<uint32_t>(random.next());
    // The first place in the low half; an element of 32 bits takes both halves of two places.
    constexpr std::array<uint32_t, 6> places{0b0100, 0b1110, 0b1000, 0b1100, 0b1001, 0b1101};
    const uint64_t choices = isa::bits(element) == 32 ? 2 : places.size();
    uint32_t out = 0;
    for (unsigned at = 0; at < 32; at += 4) out |= places[random.below(choices)] << at;
    return out;
}

}  // namespace lockwarp::programs
