// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/listeners.hpp"

#include <algorithm>
#include <utility>

namespace lockwarp::exec {

using isa::Op;

bool Listeners::begin(Observers observers, const warp::CtaPlace& cta, size_t warps) {
    all_.clear();
    listening_.clear();
    for (warp::Observer* o : observers) {
        all_.push_back(o->begin(cta));
        if (all_.back()) listening_.push_back(all_.back().get());
    }
    groups_.assign(warps, {});
    bulk_groups_.assign(warps, {});
    return !listening_.empty();
}

CtaObservers Listeners::end() {
    for (warp::CtaObserver* l : listening_) l->ended();
    return std::exchange(all_, {});
}

namespace {

struct CopyRow {
    Op op;
    warp::CopyStep step;
    bool uncommitted = false;  // it means copies of no group too
};

constexpr std::array copy_rows{
    CopyRow{Op::cp_async, warp::CopyStep::issued},
    CopyRow{Op::cp_async_commit, warp::CopyStep::committed},
    CopyRow{Op::cp_async_wait, warp::CopyStep::awaited},
    CopyRow{Op::cp_async_wait_all, warp::CopyStep::awaited, true},
    CopyRow{Op::mbarrier_copies, warp::CopyStep::arrives, true},
};

constexpr std::array bulk_rows{
    CopyRow{Op::bulk_load, warp::CopyStep::issued},
    CopyRow{Op::bulk_send, warp::CopyStep::issued},
    CopyRow{Op::bulk_store, warp::CopyStep::issued},
    CopyRow{Op::bulk_reduce, warp::CopyStep::issued},
    CopyRow{Op::bulk_send_reduce, warp::CopyStep::issued},
    CopyRow{Op::tensor_load, warp::CopyStep::issued},
    CopyRow{Op::tensor_store, warp::CopyStep::issued},
    CopyRow{Op::tensor_reduce, warp::CopyStep::issued},
    CopyRow{Op::launch_cancel, warp::CopyStep::issued},
    CopyRow{Op::async_store, warp::CopyStep::issued},
    CopyRow{Op::async_reduce, warp::CopyStep::issued},
    CopyRow{Op::bulk_commit, warp::CopyStep::committed},
    CopyRow{Op::bulk_wait, warp::CopyStep::awaited},
};

void count_group(std::array<uint32_t, 32>& committed, uint32_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1) ++committed[static_cast<unsigned>(__builtin_ctz(lanes))];
}

}  // namespace

bool is_bulk(Op op) {
    static constexpr auto by_op = [] {
        std::array<bool, isa::op_count> out{};
        for (const CopyRow& row : bulk_rows) out[static_cast<size_t>(row.op)] = true;
        return out;
    }();
    return by_op[static_cast<size_t>(op)];
}

bool is_of_copies(Op op) {
    return std::ranges::find(copy_rows, op, &CopyRow::op) != copy_rows.end();
}

void Listeners::copies(const isa::Operation& o, uint32_t operation, warp::WarpLanes who,
                       std::span<const warp::Access> accesses) {
    std::array<uint32_t, 32>& committed = groups_[who.warp];
    std::array<uint32_t, 32> groups = committed;
    const CopyRow& row = *std::ranges::find(copy_rows, o.op, &CopyRow::op);
    // cp.async.wait_group: all groups but the youngest.
    if (row.step == warp::CopyStep::awaited && !row.uncommitted)
        for (uint32_t& group : groups)
            group -= static_cast<uint32_t>(std::min<uint64_t>(group, o.immediate));
    const warp::CopyEvent e{row.step, operation, who, groups, row.uncommitted, accesses};
    if (row.step == warp::CopyStep::committed) count_group(committed, who.lanes);
    for (warp::CtaObserver* l : listening_) l->copies(e);
}

void Listeners::bulk(const isa::Operation& o, uint32_t operation, warp::WarpLanes who,
                     std::span<const warp::BulkRange> ranges,
                     std::span<const warp::BulkArrival> arrivals) {
    std::array<uint32_t, 32>& committed = bulk_groups_[who.warp];
    std::array<uint32_t, 32> groups = committed;
    const CopyRow& row = *std::ranges::find(bulk_rows, o.op, &CopyRow::op);
    if (row.step == warp::CopyStep::awaited)
        for (uint32_t& group : groups)
            group -= static_cast<uint32_t>(std::min<uint64_t>(group, o.immediate));
    const warp::BulkEvent e{row.step, operation, who, groups, o.mod.reads, ranges, arrivals};
    if (row.step == warp::CopyStep::committed) count_group(committed, who.lanes);
    for (warp::CtaObserver* l : listening_) l->bulk(e);
}

void Handover::put(const warp::CtaPlace& cta, CtaObservers listeners, bool last) {
    if (observers_.empty()) return;
    const std::lock_guard guard(lock_);
    waiting_.emplace(cta.cluster * cta.cluster_ctas + cta.rank,
                     Ended{cta, std::move(listeners), last});
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
         first = waiting_.begin()) {
        Ended& ended = first->second;
        for (size_t i = 0; i < ended.listeners.size(); ++i)
            if (ended.listeners[i]) observers_[i]->take(ended.cta, std::move(ended.listeners[i]));
        next_ = ended.last ? UINT64_MAX : next_ + 1;
        waiting_.erase(first);
    }
}

}  // namespace lockwarp::exec
