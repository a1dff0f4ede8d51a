// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/turns.hpp"

#include <algorithm>
#include <utility>

namespace lockwarp::exec {

namespace {

// Instructions after which a clock that nobody else's deeds can help is not waited for any more: a
// wait that gives up by the clock does so before, and cuda::barrier's, which looks at the clock to
// sleep longer and longer, never does.
constexpr uint64_t max_in_vain = uint64_t{1} << 21;

}  // namespace

void Turns::enter() {
    const std::lock_guard guard(lock_);
    ++active_;
}

void Turns::leave() {
    const std::lock_guard guard(lock_);
    --active_;
    if (nothing_can_change()) choose();
}

std::optional<uint64_t> Turns::begin_next() {
    if (all_begun()) return std::nullopt;
    for (uint64_t others = under_way_; others < resident_;) {
        if (!under_way_.compare_exchange_weak(others, others + 1)) continue;
        if (const uint64_t index = next_++; index < end_) return index;
        --under_way_;
        break;
    }
    return std::nullopt;
}

void Turns::ended() {
    --under_way_;
    changed();
}

void Turns::changed() {
    ++changes_;
    if (!any_waits_) return;
    // One that is about to wait sees the change, or waits already.
    const std::lock_guard guard(lock_);
    changed_.notify_all();
}

bool Turns::nothing_can_change() const {
    return !waiters_.empty() && waiters_.size() == active_ &&
           std::ranges::all_of(waiters_, [&](const Waiter& w) { return w.since == changes_; });
}

void Turns::choose() {
    Lowest all;
    for (const Waiter& w : waiters_) {
        all.release = std::min(all.release, w.own->release);
        all.timed = std::min(all.timed, w.own->timed);
        all.any = std::min(all.any, w.own->any);
        all.outside |= w.own->outside;
    }
    if (all.release != UINT64_MAX)
        chosen_ = {all.release, Turn::release};
    else if (all.timed != UINT64_MAX && (vain_since_ != changes_ || vain_ < max_in_vain))
        chosen_ = {all.timed, Turn::whole};
    else
        chosen_ = {all.any, Turn::give_up, all.outside};
    changed_.notify_all();
}

Turns::Chosen Turns::wait(uint64_t since, const Lowest& own) {
    std::unique_lock guard(lock_);
    waiters_.push_back({since, &own});
    any_waits_ = true;
    if (nothing_can_change()) choose();
    const auto is_mine = [&] {
        const std::array mine{own.release, own.timed, own.any};
        return chosen_.cluster != UINT64_MAX &&
               std::ranges::find(mine, chosen_.cluster) != mine.end();
    };
    changed_.wait(guard, [&] { return changes_ != since || is_mine(); });
    std::erase_if(waiters_, [&](const Waiter& w) { return w.own == &own; });
    any_waits_ = !waiters_.empty();
    return is_mine() ? std::exchange(chosen_, {}) : Chosen{};
}

// The clock, which was waited for in vain, is not waited for again.
void Turns::look_again() {
    const std::lock_guard guard(lock_);
    if (vain_since_ == changes_) ++vain_since_;
    ++looks_;
    ++changes_;
    changed_.notify_all();
}

void Turns::in_vain(uint64_t instructions) {
    const std::lock_guard guard(lock_);
    if (vain_since_ != changes_) vain_ = 0;
    vain_since_ = changes_;
    vain_ += instructions;
}

ClusterRunner* Standing::take_ready(uint64_t changes) {
    const auto ready = std::ranges::find_if(
        clusters_, [&](const Waiting& c) { return !c.only_waits || c.seen != changes; });
    if (ready == clusters_.end()) return nullptr;
    ClusterRunner* const runner = ready->runner;
    clusters_.erase(ready);
    return runner;
}

ClusterRunner* Standing::take(uint64_t index) {
    const auto it = std::ranges::find_if(
        clusters_, [&](const Waiting& c) { return c.runner->index() == index; });
    ClusterRunner* const runner = it->runner;
    clusters_.erase(it);
    return runner;
}

bool Standing::any_waits() const { return std::ranges::any_of(clusters_, &Waiting::only_waits); }

Turns::Lowest Standing::lowest() const {
    Turns::Lowest out;
    for (const Waiting& c : clusters_) {
        const uint64_t index = c.runner->index();
        out.any = std::min(out.any, index);
        if (c.runner->can_release()) out.release = std::min(out.release, index);
        if (c.runner->is_timed()) out.timed = std::min(out.timed, index);
        out.outside |= c.runner->looks_outside();
    }
    return out;
}

}  // namespace lockwarp::exec
