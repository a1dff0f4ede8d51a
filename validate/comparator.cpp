// SPDX-License-Identifier: Apache-2.0
#include "validate/comparator.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "emu/warp/state.hpp"
#include "validate/treatment.hpp"

namespace lockwarp::validate {

namespace {

constexpr uint32_t all = warp::all_lanes;

const isa::Register& written(const isa::Program& p, const isa::Operation& o, uint32_t i) {
    return p.registers[p.uses[o.first_use + i]];
}

void set_bits(const isa::Register& r, uint8_t* registers, uint32_t lane, uint64_t value) {
    if (r.type == isa::Type::pred) {
        uint32_t mask;
        std::memcpy(&mask, registers + r.ref, sizeof mask);
        mask = (mask & ~(1u << lane)) | (static_cast<uint32_t>(value & 1) << lane);
        std::memcpy(registers + r.ref, &mask, sizeof mask);
        return;
    }
    const unsigned bytes = isa::bits(r.type) == 64 ? 8 : 4;
    std::memcpy(registers + r.ref + size_t{lane} * bytes, &value, bytes);
}

// Infinity of a type's elements, by their magnitude's bits.
uint64_t infinity(isa::Type type) {
    switch (type) {
        case isa::Type::f64:
            return 0x7ff0000000000000;
        case isa::Type::f16:
        case isa::Type::f16x2:
            return 0x7c00;
        case isa::Type::bf16:
        case isa::Type::bf16x2:
            return 0x7f80;
        default:
            return 0x7f800000;
    }
}

// Whether two results differ only where both have a NaN.
bool differ_in_nans(isa::Type type, uint64_t a, uint64_t b) {
    const unsigned width = isa::bits(type) / isa::row(type).lanes;
    const uint64_t magnitude = ~uint64_t{0} >> (65 - width);
    for (unsigned i = 0; i < isa::row(type).lanes; ++i, a >>= width, b >>= width) {
        const bool same = ((a ^ b) & (magnitude << 1 | 1)) == 0;
        if (!same && ((a & magnitude) <= infinity(type) || (b & magnitude) <= infinity(type)))
            return false;
        if (width == 64) return true;
    }
    return a == b;
}

// Not 0 where a register of any lane is not as the record's words have it.
uint64_t difference_of(const isa::Register& r, const uint8_t* registers, const uint64_t* words) {
    uint64_t bad = 0;
    const auto add = [&](const auto* values) {
        for (uint32_t l = 0; l < 32; ++l) bad |= words[l] ^ values[l];
    };
    if (r.type == isa::Type::pred) {
        uint32_t mask;
        std::memcpy(&mask, registers + r.ref, sizeof mask);
        for (uint32_t l = 0; l < 32; ++l) bad |= words[l] ^ (mask >> l & 1);
    } else if (isa::bits(r.type) == 64) {
        add(reinterpret_cast<const uint64_t*>(registers + r.ref));
    } else {
        add(reinterpret_cast<const uint32_t*>(registers + r.ref));
    }
    return bad;
}

}  // namespace

uint64_t register_bits(const isa::Register& r, const uint8_t* registers, uint32_t lane) {
    if (r.type == isa::Type::pred) {
        uint32_t mask;
        std::memcpy(&mask, registers + r.ref, sizeof mask);
        return mask >> lane & 1;
    }
    const unsigned bytes = isa::bits(r.type) == 64 ? 8 : 4;
    uint64_t value = 0;
    std::memcpy(&value, registers + r.ref + size_t{lane} * bytes, bytes);
    return value;
}

Comparator::Comparator(const Plan& plan, const Tracks& tracks, Supplied& supplied,
                       Order::Before before)
    : plan_(plan),
      tracks_(tracks),
      supplied_(supplied),
      states_(tracks.window.ctas),
      counts_(plan.program->operations.size()) {
    supplied_.resize(tracks.window.ctas * plan.warps * 32);
    if (!plan.orders.empty()) order_ = std::make_unique<Order>(plan, tracks, std::move(before));
}

Comparator::CtaState::CtaState(Comparator& c, const warp::CtaPlace& cta)
    : comparator(c),
      place(cta),
      warps(c.plan_.warps),
      counts(c.plan_.program->operations.size()),
      written(c.plan_.unwritten, c.plan_.warps) {
    for (WarpState& w : warps) w.branch.fill(no_branch);
}

void Comparator::CtaState::retired(const warp::Retired& event) {
    comparator.compare(*this, event);
    ++moment;
    written.note(event);
    comparator.note_remote(event);
    if (comparator.order_) comparator.order_->retired(event);
}

void Comparator::CtaState::bulk(const warp::BulkEvent& event) {
    for (const warp::BulkRange& r : event.ranges)
        if (r.store && r.space == ptx::Space::shared)
            comparator.mark_shared(place.index, r.cta, r.address, r.bytes);
}

void Comparator::mark_shared(uint64_t cta, uint32_t rank, uint64_t address, uint64_t bytes) {
    const warp::Clusters& of = plan_.clusters;
    const uint64_t at = of.cta(of.cluster_of(cta), rank) - tracks_.window.first_cta;
    if (at < states_.size() && states_[at] != nullptr) states_[at]->written.mark(address, bytes);
}

// What a CTA stored to its peers' shared memory.
void Comparator::note_remote(const warp::Retired& e) {
    for (uint32_t n = 0; n < e.access_count; ++n) {
        const warp::Access& a = e.accesses[n];
        if (a.remote == 0 || a.space != ptx::Space::shared) continue;
        const bool is_barrier =
            isa::row(e.program->operations[e.operation].op).memory == isa::Memory::barrier;
        if (!a.store && !is_barrier) continue;
        for (uint32_t rest = a.remote; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            mark_shared(e.cta_index, a.rank[lane], a.address[lane], a.bytes_of_lane[lane]);
        }
    }
}

// What the engine did after it is no difference by itself: an access that waits may have let it.
void Comparator::CtaState::trapped(const warp::Trap&) { lost = lost || comparator.order_; }

void Comparator::CtaState::ended() {
    comparator.compare_ends(*this);
    if (comparator.order_) comparator.order_->ended(place.index);
}

std::unique_ptr<warp::CtaObserver> Comparator::begin(const warp::CtaPlace& cta) {
    const uint64_t at = cta.index - tracks_.window.first_cta;
    if (at >= tracks_.window.ctas) return nullptr;
    auto state = std::make_unique<CtaState>(*this, cta);
    states_[at] = state.get();
    return state;
}

void Comparator::take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) {
    auto& state = static_cast<CtaState&>(*listener);
    states_[cta.index - tracks_.window.first_cta] = nullptr;
    unfinished_ |= state.unfinished;
    unknown_global_.insert(unknown_global_.end(), state.written.unknown_global().begin(),
                           state.written.unknown_global().end());
    records_ += state.records;
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += state.counts[i];
    if (!first_) first_ = std::move(state.first);
}

