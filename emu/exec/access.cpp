// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/access.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>

#include "emu/exec/cluster.hpp"
#include "emu/exec/watch.hpp"
#include "emu/num/lanes.hpp"
#include "emu/ptx/space_name.hpp"

namespace lockwarp::exec {

namespace {

using ptx::Space;

// As an instruction writes it.
std::string space_name(Space space) {
    const std::string name(ptx::name_of(space));
    return space == Space::none ? name : "." + name;
}

std::string hex(uint64_t value) {
    std::array<char, 24> text;
    std::snprintf(text.data(), text.size(), "0x%" PRIx64, value);
    return text.data();
}

// A generic address in its state space.
Space resolve_generic(uint64_t& address) {
    for (const isa::SpaceWindow& w : isa::space_windows)
        if (address - w.base < w.bytes) {
            address -= w.base;
            return w.space;
        }
    return Space::global;
}

// Constants and parameters lie in global memory: an instruction of .global reads them by their
// generic addresses as one without a state space does (recorded on an H100).
void resolve_global(Space& space, uint64_t& address) {
    if (in_window(address, Space::const_) || in_window(address, Space::param))
        space = resolve_generic(address);
}

struct Region {
    uint8_t* bytes;
    uint64_t begin;
    uint64_t size;
};

// The bytes of a space that a lane sees; global is looked up by address instead.
Region region(Context& c, Space space, unsigned lane) {
    switch (space) {
        case Space::shared:
            return {c.cta->shared.data(), c.shared_begin, c.cta->shared.size()};
        case Space::local:
            return {c.warp->local.data() + uint64_t{lane} * c.warp->local_stride, 0,
                    c.warp->top[lane]};
        case Space::param:
            return {const_cast<uint8_t*>(c.launch->parameters.data()), 0,
                    c.launch->parameters.size()};
        case Space::const_: {
            const std::span<const uint8_t> own = c.launch->constants;
            const std::span<const uint8_t> bytes = own.empty() ? c.program->const_image : own;
            return {const_cast<uint8_t*>(bytes.data()), 0, bytes.size()};
        }
        default:
            return {nullptr, 0, 0};
    }
}

uint8_t* global_bytes(Context& c, uint64_t address, uint32_t bytes) {
    const auto inside = [&](const warp::Buffer& b) {
        const uint64_t offset = address - b.address;
        return offset < b.bytes.size() && b.bytes.size() - offset >= bytes;
    };
    if (c.recent == nullptr || !inside(*c.recent)) {
        const warp::Buffer* found = c.global->find(address, bytes);
        if (found == nullptr) return nullptr;
        c.recent = found;
    }
    return c.recent->bytes.data() + (address - c.recent->address);
}

// Whether an operation may touch the shared memory of the cluster's other CTAs at this address.
bool may_be_remote(const Context& c, const Operation& o, Space space, uint64_t address) {
    return space == Space::shared && address < isa::cluster_window_bytes &&
           isa::rank_of(address) != c.cta->rank &&
           (o.mod.cluster_space || o.mod.space == Space::none);
}

// Whether an address is meant for the window of another CTA.
bool is_remote(const Context& c, const Operation& o, uint64_t address) {
    return (c.cluster->ctas.size() > 1 || o.mod.cluster_space) &&
           address < isa::cluster_window_bytes && isa::rank_of(address) != c.cta->rank;
}

// Why an address in another CTA's window is not good.
void fault_remotely(Context& c, const Operation& o, uint64_t address, uint32_t bytes,
                    unsigned lane) {
    const uint32_t rank = isa::rank_of(address);
    // An H200 calls it an illegal instruction, and what follows a launch failure.
    if (!may_be_remote(c, o, Space::shared, address))
        return set_trap(c, o, warp::TrapKind::illegal,
                        "an address of the CTA of rank " + std::to_string(rank) +
                            " where one of the CTA's own shared memory is expected (.shared::cta)",
                        lane, address, Space::shared);
    std::string why = why_no_peer(c, rank);
    if (why.empty())
        why = std::to_string(bytes) + " bytes; .shared memory of the CTA of rank " +
              std::to_string(rank) + " is [" + hex(in_window_of(rank, c.shared_begin)) + ", " +
              hex(in_window_of(rank, c.shared_begin) + c.cta->shared.size()) + ")";
    set_trap(c, o, warp::TrapKind::out_of_bounds, std::move(why), lane, address, Space::shared);
}

// Why an address is not good: past a variable or buffer, or of another state space.
void fault(Context& c, const Operation& o, Space space, uint64_t address, uint32_t bytes,
           uint32_t alignment, unsigned lane) {
    if (address % alignment != 0)
        return set_trap(c, o, warp::TrapKind::misaligned,
                        "must be a multiple of " + std::to_string(alignment), lane, address, space);
    if (space == Space::shared && is_remote(c, o, address))
        return fault_remotely(c, o, address, bytes, lane);
    uint64_t within = address;
    if (space != Space::global) {
        const Space meant = resolve_generic(within);
        const bool elsewhere = meant != Space::global && meant != space;
        if (meant == space || elsewhere || c.global->find(address, 1) != nullptr) {
            const std::string_view generic = meant == Space::global ? "global" : "generic";
            return set_trap(c, o, warp::TrapKind::wrong_space,
                            "a " + std::string(generic) + " address (of " + space_name(meant) +
                                " memory) where an address in the " + space_name(space) +
                                " state space is expected",
                            lane, address, space);
        }
        const Region r = region(c, space, lane);
        return set_trap(c, o, warp::TrapKind::out_of_bounds,
                        std::to_string(bytes) + " bytes; " + space_name(space) +
                            " memory of this launch is [" + hex(r.begin) + ", " +
                            hex(r.begin + r.size) + ")",
                        lane, address, space);
    }
    if (resolve_generic(within) != Space::global) {
        uint64_t ignored = address;
        return set_trap(c, o, warp::TrapKind::wrong_space,
                        "an address of " + space_name(resolve_generic(ignored)) +
                            " memory where one in the .global state space is expected",
                        lane, address, space);
    }
    set_trap(c, o, warp::TrapKind::out_of_bounds,
             std::to_string(bytes) + " bytes, " + c.global->describe(address, bytes), lane, address,
             space);
}

// One lane; nullptr after a trap.
uint8_t* locate_one(Context& c, const Operation& o, Space space, uint64_t address, uint32_t bytes,
                    uint32_t alignment, bool store, unsigned lane) {
    if (space == Space::none) space = resolve_generic(address);
    uint8_t* out = nullptr;
    if (address % alignment == 0) {
        if (space == Space::global) out = global_bytes(c, address, bytes);
        if (space == Space::global && out == nullptr) resolve_global(space, address);
        if (space != Space::global) {
            const Region r = region(c, space, lane);
            const uint64_t offset = address - r.begin;
            if (offset < r.size && r.size - offset >= bytes)
                out = r.bytes + offset;
            else if (may_be_remote(c, o, space, address))
                out = find_in_cluster(c, address, bytes);
        }
    }
    if (out == nullptr) {
        fault(c, o, space, address, bytes, alignment, lane);
        return nullptr;
    }
    if (store && (space == Space::param || space == Space::const_)) {
        set_trap(c, o, warp::TrapKind::read_only, space_name(space) + " memory cannot be written",
                 lane, address, space);
        return nullptr;
    }
    if (store && space == Space::local) {
        mark_local(*c.warp, lane, address, bytes);
        note_local(c, lane, address, bytes);
    }
    return out;
}

// The bytes that hold every lane's access where all lie in shared memory, in one buffer, or are
// read from parameters or constants; the common case, checked for several lanes at once.
bool locate_together(Context& c, Space space, const LaneAddresses& addresses, uint32_t bytes,
                     uint32_t alignment, bool store, LanePointers& out) {
    Region r{nullptr, 0, 0};
    uint64_t first = addresses[0];
    if (space == Space::none) space = resolve_generic(first);
    if (space == Space::shared) {
        r = region(c, space, 0);
        r.begin += addresses[0] - first;  // that of the window, for generic addresses
    } else if (space == Space::global) {
        if (global_bytes(c, addresses[0], bytes) == nullptr) return false;
        r = {c.recent->bytes.data(), c.recent->address, c.recent->bytes.size()};
    } else if (!store && (space == Space::param || space == Space::const_)) {
        r = region(c, space, 0);
        r.begin += addresses[0] - first;
    } else {
        return false;
    }
    if (r.size < bytes) return false;
    return num::places_in({r.bytes, r.begin, r.size - bytes}, addresses.data(), alignment - 1,
                          out.data());
}

// The same of local memory, where each lane has its own; not of stores of which somebody keeps
// notes.
bool locate_in_local(const Context& c, Space space, const LaneAddresses& addresses, uint32_t bytes,
                     uint32_t alignment, bool store, LanePointers& out) {
    warp::Warp& w = *c.warp;
    if (store && (w.tracks_local || c.watch != nullptr)) return false;
    uint64_t first = addresses[0];
    if (space == Space::none) space = resolve_generic(first);
    if (space != Space::local) return false;
    const uint64_t window = addresses[0] - first;
    const auto at = reinterpret_cast<uintptr_t>(w.local.data());
    uint64_t outside = 0;  // in its highest bit
    uint64_t bits = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const uint64_t offset = addresses[lane] - window;
        outside |= offset | (uint64_t{w.top[lane]} - bytes - offset);
        bits |= offset;
        out[lane] = reinterpret_cast<uint8_t*>(at + uint64_t{lane} * w.local_stride + offset);
    }
    return outside >> 63 == 0 && (bits & (alignment - 1)) == 0;
}

// Listeners hear of addresses in shared memory without the ranks of the CTAs.
void note_ranks(const Context& c, warp::Access& access) {
    each_lane(access.lanes, [&](unsigned lane) {
        uint64_t& at = access.address[lane];
        if (at >= isa::cluster_window_bytes) return;
        access.rank[lane] = static_cast<uint8_t>(isa::rank_of(at));
        access.remote |= uint32_t{access.rank[lane] != c.cta->rank} << lane;
        at = isa::within_cta(at);
    });
}

// Of state spaces that are not global memory.
bool any_in_windows(const LaneAddresses& addresses, uint32_t mask) {
    return lanes_where(mask, [&](unsigned lane) {
               return addresses[lane] - isa::shared_window < isa::windows_bytes;
           }) != 0;
}

bool any_outside_local(const LaneAddresses& addresses, uint32_t mask) {
    for (; mask != 0; mask &= mask - 1)
        if (!in_window(addresses[static_cast<unsigned>(__builtin_ctz(mask))], Space::local))
            return true;
    return false;
}

}  // namespace

