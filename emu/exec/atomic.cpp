// SPDX-License-Identifier: Apache-2.0
// atom, red. PTX manual, "Parallel Synchronization and Communication Instructions". The lanes of a
// warp go one after another; beside the CTAs that run on other threads each element is changed at
// once, in an order that all see, which every memory order and scope allows. The manual has atomics
// on global and shared memory; by a generic address an H100 changes a thread's own local memory
// too.
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/gives_way.hpp"
#include "emu/exec/reduction.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using isa::Reduce;
using ptx::Space;

// Of .v8.
constexpr size_t max_elements = 8;

// An element after a change in floating point, in this space. In local memory the driver's compiler
// (580.159.04, on an H100) loads, adds and stores: as in shared memory, and for two halves the
// words as integers.
template <class U>
U floats_after(const isa::Modifiers& m, U old, U b, Space space) {
    const bool two = m.type[0] == isa::Type::f16x2 || m.type[0] == isa::Type::bf16x2;
    if (space == Space::local && two) return static_cast<U>(old + b);
    const bool global = space == Space::global;
    return on_floats<U>(m, old, b, !global, global);
}

Space space_of(const Operation& o, uint64_t address) {
    if (o.vector[0].count > 1) return Space::global;
    if (o.mod.space != Space::none) return o.mod.space;
    return in_window(address, Space::shared)  ? Space::shared
           : in_window(address, Space::local) ? Space::local
                                              : Space::global;
}

// Where each lane's elements lie. false: a trap was set.
bool places(Context& c, const Operation& o, uint32_t bytes, uint32_t mask, LaneAddresses& addresses,
            LanePointers& p) {
    // Vectors are in global memory alone.
    const Space space = o.vector[0].count > 1 ? Space::global : o.mod.space;
    lane_addresses(c, o.address[0], mask, addresses);
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
    const uint64_t stores = c.stores;
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
        const Space space = space_of(o, addresses[lane]);
        // The destinations may be among the operands.
        std::array<U, max_elements> operand{};
        for (uint32_t i = 0; i < count; ++i)
            operand[i] = static_cast<U>(slot<U>(c, ref(returns ? 1 : 0, i))[lane]);
        const U third = compares ? static_cast<U>(slot<U>(c, ref(2, 0))[lane]) : U{};
        for (uint32_t i = 0; i < count; ++i) {
            U next{};
            const auto after = [&](U now) {
                next = floating ? floats_after<U>(o.mod, now, operand[i], space)
                                : change(now, operand[i], third);
                return next;
            };
            uint8_t* const at = p[lane] + i * sizeof(U);
            const U old =
                space == Space::global ? replace<U>(at, after) : replace_own<U>(at, after);
            changed |= next != old;
            if (returns) slot<U>(c, ref(0, i))[lane] = old;
        }
    }
    // A lock that stays taken is no progress: whoever waits for it spins.
    if (changed)
        gives_way_to_them(c, mask);
    else
        c.stores = stores;
}

template <class U>
void change_each(Context& c, const Operation& o, unsigned lane, Space space, const uint8_t* before,
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
        const U next = isa::is_float(o.mod.type[0]) ? floats_after<U>(o.mod, old, b, space)
                                                    : on_bits<U>(o.mod)(old, b, third);
        std::memcpy(after + i * sizeof(U), &next, sizeof next);
    }
}

}  // namespace

void change_elements(Context& c, const Operation& o, unsigned lane, Space space,
                     const uint8_t* before, uint8_t* after) {
    switch (isa::bits(o.mod.type[0])) {
        case 16:
            return change_each<uint16_t>(c, o, lane, space, before, after);
        case 32:
            return change_each<uint32_t>(c, o, lane, space, before, after);
        default:
            return change_each<uint64_t>(c, o, lane, space, before, after);
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
