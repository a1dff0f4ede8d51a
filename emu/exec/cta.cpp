// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/cta.hpp"

#include <algorithm>
#include <cstring>

#include "emu/exec/deadlock.hpp"
#include "emu/exec/inspector.hpp"
#include "emu/exec/running.hpp"
#include "emu/exec/special_registers.hpp"
#include "emu/exec/stopped.hpp"

namespace lockwarp::exec {

using warp::Path;
using warp::Warp;

namespace {

// Turns of a CTA's warps before another CTA may have the core: CTAs may wait for each other too. Of
// a cluster's CTAs each has one, and then the next.
constexpr unsigned max_rounds = 16;

// Where somebody listens, a CTA that has retired no more than this goes on, so that what is kept of
// it can be let go soon.
constexpr uint64_t max_heard = 320'000;

size_t warps_of(const warp::Launch& launch) {
    return static_cast<size_t>((launch.block.count() + 31) / 32);
}

}  // namespace

CtaRunner::CtaRunner(const Code& code, const warp::Launch& launch, const warp::GlobalMemory& global,
                     const Heaps& heaps, Inspector* inspector, Cluster& cluster, uint32_t rank)
    : registers_(*code.program, code.registers, warps_of(launch), rank) {
    cluster.ctas.push_back(&context_);
    cta_.rank = rank;
    cta_.warps.resize(warps_of(launch));
    cta_.shared.resize(shared_bytes(*code.program, launch));
    context_.program = code.program;
    context_.steps = code.steps.data();
    context_.folded = code.folded.data();
    context_.heap = heaps.blocks;
    context_.buffers = heaps.buffers;
    context_.inspector = inspector;
    context_.launch = &launch;
    if (launch.leave_out_loads) context_.left_out = code.unneeded.get();
    context_.global = &global;
    context_.cta = &cta_;
    context_.cluster = &cluster;
    context_.shared_begin = in_window_of(rank, code.program->shared_begin);
    context_.files = &registers_;
}

warp::CtaPlace CtaRunner::place() const {
    const Cluster& cluster = *context_.cluster;
    return {cta_.id, cta_.index, cluster.index, cta_.rank, cluster.of.size()};
}

void CtaRunner::begin() {
    const warp::Dim3& grid = context_.launch->grid;
    const uint64_t index = context_.cluster->of.cta(context_.cluster->index, cta_.rank);
    context_.trap.reset();
    context_.device.begun.clear();
    context_.device.errors.clear();
    context_.device.streams.clear();
    context_.device.events.clear();
    cta_.ended = false;
    cta_.index = index;
    cta_.id = {static_cast<uint32_t>(index % grid.x),
               static_cast<uint32_t>(index / grid.x % grid.y),
               static_cast<uint32_t>(index / grid.x / grid.y)};
    cta_.barriers.fill({});
    std::ranges::fill(cta_.shared, context_.launch->unwritten_byte);
    context_.wgmma_groups.assign(cta_.warps.size(), 0);
    for (uint32_t i = 0; i < cta_.warps.size(); ++i) begin_warp(i);
    way_.begin(context_.launch->order, index, cta_.warps.size());
    const std::vector<warp::Observer*>& observers = context_.launch->observers;
    context_.observed =
        !observers.empty() && listeners_.begin(observers, place(), cta_.warps.size());
    context_.listeners = context_.observed ? &listeners_ : nullptr;
    context_.heard_by = context_.listeners;
    if (context_.inspector != nullptr) context_.inspector->begins(cta_);
}

void CtaRunner::begin_warp(uint32_t index) {
    const isa::Program& program = *context_.program;
    const warp::Launch& launch = *context_.launch;
    Warp& w = cta_.warps[index];
    w.index = index;
    w.step = w.slept = w.gives_way_from = 0;
    const uint64_t rest = launch.block.count() - uint64_t{index} * 32;
    w.live = rest >= 32 ? all_lanes : (1u << rest) - 1;
    w.cluster_arrived = w.cluster_opened = 0;
    w.meetings.clear();
    w.paths.assign(1, Path{0, w.live});
    w.registers = registers_.of_warp(index);
    w.calls.clear();
    w.top.fill(program.local_bytes);
    w.local_stride = program.local_bytes;
    w.local_fill = launch.unwritten_byte;
    w.local.assign(size_t{32} * program.local_bytes, w.local_fill);
    w.tracks_local = launch.oracle != nullptr;
    w.local_written.assign(w.tracks_local ? w.local.size() : 0, 0);
    registers_.reset(index);
    for (const isa::SpecialUse& s : program.specials) {
        uint64_t value = special_value(s.special, context_, index, 0);
        if (s.type == isa::Type::pred) {
            const uint32_t lanes = value != 0 ? all_lanes : 0;  // the same in each
            std::memcpy(w.registers + s.ref, &lanes, sizeof lanes);
            continue;
        }
        const bool differs = is_of_lane(s.special);
        const unsigned bytes = isa::bits(s.type) / 8;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (differs) value = special_value(s.special, context_, index, lane);
            std::memcpy(w.registers + s.ref + lane * bytes, &value, bytes);
        }
    }
}

