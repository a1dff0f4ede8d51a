// SPDX-License-Identifier: Apache-2.0
#include "validate/schedules.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "emu/exec/schedule.hpp"
#include "emu/lockwarp.hpp"

namespace lockwarp::validate {

namespace {

using isa::Op;
using Reader = ScheduleDifference::Reader;

constexpr std::array asynchronous{
    Op::cp_async,      Op::bulk_load,    Op::bulk_send,    Op::bulk_send_reduce, Op::bulk_store,
    Op::bulk_reduce,   Op::tensor_load,  Op::tensor_store, Op::tensor_reduce,    Op::async_store,
    Op::launch_cancel, Op::async_reduce, Op::wgmma_mma,
};

// Operations of a launch that are tried one by one.
constexpr size_t max_tried = 64;
// Results of loads that are kept to find the first other one.
constexpr size_t max_loads = size_t{1} << 24;

bool sums_floats(const isa::Operation& o) {
    return o.op == Op::tensor_reduce || (o.op == Op::bulk_reduce && isa::is_float(o.mod.type[0]));
}

// What loads gave, by CTA and warp, in the order of each.
using Loads = std::map<std::pair<uint64_t, uint32_t>, std::vector<uint64_t>>;

bool is_load(const warp::Retired& e, const isa::Operation& o) {
    if (o.written == 0 || isa::row(o.op).memory == isa::Memory::barrier) return false;
    return std::any_of(e.accesses, e.accesses + e.access_count,
                       [](const warp::Access& a) { return !a.store; });
}

// A hash of all bits that it gave, and of its place.
uint64_t result_of(const warp::Retired& e, const isa::Operation& o) {
    constexpr uint64_t multiplier = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio
    uint64_t hash = e.operation;
    const auto mix = [&](uint64_t word) {
        hash = (hash ^ word) * multiplier;
        hash ^= hash >> 29;
    };
    for (uint32_t i = 0; i < o.written; ++i) {
        const isa::Register& r = e.program->registers[e.program->uses[o.first_use + i]];
        if (r.type == isa::Type::pred) continue;
        const bool wide = isa::bits(r.type) == 64;
        for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
            uint64_t word = 0;
            std::memcpy(&word, e.registers + r.ref + size_t{lane} * (wide ? 8 : 4), wide ? 8 : 4);
            mix(word);
        }
    }
    return hash;
}

// Keeps what loads give; or, against what was kept, finds the first that gives something else. All
// CTAs run on one thread.
class LoadsOf : public warp::Observer {
  public:
    explicit LoadsOf(Loads& loads, bool compares) : loads_(loads), compares_(compares) {}
    bool wants_one_thread() const override { return true; }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(*this);
    }
    const std::optional<Reader>& found() const { return found_; }

  private:
    struct OfCta : warp::CtaObserver {
        explicit OfCta(LoadsOf& o) : of(o) {}
        void retired(const warp::Retired& e) override { of.retired(e); }
        LoadsOf& of;
    };

    void retired(const warp::Retired& e) {
        const isa::Operation& o = e.program->operations[e.operation];
        if (found_ || kept_ >= max_loads || e.executed == 0 || !is_load(e, o)) return;
        ++kept_;
        const std::pair key{e.cta_index, e.warp};
        const uint64_t result = result_of(e, o);
        if (!compares_) {
            loads_[key].push_back(result);
            return;
        }
        size_t& at = at_[key];
        const std::vector<uint64_t>& before = loads_[key];
        if (at < before.size() && before[at] == result) {
            ++at;
            return;
        }
        found_ = Reader{e.operation, e.cta, e.warp, e.executed, e.step};
    }

    Loads& loads_;
    bool compares_;
    size_t kept_ = 0;
    std::map<std::pair<uint64_t, uint32_t>, size_t> at_;
    std::optional<Reader> found_;
};

// What is late: of all launches everything, of one everything, or of one an operation.
struct Lateness {
    size_t first = 0, end = 0;  // launches
    uint32_t operation = UINT32_MAX;
};

struct Run {
    std::span<const launch::Loaded> steps;
    const launch::State& first;
    const OrderLimits& limits;

    Left with(const Lateness& late, warp::Observer* observer = nullptr) const;
    // false: the launches after it do not run.
    bool step(size_t i, const Lateness& late, warp::Observer* observer, Left& out) const;
};

