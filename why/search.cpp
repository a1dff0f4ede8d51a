// SPDX-License-Identifier: Apache-2.0
// Candidates made, ranked by what they would change, and run.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "emu/warp/cluster.hpp"
#include "launch/random.hpp"
#include "launch/values.hpp"
#include "why/deviation.hpp"
#include "why/measured.hpp"
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

// What is tried on: a program, as it is or with a first change.
struct Base {
    Text text;
    isa::Program program;
    std::optional<Mapping> mapping;
    std::vector<Candidate> parts;
    Bytes after;              // on the launch file's data
    std::vector<bool> wrong;  // elements
};

struct Search {
    const Subject& subject;
    const Limits& limits;
    Clock::time_point started;
    Answer answer;
    std::vector<Wanted> wanted, fresh_wanted;
    Bytes fresh;  // other data; empty: there is no product
    std::vector<bool> was_right;
    Bytes after;  // of the program as it is
    uint64_t first_cta = 0, ctas = 0;
    uint64_t max_steps = UINT64_MAX;
    ProbeData probe_data = {};

    std::chrono::milliseconds spent() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started);
    }
    bool out_of_time() {
        if (spent() < limits.time && (subject.stop == nullptr || !*subject.stop)) return false;
        answer.out_of_time = true;
        return true;
    }
    bool found() const {
        return std::ranges::any_of(answer.explanations,
                                   [&](const Explanation& e) { return e.all(answer.map.wrong()); });
    }
    launch::Result<void> begin();
    void make_fresh();
    Scene scene_of(const Base& base) const;
    std::optional<Base> base_with(const Base& base, const Candidate& c);
    double predict(const Scene& scene, const Base& base, Candidate& c);
    void try_one(const Base& base, const Candidate& c);
    void try_model(const Base& base, const Candidate& c);
    bool right_on_fresh(const isa::Program& program, const std::optional<Model>& model);
    std::vector<Candidate> round(const Base& base, bool all);
    launch::Result<Answer> with_other_data(const Limits& l);
    void add_never_stored(const Base& base);
    void add_deviations(const Base& base, bool of_order);
};

