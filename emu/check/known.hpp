// SPDX-License-Identifier: Apache-2.0
// What warps know of one another: up to which time the accesses of each came before (clocks.hpp
// says what a time is).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace lockwarp::check {

inline constexpr uint32_t max_warps = 32;  // of a CTA

// Up to which time the accesses of each warp came before.
struct Times {
    // Of a warp of which, behind `whole`, those of some lanes alone did.
    struct Partly {
        uint32_t warp, whole, lanes;
    };
    std::array<uint32_t, max_warps> last{};  // by warp; 0: nothing
    std::vector<Partly> partly;              // as a rule there is none

    Partly of(uint32_t warp) const;
    void raise(const Times& from);
    bool is_at_most(const Times& other) const;
};

// The times of the warps of other CTAs: a tree by the digits of a CTA's index. Trees are never
// changed and share what they have in common; by a digest of all below it a part is known to be the
// same in two of them, so that a union looks at what differs only. There may be times of the CTA
// itself, which `Known::own` has too.
class OtherCtas {
  public:
    OtherCtas() = default;
    OtherCtas(uint64_t cta, const Times& times);

    // nullptr: nothing is known of it.
    const Times* of(uint64_t cta) const;
    void unite(const OtherCtas& from);

  private:
    struct Node;
    using NodeRef = std::shared_ptr<const Node>;
    static bool are_same(const NodeRef& a, const NodeRef& b);
    static NodeRef united(const NodeRef& a, const NodeRef& b);

    NodeRef root_;
    uint32_t digits_ = 0;  // that the root's indices have
};

inline constexpr uint64_t every_cta = UINT64_MAX;

// What a warp, a barrier or a place in memory knows of the warps of its own CTA and of others.
struct Known {
    Times own{};
    OtherCtas others;

    // What one of CTA `cta` knows, to one of CTA `own_cta`. Either may be every_cta, whose `own` is
    // empty.
    void join(uint64_t own_cta, uint64_t cta, const Known& from);
    // Whether an access by lanes of a warp of CTA `cta` at `time` happened before. lanes 0: of
    // whichever lane knows most.
    bool has(uint64_t own_cta, uint64_t cta, uint32_t warp, uint32_t time, uint32_t lanes) const;
};

// The same in both orders.
struct Knowledge {
    Known model;       // the manual's
    Known convention;  // that by convention

    // Of the same CTA.
    void join(const Knowledge& from, uint64_t cta);
};

// What one of a CTA knows, as every CTA may.
Knowledge for_every(uint64_t cta, const Knowledge& k);

}  // namespace lockwarp::check
