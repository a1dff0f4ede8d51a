// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk and cp.reduce.async.bulk of bytes, st.async, red.async, and the answers of
// clusterlaunchcontrol. PTX manual, "Data Movement and Conversion Instructions: Bulk copy",
// "st.async", "red.async", "clusterlaunchcontrol.try_cancel". A copy is a thread's own: the
// lanes of a warp copy one after another.
#include <bit>
#include <cstring>

#include "emu/exec/bulk.hpp"
#include "emu/exec/cluster.hpp"
#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using ptx::Space;
using warp::TrapKind;

// PTX manual, cp.async.bulk: addresses and size are multiples of 16. Of a size in a register an
// H200 takes 16 bits of 16 bytes each, and leaves out the rest. Of no bytes an H100 looks at no
// address, nor at the mbarrier's.
constexpr uint32_t granule = 16;
constexpr uint32_t size_field = 0xffff0;

// What a bulk copy is between.
struct Ends {
    Space to, from;
    bool counted;  // by an mbarrier; else of a group
    bool reduces;
};

Ends ends_of(Op op) {
    switch (op) {
        case Op::bulk_load:
            return {Space::shared, Space::global, true, false};
        case Op::bulk_send:
            return {Space::shared, Space::shared, true, false};
        case Op::bulk_send_reduce:
            return {Space::shared, Space::shared, true, true};
        case Op::bulk_store:
            return {Space::global, Space::shared, false, false};
        default:
            return {Space::global, Space::shared, false, true};
    }
}

// To one CTA: the bytes, and their number to the mbarrier. false: a trap was set.
bool copy_to(Context& c, const Operation& o, const Ends& ends, unsigned lane, const uint8_t* source,
             uint32_t size, uint64_t to, uint64_t barrier) {
    uint8_t* const target = bulk_bytes(c, o, lane, ends.to, to, size, granule, true);
    if (target == nullptr) return false;
    if (ends.reduces)
        reduce_bytes(o.mod, false, target, source, size);
    else
        std::memmove(target, source, size);
    return !ends.counted || bulk_arrives(c, o, lane, Space::shared, barrier, size);
}

// What goes to a CTA of the cluster, its own too, needs a launch with clusters: without, an H200
// answers with an illegal instruction. false: a trap was set.
bool has_clusters(Context& c, const Operation& o) {
    if (c.cluster->of.is_explicit) return true;
    set_trap(c, o, TrapKind::illegal, "the launch has no clusters");
    return false;
}

// Of each 16 bytes those of the mask's bits; the others are neither written nor looked at. false: a
// trap was set.
bool store_masked(Context& c, const Operation& o, unsigned lane, const uint8_t* source,
                  uint32_t size, uint64_t to, uint32_t mask) {
    if (to % granule != 0) {
        set_trap(c, o, TrapKind::misaligned, "must be a multiple of 16", lane, to, Space::global);
        return false;
    }
    for (uint32_t at = 0; at < size; at += granule)
        for (uint32_t from = 0; from < granule;) {
            const uint32_t rest = mask >> from;
            if ((rest & 1) == 0) {
                ++from;
                continue;
            }
            const auto run = static_cast<uint32_t>(std::countr_one(rest));
            uint8_t* const target =
                bulk_bytes(c, o, lane, Space::global, to + at + from, run, 1, true);
            if (target == nullptr) return false;
            std::memcpy(target, source + at + from, run);
            from += run;
        }
    return true;
}

bool copy_of_lane(Context& c, const Operation& o, const Ends& ends, unsigned lane) {
    const uint32_t size = slot<uint32_t>(c, o.r[0])[lane] & size_field;
    if (ends.to == Space::shared && ends.from == Space::shared && !has_clusters(c, o)) return false;
    if (size == 0) return true;
    const uint64_t to = lane_address(c, o.address[0], lane);
    const uint64_t from = lane_address(c, o.address[1], lane);
    const uint8_t* const source = bulk_bytes(c, o, lane, ends.from, from, size, granule, false);
    if (source == nullptr) return false;
    if (o.mod.byte_mask)
        return store_masked(c, o, lane, source, size, to, slot<uint32_t>(c, o.r[1])[lane] & 0xffff);
    const uint64_t barrier = ends.counted ? lane_address(c, o.address[2], lane) : 0;
    if (!o.mod.multicast) return copy_to(c, o, ends, lane, source, size, to, barrier);
    uint32_t ranks = 0;
    if (!multicast_ranks(c, o, slot<uint32_t>(c, o.r[1])[lane], lane, ranks)) return false;
    bool good = true;
    each_rank(ranks, [&](uint32_t rank) {
        good = good && copy_to(c, o, ends, lane, source, size, in_window_of(rank, to),
                               in_window_of(rank, barrier));
    });
    return good;
}

