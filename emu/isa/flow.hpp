// SPDX-License-Identifier: Apache-2.0
// Which operations follow which, and where the paths of a branch meet again: the immediate
// post-dominator.
#pragma once

#include <span>

#include "emu/isa/operation.hpp"

namespace lockwarp::isa {

// Calls f(operation) for each that the branch may go to; for none, of another operation.
// `branch_targets` is the program's.
template <class F>
void each_target(std::span<const uint32_t> branch_targets, const Operation& o, F&& f) {
    const Flow flow = row(o.op).flow;
    if (flow == Flow::branch) f(o.target);
    if (flow == Flow::index)
        for (const uint32_t t : branch_targets.subspan(o.target, o.immediate)) f(t);
}

constexpr bool ends_block(const Operation& o) { return is_branch(o.op) || ends_lanes(o.op); }

// Whether the operation behind it may be the next: what it calls comes back.
constexpr bool goes_on(const Operation& o) { return o.guarded || !ends_block(o); }

// A basic block: operations [first, end), and the blocks that may follow.
struct Block {
    uint32_t first = 0;
    uint32_t end = 0;
    std::vector<uint32_t> next;
};

// Of one function, in the order of its operations. It must end with an unguarded exit or return.
std::vector<Block> blocks_of(const Program& program, const Function& f);

// Of each of the program's calls, 1: nobody comes back from it. __assertfail does not return, nor a
// function all of whose ways end in a trap, an exit or such a call.
std::vector<uint8_t> find_lost_calls(const Program& program);

// Fills Operation::reconverge of every branch of one function. `operations` are the function's,
// the first of them the program's operation `first`; they must end with an unguarded exit or
// return, and branch only among themselves. `branch_targets` is the program's, `lost_calls` what
// find_lost_calls gives for it. Lanes that end on the way, or fail, are not waited for.
void find_reconvergence(std::span<Operation> operations, uint32_t first = 0,
                        std::span<const uint32_t> branch_targets = {},
                        std::span<const uint8_t> lost_calls = {});

}  // namespace lockwarp::isa