uint8_t* look(Context& c, Space& space, uint64_t& address, uint32_t bytes, unsigned lane) {
    if (space == Space::none) space = resolve_generic(address);
    if (space == Space::global) resolve_global(space, address);
    if (space == Space::global) return global_bytes(c, address, bytes);
    if (space == Space::shared) return find_in_cluster(c, address, bytes);
    const Region r = region(c, space, lane);
    const uint64_t offset = address - r.begin;
    return offset < r.size && r.size - offset >= bytes ? r.bytes + offset : nullptr;
}

uint8_t* locate_bytes(Context& c, uint64_t address, uint32_t bytes, unsigned lane) {
    Space space = Space::none;
    return look(c, space, address, bytes, lane);
}

bool in_window(uint64_t address, Space space) {
    for (const isa::SpaceWindow& w : isa::space_windows)
        if (w.space == space && address - w.base < w.bytes) return true;
    return false;
}

void lane_addresses(Context& c, const isa::Address& a, uint32_t mask, LaneAddresses& out) {
    const auto offset = static_cast<uint64_t>(a.offset);
    if (a.base == isa::no_ref) {
        out.fill(a.in_shared ? in_window_of(c.cta->rank, offset) : offset);
    } else if (a.wide) {
        const auto* base = slot<uint64_t>(c, a.base);
        for_lanes(mask, [&](unsigned l) { out[l] = base[l] + offset; });
    } else {
        const auto* base = slot<uint32_t>(c, a.base);
        for_lanes(mask, [&](unsigned l) { out[l] = (base[l] + offset) & 0xffffffffu; });
    }
}

