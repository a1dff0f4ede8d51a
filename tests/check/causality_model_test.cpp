// SPDX-License-Identifier: Apache-2.0
// Programs by chance against a plain model of what comes before what: PTX manual, "Memory
// Consistency Model: Causality order". A few warps, of one CTA or of two, load and store words
// weakly, and tell one another by strong operations, fences and barriers. Which write a read sees
// is that of the run; the model has all events and follows each way from one to the other.
#include <random>

#include "tests/check/said.hpp"

namespace lockwarp::check::causality_model_test {
namespace {

using namespace brief;

// What a line does: of a fence and a strong operation also how far, and what it orders.
struct Action {
    enum Kind { load, store, strong_load, strong_store, update, update_only, fence, barrier } kind;
    unsigned who, word;
    bool far, acquires, releases;

    bool reads() const { return kind == strong_load || kind == update; }
    bool writes() const { return kind == strong_store || kind == update || kind == update_only; }
    bool is_update() const { return kind == update || kind == update_only; }
    bool is_weak() const { return kind == load || kind == store; }
};

struct Actors {
    unsigned ctas, warps;  // of each
    bool all_lanes;        // each lane with words of its own; else the first lane alone

    unsigned count() const { return ctas * warps; }
    unsigned cta_of(unsigned who) const { return who / warps; }
};

// The word that a strong operation of the CTA has: of reach `cta` there are some for each.
unsigned place_of(const Actors& actors, const Action& a) {
    return a.word + (a.is_weak() ? 0 : a.far ? 8 : 16 + 4 * actors.cta_of(a.who));
}

std::string text_of(const Actors& actors, const Action& a) {
    const std::string scope = a.far ? ".gpu" : ".cta";
    const std::string at = "[%rd9+" + std::to_string(128 * place_of(actors, a)) + "]";
    const std::string order = a.acquires && a.releases ? ".acq_rel"
                              : a.acquires             ? ".acquire"
                              : a.releases             ? ".release"
                                                       : ".relaxed";
    switch (a.kind) {
        case Action::load:
            return "ld.global.u32 %r20, " + at + ";";
        case Action::store:
            return "st.global.u32 " + at + ", %r21;";
        case Action::strong_load:
            return "ld" + order + scope + ".global.u32 %r20, " + at + ";";
        case Action::strong_store:
            return "st" + order + scope + ".global.u32 " + at + ", %r21;";
        case Action::update:
            return "atom" + order + scope + ".global.add.u32 %r20, " + at + ", 1;";
        case Action::update_only:
            return "red" + order + scope + ".global.add.u32 " + at + ", 1;";
        case Action::fence:
            return std::string("fence") + (a.word == 0 ? ".sc" : ".acq_rel") + scope + ";";
        case Action::barrier:
            return "bar.sync 0;";
    }
    return "";
}

Action by_chance(std::mt19937& chance, const Actors& actors) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(chance() % n); };
    constexpr std::array kinds{Action::load,        Action::store,       Action::strong_load,
                               Action::strong_load, Action::strong_load, Action::strong_store,
                               Action::update,      Action::update_only, Action::fence,
                               Action::fence};
    Action a{
        kinds[below(kinds.size())], below(actors.count()), below(2), below(3) != 0, false, false};
    const bool orders = below(3) == 0;
    if (orders) {
        a.acquires = a.reads() && (!a.writes() || below(2) == 0);
        a.releases = a.writes() && (!a.acquires || below(2) == 0);
    }
    if (a.kind == Action::fence) a.acquires = a.releases = true;
    return a;
}

struct Event {
    unsigned line, who, phase;
};

