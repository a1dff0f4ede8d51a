// SPDX-License-Identifier: Apache-2.0
// The emulator in the place of a GPU. It runs the traced kernel too, so that the fast arithmetic is
// compared with the plain one, and everything but the silicon is tested, where there is no GPU.
#pragma once

#include <map>
#include <memory>

#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"
#include "gpu/engine.hpp"

namespace lockwarp::validate {

class EmulatorEngine : public gpu::Engine {
  public:
    // plain: with the definitions of the arithmetic alone, without their fast paths.
    // threads: as warp::Launch.
    explicit EmulatorEngine(isa::Arch arch, bool plain = false, unsigned threads = 0);
    // What local and shared memory hold before they are written; a GPU has what an earlier kernel
    // left.
    void fill_unwritten(uint8_t byte) { unwritten_byte_ = byte; }
    // As warp::Launch::turn: other values give another order of the threads.
    void take_turns(uint32_t turn) { turn_ = turn; }
    const gpu::Device& device() const override { return device_; }
    uint64_t allocate(uint64_t bytes) override;
    bool allocate_at(uint64_t address, uint64_t bytes) override;
    void release(uint64_t address) override;
    launch::Result<void> write(uint64_t address, std::span<const uint8_t> bytes) override;
    launch::Result<void> clear(uint64_t address, uint64_t bytes) override;
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override;
    gpu::Ran run(const gpu::Job& job) override;

  protected:
    // Before each launch: what another machine would do otherwise.
    virtual void prepare(const ptx::Module& module, const isa::Program& program,
                         warp::Launch& launch) {
        (void)module;
        (void)program;
        (void)launch;
    }

  private:
    // The memory at an address, in the allocation that holds it.
    uint8_t* at(uint64_t address);

    isa::Arch arch_;
    bool plain_;
    unsigned threads_;
    uint8_t unwritten_byte_ = 0;
    uint32_t turn_ = 0;
    gpu::Device device_;
    std::map<uint64_t, std::vector<uint8_t>> memory_;
    uint64_t next_ = uint64_t{1} << 40;
};

}  // namespace lockwarp::validate
