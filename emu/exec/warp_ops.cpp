// SPDX-License-Identifier: Apache-2.0
// shfl, vote, match, redux, elect, activemask. PTX manual, "shfl.sync", "vote.sync", "match.sync",
// "redux.sync", "elect.sync", "activemask". The scheduler has brought the lanes of the membermask
// together: `mask` is all that execute it.
#include <cstring>

#include "emu/exec/families.hpp"
#include "emu/num/ieee.hpp"

namespace lockwarp::exec {

namespace {

void shfl(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[2]);
    const auto* b = slot<uint32_t>(c, o.r[3]);
    const auto* e = slot<uint32_t>(c, o.r[4]);
    std::array<uint32_t, 32> before;
    std::copy(a, a + 32, before.begin());
    uint32_t in_range = 0;
    each_lane(mask, [&](unsigned l) {
        const uint32_t amount = b[l] & 31;
        const uint32_t clamp = e[l] & 31;
        const uint32_t segment = (e[l] >> 8) & 31;
        const uint32_t most = (l & segment) | (clamp & ~segment);
        const uint32_t least = l & segment;
        uint32_t from = l;
        bool good = false;
        switch (o.mod.shuffle) {
            case isa::Shuffle::up:
                from = l - amount;
                good = static_cast<int32_t>(from) >= static_cast<int32_t>(most);
                break;
            case isa::Shuffle::down:
                from = l + amount;
                good = from <= most;
                break;
            case isa::Shuffle::bfly:
                from = l ^ amount;
                good = from <= most;
                break;
            default:
                from = least | (amount & ~segment);
                good = from <= most;
        }
        in_range |= uint32_t{good} << l;
        // A lane that does not execute the instruction has no value to give.
        c.undefined |= uint32_t{good && (mask >> (from & 31) & 1) == 0} << l;
        d[l] = before[good ? from & 31 : l];
    });
    write_predicate(c, o.r[1], in_range, mask);
}

void vote(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const uint32_t p = read_predicate(c, o, 1);
    const auto* members = slot<uint32_t>(c, o.r[2]);
    if (o.mod.vote == isa::Vote::ballot) {
        auto* d = slot<uint32_t>(c, o.r[0]);
        for_lanes(mask, [&](unsigned l) { d[l] = p & members[l] & mask; });
        return;
    }
    const uint32_t out = lanes_where(mask, [&](unsigned l) {
        const uint32_t asked = members[l] & mask;
        const bool all = (p & asked) == asked;
        const bool any = (p & asked) != 0;
        return o.mod.vote == isa::Vote::all   ? all
               : o.mod.vote == isa::Vote::any ? any
                                              : all || !any;
    });
    write_predicate(c, o.r[0], out, mask);
}

// The lanes that hold the value, whether they execute the instruction or not.
template <class T>
uint32_t holders(const T* a, T value) {
    std::array<uint8_t, 32> holds;
    for (unsigned l = 0; l < 32; ++l) holds[l] = a[l] == value;
    std::array<uint64_t, 4> eights;
    std::memcpy(eights.data(), holds.data(), sizeof eights);
    uint32_t out = 0;
    // The product's highest byte has a bit of each byte.
    for (unsigned n = 0; n < 4; ++n)
        out |= static_cast<uint32_t>(eights[n] * 0x0102040810204080 >> 56) << (8 * n);
    return out;
}

template <class T>
void match(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const bool all = o.mod.vote == isa::Vote::all;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<T>(c, o.r[o.operands - 2]);
    const auto* members = slot<uint32_t>(c, o.r[o.operands - 1]);
    std::array<uint32_t, 32> out{};
    uint32_t agree = 0;
    for (uint32_t rest = mask; rest != 0;) {
        const uint32_t equal = holders(a, a[__builtin_ctz(rest)]) & mask;
        rest &= ~equal;
        each_lane(equal, [&](unsigned l) {
            const uint32_t asked = members[l] & mask;
            const uint32_t same = equal & asked;
            agree |= uint32_t{same == asked} << l;
            out[l] = all && same != asked ? 0 : same;
        });
    }
    // d may be the register of a.
    for_lanes(mask, [&](unsigned l) { d[l] = out[l]; });
    if (all) write_predicate(c, o.r[1], agree, mask);
}

uint32_t reduced(const isa::Modifiers& m, uint32_t x, uint32_t y) {
    if (m.combine == isa::Combine::and_) return x & y;
    if (m.combine == isa::Combine::or_) return x | y;
    if (m.combine == isa::Combine::xor_) return x ^ y;
    if (m.reduce == isa::Reduce::add) return x + y;
    const bool less =
        isa::is_signed(m.type[0]) ? static_cast<int32_t>(x) < static_cast<int32_t>(y) : x < y;
    return (m.reduce == isa::Reduce::min) == less ? x : y;
}

void redux(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[1]);
    const auto* members = slot<uint32_t>(c, o.r[2]);
    std::array<uint32_t, 32> out{};
    uint32_t known = 0;  // lanes that `sum` is of: mostly those of all
    uint32_t sum = 0;
    each_lane(mask, [&](unsigned l) {
        const uint32_t all = members[l] & mask;
        if (all != known) {
            sum = a[__builtin_ctz(all)];
            for (uint32_t rest = all & (all - 1); rest != 0; rest &= rest - 1)
                sum = reduced(o.mod, sum, a[__builtin_ctz(rest)]);
            known = all;
        }
        out[l] = sum;
    });
    for_lanes(mask, [&](unsigned l) { d[l] = out[l]; });
}

// The least or the greatest value; alone with itself, so that one NaN becomes the canonical one.
void redux_float(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[1]);
    const auto* members = slot<uint32_t>(c, o.r[2]);
    const num::Flags flags = flags_of(o.mod);
    const auto extremum = o.mod.reduce == isa::Reduce::min ? num::min : num::max;
    std::array<uint32_t, 32> out{};
    for_lanes(mask, [&](unsigned l) {
        const uint32_t all = members[l] & mask;
        uint64_t value = a[__builtin_ctz(all)];
        for (uint32_t rest = all; rest != 0; rest &= rest - 1)
            value = extremum(Type::f32, value, a[__builtin_ctz(rest)], flags);
        out[l] = static_cast<uint32_t>(value);
    });
    for_lanes(mask, [&](unsigned l) { d[l] = out[l]; });
}

// The lowest lane that executes it leads. The manual says only that it is always the same one.
void elect(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* members = slot<uint32_t>(c, o.r[2]);
    std::array<uint32_t, 32> leader{};
    uint32_t leads = 0;
    each_lane(mask, [&](unsigned l) {
        leader[l] = static_cast<uint32_t>(__builtin_ctz(members[l] & mask));
        leads |= uint32_t{leader[l] == l} << l;
    });
    for_lanes(mask, [&](unsigned l) { d[l] = leader[l]; });
    write_predicate(c, o.r[1], leads, mask);
}

void activemask(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    for_lanes(mask, [&](unsigned l) { d[l] = mask; });
}

void nothing(Context&, const Step&, uint32_t) {}

}  // namespace

Handler shfl_handler(const Operation&) { return shfl; }
Handler vote_handler(const Operation&) { return vote; }
Handler match_handler(const Operation& o) {
    return o.mod.type[0] == Type::b64 ? match<uint64_t> : match<uint32_t>;
}
Handler redux_handler(const Operation&) { return redux; }
Handler float_redux(const Operation&) { return redux_float; }
Handler elect_handler(const Operation&) { return elect; }
Handler activemask_handler(const Operation&) { return activemask; }
Handler bar_warp_handler(const Operation&) { return nothing; }

}  // namespace lockwarp::exec
