// SPDX-License-Identifier: Apache-2.0
// Of an SM: shared and global memory, bulk copies, and what fences wait for.
#include <algorithm>

#include "emu/timing/sm.hpp"

namespace lockwarp::timing {

uint64_t Sm::serve_shared(SubCore& core, unsigned count, unsigned data, bool store) {
    const uint64_t port = std::max<uint64_t>(
        {shared.port_least, count * shared.port, store ? data * shared.port_store : 0});
    const uint64_t begin = std::max(now * 100, core.port);
    shared_pipe.forget(now * 100);
    const uint64_t end = shared_pipe.take(begin, count * shared.pipe);
    core.port = std::max(begin + port, end);
    core.shared.put(begin / 100);
    use(Pipe::shared, count * shared.pipe);
    return std::max(begin + (count - 1) * shared.wavefront, end - shared.pipe) / 100;
}

uint64_t Sm::serve_global(SubCore& core, const Item& item, bool atomic, bool store) {
    const uint64_t begin = std::max({now * 100, lines_pipe, core.global_port, core.port});
    lines_pipe = begin + item.lines * global.line;
    core.global_port = begin + global.port;
    use(Pipe::global, item.lines * global.line);
    uint64_t done = begin / 100 + global.l1 + item.lines - 1;
    uint64_t from = begin;
    if (item.sectors != 0) {
        from = std::max(begin, sectors_pipe);
        sectors_pipe =
            from + item.sectors * (store ? std::max(global.sector_store, sector) : sector);
        done = sectors_pipe / 100 + (atomic ? global.atomic : item.dram ? global.dram : l2_latency);
    }
    if (item.sectors != 0 && !store && !atomic && item.touched == Touched::global)
        done = std::max(done, shared_pipe.take(done * 100, item.sectors * global.fill) / 100);
    core.global.put(from / 100);
    return done;
}

uint64_t Sm::drained(const WarpState& w, Kind fence) const {
    if (fence == Kind::fence_wide) return std::max({now, w.stored, w.multiplied});
    return fence == Kind::fence_proxy ? std::max(now, w.stored) : now;
}

uint64_t Sm::unmapped(const WarpState& w, const Item& item) const {
    const bool there = item.map == 0 || maps.contains(running[w.cta].cta->maps[item.map - 1]);
    return there ? 0 : async.map;
}

uint64_t Sm::bring(const WarpState& w, const Item& item) {
    sectors_pipe = std::max(now * 100, sectors_pipe) + item.sectors * sector;
    return sectors_pipe / 100 + (item.dram ? global.dram : l2_latency) + async.copy +
           unmapped(w, item);
}

uint64_t Sm::send(const WarpState& w, const Item& item) {
    sending_pipe = std::max((now + unmapped(w, item)) * 100, sending_pipe) +
                   item.sectors * std::max(global.sector_store, sector);
    return sending_pipe / 100;
}

}  // namespace lockwarp::timing
