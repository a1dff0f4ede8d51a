// SPDX-License-Identifier: Apache-2.0
#include "emu/check/race_accesses.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace lockwarp::check {

using warp::CopyStep;

namespace {

constexpr uint32_t all_bytes = 15;

// Calls f(word, its address, bytes of it by bits) for each word of an access that there is room
// for.
template <class F>
void each_word(Shadow& shadow, uint64_t begin, uint32_t bytes, F f) {
    constexpr uint64_t page_bytes = Shadow::page_words * word_bytes;
    const uint64_t end = begin + bytes;
    Word* word = nullptr;
    for (uint64_t at = begin & ~(word_bytes - 1); at < end; at += word_bytes) {
        if (at <= begin || at % page_bytes == 0)
            word = shadow.at(at);
        else if (word != nullptr)
            ++word;
        if (word == nullptr) continue;
        const uint64_t from = std::max(begin, at) - at;
        const uint64_t to = std::min(end, at + word_bytes) - at;
        f(*word, at, static_cast<uint32_t>((1u << to) - (1u << from)));
    }
}

// What the lane of a st stores.
void gather_values(const warp::Retired& e, const isa::Operation& o, const warp::Access& a,
                   std::array<std::array<uint8_t, 32>, 32>& values) {
    const isa::VectorRef v = o.vector[0];
    const uint32_t bytes = a.bytes / v.count;
    const uint32_t stride = o.source_bits == 64 ? 8 : 4;
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        for (uint32_t i = 0; i < v.count; ++i)
            std::memcpy(values[lane].data() + i * bytes,
                        e.registers + e.program->pool[v.first + i] + lane * stride, bytes);
    }
}

// Of stmatrix: row r of matrix i is at lane 8 * i + r, an element two bytes of register i (PTX
// manual, "stmatrix"; emu/isa/matrix.cpp).
void gather_rows(const warp::Retired& e, const isa::Operation& o, const warp::Access& a,
                 std::array<std::array<uint8_t, 32>, 32>& values) {
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const auto row = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint8_t* const fragment = e.registers + e.program->pool[o.vector[0].first + row / 8];
        for (uint32_t column = 0; column < 8; ++column) {
            const uint32_t i = o.mod.trans ? column : row % 8, k = o.mod.trans ? row % 8 : column;
            std::memcpy(values[row].data() + 2 * column, fragment + 16 * i + 2 * k, 2);
        }
    }
}

bool may_overlap(const warp::Access& a) {
    uint64_t end = 0;
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        if (a.address[lane] < end) return true;
        end = a.address[lane] + a.bytes_of_lane[lane];
    }
    return false;
}

// Strong operations of scopes that include both threads do not race (PTX manual, "Data-races").
bool are_strong(const Accessor& a, const Accessor& b) {
    const bool reach = a.cta == b.cta || (a.reach == Reach::grid && b.reach == Reach::grid);
    return a.strong && b.strong && reach;
}

// Whether all that the earlier one would race with, the later one does too.
bool stands_for(const Accessor& later, const Accessor& earlier) {
    return !later.strong || (earlier.strong && earlier.reach >= later.reach);
}

// A load, and an atom.cas at the same register and offset: the loop of an atomic function that the
// machine does not have begins with such a load (CUDA C++ programming guide, "Atomic Functions").
bool begins_cas(const isa::Program& program, const isa::Operation& load) {
    return load.op == isa::Op::ld &&
           std::ranges::any_of(program.operations, [&](const isa::Operation& o) {
               return o.op == isa::Op::atom && o.mod.reduce == isa::Reduce::cas &&
                      o.address[0].base == load.address[0].base &&
                      o.address[0].offset == load.address[0].offset;
           });
}

// Words side by side of one lane's access, as a rule, have the same past: what is found of the
// first of them, and what becomes of it, is so of the others.
struct Same {
    Word before, after;

    bool is_as_before(const Word& w) const {
        return after.flags != 0 && w.writer == before.writer && w.readers == before.readers &&
               w.writer_lane == before.writer_lane && w.reader_lane == before.reader_lane &&
               w.flags == before.flags && (w.flags & (Word::split | Word::over_weak)) == 0;
    }
};

