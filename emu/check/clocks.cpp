// SPDX-License-Identifier: Apache-2.0
#include "emu/check/clocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/check/of_cluster.hpp"

namespace lockwarp::check {

using isa::MemoryOrder;
using isa::Op;

namespace {

// Meetings that a warp remembers; when there are more, its lanes are taken to have met.
constexpr size_t max_meetings = 1024;

// Of loads, stores and updates: fences alone have .sc.
bool acquires(const isa::Operation& o) {
    const MemoryOrder order = o.mod.memory_order;
    return order == MemoryOrder::acquire || order == MemoryOrder::acq_rel;
}

bool releases(const isa::Operation& o) {
    const MemoryOrder order = o.mod.memory_order;
    return order == MemoryOrder::release || order == MemoryOrder::acq_rel;
}

bool is_fence(const isa::Operation& o) {
    return o.op == Op::fence && o.mod.scope != isa::MemoryScope::none;
}

bool reads_strongly(const isa::Operation& o) {
    return o.op == Op::atom || (o.op == Op::ld && is_strong(o));
}

bool writes_strongly(const isa::Operation& o) {
    return isa::row(o.op).memory == isa::Memory::update || (o.op == Op::st && is_strong(o));
}

uint32_t word(const uint8_t* registers, isa::Ref ref, uint32_t lane) {
    uint32_t out = 0;
    std::memcpy(&out, registers + ref + lane * sizeof out, sizeof out);
    return out;
}

template <class F>
void each_lane(uint32_t lanes, F f) {
    for (; lanes != 0; lanes &= lanes - 1) f(static_cast<uint32_t>(__builtin_ctz(lanes)));
}

}  // namespace

Reach reach_of(const isa::Operation& o) {
    switch (o.mod.scope) {
        case isa::MemoryScope::cta:
            return Reach::cta;
        case isa::MemoryScope::cluster:
        case isa::MemoryScope::gpu:
        case isa::MemoryScope::sys:
            return Reach::grid;
        case isa::MemoryScope::none:
            break;
    }
    return Reach::grid;
}

bool is_strong(const isa::Operation& o) {
    switch (isa::row(o.op).memory) {
        case isa::Memory::update:
            return true;
        case isa::Memory::barrier:
            return o.op != Op::mbarrier_init && o.op != Op::mbarrier_inval;
        case isa::Memory::load:
        case isa::Memory::store:
            return o.mod.memory_order != MemoryOrder::weak;
        case isa::Memory::none:
        case isa::Memory::copy:
            break;
    }
    return false;
}

bool orders_ctas(const isa::Program& program) {
    return std::ranges::any_of(program.operations, [](const isa::Operation& o) {
        return reads_strongly(o) && o.mod.space != ptx::Space::shared;
    });
}

void CtaClock::advance(WarpClock& w) {
    w.time_ = ++now_;
    ++w.version_;
}

void CtaClock::all_met(WarpClock& w) {
    advance(w);
    w.met_ = w.time_;
    w.meetings_.clear();
    w.base_.reset();
}

void CtaClock::note_meeting(WarpClock& w, uint32_t lanes, WarpClock::Meeting::Kind kind) {
    if (w.meetings_.size() == max_meetings) return all_met(w);
    advance(w);
    w.meetings_.push_back({w.time_, lanes, kind});
    if (kind != WarpClock::Meeting::sync || w.base_ == nullptr) return;
    if ((w.knowing_ & lanes) != 0) w.knowing_ |= lanes;
    if ((w.live_ & ~w.knowing_) == 0) w.base_.reset();
}

void CtaClock::note_active(WarpClock& w, const warp::Retired& e) {
    if (w.active_ == e.active) return;
    if (w.active_ != 0) {
        note_meeting(w, w.active_, WarpClock::Meeting::together);
        note_meeting(w, e.active, WarpClock::Meeting::together);
    }
    w.active_ = e.active;
}

std::shared_ptr<const Knowledge> CtaClock::kept(WarpClock& w, uint32_t index, uint32_t lanes) {
    // Those that these have met come with them.
    uint32_t with = lanes;
    for (size_t i = w.meetings_.size(); i-- > 0 && (w.live_ & ~with) != 0;) {
        const WarpClock::Meeting& m = w.meetings_[i];
        if (m.kind != WarpClock::Meeting::together && (with & m.lanes) != 0) with |= m.lanes;
    }
    if ((w.live_ & ~with) == 0) with = UINT32_MAX;
    if (w.kept_version_ == w.version_ && w.kept_lanes_ == with) return w.kept_;
    Knowledge k = w.now_;
    if (w.base_ != nullptr && (lanes & w.knowing_) == 0) k.model = *w.base_;
    Times& own = k.model.own;
    const Times::Partly before = own.of(index);
    std::erase_if(own.partly, [&](const Times::Partly& p) { return p.warp == index; });
    own.last[index] = w.time_;
    const uint32_t whole = std::max(before.whole, w.met_ - 1);
    if (with != UINT32_MAX && whole < w.time_) own.partly.push_back({index, whole, with});
    k.convention.own.last[index] = w.time_;
    w.kept_ = std::make_shared<const Knowledge>(std::move(k));
    w.kept_version_ = w.version_;
    w.kept_lanes_ = with;
    return w.kept_;
}

void CtaClock::barrier_arrived(const warp::BarrierArrived& e) {
    WarpClock& w = warps_[e.who.warp % max_warps];
    Barrier& b = barriers_[e.barrier % barriers_.size()];
    const std::shared_ptr<const Knowledge> k = kept(w, e.who.warp % max_warps, UINT32_MAX);
    b.arrived.join(*k, cta_);
    for (size_t i = 0; i < w.fenced_.size(); ++i)
        if (w.fenced_[i]) b.fenced[i].join(*w.fenced_[i], cta_);
    b.any_fenced |= w.fenced_[0] != nullptr;
    b.of_all = e.threads == 0;
    advance(w);
}

// Who did not come to a barrier that all wait at has exited.
void CtaClock::join_exited(Barrier& b, std::span<const warp::WarpLanes> released) {
    for (uint32_t i = 0; i < max_warps; ++i) {
        const bool came = std::ranges::find(released, i, &warp::WarpLanes::warp) != released.end();
        if (came || warps_[i].live_ == 0) continue;
        exited_ |= uint32_t{1} << i;
        b.arrived.convention.join(cta_, cta_, kept(warps_[i], i, UINT32_MAX)->convention);
    }
}

void CtaClock::barrier_opened(const warp::BarrierOpened& e) {
    Barrier& b = barriers_[e.barrier % barriers_.size()];
    if (b.of_all) join_exited(b, e.released);
    ++now_;
    std::array<std::shared_ptr<const Knowledge>, 2> fenced;
    for (size_t i = 0; b.any_fenced && i < fenced.size(); ++i)
        fenced[i] = std::make_shared<const Knowledge>(std::move(b.fenced[i]));
    for (const warp::WarpLanes& r : e.released) {
        WarpClock& w = warps_[r.warp % max_warps];
        w.now_.join(b.arrived, cta_);
        // What the fences of others let go before the barrier, a strong write behind it passes on.
        if (b.any_fenced) w.fenced_ = fenced;
        // The same time for all, so that their reads make one group.
        w.time_ = now_;
        w.met_ = now_;
        w.meetings_.clear();
        w.base_.reset();
        ++w.version_;
    }
    b = {};
}

CtaClock::CtaClock(uint64_t cta, Places& places, std::shared_ptr<OfCluster> of_cluster,
                   bool has_peers)
    : cta_(cta),
      places_(places),
      has_peers_(has_peers),
      shared_(of_cluster != nullptr ? std::move(of_cluster) : std::make_shared<OfCluster>()) {
    shared_->owner = std::min(shared_->owner, cta);
}

// A relaxed arrival lets go what a fence before it did.
void CtaClock::cluster_arrived(const warp::ClusterArrived& e) {
    const uint32_t index = e.who.warp % max_warps;
    WarpClock& w = warps_[index];
    const std::shared_ptr<const Knowledge> k = kept(w, index, UINT32_MAX);
    if (const auto& model = e.releases ? k : w.fenced_.back(); model != nullptr)
        shared_->arriving.model.join(shared_->owner, cta_, model->model);
    shared_->arriving.convention.join(shared_->owner, cta_, k->convention);
    advance(w);
}

// Each CTA of the cluster hears of it.
void CtaClock::cluster_opened(const warp::ClusterOpened& e) {
    if (shared_->phases > e.phase) return;
    shared_->phases = e.phase + 1;
    shared_->opened = std::exchange(shared_->arriving, {});
}

// Lanes are about to learn something by the manual's order that others do not.
void CtaClock::begin_learning(WarpClock& w, uint32_t lanes) {
    if ((w.live_ & ~lanes) == 0) {
        // All of them: what only some knew before is taken for known.
        w.base_.reset();
        return;
    }
    if (w.base_ == nullptr) {
        w.base_ = std::make_shared<const Known>(w.now_.model);
        w.knowing_ = 0;
    }
    w.knowing_ |= lanes;
}

void CtaClock::learn(WarpClock& w, const Left& left, bool by_model, uint32_t lanes) {
    if (by_model) begin_learning(w, lanes);
    const WarpClock::Learnt learnt{left.knowledge, by_model};
    if (!by_model && std::ranges::find(w.learnt_, learnt) != w.learnt_.end()) return;
    if (by_model) w.now_.model.join(cta_, left.cta, left.knowledge->model);
    w.now_.convention.join(cta_, left.cta, left.knowledge->convention);
    ++w.version_;
    std::rotate(w.learnt_.begin(), w.learnt_.end() - 1, w.learnt_.end());
    w.learnt_.front() = learnt;
}

void CtaClock::keep(std::vector<Left>& all, const Left& more) {
    const auto at = std::ranges::find(all, more.cta, &Left::cta);
    if (at == all.end()) return all.push_back(more);
    at->by_model |= more.by_model;
    if (at->knowledge == more.knowledge) return;
    const auto known = std::ranges::find_if(kept_, [&](const Kept& k) {
        return k.before == at->knowledge && k.more == more.knowledge;
    });
    if (known != kept_.end()) {
        at->knowledge = known->after;
    } else {
        Knowledge both = *at->knowledge;
        both.join(*more.knowledge, more.cta);
        auto after = std::make_shared<const Knowledge>(std::move(both));
        std::rotate(kept_.begin(), kept_.end() - 1, kept_.end());
        kept_.front() = {std::exchange(at->knowledge, after), more.knowledge, after};
    }
}

void CtaClock::fence(WarpClock& w, uint32_t index, const isa::Operation& o, uint32_t lanes) {
    const Reach reach = reach_of(o);
    if (o.mod.memory_order != MemoryOrder::release) {
        std::erase_if(w.found_, [&](const Left& left) {
            if (left.cta != cta_ && reach != Reach::grid) return false;
            learn(w, left, true, lanes);
            return true;
        });
        w.read_ = nullptr;
    }
    if (o.mod.memory_order == MemoryOrder::acquire) return;
    const std::shared_ptr<const Knowledge> k = kept(w, index, lanes);
    w.fenced_[0] = k;
    if (reach == Reach::grid) w.fenced_[1] = k;
    w.fenced_since_write_ = true;
    w.last_fence_ = reach;
}

Place& CtaClock::place(const warp::Access& a, uint32_t lane) {
    return a.space == ptx::Space::shared ? shared_->places[place_in_cluster(a, lane) & ~uint64_t{3}]
                                         : places_[a.address[lane] & ~uint64_t{3}];
}

void CtaClock::read_place(WarpClock& w, const isa::Operation& o, Place& p, uint32_t lanes) {
    const bool acquire = acquires(o);
    if (!acquire && w.read_ == &p && w.read_version_ == p.version) return;
    w.read_ = &p;
    w.read_version_ = p.version;
    const auto find = [&](const std::vector<Left>& all) {
        for (const Left& left : all) {
            learn(w, left, left.by_model && acquire, lanes);
            if (left.by_model && !acquire) keep(w.found_, left);
        }
    };
    if (const auto own = left_.find(&p); own != left_.end() && own->second.stores == p.stores)
        find(own->second.left);
    if (reach_of(o) == Reach::grid) find(p.for_all);
}

void CtaClock::write_place(WarpClock& w, uint32_t index, const isa::Operation& o,
                           const warp::Access& a, Place& p, uint32_t lanes) {
    const Reach reach = reach_of(o);
    // An update goes on with what earlier writers released.
    if (o.op == Op::st) {
        p.for_all.clear();
        ++p.stores;
    }
    const bool others_reach = a.space != ptx::Space::shared || has_peers_;
    const auto leave = [&](Reach far, bool by_model, const std::shared_ptr<const Knowledge>& k) {
        if (!k) return;
        Told& told = told_[by_model ? 1 : 0];
        if (told.knowledge != k) {
            const Knowledge tells{by_model ? k->model : Known{}, k->convention};
            told = {k, std::make_shared<const Knowledge>(tells),
                    std::make_shared<const Knowledge>(for_every(cta_, tells))};
        }
        OwnLeft& own = left_[&p];
        if (own.stores != p.stores) own = {p.stores, {}};
        keep(own.left, {cta_, by_model, told.own});
        if (far == Reach::grid && others_reach) keep(p.for_all, {every_cta, by_model, told.every});
    };
    ++p.version;
    if (releases(o)) return leave(reach, true, kept(w, index, lanes));
    // What the last fence let go reaches as far as that fence; what one before it did that reaches
    // further, as far as that one.
    const bool is_far = reach == Reach::grid;
    if (!is_far || w.fenced_[1] != w.fenced_[0]) leave(Reach::cta, true, w.fenced_[0]);
    if (is_far) leave(Reach::grid, true, w.fenced_[1]);
    // A flag that is volatile is a convention; an atomic that no fence comes before is none.
    if (is_far && o.op != Op::st && a.space == ptx::Space::global && !w.fenced_since_write_) return;
    const Reach far = w.fenced_since_write_ ? std::min(reach, w.last_fence_) : reach;
    leave(far, false, kept(w, index, lanes));
}

// Where nothing is missing any more.
bool CtaClock::end_phase(Phases& p) {
    if (p.pending != 0 || p.bytes != 0) return false;
    p.ended = std::move(p.arrived);
    p.arrived = {};
    p.pending = p.expected;
    ++p.number;
    return true;
}

uint64_t CtaClock::phases(uint64_t place) const {
    const auto at = shared_->mbarriers.find(place);
    return at != shared_->mbarriers.end() ? at->second.number : 0;
}

void CtaClock::bulk(const warp::BulkEvent& e) {
    const uint32_t index = e.who.warp % max_warps;
    WarpClock& w = warps_[index];
    const std::shared_ptr<const Knowledge> k = kept(w, index, e.who.lanes);
    for (const warp::BulkArrival& a : e.arrivals) {
        Phases& p = shared_->mbarriers[place_in_cluster(a.cta, a.address)];
        p.arrived.model.join(shared_->owner, cta_, k->model);
        p.arrived.convention.join(shared_->owner, cta_, k->convention);
        p.bytes -= static_cast<int64_t>(a.bytes);
        end_phase(p);
    }
    advance(w);
}

void CtaClock::arrive(WarpClock& w, uint32_t index, const warp::Retired& e,
                      const isa::Operation& o) {
    if (e.access_count == 0) return;
    const warp::Access& a = e.accesses[0];
    const bool counts =
        o.op == Op::mbarrier_arrive || o.op == Op::mbarrier_drop || o.op == Op::mbarrier_copies;
    const std::shared_ptr<const Knowledge> k = kept(w, index, e.executed);
    const Phases* told = nullptr;  // lanes arrive together at one, as a rule
    each_lane(a.lanes & e.executed, [&](uint32_t lane) {
        Phases& p = shared_->mbarriers[place_in_cluster(a, lane)];
        const auto operand = [&](unsigned n) { return word(e.registers, o.r[n], lane); };
        if (o.op == Op::mbarrier_init) p = {operand(0), operand(0), 0, {}, {}, p.number + 1};
        if (o.op == Op::mbarrier_expect) p.bytes += operand(0);
        if (o.op == Op::mbarrier_complete) p.bytes -= operand(0);
        if (counts) {
            if (told != &p && o.mod.memory_order != MemoryOrder::relaxed)
                p.arrived.model.join(shared_->owner, cta_, k->model);
            if (told != &p) p.arrived.convention.join(shared_->owner, cta_, k->convention);
            told = &p;
            const bool is_copies = o.op == Op::mbarrier_copies;
            uint32_t count = 1;
            if (is_copies)
                count = o.mod.no_increment ? 1 : 0;
            else if (o.mod.expect)
                p.bytes += operand(1);
            else if (o.operands > 1)
                count = operand(1);
            p.pending -= std::min(count, p.pending);
            if (o.op == Op::mbarrier_drop) p.expected -= std::min(count, p.expected);
        }
        if (o.op != Op::mbarrier_init && end_phase(p)) told = nullptr;
    });
}

void CtaClock::wait(WarpClock& w, const warp::Retired& e, const isa::Operation& o) {
    if (e.access_count == 0) return;
    const warp::Access& a = e.accesses[0];
    const uint32_t over = word(e.registers, o.r[0], 0);
    const Phases* learnt = nullptr;  // lanes wait together for one, as a rule
    each_lane(a.lanes & e.executed & over, [&](uint32_t lane) {
        const Phases& p = shared_->mbarriers[place_in_cluster(a, lane)];
        if (std::exchange(learnt, &p) == &p) return;
        if (o.mod.memory_order != MemoryOrder::relaxed) begin_learning(w, e.executed & over);
        if (o.mod.memory_order != MemoryOrder::relaxed)
            w.now_.model.join(cta_, shared_->owner, p.ended.model);
        w.now_.convention.join(cta_, shared_->owner, p.ended.convention);
    });
    ++w.version_;
}

void CtaClock::commit_products(WarpClock& w, uint32_t index) {
    w.products_.push_back(kept(w, index, UINT32_MAX));
    advance(w);
}

// A product is the warpgroup's: lanes of a warp that has waited for it know that all have read.
void CtaClock::wait_for_products(WarpClock& w, uint32_t index, uint64_t pending) {
    const uint64_t committed = w.products_gone_ + w.products_.size();
    if (committed > pending) w.products_waited_ = std::max(w.products_waited_, committed - pending);
    const std::span group = std::span(warps_).subspan(index / 4 * 4, 4);
    uint64_t all_waited = UINT64_MAX;
    for (WarpClock& other : group) {
        all_waited = std::min(all_waited, other.products_waited_);
        if (&other == &w || w.products_waited_ <= other.products_gone_) continue;
        const uint64_t last = w.products_waited_ - other.products_gone_;
        if (last <= other.products_.size()) w.now_.join(*other.products_[last - 1], cta_);
    }
    for (WarpClock& other : group)
        for (; other.products_gone_ < all_waited && !other.products_.empty();
             ++other.products_gone_)
            other.products_.pop_front();
    all_met(w);
}

void CtaClock::before(const warp::Retired& e) {
    WarpClock& w = warps_[e.warp % max_warps];
    w.live_ |= e.active;
    note_active(w, e);
}

void CtaClock::meet(WarpClock& w, const warp::Retired& e, const isa::Operation& o) {
    // Lanes may give masks of their own.
    for (uint32_t rest = e.executed; rest != 0;) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint32_t members = word(e.registers, o.r[0], lane);
        if (e.active == e.executed && members == UINT32_MAX) return all_met(w);
        note_meeting(w, members, WarpClock::Meeting::sync);
        rest &= ~(members | 1u << lane);
    }
}

