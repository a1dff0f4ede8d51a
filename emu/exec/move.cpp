// SPDX-License-Identifier: Apache-2.0
// mov, cvta, isspacep. PTX manual, "Data Movement and Conversion Instructions".
#include <algorithm>

#include "emu/exec/cluster.hpp"
#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

template <class T>
void mov(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = a[l]; });
}

// The low half of a special register of 32 bits.
void mov_low(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint16_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = a[l] & 0xffff; });
}

// No turn is given away: it only makes the warp's clocks later, by what its longest lane sleeps.
void nanosleep(Context& c, const Step& s, uint32_t mask) {
    constexpr uint32_t longest = 1'000'000;  // PTX manual, "nanosleep"
    const auto* a = slot<uint32_t>(c, s.op->r[0]);
    uint32_t most = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        most = std::max<uint32_t>(most, a[__builtin_ctz(rest)]);
    c.warp->slept += std::min(most, longest);
}

// d = {a, b, ...}: the first element lowest.
template <class T>
void pack(Context& c, const Step& s, uint32_t mask) {
    const isa::VectorRef v = s.op->vector[1];
    const unsigned width = isa::bits(s.op->mod.type[0]) / v.count;
    auto* d = slot<T>(c, s.op->r[0]);
    for_lanes(mask, [&](unsigned l) {
        Lane<T> value = 0;
        for (uint32_t i = 0; i < v.count; ++i)
            value |= Lane<T>{slot<uint32_t>(c, c.program->pool[v.first + i])[l]} << (i * width);
        d[l] = value;
    });
}

// {a, b, ...} = s
template <class T>
void unpack(Context& c, const Step& s, uint32_t mask) {
    const isa::VectorRef v = s.op->vector[0];
    const unsigned width = isa::bits(s.op->mod.type[0]) / v.count;
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto ones = static_cast<uint32_t>((uint64_t{1} << width) - 1);
    for_lanes(mask, [&](unsigned l) {
        const Lane<T> value = a[l];
        for (uint32_t i = 0; i < v.count; ++i)
            slot<uint32_t>(c, c.program->pool[v.first + i])[l] =
                static_cast<uint32_t>(value >> (i * width)) & ones;
    });
}

uint64_t window(ptx::Space space) {
    for (const isa::SpaceWindow& w : isa::space_windows)
        if (w.space == space) return w.base;
    return 0;
}

template <class T>
void cvta(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const uint64_t base = s.op->mod.to ? 0 - window(s.op->mod.space) : window(s.op->mod.space);
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<Lane<T>>(a[l] + base); });
}

// Of the window of its own CTA, or of any rank, whether the cluster has it or not (measured on an
// H200).
bool is_shared(const Context& c, const Operation& o, uint64_t address) {
    return address < isa::cluster_window_bytes &&
           (o.mod.cluster_space || isa::rank_of(address) == c.cta->rank);
}

void isspacep(Context& c, const Step& s, uint32_t mask) {
    const auto* a = slot<uint64_t>(c, s.op->r[1]);
    const ptx::Space space = s.op->mod.space;
    const uint32_t out = lanes_where(mask, [&](unsigned l) {
        // A parameter's address is one in global memory, a constant's is not (recorded on an H100).
        if (space == ptx::Space::global)
            return a[l] - isa::shared_window >= isa::windows_bytes ||
                   a[l] - isa::param_window < isa::window_bytes;
        if (space == ptx::Space::shared) return is_shared(c, *s.op, a[l] - window(space));
        return a[l] - window(space) < isa::window_bytes;
    });
    write_predicate(c, s.op->r[0], out, mask);
}

}  // namespace

Handler register_mov(const Operation& o) {
    const bool is_wide = isa::bits(o.mod.type[0]) == 64;
    if (o.vector[0].count != 0) return is_wide ? unpack<uint64_t> : unpack<uint32_t>;
    if (o.vector[1].count != 0) return is_wide ? pack<uint64_t> : pack<uint32_t>;
    if (isa::bits(o.mod.type[0]) == 16 && o.source_bits == 32) return mov_low;
    return is_wide ? mov<uint64_t> : mov<uint32_t>;
}

Handler cvta_handler(const Operation& o) {
    return isa::bits(o.mod.type[0]) == 64 ? cvta<uint64_t> : cvta<uint32_t>;
}

Handler isspacep_handler(const Operation&) { return isspacep; }

Handler nanosleep_handler(const Operation&) { return nanosleep; }

}  // namespace lockwarp::exec
