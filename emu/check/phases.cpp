// SPDX-License-Identifier: Apache-2.0
// mbarriers that are used before they are made, or by other warps before these may know of it, and
// counts that never end a phase. PTX manual, "mbarrier". More arrivals than a phase lacks are a
// trap.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/check/of_cluster.hpp"

namespace lockwarp::check {

namespace {

using isa::Op;

struct Barrier {
    Site made, arrived;
    uint32_t rank = 0;  // of the CTA that made it
    uint64_t when = 0;  // it was made
    uint64_t expected = 0, pending = 0;
    uint64_t phases = 0;
    bool told = false;            // that it is used too early
    int64_t bytes = 0;            // to come in this phase
    Site counted;                 // who last said how many, or brought some
    uint64_t said = 0, come = 0;  // bytes, in this phase

    void end_if_over();
};
using Barriers = std::map<uint64_t, Barrier>;  // by place_in_cluster()

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const isa::Program& program, const warp::CtaPlace& place,
          std::shared_ptr<Barriers> barriers)
        : program_(program),
          cta_(place.id),
          rank_(place.rank),
          kept_(std::move(barriers)),
          barriers_(*kept_) {}
    void barrier_opened(const warp::BarrierOpened& e) override {
        ++now_;
        for (const warp::WarpLanes& r : e.released) met(r.warp) = now_;
    }
    void cluster_opened(const warp::ClusterOpened&) override {
        ++now_;
        met_all_ = now_;
    }
    void bulk(const warp::BulkEvent& e) override;
    void retired(const warp::Retired& e) override;
    void trapped(const warp::Trap&) override { trapped_ = true; }
    void ended() override;

    Collection found;

  private:
    uint64_t& met(uint32_t warp) {
        if (met_.size() <= warp) met_.resize(warp + size_t{1});
        met_[warp] = std::max(met_[warp], met_all_);
        return met_[warp];
    }
    uint32_t operand(const warp::Retired& e, const isa::Operation& o, unsigned n, uint32_t lane,
                     uint32_t otherwise) const;
    // Has a phase of an mbarrier of so many arrivals ended in this CTA?
    bool any_ended(uint64_t expected) const;
    void make(const warp::Retired& e, const isa::Operation& o, uint32_t lane, uint64_t address);
    void use(const warp::Retired& e, const isa::Operation& o, uint32_t lane, uint64_t address);
    void say(std::string_view kind, Severity severity, const Site& here,
             const std::optional<Site>& other, uint64_t address, std::string message,
             std::string hint);

    const isa::Program& program_;
    std::array<uint32_t, 3> cta_;
    uint32_t rank_;
    std::shared_ptr<Barriers> kept_;
    Barriers& barriers_;         // of all CTAs of the cluster
    std::vector<uint64_t> met_;  // by warp: when it last met others
    uint64_t met_all_ = 0;       // when all last met, at the cluster's barrier
    uint64_t now_ = 1;
    bool trapped_ = false;
};

uint32_t OfCta::operand(const warp::Retired& e, const isa::Operation& o, unsigned n, uint32_t lane,
                        uint32_t otherwise) const {
    if (n >= o.operands || o.r[n] == isa::no_ref) return otherwise;
    uint32_t value = 0;
    std::memcpy(&value, e.registers + o.r[n] + 4 * size_t{lane}, sizeof value);
    return value;
}

void OfCta::say(std::string_view kind, Severity severity, const Site& here,
                const std::optional<Site>& other, uint64_t address, std::string message,
                std::string hint) {
    if (found.again(kind, here.operation, other ? other->operation : std::optional<uint32_t>()))
        return;
    Finding f;
    f.kind = kind;
    f.severity = severity;
    f.here = here;
    f.other = other;
    f.space = ptx::Space::shared;
    f.address = address;
    f.bytes = 8;
    f.message = std::move(message);
    f.hint = std::move(hint);
    found.add(std::move(f));
}

void OfCta::make(const warp::Retired& e, const isa::Operation& o, uint32_t lane, uint64_t address) {
    const uint32_t count = operand(e, o, 0, lane, 1);
    const Site site{e.operation, e.cta, e.warp, 1u << lane, e.step};
    barriers_[address] = {site, {}, rank_, now_, count, count, 0, false, 0, {}, 0, 0};
}

