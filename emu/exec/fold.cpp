// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/fold.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "emu/exec/families.hpp"
#include "emu/isa/flow.hpp"
#include "emu/isa/folds.hpp"
#include "emu/num/folded.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using num::Special;

constexpr uint32_t none = UINT32_MAX;

struct FunctionRow {
    Op op;
    Special function;
};

constexpr auto function_rows = std::to_array<FunctionRow>({
    {Op::ex2, Special::ex2},
    {Op::lg2, Special::lg2},
    {Op::rsqrt, Special::rsqrt},
    {Op::sin, Special::sin},
    {Op::cos, Special::cos},
    {Op::rcp_approx, Special::rcp},
    {Op::sqrt_approx, Special::sqrt},
    {Op::div_approx, Special::div_approx},
    {Op::div_full, Special::div_full},
});

static_assert(std::ranges::all_of(isa::fold_rows, [](const isa::FoldRow& r) {
    return (r.fold == isa::Fold::function) ==
           (std::ranges::find(function_rows, r.op, &FunctionRow::op) != function_rows.end());
}));

Special function_of(Op op) {
    return std::ranges::find(function_rows, op, &FunctionRow::op)->function;
}

bool is_quotient(Op op) { return op == Op::div_approx || op == Op::div_full; }

// What is known of a register where the program has come to.
struct Known {
    enum class State : uint8_t { unreached, constant, varies };
    State state = State::unreached;
    uint64_t value = 0;

    bool operator==(const Known&) const = default;
};
constexpr Known varies{Known::State::varies, 0};

Known meet(const Known& a, const Known& b) {
    if (a.state == Known::State::unreached) return b;
    if (b.state == Known::State::unreached) return a;
    return a == b ? a : varies;
}

using State = std::vector<Known>;  // by tracked register

// The registers that may hold a constant somewhere, of which a function asks.
class Operands {
  public:
    explicit Operands(const isa::Program& program) : program_(program) {
        for (uint32_t i = 0; i < program.registers.size(); ++i)
            if (program.registers[i].ref != isa::no_ref) register_of_[program.registers[i].ref] = i;
        // Where there are clusters an address in shared memory is not known before the launch.
        const bool clusters = isa::row(program.arch).cluster_max != 0;
        for (const isa::Constant& c : program.constants)
            if (!c.in_shared || !clusters) constant_[c.ref] = c.value;
    }

    // The slots that the operation reads, but for its guard; of those that it both writes and
    // reads, too.
    std::vector<isa::Ref> sources(const Operation& o) const {
        std::vector<isa::Ref> out;
        for (size_t k = 0; k < o.operands; ++k)
            if (o.r[k] != isa::no_ref) out.push_back(o.r[k]);
        for (const isa::VectorRef& v : o.vector)
            out.insert(out.end(), program_.pool.begin() + v.first,
                       program_.pool.begin() + v.first + v.count);
        for (uint32_t k = 0; k < o.written; ++k) remove(out, written(o, k));
        remove(out, isa::scratch_predicate);
        remove(out, isa::scratch_register);
        return out;
    }

    isa::Ref written(const Operation& o, uint32_t k) const {
        return program_.registers[program_.uses[o.first_use + k]].ref;
    }

    uint32_t register_at(isa::Ref ref) const {
        const auto at = register_of_.find(ref);
        return at == register_of_.end() ? none : at->second;
    }

    const uint64_t* constant_at(isa::Ref ref) const {
        const auto at = constant_.find(ref);
        return at == constant_.end() ? nullptr : &at->second;
    }

  private:
    static void remove(std::vector<isa::Ref>& refs, isa::Ref ref) {
        const auto at = std::ranges::find(refs, ref);
        if (at != refs.end()) refs.erase(at);
    }

    const isa::Program& program_;
    std::unordered_map<isa::Ref, uint32_t> register_of_;
    std::unordered_map<isa::Ref, uint64_t> constant_;
};

// The slots that must be constants so that the operation, or a part of it, is folded.
std::vector<isa::Ref> asked(const Operation& o, const Operands& operands) {
    if (!isa::is_folded_function(o)) return operands.sources(o);
    return {o.r[is_quotient(o.op) ? 2 : 1]};
}

