// SPDX-License-Identifier: Apache-2.0
#include "emu/check/choices.hpp"

#include <algorithm>
#include <set>

namespace lockwarp::check {

namespace {

using isa::Op;

constexpr size_t max_operations = 64;

bool only_writes_registers(const isa::Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    return row.memory == isa::Memory::none && row.sync == isa::Sync::none &&
           (o.op == Op::bra || row.flow == isa::Flow::next);
}

// Each way is followed until it comes to where they meet, to something that is none of a choice's,
// or back.
std::optional<Choice> choice_at(const isa::Program& program, uint32_t branch) {
    const uint32_t end = program.operations[branch].reconverge;
    std::set<uint32_t> seen, written;
    std::vector<uint32_t> next{branch + 1, program.operations[branch].target};
    while (!next.empty()) {
        const uint32_t at = next.back();
        next.pop_back();
        if (at == end || !seen.insert(at).second) continue;
        if (seen.size() > max_operations) return std::nullopt;
        const isa::Operation& o = program.operations[at];
        if (!only_writes_registers(o)) return std::nullopt;
        for (uint32_t n = 0; n < o.written; ++n) written.insert(program.uses[o.first_use + n]);
        if (o.op == Op::bra) {
            if (o.target <= at) return std::nullopt;
            next.push_back(o.target);
        }
        if (o.op != Op::bra || o.guarded) next.push_back(at + 1);
    }
    return Choice{end, {written.begin(), written.end()}};
}

}  // namespace

Choices::Choices(const isa::Program& program) {
    for (uint32_t i = 0; i < program.operations.size(); ++i)
        if (program.operations[i].op == Op::bra && program.operations[i].guarded)
            if (std::optional<Choice> choice = choice_at(program, i))
                all_.emplace(i, std::move(*choice));
}

void OpenChoices::meet(uint32_t operation, uint32_t active, const Registers& all,
                       WarpRegisters& registers) {
    for (Open& open : open_) {
        const uint32_t lanes = open.lanes & active;
        if (open.choice->end != operation || lanes == 0) continue;
        open.lanes &= ~lanes;
        LanesByByte undefined;
        undefined.fill(lanes);
        for (const uint32_t reg : open.choice->written)
            registers.set(reg, all.bytes(reg), undefined, lanes, open.origin);
    }
    std::erase_if(open_, [](const Open& open) { return open.lanes == 0; });
}

}  // namespace lockwarp::check
