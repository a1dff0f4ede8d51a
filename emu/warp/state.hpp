// SPDX-License-Identifier: Apache-2.0
// The state of a CTA while it runs: warps of 32 lanes, their registers, shared and local memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"
#include "emu/warp/memory.hpp"
#include "emu/warp/observer.hpp"

namespace lockwarp::warp {

inline constexpr uint32_t all_lanes = 0xffffffffu;
inline constexpr uint32_t no_index = UINT32_MAX;

// Where lanes that parted at a branch meet again. A path that arrives waits until every lane of
// `expected` has arrived or exited; then they go on together within `parent`.
struct Reconvergence {
    uint32_t at = 0;      // operation that ends a path's way here; no_index: a return does
    uint32_t resume = 0;  // operation that follows
    uint32_t frame = no_index;
    uint32_t expected = 0;  // lanes
    uint32_t arrived = 0;
    uint32_t parent = no_index;
    bool broken = false;  // lanes went on that had arrived before the others
    uint64_t number = 0;  // of the warp's meetings, in the order of their adding
};

enum class PathState : uint8_t {
    ready,
    at_barrier,     // CTA barrier `barrier`
    at_collective,  // a .sync instruction whose membermask names lanes of other paths
    at_aligned,     // an instruction that the whole warp executes together
    at_cluster,     // the cluster's barrier (barrier.cluster.wait)
    held            // an access to memory that is not its lanes' turn (warp::Oracle::turn)
};

// Lanes of a warp that run together.
struct Path {
    uint32_t pc = 0;
    uint32_t lanes = 0;
    uint32_t within = no_index;  // innermost Reconvergence
    PathState state = PathState::ready;
    uint32_t barrier = 0;
    uint32_t members = 0;  // at_collective: lanes it waits for
    // It stands at a barrier with a value that has opened, which gave it this.
    bool opened = false;
    uint32_t value = 0;
    uint32_t frame = no_index;  // innermost Frame; no_index: in the entry itself
    // Its last turn ended before the path did: the next one begins with a look at whether the path
    // only waits. waits_since: where it does, what Context::stores was when that showed.
    bool used_its_turn = false;
    uint64_t waits_since = UINT64_MAX;
    bool waits_timed = false;    // and the clock may end the wait
    bool waits_outside = false;  // and who is not in the grid, for it looks at global memory
    // It went on from where it should have met other lanes, which might never have come there.
    bool apart = false;
    // Lanes that went on by themselves, as it stood at an aligned barrier and they waited to meet
    // it.
    uint32_t left_by = 0;
};

// One call of a function, by lanes that called it together.
struct Frame {
    uint32_t function = 0;
    uint32_t call = 0;  // operation
    uint32_t caller = no_index;
    uint32_t meeting = no_index;        // where those that return go on
    uint32_t lanes = 0;                 // that have not returned; 0: the frame is free
    std::array<uint32_t, 32> base{};    // local address of the function's variables
    std::array<uint32_t, 32> before{};  // top of the lane's stack before the call
    std::vector<uint8_t> saved;         // the caller's own registers, where it may be called again
    uint64_t number = 0;                // of the warp's calls, in their order
};

// The calls of a warp's lanes that have not returned.
struct CallStack {
    std::vector<Frame> frames;
    std::vector<uint32_t> free;  // places in `frames`
    uint64_t saved_bytes = 0;    // of all frames
    uint64_t entered = 0;        // calls so far

    void clear() {
        frames.clear();
        free.clear();
        saved_bytes = 0;
        entered = 0;
    }
};

struct Warp {
    uint32_t index = 0;
    uint32_t live = 0;            // lanes that exist and have not exited
    uint64_t step = 0;            // instructions retired
    uint64_t gives_way_from = 0;  // the step from which it does, to who waits for memory
    uint64_t slept = 0;           // nanoseconds of nanosleep, which its clocks count too
    std::vector<Path> paths;
    std::vector<Reconvergence> meetings;
    uint64_t met = 0;              // meetings so far
    uint8_t* registers = nullptr;  // Program::register_bytes
    // Local memory: lane l has [0, top[l]) of its `local_stride` bytes from l * local_stride.
    std::vector<uint8_t> local;
    uint32_t local_stride = 0;
    uint8_t local_fill = 0;
    // Of each byte of `local`, 1: the thread wrote it. Only where an oracle may be asked.
    bool tracks_local = false;
    std::vector<uint8_t> local_written;
    std::array<uint32_t, 32> top{};
    CallStack calls;
    // The cluster's barrier: lanes that have arrived in its present phase, and lanes whose phase
    // has ended and that have not waited for that yet.
    uint32_t cluster_arrived = 0;
    uint32_t cluster_opened = 0;
};

// A CTA barrier (bar.sync a): threads that have arrived in the current phase.
struct Barrier {
    uint32_t arrived = 0;   // threads
    uint32_t expected = 0;  // threads; 0: no phase is open
    // bar.red: threads that gave a predicate, and those whose predicate was true.
    uint32_t given = 0;
    uint32_t yes = 0;
};

struct Cta {
    std::array<uint32_t, 3> id{};
    uint64_t index = 0;
    uint32_t rank = 0;            // %cluster_ctarank
    bool ended = false;           // its threads have exited: the cluster's others may go on
    std::vector<uint8_t> shared;  // from Program::shared_begin
    std::vector<Warp> warps;
    std::array<Barrier, 16> barriers{};
};

}  // namespace lockwarp::warp
