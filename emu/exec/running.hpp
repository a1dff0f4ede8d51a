// SPDX-License-Identifier: Apache-2.0
// What a thread of the emulator is at, for whoever must say so where the emulator itself fails.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace lockwarp::isa {
struct Program;
}

namespace lockwarp::exec {

struct Context;

struct RunningPlace {
    const isa::Program* program = nullptr;
    std::array<uint32_t, 3> cta{};
    uint32_t warp = 0;
    uint64_t step = 0;       // instructions that the warp has retired
    uint32_t operation = 0;  // of its youngest path
};

// The calling thread runs this CTA while the object lives.
class Running {
  public:
    explicit Running(const Context& c);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

  private:
    const Context* before_;
};

// Of the calling thread; it allocates nothing.
std::optional<RunningPlace> running_place();

}  // namespace lockwarp::exec
