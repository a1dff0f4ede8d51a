// SPDX-License-Identifier: Apache-2.0
#include "emu/check/known.hpp"

#include <algorithm>
#include <utility>

namespace lockwarp::check {

namespace {

bool has_all(const std::shared_ptr<const Times>& of, const std::shared_ptr<const Times>& in) {
    return of == in || of->is_at_most(*in);
}

// Calls f for each CTA of the two, with nullptr for the times of who does not know it.
template <class F>
void each_cta(const OtherCtas& a, const OtherCtas& b, F f) {
    static const std::shared_ptr<const Times> none;
    for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
        const bool in_a = j == b.size() || (i < a.size() && a[i].cta <= b[j].cta);
        const bool in_b = i == a.size() || (j < b.size() && b[j].cta <= a[i].cta);
        f(in_a ? a[i].cta : b[j].cta, in_a ? a[i].times : none, in_b ? b[j].times : none);
        i += in_a ? 1 : 0;
        j += in_b ? 1 : 0;
    }
}

// As a rule one of the two has all.
void unite(OtherCtasRef& a, const OtherCtasRef& b) {
    if (!b || a == b) return;
    if (!a) {
        a = b;
        return;
    }
    bool a_has = true, b_has = true;
    each_cta(*a, *b, [&](uint64_t, const auto& of_a, const auto& of_b) {
        a_has = a_has && of_a && (!of_b || has_all(of_b, of_a));
        b_has = b_has && of_b && (!of_a || has_all(of_a, of_b));
    });
    if (a_has) return;
    if (b_has) {
        a = b;
        return;
    }
    auto out = std::make_shared<OtherCtas>();
    out->reserve(std::max(a->size(), b->size()) + 1);
    each_cta(*a, *b, [&](uint64_t cta, const auto& of_a, const auto& of_b) {
        if (!of_a || (of_b && has_all(of_a, of_b))) return out->push_back({cta, of_b});
        if (!of_b || has_all(of_b, of_a)) return out->push_back({cta, of_a});
        auto both = std::make_shared<Times>(*of_a);
        both->raise(*of_b);
        out->push_back({cta, std::move(both)});
    });
    a = std::move(out);
}

OtherCtasRef alone(uint64_t cta, const Times& times) {
    return std::make_shared<const OtherCtas>(
        OtherCtas{{cta, std::make_shared<const Times>(times)}});
}

const Times* of_cta(const OtherCtasRef& all, uint64_t cta) {
    if (!all) return nullptr;
    const auto at = std::ranges::lower_bound(*all, cta, {}, &OtherCta::cta);
    return at != all->end() && at->cta == cta ? at->times.get() : nullptr;
}

}  // namespace

Times::Partly Times::of(uint32_t warp) const {
    const auto at = std::ranges::find(partly, warp, &Partly::warp);
    return at != partly.end() ? *at : Partly{warp, last[warp], UINT32_MAX};
}

void Times::raise(const Times& from) {
    if (!partly.empty() || !from.partly.empty()) {
        std::vector<Partly> both;
        for (uint32_t w = 0; w < max_warps; ++w) {
            const Partly a = of(w), b = from.of(w);
            const uint32_t whole = std::max(a.whole, b.whole);
            const uint32_t lanes =
                (last[w] > whole ? a.lanes : 0) | (from.last[w] > whole ? b.lanes : 0);
            if (lanes != 0) both.push_back({w, whole, lanes});
        }
        partly = std::move(both);
    }
    for (size_t i = 0; i < last.size(); ++i) last[i] = std::max(last[i], from.last[i]);
}

bool Times::is_at_most(const Times& other) const {
    bool out = true;
    for (size_t i = 0; i < last.size(); ++i) out &= last[i] <= other.last[i];
    if (!out || (partly.empty() && other.partly.empty())) return out;
    for (uint32_t w = 0; w < max_warps; ++w) {
        const Partly a = of(w), b = other.of(w);
        if (a.whole > b.whole || (last[w] > b.whole && (a.lanes & ~b.lanes) != 0)) return false;
    }
    return true;
}

void Knowledge::join(const Knowledge& from, uint64_t cta) {
    model.join(cta, cta, from.model);
    convention.join(cta, cta, from.convention);
}

void Known::join(uint64_t own_cta, uint64_t cta, const Known& from) {
    if (cta == own_cta) {
        own.raise(from.own);
        unite(others, from.others);
        return;
    }
    if (cta != every_cta) unite(others, alone(cta, from.own));
    if (own_cta != every_cta)
        if (const Times* times = of_cta(from.others, own_cta)) own.raise(*times);
    unite(others, from.others);
}

bool Known::has(uint64_t own_cta, uint64_t cta, uint32_t warp, uint32_t time,
                uint32_t lanes) const {
    const Times* times = &own;
    if (cta != own_cta) {
        times = of_cta(others, cta);
        if (times == nullptr) return false;
    }
    if (time > times->last[warp]) return false;
    if (times->partly.empty()) return true;
    const Times::Partly part = times->of(warp);
    return time <= part.whole || (lanes & ~part.lanes) == 0;
}

Knowledge for_every(uint64_t cta, const Knowledge& k) {
    Knowledge out;
    out.model.join(every_cta, cta, k.model);
    out.convention.join(every_cta, cta, k.convention);
    return out;
}

}  // namespace lockwarp::check
