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
// In the order of CTAs. There may be one of the CTA itself, which `own` knows at least as well.
struct OtherCta {
    uint64_t cta;
    std::shared_ptr<const Times> times;
};
using OtherCtas = std::vector<OtherCta>;
using OtherCtasRef = std::shared_ptr<const OtherCtas>;  // nullptr: nothing

inline constexpr uint64_t every_cta = UINT64_MAX;

// What a warp, a barrier or a place in memory knows of the warps of its own CTA and of others.
struct Known {
    Times own{};
    OtherCtasRef others;

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
