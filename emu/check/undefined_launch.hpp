// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "emu/check/choices.hpp"
#include "emu/check/definedness.hpp"
#include "emu/warp/memory.hpp"

namespace lockwarp::check {

// What of a launch is the same for all CTAs: its program, and of which buffers bytes are undefined.
struct UndefinedLaunch {
    UndefinedLaunch(const isa::Program& program_, const warp::Launch& launch,
                    const std::vector<Range>& undefined)
        : program(program_),
          registers(program_),
          choices(program_),
          shared_bytes(isa::in_shared_units(
              program_.arch, uint64_t{program_.shared_static} + launch.dynamic_shared)),
          warps((launch.block.count() + 31) / 32),
          entry_end(program_.functions.empty() ? UINT32_MAX : program_.functions[0].end) {
        for (const warp::Buffer* b : warp::buffers_of(launch)) {
            const uint64_t end = b->address + b->bytes.size();
            const auto in_it = [&](const Range& r) {
                return r.bytes != 0 && r.address < end && r.address + r.bytes > b->address;
            };
            if (!b->undefined && std::ranges::none_of(undefined, in_it)) continue;
            global.emplace_back(b->address, b->bytes.size(), !b->undefined);
            for (const Range& r : undefined)
                if (in_it(r)) global.back().forget(r.address, r.bytes);
        }
    }
    Defined* buffer(uint64_t address) {
        const auto at =
            std::ranges::find_if(global, [&](const Defined& d) { return d.has(address); });
        return at == global.end() ? nullptr : &*at;
    }

    const isa::Program& program;
    Registers registers;
    Choices choices;
    uint64_t shared_bytes;
    uint64_t warps;
    uint32_t entry_end;  // operations before it are the entry's own, others those of functions
    std::vector<Defined> global;
};

}  // namespace lockwarp::check
