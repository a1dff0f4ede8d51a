// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "emu/exec/families.hpp"
#include "emu/exec/special_registers.hpp"
#include "emu/exec/wmma.hpp"
#include "emu/ptx/printer.hpp"

namespace lockwarp::exec {

namespace {

Handler handler_of(const Operation& o, bool plain_arithmetic) {
    const Behaviour& b = behaviour(o.op);
    if (!b.handled) return nullptr;
    if (o.reads_clock) return after_clocks;
    if (!plain_arithmetic && b.fast != nullptr)
        if (Handler fast = b.fast(o)) return fast;
    return b.choose(o);
}

}  // namespace

std::vector<std::string> bind(const isa::Program& program, bool plain_arithmetic, Code& code) {
    std::vector<std::string> missing;
    code.program = &program;
    code.steps.reserve(program.operations.size());
    code.moved = moved_plans();
    code.registers = register_layout(program);
    // Reserved, so that a step's pointer to its plan stays good.
    code.plans.reserve(isa::mma_variants().size());
    code.warpgroup_plans.reserve(isa::warpgroup_variants().size());
    for (const Operation& o : program.operations) {
        Step s;
        s.op = &o;
        s.moved = code.moved.data();
        s.kind = isa::row(o.op).step;
        s.flow = isa::row(o.op).flow;
        s.run = handler_of(o, plain_arithmetic);
        if (o.mma != nullptr) {
            auto found = std::ranges::find(code.plans, o.mma, &MmaPlan::variant);
            if (found == code.plans.end()) {
                found = code.plans.insert(code.plans.end(), MmaPlan{});
                make_plan(*o.mma, program.arch, plain_arithmetic, *found);
            }
            s.plan = &*found;
            if (s.plan->row == nullptr) s.run = nullptr;
        }
        if (o.warpgroup != nullptr) {
            auto found =
                std::ranges::find(code.warpgroup_plans, o.warpgroup, &WarpgroupPlan::variant);
            if (found == code.warpgroup_plans.end()) {
                found = code.warpgroup_plans.insert(found, WarpgroupPlan{});
                make_plan(*o.warpgroup, program.arch, plain_arithmetic, *found);
            }
            s.warpgroup = &*found;
            if (s.warpgroup->row == nullptr) s.run = nullptr;
        }
        if (isa::row(o.op).wmma) {
            s.wmma = wmma_plan(o, program.arch, plain_arithmetic, code.wmma_plans);
            if (s.wmma == nullptr) s.run = nullptr;
        }
        if (has_handler(s.kind) && s.run == nullptr)
            missing.push_back("line " + std::to_string(o.place.line) + ": " +
                              std::string(isa::row(o.op).name) + (o.mod.sparse ? ".sp" : "") +
                              " has no behaviour on " + std::string(isa::row(program.arch).name));
        code.steps.push_back(s);
    }
    return missing;
}

}  // namespace lockwarp::exec
