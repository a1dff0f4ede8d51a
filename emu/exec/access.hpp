// SPDX-License-Identifier: Apache-2.0
// From an address in a state space to bytes of the host, checked.
#pragma once

#include <array>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

using LanePointers = std::array<uint8_t*, 32>;
using LaneAddresses = std::array<uint64_t, 32>;

// Whether a generic address is one of the state space's window.
bool in_window(uint64_t address, ptx::Space space);

// The address each lane of the mask gives: base slot plus offset.
void lane_addresses(Context& c, const isa::Address& a, uint32_t mask, LaneAddresses& out);

// Where `bytes` bytes at each lane's address lie, for the lanes of the mask. `space` none: generic.
// The address must be a multiple of `alignment`. false: a trap was set.
// Listeners hear of the access.
bool locate(Context& c, const Operation& o, ptx::Space space, const LaneAddresses& addresses,
            uint32_t mask, uint32_t bytes, uint32_t alignment, bool store, LanePointers& out);

// As locate, of an access that listeners do not hear of, or of which note_access told them.
bool locate_quietly(Context& c, const Operation& o, ptx::Space space,
                    const LaneAddresses& addresses, uint32_t mask, uint32_t bytes,
                    uint32_t alignment, bool store, LanePointers& out);

// Tells listeners of an access in which each lane touches as many bytes as `bytes` has of it.
void note_access(Context& c, ptx::Space space, const LaneAddresses& addresses, uint32_t mask,
                 const std::array<uint8_t, 32>& bytes, bool store);

// Notes in the context which of an operation's results, each of `bytes` bytes behind the last from
// where a lane's pointer is, come from local memory that the thread never wrote.
void note_unwritten(Context& c, const Operation& o, const LanePointers& p, uint32_t mask,
                    uint32_t bytes);

// Where `bytes` bytes at an address lie; nullptr where they do not. A generic address (`space`
// none) becomes one of its state space.
uint8_t* look(Context& c, ptx::Space& space, uint64_t& address, uint32_t bytes, unsigned lane);

// Where `bytes` bytes at a generic address lie; nullptr where they do not.
uint8_t* locate_bytes(Context& c, uint64_t address, uint32_t bytes, unsigned lane);

}  // namespace lockwarp::exec