void copy(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const Ends ends = ends_of(o.op);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        if (!copy_of_lane(c, o, ends, static_cast<unsigned>(__builtin_ctz(rest)))) return;
}

// Nothing comes of a prefetch but, on an H100, the fault of an address that is no multiple of 16.
void prefetch(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const uint64_t from = lane_address(c, o.address[0], lane);
        if ((slot<uint32_t>(c, o.r[0])[lane] & size_field) == 0 || from % granule == 0) continue;
        return set_trap(c, o, TrapKind::misaligned, "must be a multiple of 16", lane, from,
                        Space::global);
    }
}

// Generic addresses lead to shared memory. false: a trap was set.
bool in_shared(Context& c, const Operation& o, unsigned lane,
               std::initializer_list<uint64_t> addresses) {
    for (const uint64_t address : addresses) {
        if (o.mod.space != Space::none || in_window(address, Space::shared)) continue;
        set_trap(c, o, TrapKind::wrong_space, "it stores to the .shared memory of a cluster", lane,
                 address, Space::none);
        return false;
    }
    return true;
}

// st.async, red.async: elements of registers, and as many bytes for the mbarrier.
bool store_of_lane(Context& c, const Operation& o, unsigned lane) {
    if (!has_clusters(c, o)) return false;
    const uint32_t each = isa::bits(o.mod.type[0]) / 8;
    const isa::VectorRef v = o.vector[0];
    const bool reduces = o.op == Op::async_reduce;
    const uint32_t count = reduces ? 1 : v.count;
    std::array<uint8_t, 16> bytes{};
    for (uint32_t i = 0; i < count; ++i) {
        const Ref ref = reduces ? o.r[0] : c.program->pool[v.first + i];
        const uint64_t value =
            each == 8 ? slot<uint64_t>(c, ref)[lane] : slot<uint32_t>(c, ref)[lane];
        std::memcpy(bytes.data() + size_t{i} * each, &value, each);
    }
    const uint32_t size = count * each;
    const uint64_t to = lane_address(c, o.address[0], lane);
    const uint64_t barrier = lane_address(c, o.address[1], lane);
    if (!in_shared(c, o, lane, {to, barrier})) return false;
    uint8_t* const target = bulk_bytes(c, o, lane, o.mod.space, to, size, size, true);
    if (target == nullptr) return false;
    if (reduces)
        reduce_bytes(o.mod, false, target, bytes.data(), size);
    else
        std::memcpy(target, bytes.data(), size);
    return bulk_arrives(c, o, lane, o.mod.space, barrier, size);
}

void store(Context& c, const Step& s, uint32_t mask) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        if (!store_of_lane(c, *s.op, static_cast<unsigned>(__builtin_ctz(rest)))) return;
}

// Every cluster of the grid has begun: no launch is there to be cancelled, and the answer, in bytes
// of our own (PTX manual: opaque), is that none was.
bool answer_of_lane(Context& c, const Operation& o, unsigned lane) {
    constexpr uint32_t size = 16;
    const uint64_t to = lane_address(c, o.address[0], lane);
    const uint64_t barrier = lane_address(c, o.address[1], lane);
    if (!in_shared(c, o, lane, {to, barrier})) return false;
    uint8_t* const target = bulk_bytes(c, o, lane, o.mod.space, to, size, size, true);
    if (target == nullptr) return false;
    std::memset(target, 0, size);
    return bulk_arrives(c, o, lane, o.mod.space, barrier, size);
}

void cancel(Context& c, const Step& s, uint32_t mask) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        if (!answer_of_lane(c, *s.op, static_cast<unsigned>(__builtin_ctz(rest)))) return;
}

void is_canceled(Context& c, const Step& s, uint32_t mask) {
    write_predicate(c, s.op->r[0], 0, mask);
}

// Of a request that was not granted it is undefined: 0.
void first_cta(Context& c, const Step& s, uint32_t mask) {
    const isa::VectorRef v = s.op->vector[0];
    const auto clear = [&](Ref ref) {
        auto* const d = slot<uint32_t>(c, ref);
        for_lanes(mask, [&](unsigned l) { d[l] = 0; });
    };
    if (v.count == 0) return clear(s.op->r[0]);
    for (uint32_t i = 0; i < v.count; ++i) clear(c.program->pool[v.first + i]);
}

}  // namespace

Handler launch_cancel_handler(const Operation&) { return cancel; }
Handler launch_canceled_handler(const Operation&) { return is_canceled; }
Handler launch_first_handler(const Operation&) { return first_cta; }
Handler bulk_copy_handler(const Operation&) { return copy; }
Handler bulk_prefetch_handler(const Operation&) { return prefetch; }
Handler async_store_handler(const Operation&) { return store; }

}  // namespace lockwarp::exec
