// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/bulk.hpp"

#include "emu/exec/cluster.hpp"
#include "emu/exec/mbarrier.hpp"
#include "emu/exec/reduction.hpp"

namespace lockwarp::exec {

using ptx::Space;

namespace {

constexpr uint64_t max_copied = uint64_t{1} << 30;

template <class U>
bool reduce_each(const isa::Modifiers& m, bool flushes, uint8_t* to, const uint8_t* from,
                 uint64_t bytes) {
    const bool floating = isa::is_float(m.type[0]);
    const Change<U> change = floating ? nullptr : on_bits<U>(m);
    if (!floating && change == nullptr) return false;
    for (uint64_t at = 0; at + sizeof(U) <= bytes; at += sizeof(U)) {
        U operand;
        std::memcpy(&operand, from + at, sizeof operand);
        replace<U>(to + at, [&](U old) {
            if (!floating) return change(old, operand, U{});
            // Of two NaNs in f64 the copy's is kept, not memory's as by atom and red (measured on
            // an H200).
            return m.reduce == isa::Reduce::add ? on_floats<U>(m, operand, old, false, flushes)
                                                : on_floats<U>(m, old, operand, false, flushes);
        });
    }
    return true;
}

}  // namespace

uint64_t lane_address(Context& c, const isa::Address& a, unsigned lane) {
    LaneAddresses addresses;
    lane_addresses(c, a, 1u << lane, addresses);
    return addresses[lane];
}

uint8_t* bulk_bytes(Context& c, const Operation& o, unsigned lane, Space space, uint64_t address,
                    uint64_t bytes, uint32_t alignment, bool store) {
    LaneAddresses addresses;
    LanePointers at{};
    addresses[lane] = address;
    // Nothing is that long: a trap says so.
    const auto length = static_cast<uint32_t>(bytes < max_copied ? bytes : max_copied);
    if (!locate_quietly(c, o, space, addresses, 1u << lane, length, alignment, store, at))
        return nullptr;
    if (c.observed) {
        look(c, space, address, length, lane);  // a generic address in its state space
        const bool shared = space == Space::shared;
        c.ranges.push_back({lane, space, store, shared ? isa::rank_of(address) : 0,
                            shared ? isa::within_cta(address) : address, bytes});
    }
    return at[lane];
}

bool bulk_arrives(Context& c, const Operation& o, unsigned lane, Space space, uint64_t address,
                  uint64_t bytes) {
    LaneAddresses addresses;
    LanePointers at{};
    addresses[lane] = address;
    if (!locate_quietly(c, o, space, addresses, 1u << lane, 8, 8, true, at)) return false;
    if (c.observed) {
        look(c, space, address, 8, lane);
        c.arrivals.push_back({lane, isa::rank_of(address), isa::within_cta(address), bytes});
    }
    return complete_bytes(c, o, lane, at[lane], static_cast<int64_t>(bytes));
}

bool multicast_ranks(Context& c, const Operation& o, uint32_t mask, unsigned lane,
                     uint32_t& ranks) {
    ranks = mask & 0xffff;
    if (ranks >> c.cluster->ctas.size() == 0) return true;
    set_trap(c, o, warp::TrapKind::illegal,
             "the mask of a multicast copy names CTAs that the cluster has not", lane, mask,
             Space::none);
    return false;
}

bool reduce_bytes(const isa::Modifiers& m, bool flushes, uint8_t* to, const uint8_t* from,
                  uint64_t bytes) {
    switch (isa::bits(m.type[0])) {
        case 16:
            return reduce_each<uint16_t>(m, flushes, to, from, bytes);
        case 32:
            return reduce_each<uint32_t>(m, flushes, to, from, bytes);
        case 64:
            return reduce_each<uint64_t>(m, flushes, to, from, bytes);
        default:
            return false;
    }
}

}  // namespace lockwarp::exec
