// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/unneeded.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <utility>

#include "emu/isa/flow.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using isa::Operation;

// Instructions with a result that are not on values alone, and left out as those are.
constexpr auto left_out_too = std::to_array<Op>(
    {Op::ld, Op::ldmatrix, Op::wmma_load, Op::mma, Op::wmma_mma, Op::cvta, Op::isspacep});

bool may_be_left_out(const Operation& o) {
    return o.mod.memory_order != isa::MemoryOrder::volatile_ &&
           (isa::on_values(o.op) || std::ranges::count(left_out_too, o.op) != 0);
}

bool is_load(const Operation& o) { return isa::row(o.op).memory == isa::Memory::load; }

// What something needs behind an instruction: a bit for each register, and behind those the
// carry's.
using Needed = std::vector<bool>;

class Search {
  public:
    explicit Search(const isa::Program& program)
        : program_(program), unneeded_(program.operations.size(), false) {
        for (uint32_t i = 0; i < program.registers.size(); ++i)
            if (program.registers[i].ref != isa::no_ref) register_of_[program.registers[i].ref] = i;
    }

    std::vector<bool> run() {
        for (const isa::Function& f : program_.functions)
            if (f.first != f.end) walk(f);
        return unneeded_;
    }

  private:
    void need(Needed& needed, isa::Ref ref) const {
        const auto at = register_of_.find(ref);
        if (at != register_of_.end()) needed[at->second] = true;
    }

    // From behind an operation to before it. Whether it is needed.
    bool step_back(uint32_t i, const isa::Function& f, Needed& needed) const {
        const Operation& o = program_.operations[i];
        const auto uses = std::span(program_.uses).subspan(o.first_use, size_t{o.written} + o.read);
        const auto written = uses.first(o.written);
        const size_t carry = program_.registers.size();
        const bool is_needed = !may_be_left_out(o) || (o.mod.cc && needed[carry]) ||
                               std::ranges::any_of(written, [&](uint32_t r) { return needed[r]; });
        if (!is_needed) return false;
        if (!o.guarded) {
            for (const uint32_t r : written) needed[r] = false;
            if (o.mod.cc) needed[carry] = false;
        }
        if (isa::row(o.op).reads_carry) needed[carry] = true;
        for (const uint32_t r : uses.subspan(o.written)) needed[r] = true;
        if (isa::row(o.op).flow == isa::Flow::call) {
            const isa::Call& call = program_.calls[o.target];
            need(needed, call.pointer);
            for (const isa::Passed& p : call.arguments) need(needed, p.ref);
        }
        if (isa::row(o.op).flow == isa::Flow::ret)
            for (const isa::Passed& p : f.results) need(needed, p.ref);
        return true;
    }

    // What is needed where the block begins; `at` hears of each operation.
    template <class F>
    Needed walk_back(const std::vector<Needed>& before, const isa::Block& b, const isa::Function& f,
                     F&& at) const {
        Needed needed(program_.registers.size() + 1, false);
        for (const uint32_t n : b.next)
            for (size_t r = 0; r < needed.size(); ++r)
                if (before[n][r]) needed[r] = true;
        for (uint32_t i = b.end; i-- > b.first;) at(i, step_back(i, f, needed));
        return needed;
    }

    void walk(const isa::Function& f) {
        const std::vector<isa::Block> blocks = isa::blocks_of(program_, f);
        std::vector<std::vector<uint32_t>> from(blocks.size());
        std::vector<uint32_t> left;
        for (uint32_t b = 0; b < blocks.size(); ++b) {
            for (const uint32_t n : blocks[b].next) from[n].push_back(b);
            left.push_back(b);
        }
        // What is needed where a block begins: nothing at first, so that a loop does not keep
        // itself alive.
        std::vector<Needed> before(blocks.size(), Needed(program_.registers.size() + 1, false));
        std::vector<bool> waits(blocks.size(), true);  // to be looked at
        while (!left.empty()) {
            const uint32_t b = left.back();
            left.pop_back();
            waits[b] = false;
            Needed now = walk_back(before, blocks[b], f, [](uint32_t, bool) {});
            if (now == before[b]) continue;
            before[b] = std::move(now);
            for (const uint32_t p : from[b]) {
                if (!waits[p]) left.push_back(p);
                waits[p] = true;
            }
        }
        for (const isa::Block& b : blocks)
            walk_back(before, b, f, [&](uint32_t i, bool is_needed) {
                unneeded_[i] = !is_needed && is_load(program_.operations[i]);
            });
    }

    const isa::Program& program_;
    std::unordered_map<isa::Ref, uint32_t> register_of_;
    std::vector<bool> unneeded_;
};

}  // namespace

std::vector<bool> find_unneeded_loads(const isa::Program& program) { return Search(program).run(); }

bool UnneededLoads::is_cause(const warp::Trap& trap) const {
    using warp::TrapKind;
    if (trap.kind != TrapKind::out_of_bounds && trap.kind != TrapKind::misaligned &&
        trap.kind != TrapKind::wrong_space)
        return false;
    std::call_once(once_, [&] { unneeded_ = find_unneeded_loads(program_); });
    return unneeded_[trap.operation];
}

}  // namespace lockwarp::exec
