// SPDX-License-Identifier: Apache-2.0
// An engine that fails once.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "validate/emulator_engine.hpp"

namespace lockwarp::validate {

enum class Fails : uint8_t { allocate, write, clear, read, refused, uncompiled, faulted };

// Fails at the n-th request of a kind, from 0.
class Failing : public EmulatorEngine {
  public:
    Failing(isa::Arch arch, Fails what, int n)
        : EmulatorEngine(arch, false, 1), what_(what), left_(n) {}

    bool has_failed = false;
    std::set<uint64_t> held;

    uint64_t allocate(uint64_t bytes) override {
        if (fails(Fails::allocate)) return 0;
        const uint64_t address = EmulatorEngine::allocate(bytes);
        held.insert(address);
        return address;
    }
    void release(uint64_t address) override {
        EXPECT_EQ(held.erase(address), 1u);
        EmulatorEngine::release(address);
    }
    launch::Result<void> write(uint64_t address, std::span<const uint8_t> bytes) override {
        if (fails(Fails::write)) return launch::failure("not written");
        return EmulatorEngine::write(address, bytes);
    }
    launch::Result<void> clear(uint64_t address, uint64_t bytes) override {
        if (fails(Fails::clear)) return launch::failure("not cleared");
        return EmulatorEngine::clear(address, bytes);
    }
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        if (fails(Fails::read)) return launch::failure("not read");
        return EmulatorEngine::read(address, bytes);
    }
    gpu::Ran run(const gpu::Job& job) override {
        if (fails(Fails::refused)) return {gpu::Outcome::refused, "not so"};
        if (fails(Fails::uncompiled)) return {gpu::Outcome::uncompiled, "not in time"};
        if (fails(Fails::faulted))
            return {gpu::Outcome::faulted, "it fell", gpu::Fault::illegal_address};
        return EmulatorEngine::run(job);
    }

  private:
    bool fails(Fails kind) {
        if (kind != what_ || left_-- != 0) return false;
        has_failed = true;
        return true;
    }
    Fails what_;
    int left_;
};

}  // namespace lockwarp::validate