// Strong for other CTAs too.
bool is_far(const Accessor& a) { return a.strong && a.reach == Reach::grid; }

}  // namespace

RaceAccesses::OfWarp& RaceAccesses::of_warp(const Now& n) {
    OfWarp& w = warps_[n.warp];
    if (w.version == n.clock.version()) return w;
    w.version = n.clock.version();
    w.ordered_writer = w.ordered_readers = 0;
    w.steps_operation = UINT32_MAX;
    return w;
}

bool RaceAccesses::is_ordered(const Now& n, const Accessor& p, uint32_t lane,
                              uint32_t earlier) const {
    return !p.pending && n.clock.model(lane).has(clock_.cta(), p.cta, p.warp, p.time, earlier);
}

bool RaceAccesses::is_wholly_ordered(const Now& n, const Accessor& p) const {
    return !p.pending && n.clock.lanes_agree() &&
           n.clock.knowledge().model.has(clock_.cta(), p.cta, p.warp, p.time, UINT32_MAX);
}

std::optional<Unordered> RaceAccesses::why_of_warps(const Now& n, const Accessor& p) const {
    const Knowledge& k = n.clock.knowledge();
    if (!p.pending && k.convention.has(clock_.cta(), p.cta, p.warp, p.time, 0)) {
        // Who has seen a strong write comes after it (PTX manual, "Causality order": observation).
        if (p.strong) return std::nullopt;
        const bool by_others = k.model.has(clock_.cta(), p.cta, p.warp, p.time, 0);
        if (by_others) return Unordered::other_lanes;
        return p.cta == clock_.cta() && clock_.exited(p.warp) ? Unordered::exited
                                                              : Unordered::convention;
    }
    if (is_guess(n, p)) return Unordered::guess;
    return p.cta == clock_.cta() ? Unordered::warps : Unordered::ctas;
}

bool RaceAccesses::is_guess(const Now& n, const Accessor& p) const {
    const isa::Program& program = *n.e.program;
    const isa::Operation& before = program.operations[p.operation];
    return (p.strong && begins_cas(program, n.o)) || (n.who.strong && begins_cas(program, before));
}

void RaceAccesses::found(const Now& n, const Accessor& p, Hazard hazard, uint32_t lane,
                         uint32_t other_lane, uint64_t address, bool same_value) {
    const bool own = p.cta == clock_.cta() && p.warp == n.warp && !p.counted;
    Unordered why = Unordered::warps;
    if (own) {
        const uint32_t bit = 1u << lane;
        const uint32_t earlier = other_lane == many_lanes ? ~bit : 1u << other_lane;
        const LaneOrder order = clock_.order(n.warp, p.time, earlier, lane);
        if (order == LaneOrder::ordered) return;
        why = order == LaneOrder::none ? Unordered::paths : Unordered::lanes;
    } else {
        const std::optional<Unordered> of_warps = why_of_warps(n, p);
        if (!of_warps) return;
        why = *of_warps;
    }
    if (same_value) why = Unordered::same_value;
    const Severity severity = severity_of(why);
    if (raced_ && *raced_ <= severity) return;
    raced_ = severity;
    if (races.again(hazard, why, n.e.operation, p.operation)) return;
    Race r;
    r.hazard = hazard;
    r.why = why;
    r.here = {n.e.operation, n.e.cta, n.e.warp, 1u << lane, n.e.step};
    const uint32_t lanes = other_lane == many_lanes ? p.lanes : 1u << other_lane;
    r.other = {p.operation, {}, p.warp, lanes, p.step};
    r.other_cta = p.cta;
    r.address = address;
    r.bytes = word_bytes;
    races.add(r);
}

void RaceAccesses::check_against(Now& n, OfWarp& w, uint32_t lane, uint32_t writer,
                                 uint32_t writer_lane, uint64_t address, bool stores,
                                 bool same_value) {
    const Accessor& p = shadow_.writer(writer);
    // A copy under way is said by check `sync`.
    if (p.pending) return;
    if (p.cta == clock_.cta() && p.warp == n.warp && !p.counted) {
        if (writer_lane == lane || p.time < n.clock.met() || same_value) return;
    } else if (is_wholly_ordered(n, p)) {
        w.ordered_writer = writer;
        return;
    } else if (is_ordered(n, p, lane, 1u << writer_lane)) {
        return;
    }
    if (are_strong(p, n.who)) return;
    found(n, p, stores ? Hazard::write_after_write : Hazard::read_after_write, lane, writer_lane,
          address, same_value);
}

