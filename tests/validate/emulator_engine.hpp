// The emulator in the place of a GPU: it runs the traced kernel, so that everything but the silicon
// is tested without one.
#pragma once

#include <map>
#include <memory>

#include "gpu/engine.hpp"

namespace lockwarp::test {

class EmulatorEngine : public gpu::Engine {
  public:
    explicit EmulatorEngine(isa::Arch arch);
    const gpu::Device& device() const override { return device_; }
    uint64_t allocate(uint64_t bytes) override;
    void release(uint64_t address) override;
    gpu::Problem write(uint64_t address, std::span<const uint8_t> bytes) override;
    gpu::Problem read(uint64_t address, std::span<uint8_t> bytes) override;
    gpu::Ran run(const gpu::Job& job) override;

  private:
    isa::Arch arch_;
    gpu::Device device_;
    std::map<uint64_t, std::vector<uint8_t>> memory_;
    uint64_t next_ = uint64_t{1} << 40;
};

}  // namespace lockwarp::test
