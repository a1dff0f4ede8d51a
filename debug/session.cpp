// SPDX-License-Identifier: Apache-2.0
#include "debug/session.hpp"

#include <algorithm>
#include <bit>

#include "debug/session_parts.hpp"
#include "emu/warp/cluster.hpp"

namespace lockwarp::debug {

Session::~Session() = default;

uint32_t depth_of(const warp::Warp& warp, size_t path) {
    uint32_t depth = 0;
    for (uint32_t f = warp.paths[path].frame; f != warp::no_index; f = warp.calls.frames[f].caller)
        ++depth;
    return depth;
}

launch::Result<std::unique_ptr<Session>> Session::make(std::vector<launch::Loaded> launches,
                                                       std::atomic<bool>* wish,
                                                       std::optional<uint64_t> order) {
    std::unique_ptr<Session> s(new Session());
    s->loaded_ = std::move(launches);
    s->wish_ = wish;
    if (order) s->order_.emplace().seed = *order;
    for (const launch::Loaded& l : s->loaded_) {
        for (const std::string& path : {l.in.path, l.in.launch.path}) {
            std::error_code error;
            const auto time = std::filesystem::last_write_time(path, error);
            if (!error) s->read_at_[path] = time;
        }
        if (auto held = launch::lay_out(l.in.launch, l.in.kernel(), l.program); !held)
            return launch::failure(held);
        s->listings_.push_back(std::make_unique<Listing>(l));
        s->ready_.push_back(exec::make_ready(l.program, false, true));
        if (!s->ready_.back()->missing.empty()) return launch::failure(s->ready_.back()->missing);
    }
    launch::Result<launch::State> state = launch::make_state(s->file());
    if (!state) return launch::failure(state);
    s->snapshots_.push_back({0, 0, *state, {}, 0});
    s->state_ = std::move(*state);
    s->shapes_ = shapes_of(s->file());
    // For names before anything runs.
    launch::Result<warp::Launch> config = launch::make_launch(
        s->file(), s->loaded_[0].in.kernel(), s->loaded_[0].program, s->state_.memory);
    if (!config) return launch::failure(config);
    s->config_ = std::move(*config);
    return s;
}

bool Session::files_changed() const {
    return std::ranges::any_of(read_at_, [](const auto& file) {
        std::error_code error;
        const auto time = std::filesystem::last_write_time(file.first, error);
        return !error && time != file.second;
    });
}

launch::Result<void> Session::replace(std::vector<launch::Loaded> launches) {
    const std::optional<uint64_t> seed =
        order_ ? std::optional<uint64_t>(order_->seed) : std::nullopt;
    auto made = make(std::move(launches), wish_, seed);
    if (!made) return tl::unexpected(made.error());
    Session& s = **made;
    machine_.reset();
    expected_.reset();
    findings_.clear();
    history_end_.reset();
    now_.reset();
    over_ = false;
    launch_ = 0;
    focus_ = {};
    printed_.clear();
    // What refers to the launches does so by their places, which a moved list keeps.
    loaded_ = std::move(s.loaded_);
    read_at_ = std::move(s.read_at_);
    ready_ = std::move(s.ready_);
    listings_ = std::move(s.listings_);
    snapshots_ = std::move(s.snapshots_);
    state_ = std::move(s.state_);
    shapes_ = std::move(s.shapes_);
    launch::Result<warp::Launch> config =
        launch::make_launch(file(), loaded_[0].in.kernel(), loaded_[0].program, state_.memory);
    if (!config) return launch::failure(config);
    config_ = std::move(*config);
    return {};
}

launch::Result<void> Session::begin_launch(size_t index, const Snapshot* from) {
    machine_.reset();
    over_ = false;
    now_.reset();
    launch_ = index;
    printed_.resize(index);
    if (from != nullptr) state_ = from->state;
    const launch::Loaded& l = loaded_[index];
    launch::Result<warp::Launch> config =
        launch::make_launch(file(), l.in.kernel(), l.program, state_.memory);
    if (!config) return launch::failure(config);
    config_ = std::move(*config);
    variables_ = from != nullptr && !from->variables.empty()
                     ? from->variables
                     : launch::variables_before(state_, l.in, l.program);
    config_->variables = &variables_;
    config_->first_cta = from == nullptr ? 0 : from->cta;
    config_->threads = 1;
    config_->order = order_ ? &*order_ : nullptr;
    const uint64_t before = from == nullptr ? 0 : from->instructions;
    const bool known = std::ranges::any_of(
        snapshots_, [&](const Snapshot& s) { return s.launch == index && s.cta == 0; });
    if (!known) snapshots_.push_back({index, 0, state_, variables_, 0});
    machine_ = std::make_unique<Machine>(*ready_[index], *config_, wish_);
    machine_->on_lone_cta = [this, before](uint64_t cta) {
        keep_snapshot(cta, before + machine_->retired());
    };
    return {};
}

// Called on the run's thread.
void Session::keep_snapshot(uint64_t cta, uint64_t instructions) {
    constexpr uint64_t distance = 200'000;             // instructions from one to the next
    constexpr uint64_t max_bytes = uint64_t{1} << 29;  // of all
    const isa::Program& p = loaded_[launch_].program;
    const bool has_more_state = config_->cooperative || order_ ||
                                warp::clusters_of(p, config_->grid, config_->cluster).size() != 1 ||
                                std::ranges::any_of(p.calls, [](const isa::Call& c) {
                                    return c.system != isa::System::none;
                                });
    const Snapshot& last = snapshots_.back();
    if (has_more_state || last.launch != launch_ || last.cta >= cta ||
        instructions < last.instructions + distance)
        return;
    uint64_t bytes = variables_.size();
    for (const auto& b : state_.memory.bytes) bytes += b.size();
    if (bytes * (snapshots_.size() + 1) > max_bytes) return;
    Snapshot s{launch_, cta, state_, variables_, instructions};
    snapshots_.push_back(std::move(s));
}

const Session::Snapshot* Session::snapshot_before(const Time& t) const {
    const auto found = std::find_if(snapshots_.rbegin(), snapshots_.rend(), [&](const Snapshot& s) {
        return s.launch == t.launch && s.cta <= t.cta;
    });
    return found == snapshots_.rend() ? nullptr : &*found;
}

std::vector<warp::Printed> Session::printed() const {
    std::vector<warp::Printed> out;
    for (const auto& of_launch : printed_)
        out.insert(out.end(), of_launch.begin(), of_launch.end());
    return out;
}

// The launch is over. A stop: nothing follows.
std::optional<Stop> Session::end_launch() {
    const warp::Result& result = machine_->result();
    const launch::Loaded& l = loaded_[launch_];
    if (result.refusal) {
        over_ = true;
        return Stop{Reason::refused, {}, result.refusal->what};
    }
    printed_.resize(launch_);
    printed_.push_back(result.printed);
    launch::keep_variables(state_, l.in, l.program, variables_);
    if (launch_ + 1 == loaded_.size()) {
        over_ = true;
        now_.reset();
        return Stop{Reason::ended, {}, {}};
    }
    if (launch::Result<void> begun = begin_launch(launch_ + 1, nullptr); !begun) {
        over_ = true;
        return Stop{Reason::refused, {}, begun.error().sentence};
    }
    return std::nullopt;
}

void Session::look_here(uint32_t lane) {
    const Here& h = machine_->here();
    now_ = Time{launch_, h.cta->index, h.warp->index, h.warp->step, h.attempt};
    const bool same = focus_.cta == h.cta->index && focus_.warp == h.warp->index;
    focus_.cta = h.cta->index;
    focus_.warp = h.warp->index;
    focus_.level = 0;
    const uint32_t lanes = h.path < h.warp->paths.size() ? h.lanes() : warp::all_lanes;
    if (lane < 32)
        focus_.lane = lane;
    else if (!same || (lanes >> focus_.lane & 1) == 0)
        focus_.lane = static_cast<uint32_t>(std::countr_zero(lanes));
}

Stop Session::stopped(Reason reason) {
    look_here(UINT32_MAX);
    return {reason, {}, {}};
}

Stop Session::start() {
    for (Breakpoint& b : breakpoints_) b.hits = 0;
    if (launch::Result<void> begun = begin_launch(0, snapshots_.data()); !begun)
        return {Reason::refused, {}, begun.error().sentence};
    AtOnce goal;
    return machine_->go(goal) == Machine::Stands::ended ? end_launch().value_or(Stop{})
                                                        : stopped(Reason::began);
}

Stop Session::run() {
    for (Breakpoint& b : breakpoints_) b.hits = 0;
    if (launch::Result<void> begun = begin_launch(0, snapshots_.data()); !begun)
        return {Reason::refused, {}, begun.error().sentence};
    return forward(std::nullopt);
}

Stop Session::resume() { return forward(std::nullopt); }
Stop Session::step(Step how) { return forward(how); }

Stop Session::forward(std::optional<Step> how) {
    focus_.level = 0;
    if (over_) return {Reason::ended, {}, {}};
    if (machine_->trap()) return {Reason::trap, {}, {}};
    for (bool first = true;; first = false) {
        Forward goal(*this, first ? how : std::nullopt);
        AtOnce at_once;
        Goal* const chosen = !first && how ? static_cast<Goal*>(&at_once) : &goal;
        switch (machine_->go(*chosen)) {
            case Machine::Stands::held: {
                if (chosen == &at_once) return stopped(Reason::exited);
                const std::vector<Hit> hits = goal.hits();
                look_here(hits.empty() ? UINT32_MAX : hits[0].lane);
                // What is watched was changed by the warp that ran last, which is shown.
                if (!hits.empty()) focus_ = {hits[0].cta, hits[0].warp, hits[0].lane, 0};
                std::erase_if(breakpoints_, [&](const Breakpoint& b) {
                    return b.temporary &&
                           std::ranges::any_of(hits, [&](const Hit& h) { return h.id == b.id; });
                });
                return {goal.reason(), hits, {}};
            }
            case Machine::Stands::interrupted:
                return stopped(Reason::interrupted);
            case Machine::Stands::trapped:
                look_here(machine_->trap()->has_lane ? machine_->trap()->lane : UINT32_MAX);
                return {Reason::trap, {}, {}};
            case Machine::Stands::ended:
                if (std::optional<Stop> stop = end_launch()) return *stop;
        }
    }
}

// Runs anew to a time; none: to the trap, or the end of the last launch.
bool Session::return_to(const std::optional<Time>& t) {
    const Time last{loaded_.size() - 1, UINT64_MAX, 0, 0, 0};
    const Snapshot* const from = snapshot_before(t ? *t : last);
    if (from == nullptr || !begin_launch(from->launch, from)) return false;
    Reach goal(t);
    const Machine::Stands stands = machine_->go(goal);
    if (stands == Machine::Stands::ended) {
        (void)end_launch();
        return !t;
    }
    look_here(focus_.lane);
    return stands == Machine::Stands::held || !t;
}

Stop Session::go_to(const Time& time) {
    const std::optional<Time> before = now_;
    const bool was_over = over_ || !machine_;
    if (return_to(time)) return {Reason::stepped, {}, {}};
    if (before || was_over) (void)return_to(before);
    return {Reason::refused, {}, "the run does not come there"};
}

bool Session::repeat(Goal& goal, bool whole) {
    const bool at_end = over_ || machine_->trap();
    const std::optional<Time> until = at_end ? std::nullopt : now_;
    const Focus focus = focus_;
    const size_t launch = launch_;
    const Time t{launch, whole ? 0 : focus.cta, focus.warp, 0, 0};
    const Snapshot* const from = snapshot_before(t);
    if (from == nullptr || !begin_launch(from->launch, from)) return false;
    Until wrapped(goal, until);
    const Machine::Stands stands = machine_->go(wrapped);
    focus_ = focus;
    if (stands == Machine::Stands::ended) {
        (void)end_launch();
        return !until;
    }
    look_here(focus.lane);
    focus_ = focus;
    return stands == Machine::Stands::held || !until;
}

std::optional<Time> Session::now() const { return now_; }

size_t Session::path_of(const warp::Cta& cta, const warp::Warp& warp) const {
    const Here& h = machine_->here();
    if (h.cta == &cta && h.warp == &warp && h.path < warp.paths.size()) return h.path;
    // The youngest that can go on is the next to run.
    for (size_t i = warp.paths.size(); i-- > 0;)
        if (warp.paths[i].state == warp::PathState::ready) return i;
    return 0;
}

bool Session::at_here() const {
    const Here& h = machine_->here();
    return h.cta != nullptr && h.cta->index == focus_.cta && h.warp->index == focus_.warp;
}

View Session::view() const { return view_of(focus_); }

View Session::view_of(const Focus& focus) const {
    View v;
    v.listing = listings_[launch_].get();
    v.launch = &*config_;
    v.shapes = &shapes_;
    v.lane = focus.lane;
    if (machine_ == nullptr || over_) return v;
    v.memory = machine_->memory();
    const auto cta = machine_->ctas().find(focus.cta);
    if (cta == machine_->ctas().end() || focus.warp >= cta->second->warps.size()) return v;
    v.cta = cta->second;
    v.warp = &v.cta->warps[focus.warp];
    if (v.warp->paths.empty()) return v;
    const warp::Path& p = v.warp->paths[path_of(*v.cta, *v.warp)];
    v.pc = p.pc;
    v.frame = p.frame;
    // A path at a barrier of the CTA stands behind it.
    if (p.state == warp::PathState::at_barrier && v.pc != 0 && !p.opened) --v.pc;
    if (machine_->trap() && machine_->trap()->cta_index == focus.cta &&
        machine_->trap()->warp == focus.warp)
        v.pc = machine_->trap()->operation;
    for (uint32_t level = focus.level; level != 0 && v.frame != warp::no_index; --level) {
        const warp::Frame& f = v.warp->calls.frames[v.frame];
        v.pc = f.call;
        v.frame = f.caller;
    }
    return v;
}

bool Session::look_at(const Focus& focus) {
    if (machine_ == nullptr || over_) return false;
    const auto cta = machine_->ctas().find(focus.cta);
    if (cta == machine_->ctas().end() || focus.warp >= cta->second->warps.size() || focus.lane > 31)
        return false;
    focus_ = focus;
    return true;
}

Breakpoint& Session::add(Breakpoint b) {
    b.id = b.internal ? 0 : next_id_++;
    breakpoints_.push_back(std::move(b));
    return breakpoints_.back();
}

launch::Result<std::shared_ptr<const std::vector<KnownFinding>>> Session::findings(
    std::string_view names) {
    const auto known = findings_.find(names);
    if (known != findings_.end()) return known->second;
    if (wish_ != nullptr) *wish_ = false;
    launch::Result<std::vector<KnownFinding>> found =
        find_all(loaded_, names, order_ ? &*order_ : nullptr, wish_);
    if (wish_ != nullptr) *wish_ = false;
    if (!found) return tl::unexpected(found.error());
    auto kept = std::make_shared<const std::vector<KnownFinding>>(std::move(*found));
    findings_.emplace(names, kept);
    return kept;
}

Expected* Session::expected() {
    if (!subject_) return nullptr;
    if (expected_ == nullptr) expected_ = std::make_unique<Expected>(subject_, loaded_, wish_);
    return expected_.get();
}

bool Session::remove(unsigned id) {
    return std::erase_if(breakpoints_, [&](const Breakpoint& b) { return b.id == id; }) != 0;
}

}  // namespace lockwarp::debug
