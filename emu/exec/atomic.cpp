// SPDX-License-Identifier: Apache-2.0
// atom, red. PTX manual, "Parallel Synchronization and Communication Instructions". The lanes of a
// warp go one after another; beside the CTAs that run on other threads each element is changed at
// once, in an order that all see, which every memory order and scope allows.
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/reduction.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using isa::Reduce;
using ptx::Space;

// Of .v8.
constexpr size_t max_elements = 8;

// Where each lane's elements lie. false: a trap was set.
bool places(Context& c, const Operation& o, uint32_t bytes, uint32_t mask, LaneAddresses& addresses,
            LanePointers& p) {
    // Vectors are in global memory alone.
    const Space space = o.vector[0].count > 1 ? Space::global : o.mod.space;
    lane_addresses(c, o.address[0], mask, addresses);
    for (uint32_t rest = mask; rest != 0 && space == Space::none; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        if (!in_window(addresses[lane], Space::local)) continue;
        set_trap(c, o, warp::TrapKind::wrong_space,
                 "an address of .local memory; atomics are on global and shared memory", lane,
                 addresses[lane], Space::local);
        return false;
    }
    // Observers hear of a load and of a store.
    if (o.op == Op::atom && c.observed &&
        !locate(c, o, space, addresses, mask, bytes, bytes, false, p))
        return false;
    return locate(c, o, space, addresses, mask, bytes, bytes, true, p);
}

template <class U>
void run(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LaneAddresses addresses;
    LanePointers p;
    const uint32_t count = o.vector[0].count;
    if (!places(c, o, static_cast<uint32_t>(sizeof(U) * count), mask, addresses, p)) return;
    const bool returns = o.op == Op::atom;
    const bool compares = o.mod.reduce == Reduce::cas;
    const bool floating = isa::is_float(o.mod.type[0]);
    const Change<U> change = floating ? nullptr : on_bits<U>(o.mod);
    const auto ref = [&](unsigned vector, uint32_t i) {
        return c.program->pool[o.vector[vector].first + i];
    };
    bool changed = false;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const bool shared =
            o.mod.space == Space::shared ||
            (o.mod.space == Space::none && in_window(addresses[lane], Space::shared));
        // The destinations may be among the operands.
        std::array<U, max_elements> operand{};
        for (uint32_t i = 0; i < count; ++i)
            operand[i] = static_cast<U>(slot<U>(c, ref(returns ? 1 : 0, i))[lane]);
        const U third = compares ? static_cast<U>(slot<U>(c, ref(2, 0))[lane]) : U{};
        for (uint32_t i = 0; i < count; ++i) {
            U next{};
            const U old = replace<U>(p[lane] + i * sizeof(U), [&](U now) {
                next = floating ? on_floats<U>(o.mod, now, operand[i], shared, !shared)
                                : change(now, operand[i], third);
                return next;
            });
            changed |= next != old;
            if (returns) slot<U>(c, ref(0, i))[lane] = old;
        }
    }
    // A lock that stays taken is no progress: whoever waits for it spins.
    c.stores -= !changed;
}

template <class U>
void change_each(Context& c, const Operation& o, unsigned lane, bool shared, const uint8_t* before,
                 uint8_t* after) {
    const unsigned operands = o.op == Op::atom ? 1 : 0;
    const auto operand = [&](unsigned vector, uint32_t i) {
        return static_cast<U>(slot<U>(c, c.program->pool[o.vector[vector].first + i])[lane]);
    };
    const U third = o.mod.reduce == Reduce::cas ? operand(2, 0) : U{};
    for (uint32_t i = 0; i < o.vector[0].count; ++i) {
        U old;
        std::memcpy(&old, before + i * sizeof(U), sizeof old);
        const U b = operand(operands, i);
        const U next = isa::is_float(o.mod.type[0]) ? on_floats<U>(o.mod, old, b, shared, !shared)
                                                    : on_bits<U>(o.mod)(old, b, third);
        std::memcpy(after + i * sizeof(U), &next, sizeof next);
    }
}

}  // namespace

void change_elements(Context& c, const Operation& o, unsigned lane, bool shared,
                     const uint8_t* before, uint8_t* after) {
    switch (isa::bits(o.mod.type[0])) {
        case 16:
            return change_each<uint16_t>(c, o, lane, shared, before, after);
        case 32:
            return change_each<uint32_t>(c, o, lane, shared, before, after);
        default:
            return change_each<uint64_t>(c, o, lane, shared, before, after);
    }
}

Handler ordinary_atom(const Operation& o) {
    switch (isa::bits(o.mod.type[0])) {
        case 16:
            return run<uint16_t>;
        case 32:
            return run<uint32_t>;
        case 64:
            return run<uint64_t>;
        default:
            return nullptr;
    }
}

}  // namespace lockwarp::exec
