// SPDX-License-Identifier: Apache-2.0
// Whether a path only waits: what is seen of it while it runs.
#pragma once

#include <vector>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// A path only waits if, within longest_loop steps, it comes round to the operation where the watch
// began, with the same registers and without having stored anything. Where it looks at memory and
// at the clock, as a wait with a growing pause does, the registers may differ; a loop with the
// clock alone is a pause. What a path that waits does next, memory alone decides: until something
// is stored (Context::stores) it need not run.
//
// It costs a copy of the warp's registers, a comparison of two operations a step, and where those
// are equal one of eight bytes, or of all registers where these are the same.
class Watch {
  public:
    static constexpr uint64_t longest_loop = 500;  // steps

    void begin(const Context& c, size_t path);
    // Before each step: what it will do.
    void note(const Operation& o) {
        loaded_ |= isa::row(o.op).memory == isa::Memory::load;
        timed_ |= o.reads_clock;
        begun_ = true;
    }
    bool came_round(const Context& c, const warp::Path& now);
    // Something was stored, or the path is another: it does not only wait.
    bool is_over(const Context& c) const {
        return c.stores != stores_ || c.warp->paths.size() != paths_;
    }

  private:
    bool same_registers(const Context& c);

    std::vector<uint8_t> registers_;
    size_t differs_at_ = 0;  // bytes into the registers: where they differed last
    uint32_t pc_ = 0;
    uint32_t lanes_ = 0;
    uint32_t frame_ = 0;
    size_t paths_ = 0;  // of the warp
    uint64_t stores_ = 0;
    bool begun_ = false;
    bool loaded_ = false;
    bool timed_ = false;
};

}  // namespace lockwarp::exec
