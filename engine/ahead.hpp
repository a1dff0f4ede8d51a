// SPDX-License-Identifier: Apache-2.0
// A launch that begins before the one that its stream was asked for before it: programmatic
// dependent launch. Only what griddepcontrol.wait returns to may see that one's memory, whether or
// not that one lets its dependents begin before its end (CUDA programming guide, "Programmatic
// Dependent Launch and Synchronization").
#pragma once

#include <functional>
#include <vector>

#include "emu/exec/inspector.hpp"
#include "engine/handles.hpp"

namespace lockwarp::engine {

// Has the launch before end where this one comes to a griddepcontrol.wait, and where it would write
// global memory, which the other may read first; also where it has gone far without either, for it
// may look in memory for what the other says.
class Ahead : public exec::Inspector {
  public:
    // Of a launch of this kernel. finish: the launch before has ended when it returns.
    Ahead(const lockwarp_kernel& kernel, std::function<void()> finish);
    void begins(const warp::GlobalMemory&) override {}
    void begins(const warp::Cta&) override {}
    exec::Pace before(const warp::Cta& cta, const warp::Warp& warp, size_t path) override;
    void ended(const warp::Cta&, const warp::Trap*) override {}

  private:
    std::vector<bool> ends_;        // by operation: it has the launch before end
    std::function<void()> finish_;  // empty: it has ended
    uint64_t instructions_ = 0;
};

}  // namespace lockwarp::engine
