// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/watch.hpp"

#include <algorithm>
#include <cstring>

namespace lockwarp::exec {

void Watch::begin(const Context& c, size_t path) {
    const warp::Path& p = c.warp->paths[path];
    registers_.assign(c.registers, c.registers + c.program->register_bytes);
    differs_at_ = 0;
    pc_ = p.pc;
    lanes_ = p.lanes;
    frame_ = p.frame;
    paths_ = c.warp->paths.size();
    stores_ = c.stores;
    begun_ = loaded_ = timed_ = false;
}

bool Watch::came_round(const Context& c, const warp::Path& now) {
    if (now.pc != pc_ || !begun_) return false;
    if (now.lanes != lanes_ || now.frame != frame_ || is_over(c)) return false;
    return (loaded_ && timed_) || same_registers(c);
}

// Registers that count rounds differ where they did in the last one.
bool Watch::same_registers(const Context& c) {
    constexpr size_t word = sizeof(uint64_t);
    const size_t bytes = registers_.size();
    if (differs_at_ + word <= bytes &&
        std::memcmp(registers_.data() + differs_at_, c.registers + differs_at_, word) != 0)
        return false;
    const auto differs =
        std::mismatch(registers_.begin(), registers_.end(), c.registers).first - registers_.begin();
    if (static_cast<size_t>(differs) == bytes) return true;
    differs_at_ = static_cast<size_t>(differs) / word * word;
    return false;
}

}  // namespace lockwarp::exec