launch::Result<void> Search::begin() {
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
    after = plain.after;
    for (const Wrong w : answer.map.of) was_right.push_back(w == Wrong::no);
    // The CTA with the most wrong elements; where others may wait for it, or it for them, all.
    std::map<uint64_t, uint64_t> wrong;
    for (size_t i = 0; i < was_right.size(); ++i)
        if (!was_right[i] && writers.cta[i] != UINT64_MAX) ++wrong[writers.cta[i]];
    const auto most = std::ranges::max_element(wrong, {}, [](const auto& x) { return x.second; });
    const launch::Kernel& kernel = subject.loaded().in.kernel();
    const bool clusters =
        warp::clusters_of(subject.loaded().program, kernel.grid, kernel.cluster).size() > 1;
    // Of a program that traps the CTA with the most is not known.
    if (!kernel.cooperative && !clusters && !answer.trapped)
        first_cta = most != wrong.end() ? most->first : 0, ctas = 1;
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

// Whether the program, or what the model makes of it, is right on other data too.
bool Search::right_on_fresh(const isa::Program& program, const std::optional<Model>& model) {
    Change change;
    change.program = &program;
    change.before = &fresh;
    change.max_steps = max_steps;
    const Outcome o = run(subject, change);
    ++answer.tried;
    if (!o.ended) return false;
    if (!model) return count_right(subject, o.after, fresh_wanted) == fresh_wanted.size();
    const std::vector<bool> every(fresh_wanted.size(), true);
    const Agreement a = agreement(subject, *model, fresh, o.after, fresh_wanted, every, 1);
    return a.agree == a.of;
}

void Search::try_model(const Base& base, const Candidate& c) {
    const Bytes& before = subject.begin.memory.bytes;
    const Agreement wrong = agreement(subject, *c.model, before, base.after, wanted, base.wrong, 1);
    std::vector<bool> right = base.wrong;
    right.flip();
    const Agreement kept = agreement(subject, *c.model, before, base.after, wanted, right, 1);
    ++answer.tried;
    Explanation e;
    e.parts = base.parts;
    e.parts.push_back(c);
    e.likely = c.predicted;
    for (size_t i = 0; i < was_right.size(); ++i)
        if (!base.wrong[i] && !was_right[i]) ++e.explained;
    e.explained += wrong.agree;
    e.broken = kept.of - kept.agree;
    if (wrong.agree == 0) return;
    if (e.explained == answer.map.wrong() && e.broken == 0 && !fresh.empty())
        e.fresh = right_on_fresh(base.program, c.model) ? Explanation::Fresh::right
                                                        : Explanation::Fresh::wrong;
    answer.explanations.push_back(std::move(e));
}

std::optional<Base> Search::base_with(const Base& base, const Candidate& c) {
    Text text = base.text.with(c.patch);
    std::optional<isa::Program> program = text.resolve(base.program.arch);
    if (!program) return {};
    Change change;
    change.program = &*program;
    change.max_steps = max_steps;
    Outcome o = run(subject, change);
    ++answer.tried;
    if (!o.ended) return {};
    Base out{std::move(text), std::move(*program), {}, base.parts, std::move(o.after), {}};
    out.parts.push_back(c);
    for (uint64_t i = 0; i < wanted.size(); ++i)
        out.wrong.push_back(!is_right(subject.type, element(subject, out.after, i), wanted[i]));
    return out;
}

void Search::try_one(const Base& base, const Candidate& c) {
    if (c.model) return try_model(base, c);
    const std::optional<Base> changed = base_with(base, c);
    if (!changed) return;
    Explanation e;
    e.parts = changed->parts;
    e.likely = c.predicted;
    for (uint64_t i = 0; i < wanted.size(); ++i) {
        e.explained += !changed->wrong[i] && !was_right[i] ? 1 : 0;
        e.broken += changed->wrong[i] && was_right[i] ? 1 : 0;
    }
    if (e.explained == 0) return;
    if (e.explained == answer.map.wrong() && e.broken == 0 && !fresh.empty())
        e.fresh = right_on_fresh(changed->program, {}) ? Explanation::Fresh::right
                                                       : Explanation::Fresh::wrong;
    answer.explanations.push_back(std::move(e));
}

Scene Search::scene_of(const Base& base) const {
    Scene out{subject, base.text, base.program, base.mapping, first_cta, ctas, max_steps};
    out.step = subject.elements() / 256 | 1;
    out.touches = survey(subject, base.program, first_cta, ctas, max_steps);
    if (!base.mapping || !base.mapping->has_both) return out;
    const Terms t = compare(*base.mapping, *subject.product, out.step);
    out.share = t.share();
    out.natural = natural_share(*base.mapping, *subject.product);
    out.a_is_off = t.other_rows + t.other_k != 0;
    out.b_is_off = t.other_columns + t.other_k != 0;
    out.d_is_off = t.other_rows + t.other_columns != 0;
    out.k_is_missing = t.right < t.wanted && t.other_rows + t.other_columns + t.other_k == 0;
    out.k_is_twice = t.twice != 0;
    return out;
}

// How likely a candidate is to be right; at most 0: not at all.
double Search::predict(const Scene& scene, const Base& base, Candidate& c) {
    const bool known = base.mapping && base.mapping->has_both && base.mapping->has_d;
    const double natural = known ? 0.01 * scene.natural.mean() : 0;
    if (c.model) {
        const auto wrong = static_cast<uint64_t>(std::ranges::count(base.wrong, true));
        const Agreement a = agreement(subject, *c.model, subject.begin.memory.bytes, base.after,
                                      wanted, base.wrong, wrong / 64 | 1);
        const double share =
            a.of == 0 ? 0 : static_cast<double>(a.agree) / static_cast<double>(a.of);
        if (share < 0.25) return 0;
        if (!known || !c.model->uses_k.empty()) return share + natural;
        const Mapping m = as_modelled(*base.mapping, *subject.product, *c.model);
        return share + 0.01 * natural_share(m, *subject.product).mean();
    }
    const std::optional<isa::Program> program = base.text.with(c.patch).resolve(base.program.arch);
    if (!program) return 0;
    ++answer.tried;
    if (known) {
        const std::optional<Mapping> m =
            measure(subject, *program, first_cta, ctas, max_steps, probe_data,
                    c.operands_only ? &*base.mapping : nullptr);
        if (!m || !m->has_both) return 0;
        const double share = compare(*m, *subject.product, scene.step).share();
        const Natural of = natural_share(*m, *subject.product);
        c.promise = share - scene.share + of.sum() - scene.natural.sum();
        if (share < scene.share + 0.02) return 0;
        return share + 0.01 * of.mean();
    }
    Change change;
    change.program = &*program;
    change.first_cta = first_cta, change.ctas = ctas;
    change.max_steps = max_steps;
    const Outcome o = run(subject, change);
    if (!o.ended) return 0;
    uint64_t better = 0;
    for (uint64_t i = 0; i < wanted.size(); ++i)
        better += base.wrong[i] && is_right(subject.type, element(subject, o.after, i), wanted[i])
                      ? 1
                      : 0;
    return static_cast<double>(better) / static_cast<double>(std::max<uint64_t>(1, wanted.size()));
}

// Makes and tries candidates, a hypothesis after the other; those that promise something. all: also
// when one has been found, as long as that takes no time.
std::vector<Candidate> Search::round(const Base& base, bool all) {
    // Not by the clock, so that the answer is the same on a slow machine.
    constexpr uint64_t max_tried = 150;
    constexpr size_t max_tries = 6;
    const Scene scene = scene_of(base);
    std::vector<Candidate> promising;
    for (const Hypothesis& h : hypotheses()) {
        // What is worked out on the mapping takes no time.
        const bool quick = h.make == &try_registers_of_a || h.make == &try_registers_of_b ||
                           h.make == &try_accumulators;
        if (out_of_time() || (found() && !quick && (!all || answer.tried > max_tried))) break;
        std::vector<Candidate> made;
        // A second change that leaves out what the first has broken explains nothing.
        if (!base.parts.empty() && h.make == &try_part_of_k) continue;
        h.make(scene, made);
        for (Candidate& c : made) {
            c.of = &h;
            if (c.predicted == 0 && !out_of_time()) c.predicted = predict(scene, base, c);
        }
        for (const Candidate& c : made)
            if (!c.model && c.promise >= 0.1) promising.push_back(c);
        std::erase_if(made, [](const Candidate& c) { return c.predicted <= 0; });
        std::ranges::stable_sort(made, [](const Candidate& a, const Candidate& b) {
            return a.predicted != b.predicted ? a.predicted > b.predicted : a.cost < b.cost;
        });
        if (made.size() > max_tries) made.resize(max_tries);
        for (const Candidate& c : made) {
            if (out_of_time()) break;
            try_one(base, c);
            if (!c.model && c.promise < 0.1) promising.push_back(c);
        }
    }
    std::ranges::stable_sort(promising, std::ranges::greater{}, &Candidate::promise);
    return promising;
}

// Elements that nothing writes while accumulators are left over explain themselves.
void Search::add_never_stored(const Base& base) {
    const uint64_t unwritten = answer.map.counts[static_cast<size_t>(Wrong::unwritten)];
    if (unwritten == 0 || !base.mapping || !base.mapping->has_d || found()) return;
    const std::string lost = never_stored_text(*base.mapping, base.program);
    if (lost.empty()) return;
    static constexpr Hypothesis row{"never stored", "nothing: it is measured", "the accumulators",
                                    nullptr};
    Candidate c;
    c.of = &row;
    c.words = lost;
    Explanation e;
    e.parts = {std::move(c)};
    e.explained = unwritten;
    answer.explanations.push_back(std::move(e));
}

// What the mapping of all CTAs shows, where nothing that was tried explains it. of_order: of the
// order of k alone.
void Search::add_deviations(const Base& base, bool of_order) {
    if (!base.mapping || !base.mapping->has_both || !base.mapping->has_d || found()) return;
    Scene scene = scene_of(base);
    Explanation e;
    const std::optional<Mapping> whole =
        measure(subject, base.program, 0, 0, max_steps, probe_data);
    if (!whole || !whole->has_both || !whole->has_d) return;
    Deviations off = deviations(scene, *whole);
    if (off.parts.empty() || (of_order && !off.of_order)) return;
    e.parts = std::move(off.parts);
    e.explained = answer.map.wrong();
    answer.explanations.push_back(std::move(e));
}

// All is as expected: so that it is not by luck, the same with random data.
launch::Result<Answer> Search::with_other_data(const Limits& l) {
    if (fresh.empty() || right_on_fresh(subject.loaded().program, {})) return std::move(answer);
    Subject other = subject;
    other.begin.memory.bytes = fresh;
    launch::Result<Answer> out = ask(other, l);
    if (out)
        out->reservation =
            "the result is right with the data of the launch file, and only with such data: what "
            "follows is with random data";
    return out;
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
        if (std::fabs(a.likely - b.likely) > 1e-6) return a.likely > b.likely;
        return cost_of(a) < cost_of(b);
    });
}

