// SPDX-License-Identifier: Apache-2.0
// atom, red. PTX manual, "Parallel Synchronization and Communication Instructions". The lanes of a
// warp go one after another; beside the CTAs that run on other threads each element is changed at
// once, in an order that all see, which every memory order and scope allows.
#include <atomic>
#include <cstring>
#include <mutex>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using isa::Reduce;
using ptx::Space;

// Of .v8.
constexpr size_t max_elements = 8;

// The new value of an element of width U; b and c are the operands.
template <class U>
using Change = U (*)(U old, U b, U c);

// Replaces an element by change(element). Returns what it was.
template <class U, class F>
U replace(uint8_t* at, F change) {
    if (reinterpret_cast<uintptr_t>(at) % std::atomic_ref<U>::required_alignment != 0) {
        // A buffer that the host placed at another alignment than its address has.
        static std::mutex lock;
        const std::lock_guard guard(lock);
        U old;
        std::memcpy(&old, at, sizeof old);
        const U next = change(old);
        std::memcpy(at, &next, sizeof next);
        return old;
    }
    const std::atomic_ref<U> element(*reinterpret_cast<U*>(at));
    U old = element.load();
    while (!element.compare_exchange_weak(old, change(old))) {
    }
    return old;
}

// Operations on the bits of an element.
template <class U>
Change<U> on_bits(const isa::Modifiers& m) {
    using S = std::make_signed_t<U>;
    const bool is_signed = isa::is_signed(m.type[0]);
    switch (m.combine) {
        case isa::Combine::and_:
            return [](U old, U b, U) { return static_cast<U>(old & b); };
        case isa::Combine::or_:
            return [](U old, U b, U) { return static_cast<U>(old | b); };
        case isa::Combine::xor_:
            return [](U old, U b, U) { return static_cast<U>(old ^ b); };
        default:
            break;
    }
    switch (m.reduce) {
        case Reduce::exch:
            return [](U, U b, U) { return b; };
        case Reduce::cas:
            return [](U old, U b, U c) { return old == b ? c : old; };
        case Reduce::add:
            return [](U old, U b, U) { return static_cast<U>(old + b); };
        case Reduce::inc:
            return [](U old, U b, U) { return static_cast<U>(old >= b ? 0 : old + 1); };
        case Reduce::dec:
            return [](U old, U b, U) { return static_cast<U>(old == 0 || old > b ? b : old - 1); };
        case Reduce::min:
            if (is_signed)
                return
                    [](U old, U b, U) { return static_cast<S>(b) < static_cast<S>(old) ? b : old; };
            return [](U old, U b, U) { return b < old ? b : old; };
        case Reduce::max:
            if (is_signed)
                return
                    [](U old, U b, U) { return static_cast<S>(b) > static_cast<S>(old) ? b : old; };
            return [](U old, U b, U) { return b > old ? b : old; };
        default:
            return nullptr;
    }
}

// An f64 sum in global memory does not quiet the NaN that it keeps (measured on an H200).
uint64_t sum_in_memory(Type type, uint64_t x, uint64_t y, num::Flags flags) {
    const auto is_nan = [&](uint64_t v) {
        return num::compare(type, v, v) == num::Order::unordered;
    };
    if (type == Type::f64 && is_nan(x)) return x;
    if (type == Type::f64 && is_nan(y)) return y;
    return num::add(type, x, y, isa::Rounding::rn, flags);
}

// Floating-point elements; two of them where the type is packed. add.f32 flushes subnormal operands
// and results in global memory, and not in shared memory (PTX manual, atom).
template <class U>
U on_floats(const isa::Modifiers& m, U old, U b, bool shared) {
    Type type = m.type[0];
    num::Flags flags;
    flags.ftz = type == Type::f32 && !shared;
    if (type == Type::f16x2) type = Type::f16;
    if (type == Type::bf16x2) type = Type::bf16;
    const unsigned width = isa::bits(type);
    const uint64_t mask = ~uint64_t{0} >> (64 - width);
    uint64_t out = 0;
    for (unsigned at = 0; at < 8 * sizeof(U); at += width) {
        const uint64_t x = uint64_t{old} >> at & mask;
        const uint64_t y = uint64_t{b} >> at & mask;
        uint64_t z = 0;
        if (m.reduce == Reduce::add)
            z = shared ? num::add(type, x, y, isa::Rounding::rn, flags)
                       : sum_in_memory(type, x, y, flags);
        else if (m.reduce == Reduce::min)
            z = num::min(type, x, y, flags);
        else
            z = num::max(type, x, y, flags);
        out |= z << at;
    }
    return static_cast<U>(out);
}

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
                next = floating ? on_floats<U>(o.mod, now, operand[i], shared)
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
        const U next = isa::is_float(o.mod.type[0]) ? on_floats<U>(o.mod, old, b, shared)
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
