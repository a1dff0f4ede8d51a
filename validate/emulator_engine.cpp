#include "validate/emulator_engine.hpp"

#include <cstring>

#include "emu/lockwarp.hpp"

namespace lockwarp::validate {

namespace {

// What a GPU would name a trap.
gpu::Fault fault_of(warp::TrapKind kind) {
    switch (kind) {
        case warp::TrapKind::out_of_bounds:
        case warp::TrapKind::read_only:
            return gpu::Fault::illegal_address;
        case warp::TrapKind::misaligned:
            return gpu::Fault::misaligned_address;
        case warp::TrapKind::wrong_space:
            return gpu::Fault::address_space;
        case warp::TrapKind::diverged:
        case warp::TrapKind::bad_mask:
            return gpu::Fault::illegal_instruction;
        default:
            return gpu::Fault::launch_failed;
    }
}

}  // namespace

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

void EmulatorEngine::release(uint64_t address) { memory_.erase(address); }

gpu::Problem EmulatorEngine::write(uint64_t address, std::span<const uint8_t> bytes) {
    if (!bytes.empty()) std::memcpy(memory_.at(address).data(), bytes.data(), bytes.size());
    return {};
}

gpu::Problem EmulatorEngine::clear(uint64_t address, uint64_t bytes) {
    if (bytes != 0) std::memset(memory_.at(address).data(), 0, bytes);
    return {};
}

gpu::Problem EmulatorEngine::read(uint64_t address, std::span<uint8_t> bytes) {
    if (!bytes.empty()) std::memcpy(bytes.data(), memory_.at(address).data(), bytes.size());
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
    launch.dynamic_shared = job.dynamic_shared;
    launch.parameters = job.parameters;
    for (auto& [address, bytes] : memory_)
        launch.buffers.push_back({std::to_string(address), address, bytes});
    const warp::Result result = exec::launch(resolved.program, launch);
    if (result.refusal) return {gpu::Outcome::refused, result.refusal->what};
    if (result.trap)
        return {gpu::Outcome::faulted,
                std::string(warp::trap_name(result.trap->kind)) + ": " + result.trap->detail,
                fault_of(result.trap->kind)};
    return {};
}

}  // namespace lockwarp::validate