// Chooses the operations that may be folded to a value of their own, and the registers to be
// followed for them: without a look at the order of the operations, so that most programs, which
// have none, are done with.
class Selection {
  public:
    Selection(const isa::Program& program, const Operands& operands)
        : program_(program), operands_(operands), may_(program.registers.size(), false) {
        std::vector<uint32_t> candidates;
        std::vector<uint32_t> folding;
        for (uint32_t i = 0; i < program.operations.size(); ++i) {
            const Operation& o = program.operations[i];
            if (!isa::folds(o)) continue;
            folding.push_back(i);
            if (isa::folds_to_its_own(o)) candidates.push_back(i);
        }
        find_possible(folding);
        std::erase_if(candidates,
                      [&](uint32_t i) { return !all(asked(program.operations[i], operands)); });
        if (candidates.empty()) return;
        chosen = std::move(candidates);
        follow(folding);
    }

    std::vector<uint32_t> chosen;   // operations
    std::vector<uint32_t> tracked;  // registers
    std::vector<uint32_t> number;   // by register: its place in `tracked`, or none
    std::vector<bool> follows;      // by operation: it writes a tracked register, and folds

  private:
    bool all(const std::vector<isa::Ref>& refs) const {
        return std::ranges::all_of(refs, [&](isa::Ref ref) {
            const uint32_t reg = operands_.register_at(ref);
            return reg == none ? operands_.constant_at(ref) != nullptr : may_[reg];
        });
    }

    void find_possible(const std::vector<uint32_t>& folding) {
        for (bool changed = true; changed;) {
            changed = false;
            for (const uint32_t i : folding) {
                const Operation& o = program_.operations[i];
                if (!all(operands_.sources(o))) continue;
                for (uint32_t k = 0; k < o.written; ++k) {
                    const uint32_t reg = program_.uses[o.first_use + k];
                    changed |= !may_[reg];
                    may_[reg] = true;
                }
            }
        }
    }

    void track(isa::Ref ref, std::vector<uint32_t>& left) {
        const uint32_t reg = operands_.register_at(ref);
        if (reg == none || !may_[reg] || number[reg] != none) return;
        number[reg] = static_cast<uint32_t>(tracked.size());
        tracked.push_back(reg);
        left.push_back(reg);
    }

    // What the functions ask of, what that is computed from, and what steers.
    void follow(const std::vector<uint32_t>& folding) {
        number.assign(may_.size(), none);
        follows.assign(program_.operations.size(), false);
        std::unordered_map<uint32_t, std::vector<uint32_t>> writers;
        for (const uint32_t i : folding) {
            const Operation& o = program_.operations[i];
            for (uint32_t k = 0; k < o.written; ++k)
                writers[program_.uses[o.first_use + k]].push_back(i);
        }
        std::vector<uint32_t> left;
        for (const uint32_t i : chosen)
            for (const isa::Ref ref : asked(program_.operations[i], operands_)) track(ref, left);
        for (const Operation& o : program_.operations)
            if (o.guarded && isa::row(o.op).flow != isa::Flow::next) track(o.guard, left);
        while (!left.empty()) {
            const uint32_t reg = left.back();
            left.pop_back();
            for (const uint32_t i : writers[reg]) {
                const Operation& o = program_.operations[i];
                follows[i] = true;
                for (const isa::Ref ref : operands_.sources(o)) track(ref, left);
                if (o.guarded) track(o.guard, left);
            }
        }
    }

    const isa::Program& program_;
    const Operands& operands_;
    std::vector<bool> may_;  // by register
};

// Computes operations on constants as they are executed, in one lane of a register file of its own.
class Evaluator {
  public:
    explicit Evaluator(const isa::Program& program) : file_(program.register_bytes / 8 + 1) {
        context_.program = &program;
        context_.registers = reinterpret_cast<uint8_t*>(file_.data());
        for (const isa::Constant& c : program.constants) put(c.ref, c.width, c.value);
    }

    void put(isa::Ref ref, unsigned width, uint64_t value) {
        std::memcpy(context_.registers + ref, &value, width == 64 ? 8 : 4);
    }

    uint64_t get(isa::Ref ref, unsigned width) const {
        uint64_t value = 0;
        std::memcpy(&value, context_.registers + ref, width == 64 ? 8 : 4);
        return width < 32 ? value & ((uint64_t{1} << width) - 1) : value;
    }