namespace {

// Of lanes whose addresses are in one state space.
void note_in(Context& c, Space space, const LaneAddresses& addresses, uint32_t lanes,
             const std::array<uint8_t, 32>& bytes, bool store) {
    if (c.access_count == c.accesses.size()) return;
    warp::Access& access = c.accesses[c.access_count++];
    access.store = store;
    access.lanes = lanes;
    access.address = addresses;
    access.space = space;
    access.bytes_of_lane = bytes;
    access.bytes = bytes[0];
    access.remote = 0;
    if (std::ranges::count(bytes, bytes[0]) != 32) {
        access.bytes = 0;
        each_lane(lanes, [&](unsigned lane) {
            access.bytes = std::max<uint32_t>(access.bytes, bytes[lane]);
        });
    }
    if (space == Space::shared) note_ranks(c, access);
}

// The window that the generic addresses of all lanes lie in.
const isa::SpaceWindow* window_of(const LaneAddresses& addresses, uint32_t mask) {
    const uint64_t first = addresses[static_cast<unsigned>(__builtin_ctz(mask))];
    const auto within = [](uint64_t a, const isa::SpaceWindow& w) { return a - w.base < w.bytes; };
    for (const isa::SpaceWindow& w : isa::space_windows) {
        if (!within(first, w)) continue;
        bool all = true;
        each_lane(mask, [&](unsigned lane) { all &= within(addresses[lane], w); });
        return all ? &w : nullptr;
    }
    return nullptr;
}

}  // namespace

