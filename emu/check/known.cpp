// SPDX-License-Identifier: Apache-2.0
#include "emu/check/known.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lockwarp::check {

namespace {

constexpr uint32_t digit_bits = 4;
constexpr size_t below_each = size_t{1} << digit_bits;

size_t digit(uint64_t index, uint32_t n) { return index >> (digit_bits * n) & (below_each - 1); }

// Of 128 bits: two contents with the same one will not be met.
struct Digest {
    std::array<uint64_t, 2> halves{0x243f6a8885a308d3, 0x13198a2e03707344};

    void add(uint64_t v) {
        halves[0] = (halves[0] ^ v) * 0x9e3779b97f4a7c15;
        halves[0] ^= halves[0] >> 29;
        halves[1] = (halves[1] ^ v) * 0xd6e8feb86659fd93;
        halves[1] ^= halves[1] >> 32;
    }
    bool operator==(const Digest&) const = default;
};

}  // namespace

struct OtherCtas::Node {
    // Of one CTA.
    explicit Node(Times of_cta) : times(std::move(of_cta)) {
        for (const uint32_t time : times.last) digest.add(time);
        for (const Times::Partly& p : times.partly)
            for (const uint32_t v : {p.warp, p.whole, p.lanes}) digest.add(v);
    }
    // Of those below, by the digit that this place in the tree is of.
    explicit Node(std::array<NodeRef, below_each> each) : below(each.begin(), each.end()) {
        for (const NodeRef& node : below) {
            digest.add(node ? node->digest.halves[0] : 0);
            digest.add(node ? node->digest.halves[1] : 0);
        }
    }
    bool is_leaf() const { return below.empty(); }

    Digest digest;
    Times times;
    std::vector<NodeRef> below;
};

OtherCtas::OtherCtas(uint64_t cta, const Times& times)
    : root_(std::make_shared<const Node>(times)) {
    for (uint64_t rest = cta; rest != 0; rest >>= digit_bits) {
        std::array<NodeRef, below_each> below;
        below[digit(cta, digits_++)] = std::move(root_);
        root_ = std::make_shared<const Node>(std::move(below));
    }
}

const Times* OtherCtas::of(uint64_t cta) const {
    const Node* node = root_.get();
    uint32_t left = digits_;
    if (left < 64 / digit_bits && cta >> (digit_bits * left) != 0) return nullptr;
    while (node != nullptr && left != 0) node = node->below[digit(cta, --left)].get();
    return node != nullptr ? &node->times : nullptr;
}

bool OtherCtas::are_same(const NodeRef& a, const NodeRef& b) {
    return a == b || (a && b && a->digest == b->digest);
}

// Where one has all that the other has, it itself.
OtherCtas::NodeRef OtherCtas::united(const NodeRef& a, const NodeRef& b) {
    if (!b || are_same(a, b)) return a;
    if (!a) return b;
    if (a->is_leaf()) {
        if (b->times.is_at_most(a->times)) return a;
        if (a->times.is_at_most(b->times)) return b;
        Times both = a->times;
        both.raise(b->times);
        return std::make_shared<const Node>(std::move(both));
    }
    bool is_a = true, is_b = true;
    std::array<NodeRef, below_each> both;
    for (size_t i = 0; i < below_each; ++i) {
        both[i] = united(a->below[i], b->below[i]);
        is_a = is_a && both[i] == a->below[i];
        is_b = is_b && are_same(both[i], b->below[i]);
    }
    if (is_a) return a;
    if (is_b) return b;
    return std::make_shared<const Node>(std::move(both));
}

void OtherCtas::unite(const OtherCtas& from) {
    if (!from.root_) return;
    OtherCtas other = from;
    for (OtherCtas* low : {this, &other})
        while (low->root_ && low->digits_ < std::max(digits_, other.digits_)) {
            std::array<NodeRef, below_each> below;
            below[0] = std::move(low->root_);
            low->root_ = std::make_shared<const Node>(std::move(below));
            ++low->digits_;
        }
    root_ = united(root_, other.root_);
    digits_ = std::max(digits_, other.digits_);
}

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
        others.unite(from.others);
        return;
    }
    if (cta != every_cta) others.unite(OtherCtas(cta, from.own));
    if (own_cta != every_cta)
        if (const Times* times = from.others.of(own_cta)) own.raise(*times);
    others.unite(from.others);
}

bool Known::has(uint64_t own_cta, uint64_t cta, uint32_t warp, uint32_t time,
                uint32_t lanes) const {
    const Times* times = &own;
    if (cta != own_cta) {
        times = others.of(cta);
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
