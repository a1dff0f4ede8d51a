// SPDX-License-Identifier: Apache-2.0
// Candidates made, ranked by what they would change, and run.
#include <algorithm>
#include <bit>
#include <cmath>

#include "launch/random.hpp"
#include "launch/values.hpp"
#include "why/why.hpp"

namespace lockwarp::why {

namespace {

using Clock = std::chrono::steady_clock;

// Elements of D that a CTA stored.
struct StoresOfCta : warp::CtaObserver {
    StoresOfCta(uint64_t first, uint64_t size, uint64_t element_bytes)
        : begin(first), bytes(size), width(element_bytes) {}
    void retired(const warp::Retired& e) override {
        for (uint32_t i = 0; i < e.access_count; ++i) {
            const warp::Access& a = e.accesses[i];
            if (!a.store || a.space != ptx::Space::global) continue;
            for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
                const auto lane = static_cast<unsigned>(std::countr_zero(rest));
                const uint64_t at = a.address[lane] - begin;
                if (at >= bytes) continue;
                for (uint64_t b = 0; b < a.bytes_of_lane[lane]; b += width)
                    if (at + b < bytes) touched.push_back((at + b) / width);
            }
        }
    }
    uint64_t begin, bytes, width;
    std::vector<uint64_t> touched;
};

// Which CTA stored each element of D last.
struct Writers : warp::Observer {
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<StoresOfCta>(first, cta.size() * width, width);
    }
    void take(const warp::CtaPlace& place, std::unique_ptr<warp::CtaObserver> heard) override {
        for (const uint64_t i : static_cast<const StoresOfCta&>(*heard).touched)
            cta[i] = place.index;
    }
    uint64_t first = 0, width = 1;
    std::vector<uint64_t> cta;  // by element; UINT64_MAX: none
};

// Random numbers in place of A, B and C: integers of the type's whole range where it is small.
void fill_random(std::span<uint8_t> bytes, isa::Type type, uint64_t elements, uint64_t seed) {
    for (uint64_t i = 0; i < elements; ++i) {
        const uint64_t r = launch::splitmix64(seed, i + 1);
        const double unit = static_cast<double>(r >> 11) * 0x1p-53;
        const double value = isa::is_float(type)    ? 2 * unit - 1
                             : isa::is_signed(type) ? std::floor(unit * 200) - 100
                                                    : std::floor(unit * 100);
        launch::set_element(bytes, type, i, launch::bits_of(type, value));
    }
}

struct Search {
    const Subject& subject;
    const Limits& limits;
    Clock::time_point end;
    Answer answer;
    std::vector<Wanted> wanted, fresh_wanted;
    Bytes fresh;  // other data; empty: there is no product
    std::vector<bool> was_right;
    uint64_t first_cta = 0, ctas = 0;
    uint64_t max_steps = UINT64_MAX;

    bool out_of_time() {
        if (Clock::now() < end && (subject.stop == nullptr || !*subject.stop)) return false;
        answer.out_of_time = true;
        return true;
    }
    launch::Result<void> begin();
    void make_fresh();
    Explanation try_one(const std::vector<Candidate>& parts, const isa::Program& program);
    std::vector<Candidate> candidates(const Scene& scene);
    void singles(const Text& text, const isa::Program& program,
                 const std::optional<Mapping>& mapping, const std::vector<Candidate>& base,
                 size_t tries);
    void judge_fresh(Explanation& e, const isa::Program& program, const Candidate& data);
};

launch::Result<void> Search::begin() {
    const isa::Program& program = subject.loaded().program;
    launch::Result<std::vector<Wanted>> made = subject.wanted(subject.begin.memory.bytes);
    if (!made) return launch::failure(made);
    wanted = std::move(*made);
    Writers writers;
    writers.width = isa::bits(subject.type) / 8;
    writers.first = subject.begin.memory.addresses[subject.buffer] + subject.offset;
    writers.cta.assign(subject.elements(), UINT64_MAX);
    Change change;
    change.observer = &writers;
    const Outcome plain = run(subject, change);
    answer.trapped = !plain.ended;
    max_steps = plain.instructions * 4 + 10'000;
    std::vector<bool> written;
    for (const uint64_t c : writers.cta) written.push_back(c != UINT64_MAX);
    if (std::ranges::none_of(written, [](bool w) { return w; })) written.clear();
    answer.map = error_map(subject, plain.after, wanted, written);
    for (const Wrong w : answer.map.of) was_right.push_back(w == Wrong::no);
    // The CTA with the most wrong elements; where others may wait for it, or it for them, all.
    std::map<uint64_t, uint64_t> wrong;
    for (size_t i = 0; i < was_right.size(); ++i)
        if (!was_right[i] && writers.cta[i] != UINT64_MAX) ++wrong[writers.cta[i]];
    const auto most = std::ranges::max_element(wrong, {}, [](const auto& x) { return x.second; });
    if (most != wrong.end() && !subject.loaded().in.kernel().cooperative)
        first_cta = most->first, ctas = 1;
    (void)program;
    make_fresh();
    return {};
}