Comparator::CtaState* Comparator::state_of(const warp::Retired& e) const {
    const uint64_t at = e.cta_index - tracks_.window.first_cta;
    return at < states_.size() ? states_[at] : nullptr;
}

bool Comparator::watches(const warp::Retired& e) const {
    return plan_.compared[e.operation] && (plan_.watched_warps >> e.warp & 1) != 0 &&
           e.cta_index >= plan_.first_cta && e.cta_index - plan_.first_cta < plan_.ctas;
}

// The 32 words, one a lane, of a place in a warp's tracks.
const uint64_t* Comparator::words(uint64_t cta, uint32_t warp, uint64_t word) const {
    const uint64_t track = (cta - tracks_.window.first_cta) * plan_.warps + warp;
    const uint64_t at =
        track * (tracks_.window.words + tracks_.slack) + (word - tracks_.window.first);
    return reinterpret_cast<const uint64_t*>(tracks_.words.data()) + at * 32;
}

// The lane's number among the window's.
uint64_t Comparator::thread_of(const warp::Retired& e, unsigned lane) const {
    return ((e.cta_index - tracks_.window.first_cta) * plan_.warps + e.warp) * 32 + lane;
}

Order::Asked Comparator::asked_of(const warp::Retired& e, unsigned lane,
                                  const warp::OrderedAccess& access) const {
    const uint64_t* const record = record_of(e, lane);
    const uint64_t word =
        record == nullptr
            ? 0
            : static_cast<uint64_t>(record - lane - words(e.cta_index, e.warp, 0)) / 32;
    return {e, lane, thread_of(e, lane), record, word, access};
}