    // What became of it; the value is in its slot.
    struct Did {
        bool computed = true;  // false: it is left to the instruction
        uint64_t value = 0;
        uint64_t instruction = 0;
    };
    Did run(const Operation& o) {
        if (isa::is_folded_function(o)) return run_function(o);
        std::array<uint64_t, 3> sources{};
        const bool changes = isa::folds_to_its_own(o) || isa::fold_of(o.op) == isa::Fold::sums;
        for (unsigned k = 0; changes && k < sources.size() && k + 1u < o.operands; ++k)
            sources[k] = get(o.r[k + 1], bits_of_source(o, k));
        const Step step{.run = behaviour(o.op).choose(o), .op = &o};
        step.run(context_, step, 1);
        if (!changes) return {};
        const unsigned width = isa::bits(o.mod.type[0]);
        const uint64_t instruction = get(o.r[0], width);
        const num::FoldedConstant folded = num::folded_constant(o, sources, instruction);
        put(o.r[0], width, folded.value);
        return {!folded.left, folded.value, instruction};
    }

  private:
    static unsigned bits_of_source(const Operation& o, unsigned k) {
        const bool other = o.op == Op::cvt || (o.op == Op::slct && k == 2);
        return isa::bits(o.mod.type[other ? 1 : 0]);
    }

    Did run_function(const Operation& o) {
        const auto a = static_cast<uint32_t>(get(o.r[1], 32));
        const auto b = static_cast<uint32_t>(is_quotient(o.op) ? get(o.r[2], 32) : 0);
        const Special f = function_of(o.op);
        const uint32_t value = num::folded_f32(f, o.mod.ftz, a, b);
        put(o.r[0], 32, value);
        const uint32_t instruction = static_cast<uint32_t>(
            num::special_function(num::mufu_tables, f, isa::Type::f32, o.mod.ftz, a, b));
        return {num::is_folded(f, value), value, instruction};
    }

    std::vector<uint64_t> file_;
    Context context_;
};

template <class T>
void value(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<T>(c.folded[s.folded]); });
}

void product(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto* b = slot<uint32_t>(c, s.op->r[2]);
    const Special f = function_of(s.op->op);
    for_lanes(mask, [&](unsigned l) {
        d[l] = num::product_with_reciprocal(f, s.op->mod.ftz, a[l], b[l],
                                            static_cast<uint32_t>(c.folded[s.folded]));
    });
}

class Folder {
  public:
    Folder(const isa::Program& program, const Operands& operands, const Selection& selection)
        : program_(program),
          operands_(operands),
          selection_(selection),
          evaluator_(program),
          leads_(program.operations.size(), false) {}

    std::vector<warp::Folded> run() {
        for (const isa::Function& f : program_.functions) walk(f);
        std::vector<warp::Folded> out;
        for (const auto& [operation, folded] : found_)
            if (folded.value != folded.instruction) out.push_back(folded);
        std::ranges::sort(out, {}, &warp::Folded::operation);
        return out;
    }

  private:
    Known known(const State& state, isa::Ref ref) const {
        if (const uint64_t* value = operands_.constant_at(ref); value != nullptr)
            return {Known::State::constant, *value};
        const uint32_t reg = operands_.register_at(ref);
        const uint32_t number = reg == none ? none : selection_.number[reg];
        return number == none ? varies : state[number];
    }

    // Of a guard: 1 it runs, 0 it does not, none: it may.
    uint32_t runs(const State& state, const Operation& o) const {
        if (!o.guarded) return 1;
        const Known k = known(state, o.guard);
        if (k.state != Known::State::constant) return none;
        return (k.value != 0) != o.guard_negated ? 1 : 0;
    }

    void enter(uint32_t operation, const State& state) {
        std::optional<State>& at = into_[operation - first_];
        bool changed = !at.has_value();
        if (changed) at.emplace(state.size());
        for (size_t i = 0; i < state.size(); ++i) {
            const Known merged = meet((*at)[i], state[i]);
            changed |= !(merged == (*at)[i]);
            (*at)[i] = merged;
        }
        if (changed) left_.push_back(operation);
    }

    void walk(const isa::Function& f) {
        if (f.first == f.end) return;
        first_ = f.first;
        into_.assign(f.end - f.first, {});
        for (uint32_t i = f.first; i < f.end; ++i)
            isa::each_target(program_.branch_targets, program_.operations[i],
                             [&](uint32_t t) { leads_[t] = true; });
        enter(f.first, State(selection_.tracked.size(), varies));
        while (!left_.empty()) {
            const uint32_t operation = left_.back();
            left_.pop_back();
            go_on(operation, f.end);
        }
    }

