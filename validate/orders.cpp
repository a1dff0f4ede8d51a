// SPDX-License-Identifier: Apache-2.0
#include "validate/orders.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "emu/lockwarp.hpp"
#include "launch/variables.hpp"

namespace lockwarp::validate {

namespace {

using warp::GiveWay;
using Places = std::vector<std::vector<GiveWay>>;  // by launch

// Notes what each warp retires at the places.
class Where : public warp::Observer {
  public:
    explicit Where(const std::vector<GiveWay>& places) : places_(places) {}

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        const bool any =
            std::ranges::any_of(places_, [&](const GiveWay& p) { return p.cta == cta.index; });
        return any ? std::make_unique<OfCta>(*this) : nullptr;
    }
    std::vector<uint32_t> operations() const {
        std::vector<uint32_t> out;
        for (const GiveWay& p : places_) {
            const auto at = found_.find(p);
            out.push_back(at == found_.end() ? UINT32_MAX : at->second);
        }
        return out;
    }

  private:
    // In an order all CTAs run on one thread.
    struct OfCta : warp::CtaObserver {
        explicit OfCta(Where& where) : all(where) {}
        void retired(const warp::Retired& e) override {
            const GiveWay here{e.cta_index, e.warp, e.step};
            if (std::ranges::binary_search(all.places_, here)) all.found_[here] = e.operation;
        }
        Where& all;
    };

    const std::vector<GiveWay>& places_;
    std::map<GiveWay, uint32_t> found_;
};

struct Run {
    std::span<const launch::Loaded> steps;
    const launch::State& first;
    const OrderLimits& limits;
    std::vector<std::vector<uint32_t>>* operations = nullptr;  // optional: of the places

