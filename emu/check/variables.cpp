// SPDX-License-Identifier: Apache-2.0
// Accesses whose address was made from one variable and that touch another: inside shared memory, a
// thread's local memory or among a module's global variables nothing traps there. And accesses that
// are wider than what the variable's declaration aligns it to: where it lies is the compiler's
// choice.
//
// Which variable an address was made from is what the names in the PTX say: registers get it from
// mov, cvta and arithmetic, whatever the order in which instructions run. An address that may come
// from several variables, or from memory, is left alone.
#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/isa/types.hpp"

namespace lockwarp::check {

namespace {

using ptx::Space;

constexpr uint32_t no_variable = UINT32_MAX;
constexpr uint32_t several = UINT32_MAX - 1;

uint32_t joined(uint32_t a, uint32_t b) {
    if (a == no_variable || a == b) return b;
    return b == no_variable ? a : several;
}

uint64_t key_of(ptx::Place place) { return uint64_t{place.line} << 32 | place.column; }

// A variable, and the names of variables in each instruction.
struct Declared {
    std::string name;
    Space space;
    uint64_t begin, end;
    uint64_t alignment;
};

class Names {
  public:
    Names(const isa::Program& program, const ptx::Module& module, uint64_t dynamic_shared);

    const std::vector<Declared>& variables() const { return variables_; }
    // The variable that an operation's address in this space is made from; no_variable or several.
    uint32_t of_address(uint32_t operation, Space space) const;

  private:
    void declare(const ptx::Variable& v);
    void read(const ptx::Block& block);
    void read(const ptx::Operand& o, uint32_t& variable) const;
    void follow();

