// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/ordered.hpp"

#include <cstring>
#include <utility>

#include "emu/exec/access.hpp"
#include "emu/exec/call_stack.hpp"
#include "emu/exec/cluster.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/system_calls.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using ptx::Space;

struct Accesses : warp::OrderedAccess {
    Accesses(Context& context, const Operation& operation) : c(context), o(operation) {
        elements = o.vector[0].count;
        element_bytes = std::min(isa::bits(o.mod.type[0]), 64u) / 8;
    }
    void after(unsigned lane, const uint8_t* before, uint8_t* out) const override {
        if (o.op == Op::ld)
            std::memcpy(out, before, size_t{elements} * element_bytes);
        else
            change_elements(c, o, lane, space[lane], before, out);
    }

    Context& c;
    const Operation& o;
};

// Listeners hear of the lanes' accesses as of one.
void note(Context& c, const Accesses& all, const LaneAddresses& addresses, uint32_t lanes) {
    std::array<uint8_t, 32> bytes;
    bytes.fill(static_cast<uint8_t>(all.elements * all.element_bytes));
    const Space space =
        all.o.vector[0].count > 1 && all.o.op != Op::ld ? Space::global : all.o.mod.space;
    if (all.o.op != Op::red) note_access(c, space, addresses, lanes, bytes, false);
    if (all.o.op != Op::ld) note_access(c, space, addresses, lanes, bytes, true);
}

// Lanes whose turn it was do not only wait, and others may wait for what they did, even where
// memory is as it was.
void note_progress(Context& c, uint32_t lanes) { c.stores += lanes != 0; }

uint32_t take_block(Context& c, size_t path, const Operation& o, const warp::Retired& before) {
    const isa::Call& called = c.program->calls[o.target];
    std::array<uint32_t, 32> bases;
    for (unsigned l = 0; l < 32; ++l) bases[l] = frame_base(*c.warp, c.warp->paths[path].frame, l);
    if (c.listeners == nullptr) {
        run_system_call(c, o, called, before.executed, bases);
        return before.executed;
    }
    return take_blocks(c, called, before, bases);
}

}  // namespace

bool make_ordered(Code& code, const warp::Launch& launch) {
    bool any = false;
    for (uint32_t i = 0; launch.oracle != nullptr && i < code.steps.size(); ++i)
        if (launch.oracle->orders(i)) {
            code.steps[i].kind = StepKind::ordered;
            any = true;
        }
    return any;
}

uint32_t take_turns(Context& c, size_t path, const Step& s, const warp::Retired& before) {
    const Operation& o = *s.op;
    c.lanes = before.active;
    if (o.op == Op::call) return take_block(c, path, o, before);
    if (c.listeners == nullptr) {
        s.run(c, s, before.executed);
        return before.executed;
    }
    Accesses all(c, o);
    LaneAddresses addresses;
    lane_addresses(c, o.address[0], before.executed, addresses);
    std::array<uint8_t, 32> lanes;
    uint32_t count = 0;
    uint32_t free = 0;  // lanes that no order concerns: in local memory, or about to fault
    each_lane(before.executed, [&](unsigned lane) {
        all.space[lane] = o.mod.space;
        all.address[lane] = addresses[lane];
        all.memory[lane] =
            look(c, all.space[lane], all.address[lane], all.elements * all.element_bytes, lane);
        if (all.space[lane] == Space::shared) {
            const uint32_t rank = isa::rank_of(all.address[lane]);
            all.address[lane] = isa::within_cta(all.address[lane]);
            if (all.memory[lane] != nullptr) all.cta[lane] = c.cluster->ctas[rank]->cta->index;
        }
        const bool known = all.memory[lane] != nullptr &&
                           (all.space[lane] == Space::global || all.space[lane] == Space::shared);
        if (known)
            lanes[count++] = static_cast<uint8_t>(lane);
        else
            free |= 1u << lane;
    });
    warp::Oracle& oracle = *c.launch->oracle;
    if (count == 0 || (o.op == Op::ld && oracle.together(before, all))) {
        s.run(c, s, before.executed);
        note_progress(c, before.executed);
        return before.executed;
    }
    const bool observed = std::exchange(c.observed, false);
    uint32_t done = free;
    if (free != 0) s.run(c, s, free);
    oracle.arrange(before, std::span(lanes).first(count));
    for (uint32_t i = 0; i < count && !c.trap; ++i) {
        const unsigned lane = lanes[i];
        const warp::Turn turn = oracle.turn(before, lane, all);
        if (turn == warp::Turn::waits) continue;
        done |= 1u << lane;
        if (turn == warp::Turn::given) continue;
        s.run(c, s, 1u << lane);
        if (c.trap) break;
        oracle.accessed(before, lane, all);
    }
    note_progress(c, done & ~free);
    c.observed = observed;
    if (observed) note(c, all, addresses, done);
    return done;
}

}  // namespace lockwarp::exec