    // false: the launches after it do not run.
    bool step(size_t i, const StepOrders& orders, Left& out) const;
};

bool Run::step(size_t i, const StepOrders& orders, Left& out) const {
    const launch::Loaded& at = steps[i];
    launch::Result<warp::Launch> launch =
        launch::make_launch(at.in.launch, at.in.kernel(), at.program, out.state.memory);
    if (!launch) {
        out.refused = launch.error().sentence;
        return false;
    }
    std::vector<uint8_t> variables = launch::variables_before(out.state, at.in, at.program);
    warp::TurnOrder order;
    order.seed = orders.seed;
    order.listed = orders.places.has_value();
    if (order.listed) order.places = (*orders.places)[i];
    order.made = &out.made[i];
    launch->order = &order;
    launch->variables = &variables;
    launch->stop = limits.stop;
    if (limits.max_steps != 0) launch->max_steps = limits.max_steps;
    Where where(order.places);
    if (operations != nullptr) launch->observers.push_back(&where);
    const warp::Result result = exec::launch(at.program, *launch);
    if (operations != nullptr) operations->push_back(where.operations());
    if (result.refusal) {
        out.refused = result.refusal->what;
        return false;
    }
    launch::keep_variables(out.state, at.in, at.program, variables);
    if (!result.trap) return true;
    out.stopped = result.trap->kind == warp::TrapKind::stopped;
    out.trap = std::string(warp::trap_name(result.trap->kind)) + " at line " +
               std::to_string(result.trap->place.line);
    return false;
}

Left run_all(const Run& run, const StepOrders& orders) {
    Left out;
    out.state = run.first;
    out.made.resize(run.steps.size());
    for (size_t i = 0; i < run.steps.size(); ++i)
        if (!run.step(i, orders, out)) break;
    return out;
}

std::string hex(const uint8_t* bytes, uint32_t count) {
    std::string out = "0x";
    for (uint32_t i = count; i-- > 0;)
        for (const unsigned shift : {4u, 0u}) out += "0123456789abcdef"[bytes[i] >> shift & 15];
    return out;
}

// Elements of an expectation's type have its size; else words.
uint32_t element_bytes(const launch::LaunchFile& file, const std::string& name) {
    for (const launch::Expectation& e : file.expectations)
        if (e.name == name && isa::bits(e.type) >= 8) return isa::bits(e.type) / 8;
    return 4;
}

std::optional<OrderDifference> first_in(const launch::LaunchFile& file, const std::string& name,
                                        const std::vector<uint8_t>& was,
                                        const std::vector<uint8_t>& is) {
    const auto [a, b] = std::ranges::mismatch(was, is);
    if (a == was.end()) return std::nullopt;
    const auto at = static_cast<uint64_t>(a - was.begin());
    OrderDifference out;
    out.name = name;
    out.bytes = element_bytes(file, name);
    if (was.size() % out.bytes != 0) out.bytes = 1;
    out.index = at / out.bytes;
    out.was = hex(&was[out.index * out.bytes], out.bytes);
    out.is = hex(&is[out.index * out.bytes], out.bytes);
    return out;
}

// All places as one list, with their launch.
using Listed = std::vector<std::pair<size_t, GiveWay>>;

Places by_launch(const Listed& all, size_t launches) {
    Places out(launches);
    for (const auto& [i, place] : all) out[i].push_back(place);
    for (std::vector<GiveWay>& places : out) std::ranges::sort(places);
    return out;
}

OrderPair shortest(const Run& run, const Left& usual, uint64_t seed, const Left& other) {
    Listed all;
    for (size_t i = 0; i < other.made.size(); ++i)
        for (const GiveWay& place : other.made[i]) all.emplace_back(i, place);
    const auto run_with = [&](const Listed& places) {
        return run_all(run, {0, by_launch(places, run.steps.size())});
    };
    const auto differs = [&](const Listed& places) {
        const Left left = run_with(places);
        return !left.stopped && difference(run.steps, usual, left).has_value();
    };
    // Where giving way at the places that it made does not give it again, they are all said.
    if (differs(all)) {
        const auto those = [&](const Numbers& numbers) {
            Listed out;
            for (const size_t n : numbers) out.push_back(all[n]);
            return out;
        };
        all = those(fewest(all.size(), [&](const Numbers& n) { return differs(those(n)); }));
    }
    OrderPair out;
    out.seed = seed;
    out.places = by_launch(all, run.steps.size());
    Run last = run;
    last.operations = &out.operations;
    const Left left = run_all(last, {0, out.places});
    out.operations.resize(out.places.size());
    for (size_t i = 0; i < out.places.size(); ++i)
        out.operations[i].resize(out.places[i].size(), UINT32_MAX);
    const std::optional<OrderDifference> d = difference(run.steps, usual, left);
    out.difference = d ? *d : *difference(run.steps, usual, other);
    return out;
}

}  // namespace

Numbers fewest(size_t count, const std::function<bool(const Numbers&)>& differs) {
    Numbers all(count);
    std::iota(all.begin(), all.end(), size_t{0});
    unsigned trials = 0;
    for (size_t parts = 2; all.size() > 1;) {
        const size_t each = (all.size() + parts - 1) / parts;
        bool less = false;
        for (size_t first = 0; first < all.size() && trials < max_trials; first += each) {
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
            const auto end =
                all.begin() + static_cast<std::ptrdiff_t>(std::min(first + each, all.size()));
            const Numbers part(begin, end);
            Numbers rest(all.begin(), begin);
            rest.insert(rest.end(), end, all.end());
            ++trials;
            if (differs(part)) {
                all = part;
            } else if (parts > 2 && differs(rest)) {
                all = rest;
            } else {
                continue;
            }
            less = true;
            break;
        }
        if (less)
            parts = 2;
        else if (each == 1)
            break;
        else
            parts = std::min(2 * parts, all.size());
    }
    return all;
}

Left run_in_order(std::span<const launch::Loaded> steps, const launch::State& first,
                  const StepOrders& orders, const OrderLimits& limits) {
    return run_all({steps, first, limits}, orders);
}

