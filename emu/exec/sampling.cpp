// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/sampling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "emu/num/ieee.hpp"
#include "emu/num/round.hpp"

namespace lockwarp::exec {

namespace {

using isa::AddressMode;
using isa::TexelKind;
using isa::Texture;

constexpr int64_t outside = -1;
constexpr unsigned fraction_bits = 8;
constexpr uint32_t one = 1u << fraction_bits;
constexpr uint32_t nan_bits = 0x7fffffff;

// The elements that a coordinate falls between along one axis, the second with this weight.
struct Axis {
    std::array<int64_t, 2> index{};
    uint32_t second = 0;
};

int64_t floor_of(double x) {
    constexpr double most = 1099511627776.0;  // far beyond every texture
    return static_cast<int64_t>(std::floor(std::clamp(x, -most, most)));
}

int64_t folded(int64_t index, int64_t size, AddressMode mode) {
    const auto modulo = [&](int64_t n) { return ((index % n) + n) % n; };
    switch (mode) {
        case AddressMode::wrap:
            return modulo(size);
        case AddressMode::mirror: {
            const int64_t twice = modulo(2 * size);
            return twice < size ? twice : 2 * size - 1 - twice;
        }
        case AddressMode::clamp:
            return std::clamp<int64_t>(index, 0, size - 1);
        case AddressMode::border:
            return index >= 0 && index < size ? index : outside;
    }
    return outside;
}

struct AxisRule {
    uint32_t size;
    AddressMode mode;
    bool linear, normalized;
};

AxisRule rule_of(const Texture& t, unsigned axis, bool cube) {
    const uint32_t size = std::array{t.width, t.height, t.depth}[axis];
    const bool normalized = cube || t.normalized;
    AddressMode mode = cube ? AddressMode::clamp : t.mode[axis];
    // Repetition is of normalized coordinates alone.
    if (!normalized && mode != AddressMode::border) mode = AddressMode::clamp;
    if (t.buffer) mode = AddressMode::border;
    return {std::max(size, 1u), mode, t.linear && !t.buffer, normalized && !t.buffer};
}

// A coordinate in elements. Of a normalized one 21 bits of fraction count, 22 of long axes.
double in_elements(double x, const AxisRule& r) {
    if (std::isnan(x)) return 0;
    if (!r.normalized) return x;
    const double period = r.mode == AddressMode::wrap ? 1 : r.mode == AddressMode::mirror ? 2 : 0;
    if (period != 0) x = std::isinf(x) ? 0 : x - period * std::floor(x / period);
    const double fraction = r.size > 8192 ? 4194304.0 : 2097152.0;
    return std::floor(x * fraction) / fraction * r.size;
}

// As the weights of a filter have it: the coordinate, from the middle of the first element.
int64_t fixed_of(double x) { return floor_of((x - 0.5) * one + 0.5); }

Axis between(double coordinate, const AxisRule& r) {
    double x = in_elements(coordinate, r);
    Axis out;
    int64_t first = 0;
    if (r.linear) {
        // Beyond the middle of the first and the last element there is nothing to weigh.
        if (r.mode == AddressMode::clamp) x = std::clamp(x, 0.5, r.size - 0.5);
        const int64_t fixed = fixed_of(x);
        first = fixed >> fraction_bits;
        out.second = static_cast<uint32_t>(fixed) % one;
    } else {
        first = floor_of(x);
    }
    out.index = {folded(first, r.size, r.mode), folded(first + 1, r.size, r.mode)};
    return out;
}

// CUDA C++ programming guide, "Cubemap Textures": the face that a direction meets, and where.
struct Face {
    uint32_t number;
    double s, t;
};

Face face_of(float x, float y, float z) {
    const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    const auto place = [](uint32_t number, float m, float s, float t) {
        // Two roundings: of the reciprocal, and of the product.
        const auto within = [&](float v) {
            return m == 0 ? 0.5 : (double{v * (1.0f / m)} + 1.0) / 2.0;
        };
        return Face{number, within(s), within(t)};
    };
    if (az >= ax && az >= ay) return z >= 0 ? place(4, az, x, -y) : place(5, az, -x, -y);
    if (ay >= ax) return y >= 0 ? place(2, ay, x, z) : place(3, ay, x, -z);
    return x >= 0 ? place(0, ax, -z, -y) : place(1, ax, z, -y);
}

uint32_t layer_within(uint32_t layer, uint32_t layers) {
    return std::min(layer, std::max(layers, 1u) - 1);
}

uint32_t raw_channel(const Texture& t, const uint8_t* element, unsigned channel) {
    uint32_t out = 0;
    std::memcpy(&out, element + size_t{channel} * (t.bits / 8u), t.bits / 8u);
    return out;
}

int32_t signed_of(const Texture& t, uint32_t raw) {
    return static_cast<int32_t>(raw << (32 - t.bits)) >> (32 - t.bits);
}

// The number of a channel that is the float 1.
float most_of(const Texture& t) {
    const unsigned bits = t.bits - (t.kind == TexelKind::signed_integer ? 1u : 0u);
    return static_cast<float>((1u << bits) - 1);
}

// The least number of a signed channel that is a float is that above it: both are -1.
int32_t normal_of(const Texture& t, uint32_t raw) {
    return std::max(signed_of(t, raw), 1 - (1 << (t.bits - 1)));
}

uint32_t float_of_f16(uint32_t raw) {
    // A NaN keeps its bits.
    if ((raw & 0x7fff) > 0x7c00) return (raw & 0x8000) << 16 | 0x7f800000 | (raw & 0x3ff) << 13;
    return static_cast<uint32_t>(
        num::convert(isa::Type::f16, isa::Type::f32, raw, isa::Rounding::rn));
}

// The element that the border is: its floats in the texture's format, or their bits.
uint32_t border_channel(const Texture& t, unsigned channel) {
    if (t.buffer) return 0;
    const uint32_t raw = t.border[channel];
    if (t.bits == 32 || isa::gives_integers(t)) return raw;
    if (t.kind == TexelKind::floating) {
        if ((raw & 0x7fffffff) > 0x7f800000)
            return (raw >> 16 & 0x8000) | 0x7c00 | (raw >> 13 & 0x3ff);
        return static_cast<uint32_t>(
            num::convert(isa::Type::f32, isa::Type::f16, raw, isa::Rounding::rz));
    }
    const bool is_signed = t.kind == TexelKind::signed_integer;
    const float most = most_of(t);
    const float value = std::bit_cast<float>(raw);
    const double kept = std::isnan(value) ? 0 : std::clamp(value, is_signed ? -1.0f : 0.0f, 1.0f);
    // Three bits more than the format has count; a half is rounded towards zero.
    const double fraction = 1u << (t.bits + 3);
    const double cut = std::trunc(kept * fraction) / fraction;
    const auto rounded = static_cast<int32_t>(std::ceil(std::fabs(cut) * most - 0.5));
    return static_cast<uint32_t>(cut < 0 ? -rounded : rounded);
}

// What the nearest element gives for a channel.
uint32_t channel_bits(const Texture& t, uint32_t raw) {
    if (t.kind == TexelKind::floating) return t.bits == 32 ? raw : float_of_f16(raw);
    if (t.bits == 32) return raw;
    const uint32_t low = raw & ((1u << t.bits) - 1);
    const bool is_signed = t.kind == TexelKind::signed_integer;
    if (isa::gives_integers(t)) return is_signed ? static_cast<uint32_t>(signed_of(t, raw)) : low;
    const float most = most_of(t);
    return std::bit_cast<uint32_t>(
        (is_signed ? static_cast<float>(normal_of(t, raw)) : static_cast<float>(low)) / most);
}

// Elements that stay integers: halves go up, but 32 bits are cut off downwards.
uint32_t filtered_elements(const Texture& t, const Taps& taps, const std::array<uint32_t, 8>& raw) {
    int64_t sum = t.bits == 32 ? 0 : one / 2;
    for (uint32_t n = 0; n < taps.count; ++n) {
        const uint32_t bits = channel_bits(t, raw[n]);
        const int64_t value =
            t.kind == TexelKind::signed_integer ? static_cast<int32_t>(bits) : int64_t{bits};
        sum += value * taps.tap[n].weight;
    }
    return static_cast<uint32_t>(sum >> fraction_bits);
}

// Numbers are weighted and rounded to 16 bits, halves up.
uint32_t filtered_integers(const Texture& t, const Taps& taps, const std::array<uint32_t, 8>& raw) {
    const bool is_signed = t.kind == TexelKind::signed_integer;
    int64_t sum = 0;
    for (uint32_t n = 0; n < taps.count; ++n) {
        const int64_t value = is_signed ? signed_of(t, raw[n]) : int64_t{raw[n]};
        sum += value * taps.tap[n].weight;
    }
    // Of 8 bits to 16 by repetition: of s8's sum the highest four bits only.
    if (t.bits == 8) sum = is_signed ? (sum * 129 + (sum >> 12) * 16) * 2 : sum * 257;
    int64_t result = (sum + one / 2) >> fraction_bits;
    if (is_signed) result = std::max<int64_t>(result, -32767);
    return std::bit_cast<uint32_t>(static_cast<float>(result) / (is_signed ? 32767.0f : 65535.0f));
}

// Of other elements those bits count that lie at most four below the largest one's last.
constexpr int kept_bits = 27;

struct Part {
    int64_t sum = 0;  // in units of 2^(exponent - kept_bits)
    int exponent = 0;
};

// The elements of one slice, weighted.
Part sum_of(const Taps& taps, const std::array<uint32_t, 8>& values, bool far, int lost) {
    const auto exponent_of = [](uint32_t v) { return static_cast<int>(v >> 23 & 0xff); };
    Part out;
    for (uint32_t n = 0; n < taps.count; ++n)
        if (taps.tap[n].far == far) out.exponent = std::max(out.exponent, exponent_of(values[n]));
    for (uint32_t n = 0; n < taps.count; ++n) {
        const int exponent = exponent_of(values[n]);
        // Subnormal numbers are zeros.
        if (taps.tap[n].far != far || exponent == 0) continue;
        const int64_t mantissa = int64_t{(values[n] & 0x7fffff) | 0x800000} << (kept_bits - 23);
        const int below = std::min(out.exponent - exponent, 63);
        const int64_t aligned = mantissa >> below >> lost << lost;
        out.sum += ((values[n] >> 31) != 0 ? -aligned : aligned) * taps.tap[n].weight;
    }
    return out;
}

uint32_t filtered_floats(const Taps& taps, const std::array<uint32_t, 8>& values, isa::Type type) {
    bool positive = false, negative = false, nan = false, all_minus = true;
    for (uint32_t n = 0; n < taps.count; ++n) {
        nan |= (values[n] & 0x7fffffff) > 0x7f800000;
        positive |= values[n] == 0x7f800000;
        negative |= values[n] == 0xff800000;
        all_minus &= (values[n] >> 31) != 0;
    }
    if (nan || (positive && negative))
        return type == isa::Type::f16 ? float_of_f16(0x7fff) : nan_bits;
    if (positive || negative) return positive ? 0x7f800000 : 0xff800000;
    const int lost = type == isa::Type::f16 ? 13 : 0;
    const Part parts[] = {sum_of(taps, values, false, lost), sum_of(taps, values, true, lost)};
    // Their last place is that of the larger one's element where its exponent is a multiple of
    // four. What of the other sum lies lower is cut off, downwards.
    const int base = std::max(parts[0].exponent, parts[1].exponent) & ~3;
    int64_t sum = 0;
    for (const Part& p : parts) {
        const int up = p.exponent - base - lost;
        sum += up >= 0 ? p.sum << up : p.sum >> std::min(-up, 63);
    }
    if (sum == 0) return all_minus ? 0x80000000 : 0;
    num::RoundTo to;
    to.rounding = isa::Rounding::rna;
    to.ftz = type == isa::Type::f32;
    const int unit = base + lost - num::bias(num::format(isa::Type::f32)) - kept_bits -
                     static_cast<int>(fraction_bits);
    const auto bits = static_cast<uint32_t>(num::round_pack(
        num::format(type), to, sum < 0, unit, static_cast<uint64_t>(sum < 0 ? -sum : sum)));
    return type == isa::Type::f16 ? float_of_f16(bits) : bits;
}

// A channel of elements, as they lie in memory.
uint32_t filtered_channel(const Texture& t, const Taps& taps, std::array<uint32_t, 8> raw) {
    if (isa::gives_integers(t)) return filtered_elements(t, taps, raw);
    if (t.kind != TexelKind::floating) return filtered_integers(t, taps, raw);
    for (uint32_t n = 0; n < taps.count; ++n) raw[n] = channel_bits(t, raw[n]);
    return filtered_floats(taps, raw, t.bits == 16 ? isa::Type::f16 : isa::Type::f32);
}

// The weights of the corners of a square, of 256: corner 1 is that beyond along the first axis, 2
// along the second.
std::array<uint32_t, 4> square_weights(uint32_t x, uint32_t y) {
    const uint32_t both = (x * y + one / 2) / one;
    return {one + both - x - y, x - both, y - both, both};
}

// Of a cube, two slices along the third axis: the first axis parts a slice, the second each part. A
// half of what is parted along the second goes to the corner that lies in both directions, or none.
std::array<uint32_t, 8> cube_weights(uint32_t x, uint32_t y, uint32_t z) {
    std::array<uint32_t, 8> out{};
    for (const uint32_t far : {0u, 1u}) {
        const uint32_t slice = far != 0 ? z : one - z;
        const uint32_t beyond = (slice * x + one / 2) / one;
        for (const uint32_t right : {0u, 1u}) {
            const uint32_t part = right != 0 ? beyond : slice - beyond;
            const uint32_t above = (part * y + one / 2 - (1 - right)) / one;
            out[far * 4 + right] = part - above;
            out[far * 4 + 2 + right] = above;
        }
    }
    return out;
}

}  // namespace

Taps taps_of(const Texture& t, const isa::Modifiers& m, const std::array<uint32_t, 4>& at,
             bool integers) {
    std::array<Axis, 3> axes{};
    size_t next = m.layered ? 1 : 0;
    uint64_t layer = m.layered ? layer_within(at[0], m.cube ? t.depth / 6 : t.depth) : 0;
    const auto value = [&](size_t n) { return std::bit_cast<float>(at[n]); };
    unsigned used = m.dimensions;
    Taps out;
    out.filtered = rule_of(t, 0, m.cube).linear && !integers;
    if (m.cube) {
        const Face face = face_of(value(next), value(next + 1), value(next + 2));
        layer = layer * 6 + face.number;
        axes[0] = between(face.s, rule_of(t, 0, true));
        axes[1] = between(face.t, rule_of(t, 1, true));
        used = 2;
    } else {
        for (unsigned axis = 0; axis < used; ++axis, ++next) {
            const AxisRule rule = rule_of(t, axis, false);
            const auto index = static_cast<int32_t>(at[next]);
            // An element by its number has no address mode.
            if (integers && (index < 0 || static_cast<uint32_t>(index) >= rule.size)) return out;
            axes[axis] = integers ? Axis{{index, outside}, 0} : between(value(next), rule);
        }
        // A filtered line is a row at 0 of a plane, of which half lies outside.
        if (used == 1 && out.filtered && t.mode[1] == AddressMode::border) {
            axes[1] = between(0, rule_of(t, 1, false));
            used = 2;
        }
    }
    const uint32_t x = axes[0].second, y = axes[1].second, z = axes[2].second;
    std::array<uint32_t, 8> weights{1};
    if (out.filtered && used == 1) weights = {one - x, x};
    if (out.filtered && used == 2) std::ranges::copy(square_weights(x, y), weights.begin());
    if (out.filtered && used == 3) weights = cube_weights(x, y, z);
    for (unsigned corner = 0; corner < (out.filtered ? 1u << used : 1u); ++corner) {
        if (weights[corner] == 0) continue;
        Tap tap{t.address + layer * t.slice, weights[corner], true, (corner & 4) != 0};
        for (unsigned axis = 0; axis < used; ++axis) {
            const int64_t index = axes[axis].index[corner >> axis & 1];
            const uint64_t stride = axis == 0   ? isa::element_bytes(t)
                                    : axis == 1 ? t.pitch
                                                : t.slice;
            tap.inside &= index != outside;
            tap.address += static_cast<uint64_t>(index) * stride;
        }
        out.tap[out.count++] = tap;
    }
    return out;
}

Taps gathered_of(const Texture& t, const std::array<uint32_t, 4>& at) {
    std::array<std::array<int64_t, 2>, 2> index{};
    for (unsigned axis = 0; axis < 2; ++axis) {
        const AxisRule rule = rule_of(t, axis, false);
        const int64_t first =
            fixed_of(in_elements(std::bit_cast<float>(at[axis]), rule)) >> fraction_bits;
        index[axis] = {folded(first, rule.size, rule.mode),
                       folded(first + 1, rule.size, rule.mode)};
    }
    Taps out;
    constexpr std::array<std::array<uint8_t, 2>, 4> corners{{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
    for (const auto& [right, below] : corners) {
        const int64_t x = index[0][right], y = index[1][below];
        Tap& tap = out.tap[out.count++];
        tap.inside = x != outside && y != outside;
        tap.address = t.address + static_cast<uint64_t>(x) * isa::element_bytes(t) +
                      static_cast<uint64_t>(y) * t.pitch;
    }
    return out;
}

std::array<uint32_t, 4> gathered(const Texture& t, const Taps& taps,
                                 const std::array<const uint8_t*, 8>& bytes, char component) {
    const auto channel = static_cast<unsigned>(std::string_view("rgba").find(component));
    // As a filter that gives one element all of the weight.
    const Taps whole{{Tap{0, one, true, false}}, 1, true};
    std::array<uint32_t, 4> out{};
    for (uint32_t n = 0; n < taps.count && channel < t.channels; ++n) {
        const uint32_t raw =
            bytes[n] == nullptr ? border_channel(t, channel) : raw_channel(t, bytes[n], channel);
        out[n] = isa::gives_integers(t) ? channel_bits(t, raw) : filtered_channel(t, whole, {raw});
    }
    return out;
}

std::array<uint32_t, 4> filtered(const Texture& t, const Taps& taps,
                                 const std::array<const uint8_t*, 8>& bytes) {
    std::array<uint32_t, 4> out{};
    for (unsigned channel = 0; channel < t.channels && taps.count != 0; ++channel) {
        std::array<uint32_t, 8> raw{};
        for (uint32_t n = 0; n < taps.count; ++n)
            raw[n] = bytes[n] == nullptr ? border_channel(t, channel)
                                         : raw_channel(t, bytes[n], channel);
        out[channel] = taps.filtered ? filtered_channel(t, taps, raw) : channel_bits(t, raw[0]);
    }
    return out;
}

}  // namespace lockwarp::exec
