// SPDX-License-Identifier: Apache-2.0
// tex, tld4, suld, sust, txq, suq. PTX manual, "Texture Instructions", "Surface Instructions",
// by the objects of isa/texture.hpp. What a lookup computes stands in sampling.hpp.
#include <algorithm>
#include <cstring>
#include <optional>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/sampling.hpp"

namespace lockwarp::exec {

namespace {

using isa::Outside;
using isa::Texture;
using ptx::Space;
using warp::TrapKind;

using Coordinates = std::array<uint32_t, 4>;

// The objects of the lanes, each of which mostly is the one before.
class Objects {
  public:
    Objects(Context& c, const Operation& o, uint32_t mask, std::optional<bool> surface)
        : c_(c), o_(o), surface_(surface) {
        lane_addresses(c, o.address[0], mask, addresses_);
    }

    // nullptr: a trap was set.
    const Texture* of(unsigned lane) {
        const uint64_t address = addresses_[lane];
        if (object_ && address == last_) return &*object_;
        last_ = address;
        const uint8_t* const bytes =
            address % 8 == 0 ? locate_bytes(c_, address, isa::texture_bytes, lane) : nullptr;
        if (bytes != nullptr)
            object_ = isa::decode_texture(
                std::span<const uint8_t, isa::texture_bytes>(bytes, isa::texture_bytes));
        if (bytes != nullptr && object_ &&
            object_->is_surface == surface_.value_or(object_->is_surface))
            return &*object_;
        object_.reset();
        const std::string kind = !surface_   ? "texture or surface"
                                 : *surface_ ? "surface"
                                             : "texture";
        set_trap(c_, o_, TrapKind::out_of_bounds, "no " + kind + " object has this handle", lane,
                 address, Space::none);
        return nullptr;
    }

