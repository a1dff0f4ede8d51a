// SPDX-License-Identifier: Apache-2.0
// What a call of the machine's own functions passes and gets.
#pragma once

#include <algorithm>
#include <cstring>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// The first 8 bytes of argument k, from byte `from` on. bases: where each lane's frame of the
// calling function begins.
inline uint64_t argument(Context& c, const isa::Call& call, size_t k, unsigned lane,
                         const std::array<uint32_t, 32>& bases, uint32_t from = 0) {
    const isa::Passed& p = call.arguments[k];
    const size_t bytes = std::min<size_t>(p.bytes - from, 8);
    uint64_t value = 0;
    if (p.ref != isa::no_ref)
        std::memcpy(&value, c.registers + p.ref + lane * (bytes == 8 ? 8 : 4), bytes);
    else
        std::memcpy(&value,
                    c.warp->local.data() + size_t{lane} * c.warp->local_stride + bases[lane] +
                        p.offset + from,
                    bytes);
    return value;
}

inline void set_result(Context& c, const isa::Call& call, unsigned lane, uint64_t value,
                       const std::array<uint32_t, 32>& bases) {
    if (call.results.empty()) return;
    const isa::Passed& p = call.results[0];
    const size_t bytes = std::min<size_t>(p.bytes, sizeof value);
    if (p.ref == isa::no_ref) mark_local(*c.warp, lane, bases[lane] + p.offset, bytes);
    uint8_t* to =
        p.ref != isa::no_ref
            ? c.registers + p.ref + lane * (bytes == 8 ? 8 : 4)
            : c.warp->local.data() + size_t{lane} * c.warp->local_stride + bases[lane] + p.offset;
    std::memcpy(to, &value, bytes);
}

}  // namespace lockwarp::exec