    const isa::Program& program_;
    uint64_t dynamic_shared_;
    bool follows_local_;  // one frame alone
    std::vector<Declared> variables_;
    std::map<std::string, uint32_t> by_name_;
    std::unordered_map<uint64_t, uint32_t> in_instruction_;  // by place
    std::unordered_map<isa::Ref, uint32_t> in_register_;
};

uint64_t alignment_of(const ptx::Variable& v) {
    const uint64_t own = isa::bits(isa::type_named(v.type)) / 8 * uint64_t{v.vector};
    return std::max<uint64_t>({v.alignment, own, 1});
}

void Names::declare(const ptx::Variable& v) {
    const bool is_local = v.space == Space::local && follows_local_;
    if (v.space != Space::shared && v.space != Space::global && !is_local) return;
    const auto is = [&](const isa::Placed& p) { return p.name == v.name && p.space == v.space; };
    const auto at = std::ranges::find_if(program_.variables, is);
    if (at == program_.variables.end()) return;
    const auto index = static_cast<uint32_t>(variables_.size());
    const bool alone = std::ranges::count_if(program_.variables, is) == 1;
    by_name_[v.name] = alone ? index : several;
    // An array without a size has all of the dynamic shared memory. LLVM demotes one of no elements
    // into the kernel as a scalar, aligned beyond its size (Mosaic GPU, other users of MLIR).
    const uint64_t dynamic = uint64_t{program_.shared_begin} + program_.shared_static;
    const bool is_demoted = v.dims.empty() && v.alignment > at->bytes && dynamic_shared_ != 0;
    const bool is_dynamic = v.space == Space::shared && (at->bytes == 0 || is_demoted);
    const uint64_t bytes = is_dynamic ? dynamic + dynamic_shared_ - at->address : at->bytes;
    variables_.push_back({v.name, v.space, at->address, at->address + bytes, alignment_of(v)});
}

void Names::read(const ptx::Operand& o, uint32_t& variable) const {
    if (o.kind == ptx::OperandKind::name)
        if (const auto at = by_name_.find(o.text); at != by_name_.end())
            variable = joined(variable, at->second);
    for (const ptx::Operand& item : o.items) read(item, variable);
}

void Names::read(const ptx::Block& block) {
    for (const ptx::Statement& s : block.body)
        if (const auto* v = std::get_if<ptx::Variable>(&s.node)) declare(*v);
    for (const ptx::Statement& s : block.body) {
        if (const auto* inner = std::get_if<ptx::Block>(&s.node)) read(*inner);
        const auto* instruction = std::get_if<ptx::Instruction>(&s.node);
        if (instruction == nullptr) continue;
        uint32_t variable = no_variable;
        for (const ptx::Operand& o : instruction->operands) read(o, variable);
        if (variable != no_variable) in_instruction_[key_of(instruction->place)] = variable;
    }
}

// What an operation's result may be made from.
bool makes_addresses(const isa::Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    return row.memory == isa::Memory::none && row.matrix == isa::Matrix::none &&
           row.flow == isa::Flow::next && row.step != isa::StepKind::collective;
}

void Names::follow() {
    for (bool changed = true; changed;) {
        changed = false;
        for (const isa::Operation& o : program_.operations) {
            if (!makes_addresses(o)) continue;
            const auto named = in_instruction_.find(key_of(o.place));
            uint32_t variable = named == in_instruction_.end() ? no_variable : named->second;
            for (uint32_t n = o.written; n < uint32_t{o.written} + o.read; ++n) {
                const isa::Ref ref = program_.registers[program_.uses[o.first_use + n]].ref;
                if (const auto at = in_register_.find(ref); at != in_register_.end())
                    variable = joined(variable, at->second);
            }
            if (variable == no_variable) continue;
            for (uint32_t n = 0; n < o.written; ++n) {
                const isa::Ref ref = program_.registers[program_.uses[o.first_use + n]].ref;
                const auto [at, is_new] = in_register_.try_emplace(ref, variable);
                const uint32_t both = joined(at->second, variable);
                changed |= is_new || both != at->second;
                at->second = both;
            }
        }
    }
}

Names::Names(const isa::Program& program, const ptx::Module& module, uint64_t dynamic_shared)
    : program_(program),
      dynamic_shared_(dynamic_shared),
      follows_local_(std::ranges::none_of(program.operations, [](const isa::Operation& o) {
          return o.op == isa::Op::call || o.op == isa::Op::alloca_;
      })) {
    for (const auto& item : module.items)
        if (const auto* v = std::get_if<ptx::Variable>(&item)) declare(*v);
    for (const auto& item : module.items) {
        const auto* function = std::get_if<ptx::Function>(&item);
        const auto runs = [&](const isa::Function& f) { return f.name == function->name; };
        if (function != nullptr && std::ranges::any_of(program.functions, runs))
            read(function->body);
    }
    follow();
}

uint32_t Names::of_address(uint32_t operation, Space space) const {
    const isa::Operation& o = program_.operations[operation];
    uint32_t out = no_variable;
    const auto take = [&](uint32_t variable) {
        const bool here = variable >= several || variables_[variable].space == space;
        if (variable != no_variable && here) out = joined(out, variable);
    };
    if (const auto at = in_instruction_.find(key_of(o.place)); at != in_instruction_.end())
        take(at->second);
    for (const isa::Address& a : o.address)
        if (const auto at = in_register_.find(a.base); at != in_register_.end()) take(at->second);
    return out;
}

// What is looked at of an operation: the variable that its addresses are of.
struct Watched {
    uint32_t shared = no_variable, global = no_variable, local = no_variable;
    bool any() const {
        return shared != no_variable || global != no_variable || local != no_variable;
    }
};

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const isa::Program& program, const std::vector<Declared>& variables,
          const std::vector<Watched>& watched)
        : program_(program), variables_(variables), watched_(watched) {}
    void retired(const warp::Retired& e) override;

    Collection found;

  private:
    void look(const warp::Retired& e, const warp::Access& a, const Declared& v);
    void beyond(const warp::Retired& e, const warp::Access& a, const Declared& v, uint32_t lanes);
    void narrow(const warp::Retired& e, const warp::Access& a, const Declared& v);

    const isa::Program& program_;
    const std::vector<Declared>& variables_;
    const std::vector<Watched>& watched_;
};