    // A block, from its first operation on.
    void go_on(uint32_t operation, uint32_t end) {
        State state = *into_[operation - first_];
        for (uint32_t i = operation; i < end; ++i) {
            if (i != operation && leads_[i]) return enter(i, state);
            const Operation& o = program_.operations[i];
            const uint32_t guard = runs(state, o);
            if (guard == 0) continue;
            if (isa::is_branch(o.op)) {
                isa::each_target(program_.branch_targets, o, [&](uint32_t t) { enter(t, state); });
                if (guard == 1) return;
            } else if (isa::ends_lanes(o.op)) {
                if (guard == 1) return;
            } else {
                note(i, state);
                execute(i, state, guard == 1);
            }
        }
    }

    void write(State& state, isa::Ref ref, const Known& value, bool surely) {
        const uint32_t reg = operands_.register_at(ref);
        const uint32_t number = reg == none ? none : selection_.number[reg];
        if (number == none) return;
        state[number] = surely ? value : meet(state[number], value);
    }

    void execute(uint32_t i, State& state, bool surely) {
        const Operation& o = program_.operations[i];
        if (isa::row(o.op).flow == isa::Flow::call)
            for (const isa::Passed& p : program_.calls[o.target].results)
                write(state, p.ref, varies, surely);
        const bool computed = selection_.follows[i] && compute(o, state);
        for (uint32_t k = 0; k < o.written; ++k) {
            const isa::Ref ref = operands_.written(o, k);
            const Known value =
                computed ? Known{Known::State::constant, evaluator_.get(ref, width(ref))} : varies;
            write(state, ref, value, surely);
        }
    }

    unsigned width(isa::Ref ref) const {
        const isa::Type t = program_.registers[operands_.register_at(ref)].type;
        return t == isa::Type::pred ? 1 : isa::bits(t);
    }

    // Puts the sources where the evaluator finds them. false: they are not all constant.
    bool gives(const Operation& o, const State& state) {
        for (const isa::Ref ref : operands_.sources(o)) {
            const Known k = known(state, ref);
            if (k.state != Known::State::constant) return false;
            if (operands_.constant_at(ref) == nullptr) evaluator_.put(ref, width(ref), k.value);
        }
        return true;
    }

    bool compute(const Operation& o, const State& state) {
        return gives(o, state) && evaluator_.run(o).computed;
    }

    // What is known of the operands of one with a value of its own where it runs; a block that is
    // walked again knows less.
    void note(uint32_t i, const State& state) {
        const Operation& o = program_.operations[i];
        if (!isa::folds_to_its_own(o) || !isa::folds(o)) return;
        found_.erase(i);
        warp::Folded folded{.operation = i, .place = o.place};
        if (gives(o, state)) {
            const Evaluator::Did did = evaluator_.run(o);
            folded.value = did.value;
            folded.instruction = did.instruction;
        } else if (is_quotient(o.op) && known(state, o.r[2]).state == Known::State::constant) {
            const Special f = function_of(o.op);
            const auto y = static_cast<uint32_t>(known(state, o.r[2]).value);
            folded.divisor = true;
            folded.value = num::folded_reciprocal(f, o.mod.ftz, y);
            folded.instruction = num::unit_reciprocal(f, o.mod.ftz, y);
        } else {
            return;
        }
        found_[i] = folded;
    }

    const isa::Program& program_;
    const Operands& operands_;
    const Selection& selection_;
    Evaluator evaluator_;
    uint32_t first_ = 0;  // operation of the function that is walked
    // By operation from there on: of one that a block begins with, when it has been reached.
    std::vector<std::optional<State>> into_;
    std::vector<bool> leads_;
    std::vector<uint32_t> left_;
    std::unordered_map<uint32_t, warp::Folded> found_;
};

}  // namespace

std::vector<warp::Folded> find_folded(const isa::Program& program) {
    if (std::ranges::none_of(program.operations, isa::folds_to_its_own)) return {};
    const Operands operands(program);
    const Selection selection(program, operands);
    if (selection.chosen.empty()) return {};
    return Folder(program, operands, selection).run();
}

void apply_folded(const std::vector<warp::Folded>& folded, Code& code) {
    for (const warp::Folded& f : folded) {
        Step& step = code.steps[f.operation];
        step.folded = static_cast<uint32_t>(code.folded.size());
        code.folded.push_back(f.value);
        const bool wide = isa::bits(step.op->mod.type[0]) == 64;
        step.run = f.divisor ? product : wide ? value<uint64_t> : value<uint32_t>;
    }
}

}  // namespace lockwarp::exec
