// SPDX-License-Identifier: Apache-2.0
#include "tests/num/inputs.hpp"

namespace lockwarp::num::testing {
namespace {

using isa::Type;

uint64_t below(uint64_t bound, Random& random) { return random() % bound; }

uint64_t assemble(const FormatRow& f, int field, uint64_t fraction, bool negative) {
    const int highest = (1 << f.exponent_bits) - 1 - (f.has_infinity ? 1 : 0);
    const auto clamped = static_cast<uint64_t>(std::clamp(field, 0, highest));
    const uint64_t mask = (uint64_t{1} << f.fraction_bits) - 1;
    uint64_t magnitude = clamped << f.fraction_bits | (fraction & mask);
    magnitude = std::min(magnitude, largest_magnitude(f));
    return with_sign(f, negative, magnitude);
}

// Fractions with long runs of zeros and ones find ties and carries.
uint64_t fraction(const FormatRow& f, Random& random) {
    switch (below(4, random)) {
        case 0:
            return 0;
        case 1:
            return ~uint64_t{0} << below(f.fraction_bits, random);
        default:
            return random();
    }
}

uint64_t within(const FormatRow& f, int center, int spread, Random& random) {
    const int field = center - spread + static_cast<int>(below(2 * spread + 1, random));
    return assemble(f, field, fraction(f, random), below(2, random) != 0);
}

uint64_t element(InputClass input, Type t, Random& random) {
    if (!isa::is_float(t)) {
        // Next to either end half of the time, else anything.
        const uint64_t top = uint64_t{1} << (isa::bits(t) - 1);
        const uint64_t all = top | (top - 1);
        return (below(2, random) != 0 ? random() : top - 2 + below(4, random)) & all;
    }
    const FormatRow& f = format(t);
    const int fields = 1 << f.exponent_bits;
    switch (input) {
        case InputClass::narrow:
            return within(f, bias(f), 2, random);
        case InputClass::medium:
            return within(f, bias(f), fields / 6, random);
        case InputClass::full:
        case InputClass::cancelling:
            return within(f, fields / 2, fields / 2, random);
        case InputClass::subnormal:
            return within(f, below(3, random) == 0 ? bias(f) : 0, 2, random);
        case InputClass::special:
            switch (below(8, random)) {
                case 0:
                    return with_sign(f, below(2, random) != 0, 0);
                case 1:
                    if (f.has_infinity)
                        return with_sign(f, below(2, random) != 0, infinity_magnitude(f));
                    [[fallthrough]];
                case 2:
                    if (below(4, random) == 0)
                        return f.has_infinity ? f.nan & ~uint64_t{1} << f.low_zeros
                                              : f.nan | (below(2, random) * sign_bit(f));
                    [[fallthrough]];
                default:
                    return within(f, bias(f), 4, random);
            }
        case InputClass::overflow:
            return within(f, below(2, random) != 0 ? fields - 2 : bias(f), 1, random);
        case InputClass::zeros:
            if (below(5, random) == 0)
                return within(f, below(2, random) != 0 ? bias(f) : 0, 1, random);
            return with_sign(f, below(2, random) != 0, 0);
        case InputClass::count_:
            break;
    }
    return 0;
}

}  // namespace

std::string_view name(InputClass c) {
    constexpr std::array<std::string_view, input_classes> names{
        "narrow", "medium", "full", "cancelling", "subnormal", "special", "overflow", "zeros"};
    return names[static_cast<size_t>(c)];
}

Operands make_operands(InputClass input, MatrixShape shape, MatrixTypes types, Random& random) {
    Operands x;
    for (int i = 0; i < shape.m * shape.k; ++i) x.a.push_back(element(input, types.a, random));
    for (int i = 0; i < shape.n * shape.k; ++i) x.b.push_back(element(input, types.b, random));
    for (int i = 0; i < shape.m * shape.n; ++i) x.c.push_back(element(input, types.c, random));
    if (input != InputClass::cancelling || !isa::is_float(types.a)) return x;
    // The second of two neighbours is the first with the other sign in A, at times one place off.
    const FormatRow& f = format(types.a);
    for (size_t i = 1; i < x.a.size(); i += 2) {
        const uint64_t step = below(3, random) == 0 ? uint64_t{1} << f.low_zeros : 0;
        x.a[i] = (x.a[i - 1] ^ sign_bit(f)) ^ step;
    }
    for (size_t i = 1; i < x.b.size(); i += 2) x.b[i] = x.b[i - 1];
    for (uint64_t& c : x.c)
        if (below(2, random) == 0) c = with_sign(format(types.c), below(2, random) != 0, 0);
    return x;
}

std::vector<uint8_t> make_factors(InputClass input, Type scale, int count, Random& random) {
    const bool power = scale == Type::ue8m0;
    const uint64_t one = power ? 127 : 7 << 3;
    std::vector<uint8_t> out;
    for (int i = 0; i < count; ++i) {
        uint64_t bits = one - 2 + below(5, random);
        switch (input) {
            case InputClass::narrow:
            case InputClass::cancelling:
                break;
            case InputClass::subnormal:  // of ue4m3; of ue8m0 the smallest powers
                bits = below(3, random) == 0 ? bits : below(9, random);
                break;
            case InputClass::overflow:
                bits = below(2, random) == 0 ? bits : (power ? 254 : 0x7E) - below(3, random);
                break;
            case InputClass::special:
                if (below(6, random) == 0) bits = power ? 0xFF : 0x7F;
                break;
            case InputClass::zeros:
                if (below(2, random) == 0) bits = 0;
                break;
            case InputClass::medium:
                bits = one - 16 + below(33, random);
                break;
            default:
                bits = below(power ? 255 : 0x7F, random);
                break;
        }
        // The sign of ue4m3 is not looked at.
        if (!power && below(3, random) == 0) bits |= 0x80;
        out.push_back(static_cast<uint8_t>(bits));
    }
    return out;
}

std::vector<uint64_t> landmarks(Type t) {
    const FormatRow& f = format(t);
    const uint64_t smallest = uint64_t{1} << f.fraction_bits;
    const uint64_t one = static_cast<uint64_t>(bias(f)) << f.fraction_bits;
    const uint64_t infinity = infinity_magnitude(f);
    std::vector<uint64_t> all;
    for (const uint64_t magnitude : {uint64_t{0},
                                     uint64_t{1},
                                     uint64_t{2},
                                     smallest / 2,
                                     smallest - 1,
                                     smallest,
                                     smallest + 1,
                                     one / 2,
                                     one - smallest,
                                     one - 1,
                                     one,
                                     one + 1,
                                     one + smallest / 2,
                                     one + smallest,
                                     infinity - smallest,
                                     infinity - 1,
                                     infinity,
                                     infinity + 1,
                                     infinity + smallest / 2,
                                     infinity + smallest - 1})
        for (const bool negative : {false, true}) all.push_back(with_sign(f, negative, magnitude));
    return all;
}

uint64_t random_operand(Type t, Random& random) {
    const FormatRow& f = format(t);
    const int fields = 1 << f.exponent_bits;
    switch (below(6, random)) {
        case 0:
            return random() & (sign_bit(f) | (sign_bit(f) - 1));
        case 1:
            return within(f, bias(f), 3, random);
        case 2:
            return within(f, bias(f), f.fraction_bits + 2, random);
        case 3:
            return within(f, 0, f.fraction_bits + 2, random);
        case 4:
            return within(f, fields - 2, 3, random);
        default: {
            const std::vector<uint64_t> all = landmarks(t);
            return all[below(all.size(), random)];
        }
    }
}

}  // namespace lockwarp::num::testing