void OfCta::beyond(const warp::Retired& e, const warp::Access& a, const Declared& v,
                   uint32_t lanes) {
    if (found.again("beyond-variable", e.operation, std::nullopt)) return;
    const auto lane = static_cast<size_t>(__builtin_ctz(lanes));
    const uint64_t at = a.address[lane];
    Finding f;
    f.kind = "beyond-variable";
    f.here = {e.operation, e.cta, e.warp, lanes, e.step};
    f.space = a.space;
    f.address = at;
    f.bytes = a.bytes_of_lane[lane];
    const std::string size = std::to_string(v.end - v.begin);
    const std::string where =
        at < v.begin
            ? std::to_string(v.begin - at) + " bytes before " + v.name
            : "byte " + std::to_string(at - v.begin) + " of " + v.name + ", which has " + size;
    f.message = (a.store ? "stores to " : "reads ") + where;
    const auto is_there = [&](const Declared& other) {
        return other.space == v.space && at >= other.begin && at < other.end;
    };
    if (const auto other = std::ranges::find_if(variables_, is_there); other != variables_.end())
        f.message += ": that is byte " + std::to_string(at - other->begin) + " of " + other->name;
    f.hint = "the address was made from " + v.name + ": an index is too large";
    found.add(std::move(f));
}

void OfCta::narrow(const warp::Retired& e, const warp::Access& a, const Declared& v) {
    if (found.again("aligned-by-luck", e.operation, std::nullopt)) return;
    const auto lane = static_cast<size_t>(__builtin_ctz(a.lanes));
    Finding f;
    f.kind = "aligned-by-luck";
    f.severity = Severity::note;
    f.here = {e.operation, e.cta, e.warp, a.lanes, e.step};
    f.space = a.space;
    f.address = a.address[lane];
    f.bytes = a.bytes_of_lane[lane];
    f.message = "accesses " + std::to_string(a.bytes) + " bytes at once of " + v.name +
                ", which is declared with an alignment of " + std::to_string(v.alignment);
    f.hint =
        "where it lies is the compiler's choice, another on another architecture: declare it "
        "with .align " +
        std::to_string(std::bit_ceil(a.bytes)) + " (alignas)";
    found.add(std::move(f));
}

void OfCta::look(const warp::Retired& e, const warp::Access& a, const Declared& v) {
    uint32_t out = 0;
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<size_t>(__builtin_ctz(rest));
        const uint64_t at = a.address[lane];
        out |= uint32_t{at < v.begin || at + a.bytes_of_lane[lane] > v.end} << lane;
    }
    if (out != 0 && v.end > v.begin) beyond(e, a, v, out);
    const isa::OpRow& row = isa::row(program_.operations[e.operation].op);
    if (out == 0 && a.bytes > v.alignment && row.memory != isa::Memory::barrier && a.bytes <= 16 &&
        std::has_single_bit(a.bytes))
        narrow(e, a, v);
}

void OfCta::retired(const warp::Retired& e) {
    if (e.access_count == 0) return;
    const Watched& w = watched_[e.operation];
    if (!w.any()) return;
    for (uint32_t i = 0; i < e.access_count; ++i) {
        const warp::Access& a = e.accesses[i];
        const uint32_t variable = a.space == Space::shared   ? w.shared
                                  : a.space == Space::global ? w.global
                                  : a.space == Space::local  ? w.local
                                                             : no_variable;
        if (variable != no_variable && a.lanes != 0) look(e, a, variables_[variable]);
    }
}

class Variables : public Check {
  public:
    Variables(const isa::Program& program, const ptx::Module& module, uint64_t dynamic_shared)
        : program_(program) {
        const Names names(program, module, dynamic_shared);
        variables_ = names.variables();
        watched_.resize(program.operations.size());
        const auto known = [](uint32_t variable) {
            return variable == several ? no_variable : variable;
        };
        for (uint32_t i = 0; i < watched_.size(); ++i) {
            if (isa::row(program.operations[i].op).memory == isa::Memory::none) continue;
            watched_[i] = {known(names.of_address(i, Space::shared)),
                           known(names.of_address(i, Space::global)),
                           known(names.of_address(i, Space::local))};
        }
    }
    bool sees_nothing() const { return std::ranges::none_of(watched_, &Watched::any); }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(program_, variables_, watched_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    std::vector<Declared> variables_;
    std::vector<Watched> watched_;  // by operation
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> variable_bounds(const isa::Program& program, const warp::Launch& launch,
                                       const ptx::Module& module) {
    auto out = std::make_unique<Variables>(program, module, launch.dynamic_shared);
    if (out->sees_nothing()) return nullptr;
    return out;
}

}  // namespace lockwarp::check