  private:
    Context& c_;
    const Operation& o_;
    std::optional<bool> surface_;  // nullopt: either
    LaneAddresses addresses_{};
    uint64_t last_ = 0;
    std::optional<Texture> object_;
};

Coordinates coordinates(Context& c, const Operation& o, unsigned lane) {
    Coordinates out{};
    for (uint32_t i = 0; i < o.vector[1].count; ++i)
        out[i] = slot<uint32_t>(c, c.program->pool[o.vector[1].first + i])[lane];
    return out;
}

// What a lane's lookup takes, and what it makes of that.
using Take = Taps(const Texture& t, const Operation& o, const Coordinates& at);
using Make = std::array<uint32_t, 4>(const Texture& t, const Operation& o, const Taps& taps,
                                     const std::array<const uint8_t*, 8>& bytes);

void look_up(Context& c, const Operation& o, uint32_t mask, Take take, Make make) {
    Objects objects(c, o, mask, false);
    std::array<Texture, 32> texture;
    std::array<Taps, 32> taps;
    std::array<std::array<const uint8_t*, 8>, 32> bytes{};
    std::array<uint32_t, 8> taking{};  // lanes that read each tap
    std::array<uint32_t, 32> size{};
    bool good = true;
    each_lane(mask, [&](unsigned lane) {
        const Texture* const t = good ? objects.of(lane) : nullptr;
        good = t != nullptr;
        if (!good) return;
        texture[lane] = *t;
        size[lane] = isa::element_bytes(*t);
        taps[lane] = take(*t, o, coordinates(c, o, lane));
        for (uint32_t n = 0; n < taps[lane].count; ++n)
            taking[n] |= uint32_t{taps[lane].tap[n].inside} << lane;
    });
    if (!good) return;
    for (size_t n = 0; n < taking.size(); ++n) {
        // Lanes with textures of other elements one after another.
        for (uint32_t rest = taking[n]; rest != 0;) {
            const uint32_t each = size[static_cast<unsigned>(__builtin_ctz(rest))];
            const uint32_t same = lanes_where(rest, [&](unsigned l) { return size[l] == each; });
            LaneAddresses at{};
            LanePointers p{};
            each_lane(same, [&](unsigned lane) { at[lane] = taps[lane].tap[n].address; });
            if (!locate(c, o, Space::global, at, same, each, 1, false, p)) return;
            each_lane(same, [&](unsigned lane) { bytes[lane][n] = p[lane]; });
            rest &= ~same;
        }
    }
    each_lane(mask, [&](unsigned lane) {
        const std::array<uint32_t, 4> value = make(texture[lane], o, taps[lane], bytes[lane]);
        for (uint32_t i = 0; i < o.vector[0].count; ++i)
            slot<uint32_t>(c, c.program->pool[o.vector[0].first + i])[lane] = value[i];
    });
}

void tex(Context& c, const Step& s, uint32_t mask) {
    look_up(
        c, *s.op, mask,
        [](const Texture& t, const Operation& o, const Coordinates& at) {
            return taps_of(t, o.mod, at, o.mod.type[1] == Type::s32);
        },
        [](const Texture& t, const Operation&, const Taps& taps,
           const std::array<const uint8_t*, 8>& bytes) { return filtered(t, taps, bytes); });
}

void tld4(Context& c, const Step& s, uint32_t mask) {
    look_up(
        c, *s.op, mask,
        [](const Texture& t, const Operation&, const Coordinates& at) {
            return gathered_of(t, at);
        },
        [](const Texture& t, const Operation& o, const Taps& taps,
           const std::array<const uint8_t*, 8>& bytes) {
            return gathered(t, taps, bytes, o.mod.matrix);
        });
}

// Where lanes' bytes of a surface lie.
struct Places {
    LaneAddresses at{};
    uint32_t inside = 0;  // lanes; the others read zeros and write nothing
};

// A coordinate, brought within [0, most] or found outside.
bool within(int64_t& coordinate, int64_t most, Outside rule) {
    if (coordinate >= 0 && coordinate <= most) return true;
    coordinate = std::clamp<int64_t>(coordinate, 0, std::max<int64_t>(most, 0));
    return rule == Outside::clamp && most >= 0;
}

// false: a trap was set.
bool place(Context& c, const Operation& o, uint32_t mask, uint32_t bytes, Places& out) {
    Objects objects(c, o, mask, true);
    const Outside rule = o.mod.outside;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const Texture* const t = objects.of(lane);
        if (t == nullptr) return false;
        const Coordinates at = coordinates(c, o, lane);
        const size_t first = o.mod.layered ? 1 : 0;
        const auto axis = [&](size_t n) -> int64_t { return static_cast<int32_t>(at[first + n]); };
        int64_t x = axis(0);
        int64_t y = o.mod.dimensions > 1 ? axis(1) : 0;
        int64_t z = o.mod.layered ? int64_t{at[0]} : o.mod.dimensions > 2 ? axis(2) : 0;
        if (x % bytes != 0) {
            set_trap(c, o, TrapKind::misaligned,
                     "byte " + std::to_string(x) + " of a surface's row is no multiple of " +
                         std::to_string(bytes),
                     lane, t->address, Space::global);
            return false;
        }
        const int64_t row = int64_t{t->width} * isa::element_bytes(*t);
        const auto last = [](uint32_t size) { return int64_t{std::max(size, 1u)} - 1; };
        const Coordinates said = at;
        // Each is looked at, for each may have to be brought inside.
        const bool in_row = within(x, row < bytes ? -1 : row / bytes * bytes - bytes, rule);
        const bool in_slice = within(y, last(t->height), rule);
        const bool in_depth = within(z, last(t->depth), rule);
        if (in_row && in_slice && in_depth) {
            out.inside |= 1u << lane;
            out.at[lane] = t->address + static_cast<uint64_t>(z) * t->slice +
                           static_cast<uint64_t>(y) * t->pitch + static_cast<uint64_t>(x);
        } else if (rule == Outside::trap) {
            std::string where;
            for (uint32_t i = 0; i < o.vector[1].count; ++i)
                where += (i == 0 ? "" : ", ") + std::to_string(static_cast<int32_t>(said[i]));
            set_trap(c, o, TrapKind::out_of_bounds,
                     std::to_string(bytes) + " bytes at (" + where + ") lie outside a surface of " +
                         std::to_string(row) + " bytes by " + std::to_string(t->height) + " by " +
                         std::to_string(t->depth),
                     lane, t->address, Space::global);
            return false;
        }
    }
    return true;
}

template <class E>
void suld(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const isa::VectorRef v = o.vector[0];
    const auto bytes = static_cast<uint32_t>(sizeof(E) * v.count);
    Places places;
    LanePointers p{};
    if (!place(c, o, mask, bytes, places)) return;
    if (places.inside != 0 &&
        !locate(c, o, Space::global, places.at, places.inside, bytes, 1, false, p))
        return;
    each_lane(mask, [&](unsigned lane) {
        for (uint32_t i = 0; i < v.count; ++i) {
            E value = 0;
            if (p[lane] != nullptr && (places.inside >> lane & 1) != 0)
                std::memcpy(&value, p[lane] + i * sizeof value, sizeof value);
            const Ref ref = c.program->pool[v.first + i];
            if (o.register_bits == 64)
                slot<uint64_t>(c, ref)[lane] = value;
            else
                slot<uint32_t>(c, ref)[lane] = static_cast<uint32_t>(value);
        }
    });
}

template <class E>
void sust(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const isa::VectorRef v = o.vector[0];
    const auto bytes = static_cast<uint32_t>(sizeof(E) * v.count);
    Places places;
    LanePointers p{};
    if (!place(c, o, mask, bytes, places) || places.inside == 0) return;
    if (!locate(c, o, Space::global, places.at, places.inside, bytes, 1, true, p)) return;
    each_lane(places.inside, [&](unsigned lane) {
        for (uint32_t i = 0; i < v.count; ++i) {
            const Ref ref = c.program->pool[v.first + i];
            const uint64_t value =
                o.source_bits == 64 ? slot<uint64_t>(c, ref)[lane] : slot<uint32_t>(c, ref)[lane];
            const auto element = static_cast<E>(value);
            std::memcpy(p[lane] + i * sizeof element, &element, sizeof element);
        }
    });
}

// An object's size, as an H200 has it, where txq and suq are one instruction: layers stand in the
// dimension behind the others, where cubes count, but faces in a surface. There are no mipmaps:
// levels beyond the first have no size.
uint32_t size_of(const Texture& t, uint8_t dimension) {
    const bool rows = t.height == 0 && t.depth == 0 && !t.is_surface && !t.buffer;
    const bool layers = t.height == 0 && t.depth != 0;
    const std::array<uint32_t, 3> size{t.width,
                                       rows     ? 1
                                       : layers ? t.depth
                                                : t.height,
                                       layers ? 0 : t.depth};
    if (dimension == 3 && t.faces != isa::Faces::none && !t.is_surface)
        return t.faces == isa::Faces::cubes ? t.depth / 6 : 0;
    return size[dimension - 1u];
}

void texture_query(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    Objects objects(c, o, mask, std::nullopt);
    const uint32_t* const level = o.r[1] == isa::no_ref ? nullptr : slot<uint32_t>(c, o.r[1]);
    std::array<uint32_t, 32> size{};
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const Texture* const t = objects.of(lane);
        if (t == nullptr) return;
        if (level == nullptr || level[lane] == 0) size[lane] = size_of(*t, o.mod.dimensions);
    }
    auto* const out = slot<uint32_t>(c, o.r[0]);
    each_lane(mask, [&](unsigned lane) { out[lane] = size[lane]; });
}

}  // namespace

Handler texture_query_handler(const Operation&) { return texture_query; }

Handler tex_handler(const Operation&) { return tex; }

Handler tld4_handler(const Operation&) { return tld4; }

Handler suld_handler(const Operation& o) {
    switch (isa::bits(o.mod.type[0])) {
        case 8:
            return suld<uint8_t>;
        case 16:
            return suld<uint16_t>;
        case 32:
            return suld<uint32_t>;
        default:
            return suld<uint64_t>;
    }
}

Handler sust_handler(const Operation& o) {
    switch (isa::bits(o.mod.type[0])) {
        case 8:
            return sust<uint8_t>;
        case 16:
            return sust<uint16_t>;
        case 32:
            return sust<uint32_t>;
        default:
            return sust<uint64_t>;
    }
}

}  // namespace lockwarp::exec