std::optional<OrderDifference> difference(std::span<const launch::Loaded> steps, const Left& was,
                                          const Left& is) {
    if (was.trap != is.trap) return OrderDifference{"", 0, 0, was.trap, is.trap};
    const launch::LaunchFile& file = steps.front().in.launch;
    std::set<std::string> wanted;
    for (const launch::Output& o : file.outputs) wanted.insert(o.name);
    for (size_t i = 0; i < file.buffers.size(); ++i) {
        const std::string& name = file.buffers[i].name;
        if (!wanted.empty() && !wanted.contains(name)) continue;
        if (auto d = first_in(file, name, was.state.memory.bytes[i], is.state.memory.bytes[i]); d)
            return d;
    }
    std::set<std::string> variables;
    for (const std::string& name : wanted)
        if (file.find_buffer(name) == nullptr) variables.insert(name);
    if (wanted.empty())
        for (const launch::Loaded& step : steps)
            for (const isa::Placed& v : step.program.variables)
                if (v.space == ptx::Space::global) variables.insert(v.name);
    for (const std::string& name : variables)
        for (const launch::Loaded& step : steps) {
            const auto a = launch::variable_bytes(was.state, step.in, step.program, name);
            const auto b = launch::variable_bytes(is.state, step.in, step.program, name);
            if (auto d = first_in(file, name, a, b); d) return d;
        }
    return std::nullopt;
}

std::vector<std::string> places_text(std::span<const launch::Loaded> steps, const OrderPair& pair) {
    std::vector<std::string> out;
    for (size_t i = 0; i < pair.places.size(); ++i)
        for (size_t k = 0; k < pair.places[i].size(); ++k) {
            const GiveWay& p = pair.places[i][k];
            const warp::Dim3& grid = steps[i].in.kernel().grid;
            std::string text = "CTA (" + std::to_string(p.cta % grid.x) + "," +
                               std::to_string(p.cta / grid.x % grid.y) + "," +
                               std::to_string(p.cta / grid.x / grid.y) + ")";
            const uint32_t operation = pair.operations[i][k];
            if (p.warp != GiveWay::no_warp) text = "warp " + std::to_string(p.warp) + " of " + text;
            text += " gives way ";
            if (p.warp == GiveWay::no_warp)
                text += "before it begins";
            else if (operation == UINT32_MAX)
                text += "at step " + std::to_string(p.step);
            else
                text += "before line " +
                        std::to_string(steps[i].program.operations[operation].place.line) +
                        " (step " + std::to_string(p.step) + ")";
            if (steps.size() > 1) text += ", launch " + std::to_string(i);
            out.push_back(std::move(text));
        }
    return out;
}

std::string orders_text(std::span<const launch::Loaded> steps, const OrdersResult& r) {
    if (!r.pair) return {};
    const OrderDifference& d = r.pair->difference;
    const auto value = [](const std::string& text) { return text.empty() ? "none" : text; };
    std::string out = element_text(d) + " depends on the order of warps and CTAs: " + value(d.was) +
                      " in the usual order, " + value(d.is) + " where\n";
    for (const std::string& place : places_text(steps, *r.pair)) out += "  " + place + "\n";
    out += "  " + std::to_string(r.different) + " of " + std::to_string(r.orders) +
           " orders give another result, the first by --order " + std::to_string(r.pair->seed) +
           "\n";
    return out;
}

std::string element_text(const OrderDifference& d) {
    return d.name.empty() ? "the trap" : d.name + "[" + std::to_string(d.index) + "]";
}

OrdersResult try_orders(std::span<const launch::Loaded> steps, const launch::State& first,
                        uint64_t orders, const OrderLimits& limits) {
    OrdersResult out;
    const Run run{steps, first, limits};
    const Left usual = run_all(run, {0, Places(steps.size())});
    out.refused = usual.refused;
    out.stopped = usual.stopped;
    if (out.refused || out.stopped) return out;
    for (uint64_t seed = 1; seed <= orders; ++seed) {
        const Left other = run_all(run, {seed, std::nullopt});
        out.stopped = other.stopped;
        if (out.stopped) return out;
        ++out.orders;
        if (!difference(steps, usual, other)) continue;
        ++out.different;
        // The first one is looked into: another may be shorter, but each takes many runs.
        if (!out.pair) out.pair = shortest(run, usual, seed, other);
    }
    return out;
}

}  // namespace lockwarp::validate
