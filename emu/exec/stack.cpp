// SPDX-License-Identifier: Apache-2.0
// The local memory of a warp's lanes as a stack: alloca, stacksave, stackrestore.
#include <algorithm>
#include <cstring>

#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

constexpr uint64_t default_alignment = 8;

void set_address(Context& c, const Operation& o, unsigned lane, uint64_t value) {
    if (o.mod.type[0] == Type::u64)
        slot<uint64_t>(c, o.r[0])[lane] = value;
    else
        slot<uint32_t>(c, o.r[0])[lane] = static_cast<uint32_t>(value);
}

uint64_t value_of(Context& c, const Operation& o, unsigned n, unsigned lane) {
    return o.mod.type[0] == Type::u64 ? slot<uint64_t>(c, o.r[n])[lane]
                                      : slot<uint32_t>(c, o.r[n])[lane];
}

void trap_at(Context& c, const Operation& o, warp::TrapKind kind, std::string detail,
             unsigned lane) {
    set_trap(c, o, kind, std::move(detail), lane, 0, ptx::Space::none);
    c.trap->has_address = false;
}

// PTX manual, "Stack Manipulation Instructions: alloca": bytes that the function's return frees.
void allocate(Context& c, const Operation& o, uint32_t mask) {
    const uint64_t alignment = o.immediate == 0 ? default_alignment : o.immediate;
    warp::Warp& w = *c.warp;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<unsigned>(__builtin_ctz(rest));
        const uint64_t bytes = value_of(c, o, 1, l);
        const uint64_t begin = (w.top[l] + alignment - 1) / alignment * alignment;
        if (begin > isa::max_local_bytes || bytes > isa::max_local_bytes - begin) {
            trap_at(c, o, warp::TrapKind::stack,
                    "alloca of " + std::to_string(bytes) + " bytes; the thread has " +
                        std::to_string(w.top[l]) + " of " + std::to_string(isa::max_local_bytes),
                    l);
            return;
        }
        const uint32_t end = static_cast<uint32_t>(begin + bytes);
        reserve_local(w, end);
        clear_local(w, l, w.top[l], end - w.top[l]);
        w.top[l] = end;
        set_address(c, o, l, begin);
    }
}

void save(Context& c, const Operation& o, uint32_t mask) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<unsigned>(__builtin_ctz(rest));
        set_address(c, o, l, c.warp->top[l]);
    }
}

void restore(Context& c, const Operation& o, uint32_t mask) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<unsigned>(__builtin_ctz(rest));
        const uint64_t top = value_of(c, o, 0, l);
        if (top > c.warp->top[l]) {
            trap_at(c, o, warp::TrapKind::bad_mask,
                    "stackrestore of an address that stacksave did not give", l);
            return;
        }
        c.warp->top[l] = static_cast<uint32_t>(top);
    }
}

}  // namespace

void reserve_local(warp::Warp& w, uint32_t bytes) {
    if (bytes <= w.local_stride) return;
    const uint32_t stride = std::max(bytes, 2 * w.local_stride);
    const auto grow = [&](std::vector<uint8_t>& old) {
        std::vector<uint8_t> grown(size_t{32} * stride);
        for (size_t lane = 0; lane < 32 && w.local_stride != 0; ++lane)
            std::memcpy(grown.data() + lane * stride, old.data() + lane * w.local_stride,
                        w.local_stride);
        old = std::move(grown);
    };
    if (w.tracks_local) grow(w.local_written);
    grow(w.local);
    w.local_stride = stride;
}

void clear_local(warp::Warp& w, unsigned lane, uint32_t begin, uint32_t bytes) {
    const size_t at = size_t{lane} * w.local_stride + begin;
    std::memset(w.local.data() + at, w.local_fill, bytes);
    if (w.tracks_local) std::memset(w.local_written.data() + at, 0, bytes);
}

Handler alloca_handler(const Operation&) {
    return [](Context& c, const Step& s, uint32_t mask) { allocate(c, *s.op, mask); };
}
Handler stacksave_handler(const Operation&) {
    return [](Context& c, const Step& s, uint32_t mask) { save(c, *s.op, mask); };
}
Handler stackrestore_handler(const Operation&) {
    return [](Context& c, const Step& s, uint32_t mask) { restore(c, *s.op, mask); };
}

}  // namespace lockwarp::exec
