// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/grid.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include "emu/exec/cluster_runner.hpp"
#include "emu/exec/fold.hpp"
#include "emu/exec/grid_limits.hpp"
#include "emu/exec/inspector.hpp"
#include "emu/exec/late.hpp"
#include "emu/exec/listeners.hpp"
#include "emu/exec/ordered.hpp"
#include "emu/exec/parallel.hpp"
#include "emu/exec/ready.hpp"
#include "emu/exec/schedule.hpp"
#include "emu/exec/turns.hpp"
#include "emu/exec/unneeded.hpp"
#include "emu/warp/heap.hpp"

namespace lockwarp::exec {

namespace {

// Register files and local memory of one CTA or cluster; the caller's machine is not to be
// exhausted. NCCL's kernels, whose functions are called by address, need 600 MB a cluster.
constexpr uint64_t max_cta_bytes = uint64_t{1} << 31;

std::string dims(const std::array<uint32_t, 3>& d) {
    return "(" + std::to_string(d[0]) + ", " + std::to_string(d[1]) + ", " + std::to_string(d[2]) +
           ")";
}

// Register files and local memory.
uint64_t cta_bytes(const isa::Program& p, const warp::Launch& l) {
    return (l.block.count() + 31) / 32 * (p.register_bytes + uint64_t{32} * p.local_bytes);
}

// Clusters that are under way at a time: as many as a large GPU has, if the memory is there.
constexpr uint64_t max_resident = 8192;

uint64_t resident_clusters(const isa::Program& p, const warp::Launch& l,
                           const warp::Clusters& clusters) {
    // Those that wait for each other must all be there: an A100 holds 216 CTAs of 3 MB.
    const uint64_t max_bytes = uint64_t{1} << (l.cooperative ? 32 : 29);
    const uint64_t bytes = cta_bytes(p, l) + p.shared_static + l.dynamic_shared + (1u << 14);
    return std::max<uint64_t>(std::min(max_bytes / bytes, max_resident) / clusters.size(), 1);
}

bool needs_device(const isa::Program& p) {
    return std::ranges::any_of(p.calls,
                               [](const isa::Call& c) { return isa::needs_device(c.system); });
}

std::string refusal(const isa::Program& p, const warp::Launch& l,
                    const warp::GlobalMemory& global) {
    const auto& b = l.block;
    const auto& g = l.grid;
    if (!is_block(b))
        return "block " + dims({b.x, b.y, b.z}) + ": a CTA has 1 to 1024 threads, at most 64 in z";
    if (!is_grid(g))
        return "grid " + dims({g.x, g.y, g.z}) + ": x is 1 to 2147483647, y and z are 1 to 65535";
    if (l.first_cta >= g.count()) return "the grid has no CTA " + std::to_string(l.first_cta);
    const std::array<uint32_t, 3> block{b.x, b.y, b.z};
    if (p.required_block[0] != 0 && p.required_block != block)
        return "block " + dims(block) + ": the kernel requires " + dims(p.required_block) +
               " (.reqntid)";
    if (p.maximum_block[0] != 0 &&
        b.count() > uint64_t{p.maximum_block[0]} * p.maximum_block[1] * p.maximum_block[2])
        return "block " + dims(block) + ": the kernel allows at most " + dims(p.maximum_block) +
               " (.maxntid)";
    if (needs_device(p) && l.device == nullptr)
        return "it launches kernels itself (dynamic parallelism), which is not supported here";
    const uint64_t shared = uint64_t{p.shared_static} + l.dynamic_shared;
    const uint32_t most = isa::row(p.arch).shared_max;
    if (shared > most)
        return std::to_string(shared) + " bytes of shared memory (" +
               std::to_string(p.shared_static) + " static): " + std::string(isa::row(p.arch).name) +
               " has " + std::to_string(most);
    if (l.parameters.size() != p.parameter_bytes)
        return std::to_string(l.parameters.size()) + " bytes of parameters: the kernel has " +
               std::to_string(p.parameter_bytes);
    if (std::string why = warp::cluster_refusal(p, g, l.cluster, l.non_portable_cluster);
        !why.empty())
        return why;
    const warp::Clusters clusters = warp::clusters_of(p, g, l.cluster);
    const std::string unit = clusters.size() == 1 ? "CTA" : "cluster";
    if (l.first_cta % clusters.slab() != 0 || l.ctas % clusters.slab() != 0)
        return "CTAs from " + std::to_string(l.first_cta) +
               " on: a part of the grid has whole clusters, of " + std::to_string(clusters.slab()) +
               " CTAs side by side";
    if (clusters.size() * cta_bytes(p, l) > max_cta_bytes)
        return "a " + unit + " of this kernel needs more than 2 GB for registers and local memory";
    const uint64_t resident = resident_clusters(p, l, clusters);
    if (l.cooperative && clusters.count() > resident)
        return "a cooperative launch of " + std::to_string(clusters.count()) + ' ' + unit +
               "s: all run at a time, and of this kernel " + std::to_string(resident) + " can";
    return global.overlap();
}

// What the CTAs printed, in their order: those up to the first cluster that trapped, and as much as
// fits.
void keep_printed(warp::Result& result, const warp::Clusters& clusters, uint64_t last) {
    std::vector<warp::Printed>& printed = result.printed;
    std::erase_if(printed,
                  [&](const warp::Printed& p) { return clusters.cluster_of(p.cta_index) > last; });
    std::ranges::stable_sort(printed, {}, &warp::Printed::cta_index);
    uint64_t bytes = 0;
    std::erase_if(printed, [&](const warp::Printed& p) {
        bytes += p.text.size();
        if (bytes <= warp::max_printed_bytes) return false;
        result.printed_bytes_lost += p.text.size();
        return true;
    });
}

struct Grid {
    const Code& code;
    const warp::Launch& launch;
    const warp::GlobalMemory& global;
    Heaps heaps;
    const warp::Clusters& clusters;
    Handover handover;
    Turns turns;
    Inspector* inspector = nullptr;
    const Step* early = nullptr;  // of the late schedule: the steps of the early one
    bool ordered = false;         // accesses wait for their turns, all CTAs are one worker's
    std::atomic<uint64_t> first_trap{UINT64_MAX};  // the cluster
};

// What one worker did.
struct Part {
    std::vector<std::unique_ptr<ClusterRunner>> runners;
    std::optional<warp::Trap> trap;  // of the lowest cluster
    uint64_t trapped = UINT64_MAX;   // which
    std::vector<ClusterRunner*> idle;
    Standing standing;
};

ClusterRunner* idle_runner(Grid& grid, Part& part) {
    if (part.idle.empty()) {
        part.runners.push_back(std::make_unique<ClusterRunner>(grid.code, grid.launch, grid.global,
                                                               grid.heaps, grid.inspector,
                                                               grid.clusters, grid.early));
        return part.runners.back().get();
    }
    ClusterRunner* const runner = part.idle.back();
    part.idle.pop_back();
    return runner;
}

void end(Grid& grid, Part& part, ClusterRunner* runner, bool heard) {
    part.idle.push_back(runner);
    if (heard)
        for (const auto& cta : runner->ctas()) {
            const bool last = runner->trap().has_value() && cta == runner->ctas().back();
            grid.handover.put(cta->place(), cta->listeners(), last);
        }
    if (const auto& trap = runner->trap(); heard && trap) {
        uint64_t first = grid.first_trap;
        while (runner->index() < first &&
               !grid.first_trap.compare_exchange_weak(first, runner->index())) {
        }
        if (runner->index() < part.trapped) {
            part.trap = trap;
            part.trapped = runner->index();
        }
    }
    if (grid.launch.progress != nullptr)
        grid.launch.progress->fetch_add(grid.clusters.size(), std::memory_order_relaxed);
    grid.turns.ended();
}

// Clusters after one that trapped need not run; those before it must, theirs goes first. Those that
// wait for it end as it did.
void run_turn(Grid& grid, Part& part, ClusterRunner* runner, Turn turn) {
    const uint64_t seen = grid.turns.changes();
    const uint64_t stores = runner->stores();
    const uint64_t first_trap = grid.first_trap;
    const bool heard = runner->index() <= first_trap;
    if (!heard || (turn == Turn::give_up && first_trap != UINT64_MAX))
        return end(grid, part, runner, heard);
    const uint64_t instructions = runner->instructions();
    const ClusterRunner::Stands stands = runner->go_on(turn, part.standing.any_waits());
    if (stands == ClusterRunner::Stands::ended) return end(grid, part, runner, true);
    part.standing.add(runner, stands == ClusterRunner::Stands::only_waits, seen);
    if (runner->stores() != stores)
        grid.turns.changed();
    else if (turn == Turn::whole)
        grid.turns.in_vain(runner->instructions() - instructions);
}

bool may_change_outside(Grid& grid) {
    warp::Outside* const outside = grid.launch.outside;
    if (outside == nullptr || grid.first_trap != UINT64_MAX) return false;
    return outside->may_change(grid.turns.progress());
}

// Clusters in the order of the grid. One that waits for others stands back, for the next ones and,
// when no other can begin, for those that stood back before it.
void run_part(Grid& grid, Part& part) {
    Turns& turns = grid.turns;
    turns.enter();
    for (;;) {
        if (const auto index = turns.begin_next()) {
            // None of the following needs to run either.
            if (*index > grid.first_trap) {
                turns.begin_no_more();
                turns.ended();
                continue;
            }
            ClusterRunner* const runner = idle_runner(grid, part);
            runner->begin(*index);
            run_turn(grid, part, runner, Turn::ordinary);
            continue;
        }
        const uint64_t changes = turns.changes();
        if (ClusterRunner* const runner = part.standing.take_ready(changes)) {
            run_turn(grid, part, runner, Turn::ordinary);
            continue;
        }
        if (part.standing.empty() && turns.all_begun()) break;
        const Turns::Lowest own = part.standing.lowest();
        if (grid.ordered && grid.launch.oracle->stuck(own.release == UINT64_MAX)) {
            turns.changed();
            continue;
        }
        const Turns::Chosen chosen = turns.wait(changes, own);
        if (chosen.turn == Turn::give_up && chosen.outside && may_change_outside(grid)) {
            turns.look_again();
            continue;
        }
        if (chosen.cluster != UINT64_MAX)
            run_turn(grid, part, part.standing.take(chosen.cluster), chosen.turn);
    }
    turns.leave();
}

// What one worker did, to what the launch gives back. `trapped`: the cluster of its trap.
void add(warp::Result& result, uint64_t& trapped, Part& part) {
    if (part.trapped < trapped) {
        result.trap = std::move(part.trap);
        trapped = part.trapped;
    }
    for (const auto& runner : part.runners)
        for (const auto& cta : runner->ctas()) {
            std::ranges::move(cta->printed(), std::back_inserter(result.printed));
            result.printed_bytes_lost += cta->printed_bytes_lost();
            std::ranges::move(cta->launched(), std::back_inserter(result.launches));
            const warp::Statistics s = cta->statistics();
            result.statistics.instructions += s.instructions;
            result.statistics.lane_operations += s.lane_operations;
            result.statistics.products += s.products;
            result.statistics.ctas += s.ctas;
            result.statistics.warps += s.warps;
        }
}

warp::Result run_grid(const Ready& ready, const warp::Launch& launch, Inspector* inspector,
                      const Schedule& schedule);

}  // namespace

std::shared_ptr<const Ready> make_ready(const isa::Program& program, bool plain_arithmetic,
                                        bool fold_constants) {
    auto ready = std::make_shared<Ready>();
    std::vector<std::string> missing = bind(program, plain_arithmetic, ready->code);
    ready->code.unneeded = std::make_shared<const UnneededLoads>(program);
    if (!missing.empty()) {
        ready->missing = std::move(missing[0]);
    } else if (fold_constants) {
        ready->folded = find_folded(program);
        apply_folded(ready->folded, ready->code);
    }
    return ready;
}

warp::Result launch(const isa::Program& program, const warp::Launch& launch) {
    return exec::launch(*make_ready(program, launch.plain_arithmetic, launch.fold_constants),
                        launch);
}

warp::Result launch(const Ready& ready, const warp::Launch& launch) {
    return run_grid(ready, launch, nullptr, {});
}

warp::Result launch(const isa::Program& program, const warp::Launch& launch,
                    const Schedule& schedule) {
    return exec::launch(*make_ready(program, launch.plain_arithmetic, launch.fold_constants),
                        launch, schedule);
}

warp::Result launch(const Ready& ready, const warp::Launch& launch, const Schedule& schedule) {
    return run_grid(ready, launch, nullptr, schedule);
}

warp::Result inspect(const Ready& ready, const warp::Launch& launch, Inspector& inspector,
                     const Schedule& schedule) {
    return run_grid(ready, launch, &inspector, schedule);
}

namespace {

warp::Result run_grid(const Ready& ready, const warp::Launch& launch, Inspector* inspector,
                      const Schedule& schedule) {
    const isa::Program& program = *ready.code.program;
    warp::Result result;
    // The module's own variables are one more buffer, fresh where the caller keeps none.
    std::vector<uint8_t> fresh;
    std::vector<uint8_t>& variables = launch.variables != nullptr ? *launch.variables : fresh;
    if (variables.size() != program.global_image.size()) variables = program.global_image;
    std::vector<warp::Buffer> buffers = launch.buffers;
    if (!variables.empty())
        buffers.push_back({"module variables", isa::module_global_base, variables});
    std::vector<uint8_t> workspace;
    if (launch.cooperative) {
        workspace.resize(isa::grid_workspace_bytes);
        std::memcpy(workspace.data(), &isa::grid_workspace_bytes, sizeof(uint32_t));
        buffers.push_back({"grid workspace", isa::grid_workspace, workspace});
    }
    const bool has_heap = std::ranges::any_of(
        program.calls, [](const isa::Call& c) { return isa::uses_heap(c.system); });
    if (launch.heap_bytes > warp::Heap::max_bytes) {
        result.refusal = {"a heap of " + std::to_string(launch.heap_bytes) +
                          " bytes: at most 1 GB is supported"};
        return result;
    }
    std::optional<warp::Heap> own_heap;
    if (has_heap && launch.heap == nullptr)
        own_heap.emplace(launch.heap_address != 0 ? launch.heap_address : isa::heap_base,
                         launch.heap_bytes);
    warp::Heap* const heap = own_heap ? &*own_heap : launch.heap;
    if (heap != nullptr && heap->bytes() != 0) buffers.push_back(heap->buffer());
    std::optional<warp::Heap> parameters;
    if (needs_device(program)) {
        parameters.emplace(isa::launch_buffers, isa::launch_buffer_bytes);
        buffers.push_back(parameters->buffer());
        buffers.back().name = "the device runtime's";
    }
    const warp::GlobalMemory global(std::move(buffers), launch.common);
    if (std::string why = refusal(program, launch, global); !why.empty()) {
        result.refusal = {std::move(why)};
        return result;
    }
    if (!ready.missing.empty()) {
        result.refusal = {ready.missing};
        return result;
    }
    result.folded = ready.folded;
    // An oracle's order is of this launch alone; the steps' plans stay those of `ready`.
    Code ordered;
    if (launch.oracle != nullptr) ordered = ready.code;
    const bool is_ordered = make_ordered(ordered, launch);
    if (schedule.late && launch.oracle != nullptr) {
        result.refusal = {
            "a run that is held against another one has its asynchronous instructions done where "
            "they are issued"};
        return result;
    }
    const Code late = schedule.late ? make_late(ready.code, schedule.operation) : Code{};
    const Code& code = schedule.late ? late : is_ordered ? ordered : ready.code;

    const uint64_t rest = launch.grid.count() - launch.first_cta;
    const uint64_t ctas = launch.ctas == 0 ? rest : std::min(launch.ctas, rest);
    const warp::Clusters clusters = warp::clusters_of(program, launch.grid, launch.cluster);
    const uint64_t resident =
        launch.cooperative ? max_resident : resident_clusters(program, launch, clusters);
    const uint64_t first = launch.first_cta / clusters.size();
    Grid grid{code,
              launch,
              global,
              {heap, parameters ? &*parameters : nullptr},
              clusters,
              Handover(launch.observers, launch.first_cta),
              Turns(first, first + ctas / clusters.size(), resident)};
    grid.ordered = is_ordered;
    grid.early = schedule.late ? ready.code.steps.data() : nullptr;
    grid.inspector = inspector;
    if (inspector != nullptr) inspector->begins(global);
    const bool on_one_thread = grid.ordered || inspector != nullptr || launch.order != nullptr ||
                               std::ranges::any_of(launch.observers, [](const warp::Observer* o) {
                                   return o->wants_one_thread();
                               });
    const auto workers = on_one_thread ? 1u
                                       : static_cast<unsigned>(std::min<uint64_t>(
                                             worker_count(launch.threads), ctas / clusters.size()));
    std::vector<Part> parts(workers);
    for_each_worker(workers, [&](unsigned worker) { run_part(grid, parts[worker]); });
    uint64_t trapped = UINT64_MAX;
    for (Part& part : parts) add(result, trapped, part);
    const bool is_stopped = result.trap && result.trap->kind == warp::TrapKind::stopped;
    std::ranges::stable_sort(result.launches, {}, &warp::DeviceLaunch::cta_index);
    if (result.trap) result.launches.clear();
    keep_printed(result, clusters, is_stopped ? UINT64_MAX : grid.first_trap.load());
    return result;
}

}  // namespace

}  // namespace lockwarp::exec
