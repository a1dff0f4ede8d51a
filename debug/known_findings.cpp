// SPDX-License-Identifier: Apache-2.0
#include "debug/known_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>

#include "debug/listing.hpp"
#include "debug/words.hpp"
#include "emu/lockwarp.hpp"
#include "emu/ptx/space_name.hpp"
#include "launch/described.hpp"
#include "launch/state.hpp"

namespace lockwarp::debug {

namespace {

uint64_t index_of(const std::array<uint32_t, 3>& cta, const warp::Dim3& grid) {
    return cta[0] + uint64_t{grid.x} * (cta[1] + uint64_t{grid.y} * cta[2]);
}

// The steps of findings that do not say theirs: the last time that their warp ran the instruction
// before the other side's step, else the first.
class Steps : public warp::Observer {
  public:
    Steps(const std::vector<check::Found>& found, const warp::Dim3& grid) {
        for (const check::Found& f : found) {
            const check::Site& s = f.finding.here;
            if (!s.operation) continue;
            Asked a{index_of(s.cta, grid), s.warp, *s.operation, s.step, UINT64_MAX, {}};
            const std::optional<check::Site>& o = f.finding.other;
            if (s.step == 0 && o && o->cta == s.cta && o->warp == s.warp && o->step != 0)
                a.before = o->step;
            asked_.push_back(a);
        }
    }
    // All findings have steps already.
    bool idle() const {
        return std::ranges::none_of(asked_, [](const Asked& a) { return a.given == 0; });
    }
    // Of the n-th finding with an instruction; none: its warp never retired that.
    std::optional<uint64_t> step(size_t n) const {
        return asked_[n].given != 0 ? asked_[n].given : asked_[n].is;
    }
    bool wants_one_thread() const override { return true; }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        const bool any = std::ranges::any_of(
            asked_, [&](const Asked& a) { return a.given == 0 && a.cta == cta.index; });
        return any ? std::make_unique<OfCta>(*this) : nullptr;
    }

  private:
    struct Asked {
        uint64_t cta;
        uint32_t warp, operation;
        uint64_t given;   // 0: not known
        uint64_t before;  // the last before this step; UINT64_MAX: the first
        std::optional<uint64_t> is;
    };
    struct OfCta : warp::CtaObserver {
        explicit OfCta(Steps& s) : steps(s) {}
        void retired(const warp::Retired& e) override {
            for (Asked& a : steps.asked_) {
                if (a.given != 0 || a.operation != e.operation || a.warp != e.warp ||
                    a.cta != e.cta_index)
                    continue;
                if (!a.is || (a.before != UINT64_MAX && e.step < a.before)) a.is = e.step;
            }
        }
        Steps& steps;
    };
    std::vector<Asked> asked_;
};

std::string text_of(const Listing& l, const check::Found& f) {
    const check::Finding& g = f.finding;
    std::string out =
        fmt::format("{}: {} [{}/{}]", g.severity == check::Severity::error ? "error" : "note",
                    g.message, f.check->name, g.kind);
    if (g.other && g.other->operation) {
        out += fmt::format("\n  the other side: CTA ({},{},{})", g.other->cta[0], g.other->cta[1],
                           g.other->cta[2]);
        if (g.other->lanes != 0)
            out += fmt::format(" warp {}, {}", g.other->warp, lanes_text(g.other->lanes));
        out += fmt::format("\n  {}:{}  {}", l.file(), l.line_of(*g.other->operation),
                           l.text_of(*g.other->operation));
    }
    if (g.space != ptx::Space::none) {
        out += fmt::format("\n  {} address {:#x}", ptx::name_of(g.space), g.address);
        if (!f.object.name.empty()) out += fmt::format(", {} + {}", f.object.name, f.object.offset);
    }
    if (g.count > 1) out += fmt::format("\n  {} times", g.count);
    if (!g.hint.empty()) out += "\n  " + g.hint;
    return printable(out, true);
}

// One launch, whose state `state` is that before it and becomes that behind it.
struct Finder {
    const launch::Loaded& loaded;
    const warp::TurnOrder* order;
    const std::atomic<bool>* stop;

    launch::Result<warp::Result> run(launch::State& state,
                                     const std::function<void(warp::Launch&)>& prepare) const {
        launch::Result<warp::Launch> made =
            launch::make_launch(loaded.in.launch, loaded.in.kernel(), loaded.program, state.memory);
        if (!made) return launch::failure(made);
        std::vector<uint8_t> variables = launch::variables_before(state, loaded.in, loaded.program);
        made->variables = &variables;
        made->stop = stop;
        made->threads = 1;
        made->order = order;
        prepare(*made);
        warp::Result result = exec::launch(loaded.program, *made);
        if (result.refusal) return launch::failure(result.refusal->what);
        if (result.trap && result.trap->kind == warp::TrapKind::stopped)
            return launch::failure("the checks' run was interrupted");
        launch::keep_variables(state, loaded.in, loaded.program, variables);
        return result;
    }
};

KnownFinding known(const check::Found& f, const Listing& l, size_t launch) {
    const check::Finding& g = f.finding;
    KnownFinding out;
    out.launch = launch;
    out.check = f.check->name;
    out.kind = g.kind;
    out.is_error = g.severity == check::Severity::error;
    out.message = printable(g.hint.empty() ? g.message : g.message + ". " + g.hint);
    out.text = text_of(l, f);
    out.cta = index_of(g.here.cta, l.input().kernel().grid);
    out.warp = g.here.warp;
    out.lane = g.here.lanes == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(g.here.lanes));
    return out;
}

}  // namespace

launch::Result<std::vector<KnownFinding>> find_all(const std::vector<launch::Loaded>& launches,
                                                   std::string_view names,
                                                   const warp::TurnOrder* order,
                                                   const std::atomic<bool>* stop) {
    const check::Chosen chosen = check::choose(names);
    if (!chosen.wrong.empty()) return launch::failure(chosen.wrong);
    launch::Result<launch::State> state = launch::make_state(launches.front().in.launch);
    if (!state) return launch::failure(state);
    check::Described described = launch::described(launches.front().in.launch, state->memory);
    std::vector<KnownFinding> out;
    for (size_t i = 0; i < launches.size(); ++i) {
        const launch::Loaded& l = launches[i];
        const Finder finder{l, order, stop};
        const Listing listing(l);
        launch::State before = *state;
        std::optional<check::Checking> checking;
        const launch::Result<warp::Result> result = finder.run(*state, [&](warp::Launch& launch) {
            checking.emplace(chosen.rows, l.program, launch, &l.in.module, described);
        });
        if (!result) return tl::unexpected(result.error());
        const std::vector<check::Found> found = checking->found(*result);
        described = checking->described();
        Steps steps(found, l.in.kernel().grid);
        if (!steps.idle()) {
            const launch::Result<warp::Result> again = finder.run(
                before, [&](warp::Launch& launch) { launch.observers.push_back(&steps); });
            if (!again) return tl::unexpected(again.error());
        }
        size_t n = 0;
        for (const check::Found& f : found) {
            KnownFinding one = known(f, listing, i);
            if (f.finding.here.operation) {
                if (const std::optional<uint64_t> step = steps.step(n++)) {
                    one.operation = f.finding.here.operation;
                    one.step = *step;
                }
            }
            out.push_back(std::move(one));
        }
        if (result->trap) break;
    }
    return out;
}

}  // namespace lockwarp::debug
