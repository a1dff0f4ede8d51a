// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/sampling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "emu/num/ieee.hpp"

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
    if (std::isnan(x)) return 0;
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
    const bool integers = t.kind != TexelKind::floating && (t.elements || t.bits == 32);
    return {std::max(size, 1u), mode, t.linear && !t.buffer && !integers, normalized && !t.buffer};
}

Axis between(float coordinate, const AxisRule& r) {
    const double x = r.normalized ? double{coordinate} * r.size : double{coordinate};
    Axis out;
    int64_t first = 0;
    if (r.linear) {
        const int64_t fixed = floor_of((x - 0.5) * one + 0.5);
        first = fixed >> fraction_bits;
        out.second = static_cast<uint32_t>(fixed) % one;
    } else {
        first = floor_of(x);
    }
    out.index = {folded(first, r.size, r.mode), folded(first + 1, r.size, r.mode)};
    return out;
}

Axis at_element(int64_t index, const AxisRule& r) {
    return {{folded(index, r.size, r.mode), outside}, 0};
}

// CUDA C++ programming guide, "Cubemap Textures": the face that a direction meets, and where.
struct Face {
    uint32_t number;
    float s, t;
};

Face face_of(float x, float y, float z) {
    const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    const auto place = [](uint32_t number, float m, float s, float t) {
        const auto within = [&](float v) {
            return static_cast<float>((double{v} / double{m} + 1.0) / 2.0);
        };
        return Face{number, within(s), within(t)};
    };
    if (ax >= ay && ax >= az) return x >= 0 ? place(0, ax, -z, -y) : place(1, ax, z, -y);
    if (ay >= az) return y >= 0 ? place(2, ay, x, z) : place(3, ay, x, -z);
    return z >= 0 ? place(4, az, x, -y) : place(5, az, -x, -y);
}

uint32_t layer_within(uint32_t layer, uint32_t layers) {
    return std::min(layer, std::max(layers, 1u) - 1);
}

float channel_value(const Texture& t, uint32_t raw) {
    if (t.kind == TexelKind::floating)
        return std::bit_cast<float>(
            t.bits == 32 ? raw
                         : static_cast<uint32_t>(num::convert(isa::Type::f16, isa::Type::f32, raw,
                                                              isa::Rounding::rn)));
    if (t.kind == TexelKind::unsigned_integer)
        return static_cast<float>(raw) / static_cast<float>((1u << t.bits) - 1);
    const auto value = static_cast<int32_t>(raw << (32 - t.bits)) >> (32 - t.bits);
    return std::max(static_cast<float>(value) / static_cast<float>((1u << (t.bits - 1)) - 1),
                    -1.0f);
}

uint32_t raw_channel(const Texture& t, const uint8_t* element, unsigned channel) {
    uint32_t out = 0;
    std::memcpy(&out, element + size_t{channel} * (t.bits / 8u), t.bits / 8u);
    return out;
}

bool gives_integers(const Texture& t) {
    return t.kind != TexelKind::floating && (t.elements || t.bits == 32);
}

// What a lookup of one element gives for a channel.
uint32_t channel_bits(const Texture& t, const uint8_t* element, unsigned channel) {
    const uint32_t raw = raw_channel(t, element, channel);
    if (!gives_integers(t)) {
        // A number as it is, a NaN's bits too.
        if (t.kind == TexelKind::floating && t.bits == 32) return raw;
        return std::bit_cast<uint32_t>(channel_value(t, raw));
    }
    if (t.kind == TexelKind::unsigned_integer || t.bits == 32) return raw;
    return static_cast<uint32_t>(static_cast<int32_t>(raw << (32 - t.bits)) >> (32 - t.bits));
}

}  // namespace

Taps taps_of(const Texture& t, const isa::Modifiers& m, const std::array<uint32_t, 4>& at,
             bool integers) {
    std::array<Axis, 3> axes{};
    size_t next = m.layered ? 1 : 0;
    uint64_t layer = m.layered ? layer_within(at[0], m.cube ? t.depth / 6 : t.depth) : 0;
    const auto value = [&](size_t n) { return std::bit_cast<float>(at[n]); };
    unsigned used = m.dimensions;
    if (m.cube) {
        const Face face = face_of(value(next), value(next + 1), value(next + 2));
        layer = layer * 6 + face.number;
        axes[0] = between(face.s, rule_of(t, 0, true));
        axes[1] = between(face.t, rule_of(t, 1, true));
        used = 2;
    } else {
        for (unsigned axis = 0; axis < used; ++axis, ++next) {
            const AxisRule rule = rule_of(t, axis, false);
            axes[axis] = integers ? at_element(static_cast<int32_t>(at[next]), rule)
                                  : between(value(next), rule);
        }
    }
    Taps out;
    const bool linear = rule_of(t, 0, m.cube).linear && !integers;
    out.whole = linear ? 1u << (fraction_bits * used) : 1u;
    for (unsigned corner = 0; corner < (linear ? 1u << used : 1u); ++corner) {
        Tap tap{t.address + layer * t.slice, 1, true};
        for (unsigned axis = 0; axis < used; ++axis) {
            const bool second = (corner >> axis & 1) != 0;
            const int64_t index = axes[axis].index[second];
            const uint64_t stride = axis == 0   ? isa::element_bytes(t)
                                    : axis == 1 ? t.pitch
                                                : t.slice;
            tap.inside &= index != outside;
            tap.address += static_cast<uint64_t>(index) * stride;
            if (linear) tap.weight *= second ? axes[axis].second : one - axes[axis].second;
        }
        if (tap.weight != 0) out.tap[out.count++] = tap;
    }
    return out;
}

std::array<uint32_t, 4> filtered(const Texture& t, const Taps& taps,
                                 const std::array<const uint8_t*, 8>& bytes) {
    const std::array<uint32_t, 4> border = t.buffer ? std::array<uint32_t, 4>{} : t.border;
    std::array<uint32_t, 4> out{};
    for (unsigned channel = 0; channel < t.channels; ++channel) {
        if (taps.count == 1) {
            out[channel] =
                bytes[0] == nullptr ? border[channel] : channel_bits(t, bytes[0], channel);
            continue;
        }
        double sum = 0;
        for (uint32_t n = 0; n < taps.count; ++n) {
            const float value = bytes[n] == nullptr
                                    ? std::bit_cast<float>(border[channel])
                                    : channel_value(t, raw_channel(t, bytes[n], channel));
            // The product has no error: 25 and 24 bits.
            sum += double{value} * taps.tap[n].weight;
        }
        const auto result = static_cast<float>(sum / taps.whole);
        out[channel] = std::isnan(result) ? nan_bits : std::bit_cast<uint32_t>(result);
    }
    return out;
}

}  // namespace lockwarp::exec
