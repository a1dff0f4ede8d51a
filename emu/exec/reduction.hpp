// SPDX-License-Identifier: Apache-2.0
// What atomics and reductions make of elements in memory. PTX manual, atom, red,
// cp.reduce.async.bulk.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "emu/isa/modifiers.hpp"
#include "emu/num/ieee.hpp"

namespace lockwarp::exec {

// The new value of an element of width U; b and c are the operands.
template <class U>
using Change = U (*)(U old, U b, U c);

// Replaces an element by change(element), which no other thread of the host touches: one of shared
// or local memory. Returns what it was.
template <class U, class F>
U replace_own(uint8_t* at, F change) {
    U old;
    std::memcpy(&old, at, sizeof old);
    const U next = change(old);
    std::memcpy(at, &next, sizeof next);
    return old;
}

// The same of any element.
template <class U, class F>
U replace(uint8_t* at, F change) {
    if (reinterpret_cast<uintptr_t>(at) % std::atomic_ref<U>::required_alignment != 0) {
        // A buffer that the host placed at another alignment than its address has.
        static std::mutex lock;
        const std::lock_guard guard(lock);
        return replace_own<U>(at, change);
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
        case isa::Reduce::exch:
            return [](U, U b, U) { return b; };
        case isa::Reduce::cas:
            return [](U old, U b, U c) { return old == b ? c : old; };
        case isa::Reduce::add:
            return [](U old, U b, U) { return static_cast<U>(old + b); };
        case isa::Reduce::inc:
            return [](U old, U b, U) { return static_cast<U>(old >= b ? 0 : old + 1); };
        case isa::Reduce::dec:
            return [](U old, U b, U) { return static_cast<U>(old == 0 || old > b ? b : old - 1); };
        case isa::Reduce::min:
            if (is_signed)
                return
                    [](U old, U b, U) { return static_cast<S>(b) < static_cast<S>(old) ? b : old; };
            return [](U old, U b, U) { return b < old ? b : old; };
        case isa::Reduce::max:
            if (is_signed)
                return
                    [](U old, U b, U) { return static_cast<S>(b) > static_cast<S>(old) ? b : old; };
            return [](U old, U b, U) { return b > old ? b : old; };
        default:
            return nullptr;
    }
}

// An f64 sum in global memory does not quiet the NaN that it keeps (measured on an H200).
inline uint64_t sum_in_memory(isa::Type type, uint64_t x, uint64_t y, num::Flags flags) {
    const auto is_nan = [&](uint64_t v) {
        return num::compare(type, v, v) == num::Order::unordered;
    };
    if (type == isa::Type::f64 && is_nan(x)) return x;
    if (type == isa::Type::f64 && is_nan(y)) return y;
    return num::add(type, x, y, isa::Rounding::rn, flags);
}

// Floating-point elements; two of them where the type is packed. add.f32 of atom and red flushes
// subnormal operands and results in global memory, and not in shared memory (PTX manual, atom).
template <class U>
U on_floats(const isa::Modifiers& m, U old, U b, bool shared, bool flushes) {
    isa::Type type = m.type[0];
    num::Flags flags;
    flags.ftz = type == isa::Type::f32 && flushes;
    if (type == isa::Type::f16x2) type = isa::Type::f16;
    if (type == isa::Type::bf16x2) type = isa::Type::bf16;
    const unsigned width = isa::bits(type);
    const uint64_t mask = ~uint64_t{0} >> (64 - width);
    uint64_t out = 0;
    for (unsigned at = 0; at < 8 * sizeof(U); at += width) {
        const uint64_t x = uint64_t{old} >> at & mask;
        const uint64_t y = uint64_t{b} >> at & mask;
        uint64_t z = 0;
        if (m.reduce == isa::Reduce::add)
            z = shared ? num::add(type, x, y, isa::Rounding::rn, flags)
                       : sum_in_memory(type, x, y, flags);
        else if (m.reduce == isa::Reduce::min)
            z = num::min(type, x, y, flags);
        else
            z = num::max(type, x, y, flags);
        out |= z << at;
    }
    return static_cast<U>(out);
}

}  // namespace lockwarp::exec
