// SPDX-License-Identifier: Apache-2.0
#include "validate/emulator_engine.hpp"

#include <cstring>

#include "emu/lockwarp.hpp"
#include "validate/faults.hpp"

namespace lockwarp::validate {

EmulatorEngine::EmulatorEngine(isa::Arch arch, bool plain, unsigned threads)
    : arch_(arch), plain_(plain), threads_(threads) {
    device_.name =
        (plain ? "plain arithmetic of " : "the emulator as ") + std::string(isa::row(arch).name);
    device_.number = isa::row(arch).number;
}

uint64_t EmulatorEngine::allocate(uint64_t bytes) {
    const uint64_t address = next_;
    next_ += (bytes + (2u << 20)) & ~uint64_t{511};
    memory_[address].resize(bytes);
    return address;
}

bool EmulatorEngine::allocate_at(uint64_t address, uint64_t bytes) {
    const auto next = memory_.lower_bound(address);
    if (next != memory_.end() && next->first - address < bytes) return false;
    if (next != memory_.begin()) {
        const auto& [first, held] = *std::prev(next);
        if (address - first < held.size()) return false;
    }
    return memory_.emplace(address, std::vector<uint8_t>(bytes)).second;
}

uint8_t* EmulatorEngine::at(uint64_t address) {
    const auto found = std::prev(memory_.upper_bound(address));
    return found->second.data() + (address - found->first);
}

void EmulatorEngine::release(uint64_t address) { memory_.erase(address); }

launch::Result<void> EmulatorEngine::write(uint64_t address, std::span<const uint8_t> bytes) {
    if (!bytes.empty()) std::memcpy(at(address), bytes.data(), bytes.size());
    return {};
}

launch::Result<void> EmulatorEngine::clear(uint64_t address, uint64_t bytes) {
    if (bytes != 0) std::memset(at(address), 0, bytes);
    return {};
}

launch::Result<void> EmulatorEngine::read(uint64_t address, std::span<uint8_t> bytes) {
    if (!bytes.empty()) std::memcpy(bytes.data(), at(address), bytes.size());
    return {};
}

gpu::Ran EmulatorEngine::run(const gpu::Job& job) {
    const ptx::Parsed parsed = ptx::parse(job.ptx);
    if (!parsed.diagnostics.empty()) return {gpu::Outcome::refused, parsed.diagnostics[0].message};
    const isa::Resolved resolved = isa::resolve(parsed.module, arch_, job.entry);
    if (!resolved.diagnostics.empty())
        return {gpu::Outcome::refused, resolved.diagnostics[0].message};
    warp::Launch launch;
    launch.grid = job.grid;
    launch.block = job.block;
    launch.plain_arithmetic = plain_;
    launch.threads = threads_;
    launch.unwritten_byte = unwritten_byte_;
    launch.fold_constants = job.optimization != 0;
    launch.turn = turn_;
    launch.dynamic_shared = job.dynamic_shared;
    launch.cluster = job.cluster;
    launch.non_portable_cluster = job.non_portable_cluster;
    launch.cooperative = job.cooperative;
    launch.parameters = job.parameters;
    for (auto& [address, bytes] : memory_)
        launch.buffers.push_back({std::to_string(address), address, bytes});
    prepare(parsed.module, resolved.program, launch);
    const warp::Result result = exec::launch(resolved.program, launch);
    if (result.refusal) return {gpu::Outcome::refused, result.refusal->what};
    if (result.trap)
        return {gpu::Outcome::faulted,
                std::string(warp::trap_name(result.trap->kind)) + ": " + result.trap->detail,
                fault_of(*result.trap, resolved.program)};
    return {};
}

}  // namespace lockwarp::validate
