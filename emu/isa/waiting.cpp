// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/waiting.hpp"

#include <algorithm>

#include "emu/isa/flow.hpp"

namespace lockwarp::isa {

namespace {

// What others see, and what changes each time.
bool stores(const Operation& o) {
    const Memory memory = row(o.op).memory;
    return memory == Memory::store || memory == Memory::copy ||
           (memory == Memory::update && o.written == 0);
}

// A way leads back to the block on which nothing is stored.
bool is_in_quiet_loop(const std::vector<Block>& blocks, const std::vector<bool>& is_quiet,
                      uint32_t block) {
    std::vector<bool> reached(blocks.size(), false);
    std::vector<uint32_t> left{block};
    while (!left.empty() && !reached[block]) {
        const Block& from = blocks[left.back()];
        left.pop_back();
        for (const uint32_t b : from.next) {
            if (reached[b] || !is_quiet[b]) continue;
            reached[b] = true;
            left.push_back(b);
        }
    }
    return reached[block];
}

}  // namespace

bool may_wait_outside(const Program& program) {
    const bool fences = std::ranges::any_of(program.operations,
                                            [](const Operation& o) { return o.op == Op::fence; });
    const auto looks = [&](const Operation& o) {
        if (!looks_outside(o)) return false;
        return fences || row(o.op).memory == Memory::update ||
               o.mod.memory_order != MemoryOrder::weak;
    };
    for (size_t n = 0; n < program.functions.size(); ++n) {
        const Function& f = program.functions[n];
        const std::span operations(program.operations.data() + f.first, f.end - f.first);
        if (std::ranges::none_of(operations, looks)) continue;
        // A function may be called in a loop.
        if (n != 0) return true;
        const std::vector<Block> blocks = blocks_of(program, f);
        const auto any = [&](const Block& b, auto is) {
            return std::any_of(program.operations.begin() + b.first,
                               program.operations.begin() + b.end, is);
        };
        std::vector<bool> is_quiet;
        for (const Block& b : blocks) is_quiet.push_back(!any(b, stores));
        for (uint32_t b = 0; b < blocks.size(); ++b)
            if (any(blocks[b], looks) && is_in_quiet_loop(blocks, is_quiet, b)) return true;
    }
    return false;
}

}  // namespace lockwarp::isa