void RaceAccesses::check_writer(Now& n, OfWarp& w, uint32_t lane, const Word& word,
                                uint64_t address, bool stores, uint32_t value) {
    if ((word.flags & Word::over_weak) != 0) {
        const Shadow::Under& under = shadow_.weak_under(address);
        check_against(n, w, lane, under.writer, under.lane, address, stores, false);
    }
    if (word.writer == 0 || word.writer == w.ordered_writer) return;
    const bool same =
        stores && n.has_value && (word.flags & Word::has_value) != 0 && word.value == value;
    check_against(n, w, lane, word.writer, word.writer_lane, address, stores, same);
}

void RaceAccesses::check_readers(Now& n, OfWarp& w, uint32_t lane, const Word& word,
                                 uint64_t address) {
    bool all = true;
    for (uint32_t r = word.readers; r != 0; r = shadow_.reader(r).next) {
        const Accessor& p = shadow_.reader(r).who;
        uint32_t other = many_lanes;
        if (p.cta == clock_.cta() && p.warp == n.warp) {
            if (p.time < n.clock.met()) continue;
            all = false;
            // Which of its lanes read the word is known of the last to read. One that read before
            // other warps did is let go: those race with the store, or this one came before it too.
            if (r != word.readers) continue;
            other = word.reader_lane;
            if (other == lane || (p.lanes & ~(1u << lane)) == 0) continue;
        } else if (is_wholly_ordered(n, p)) {
            continue;
        } else {
            all = false;
            const bool alone = shadow_.reader(word.readers).next == 0;
            if (alone) other = word.reader_lane;
            if (is_ordered(n, p, lane, other == many_lanes ? p.lanes : 1u << other)) continue;
        }
        if (!are_strong(p, n.who))
            found(n, p, Hazard::write_after_read, lane, other, address, false);
    }
    if (all) w.ordered_readers = word.readers;
}

// The readers, and the instruction at hand. Those of before that happened before it need not be
// kept where who races with them races with it too. Many CTAs may read a word: those before this
// one are looked through for a few such only.
uint32_t RaceAccesses::with_reader(Now& n, OfWarp& w, uint32_t readers) {
    constexpr uint32_t most_of_others = 8;
    std::vector<uint32_t>& kept = kept_;
    kept.clear();
    uint32_t unchanged = readers;  // the chain behind the last that is not kept
    size_t kept_before = 0;
    uint32_t others = 0;
    bool is_in = false;
    for (uint32_t r = readers; r != 0; r = shadow_.reader(r).next) {
        const Shadow::Reader& reader = shadow_.reader(r);
        const Accessor& p = reader.who;
        if (reader.last_cta < clock_.cta() && ++others > most_of_others) break;
        const bool own = p.cta == clock_.cta() && p.warp == n.warp;
        is_in = own && p.time == n.who.time && p.strong == n.who.strong;
        if (is_in) break;
        if ((!own && !is_wholly_ordered(n, p)) || !stands_for(n.who, p)) {
            kept.push_back(r);
            continue;
        }
        kept_before = kept.size();
        unchanged = reader.next;
    }
    uint32_t out = readers;
    if (!is_in) {
        out = unchanged;
        for (size_t i = kept_before; i-- > 0;)
            out = shadow_.chain(shadow_.reader(kept[i]).who, out);
        out = shadow_.chain(n.who, out);
    }
    if (w.steps_operation != n.e.operation) w.step_count = 0;
    w.steps_operation = n.e.operation;
    w.steps[w.step_count++ % w.steps.size()] = {readers, out};
    return out;
}

uint32_t RaceAccesses::writer_number(Now& n, OfWarp& w) {
    if (w.writers.size() <= n.e.operation) w.writers.resize(n.e.program->operations.size());
    uint32_t& last = w.writers[n.e.operation];
    if (last != 0) {
        Accessor& p = shadow_.writer(last);
        if (p.pending == n.who.pending && p.group == n.who.group &&
            (p.pending || p.time == n.who.time)) {
            p.lanes |= n.who.lanes;
            return last;
        }
    }
    last = shadow_.add_writer(n.who);
    if (n.who.pending) w.pending.push_back(last);
    return last;
}

