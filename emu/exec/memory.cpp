// SPDX-License-Identifier: Apache-2.0
// ld, st, cp.async, prefetch. PTX manual, "Data Movement and Conversion Instructions". Loads and
// stores are done at once and in program order, which every memory order and scope allows.
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/gives_way.hpp"

namespace lockwarp::exec {

namespace {

constexpr uint32_t max_vector_bytes = 32;

using Sixteen = uint64_t __attribute__((vector_size(16), aligned(1), may_alias));

// Copies the bytes of a vector as a GPU does: CTAs on other threads never see a part of them. The
// manual has that of each element alone, but programs count on it. Scans that look back over other
// CTAs keep a state and its value side by side in 8 or 16 bytes (CUB's decoupled look-back).
void copy_whole(uint8_t* to, const uint8_t* from, uint32_t bytes) {
    switch (bytes) {
        case 2:
            std::memcpy(to, from, 2);
            break;
        case 4:
            std::memcpy(to, from, 4);
            break;
        case 8:
            std::memcpy(to, from, 8);
            break;
        default:  // 16 or 32; aligned ones of 16 are one access of every CPU with AVX
            for (uint32_t at = 0; at < bytes; at += 16)
                *reinterpret_cast<volatile Sixteen*>(to + at) =
                    *reinterpret_cast<const volatile Sixteen*>(from + at);
    }
}

// Reads one element of `E`, as the register of `Register` bits holds it.
template <class E, class Register>
void load_element(Context& c, Ref ref, const LanePointers& p, uint32_t offset, uint32_t mask) {
    auto* d = slot<Register>(c, ref);
    const auto one = [&](unsigned l) {
        E value;
        std::memcpy(&value, p[l] + offset, sizeof value);
        d[l] = static_cast<Lane<Register>>(
            static_cast<std::make_unsigned_t<Register>>(static_cast<Register>(value)));
    };
    if (mask != all_lanes) return for_lanes(mask, one);
#pragma GCC unroll 8
    for (unsigned l = 0; l < 32; ++l) one(l);
}

template <class E>
void load(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LaneAddresses addresses;
    LanePointers p;
    const isa::VectorRef v = o.vector[0];
    const auto bytes = static_cast<uint32_t>(sizeof(E) * v.count);
    lane_addresses(c, o.address[0], mask, addresses);
    if (!locate(c, o, o.mod.space, addresses, mask, bytes, bytes, false, p)) return;
    if (c.warp->tracks_local) note_unwritten(c, o, p, mask, sizeof(E));
    alignas(64) std::array<std::array<uint8_t, max_vector_bytes>, 32> whole;
    if (v.count > 1)
        for_lanes(mask, [&](unsigned l) {
            copy_whole(whole[l].data(), p[l], bytes);
            p[l] = whole[l].data();
        });
    for (uint32_t i = 0; i < v.count; ++i) {
        const Ref ref = c.program->pool[v.first + i];
        const auto offset = static_cast<uint32_t>(i * sizeof(E));
        using Signed16 = std::conditional_t<std::is_signed_v<E>, int16_t, uint16_t>;
        using Signed32 = std::conditional_t<std::is_signed_v<E>, int32_t, uint32_t>;
        using Signed64 = std::conditional_t<std::is_signed_v<E>, int64_t, uint64_t>;
        if (o.register_bits == 64)
            load_element<E, Signed64>(c, ref, p, offset, mask);
        else if constexpr (sizeof(E) <= 4) {
            if (o.register_bits == 32)
                load_element<E, Signed32>(c, ref, p, offset, mask);
            else
                load_element<E, Signed16>(c, ref, p, offset, mask);
        }
    }
}

// Lane by lane, so that of lanes that store to one address the highest wins.
template <class E, class Register>
void store_element(Context& c, Ref ref, const LanePointers& p, uint32_t mask) {
    const auto* a = slot<Register>(c, ref);
    each_lane(mask, [&](unsigned lane) {
        const auto element = static_cast<E>(a[lane]);
        std::memcpy(p[lane], &element, sizeof element);
    });
}

template <class E>
void store(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LaneAddresses addresses;
    LanePointers p;
    const isa::VectorRef v = o.vector[0];
    const auto bytes = static_cast<uint32_t>(sizeof(E) * v.count);
    lane_addresses(c, o.address[0], mask, addresses);
    if (!locate(c, o, o.mod.space, addresses, mask, bytes, bytes, true, p)) return;
    const Ref* const elements = c.program->pool.data() + v.first;
    if (v.count > 1) {
        // Each lane's is stored whole.
        alignas(16) std::array<uint8_t, max_vector_bytes> whole;
        each_lane(mask, [&](unsigned lane) {
            for (uint32_t i = 0; i < v.count; ++i) {
                const auto element =
                    static_cast<E>(o.source_bits == 64 ? slot<uint64_t>(c, elements[i])[lane]
                                                       : slot<uint32_t>(c, elements[i])[lane]);
                std::memcpy(whole.data() + i * sizeof(E), &element, sizeof element);
            }
            copy_whole(p[lane], whole.data(), bytes);
        });
    } else if (o.source_bits == 64) {
        store_element<E, uint64_t>(c, elements[0], p, mask);
    } else {
        store_element<E, uint32_t>(c, elements[0], p, mask);
    }
    if (o.mod.memory_order != isa::MemoryOrder::weak) gives_way_to_them(c, mask);
}

// cp.async copies at once: an order that the manual allows for every program without a data race.
// Bytes beyond the source size are zeros.
void cp_async(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const auto bytes = static_cast<uint32_t>(o.immediate);
    LaneAddresses from;
    LaneAddresses to;
    LanePointers source{};
    LanePointers target;
    lane_addresses(c, o.address[0], mask, to);
    lane_addresses(c, o.address[1], mask, from);
    std::array<uint32_t, 32> given;
    given.fill(bytes);
    uint32_t reading = mask;
    if (o.r[0] != isa::no_ref) {
        const auto* size = slot<uint32_t>(c, o.r[0]);
        for_lanes(mask, [&](unsigned l) { given[l] = size[l] < bytes ? size[l] : bytes; });
        reading = lanes_where(mask, [&](unsigned l) { return given[l] != 0; });
    }
    if (o.r[1] != isa::no_ref) {  // ignore-src
        const uint32_t ignored = read_predicate(c, o, 1);
        reading &= ~ignored;
        for_lanes(mask & ignored, [&](unsigned l) { given[l] = 0; });
    }
    // A lane that copies nothing need not have a good source address. One that copies less is
    // checked for what it reads.
    const uint32_t partial = lanes_where(reading, [&](unsigned l) { return given[l] != bytes; });
    const uint32_t whole = reading & ~partial;
    if (c.observed) {
        std::array<uint8_t, 32> each;
        for (unsigned l = 0; l < 32; ++l) each[l] = static_cast<uint8_t>(given[l]);
        note_access(c, ptx::Space::global, from, reading, each, false);
    }
    if (whole != 0 &&
        !locate_quietly(c, o, ptx::Space::global, from, whole, bytes, bytes, false, source))
        return;
    for (uint32_t rest = partial; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        if (!locate_quietly(c, o, ptx::Space::global, from, rest & (0 - rest), given[lane], 1,
                            false, source))
            return;
    }
    if (!locate(c, o, ptx::Space::shared, to, mask, bytes, bytes, true, target)) return;
    // Lane by lane, as they are stored. Most copies are whole and of 16 bytes.
    each_lane(mask, [&](unsigned lane) {
        if (given[lane] == 16) {
            std::memcpy(target[lane], source[lane], 16);
            return;
        }
        std::memset(target[lane], 0, bytes);
        if (given[lane] != 0) std::memcpy(target[lane], source[lane], given[lane]);
    });
}

// Copies are complete when issued, so that groups have nothing to wait for; the same for fences,
// prefetches and hints. What discard leaves undefined stays as it was.
void nothing(Context&, const Step&, uint32_t) {}

}  // namespace

Handler ordinary_ld(const Operation& o) {
    const Type t = o.mod.type[0];
    const unsigned width = isa::bits(t);
    if (isa::is_signed(t) && width < 64)
        return width == 8 ? load<int8_t> : width == 16 ? load<int16_t> : load<int32_t>;
    return width == 8    ? load<uint8_t>
           : width == 16 ? load<uint16_t>
           : width == 32 ? load<uint32_t>
                         : load<uint64_t>;
}

Handler ordinary_st(const Operation& o) {
    const unsigned width = isa::bits(o.mod.type[0]);
    return width == 8    ? store<uint8_t>
           : width == 16 ? store<uint16_t>
           : width == 32 ? store<uint32_t>
                         : store<uint64_t>;
}

Handler cp_async_handler(const Operation&) { return cp_async; }
Handler nothing_handler(const Operation&) { return nothing; }

}  // namespace lockwarp::exec