void OfCta::use(const warp::Retired& e, const isa::Operation& o, uint32_t lane, uint64_t address) {
    const Site site{e.operation, e.cta, e.warp, 1u << lane, e.step};
    const auto at = barriers_.find(address);
    if (at == barriers_.end()) {
        say("mbarrier-not-made", Severity::error, site, std::nullopt, address,
            "uses an mbarrier that no thread has made", "mbarrier.init comes first");
        return;
    }
    Barrier& b = at->second;
    if (b.rank == rank_ && b.made.warp != e.warp && met(e.warp) <= b.when &&
        !std::exchange(b.told, true))
        say("mbarrier-too-early", Severity::error, site, b.made, address,
            "uses the mbarrier that line " +
                std::to_string(program_.operations[*b.made.operation].place.line) +
                " makes, and may come before it",
            "a barrier that both warps meet follows mbarrier.init (bar.sync)");
    const auto expect = [&](uint32_t bytes) {
        b.counted = site;
        b.bytes += bytes;
        b.said += bytes;
    };
    if (o.op == Op::mbarrier_expect) expect(operand(e, o, 0, lane, 0));
    if (o.op == Op::mbarrier_complete) {
        b.come += operand(e, o, 0, lane, 0);
        b.bytes -= operand(e, o, 0, lane, 0);
        b.end_if_over();
    }
    const bool copies = o.op == Op::mbarrier_copies;
    if (o.op != Op::mbarrier_arrive && o.op != Op::mbarrier_drop && !copies) return;
    if (copies && !o.mod.no_increment) return;
    b.arrived = site;
    if (o.mod.expect) expect(operand(e, o, 1, lane, 0));
    const uint32_t count = copies || o.mod.expect ? 1 : operand(e, o, 1, lane, 1);
    b.pending -= std::min<uint64_t>(b.pending, count);
    if (o.op == Op::mbarrier_drop) b.expected -= std::min<uint64_t>(b.expected, count);
    b.end_if_over();
}

void Barrier::end_if_over() {
    if (pending != 0 || bytes != 0) return;
    pending = expected;
    said = come = 0;
    ++phases;
}

void OfCta::bulk(const warp::BulkEvent& e) {
    for (const warp::BulkArrival& a : e.arrivals) {
        const auto at = barriers_.find(uint64_t{a.cta} << isa::rank_bit | a.address);
        if (at == barriers_.end()) continue;
        Barrier& b = at->second;
        b.counted = {e.operation, cta_, e.who.warp, 1u << a.lane, 0};
        b.come += a.bytes;
        b.bytes -= static_cast<int64_t>(a.bytes);
        b.end_if_over();
    }
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = program_.operations[e.operation];
    const isa::OpRow& row = isa::row(o.op);
    // fence, atom and their kin make waits that are the program's own.
    if (row.sync == isa::Sync::order) met(e.warp) = ++now_;
    if (row.memory != isa::Memory::barrier) return;
    ++now_;
    for (uint32_t i = 0; i < e.access_count; ++i) {
        const warp::Access& a = e.accesses[i];
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            const uint64_t address = place_in_cluster(a, lane);
            if (o.op == Op::mbarrier_init)
                make(e, o, lane, address);
            else if (o.op == Op::mbarrier_inval)
                barriers_.erase(address);
            else
                use(e, o, lane, address);
        }
        break;  // the others are of the same places
    }
}

bool OfCta::any_ended(uint64_t expected) const {
    return std::ranges::any_of(barriers_, [&](const auto& one) {
        const Barrier& b = one.second;
        return b.rank == rank_ && b.expected == expected && b.phases != 0;
    });
}

void OfCta::ended() {
    if (trapped_) return;
    for (const auto& [address, b] : barriers_) {
        if (b.rank != rank_) continue;
        if (b.bytes != 0 && b.counted.operation) {
            // A producer that goes on to its next slot, and then has nothing for it, tells it too.
            const bool some = b.come != 0;
            say("mbarrier-bytes", some ? Severity::error : Severity::note, b.made, b.counted,
                address,
                "makes an mbarrier that is told of " + std::to_string(b.said) + " bytes, and " +
                    std::to_string(b.come) + " come: the phase does not end",
                some ? "expect_tx is the sum of the bytes of all copies of the phase"
                     : "a copy is missing, if somebody is to wait for the phase");
            continue;
        }
        if (!b.arrived.operation || b.pending == b.expected) continue;
        // A ring may have more slots than the kernel comes to: what the others do shows its count.
        const bool never = b.phases == 0 && !any_ended(b.expected);
        say("mbarrier-incomplete", never ? Severity::error : Severity::note, b.made, b.arrived,
            address,
            "makes an mbarrier for " + std::to_string(b.expected) + " arrivals, " +
                (never ? "of which " : "and in its last phase ") +
                std::to_string(b.expected - b.pending) + " come" +
                (b.expected - b.pending == 1 ? "s" : ""),
            never ? "its count is that of all arrivals of one phase: no phase ever ends"
                  : "an arrival too many or too few, if somebody is to wait for it");
    }
}

class Phases : public Check {
  public:
    explicit Phases(const isa::Program& program) : program_(program) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& place) override {
        return std::make_unique<OfCta>(program_, place, barriers_.of(place));
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    OfCluster<Barriers> barriers_;
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> mbarrier_misuse(const isa::Program& program, const warp::Launch&) {
    const bool any = std::ranges::any_of(program.operations, [](const isa::Operation& o) {
        return isa::row(o.op).memory == isa::Memory::barrier;
    });
    return any ? std::make_unique<Phases>(program) : nullptr;
}

}  // namespace lockwarp::check
