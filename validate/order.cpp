// SPDX-License-Identifier: Apache-2.0
#include "validate/order.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace lockwarp::validate {

namespace {

using gpu::Ordered;
using ptx::Space;

constexpr size_t no_change = std::numeric_limits<size_t>::max();
constexpr uint64_t offset_bits = 24;  // of an address in shared memory (isa::window_bytes)
constexpr unsigned bucket_bits = 5;   // an access of up to 32 bytes, aligned, is in one
constexpr size_t buckets_noted = size_t{1} << 16;

// An address of shared memory is one of its CTA's.
uint64_t in_shared(uint64_t cta, uint64_t address) {
    return uint64_t{1} << 63 | (cta + 1) << offset_bits |
           (address & ((uint64_t{1} << offset_bits) - 1));
}

uint64_t key_of(const Plan& plan, const isa::Operation& o, uint64_t cta, uint64_t address) {
    const bool shared = o.mod.space == Space::shared || (address & gpu::change_in_shared) != 0;
    if (!shared) return address;
    if (plan.clusters.size() > 1)
        cta = plan.clusters.cta(plan.clusters.cluster_of(cta), isa::rank_of(address));
    return in_shared(cta, address);
}

size_t noted(uint64_t bucket) {
    return static_cast<size_t>(bucket * 0x9e3779b97f4a7c15u >> 48) % buckets_noted;
}

bool same(const uint8_t* a, const uint8_t* b, const uint8_t* known, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i)
        if (((a[i] ^ b[i]) & known[i]) != 0) return false;
    return true;
}

uint64_t first_word(const uint8_t* at, uint32_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, at, std::min<size_t>(bytes, sizeof value));
    return value;
}

}  // namespace

bool Order::Waiting::matches() const { return same(memory, seen.data(), known.data(), bytes); }

Order::Order(const Plan& plan, const Tracks& tracks, Before before)
    : plan_(plan),
      first_cta_(tracks.window.first_cta),
      before_(std::move(before)),
      seen_buckets_(buckets_noted) {
    read_tracks(tracks);
}

void Order::read_tracks(const Tracks& tracks) {
    const uint64_t warps = tracks.window.ctas * plan_.warps;
    const uint64_t length = tracks.window.words + tracks.slack;
    const auto* const words = reinterpret_cast<const uint64_t*>(tracks.words.data());
    next_change_.assign(warps * 32, 0);
    for (uint64_t thread = 0; thread < warps * 32; ++thread) {
        first_change_.push_back(changes_.size());
        const uint64_t* const track = words + thread / 32 * length * 32 + thread % 32;
        for (uint64_t at = 0; at < tracks.window.words;) {
            const uint64_t number = track[at * 32];
            if (number == 0 || number > plan_.program->operations.size()) break;
            const auto operation = static_cast<uint32_t>(number - 1);
            const isa::Operation& o = plan_.program->operations[operation];
            if (at + plan_.words(operation) > length) break;
            if (plan_.ordered(operation) == Ordered::change) {
                const uint64_t* const behind = track + (at + 1 + o.written) * 32;
                Change change;
                change.key = key_of(plan_, o, first_cta_ + thread / 32 / plan_.warps, behind[32]);
                change.before = static_cast<uint32_t>(behind[0]);
                change.after = static_cast<uint32_t>(behind[0] >> 32);
                change.thread = thread;
                changes_.push_back(change);
            }
            if (operation != 0 && plan_.ordered(operation - 1) == Ordered::block)
                note_block(track[(at + 1) * 32]);
            if (plan_.ordered(operation) == Ordered::result)
                taken_.push_back({static_cast<uint32_t>(track[(at + 2) * 32]), thread, false});
            at += plan_.words(operation);
        }
    }
    first_change_.push_back(changes_.size());
    sort_changes();
    std::ranges::stable_sort(taken_, {}, &Taken::ticket);
}

void Order::note_block(uint64_t address) {
    if (address == 0) return;
    const std::pair block(address, address + 1);
    if (!blocks_) blocks_ = block;
    blocks_->first = std::min(blocks_->first, block.first);
    blocks_->second = std::max(blocks_->second, block.second);
}

void Order::took_block(uint64_t thread) {
    const auto found = std::ranges::find_if(
        taken_.begin() + static_cast<std::ptrdiff_t>(next_taken_), taken_.end(),
        [&](const Taken& t) { return t.thread == thread && !t.done; });
    if (found != taken_.end()) found->done = true;
    pass_taken();
}