void note_access(Context& c, Space space, const LaneAddresses& addresses, uint32_t mask,
                 const std::array<uint8_t, 32>& bytes, bool store) {
    if (mask == 0) return;
    const bool by_address = space == Space::none || space == Space::global;
    if (!by_address) return note_in(c, space, addresses, mask, bytes, store);
    if (!any_in_windows(addresses, mask))
        return note_in(c, Space::global, addresses, mask, bytes, store);
    LaneAddresses resolved = addresses;
    if (space == Space::none)
        if (const isa::SpaceWindow* const w = window_of(addresses, mask); w != nullptr) {
            for_lanes(mask, [&](unsigned lane) { resolved[lane] -= w->base; });
            return note_in(c, w->space, resolved, mask, bytes, store);
        }
    std::array<Space, 32> spaces{};
    each_lane(mask, [&](unsigned lane) {
        spaces[lane] = space;
        if (space == Space::none) spaces[lane] = resolve_generic(resolved[lane]);
        if (spaces[lane] == Space::global) resolve_global(spaces[lane], resolved[lane]);
    });
    for (uint32_t rest = mask; rest != 0;) {
        const Space first = spaces[static_cast<unsigned>(__builtin_ctz(rest))];
        uint32_t lanes = 0;
        each_lane(rest, [&](unsigned lane) { lanes |= uint32_t{spaces[lane] == first} << lane; });
        note_in(c, first, resolved, lanes, bytes, store);
        rest &= ~lanes;
    }
}

bool locate(Context& c, const Operation& o, ptx::Space space, const LaneAddresses& addresses,
            uint32_t mask, uint32_t bytes, uint32_t alignment, bool store, LanePointers& out) {
    if (c.observed) {
        std::array<uint8_t, 32> each;
        each.fill(static_cast<uint8_t>(bytes));
        note_access(c, space, addresses, mask, each, store);
    }
    return locate_quietly(c, o, space, addresses, mask, bytes, alignment, store, out);
}

bool locate_quietly(Context& c, const Operation& o, ptx::Space space,
                    const LaneAddresses& addresses, uint32_t mask, uint32_t bytes,
                    uint32_t alignment, bool store, LanePointers& out) {
    if (mask == all_lanes && locate_together(c, space, addresses, bytes, alignment, store, out)) {
        c.stores += store;
        return true;
    }
    // Local memory is the lane's own: nobody waits for it.
    if (mask == all_lanes && locate_in_local(c, space, addresses, bytes, alignment, store, out))
        return true;
    if (store && space != Space::local)
        c.stores += space != Space::none || any_outside_local(addresses, mask);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        out[lane] = locate_one(c, o, space, addresses[lane], bytes, alignment, store, lane);
        if (out[lane] == nullptr) return false;
    }
    return true;
}

void note_unwritten(Context& c, const Operation& o, const LanePointers& p, uint32_t mask,
                    uint32_t bytes) {
    const warp::Warp& w = *c.warp;
    if (w.local.empty()) return;
    const isa::VectorRef v = o.vector[0];
    uint32_t lanes = 0;
    uint32_t results = 0;
    each_lane(mask, [&](unsigned lane) {
        const std::less<> before;
        const uint8_t* const at = p[lane];
        if (before(at, w.local.data()) || !before(at, w.local.data() + w.local.size())) return;
        const uint8_t* written = w.local_written.data() + (at - w.local.data());
        for (uint32_t i = 0; i < v.count; ++i, written += bytes) {
            if (std::memchr(written, 0, bytes) == nullptr) continue;
            lanes |= 1u << lane;
            for (uint32_t n = 0; n < o.written; ++n)
                if (c.program->registers[c.program->uses[o.first_use + n]].ref ==
                    c.program->pool[v.first + i])
                    results |= 1u << n;
        }
    });
    if (results == 0) return;
    c.undefined |= lanes;
    c.undefined_results = results;
}

}  // namespace lockwarp::exec