const uint64_t* Comparator::record_of(const warp::Retired& e, unsigned lane) const {
    const CtaState* const state = state_of(e);
    if (state == nullptr || state->lost || !plan_.traced[e.operation]) return nullptr;
    const WarpState& w = state->warps[e.warp];
    const uint64_t at = w.next[w.together ? 0 : lane];
    if (at < tracks_.window.first || at >= tracks_.window.first + tracks_.window.words)
        return nullptr;
    const uint64_t* const record = words(e.cta_index, e.warp, at) + lane;
    return record[0] == e.operation + 1 ? record : nullptr;
}

// Memory that nothing wrote has any content on the engine.
bool Comparator::is_unwritten(const CtaState& state, unsigned lane,
                              const warp::OrderedAccess& access) {
    return access.space[lane] == ptx::Space::shared && access.cta[lane] == state.place.index &&
           !state.written.is_written(access.address[lane], access.elements * access.element_bytes);
}

// Whether the lane's track tells nothing more.
bool Comparator::is_over(CtaState& state, const warp::Retired& e, unsigned lane) const {
    const WarpState& w = state.warps[e.warp];
    if (w.next[w.together ? 0 : lane] < tracks_.window.first + tracks_.window.words)
        return state.lost;
    pass_end(state);
    return true;
}

bool Comparator::together(const warp::Retired& e, const warp::OrderedAccess& access) {
    if (plan_.ordered(e.operation) != gpu::Ordered::weak) return false;
    for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        if (is_over(*state_of(e), e, lane)) return false;
        const uint64_t* const record = record_of(e, lane);
        if (record != nullptr && access.memory[lane] != nullptr &&
            !is_unwritten(*state_of(e), lane, access) &&
            !order_->finds({e, lane, 0, record, 0, access}))
            return false;
    }
    return true;
}

void Comparator::arrange(const warp::Retired& e, std::span<uint8_t> lanes) {
    if (plan_.ordered(e.operation) != gpu::Ordered::change) return;
    const isa::Operation& o = plan_.program->operations[e.operation];
    std::array<uint64_t, 32> tickets{};
    for (const uint8_t lane : lanes)
        if (const uint64_t* record = record_of(e, lane); record != nullptr)
            tickets[lane] = Order::ticket(o, record);
    std::ranges::stable_sort(lanes, {}, [&](uint8_t lane) { return tickets[lane]; });
}

warp::Turn Comparator::turn(const warp::Retired& e, unsigned lane,
                            const warp::OrderedAccess& access) {
    const Order::Asked asked = asked_of(e, lane, access);
    if (plan_.ordered(e.operation) == gpu::Ordered::store) order_->stores(asked);
    CtaState& state = *state_of(e);
    // A lane that is no more beside its track stays where it is. One that goes another way than the
    // track's shows that by what it does.
    if (is_over(state, e, lane)) return warp::Turn::waits;
    if (asked.record == nullptr) return warp::Turn::now;
    if (is_unwritten(state, lane, access)) return warp::Turn::now;
    switch (order_->ask(asked)) {
        case Order::Answer::waits:
            return warp::Turn::waits;
        case Order::Answer::now:
            break;
        case Order::Answer::given:
            state.given |= 1u << lane;
            return warp::Turn::given;
        case Order::Answer::forced:
            state.forced |= 1u << lane;
            state.unexplained[lane] = order_->unexplained(asked);
            break;
    }
    return warp::Turn::now;
}

// What the lane's next record, of the load behind the call, brings.
warp::GivenBlock Comparator::block(const warp::Retired& e, unsigned lane) {
    // A lane that is no more beside its track stays where it is.
    if (is_over(*state_of(e), e, lane)) return {true, {}};
    warp::Retired load = e;
    ++load.operation;
    const uint64_t* const record = record_of(load, lane);
    if (record == nullptr) return {};
    return {!order_->is_block_next(thread_of(e, lane)), record[32]};
}

void Comparator::took_block(const warp::Retired& e, unsigned lane) {
    order_->took_block(thread_of(e, lane));
}