void Search::make_fresh() {
    if (!subject.product) return;
    const launch::Product& p = *subject.product;
    fresh = subject.begin.memory.bytes;
    fill_random(fresh[subject.buffer_named(p.a)], p.type_a, p.m * p.k, 0x5eed1);
    fill_random(fresh[subject.buffer_named(p.b)], p.type_b, p.k * p.n, 0x5eed2);
    if (!p.c.empty()) fill_random(fresh[subject.buffer_named(p.c)], p.type_c, p.m * p.n, 0x5eed3);
    launch::Result<std::vector<Wanted>> made = subject.wanted(fresh);
    if (made)
        fresh_wanted = std::move(*made);
    else
        fresh.clear();
}

// Data that are changed before and after the run.
Candidate data_of(const std::vector<Candidate>& parts) {
    Candidate out;
    for (const Candidate& c : parts) {
        if (c.before) out.before = c.before;
        if (c.after) out.after = c.after;
    }
    return out;
}

void Search::judge_fresh(Explanation& e, const isa::Program& program, const Candidate& data) {
    if (fresh.empty()) return;
    Bytes before = fresh;
    e.fresh = Explanation::Fresh::wrong;
    if (data.before && !data.before(before)) return;
    Change change;
    change.program = &program;
    change.before = &before;
    change.max_steps = max_steps;
    Outcome o = run(subject, change);
    ++answer.tried;
    if (!o.ended) return;
    if (data.after) data.after(o.after);
    if (count_right(subject, o.after, fresh_wanted) == fresh_wanted.size())
        e.fresh = Explanation::Fresh::right;
}

Explanation Search::try_one(const std::vector<Candidate>& parts, const isa::Program& program) {
    Explanation out;
    out.parts = parts;
    const Candidate data = data_of(parts);
    Bytes before = subject.begin.memory.bytes;
    if (data.before && !data.before(before)) return out;
    Change change;
    change.program = &program;
    change.before = &before;
    change.max_steps = max_steps;
    Outcome o = run(subject, change);
    ++answer.tried;
    if (!o.ended) return out;
    if (data.after) data.after(o.after);
    for (uint64_t i = 0; i < wanted.size(); ++i) {
        const bool right = is_right(subject.type, element(subject, o.after, i), wanted[i]);
        out.explained += right && !was_right[i] ? 1 : 0;
        out.broken += !right && was_right[i] ? 1 : 0;
    }
    if (out.explained == answer.map.wrong() && out.broken == 0) judge_fresh(out, program, data);
    return out;
}

std::vector<Candidate> Search::candidates(const Scene& scene) {
    std::vector<Candidate> all;
    for (const Hypothesis& h : hypotheses()) {
        const size_t from = all.size();
        h.make(scene, all);
        for (size_t i = from; i < all.size(); ++i) all[i].of = &h;
        if (out_of_time()) break;
    }
    std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) {
        return a.predicted != b.predicted ? a.predicted > b.predicted : a.cost < b.cost;
    });
    return all;
}

// Makes a scene of a program and runs what is tried on it.
void Search::singles(const Text& text, const isa::Program& program,
                     const std::optional<Mapping>& mapping, const std::vector<Candidate>& base,
                     size_t tries) {
    Scene scene{subject, text, program, mapping, first_cta, ctas, max_steps};
    scene.step = subject.elements() / 256 | 1;
    if (mapping && mapping->has_d && mapping->has_both) {
        scene.share = compare(*mapping, *subject.product, scene.step).share();
        scene.natural = natural_share(*mapping, *subject.product);
    }
    const std::vector<Candidate> all = candidates(scene);
    for (size_t i = 0; i < std::min(tries, all.size()) && !out_of_time(); ++i) {
        std::vector<Candidate> parts = base;
        parts.push_back(all[i]);
        const std::optional<isa::Program> changed =
            all[i].patch.edits.empty() ? program : text.with(all[i].patch).resolve(program.arch);
        if (!changed) continue;
        Explanation e = try_one(parts, *changed);
        e.natural = all[i].predicted;
        if (e.explained > 0) answer.explanations.push_back(std::move(e));
    }
}

unsigned cost_of(const Explanation& e) {
    unsigned sum = 0;
    for (const Candidate& c : e.parts) sum += c.cost;
    return sum + 10 * static_cast<unsigned>(e.parts.size());
}

void rank(Answer& answer) {
    const uint64_t wrong = answer.map.wrong();
    std::ranges::stable_sort(answer.explanations, [&](const auto& a, const auto& b) {
        if (a.all(wrong) != b.all(wrong)) return a.all(wrong);
        const int64_t gain_a = static_cast<int64_t>(a.explained) - static_cast<int64_t>(a.broken);
        const int64_t gain_b = static_cast<int64_t>(b.explained) - static_cast<int64_t>(b.broken);
        if (gain_a != gain_b) return gain_a > gain_b;
        if (std::fabs(a.natural - b.natural) > 1e-6) return a.natural > b.natural;
        return cost_of(a) < cost_of(b);
    });
}

}  // namespace

launch::Result<Answer> ask(const Subject& subject, const Limits& limits) {
    Search s{subject, limits, Clock::now() + limits.time, {}, {}, {}, {}, {}};
    if (launch::Result<void> begun = s.begin(); !begun) return launch::failure(begun);
    if (s.answer.map.wrong() == 0) return std::move(s.answer);
    const isa::Program& program = subject.loaded().program;
    const Text text(subject.loaded().in.module, program.entry);
    const std::optional<Mapping> mapping =
        measure(subject, program, s.first_cta, s.ctas, s.max_steps);
    s.singles(text, program, mapping, {}, 40);
    rank(s.answer);
    return std::move(s.answer);
}

}  // namespace lockwarp::why