void Order::pass_taken() {
    while (next_taken_ < taken_.size() && taken_[next_taken_].done) ++next_taken_;
}

void Order::sort_changes() {
    std::vector<size_t> sorted(changes_.size());
    std::iota(sorted.begin(), sorted.end(), size_t{0});
    std::ranges::stable_sort(
        sorted, {}, [&](size_t i) { return std::pair(changes_[i].key, changes_[i].after); });
    std::vector<Change> by_key;
    by_key.reserve(changes_.size());
    numbers_.resize(changes_.size());
    for (const size_t i : sorted) {
        numbers_[i] = by_key.size();
        by_key.push_back(changes_[i]);
    }
    changes_ = std::move(by_key);
    for (size_t i = 0; i < changes_.size(); ++i) {
        if (i == 0 || changes_[i].key != changes_[i - 1].key) queues_.push_back({i, i, 0});
        queues_.back().end = i + 1;
        changes_[i].queue = static_cast<uint32_t>(queues_.size() - 1);
    }
}

uint64_t Order::ticket(const isa::Operation& o, const uint64_t* record) {
    return record[(1 + o.written) * size_t{32}] >> 32;
}

namespace {

// The word of a record that has an element of what the lane saw; 0: none, of a load's '_'.
uint32_t word_of(const isa::Program& p, const isa::Operation& o, bool change, uint32_t element) {
    if (change && gpu::keeps_old(o))
        return 1u + o.written + static_cast<uint32_t>(gpu::change_words) + element;
    const isa::Ref ref = p.pool[o.vector[0].first + element];
    for (uint32_t i = 0; i < o.written; ++i)
        if (p.registers[p.uses[o.first_use + i]].ref == ref) return 1 + i;
    return 0;
}

}  // namespace

bool Order::finds(const Asked& asked) const {
    const isa::Operation& o = plan_.program->operations[asked.event.operation];
    const uint32_t size = asked.access.element_bytes;
    const uint8_t* memory = asked.access.memory[asked.lane];
    for (uint32_t e = 0; e < asked.access.elements; ++e, memory += size) {
        const uint32_t word = word_of(*plan_.program, o, false, e);
        if (word != 0 && std::memcmp(memory, asked.record + word * size_t{32}, size) != 0)
            return false;
    }
    return true;
}

// What the engine's lane saw, as bytes of memory.
Order::Waiting Order::look(const Asked& asked) const {
    const isa::Program& p = *plan_.program;
    const uint32_t operation = asked.event.operation;
    const isa::Operation& o = p.operations[operation];
    const uint32_t size = asked.access.element_bytes;
    Waiting w;
    w.event = asked.event;
    w.lane = asked.lane;
    w.change = no_change;
    w.memory = asked.access.memory[asked.lane];
    w.bytes = asked.access.elements * size;
    w.word = asked.word;
    std::memcpy(w.found.data(), w.memory, w.bytes);
    const bool change = plan_.ordered(operation) == Ordered::change;
    for (uint32_t e = 0; e < asked.access.elements; ++e) {
        const uint32_t word = word_of(p, o, change, e);
        if (word == 0) continue;
        std::memcpy(w.seen.data() + size_t{e} * size, asked.record + word * size_t{32}, size);
        std::memset(w.known.data() + size_t{e} * size, 255, size);
    }
    if (change) {
        const size_t i = first_change_[asked.thread] + next_change_[asked.thread];
        if (i < first_change_[asked.thread + 1]) w.change = numbers_[i];
    }
    return w;
}

uint64_t Order::bucket(Space space, uint64_t cta, uint64_t address) {
    return (space == Space::shared ? in_shared(cta, address) : address) >> bucket_bits;
}

Order::Place& Order::place_of(const Asked& asked, uint32_t bytes) {
    const Space space = asked.access.space[asked.lane];
    const uint64_t address = asked.access.address[asked.lane];
    const uint64_t cta = asked.access.cta[asked.lane];
    const uint64_t in = bucket(space, cta, address);
    std::vector<Place>& all = places_[in];
    for (Place& p : all)
        if (p.address == address && p.bytes == bytes) return p;
    seen_buckets_[noted(in)] = true;
    if (space == Space::shared) shared_buckets_[cta].push_back(in);
    Place& p = all.emplace_back();
    p.address = address;
    p.bytes = bytes;
    p.memory = asked.access.memory[asked.lane];
    Bytes first{};
    if (const uint8_t* b = space == Space::global ? before_(address, bytes) : nullptr; b != nullptr)
        std::memcpy(first.data(), b, bytes);
    p.held.assign(first.begin(), first.begin() + bytes);
    p.note();
    return p;
}

