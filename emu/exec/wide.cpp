// SPDX-License-Identifier: Apache-2.0
// mov, ld, st and atom of 128 bits, and mov of vectors. A register of 128 bits is two slots: its
// low half and, half_bytes behind, its high one.
#include <cstring>
#include <mutex>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

using isa::half_bytes;

constexpr uint32_t bytes = 16;

struct Value {
    uint64_t low, high;
    bool operator==(const Value&) const = default;
};

Value read(Context& c, Ref ref, unsigned lane) {
    return {slot<uint64_t>(c, ref)[lane], slot<uint64_t>(c, ref + half_bytes)[lane]};
}

void write(Context& c, Ref ref, unsigned lane, Value v) {
    slot<uint64_t>(c, ref)[lane] = v.low;
    slot<uint64_t>(c, ref + half_bytes)[lane] = v.high;
}

Value load(const uint8_t* at) {
    Value v;
    std::memcpy(&v, at, sizeof v);
    return v;
}

// f(lane), one after another.
template <class F>
void each_lane(uint32_t mask, F f) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        f(static_cast<unsigned>(__builtin_ctz(rest)));
}

void mov(Context& c, const Step& s, uint32_t mask) {
    each_lane(mask, [&](unsigned l) { write(c, s.op->r[0], l, read(c, s.op->r[1], l)); });
}

// d = {a, b} or {a, b, c, d}: the first element lowest.
void pack(Context& c, const Step& s, uint32_t mask) {
    const isa::VectorRef v = s.op->vector[1];
    const Ref* const parts = c.program->pool.data() + v.first;
    each_lane(mask, [&](unsigned l) {
        const auto half = [&](unsigned n) {
            if (v.count == 2) return slot<uint64_t>(c, parts[n])[l];
            return slot<uint32_t>(c, parts[2 * n])[l] |
                   uint64_t{slot<uint32_t>(c, parts[2 * n + 1])[l]} << 32;
        };
        write(c, s.op->r[0], l, {half(0), half(1)});
    });
}

void unpack(Context& c, const Step& s, uint32_t mask) {
    const isa::VectorRef v = s.op->vector[0];
    const Ref* const parts = c.program->pool.data() + v.first;
    each_lane(mask, [&](unsigned l) {
        const Value value = read(c, s.op->r[1], l);
        for (unsigned n = 0; n < v.count; ++n) {
            const uint64_t half = n < v.count / 2 ? value.low : value.high;
            if (v.count == 2)
                slot<uint64_t>(c, parts[n])[l] = half;
            else
                slot<uint32_t>(c, parts[n])[l] = static_cast<uint32_t>(half >> (n % 2 * 32));
        }
    });
}

// {a, b, ...} = {e, f, ...}, element by element; all are read before any is written.
void mov_elements(Context& c, const Step& s, uint32_t mask) {
    const isa::VectorRef to = s.op->vector[0];
    const isa::VectorRef from = s.op->vector[1];
    const std::vector<Ref>& pool = c.program->pool;
    const unsigned width = isa::bits(s.op->mod.type[0]);
    each_lane(mask, [&](unsigned l) {
        std::array<uint64_t, 4> values{};
        for (uint32_t i = 0; i < from.count; ++i) {
            const Ref ref = pool[from.first + i];
            values[i] = width == 64   ? slot<uint64_t>(c, ref)[l]
                        : width == 16 ? slot<uint32_t>(c, ref)[l] & 0xffff
                                      : slot<uint32_t>(c, ref)[l];
        }
        for (uint32_t i = 0; i < to.count; ++i) {
            const Ref ref = pool[to.first + i];
            if (width == 64)
                slot<uint64_t>(c, ref)[l] = values[i];
            else
                slot<uint32_t>(c, ref)[l] = static_cast<uint32_t>(values[i]);
        }
    });
}

// Beside the CTAs on other threads 16 bytes are read and written at once.
std::mutex lock;

bool places(Context& c, const Operation& o, uint32_t mask, bool writes, LanePointers& p) {
    LaneAddresses addresses;
    lane_addresses(c, o.address[0], mask, addresses);
    return locate(c, o, o.mod.space, addresses, mask, bytes, bytes, writes, p);
}

Ref data(const Context& c, const Operation& o, unsigned vector) {
    return c.program->pool[o.vector[vector].first];
}

void ld(Context& c, const Step& s, uint32_t mask) {
    LanePointers p;
    if (!places(c, *s.op, mask, false, p)) return;
    if (c.warp->tracks_local) note_unwritten(c, *s.op, p, mask, bytes);
    const std::lock_guard guard(lock);
    each_lane(mask, [&](unsigned l) { write(c, data(c, *s.op, 0), l, load(p[l])); });
}

void st(Context& c, const Step& s, uint32_t mask) {
    LanePointers p;
    if (!places(c, *s.op, mask, true, p)) return;
    const std::lock_guard guard(lock);
    each_lane(mask, [&](unsigned l) {
        const Value v = read(c, data(c, *s.op, 0), l);
        std::memcpy(p[l], &v, sizeof v);
    });
}

// exch and cas.
void atom(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const bool compares = o.mod.reduce == isa::Reduce::cas;
    LanePointers p;
    if (c.observed && !places(c, o, mask, false, p)) return;
    if (!places(c, o, mask, true, p)) return;
    bool changed = false;
    const std::lock_guard guard(lock);
    each_lane(mask, [&](unsigned l) {
        const Value old = load(p[l]);
        const Value b = read(c, data(c, o, 1), l);
        const Value next = !compares ? b : old == b ? read(c, data(c, o, 2), l) : old;
        changed |= !(next == old);
        std::memcpy(p[l], &next, sizeof next);
        write(c, data(c, o, 0), l, old);
    });
    // A lock that stays taken is no progress: whoever waits for it spins.
    c.stores -= !changed;
}

}  // namespace

Handler wide_mov(const Operation& o) {
    if (o.mod.type[0] != Type::b128) return mov_elements;
    return o.vector[0].count != 0 ? unpack : o.vector[1].count != 0 ? pack : mov;
}

Handler wide_ld(const Operation&) { return ld; }
Handler wide_st(const Operation&) { return st; }
Handler wide_atom(const Operation&) { return atom; }

}  // namespace lockwarp::exec
