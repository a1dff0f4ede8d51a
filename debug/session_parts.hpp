// SPDX-License-Identifier: Apache-2.0
// What the session's parts share: what a run is made for.
#pragma once

#include "debug/session.hpp"

namespace lockwarp::debug {

// The state before a launch, or before a CTA while no other was under way.
struct Session::Snapshot {
    size_t launch = 0;
    uint64_t cta = 0;
    launch::State state;
    std::vector<uint8_t> variables;
    uint64_t instructions = 0;  // of the launch, before it
};

// One instruction that a warp was about to run.
struct Session::Entry {
    uint64_t step = 0;
    uint32_t attempt = 0;
    uint32_t pc = 0;
    uint32_t depth = 0;
};

inline constexpr exec::Pace quickly{UINT64_MAX, false};
inline constexpr exec::Pace one_by_one{1, false};

inline bool is_at(const Here& h, const Time& t) {
    return h.cta->index == t.cta && h.warp->index == t.warp && h.warp->step == t.step &&
           h.attempt == t.attempt;
}

// How far a path may go without missing a time.
inline exec::Pace towards(const Here& h, const Time& t) {
    if (h.cta->index != t.cta || h.warp->index != t.warp) return quickly;
    return {h.warp->step < t.step ? t.step - h.warp->step : 1, false};
}

class AtOnce : public Goal {
  public:
    std::optional<exec::Pace> before(const Here&, bool leaving) override {
        return leaving ? std::optional(one_by_one) : std::nullopt;
    }
};

// Breakpoints, and the end of a step.
class Session::Forward : public Goal {
  public:
    Forward(Session& s, std::optional<Step> how);
    std::optional<exec::Pace> before(const Here& here, bool leaving) override;
    const std::vector<Hit>& hits() const { return hits_; }
    Reason reason() const { return reason_; }

  private:
    bool is_stepped(const Here& here);
    void count_hits(const Here& here);

    Session& s_;
    std::optional<Step> how_;
    Sentinel sentinel_;
    std::vector<Hit> hits_;
    Reason reason_ = Reason::breakpoint;
    // Where the step began.
    Focus from_;
    uint64_t step_ = 0;
    uint32_t pc_ = 0, depth_ = 0;
    uint64_t line_ = 0;
};

// The last time before `until` (none: the end) at which a breakpoint is met.
class Session::Scan : public Goal {
  public:
    Scan(Session& s, std::optional<Time> until, uint64_t until_cta)
        : s_(s),
          until_(until),
          until_cta_(until_cta),
          sentinel_(s.breakpoints_, s.launch_, s.view()) {}
    std::optional<exec::Pace> before(const Here& here, bool leaving) override;
    const std::optional<Time>& last() const { return last_; }
    const std::vector<Hit>& hits() const { return hits_; }

  private:
    Session& s_;
    std::optional<Time> until_;
    uint64_t until_cta_;  // the stretch ends where it begins
    Sentinel sentinel_;
    std::optional<Time> last_;
    std::vector<Hit> hits_;
};

// A time; none: as far as it goes.
class Session::Reach : public Goal {
  public:
    explicit Reach(std::optional<Time> to) : to_(to) {}
    std::optional<exec::Pace> before(const Here& here, bool) override {
        if (!to_) return quickly;
        if (is_at(here, *to_)) return std::nullopt;
        return towards(here, *to_);
    }

  private:
    std::optional<Time> to_;
};

// Another goal, up to a time.
class Until : public Goal {
  public:
    Until(Goal& inner, std::optional<Time> to) : inner_(inner), to_(to) {}
    std::optional<exec::Pace> before(const Here& here, bool leaving) override {
        if (to_ && is_at(here, *to_)) return std::nullopt;
        std::optional<exec::Pace> pace = inner_.before(here, leaving);
        if (pace && to_)
            pace->instructions = std::min(pace->instructions, towards(here, *to_).instructions);
        return pace;
    }
    void retired(const warp::Retired& e) override { inner_.retired(e); }

  private:
    Goal& inner_;
    std::optional<Time> to_;
};

// What one warp runs up to a time.
class Session::Record : public Goal {
  public:
    Record(Focus of, uint64_t first_step, std::optional<Time> until, uint64_t max)
        : of_(of), first_step_(first_step), until_(until), max_(max) {}
    std::optional<exec::Pace> before(const Here& here, bool leaving) override;
    std::vector<Entry> take(bool& whole);

  private:
    Focus of_;
    uint64_t first_step_;
    std::optional<Time> until_;
    uint64_t max_;
    std::vector<Entry> entries_;
    bool dropped_ = false;
};

}  // namespace lockwarp::debug