// Notes which warp did which line, in the order of the run.
class Trace : public warp::Observer {
  public:
    Trace(const Actors& actors, unsigned first_line, size_t lines)
        : actors_(actors), first_line_(first_line), lines_(lines) {}
    bool wants_one_thread() const override { return true; }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(*this);
    }
    std::vector<Event> events;

  private:
    struct OfCta : warp::CtaObserver {
        explicit OfCta(Trace& t) : trace(t) {}
        void retired(const warp::Retired& e) override {
            const uint32_t line = e.program->operations[e.operation].place.line;
            if (e.executed != 0 && line - trace.first_line_ < trace.lines_)
                trace.events.push_back(
                    {line - trace.first_line_, e.cta[0] * trace.actors_.warps + e.warp, 0});
        }
        Trace& trace;
    };
    Actors actors_;
    unsigned first_line_;
    size_t lines_;
};

class Model {
  public:
    Model(const Actors& actors, const std::vector<Action>& actions,
          const std::vector<Event>& events)
        : actors_(actors), actions_(actions), events_(events) {
        const size_t n = events.size();
        before_.assign(n, 0);
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j)
                if (by_program(i, j) || by_barrier(i, j)) put_before(i, j);
        for (size_t r = 0; r < n; ++r)
            if (of(r).reads()) see(r);
        for (size_t k = 0; k < n; ++k)
            for (size_t i = 0; i < n; ++i)
                if (is_before(i, k)) before_[i] |= before_[k];
    }
    bool race(size_t i, size_t j) const {
        const Action &a = of(i), &b = of(j);
        return a.is_weak() && b.is_weak() && a.word == b.word && !is_before(i, j) &&
               (a.kind == Action::store || b.kind == Action::store) &&
               events_[i].who != events_[j].who;
    }

  private:
    const Action& of(size_t i) const { return actions_[events_[i].line]; }
    bool is_before(size_t i, size_t j) const { return (before_[i] >> j & 1) != 0; }
    void put_before(size_t i, size_t j) { before_[i] |= uint64_t{1} << j; }
    bool one_cta(size_t i, size_t j) const {
        return actors_.cta_of(events_[i].who) == actors_.cta_of(events_[j].who);
    }
    bool by_program(size_t i, size_t j) const { return i < j && events_[i].who == events_[j].who; }
    bool by_barrier(size_t i, size_t j) const {
        return one_cta(i, j) && events_[i].phase < events_[j].phase;
    }
    bool reach(size_t i, size_t j) const { return one_cta(i, j) || (of(i).far && of(j).far); }

    // The writes that read `r` sees, back to the last that is no update.
    void see(size_t r) {
        for (size_t w = r; w-- > 0;) {
            if (!of(w).writes() || place_of(actors_, of(w)) != place_of(actors_, of(r))) continue;
            for (const size_t from : sources(w))
                for (const size_t to : sinks(r))
                    if (reach(from, to)) put_before(from, to);
            if (!of(w).is_update()) return;
        }
    }
    // Of a release pattern the first operations, of an acquire pattern the last.
    std::vector<size_t> sources(size_t w) const {
        if (of(w).releases) return {w};
        std::vector<size_t> out;
        for (size_t f = 0; f < w; ++f)
            if (of(f).kind == Action::fence && by_program(f, w)) out.push_back(f);
        return out;
    }
    std::vector<size_t> sinks(size_t r) const {
        if (of(r).acquires) return {r};
        std::vector<size_t> out;
        for (size_t f = r + 1; f < events_.size(); ++f)
            if (of(f).kind == Action::fence && by_program(r, f)) out.push_back(f);
        return out;
    }

    const Actors& actors_;
    const std::vector<Action>& actions_;
    const std::vector<Event>& events_;
    std::vector<uint64_t> before_;  // of each event those that it comes before, by bits
};

