// SPDX-License-Identifier: Apache-2.0
// Races on global memory between the warps of a CTA: two accesses of the same bytes, one of them a
// store, that nothing orders. PTX manual, "Memory Consistency Model: Data-races".
//
// Each warp has a vector clock, joined at barriers. What else may order warps (atomic operations,
// fences, mbarriers, strong loads and stores) is taken to order everything before it with
// everything after the next one, so that what is reported is a race. Strong accesses do not race,
// with weak ones neither. Accesses of one warp are taken to be in order, and so is one instruction
// by which several warps store: the same values, as a rule.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

constexpr uint64_t word_bytes = 4;
constexpr size_t max_warps = 32;
constexpr size_t barriers = 16;

using Clock = std::array<uint32_t, max_warps>;

void join(Clock& into, const Clock& from) {
    for (size_t i = 0; i < max_warps; ++i) into[i] = std::max(into[i], from[i]);
}

bool is_strong(const isa::Operation& o) {
    return o.mod.memory_order != isa::MemoryOrder::weak;
}

bool orders(const isa::Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    return row.sync == isa::Sync::phase || row.sync == isa::Sync::order ||
           row.memory == isa::Memory::update || is_strong(o);
}

// An access of a word by a warp.
struct Seen {
    uint32_t operation = 0, warp = 0, time = 0;
    uint8_t bytes = 0;  // by bits; 0: none
    bool store = false;
};

struct Race {
    uint32_t now, before;  // indices into Program::operations
    bool stores, stored;   // what these do
    std::array<uint32_t, 3> cta;
    uint32_t warp, lane, other_warp;
    uint64_t address;
    uint64_t count = 1;
};

using Races = std::map<std::pair<uint32_t, uint32_t>, Race>;

void add(Races& races, const Race& race) {
    const auto [at, is_new] = races.try_emplace({race.now, race.before}, race);
    if (!is_new) at->second.count += race.count;
}

// By word: the last load of each warp since the last store, and the last stores.
using Words = std::unordered_map<uint64_t, std::vector<Seen>>;

class OfCta : public warp::CtaObserver {
  public:
    OfCta() {
        for (size_t w = 0; w < max_warps; ++w) clocks_[w][w] = 1;
    }
    void barrier_arrived(const warp::BarrierArrived& e) override;
    void barrier_opened(const warp::BarrierOpened& e) override;
    void retired(const warp::Retired& e) override;

    Races races;

  private:
    void accessed(const warp::Retired& e, uint32_t lane, uint64_t word, const Seen& now);

    std::array<Clock, max_warps> clocks_{};
    std::array<Clock, barriers> arrived_{};
    Clock shared_{};  // of what orders, other than barriers
    Words words_;
};

void OfCta::barrier_arrived(const warp::BarrierArrived& e) {
    const uint32_t w = e.who.warp % max_warps;
    join(arrived_[e.barrier % barriers], clocks_[w]);
    ++clocks_[w][w];
}

void OfCta::barrier_opened(const warp::BarrierOpened& e) {
    Clock& from = arrived_[e.barrier % barriers];
    for (const warp::WarpLanes& r : e.released) join(clocks_[r.warp % max_warps], from);
    from = {};
}

void OfCta::accessed(const warp::Retired& e, uint32_t lane, uint64_t word, const Seen& now) {
    std::vector<Seen>& all = words_[word];
    const Clock& clock = clocks_[now.warp];
    for (const Seen& s : all) {
        const bool same_store = s.store && now.store && s.operation == now.operation;
        if (s.warp == now.warp || (s.bytes & now.bytes) == 0 || (!s.store && !now.store) ||
            same_store || clock[s.warp] >= s.time)
            continue;
        add(races, {now.operation, s.operation, now.store, s.store, e.cta, e.warp, lane, s.warp,
                    word * word_bytes});
    }
    // A store that covers them replaces all accesses: what races with one races with the store, or
    // was reported by it.
    std::erase_if(all, [&](const Seen& s) {
        const bool covered = (s.bytes & ~now.bytes) == 0;
        return covered && (now.store || (s.warp == now.warp && !s.store));
    });
    all.push_back(now);
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = e.program->operations[e.operation];
    const uint32_t warp = e.warp % max_warps;
    if (orders(o)) {
        join(shared_, clocks_[warp]);
        clocks_[warp] = shared_;
        ++clocks_[warp][warp];
    }
    if (isa::row(o.op).memory == isa::Memory::update || is_strong(o)) return;
    for (const warp::Access& a : std::span(e.accesses, e.access_count)) {
        if (a.space != ptx::Space::global) continue;
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            const uint64_t begin = a.address[lane], end = begin + a.bytes_of_lane[lane];
            for (uint64_t word = begin / word_bytes; word * word_bytes < end; ++word) {
                const uint64_t from = std::max(begin, word * word_bytes) - word * word_bytes;
                const uint64_t to = std::min(end, (word + 1) * word_bytes) - word * word_bytes;
                const auto bytes = static_cast<uint8_t>((1U << to) - (1U << from));
                accessed(e, lane, word, {e.operation, warp, clocks_[warp][warp], bytes, a.store});
            }
        }
    }
}

class GlobalRaces : public Check {
  public:
    explicit GlobalRaces(const isa::Program& program) : program_(program) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>();
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        for (const auto& [key, race] : static_cast<const OfCta&>(*listener).races)
            add(races_, race);
    }
    std::vector<Finding> findings() const override;

  private:
    Finding finding(const Race& r) const;

    const isa::Program& program_;
    Races races_;
};

Finding GlobalRaces::finding(const Race& r) const {
    Finding out;
    out.kind = !r.stores ? "read-after-write" : r.stored ? "write-after-write" : "write-after-read";
    out.here = {r.now, r.cta, r.warp, 1u << r.lane, 0};
    out.other = Site{r.before, r.cta, r.other_warp, 0, 0};
    out.space = ptx::Space::global;
    out.address = r.address;
    out.bytes = word_bytes;
    out.count = r.count;
    const std::string line = "line " + std::to_string(program_.operations[r.before].place.line);
    out.message = !r.stores  ? "reads what " + line + " stores"
                  : r.stored ? "stores to where " + line + " stores"
                             : "stores to where " + line + " reads";
    out.hint = (r.stored ? "stored by warp " : "read by warp ") + std::to_string(r.other_warp) +
               "; the two have met at no barrier since: bar.sync comes between";
    return out;
}

std::vector<Finding> GlobalRaces::findings() const {
    std::vector<Finding> out;
    for (const auto& [key, race] : races_) out.push_back(finding(race));
    return out;
}

}  // namespace

std::unique_ptr<Check> global_races(const isa::Program& program, const warp::Launch&) {
    return std::make_unique<GlobalRaces>(program);
}

}  // namespace lockwarp::check