void Order::Place::note() {
    if (std::memcmp(held.data() + held.size() - bytes, memory, bytes) != 0)
        held.insert(held.end(), memory, memory + bytes);
}

// Whether the place has held, since the thread looked last, what it saw.
bool Order::in_history(Place& place, const Asked& asked, const Waiting& w) {
    Looked& last = place.looked[asked.thread];
    const auto versions = static_cast<uint32_t>(place.held.size() / place.bytes);
    const auto version = [&](uint32_t v) { return place.held.data() + size_t{v} * place.bytes; };
    for (uint32_t v = std::max(last.version, last.searched); v < versions; ++v)
        if (same(version(v), w.seen.data(), w.known.data(), w.bytes)) {
            last = {v, 0};
            return true;
        }
    // Elements may be of different versions.
    const uint32_t size = asked.access.element_bytes;
    bool each = asked.access.elements > 1;
    for (uint32_t at = 0; at < w.bytes && each; at += size) {
        each = false;
        for (uint32_t v = last.version; v < versions && !each; ++v)
            each = same(version(v) + at, w.seen.data() + at, w.known.data() + at, size);
    }
    last.searched = each ? 0 : versions;
    return each;
}

// Whether a change that finds what it saw is the next one of its address.
bool Order::is_next(size_t change) const {
    const Change& asked = changes_[change];
    if (asked.relaxed) return true;
    for (size_t i = queues_[asked.queue].head; i < change; ++i) {
        const Change& c = changes_[i];
        if (c.done) continue;
        if (!c.waits || c.after < asked.before) return false;
        if (waiting_.at(c.thread).matches()) return false;
    }
    return true;
}

// Whether what is before it need not be: changes of other warps that may have come later.
bool Order::may_be_next(size_t change) const {
    const Change& asked = changes_[change];
    for (size_t i = queues_[asked.queue].head; i < change; ++i) {
        const Change& c = changes_[i];
        if (!c.done && (c.after < asked.before || c.thread / 32 == asked.thread / 32)) return false;
    }
    return true;
}

void Order::finish(size_t change) {
    Change& c = changes_[change];
    Queue& q = queues_[c.queue];
    c.done = true;
    q.last_done = std::max(q.last_done, c.after);
    while (q.head < q.end && changes_[q.head].done) ++q.head;
}

Order::Answer Order::ask(const Asked& asked) {
    Waiting w = look(asked);
    Place& place = place_of(asked, w.bytes);
    place.note();  // a copy may have written there, of which no instruction tells
    bool changes = false;
    if (w.change != no_change) {
        Bytes next;
        asked.access.after(asked.lane, w.seen.data(), next.data());
        changes = std::memcmp(next.data(), w.seen.data(), w.bytes) != 0;
    }
    const auto before = waiting_.find(asked.thread);
    const bool forced = before != waiting_.end() && before->second.forced;
    const bool goes = changes ? w.matches() && is_next(w.change) : in_history(place, asked, w);
    if (!goes && !forced) {
        if (w.change != no_change) changes_[w.change].waits = true;
        w.changes = changes;
        waiting_.insert_or_assign(asked.thread, w);
        return Answer::waits;
    }
    if (before != waiting_.end()) waiting_.erase(before);
    if (w.change != no_change) {
        finish(w.change);
        ++next_change_[asked.thread];
    }
    if (!goes) return Answer::forced;
    return w.matches() ? Answer::now : Answer::given;
}

void Order::stores(const Asked& asked) {
    place_of(asked, asked.access.elements * asked.access.element_bytes);
}

void Order::accessed(const Asked& asked) {
    const uint32_t bytes = asked.access.elements * asked.access.element_bytes;
    const uint64_t address = asked.access.address[asked.lane];
    const uint64_t cta = asked.access.cta[asked.lane];
    refresh(bucket(asked.access.space[asked.lane], cta, address), address, bytes);
    const Ordered kind = plan_.ordered(asked.event.operation);
    if (kind == Ordered::load || kind == Ordered::weak) return;
    // What it stored it need not look for.
    Place& place = place_of(asked, bytes);
    place.looked[asked.thread] = {static_cast<uint32_t>(place.held.size() / bytes - 1), 0};
}

// Bytes of a bucket were stored to.
void Order::refresh(uint64_t in, uint64_t address, uint64_t bytes) {
    if (!seen_buckets_[noted(in)]) return;
    const auto found = places_.find(in);
    if (found == places_.end()) return;
    for (Place& p : found->second)
        if (p.address < address + bytes && address < p.address + p.bytes) p.note();
}