void Comparator::accessed(const warp::Retired& e, unsigned lane,
                          const warp::OrderedAccess& access) {
    order_->accessed(asked_of(e, lane, access));
}

// Lanes whose access was not done, or found something else, have what the engine's had.
void Comparator::supply_ordered(CtaState& state, const warp::Retired& e, uint8_t* registers) {
    const isa::Operation& o = plan_.program->operations[e.operation];
    for (uint32_t rest = e.executed & (state.given | state.forced); rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint64_t* const record = record_of(e, lane);
        for (uint32_t i = 0; i < o.written && record != nullptr; ++i)
            set_bits(written(*plan_.program, o, i), registers, lane, record[(1 + i) * size_t{32}]);
        if ((state.forced >> lane & 1) != 0)
            found(state, state.warps[e.warp], e, lane, DifferenceKind::order, 0,
                  state.unexplained[lane].emulated, state.unexplained[lane].other,
                  state.unexplained[lane].word);
    }
    state.given &= ~e.executed;
    state.forced &= ~e.executed;
}

void Comparator::supply(const warp::Retired& e, uint8_t* registers) {
    CtaState* const of_cta = state_of(e);
    if (of_cta != nullptr && orders(e.operation)) supply_ordered(*of_cta, e, registers);
    if (of_cta == nullptr || of_cta->lost || !plan_.traced[e.operation]) return;
    CtaState& state = *of_cta;
    const isa::Operation& o = plan_.program->operations[e.operation];
    const bool taken = plan_.taken[e.operation];
    // Where the first result is thrown away, another, such as shfl's predicate, is not undefined.
    const bool first_is_kept =
        o.written != 0 && (o.r[0] == isa::no_ref || written(*plan_.program, o, 0).ref == o.r[0]);
    const uint32_t lanes = taken ? e.executed : first_is_kept ? e.undefined : 0;
    for (uint32_t l = 0; l < 32; ++l)
        state.results[l] = (lanes >> l & 1) == 0 ? 0 : taken ? ~0u : e.undefined_results;
    std::array<uint32_t, 32> unwritten{};
    const bool unknown =
        !taken && plan_.unwritten.reads[e.operation] && state.written.unknown(e, unwritten);
    if (lanes == 0 && !unknown) return;
    for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        state.results[lane] |= unwritten[lane];
        if (state.results[lane] != 0)
            supply_lane(state, state.warps[e.warp], e, lane, unwritten[lane], registers);
    }
}

// The lane's results that are the engine's, by CtaState::results; `unwritten`: those that come of
// what nothing wrote.
void Comparator::supply_lane(CtaState& state, WarpState& w, const warp::Retired& e, uint32_t lane,
                             uint32_t unwritten, uint8_t* registers) const {
    const isa::Operation& o = plan_.program->operations[e.operation];
    const bool taken = plan_.taken[e.operation];
    std::vector<uint64_t>& earlier =
        supplied_[((e.cta_index - tracks_.window.first_cta) * plan_.warps + e.warp) * 32 + lane];
    const uint64_t at = w.next[w.together ? 0 : lane];
    const bool inside =
        at >= tracks_.window.first && at < tracks_.window.first + tracks_.window.words;
    if (inside && words(e.cta_index, e.warp, at)[lane] != e.operation + 1) return;
    // Of a NaN that is the same, or of a difference that is more than a NaN, the emulator's own.
    bool own = false;
    if (inside && unwritten == 0 && !taken && treatment_of_undefined(o.op) == Treatment::any_nan) {
        const uint64_t other = words(e.cta_index, e.warp, at + 1)[lane];
        const uint64_t ours = register_bits(written(*plan_.program, o, 0), registers, lane);
        own = other == ours || !differ_in_nans(o.mod.type[0], ours, other);
    }
    Counts& counts = state.counts[e.operation];
    for (uint32_t i = 0; i < o.written; ++i) {
        if (!is_marked(state.results[lane], i)) continue;
        const isa::Register& r = written(*plan_.program, o, i);
        size_t& given = w.given[lane];
        if (given == earlier.size()) {
            if (!inside) return;
            earlier.push_back(own ? register_bits(r, registers, lane)
                                  : words(e.cta_index, e.warp, at + 1 + i)[lane]);
        }
        set_bits(r, registers, lane, earlier[given++]);
        if (!inside || own) continue;
        ++(taken ? counts.taken : (unwritten >> i & 1) != 0 ? counts.unwritten : counts.masked);
    }
    if (!own) state.supplied |= 1u << lane;
}

