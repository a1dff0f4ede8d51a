// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/gives_way.hpp"

#include <algorithm>

namespace lockwarp::exec {

using warp::GiveWay;

namespace {

// In each run of so many steps a warp gives way once or not at all.
constexpr uint64_t run = 64;

// What a seed says of a place: splitmix64's finalizer over its numbers.
uint64_t drawn(uint64_t seed, const GiveWay& place, uint64_t use) {
    uint64_t x = seed;
    for (const uint64_t v : {place.cta, uint64_t{place.warp}, place.step, use}) {
        x += v + 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return x;
}

enum Use : uint64_t { at_once, in_run };

bool is_listed(const warp::TurnOrder& order, const GiveWay& place) {
    return std::ranges::binary_search(order.places, place);
}

}  // namespace

void GivesWay::begin(const warp::TurnOrder* order, uint64_t cta, size_t warps) {
    order_ = order;
    cta_ = cta;
    begun_ = false;
    last_.assign(order != nullptr ? warps : 0, UINT64_MAX);
}

bool GivesWay::stands_back() {
    begun_ = true;
    const GiveWay place{cta_, GiveWay::no_warp, 0};
    const bool yes =
        order_->listed ? is_listed(*order_, place) : drawn(order_->seed, place, at_once) % 2 == 0;
    if (yes && order_->made != nullptr) order_->made->push_back(place);
    return yes;
}

bool GivesWay::gives_way_at_once(uint32_t warp, uint64_t step) {
    if (last_[warp] == step) return false;
    const GiveWay place{cta_, warp, step};
    const bool yes =
        order_->listed ? is_listed(*order_, place) : drawn(order_->seed, place, at_once) % 2 == 0;
    if (yes) gave_way(warp, step);
    return yes;
}

uint64_t GivesWay::next(uint32_t warp, uint64_t step) const {
    if (order_->listed) {
        const auto after = std::ranges::upper_bound(order_->places, GiveWay{cta_, warp, step});
        const bool is_own =
            after != order_->places.end() && after->cta == cta_ && after->warp == warp;
        return is_own ? after->step : UINT64_MAX;
    }
    // The place in a run is one of twice as many: every second run has one.
    for (uint64_t first = step / run * run;; first += run) {
        const uint64_t at = drawn(order_->seed, {cta_, warp, first}, in_run) % (2 * run);
        if (at < run && first + at > step) return first + at;
    }
}

void GivesWay::gave_way(uint32_t warp, uint64_t step) {
    last_[warp] = step;
    if (order_->made != nullptr) order_->made->push_back({cta_, warp, step});
}

}  // namespace lockwarp::exec