void RaceAccesses::load_word(Now& n, OfWarp& w, uint32_t lane, Word& word, uint64_t address) {
    if (may_meet_writer(w, word)) check_writer(n, w, lane, word, address, false, 0);
    const auto* step = w.steps.begin();
    const auto* const known =
        step +
        (w.steps_operation == n.e.operation ? std::min<size_t>(w.step_count, w.steps.size()) : 0);
    while (step != known && step->from != word.readers && step->to != word.readers) ++step;
    const uint32_t readers = step != known ? step->to : with_reader(n, w, word.readers);
    const bool other_lane = word.readers == readers && word.reader_lane != lane;
    word.reader_lane = other_lane ? many_lanes : static_cast<uint8_t>(lane);
    word.readers = readers;
    word.flags |= is_far(n.who) ? Word::read_strongly : Word::read_weakly;
}

void RaceAccesses::store_word(Now& n, OfWarp& w, uint32_t lane, uint32_t number, Word& word,
                              uint64_t address, uint32_t value) {
    if (may_meet_writer(w, word)) check_writer(n, w, lane, word, address, true, value);
    if (word.readers != 0 && word.readers != w.ordered_readers)
        check_readers(n, w, lane, word, address);
    has_stored(n, lane, number, word, address, value);
}

// The word as the store leaves it.
void RaceAccesses::has_stored(const Now& n, uint32_t lane, uint32_t number, Word& word,
                              uint64_t address, uint32_t value) {
    // A strong access does not race with others, which may race with what it comes over: a weak
    // write, or one that is strong in its CTA alone.
    if (!n.who.strong) {
        word.readers = 0;
        word.flags &= ~Word::over_weak;
    } else if (word.writer != 0) {
        const Accessor& before = shadow_.writer(word.writer);
        const bool is_over = (word.flags & Word::over_weak) != 0;
        if (!stands_for(n.who, before) && (!before.strong || !is_over)) {
            shadow_.weak_under(address) = {word.writer, word.writer_lane};
            word.flags |= Word::over_weak;
        }
    }
    word.writer = number;
    word.value = value;
    word.writer_lane = static_cast<uint8_t>(lane);
    word.flags &= ~Word::has_value;
    word.flags |= is_far(n.who) ? Word::wrote_strongly : Word::wrote_weakly;
    if (n.has_value) word.flags |= Word::has_value;
}

void RaceAccesses::load(Now& n, const warp::Access& a) {
    OfWarp& w = of_warp(n);
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        raced_.reset();
        Same same;
        const uint32_t size = a.bytes_of_lane[lane];
        const bool is_alone = size <= word_bytes;
        each_word(shadow_, a.address[lane], size, [&](Word& word, uint64_t at, uint32_t bytes) {
            if (bytes == all_bytes && (word.flags & Word::split) == 0) {
                if (is_alone) return load_word(n, w, lane, word, at);
                if (same.is_as_before(word)) {
                    word.readers = same.after.readers;
                    word.reader_lane = same.after.reader_lane;
                    word.flags = same.after.flags;
                    return;
                }
                same.before = word;
                load_word(n, w, lane, word, at);
                same.after = word;
                return;
            }
            std::array<Word, 4>& each = shadow_.bytes_of(word, at);
            for (uint32_t i = 0; i < word_bytes; ++i)
                if ((bytes >> i & 1) != 0) load_word(n, w, lane, each[i], at + i);
        });
    }
}

