// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of the C face.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "emu/exec/ready.hpp"
#include "emu/isa/resolve.hpp"
#include "emu/ptx/source_map.hpp"
#include "emu/ptx/tree.hpp"
#include "emu/warp/launch.hpp"
#include "engine/memory.hpp"
#include "engine/runner.hpp"
#include "lockwarp.h"

namespace lockwarp::engine {

struct ContextState {
    std::optional<isa::Arch> arch;
    Memory memory;
    Runners runners;
};

// LOCKWARP_NOT_FOUND for a name that no architecture has.
isa::Arch arch_of(const char* name);

}  // namespace lockwarp::engine

struct lockwarp_context {
    std::shared_ptr<lockwarp::engine::ContextState> state;
};

namespace lockwarp::engine {

// An operation in the text and in the source.
struct Spelled {
    std::string text;
    std::string function;
    ptx::SourcePlace source;
};

}  // namespace lockwarp::engine

struct lockwarp_kernel {
    const lockwarp_module* module = nullptr;
    lockwarp::isa::Program program;  // without images: the module has the variables
    std::vector<std::string> parameter_types;
    std::vector<const lockwarp::ptx::Variable*> declared;  // the parameters in the tree
    mutable std::mutex mutex;                              // of `ready`
    mutable std::array<std::shared_ptr<const lockwarp::exec::Ready>, 4> ready;
    mutable std::once_flag spelled_once;
    mutable std::vector<lockwarp::engine::Spelled> spelled;  // by operation, once asked for
};

struct lockwarp_module {
    std::shared_ptr<lockwarp::engine::ContextState> context;
    std::string name;
    lockwarp::isa::Arch arch{};
    lockwarp::ptx::Module tree;
    lockwarp::ptx::SourceMap sources;
    std::vector<std::string> kernel_names;
    std::vector<lockwarp::isa::Placed> variables;  // .global and .const
    lockwarp::engine::Block globals;               // nullptr: there are none
    uint64_t global_bytes = 0;
    lockwarp::engine::Block constants;  // likewise
    uint64_t constant_bytes = 0;
    std::mutex mutex;                                                              // of `kernels`
    std::map<std::string, std::unique_ptr<lockwarp_kernel>, std::less<>> kernels;  // by full name
};

struct lockwarp_stop {
    std::atomic<bool> wanted{false};
};

struct lockwarp_result {
    lockwarp::warp::Result of;
    lockwarp::warp::Dim3 grid, block;
    std::optional<lockwarp_trap> trap;  // its texts are the following
    std::string detail, text, instruction, range;
    std::vector<lockwarp::ptx::SourcePlace> sources;
};