void Order::retired(const warp::Retired& e) {
    if (places_.empty()) return;
    for (uint32_t a = 0; a < e.access_count; ++a) {
        const warp::Access& access = e.accesses[a];
        if (!access.store || (access.space != Space::global && access.space != Space::shared))
            continue;
        for (uint32_t rest = access.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
            const uint64_t address = access.address[lane];
            const uint64_t bytes = access.bytes_of_lane[lane];
            if (bytes == 0) continue;
            const bool remote = (access.remote >> lane & 1) != 0;
            const uint64_t cta = remote ? plan_.clusters.cta(plan_.clusters.cluster_of(e.cta_index),
                                                             access.rank[lane])
                                        : e.cta_index;
            const uint64_t last = bucket(access.space, cta, address + bytes - 1);
            for (uint64_t in = bucket(access.space, cta, address); in <= last; ++in)
                refresh(in, address, bytes);
        }
    }
}

void Order::ended(uint64_t cta) {
    has_ended_ = true;
    const uint64_t first = (cta - first_cta_) * plan_.warps * 32;
    for (uint64_t t = first; t < first + plan_.warps * 32; ++t) {
        for (size_t i = first_change_[t] + next_change_[t]; i < first_change_[t + 1]; ++i)
            finish(numbers_[i]);
        waiting_.erase(t);
    }
    for (Taken& t : taken_) t.done |= t.thread / 32 / plan_.warps == cta - first_cta_;
    pass_taken();
    const auto shared = shared_buckets_.find(cta);
    if (shared == shared_buckets_.end()) return;
    for (const uint64_t in : shared->second) places_.erase(in);
    shared_buckets_.erase(shared);
}

// Of those that wait the one whose value is most likely wrong: the first change of its address,
// else a load, else any change; of several the one with the lowest ticket, or thread.
uint64_t Order::suspect() const {
    std::tuple<int, uint64_t, uint64_t> best{3, 0, no_thread};
    for (const auto& [thread, w] : waiting_) {
        const bool is_change = w.change != no_change;
        const Change* const c = is_change ? &changes_[w.change] : nullptr;
        const int rank = !is_change ? 1 : queues_[c->queue].head == w.change ? 0 : 2;
        best = std::min(best, {rank, is_change ? c->after : thread, thread});
    }
    return std::get<2>(best);
}

// Of those that wait for others and find what they saw, and for which may_go(change), the one with
// the lowest second ticket; no_change: there is none.
template <class MayGo>
size_t Order::earliest_waiting(MayGo&& may_go) const {
    size_t earliest = no_change;
    for (const auto& [thread, w] : waiting_)
        if (w.changes && w.matches() && !changes_[w.change].relaxed && may_go(w.change) &&
            (earliest == no_change || changes_[w.change].after < changes_[earliest].after))
            earliest = w.change;
    return earliest;
}

bool Order::stuck(bool released) {
    // Whoever waited for the accesses of a CTA that has ended may go on.
    if (std::exchange(has_ended_, false)) return true;
    const size_t next = earliest_waiting([&](size_t change) { return may_be_next(change); });
    const size_t chosen =
        next == no_change && released ? earliest_waiting([](size_t) { return true; }) : next;
    if (chosen != no_change) {
        changes_[chosen].relaxed = true;
        return true;
    }
    if (!released) return false;
    const uint64_t thread = suspect();
    if (thread == no_thread) return false;
    Waiting& w = waiting_.at(thread);
    if (w.forced) return false;
    w.forced = true;
    if (!forced_any_) certain_ = is_certain(w);
    forced_any_ = true;
    return true;
}

// Whether the tickets leave one order alone of what came before.
bool Order::is_certain(const Waiting& w) const {
    if (w.change == no_change) return false;
    const Change& asked = changes_[w.change];
    const Queue& q = queues_[asked.queue];
    if (q.head != w.change || q.last_done >= asked.before) return false;
    for (size_t i = w.change + 1; i < q.end; ++i)
        if (changes_[i].before <= asked.after) return false;
    return true;
}

Order::Unexplained Order::of(const Waiting& w) {
    return {w.event, w.lane, w.word, first_word(w.found.data(), w.bytes),
            first_word(w.seen.data(), w.bytes)};
}

bool Order::first_waiting(Unexplained& out) const {
    const uint64_t thread = suspect();
    if (thread == no_thread) return false;
    out = of(waiting_.at(thread));
    return true;
}

}  // namespace lockwarp::validate