void RaceAccesses::store(Now& n, const warp::Access& a) {
    OfWarp& w = of_warp(n);
    const uint32_t number = writer_number(n, w);
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        raced_.reset();
        const uint64_t begin = a.address[lane];
        const uint32_t size = a.bytes_of_lane[lane];
        const bool may_be_same = !n.has_value && !n.who.strong && size > word_bytes;
        Same same;
        each_word(shadow_, begin, size, [&](Word& word, uint64_t at, uint32_t bytes) {
            uint32_t value = 0;
            if (bytes == all_bytes) {
                if (may_be_same && same.is_as_before(word)) {
                    word = same.after;
                    return;
                }
                if (n.has_value) std::memcpy(&value, values_[lane].data() + (at - begin), 4);
                if ((word.flags & Word::split) != 0) {
                    // Each byte is looked at; then they are one word.
                    std::array<Word, 4>& each = shadow_.bytes_of(word, at);
                    for (uint32_t i = 0; i < word_bytes; ++i)
                        store_word(n, w, lane, number, each[i], at + i, value >> (8 * i) & 0xff);
                    shadow_.join(word, at);
                    has_stored(n, lane, number, word, at, value);
                    return;
                }
                if (!may_be_same) return store_word(n, w, lane, number, word, at, value);
                same.before = word;
                store_word(n, w, lane, number, word, at, value);
                same.after = word;
                return;
            }
            std::array<Word, 4>& each = shadow_.bytes_of(word, at);
            for (uint32_t i = 0; i < word_bytes; ++i)
                if ((bytes >> i & 1) != 0)
                    store_word(n, w, lane, number, each[i], at + i,
                               n.has_value ? values_[lane][at + i - begin] : 0);
        });
    }
}

// Lanes of one instruction that store different values to the same byte.
void RaceAccesses::check_lanes(Now& n, const warp::Access& a) {
    if (!n.has_value || n.who.strong || !may_overlap(a)) return;
    std::array<uint8_t, 32> order{};
    uint32_t count = 0;
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1)
        order[count++] = static_cast<uint8_t>(__builtin_ctz(rest));
    std::sort(order.begin(), order.begin() + count, [&](uint8_t x, uint8_t y) {
        return std::pair(a.address[x], x) < std::pair(a.address[y], y);
    });
    for (uint32_t i = 1; i < count; ++i) {
        const uint32_t x = order[i - 1], y = order[i];
        // Each is aligned to its size: they have the same bytes or none.
        if (a.address[x] != a.address[y]) continue;
        if (std::memcmp(values_[x].data(), values_[y].data(), a.bytes_of_lane[x]) == 0) continue;
        if (races.again(Hazard::one_store, Unordered::one_store, n.e.operation, n.e.operation))
            return;
        Race r;
        r.hazard = Hazard::one_store;
        r.why = Unordered::one_store;
        r.here = {n.e.operation, n.e.cta, n.e.warp, 1u << x | 1u << y, n.e.step};
        r.other = r.here;
        r.other_cta = clock_.cta();
        r.address = a.address[y];
        r.bytes = a.bytes_of_lane[y];
        return races.add(r);
    }
}

RaceAccesses::Now RaceAccesses::now(const warp::Retired& e, uint32_t lanes) {
    const isa::Operation& o = e.program->operations[e.operation];
    const uint32_t warp = e.warp % max_warps;
    const WarpClock& clock = clock_.warp(warp);
    Now n{e, o, warp, clock, {}, false};
    n.who = {clock_.cta(), clock.time(), e.operation, warp, lanes, e.step,
             is_strong(o), reach_of(o),  false,       0,    false};
    return n;
}

// The bytes of a lane's bulk copy, some of them at a time.
void RaceAccesses::touch(Now& n, const warp::BulkRange& r) {
    constexpr uint64_t most = 128;
    warp::Access a;
    a.space = r.space;
    a.store = r.store;
    a.lanes = 1u << r.lane;
    for (uint64_t at = 0; at < r.bytes; at += most) {
        a.bytes = static_cast<uint32_t>(std::min(most, r.bytes - at));
        a.address[r.lane] = r.address + at;
        a.bytes_of_lane[r.lane] = static_cast<uint8_t>(a.bytes);
        if (r.store)
            store(n, a);
        else
            load(n, a);
    }
}

void RaceAccesses::check_source(uint32_t warp, const OfWarp::Source& s) {
    for (uint64_t at = s.range.address; at < s.range.address + s.range.bytes; at += word_bytes) {
        const Word* const word = shadow_.at(at);
        if (word == nullptr) continue;
        if ((word->flags & Word::split) == 0) {
            check_stored(warp, s, *word, at, word_bytes);
            continue;
        }
        const std::array<Word, 4>& each = shadow_.bytes_of(*word);
        for (uint32_t i = 0; i < word_bytes; ++i) check_stored(warp, s, each[i], at + i, 1);
    }
}

