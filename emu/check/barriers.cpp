// SPDX-License-Identifier: Apache-2.0
// Barriers of the CTA that a part of it meets, at which counts differ, or that stay open. PTX
// manual, "bar, barrier": all threads take part unless a count is given, and those of one phase
// give the same count. A barrier that waits for ever is a trap.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

constexpr size_t barriers = 16;

uint32_t count(uint32_t lanes) { return static_cast<uint32_t>(__builtin_popcount(lanes)); }

std::string warps_text(const std::vector<uint32_t>& warps) {
    constexpr size_t shown = 8;
    std::string out = warps.size() == 1 ? "warp " : "warps ";
    for (size_t i = 0; i < std::min(warps.size(), shown); ++i)
        out += (i == 0 ? "" : ", ") + std::to_string(warps[i]);
    return out + (warps.size() > shown ? " and others" : "");
}

struct Arrival {
    uint32_t operation;
    warp::WarpLanes who;
    uint32_t threads;  // that it counts; 0: all
    bool waits;
};

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const isa::Program& program, const warp::CtaPlace& place, uint64_t threads)
        : program_(program), cta_(place.id), threads_(threads) {}
    void barrier_arrived(const warp::BarrierArrived& e) override;
    void barrier_opened(const warp::BarrierOpened& e) override;
    void trapped(const warp::Trap&) override { trapped_ = true; }
    void ended() override;

    Collection found;

  private:
    struct Phase {
        std::vector<Arrival> arrivals;
        bool parted = false;  // a phase of it was met at several places
        Finding where;        // the first of those
    };
    Site site(const Arrival& a) const { return {a.operation, cta_, a.who.warp, a.who.lanes, 0}; }
    uint32_t line(const Arrival& a) const { return program_.operations[a.operation].place.line; }
    void part_came(const warp::BarrierArrived& e);
    void compare_counts(uint32_t barrier, const Arrival& a, const Arrival& b);
    void compare_places(Phase& p, uint32_t barrier);
    void after_exit(Phase& p, uint32_t barrier);

    const isa::Program& program_;
    std::array<uint32_t, 3> cta_;
    uint64_t threads_;
    std::array<Phase, barriers> phases_;
    bool trapped_ = false;
};

void OfCta::compare_counts(uint32_t barrier, const Arrival& a, const Arrival& b) {
    if (a.threads == b.threads || found.again("barrier-count", b.operation, a.operation)) return;
    const auto text = [](const Arrival& x) {
        return x.threads == 0 ? std::string("all threads") : std::to_string(x.threads) + " threads";
    };
    Finding f;
    f.kind = "barrier-count";
    f.here = site(b);
    f.other = site(a);
    f.message = "meets barrier " + std::to_string(barrier) + " for " + text(b) + ", where line " +
                std::to_string(line(a)) + " meets it for " + text(a);
    f.hint = "the threads of one phase give the same count: that of all that sync or arrive";
    found.add(std::move(f));
}

void OfCta::part_came(const warp::BarrierArrived& e) {
    if (e.left_by == 0 || found.again("diverged", e.operation, std::nullopt)) return;
    Finding f;
    f.kind = "diverged";
    f.here = {e.operation, cta_, e.who.warp, e.who.lanes, 0};
    f.message = "an aligned barrier in a diverged warp: " + std::to_string(count(e.who.lanes)) +
                " of the warp's " + std::to_string(count(e.who.lanes | e.left_by)) +
                " threads are here, the others go on and exit";
    f.hint =
        "all threads of a warp meet an aligned barrier together (PTX manual, barrier): it belongs "
        "before or behind the branch";
    found.add(std::move(f));
}

void OfCta::barrier_arrived(const warp::BarrierArrived& e) {
    part_came(e);
    Phase& p = phases_[e.barrier % barriers];
    const Arrival now{e.operation, e.who, e.threads, e.waits};
    if (!p.arrivals.empty()) compare_counts(e.barrier, p.arrivals[0], now);
    p.arrivals.push_back(now);
}

