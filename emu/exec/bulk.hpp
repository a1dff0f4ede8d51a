// SPDX-License-Identifier: Apache-2.0
// What bulk copies share, those of bytes and those by tensor maps: one end of a lane's copy, and
// the mbarrier that counts it. Copies are done when they are issued, an order that the manual
// allows for every program without a data race.
#pragma once

#include "emu/exec/access.hpp"

namespace lockwarp::exec {

// The lane's address of an operand: base plus offset.
uint64_t lane_address(Context& c, const isa::Address& a, unsigned lane);

// Where `bytes` bytes, one at least, at an address lie, which must be a multiple of `alignment`;
// listeners hear of them.
// nullptr: a trap was set. `space`: global, shared, or none for a generic address of one of these.
uint8_t* bulk_bytes(Context& c, const Operation& o, unsigned lane, ptx::Space space,
                    uint64_t address, uint64_t bytes, uint32_t alignment, bool store);

// A lane's copy has brought bytes to the mbarrier at an address of shared memory; listeners hear of
// it. false: a trap was set.
bool bulk_arrives(Context& c, const Operation& o, unsigned lane, ptx::Space space, uint64_t address,
                  uint64_t bytes);

// The CTAs that the mask of a .multicast::cluster copy names, as each_rank() takes them: the copy
// writes at the same place of each, and tells the mbarrier at the same place of each
// (in_window_of()). false: a trap was set.
bool multicast_ranks(Context& c, const Operation& o, uint32_t mask, unsigned lane, uint32_t& ranks);

// Changes elements in memory by those at `from`, as Modifiers::type[0], ::reduce and ::combine say.
// false: the machine has no such reduction; nothing was changed. flushes: of f32, subnormal
// operands and sums become zeros; those of cp.reduce.async.bulk stay, as an H200 has them.
bool reduce_bytes(const isa::Modifiers& m, bool flushes, uint8_t* to, const uint8_t* from,
                  uint64_t bytes);

}  // namespace lockwarp::exec
