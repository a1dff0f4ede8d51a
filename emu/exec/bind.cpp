#include <algorithm>

#include "emu/exec/context.hpp"
#include "emu/exec/wmma.hpp"
#include "emu/ptx/printer.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;

// The earlier have what the later have in another form: add.cc, min.relu.
constexpr std::array families{wide_handler,    mbarrier_handler, policy_handler,  special_handler,
                              compare_handler, carry_handler,    bits_handler,    integer_handler,
                              float_handler,   move_handler,     convert_handler, memory_handler,
                              atomic_handler,  matrix_handler,   wmma_handler,    warp_handler,
                              stack_handler};

Handler handler_of(const Operation& o, bool plain_arithmetic) {
    if (!plain_arithmetic)
        if (Handler fast = fast_float_handler(o)) return fast;
    for (const auto family : families)
        if (Handler found = family(o)) return found;
    return nullptr;
}

bool is_control(Op op) {
    switch (op) {
        case Op::bra:
        case Op::brx:
        case Op::call:
        case Op::ret:
        case Op::exit:
        case Op::trap:
        case Op::brkpt:
        case Op::bar:
            return true;
        default:
            return false;
    }
}

// The instructions of a membermask.
bool is_collective(Op op) {
    switch (op) {
        case Op::shfl:
        case Op::vote:
        case Op::match:
        case Op::redux:
        case Op::elect:
        case Op::bar_warp:
            return true;
        default:
            return false;
    }
}

// Whether a handler runs the step; the others are the scheduler's own.
bool behaves(StepKind kind) { return kind != StepKind::control && kind != StepKind::reduction; }

StepKind kind_of(const Operation& o) {
    if (is_control(o.op)) return StepKind::control;
    if (o.op == Op::bar_red) return StepKind::reduction;
    if (is_collective(o.op)) return StepKind::collective;
    return o.mod.aligned && o.op != Op::fence ? StepKind::aligned : StepKind::plain;
}

}  // namespace

std::vector<std::string> bind(const isa::Program& program, bool plain_arithmetic, Code& code) {
    std::vector<std::string> missing;
    code.program = &program;
    code.steps.clear();
    code.steps.reserve(program.operations.size());
    code.plans.clear();
    code.wmma_plans.clear();
    // Reserved, so that a step's pointer to its plan stays good.
    code.plans.reserve(isa::mma_variants().size());
    for (const Operation& o : program.operations) {
        Step s;
        s.op = &o;
        s.kind = kind_of(o);
        if (behaves(s.kind)) s.run = handler_of(o, plain_arithmetic);
        if (o.op == Op::mma) {
            auto found = std::ranges::find(code.plans, o.mma, &MmaPlan::variant);
            if (found == code.plans.end()) {
                found = code.plans.insert(code.plans.end(), MmaPlan{});
                if (!make_plan(*o.mma, program.arch, *found)) s.run = nullptr;
                found->product = plain_arithmetic ? num::matrix_product : num::matrix_product_fast;
            }
            s.plan = &*found;
            if (s.plan->row == nullptr) s.run = nullptr;
        }
        if (is_wmma(o.op)) {
            s.wmma = wmma_plan(o, program.arch, plain_arithmetic, code.wmma_plans);
            if (s.wmma == nullptr) s.run = nullptr;
        }
        if (behaves(s.kind) && s.run == nullptr)
            missing.push_back("line " + std::to_string(o.place.line) +
                              ": an instruction without behaviour on " +
                              std::string(isa::row(program.arch).name));
        code.steps.push_back(s);
    }
    return missing;
}

}  // namespace lockwarp::exec