// Of explanations in the same words the first stays.
void drop_repeated(Answer& answer) {
    std::set<std::string> seen;
    std::erase_if(answer.explanations, [&](const Explanation& e) {
        std::string words;
        for (const Candidate& c : e.parts) words += c.words + ";";
        return !seen.insert(words).second;
    });
}

}  // namespace

launch::Result<Answer> ask(const Subject& subject, const Limits& limits) {
    constexpr size_t max_first_changes = 5;
    Search s{subject, limits, Clock::now(), {}, {}, {}, {}, {}, {}};
    if (launch::Result<void> begun = s.begin(); !begun) return launch::failure(begun);
    if (s.answer.map.wrong() == 0) return s.with_other_data(limits);
    const isa::Program& program = subject.loaded().program;
    Base base{Text(subject.loaded().in.module, program.entry), program, {}, {}, {}, {}};
    base.mapping = measure(subject, program, s.first_cta, s.ctas, s.max_steps, s.probe_data);
    base.after = std::move(s.after);
    base.wrong = s.was_right;
    base.wrong.flip();
    if (base.mapping && base.mapping->has_both && base.mapping->has_d)
        s.answer.measured = measured_text(*base.mapping, subject, program);
    const std::vector<Candidate> promising = s.round(base, true);
    s.add_deviations(base, true);
    for (size_t i = 0, tried = 0; i < promising.size() && limits.pairs && !s.found(); ++i) {
        if (promising[i].model || s.out_of_time() || tried++ == max_first_changes) continue;
        std::optional<Base> changed = s.base_with(base, promising[i]);
        if (!changed) continue;
        changed->mapping =
            measure(subject, changed->program, s.first_cta, s.ctas, s.max_steps, s.probe_data);
        s.round(*changed, false);
    }
    s.add_never_stored(base);
    s.add_deviations(base, false);
    rank(s.answer);
    drop_repeated(s.answer);
    return std::move(s.answer);
}

}  // namespace lockwarp::why
