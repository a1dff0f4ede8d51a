// SPDX-License-Identifier: Apache-2.0
// The goals of a session, and its ways backwards.
#include <algorithm>

#include "debug/session_parts.hpp"

namespace lockwarp::debug {

Session::Forward::Forward(Session& s, std::optional<Step> how)
    : s_(s), how_(how), sentinel_(s.breakpoints_, s.launch_, s.view()), from_(s.focus_) {
    if (!how_) return;
    const View v = s.view();
    if (v.warp == nullptr || v.warp->paths.empty()) {
        how_ = Step::instruction;
        return;
    }
    step_ = v.warp->step;
    pc_ = v.warp->paths[s.path_of(*v.cta, *v.warp)].pc;
    depth_ = depth_of(*v.warp, s.path_of(*v.cta, *v.warp));
    line_ = v.listing->step_line(pc_);
}

bool Session::Forward::is_stepped(const Here& here) {
    if (here.cta->index != from_.cta || here.warp->index != from_.warp) {
        const auto cta = s_.machine_->ctas().find(from_.cta);
        const bool gone =
            cta == s_.machine_->ctas().end() || cta->second->warps[from_.warp].live == 0;
        reason_ = gone ? Reason::exited : Reason::stepped;
        return gone;
    }
    reason_ = Reason::stepped;
    const uint32_t pc = here.pc();
    if (here.warp->step == step_ && pc == pc_) return false;
    const uint32_t depth = depth_of(*here.warp, here.path);
    const uint64_t line = s_.listing().step_line(pc);
    switch (*how_) {
        case Step::instruction:
            return true;
        case Step::over_instruction:
            return depth <= depth_;
        case Step::line:
            return line != line_ || depth != depth_;
        case Step::over_line:
            return depth < depth_ || (depth == depth_ && line != line_);
        case Step::out:
            return depth < depth_;
        case Step::past:
            return depth < depth_ || (depth == depth_ && pc > pc_ && line != line_);
    }
    return true;
}

void Session::Forward::count_hits(const Here& here) {
    std::erase_if(hits_, [&](const Hit& h) {
        const auto b = std::ranges::find(s_.breakpoints_, h.id, &Breakpoint::id);
        if (b == s_.breakpoints_.end()) return true;
        ++b->hits;
        if (b->ignore != 0) {
            --b->ignore;
            return true;
        }
        if (!b->rule.holds(b->hits)) return true;
        if (b->log.empty()) return false;
        View v = s_.view_of({h.cta, h.warp, h.lane});
        v.cta = here.cta;
        v.warp = here.warp;
        v.pc = here.pc();
        v.memory = here.memory;
        if (s_.on_log) s_.on_log(logged(b->log, v));
        return true;
    });
}

std::optional<exec::Pace> Session::Forward::before(const Here& here, bool leaving) {
    hits_.clear();
    sentinel_.look(here, leaving, hits_);
    count_hits(here);
    if (!hits_.empty()) {
        reason_ = Reason::breakpoint;
        // A breakpoint of until and advance is the end of a step.
        if (std::ranges::all_of(hits_, [](const Hit& h) { return h.id == 0; }))
            reason_ = Reason::stepped;
        return std::nullopt;
    }
    if (how_ && !leaving && is_stepped(here)) return std::nullopt;
    if (!sentinel_.idle()) return one_by_one;
    const bool followed = how_ && here.cta->index == from_.cta && here.warp->index == from_.warp;
    return followed ? one_by_one : quickly;
}

std::optional<exec::Pace> Session::Scan::before(const Here& here, bool) {
    if (until_ && is_at(here, *until_)) return std::nullopt;
    const bool over = here.cta->index == until_cta_;
    std::vector<Hit> hits;
    sentinel_.look(here, over, hits);
    std::erase_if(hits, [&](const Hit& h) {
        const auto b = std::ranges::find(s_.breakpoints_, h.id, &Breakpoint::id);
        return b != s_.breakpoints_.end() && !b->log.empty();
    });
    if (!hits.empty()) {
        last_ = Time{s_.launch_, here.cta->index, here.warp->index, here.warp->step, here.attempt};
        hits_ = std::move(hits);
    }
    if (over) return std::nullopt;
    if (!sentinel_.idle()) return one_by_one;
    return until_ ? towards(here, *until_) : quickly;
}

std::optional<exec::Pace> Session::Record::before(const Here& here, bool) {
    if (until_ && is_at(here, *until_)) return std::nullopt;
    const exec::Pace pace = until_ ? towards(here, *until_) : quickly;
    if (here.cta->index != of_.cta || here.warp->index != of_.warp) return pace;
    if (here.warp->step < first_step_)
        return exec::Pace{std::min(pace.instructions, first_step_ - here.warp->step), false};
    entries_.push_back({here.warp->step, here.attempt, here.pc(), depth_of(*here.warp, here.path)});
    if (entries_.size() >= 2 * max_) {
        entries_.erase(entries_.begin(), entries_.end() - static_cast<std::ptrdiff_t>(max_));
        dropped_ = true;
    }
    return one_by_one;
}

std::vector<Session::Entry> Session::Record::take(bool& whole) {
    whole = first_step_ == 0 && !dropped_;
    return std::move(entries_);
}

// Learns what the focus's warp ran last. The run then stands where it stood. false: it could not.
bool Session::record(uint64_t window) {
    const bool at_end = over_ || machine_->trap();
    const std::optional<Time> until = at_end ? std::nullopt : now_;
    const Focus focus = focus_;
    const View v = view();
    const uint64_t step = v.warp == nullptr ? 0 : v.warp->step;
    const Time t =
        until ? *until : Time{launch_, v.warp == nullptr ? UINT64_MAX : focus.cta, 0, 0, 0};
    const Snapshot* const from = snapshot_before(at_end ? Time{launch_, focus.cta, 0, 0, 0} : t);
    if (from == nullptr || !begin_launch(from->launch, from)) return false;
    Record goal(focus, step > window ? step - window : 0, until, window);
    const Machine::Stands stands = machine_->go(goal);
    if (stands == Machine::Stands::ended)
        (void)end_launch();
    else
        look_here(focus.lane);
    focus_ = focus;
    history_ = goal.take(history_whole_);
    return true;
}

// Which entry a step backwards leads to.
std::optional<size_t> Session::entry_for(Step how, uint32_t pc, uint32_t depth) const {
    const Listing& l = listing();
    size_t i = history_.size();
    const auto back_to = [&](uint32_t max_depth) {
        while (i > 0 && history_[i - 1].depth > max_depth) --i;
        return i > 0;
    };
    const bool over = how == Step::over_line || how == Step::over_instruction;
    if (how == Step::out) {
        if (depth == 0 || !back_to(depth - 1)) return std::nullopt;
        return i - 1;
    }
    if (over ? !back_to(depth) : i == 0) return std::nullopt;
    --i;
    if (how == Step::instruction || how == Step::over_instruction) return i;
    (void)pc;
    const uint64_t line = l.step_line(history_[i].pc);
    const uint32_t own = history_[i].depth;
    // To the first instruction of that line, without the calls it makes.
    for (;;) {
        size_t j = i;
        while (over && j > 0 && history_[j - 1].depth > own) --j;
        if (j == 0) return history_whole_ ? std::optional(i) : std::nullopt;
        const Entry& before = history_[j - 1];
        if (before.depth != own || l.step_line(before.pc) != line) return i;
        i = j - 1;
    }
}

// One instruction back in a long run: where the warp goes one way only, the time is known without
// a look for it.
std::optional<Stop> Session::back_at_once(Step how) {
    constexpr uint64_t long_run = 1'000'000;
    const bool by_one = how == Step::instruction || (how == Step::line && !listing().has_source());
    const View v = view();
    if (!by_one || over_ || machine_->trap() || !now_ || v.warp == nullptr ||
        v.warp->paths.size() != 1 || v.warp->step < long_run)
        return std::nullopt;
    const Time from = *now_;
    const Focus focus = focus_;
    if (return_to(Time{launch_, focus.cta, focus.warp, v.warp->step - 1, 0})) {
        const Here& here = machine_->here();
        const uint32_t pc = here.pc();
        const bool begins_line = pc == 0 || listing().line_of(pc - 1) != listing().line_of(pc);
        if (here.warp->paths.size() == 1 && (how == Step::instruction || begins_line))
            return Stop{Reason::stepped, {}, {}};
    }
    (void)return_to(from);
    focus_ = focus;
    return std::nullopt;
}

Stop Session::back(Step how) {
    if (machine_ == nullptr) return {Reason::no_history, {}, {}};
    focus_.level = 0;
    const Focus focus = focus_;
    if (std::optional<Stop> stop = back_at_once(how)) return *stop;
    const View v = view();
    const bool alive = v.warp != nullptr && !v.warp->paths.empty();
    const uint32_t pc = alive ? v.pc : 0;
    const uint32_t depth = alive ? depth_of(*v.warp, path_of(*v.cta, *v.warp)) : 0;
    // What the last step back learned may do.
    const bool is_known = !over_ && !machine_->trap() && now_ && history_end_ == now_ &&
                          history_of_.cta == focus.cta && history_of_.warp == focus.warp;
    std::optional<size_t> entry = is_known ? entry_for(how, pc, depth) : std::nullopt;
    for (uint64_t window = 4096; !entry; window *= 64) {
        if (!record(window)) return {Reason::no_history, {}, {}};
        entry = entry_for(how, pc, depth);
        if (history_whole_ || window >= uint64_t{1} << 30) break;
    }
    if (!entry && (history_.empty() || how == Step::out)) return {Reason::no_history, {}, {}};
    const Entry e = history_[entry.value_or(0)];
    if (!return_to(Time{launch_, focus.cta, focus.warp, e.step, e.attempt}))
        return {Reason::no_history, {}, {}};
    history_.resize(entry.value_or(0));
    history_of_ = focus;
    history_end_ = now_;
    return {entry ? Reason::stepped : Reason::no_history, {}, {}};
}

Stop Session::resume_back() {
    if (machine_ == nullptr) return {Reason::no_history, {}, {}};
    const bool at_end = over_ || machine_->trap();
    std::optional<Time> until = at_end ? std::nullopt : now_;
    uint64_t until_cta = UINT64_MAX;
    const Time t = until ? *until : Time{launch_, UINT64_MAX, 0, 0, 0};
    const Snapshot* from = snapshot_before(t);
    for (auto i = static_cast<size_t>(from - snapshots_.data());; --i) {
        const Snapshot& s = snapshots_[i];
        if (!begin_launch(s.launch, &s)) break;
        Scan goal(*this, until, until_cta);
        const Machine::Stands stands = machine_->go(goal);
        if (stands == Machine::Stands::interrupted) return stopped(Reason::interrupted);
        if (goal.last()) {
            const std::vector<Hit> hits = goal.hits();
            if (!return_to(*goal.last())) break;
            focus_ = {hits[0].cta, hits[0].warp, hits[0].lane, 0};
            return {Reason::breakpoint, hits, {}};
        }
        if (i == 0) break;
        until.reset();
        // The stretch before ends where this one began; a launch's last one where that ends.
        until_cta = snapshots_[i - 1].launch == s.launch ? s.cta : UINT64_MAX;
    }
    Stop begun = start();
    begun.reason = begun.reason == Reason::began ? Reason::no_history : begun.reason;
    return begun;
}

}  // namespace lockwarp::debug