void CtaClock::after(const warp::Retired& e) {
    const isa::Operation& o = e.program->operations[e.operation];
    const isa::OpRow& row = isa::row(o.op);
    const bool reads = reads_strongly(o);
    const bool writes = writes_strongly(o);
    const bool is_barrier = row.memory == isa::Memory::barrier;
    if (o.op == Op::cluster_wait && e.executed != 0) {
        WarpClock& w = warps_[e.warp % max_warps];
        w.now_.model.join(cta_, shared_->owner, shared_->opened.model);
        w.now_.convention.join(cta_, shared_->owner, shared_->opened.convention);
        return all_met(w);
    }
    if (o.op == Op::wgmma_commit || o.op == Op::wgmma_wait) {
        const uint32_t index = e.warp % max_warps;
        if (o.op == Op::wgmma_commit) return commit_products(warps_[index], index);
        return wait_for_products(warps_[index], index, o.immediate);
    }
    if (row.sync != isa::Sync::warp && !is_barrier && !reads && !writes && !is_fence(o)) return;
    if (e.executed == 0) return;
    const uint32_t index = e.warp % max_warps;
    WarpClock& w = warps_[index];
    if (row.sync == isa::Sync::warp) return meet(w, e, o);
    if (is_barrier && o.op != Op::mbarrier_wait) arrive(w, index, e, o);
    if (o.op == Op::mbarrier_wait) wait(w, e, o);
    if (is_fence(o)) fence(w, index, o, e.executed);
    if ((reads || writes) && e.access_count != 0) {
        bool any = false;
        for (const warp::Access& a : std::span(e.accesses, e.access_count)) {
            const bool is_memory = a.space == ptx::Space::shared || a.space == ptx::Space::global;
            if (!is_memory || (writes && !a.store)) continue;
            any = true;
            each_lane(a.lanes, [&](uint32_t lane) {
                Place& p = place(a, lane);
                if (reads) read_place(w, o, p, e.executed);
                if (writes) write_place(w, index, o, a, p, e.executed);
            });
        }
        if (!any) return;
        // A fence that a load follows was not put there for the store behind it.
        if (writes || o.op == Op::ld) w.fenced_since_write_ = false;
    }
    // Its time goes on here too. A red without order alone tells nobody anything, as a rule.
    if (o.op != Op::red || releases(o)) note_meeting(w, e.executed, WarpClock::Meeting::order);
}

LaneOrder CtaClock::order(uint32_t warp, uint32_t time, uint32_t earlier_lanes,
                          uint32_t lane) const {
    const WarpClock& w = warps_[warp % max_warps];
    if (time < w.met_) return LaneOrder::ordered;
    const uint32_t bit = 1u << lane;
    uint32_t by_model = earlier_lanes;
    uint32_t together = earlier_lanes;
    bool released = false;
    for (const WarpClock::Meeting& m : w.meetings_) {
        if (m.time <= time) continue;
        switch (m.kind) {
            case WarpClock::Meeting::order:
                if (released) by_model |= m.lanes;
                if ((by_model & m.lanes) != 0) released = true;
                break;
            case WarpClock::Meeting::sync:
                if ((by_model & m.lanes) != 0) by_model |= m.lanes;
                [[fallthrough]];
            case WarpClock::Meeting::together:
                if ((together & m.lanes) != 0) together |= m.lanes;
                break;
        }
    }
    if ((by_model & bit) != 0) return LaneOrder::ordered;
    if ((together & w.active_) != 0) together |= w.active_;
    return (together & bit) != 0 ? LaneOrder::together : LaneOrder::none;
}

}  // namespace lockwarp::check