void CtaRunner::tell_retired() {
    std::atomic<uint64_t>* const retired = context_.launch->retired;
    if (retired == nullptr) return;
    retired->fetch_add(context_.statistics.instructions - told_, std::memory_order_relaxed);
    told_ = context_.statistics.instructions;
}

// What comes before the turn's rounds.
Round CtaRunner::begin_turn(Turn turn) {
    switch (turn) {
        case Turn::ordinary:
        case Turn::whole:
            Scheduler::wake(context_);
            break;
        case Turn::release:
            Scheduler::release(context_);
            break;
        case Turn::give_up:
            context_.trap = deadlock(context_.cluster->ctas);
            return Round::ended;
    }
    return Round::goes_on;
}

CtaRunner::Stands CtaRunner::go_on(Turn turn, bool alone, bool others_wait) {
    if (way_.gives_way_first()) return Stands::waits;
    const Running running(context_);
    Round round = begin_turn(turn);
    const warp::Launch& launch = *context_.launch;
    const unsigned rounds = launch.turn == 0 && alone ? max_rounds : 1;
    const bool is_heard =
        alone && context_.observed && launch.turn == 0 && launch.oracle == nullptr;
    const uint64_t begin = context_.statistics.instructions;
    const uint64_t end = begin + (is_heard ? max_heard : 0);
    // A round asks one path of each warp. Of lanes that wait apart from each other all are asked
    // before others have their turn, or they would be asked anew for ever.
    constexpr unsigned most_paths = 32;
    const auto has_time = [&](unsigned n) {
        const uint64_t now = context_.statistics.instructions;
        return n < rounds || now < end || (n <= most_paths && now == begin);
    };
    context_.gave_way = false;
    const auto gives_way = [&] { return others_wait && context_.gave_way; };
    for (unsigned n = 0; has_time(n) && round == Round::goes_on && !gives_way(); ++n) {
        if (is_stop_wanted(context_)) {
            context_.trap = stopped(context_);
            round = Round::ended;
        } else {
            round = scheduler_.round(context_, way_, turn == Turn::whole && n == 0, others_wait);
        }
        tell_retired();
    }
    if (round == Round::only_waits) return Stands::only_waits;
    if (round == Round::goes_on) return Stands::waits;
    if (!alone && !context_.trap) return Stands::exited;
    finish();
    return Stands::ended;
}

void CtaRunner::give_up(warp::Trap trap) {
    context_.trap = std::move(trap);
    finish();
}

void CtaRunner::finish() {
    if (Late* const late = context_.cluster->late.get(); late != nullptr && !context_.trap)
        late->finish(context_);
    cta_.ended = true;
    if (!context_.trap || context_.trap->kind != warp::TrapKind::stopped) {
        context_.statistics.ctas += 1;
        context_.statistics.warps += cta_.warps.size();
    }
    if (context_.trap) listeners_.trapped(*context_.trap);
    if (context_.inspector != nullptr)
        context_.inspector->ended(cta_, context_.trap ? &*context_.trap : nullptr);
}

warp::Statistics CtaRunner::statistics() const {
    warp::Statistics s = context_.statistics;
    s.products = context_.products;
    return s;
}

}  // namespace lockwarp::exec
