// shfl, vote, activemask. PTX manual, "shfl.sync", "vote.sync", "activemask". The scheduler has
// brought the lanes of the membermask together: `mask` is all that execute it.
#include "emu/exec/context.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;

void shfl(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* a = slot<uint32_t>(c, o.r[2]);
    const auto* b = slot<uint32_t>(c, o.r[3]);
    const auto* e = slot<uint32_t>(c, o.r[4]);
    std::array<uint32_t, 32> before;
    std::copy(a, a + 32, before.begin());
    uint32_t in_range = 0;
    for_lanes(mask, [&](unsigned l) {
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
    uint32_t out = 0;
    for_lanes(mask, [&](unsigned l) {
        const uint32_t asked = members[l] & mask;
        const bool all = (p & asked) == asked;
        const bool any = (p & asked) != 0;
        const bool yes = o.mod.vote == isa::Vote::all   ? all
                         : o.mod.vote == isa::Vote::any ? any
                                                        : all || !any;
        out |= uint32_t{yes} << l;
    });
    write_predicate(c, o.r[0], out, mask);
}

void activemask(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    for_lanes(mask, [&](unsigned l) { d[l] = mask; });
}

void nothing(Context&, const Step&, uint32_t) {}

}  // namespace

Handler warp_handler(const Operation& o) {
    switch (o.op) {
        case Op::shfl:
            return shfl;
        case Op::vote:
            return vote;
        case Op::activemask:
            return activemask;
        case Op::bar_warp:
            return nothing;
        default:
            return nullptr;
    }
}

}  // namespace lockwarp::exec