uint32_t Comparator::went_on(const warp::Retired& e) const {
    const CtaState* const state = state_of(e);
    if (state == nullptr || state->lost || !plan_.traced[e.operation]) return 0;
    const WarpState& w = state->warps[e.warp];
    const uint64_t cta = e.cta_index - tracks_.window.first_cta;
    uint32_t lanes = 0;
    for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint64_t at = w.next[w.together ? 0 : lane];
        const size_t given = w.given[lane];
        const std::vector<uint64_t>& earlier = supplied_[(cta * plan_.warps + e.warp) * 32 + lane];
        uint64_t value = 0;
        if (given < earlier.size())
            value = earlier[given];
        else if (at >= tracks_.window.first && at < tracks_.window.first + tracks_.window.words &&
                 words(e.cta_index, e.warp, at)[lane] == e.operation + 1)
            value = words(e.cta_index, e.warp, at + 1)[lane];
        lanes |= static_cast<uint32_t>(value & 1) << lane;
    }
    return lanes;
}

void Comparator::compare(CtaState& state, const warp::Retired& e) const {
    const isa::Operation& o = plan_.program->operations[e.operation];
    if (isa::row(o.op).flow == isa::Flow::branch && o.guarded) {
        WarpState& w = state.warps[e.warp];
        for (uint32_t rest = e.active; rest != 0; rest &= rest - 1)
            w.branch[static_cast<uint32_t>(__builtin_ctz(rest))] = e.operation;
        w.taken = (w.taken & ~e.active) | e.executed;
    }
    if (!plan_.traced[e.operation] || e.executed == 0) return;
    WarpState& w = state.warps[e.warp];
    if (w.together && e.executed == all && state.supplied == 0 && compare_together(state, w, e))
        return;
    if (w.together) w.next.fill(w.next[0]);
    for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1)
        compare_lane(state, w, e, static_cast<uint32_t>(__builtin_ctz(rest)));
    state.supplied = 0;
    w.together = e.executed == all;
    for (uint32_t l = 1; l < 32 && w.together; ++l) w.together = w.next[l] == w.next[0];
}

// All lanes at once. false: something differs, or is not to be compared: look at each lane.
bool Comparator::compare_together(CtaState& state, WarpState& w, const warp::Retired& e) const {
    const isa::Operation& o = plan_.program->operations[e.operation];
    const uint64_t at = w.next[0];
    if (!state.lost && at >= tracks_.window.first) {
        if (at >= tracks_.window.first + tracks_.window.words) {
            pass_end(state);
        } else {
            if (!watches(e)) return false;
            const uint64_t* record = words(e.cta_index, e.warp, at);
            uint64_t bad = 0;
            for (uint32_t l = 0; l < 32; ++l) bad |= record[l] ^ (e.operation + 1);
            for (uint32_t i = 0; i < o.written && bad == 0; ++i)
                bad |= difference_of(written(*plan_.program, o, i), e.registers,
                                     record + (i + 1) * size_t{32});
            if (bad != 0) return false;
            state.records += 32;
            state.counts[e.operation].values += uint64_t{32} * o.written;
        }
    }
    w.next[0] += plan_.words(e.operation);
    return true;
}

void Comparator::compare_lane(CtaState& state, WarpState& w, const warp::Retired& e,
                              uint32_t lane) const {
    const isa::Operation& o = plan_.program->operations[e.operation];
    const uint64_t at = w.next[lane];
    w.next[lane] += plan_.words(e.operation);
    if (state.lost || at < tracks_.window.first) return;
    if (at >= tracks_.window.first + tracks_.window.words) {
        pass_end(state);
        return;
    }
    const uint64_t number = words(e.cta_index, e.warp, at)[lane];
    if (number != e.operation + 1) {
        found(state, w, e, lane, DifferenceKind::control_flow, 0, e.operation + 1, number, at);
        lose(state);
        return;
    }
    if (!watches(e)) return;
    ++state.records;
    const bool supplied = (state.supplied >> lane & 1) != 0;
    for (uint32_t i = 0; i < o.written; ++i) {
        if (supplied && is_marked(state.results[lane], i)) continue;
        const uint64_t emulated = register_bits(written(*plan_.program, o, i), e.registers, lane);
        const uint64_t other = words(e.cta_index, e.warp, at + 1 + i)[lane];
        ++state.counts[e.operation].values;
        if (emulated == other) continue;
        found(state, w, e, lane, DifferenceKind::value, i, emulated, other, at);
    }
}

