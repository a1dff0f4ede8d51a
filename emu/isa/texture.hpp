// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: what tex, suld and sust are told by the object that they name. On a GPU an
// object is opaque; here it is the address of the bytes that encode() makes, which the driver of
// `exec` puts into global memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace lockwarp::isa {

// What an element's channels are.
enum class TexelKind : uint8_t { unsigned_integer, signed_integer, floating };

// What a coordinate outside does (CUaddress_mode, and its numbers).
enum class AddressMode : uint8_t { wrap, clamp, mirror, border };

// Whether slices are faces of one cube, or of several in layers.
enum class Faces : uint8_t { none, cube, cubes };

struct Texture {
    bool is_surface = false;
    uint64_t address = 0;  // of the first element, in global memory
    // In elements. Of fewer dimensions 0 in the others; depth: also layers, or faces of cubes.
    uint32_t width = 0, height = 0, depth = 0;
    uint64_t pitch = 0,
             slice = 0;  // bytes from a row to the next, from a slice or layer to the next
    TexelKind kind = TexelKind::unsigned_integer;
    uint8_t bits = 32;  // of a channel: 8, 16, 32
    uint8_t channels = 1;
    Faces faces = Faces::none;
    bool buffer = false;  // linear memory, which has neither address modes nor filters
    // Of textures.
    std::array<AddressMode, 3> mode{AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
    bool linear = false;               // filtered; else the nearest element
    bool normalized = false;           // coordinates are of [0, 1)
    bool elements = false;             // integers are given as they are, not as floats
    std::array<uint32_t, 4> border{};  // bits of what lies outside

    bool operator==(const Texture&) const = default;
};

inline constexpr unsigned texture_bytes = 128;
using TextureBytes = std::array<uint8_t, texture_bytes>;

TextureBytes encode(const Texture& t);

// Any 128 bytes. nullopt: encode() does not make them.
std::optional<Texture> decode_texture(std::span<const uint8_t, texture_bytes> bytes);

// Else floats.
constexpr bool gives_integers(const Texture& t) {
    return t.kind != TexelKind::floating && (t.elements || t.bits == 32);
}

constexpr uint32_t element_bytes(const Texture& t) { return t.channels * t.bits / 8u; }

}  // namespace lockwarp::isa
