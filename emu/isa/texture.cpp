// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/texture.hpp"

#include <algorithm>
#include <cstring>

namespace lockwarp::isa {

namespace {

constexpr std::array<uint8_t, 8> mark{'L', 'W', 'T', 'E', 'X', 'T', 'U', '1'};

// Puts the fields into the bytes, or takes them from there, in one order.
struct Writer {
    uint8_t* at;
    template <class T>
    void operator()(T value) {
        std::memcpy(at, &value, sizeof value);
        at += sizeof value;
    }
};

struct Reader {
    const uint8_t* at;
    template <class T>
    void operator()(T& value) {
        std::memcpy(&value, at, sizeof value);
        at += sizeof value;
    }
};

// Fields that any bits are good for, then bytes that not every value is.
template <class Each, class Fields>
void each_number(Each& each, Fields& t) {
    each(t.address);
    each(t.pitch);
    each(t.slice);
    each(t.width);
    each(t.height);
    each(t.depth);
    for (auto& b : t.border) each(b);
}

using Small = std::array<uint8_t, 12>;

Small small_of(const Texture& t) {
    const auto number = [](auto e) { return static_cast<uint8_t>(e); };
    return {number(t.is_surface), number(t.kind),     t.bits,
            t.channels,           number(t.buffer),   number(t.mode[0]),
            number(t.mode[1]),    number(t.mode[2]),  number(t.linear),
            number(t.normalized), number(t.elements), number(t.faces)};
}

bool is_good(const Small& s) {
    const auto& [surface, kind, bits, channels, buffer, m0, m1, m2, linear, normalized, elements,
                 faces] = s;
    const bool flags = std::max({surface, buffer, linear, normalized, elements}) <= 1;
    const bool format = kind <= 2 && (bits == 8 || bits == 16 || bits == 32) &&
                        (channels == 1 || channels == 2 || channels == 4) &&
                        (kind != static_cast<uint8_t>(TexelKind::floating) || bits != 8);
    return flags && format && faces <= static_cast<uint8_t>(Faces::cubes) &&
           std::max({m0, m1, m2}) <= static_cast<uint8_t>(AddressMode::border);
}

}  // namespace

TextureBytes encode(const Texture& t) {
    TextureBytes out{};
    Writer write{out.data()};
    write(mark);
    each_number(write, t);
    write(small_of(t));
    return out;
}

std::optional<Texture> decode_texture(std::span<const uint8_t, texture_bytes> bytes) {
    Texture t;
    Reader read{bytes.data()};
    std::array<uint8_t, mark.size()> found{};
    Small s{};
    read(found);
    each_number(read, t);
    read(s);
    if (found != mark || !is_good(s)) return std::nullopt;
    t.is_surface = s[0] != 0;
    t.kind = static_cast<TexelKind>(s[1]);
    t.bits = s[2];
    t.channels = s[3];
    t.buffer = s[4] != 0;
    t.mode = {static_cast<AddressMode>(s[5]), static_cast<AddressMode>(s[6]),
              static_cast<AddressMode>(s[7])};
    t.linear = s[8] != 0;
    t.normalized = s[9] != 0;
    t.elements = s[10] != 0;
    t.faces = static_cast<Faces>(s[11]);
    return t;
}

}  // namespace lockwarp::isa