// What is wrong about what the check says of it; empty: nothing is.
std::string compare(const Actors& actors, const std::vector<Action>& actions) {
    const std::string setup =
        "mov.u32 %r30, %ctaid.x; mad.lo.u32 %r31, %r30, " + std::to_string(actors.warps) +
        ", %r3; add.u32 %r21, %r31, 1; mul.wide.u32 %rd8, %r2, 4; add.u64 %rd9, %rd1, %rd8;\n";
    std::string body = setup;
    for (unsigned who = 0; who < actors.count(); ++who)
        body += "setp.eq.u32 %p1, %r31, " + std::to_string(who) + "; setp.eq" +
                (actors.all_lanes ? ".u32 %p2, %r2, %r2" : ".u32 %p2, %r2, 0") + "; and.pred %q" +
                std::to_string(who) + ", %p1, %p2;";
    body += " ld.relaxed.gpu.global.u32 %r20, [%rd2];\n";  // CTAs may order one another
    for (const Action& a : actions)
        body += (a.kind == Action::barrier ? "" : "@%q" + std::to_string(a.who) + " ") +
                text_of(actors, a) + "\n";
    const ptx::Parsed parsed = ptx::parse(kernel_of(".reg .pred %q<8>; " + body, ""));
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    if (!resolved.diagnostics.empty()) return resolved.diagnostics[0].message + "\n" + body;
    std::vector<uint8_t> out(1 << 16), in(1 << 16);
    warp::Launch launch;
    launch.grid.x = actors.ctas;
    launch.block.x = 32 * actors.warps;
    launch.threads = 1;
    launch.buffers = {{"out", 0x10000, out}, {"in", 0x40000, in}};
    launch.parameters.resize(resolved.program.parameter_bytes);
    for (size_t i = 0; i < 2; ++i)
        std::memcpy(launch.parameters.data() + 8 * i, &launch.buffers[i].address, 8);
    const Chosen chosen = choose("race-global");
    const Checking checking(chosen.rows, resolved.program, launch, &parsed.module);
    constexpr unsigned first_line = 4;
    Trace trace(actors, first_line, actions.size());
    launch.observers.push_back(&trace);
    const warp::Result result = exec::launch(resolved.program, launch);
    if (result.trap) return result.trap->detail + "\n" + body;
    // Which barrier a line stands behind; barriers themselves are left out.
    std::erase_if(trace.events,
                  [&](const Event& e) { return actions[e.line].kind == Action::barrier; });
    for (Event& e : trace.events)
        for (unsigned line = 0; line < e.line; ++line)
            e.phase += actions[line].kind == Action::barrier ? 1 : 0;
    const Model model(actors, actions, trace.events);
    const auto event_of = [&](uint32_t operation) {
        const unsigned line = resolved.program.operations[operation].place.line - first_line;
        return static_cast<size_t>(std::ranges::find(trace.events, line, &Event::line) -
                                   trace.events.begin());
    };
    std::vector<bool> found(trace.events.size());
    for (const Found& f : checking.found(result)) {
        const size_t here = event_of(*f.finding.here.operation);
        const size_t other = event_of(*f.finding.other->operation);
        found[here] = true;
        if (!model.race(other, here))
            return "lines " + std::to_string(trace.events[other].line) + " and " +
                   std::to_string(trace.events[here].line) + " do not race\n" + body;
    }
    for (size_t j = 0; j < trace.events.size(); ++j)
        for (size_t i = 0; i < j; ++i)
            if (model.race(i, j)) {
                if (found[j]) return "";
                return "lines " + std::to_string(trace.events[i].line) + " and " +
                       std::to_string(trace.events[j].line) + " race\n" + body;
            }
    return "";
}

TEST(CausalityModel, OfProgramsByChance) {
    constexpr std::array cases{Actors{1, 3, false}, Actors{1, 3, true}, Actors{3, 1, false},
                               Actors{2, 2, false}, Actors{2, 2, true}};
    std::mt19937 chance(1);
    for (unsigned n = 0; n < 2000; ++n) {
        const Actors& actors = cases[n % cases.size()];
        std::vector<Action> actions;
        const auto length = 8 + chance() % 24;
        const auto middle = chance() % 3 == 0 ? length / 2 : length;
        for (size_t i = 0; i < length; ++i)
            actions.push_back(i == middle ? Action{Action::barrier, 0, 0, false, false, false}
                                          : by_chance(chance, actors));
        const std::string wrong = compare(actors, actions);
        ASSERT_EQ(wrong, "") << n;
    }
}

}  // namespace
}  // namespace lockwarp::check::causality_model_test
