// SPDX-License-Identifier: Apache-2.0
// Loads that NVIDIA's assembler leaves out, because nothing needs what they load. Asked of an H100
// (driver 580.159.04): loads from null, by instruction and by what their result goes through
// (tests/exec/unneeded_test.cpp has the forms and its answers).
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::exec {

// By operation, whether it is a load (ld but .volatile, ldmatrix, wmma.load) whose result goes into
// no store, atomic, branch, call or barrier, whatever instructions on registers it goes through.
// The assembler finds more: conditions that are never true, products with zero, stores to local
// memory that nothing reads.
std::vector<bool> find_unneeded_loads(const isa::Program& program);

// The same, found when it is first asked for. Any number of threads may ask.
class UnneededLoads {
  public:
    explicit UnneededLoads(const isa::Program& program) : program_(program) {}
    // Whether the trap is of the address of such a load.
    bool is_cause(const warp::Trap& trap) const;

  private:
    const isa::Program& program_;
    mutable std::once_flag once_;
    mutable std::vector<bool> unneeded_;
};

}  // namespace lockwarp::exec
