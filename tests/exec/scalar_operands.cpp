// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/scalar_operands.hpp"

#include <random>

#include "tests/exec/exact.hpp"

namespace lockwarp::exec {

namespace {

using Random = std::mt19937_64;

std::vector<uint64_t> edges_of_floats(const FloatFormat& f) {
    const uint64_t hidden = uint64_t{1} << (f.fraction_bits + f.low_zeros);
    const uint64_t place = uint64_t{1} << f.low_zeros;
    const uint64_t one = rounded(f, {}, false, 1, 0);
    std::vector<uint64_t> out{0,
                              place,           // the smallest number
                              hidden - place,  // the largest subnormal one
                              hidden,          // the smallest normal one
                              hidden + place,
                              hidden / 2,
                              one,
                              one + place,
                              one - place,
                              one + hidden / 2,
                              one + hidden / 4,
                              one + hidden,  // 2
                              one - hidden,  // 1/2
                              one - hidden + place,
                              one + 7 * hidden - place,
                              one + 7 * hidden,
                              one + 8 * hidden + hidden / 4,
                              f.largest,
                              f.largest - place,
                              f.largest - hidden,
                              f.nan & (sign_of(f) - 1)};
    if (f.has_infinity) {
        const uint64_t infinity = infinity_of(f, false);
        out.insert(out.end(), {infinity, infinity + place, infinity + hidden / 2,
                               infinity + hidden / 2 + 5 * place});
        // The NaN that tensor copies fill with, of 16 bits.
        if (f.nan < 0x10000) out.push_back(0x7ff7);
    }
    for (size_t i = 0, n = out.size(); i < n; ++i) out.push_back(out[i] | sign_of(f));
    return out;
}

std::vector<uint64_t> edges_of_wholes(unsigned width) {
    std::vector<uint64_t> out;
    for (const uint64_t n : {0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 100})
        out.insert(out.end(), {n, ~n});
    for (const unsigned bit : {7u, 8u, 15u, 16u, 23u, 24u, 31u, 32u, 53u, 63u})
        if (bit <= width)
            for (const uint64_t n : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1})
                out.insert(out.end(), {n, 0 - n});
    out.push_back(0x123456789abcdef0);
    return out;
}

std::vector<uint64_t> edges_of(const TypeName& t) {
    if (t.width == 1) return {0, 1};
    if (t.kind == TypeKind::floating) return edges_of_floats(float_format(t.name));
    return edges_of_wholes(t.width);
}

// Of floating-point types: any bits, near one, or with few bits set; of others any bits or few.
uint64_t random_value(const TypeName& t, unsigned kind, Random& random) {
    const uint64_t bits = random();
    if (t.kind != TypeKind::floating)
        return kind == 0 ? bits : kind == 1 ? bits % 70 : bits >> (random() % 64);
    const FloatFormat& f = float_format(t.name);
    if (kind == 0) return bits;
    const uint64_t hidden = uint64_t{1} << (f.fraction_bits + f.low_zeros);
    const uint64_t exponent = rounded(f, {}, false, 1, 0) / hidden + random() % 7 - 3;
    uint64_t fraction = bits % hidden;
    if (kind == 2) fraction = (uint64_t{1} << (bits % 64)) % hidden;
    return exponent * hidden + fraction + (random() % 2 == 0 ? sign_of(f) : 0);
}

// Both elements of a packed type, or the value.
uint64_t random_register(const TypeName& t, unsigned kind, Random& random) {
    const uint64_t low = random_value(t, kind, random);
    if (t.lanes == 1) return low;
    const unsigned width = t.width / 2;
    return lower(low, width) | random_value(t, kind, random) << width;
}

}  // namespace

std::vector<Operands> operands_of(const std::vector<TypeName>& sources, Amount amount,
                                  size_t scale) {
    Random random(sources.size() * 100 + sources[0].width);
    std::vector<Operands> out;
    const auto source = [&](size_t i) { return sources[i < sources.size() ? i : 0]; };
    const TypeName& first = sources[0];
    const unsigned element = first.width / first.lanes;
    const bool alone = sources.size() == 1;
    if (alone && element <= 16 && first.width > 1) {
        // Every value of an element, and in the upper one every value in another order. fp8: every
        // pair.
        for (uint64_t v = 0; v < 0x10000; ++v) {
            const uint64_t upper = lower(v * 40503 + 12345, 16);
            out.push_back({v | upper << 16 | upper << 48, 0, 0, random()});
        }
        return out;
    }
    std::vector<std::vector<uint64_t>> edges;
    for (size_t i = 0; i < 3; ++i) edges.push_back(edges_of(source(i)));
    const size_t step = amount == Amount::few ? 3 : 1;
    const size_t second = alone ? 1 : edges[1].size();
    for (size_t i = 0; i < edges[0].size(); i += alone ? 1 : step)
        for (size_t j = 0; j < second; j += step)
            for (size_t k = 0; k < (sources.size() > 2 && amount == Amount::usual ? 2 : 1); ++k) {
                Operands o{edges[0][i], edges[1][j],
                           edges[2][(7 * i + 13 * j + 29 * k) % edges[2].size()], random()};
                // Packed: the other element is another edge.
                for (size_t n = 0; n < 3; ++n)
                    if (source(n).lanes == 2)
                        o[n] = lower(o[n], source(n).width / 2) |
                               edges[n][(i + 3 * j + n) % edges[n].size()] << (source(n).width / 2);
                out.push_back(o);
            }
    const size_t count = scale * (amount == Amount::few ? 150 : 2000);
    for (size_t n = 0; n < count; ++n) {
        Operands o{};
        for (size_t i = 0; i < 4; ++i)
            o[i] = random_register(source(i), static_cast<unsigned>(n % 3), random);
        // Equal operands, and sums that cancel.
        if (n % 16 == 0) o[1] = o[0];
        if (n % 16 == 1) o[2] = o[0];
        if (n % 16 == 2 && first.kind == TypeKind::floating)
            o[1] = o[0] ^ uint64_t { 1 } << (first.width - 1);
        out.push_back(o);
    }
    return out;
}

}  // namespace lockwarp::exec