bool Run::step(size_t i, const Lateness& late, warp::Observer* observer, Left& out) const {
    const launch::Loaded& at = steps[i];
    launch::Result<warp::Launch> launch =
        launch::make_launch(at.in.launch, at.in.kernel(), at.program, out.state.memory);
    if (!launch) {
        out.refused = launch.error().sentence;
        return false;
    }
    std::vector<uint8_t> variables = launch::variables_before(out.state, at.in, at.program);
    const warp::TurnOrder usual{.seed = 0, .listed = true, .places = {}, .made = nullptr};
    launch->order = &usual;
    launch->variables = &variables;
    launch->stop = limits.stop;
    if (limits.max_steps != 0) launch->max_steps = limits.max_steps;
    const exec::Schedule schedule{i >= late.first && i < late.end, late.operation};
    if (observer != nullptr) launch->observers.push_back(observer);
    const warp::Result result = exec::launch(at.program, *launch, schedule);
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

Left Run::with(const Lateness& late, warp::Observer* observer) const {
    Left out;
    out.state = first;
    for (size_t i = 0; i < steps.size(); ++i)
        if (!step(i, late, i == late.first ? observer : nullptr, out)) break;
    return out;
}

// Operations of the launch to be tried; of products one, which stands for all.
std::vector<uint32_t> candidates(const isa::Program& program) {
    std::vector<uint32_t> out;
    bool products = false;
    for (uint32_t i = 0; i < program.operations.size() && out.size() < max_tried; ++i) {
        const Op op = program.operations[i].op;
        if (!is_asynchronous(op) || (op == Op::wgmma_mma && products)) continue;
        products |= op == Op::wgmma_mma;
        out.push_back(i);
    }
    return out;
}

// Who reads what that operation has not brought yet.
std::optional<Reader> reader_of(const Run& run, const Lateness& late) {
    const isa::Program& program = run.steps[late.first].program;
    if (program.operations[late.operation].op == Op::wgmma_mma) return std::nullopt;
    Loads loads;
    LoadsOf early(loads, false), compared(loads, true);
    (void)run.with({late.first, late.first}, &early);
    (void)run.with(late, &compared);
    return compared.found();
}

ScheduleDifference explained(const Run& run, const Left& early, ScheduleDifference d) {
    const isa::Program& program = run.steps[d.launch].program;
    for (const uint32_t operation : candidates(program)) {
        const Lateness late{d.launch, d.launch + 1, operation};
        const Left left = run.with(late);
        if (left.stopped || left.refused) break;
        const auto differs = difference(run.steps, early, left);
        if (!differs) continue;
        d.what = *differs;
        d.operation = operation;
        d.reader = reader_of(run, late);
        if (!sums_floats(program.operations[operation])) break;
    }
    return d;
}

}  // namespace

bool is_asynchronous(Op op) { return std::ranges::find(asynchronous, op) != asynchronous.end(); }

SchedulesResult try_schedules(std::span<const launch::Loaded> steps, const launch::State& first,
                              const OrderLimits& limits, const Left* known) {
    SchedulesResult out;
    out.compared = std::ranges::any_of(steps, [](const launch::Loaded& step) {
        return std::ranges::any_of(step.program.operations,
                                   [](const isa::Operation& o) { return is_asynchronous(o.op); });
    });
    if (!out.compared) return out;
    const Run run{steps, first, limits};
    const Left all = run.with({0, steps.size()});
    out.refused = all.refused;
    out.stopped = all.stopped;
    if (out.refused || out.stopped) return out;
    if (known != nullptr && !difference(steps, *known, all)) return out;
    const Left early = run.with({});
    out.refused = early.refused;
    out.stopped = early.stopped;
    if (out.refused || out.stopped) return out;
    const std::optional<OrderDifference> d = difference(steps, early, all);
    if (!d) return out;
    for (size_t i = 0; i < steps.size(); ++i) {
        const Left left = steps.size() == 1 ? all : run.with({i, i + 1});
        out.stopped = left.stopped;
        if (out.stopped) return out;
        const auto differs = difference(steps, early, left);
        if (!differs) continue;
        ScheduleDifference found = explained(run, early, {i, *differs, UINT32_MAX, {}});
        const bool sums = found.operation == UINT32_MAX
                              ? std::ranges::any_of(steps[i].program.operations, sums_floats)
                              : sums_floats(steps[i].program.operations[found.operation]);
        if (sums) continue;
        out.difference = std::move(found);
        return out;
    }
    return out;
}

}  // namespace lockwarp::validate
