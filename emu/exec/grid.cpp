#include "emu/exec/grid.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include "emu/exec/cta.hpp"
#include "emu/exec/heap.hpp"
#include "emu/exec/parallel.hpp"

namespace lockwarp::exec {

namespace {

// CUDA's limits of a launch (CUDA C++ programming guide, "Technical Specifications").
constexpr uint32_t most_threads = 1024;
constexpr uint32_t most_block_z = 64;
constexpr uint32_t most_grid_yz = 65535;
constexpr uint32_t most_grid_x = 0x7fffffff;
// Register files and local memory of one CTA; the caller's machine is not to be exhausted.
constexpr uint64_t most_cta_bytes = uint64_t{1} << 29;
constexpr uint64_t most_heap_bytes = uint64_t{1} << 30;

std::string dims(const std::array<uint32_t, 3>& d) {
    return "(" + std::to_string(d[0]) + ", " + std::to_string(d[1]) + ", " + std::to_string(d[2]) +
           ")";
}

std::string refusal(const isa::Program& p, const warp::Launch& l,
                    const warp::GlobalMemory& global) {
    const auto& b = l.block;
    const auto& g = l.grid;
    if (b.count() == 0 || b.count() > most_threads || b.z > most_block_z)
        return "block " + dims({b.x, b.y, b.z}) + ": a CTA has 1 to 1024 threads, at most 64 in z";
    if (g.count() == 0 || g.x > most_grid_x || g.y > most_grid_yz || g.z > most_grid_yz)
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
    const uint64_t shared = uint64_t{p.shared_static} + l.dynamic_shared;
    const uint32_t most = isa::row(p.arch).shared_max;
    if (shared > most)
        return std::to_string(shared) + " bytes of shared memory (" +
               std::to_string(p.shared_static) + " static): " + std::string(isa::row(p.arch).name) +
               " has " + std::to_string(most);
    if (l.parameters.size() != p.parameter_bytes)
        return std::to_string(l.parameters.size()) + " bytes of parameters: the kernel has " +
               std::to_string(p.parameter_bytes);
    const uint64_t warps = (b.count() + 31) / 32;
    if (warps * (p.register_bytes + uint64_t{32} * p.local_bytes) > most_cta_bytes)
        return "a CTA of this kernel needs more than 512 MB for registers and local memory";
    return global.overlap();
}

// What the CTAs printed, in their order: those up to the first that trapped, and as much as fits.
void keep_printed(warp::Result& result, uint64_t last_cta) {
    std::vector<warp::Printed>& printed = result.printed;
    std::erase_if(printed, [&](const warp::Printed& p) { return p.cta_index > last_cta; });
    std::ranges::stable_sort(printed, {}, &warp::Printed::cta_index);
    uint64_t bytes = 0;
    std::erase_if(printed, [&](const warp::Printed& p) {
        bytes += p.text.size();
        if (bytes <= warp::most_printed_bytes) return false;
        result.printed_bytes_lost += p.text.size();
        return true;
    });
}

}  // namespace

warp::Result launch(const isa::Program& program, const warp::Launch& launch,
                    warp::Observer* observer) {
    warp::Result result;
    // The module's own variables are one more buffer, fresh for each launch.
    std::vector<uint8_t> variables = program.global_image;
    std::vector<warp::Buffer> buffers = launch.buffers;
    if (!variables.empty())
        buffers.push_back({"module variables", isa::module_global_base, variables});
    const bool has_heap = std::ranges::any_of(program.calls, [](const isa::Call& c) {
        return c.system == isa::System::malloc || c.system == isa::System::free;
    });
    if (launch.heap_bytes > most_heap_bytes) {
        result.refusal = {"a heap of " + std::to_string(launch.heap_bytes) +
                          " bytes: at most 1 GB is supported"};
        return result;
    }
    std::vector<uint8_t> heap_memory(has_heap ? launch.heap_bytes : 0);
    Heap heap(isa::heap_base, heap_memory.size());
    if (!heap_memory.empty()) buffers.push_back({"heap", isa::heap_base, heap_memory});
    const warp::GlobalMemory global(std::move(buffers));
    if (std::string why = refusal(program, launch, global); !why.empty()) {
        result.refusal = {std::move(why)};
        return result;
    }
    Code code;
    if (std::vector<std::string> missing = bind(program, launch.plain_arithmetic, code);
        !missing.empty()) {
        result.refusal = {missing[0]};
        return result;
    }

    std::vector<std::unique_ptr<CtaRunner>> runners(worker_count(launch.threads));
    std::atomic<uint64_t> first_trap{UINT64_MAX};
    std::mutex trap_lock;
    const uint64_t rest = launch.grid.count() - launch.first_cta;
    const uint64_t ctas = launch.ctas == 0 ? rest : std::min(launch.ctas, rest);
    for_each_index(ctas, launch.threads, [&](unsigned worker, uint64_t offset) {
        const uint64_t index = launch.first_cta + offset;
        // CTAs after one that trapped need not run; those before it must, for theirs goes first.
        if (index > first_trap.load(std::memory_order_relaxed)) return;
        auto& runner = runners[worker];
        if (!runner) runner = std::make_unique<CtaRunner>(code, launch, global, &heap, observer);
        if (std::optional<warp::Trap> trap = runner->run(index)) {
            const std::lock_guard guard(trap_lock);
            if (index < first_trap) {
                first_trap = index;
                result.trap = std::move(trap);
            }
        }
        if (launch.progress != nullptr) launch.progress->fetch_add(1, std::memory_order_relaxed);
    });
    for (const auto& runner : runners) {
        if (!runner) continue;
        std::ranges::move(runner->printed(), std::back_inserter(result.printed));
        result.printed_bytes_lost += runner->printed_bytes_lost();
        const warp::Statistics& s = runner->statistics();
        result.statistics.instructions += s.instructions;
        result.statistics.lane_operations += s.lane_operations;
        result.statistics.products += s.products;
        result.statistics.ctas += s.ctas;
        result.statistics.warps += s.warps;
    }
    keep_printed(result, first_trap);
    return result;
}

}  // namespace lockwarp::exec