void Comparator::found(CtaState& state, const WarpState& w, const warp::Retired& e, uint32_t lane,
                       DifferenceKind kind, uint32_t reg, uint64_t emulated, uint64_t other,
                       uint64_t word) const {
    ++state.counts[e.operation].different;
    if (state.first) return;
    auto d = std::make_unique<Difference>();
    d->kind = kind;
    d->operation = e.operation;
    d->cta = e.cta;
    d->cta_index = e.cta_index;
    d->warp = e.warp;
    d->step = e.step;
    d->lane = lane;
    d->reg = reg;
    d->emulated = emulated;
    d->other = other;
    d->executed = e.executed;
    d->branch = w.branch[lane];
    d->branch_taken = (w.taken >> lane & 1) != 0;
    d->word = word;
    d->moment = state.moment;
    d->certain = kind == DifferenceKind::order && order_->certain();
    if (order_ && !earliest_) earliest_ = std::make_unique<Difference>(*d);
    state.first = std::move(d);
}

// A track goes on past the window. Where there is an order, a CTA that ends without its listener
// being taken, behind a trap, counts too.
void Comparator::pass_end(CtaState& state) const {
    state.unfinished = true;
    passed_end_ = passed_end_ || order_;
}

// Control flow differs: nothing of the CTA after it can be compared.
void Comparator::lose(CtaState& state) const {
    state.lost = true;
    if (order_) order_->ended(state.place.index);
}

// A lane of the engine that did more than the emulator's left a record where there should be none.
void Comparator::compare_ends(CtaState& state) const {
    for (uint32_t i = 0; i < plan_.warps * 32 && !state.lost; ++i) {
        const WarpState& w = state.warps[i / 32];
        const uint64_t at = w.next[w.together ? 0 : i % 32];
        if (at < tracks_.window.first || at >= tracks_.window.first + tracks_.window.words)
            continue;
        const uint64_t number = words(state.place.index, i / 32, at)[i % 32];
        if (number == 0) continue;
        state.lost = true;
        warp::Retired e{};
        e.cta = state.place.id;
        e.cta_index = state.place.index;
        e.warp = i / 32;
        e.operation =
            static_cast<uint32_t>(std::min<uint64_t>(number, plan_.program->operations.size()) - 1);
        found(state, w, e, i % 32, DifferenceKind::control_flow, 0, 0, number, at);
    }
}

// An access that waited to the end, of a run that did not come to its own.
bool Comparator::blame(Report& report) const {
    Order::Unexplained u;
    if (!order_ || !order_->first_waiting(u)) return false;
    Difference d;
    d.kind = DifferenceKind::order;
    d.operation = u.event.operation;
    d.cta = u.event.cta;
    d.cta_index = u.event.cta_index;
    d.warp = u.event.warp;
    d.step = u.event.step;
    d.lane = u.lane;
    d.emulated = u.emulated;
    d.other = u.other;
    d.word = u.word;
    report.first = d;
    return true;
}

bool Comparator::finish(Report& report, bool trapped) const {
    report.records += records_;
    report.by_operation.resize(counts_.size());
    for (size_t i = 0; i < counts_.size(); ++i) {
        report.by_operation[i] += counts_[i];
        report.counts += counts_[i];
    }
    if (report.first && order_) return false;
    if (trapped && !earliest_ && blame(report)) return true;
    const Difference* const first = order_ ? earliest_.get() : first_.get();
    if (first == nullptr) return false;
    // Lanes come to different words of their tracks: a later window may have what came before.
    const auto in_time = [](const Difference& d) {
        return std::tuple(d.cta_index, d.moment, d.lane, d.reg);
    };
    if (report.first && in_time(*first) >= in_time(*report.first)) return false;
    report.first = *first;
    return true;
}

}  // namespace lockwarp::validate