// All threads of the CTA meet one phase, at different instructions: a branch that parts the CTA, as
// a rule.
void OfCta::compare_places(Phase& p, uint32_t barrier) {
    std::map<uint32_t, std::vector<uint32_t>> warps;  // by operation
    for (const Arrival& a : p.arrivals) {
        if (a.threads != 0 || !a.waits) return;
        warps[a.operation].push_back(a.who.warp);
    }
    if (warps.size() < 2) return;
    const auto fewer = [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
    };
    const uint32_t rare = std::ranges::min_element(warps, fewer)->first;
    const uint32_t usual = std::ranges::max_element(warps, fewer)->first == rare
                               ? warps.rbegin()->first
                               : std::ranges::max_element(warps, fewer)->first;
    Finding f;
    f.kind = "barrier-parted";
    f.severity = Severity::note;
    const auto of = [&](uint32_t operation) {
        return *std::ranges::find(p.arrivals, operation, &Arrival::operation);
    };
    f.here = site(of(rare));
    f.other = site(of(usual));
    f.message = warps_text(warps[rare]) + " meet" + (warps[rare].size() == 1 ? "s" : "") +
                " barrier " + std::to_string(barrier) + " here, " + warps_text(warps[usual]) +
                " at line " + std::to_string(line(of(usual)));
    f.hint =
        "all threads of the CTA meet one barrier at one place; threads that part meet at named "
        "barriers with a count";
    if (!p.parted) p.where = f;
    p.parted = true;
    if (!found.again(f.kind, f.here.operation, f.other->operation)) found.add(std::move(f));
}

void OfCta::after_exit(Phase& p, uint32_t barrier) {
    uint64_t arrived = 0;
    for (const Arrival& a : p.arrivals) {
        if (a.threads != 0) return;
        arrived += count(a.who.lanes);
    }
    if (arrived >= threads_) return;
    const Arrival& a = p.arrivals.back();
    Finding f;
    f.kind = "barrier-after-exit";
    // With a phase before that different places made up, this one is what is left of it.
    f.severity = p.parted ? Severity::error : Severity::note;
    f.here = p.parted ? p.where.here : site(a);
    if (p.parted) f.other = site(a);
    if (p.parted)
        f.message = p.where.message + "; then line " + std::to_string(line(a)) + " opens for " +
                    std::to_string(arrived) + " of " + std::to_string(threads_) +
                    " threads, because the others have exited";
    else
        f.message = "barrier " + std::to_string(barrier) + " opens for " + std::to_string(arrived) +
                    " of the CTA's " + std::to_string(threads_) +
                    " threads: the others have exited";
    f.hint = "a barrier that a part of the CTA skips belongs before or behind the branch";
    if (!found.again(f.kind, f.here.operation,
                     f.other ? f.other->operation : std::optional<uint32_t>()))
        found.add(std::move(f));
}

void OfCta::barrier_opened(const warp::BarrierOpened& e) {
    Phase& p = phases_[e.barrier % barriers];
    if (p.arrivals.empty()) return;
    compare_places(p, e.barrier);
    after_exit(p, e.barrier);
    p.arrivals.clear();
}

void OfCta::ended() {
    if (trapped_) return;
    for (uint32_t barrier = 0; barrier < barriers; ++barrier) {
        const std::vector<Arrival>& left = phases_[barrier].arrivals;
        if (left.empty()) continue;
        Finding f;
        f.kind = "barrier-left";
        f.severity = Severity::note;
        f.here = site(left[0]);
        uint64_t arrived = 0;
        for (const Arrival& a : left) arrived += count(a.who.lanes);
        f.message = "arrives at barrier " + std::to_string(barrier) +
                    ", which never opens: " + std::to_string(arrived) + " of " +
                    std::to_string(left[0].threads) + " threads came";
        f.hint = "each bar.arrive has a bar.sync of other warps that counts it";
        found.add(std::move(f));
    }
}

class Barriers : public Check {
  public:
    Barriers(const isa::Program& program, const warp::Launch& launch)
        : program_(program), threads_(launch.block.count()) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& place) override {
        return std::make_unique<OfCta>(program_, place, threads_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    uint64_t threads_;
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> barrier_misuse(const isa::Program& program, const warp::Launch& launch) {
    const bool any = std::ranges::any_of(program.operations, [](const isa::Operation& o) {
        return isa::row(o.op).sync == isa::Sync::cta;
    });
    return any ? std::make_unique<Barriers>(program, launch) : nullptr;
}

}  // namespace lockwarp::check