void RaceAccesses::check_stored(uint32_t warp, const OfWarp::Source& s, const Word& word,
                                uint64_t at, uint32_t bytes) {
    // What nobody wrote was written at step 0.
    const Accessor& p = shadow_.writer(word.writer);
    if (p.cta != clock_.cta() || p.warp != warp || p.counted || p.step <= s.step) return;
    if (races.again(Hazard::write_after_read, Unordered::in_flight, p.operation, s.operation))
        return;
    Race r;
    r.hazard = Hazard::write_after_read;
    r.why = Unordered::in_flight;
    r.here = {p.operation, s.cta, warp, 1u << word.writer_lane, p.step};
    r.other = {s.operation, s.cta, warp, 1u << s.range.lane, s.step};
    r.other_cta = clock_.cta();
    r.address = at;
    r.bytes = bytes;
    races.add(r);
}

void RaceAccesses::bulk(const warp::Retired& e, const warp::BulkEvent& copy, ptx::Space space) {
    Now n = now(e, copy.who.lanes);
    OfWarp& w = warps_[n.warp];
    // Reductions are strong, as red is (PTX manual, cp.reduce.async.bulk: .relaxed, .gpu).
    n.who.strong = n.o.mod.reduce != isa::Reduce::none || n.o.mod.combine != isa::Combine::none;
    for (const warp::BulkRange& r : copy.ranges) {
        if (r.space != space) continue;
        n.who.counted = r.store && !copy.arrivals.empty();
        touch(n, r);
        if (!r.store && copy.arrivals.empty())
            w.sources.push_back({r, copy.group[r.lane], copy.operation, e.step, e.cta});
    }
    if (copy.step != CopyStep::awaited) return;
    std::erase_if(w.sources, [&](const OfWarp::Source& s) {
        const bool waits = (copy.who.lanes >> s.range.lane & 1) != 0;
        if (!waits || s.group >= copy.group[s.range.lane]) return false;
        check_source(n.warp, s);
        n.who.operation = s.operation;
        touch(n, s.range);
        return true;
    });
}

void RaceAccesses::ended() {
    for (uint32_t warp = 0; warp < max_warps; ++warp)
        for (const OfWarp::Source& s : warps_[warp].sources) check_source(warp, s);
}

void RaceAccesses::accessed(const warp::Retired& e, const warp::Access& a) {
    const isa::Operation& o = e.program->operations[e.operation];
    Now n = now(e, a.lanes);
    const uint32_t warp = n.warp;
    const isa::Memory memory = isa::row(o.op).memory;
    if (!a.store && memory != isa::Memory::barrier) {
        // What an update reads it writes too.
        if (memory != isa::Memory::update) load(n, a);
        return;
    }
    if (memory == isa::Memory::copy) {
        n.who.pending = true;
        n.who.group = warps_[warp].group;
    }
    if (o.op == isa::Op::st) {
        n.has_value = true;
        gather_values(e, o, a, values_);
        check_lanes(n, a);
    }
    if (o.op == isa::Op::stmatrix) {
        n.has_value = true;
        gather_rows(e, o, a, values_);
    }
    store(n, a);
}

void RaceAccesses::copies(const warp::CopyEvent& e) {
    const uint32_t warp = e.who.warp % max_warps;
    OfWarp& w = warps_[warp];
    const auto first = [](uint32_t lanes) { return static_cast<unsigned>(__builtin_ctz(lanes)); };
    switch (e.step) {
        case CopyStep::issued:
            w.group = e.group[first(e.who.lanes)];
            return;
        case CopyStep::committed:
            return;
        case CopyStep::awaited:
        case CopyStep::arrives:
            break;
    }
    std::erase_if(w.pending, [&](uint32_t number) {
        Accessor& p = shadow_.writer(number);
        const uint32_t lanes = p.lanes & e.who.lanes;
        if (lanes == 0) return false;
        if (!e.uncommitted && p.group >= e.group[first(lanes)]) return false;
        p.time = clock_.warp(warp).time();
        p.pending = false;
        return true;
    });
}

}  // namespace lockwarp::check
