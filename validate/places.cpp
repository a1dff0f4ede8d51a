// SPDX-License-Identifier: Apache-2.0
#include "validate/places.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "emu/isa/placement.hpp"
#include "gpu/trace.hpp"

namespace lockwarp::validate {

namespace {

using isa::Op;
using ptx::Space;

// What an opcode does with addresses.
enum class AddressUse : uint8_t {
    carried,  // what it writes depends on place where what it reads does
    loaded,
    stored,
    exchanged,  // loaded, and with .exch and .cas stored
    passed,     // to a function and back
    ends,       // what it writes holds none
    converted,
    named,  // as carried, and it may name a variable or function
    made,
};

struct AddressRow {
    Op op;
    AddressUse use;
};

// Those that do not carry them. A matrix holds no addresses.
constexpr auto address_rows = std::to_array<AddressRow>({
    {Op::mov, AddressUse::named},
    {Op::ld, AddressUse::loaded},
    {Op::st, AddressUse::stored},
    {Op::cvta, AddressUse::converted},
    {Op::isspacep, AddressUse::ends},
    {Op::atom, AddressUse::exchanged},
    {Op::red, AddressUse::ends},
    {Op::call, AddressUse::passed},
    {Op::alloca_, AddressUse::made},
    {Op::stacksave, AddressUse::made},
    {Op::wmma_load, AddressUse::ends},
    {Op::wmma_store, AddressUse::ends},
});

AddressUse address_use(Op op) {
    const auto* const found = std::ranges::find(address_rows, op, &AddressRow::op);
    return found == address_rows.end() ? AddressUse::carried : found->use;
}

bool is_workspace(isa::Special s) {
    return s == isa::Special::workspace_low || s == isa::Special::workspace_high;
}

// State spaces that a pointer may be stored to.
enum Memory : uint8_t { local, shared, global, constant, memories };

class Follower {
  public:
    Follower(const isa::Program& program, const ptx::Module& module) : program_(program) {
        for (const auto& item : module.items)
            if (const auto* v = std::get_if<ptx::Variable>(&item))
                for (const ptx::Initializer& init : v->initializer)
                    if (holds_address(init))
                        held_[v->space == Space::const_ ? constant : global] = true;
        const bool shared_known = isa::shared_places_known(module, program.entry);
        for (const isa::Placed& v : program.variables)
            if (v.space != Space::shared || !shared_known) named_.insert(v.name);
        for (const isa::SpecialUse& s : program.specials)
            if (is_workspace(s.special)) workspace_.insert(s.ref);
        for (const isa::Function& f : program.functions) named_.insert(f.name);
        instructions_ = gpu::instructions_of(module, program);
    }

    std::vector<bool> run() {
        std::vector<bool> out(program_.operations.size(), false);
        do {
            changed_ = false;
            for (size_t i = 0; i < out.size(); ++i)
                if (instructions_[i] != nullptr && visit(program_.operations[i], *instructions_[i]))
                    out[i] = true;
        } while (changed_);
        return out;
    }

  private:
    static bool holds_address(const ptx::Initializer& init) {
        return init.kind == ptx::InitializerKind::address ||
               std::ranges::any_of(init.items, holds_address);
    }

    isa::Ref ref_of(const isa::Operation& o, uint32_t use) const {
        return program_.registers[program_.uses[o.first_use + use]].ref;
    }

    void mark(isa::Ref ref) {
        if (ref == isa::no_ref || ref == isa::scratch_register) return;
        changed_ |= marked_.insert(ref).second;
    }

    bool is_marked(isa::Ref ref) const { return marked_.contains(ref); }

    bool reads_marked(const isa::Operation& o) const {
        for (uint32_t use = o.written; use < uint32_t{o.written} + o.read; ++use)
            if (is_marked(ref_of(o, use))) return true;
        return false;
    }

    // Marks what a space may hold, or asks for it; generic accesses may mean any.
    void store(Space space) {
        for (uint8_t m = 0; m < memories; ++m)
            if (may_be(space, m) && !held_[m]) held_[m] = changed_ = true;
    }
    bool holds(Space space) const {
        for (uint8_t m = 0; m < memories; ++m)
            if (may_be(space, m) && held_[m]) return true;
        return false;
    }
    static bool may_be(Space space, uint8_t memory) {
        switch (space) {
            case Space::local:
                return memory == local;
            case Space::shared:
                return memory == shared;
            case Space::global:
                return memory == global;
            case Space::const_:
                return memory == constant;
            case Space::param:
                return false;
            default:
                return true;
        }
    }

    // The value that a store, or behind its result an exchange, may put into memory is marked.
    bool stores_marked(const isa::Operation& o) const {
        for (size_t n = o.op == Op::atom ? 1 : 0; n < o.vector.size(); ++n)
            for (uint32_t i = 0; i < o.vector[n].count; ++i)
                if (is_marked(program_.pool[o.vector[n].first + i])) return true;
        return false;
    }

    // Arithmetic makes no pointer of another one.
    static bool keeps_pointers(const isa::Operation& o) {
        return o.mod.reduce == isa::Reduce::exch || o.mod.reduce == isa::Reduce::cas;
    }

    static bool may_be_pointer(const isa::Operation& o) {
        return isa::bits(o.mod.type[0]) >= 64 && !isa::is_float(o.mod.type[0]);
    }

    // Where the workspace of a cooperative launch lies.
    bool reads_workspace(const isa::Operation& o) const {
        return std::ranges::any_of(o.r, [&](isa::Ref r) { return workspace_.contains(r); });
    }

    bool names_place(const ptx::Instruction& i) const {
        return i.operands.size() > 1 && i.operands[1].kind == ptx::OperandKind::name &&
               named_.contains(i.operands[1].text);
    }

    void pass(const isa::Call& call, const isa::Function& f) {
        for (size_t k = 0; k < std::min(call.arguments.size(), f.parameters.size()); ++k)
            if (is_marked(call.arguments[k].ref)) {
                mark(f.parameters[k].ref);
                if (f.parameters[k].ref == isa::no_ref) store(Space::local);
            }
        for (size_t k = 0; k < std::min(call.results.size(), f.results.size()); ++k)
            if (is_marked(f.results[k].ref)) {
                mark(call.results[k].ref);
                if (call.results[k].ref == isa::no_ref) store(Space::local);
            }
    }

    // Whether what the operation writes depends on place.
    bool visit(const isa::Operation& o, const ptx::Instruction& i) {
        bool depends = false;
        switch (address_use(o.op)) {
            case AddressUse::loaded:
                depends = may_be_pointer(o) && holds(o.mod.space);
                break;
            case AddressUse::stored:
                if (stores_marked(o)) store(o.mod.space);
                return false;
            case AddressUse::exchanged:
                if (!may_be_pointer(o) || !keeps_pointers(o)) return false;
                if (stores_marked(o)) store(o.mod.space);
                depends = holds(o.mod.space);
                break;
            case AddressUse::passed: {
                const isa::Call& call = program_.calls[o.target];
                for (size_t f = 1; f < program_.functions.size(); ++f)
                    if (call.pointer != isa::no_ref || call.function == f)
                        pass(call, program_.functions[f]);
                return false;
            }
            case AddressUse::ends:
                return false;
            case AddressUse::converted:
                depends = o.mod.to
                              ? reads_marked(o) && o.mod.space != Space::shared
                              : o.mod.space != Space::global || names_place(i) || reads_marked(o);
                break;
            case AddressUse::named:
                depends = reads_marked(o) || names_place(i) || reads_workspace(o);
                break;
            case AddressUse::made:
                depends = true;
                break;
            case AddressUse::carried:
                depends = reads_marked(o);
                break;
        }
        if (depends)
            for (uint32_t use = 0; use < o.written; ++use) mark(ref_of(o, use));
        return depends;
    }

    const isa::Program& program_;
    std::vector<const ptx::Instruction*> instructions_;
    std::unordered_set<std::string> named_;   // variables and functions
    std::unordered_set<isa::Ref> workspace_;  // special registers
    std::unordered_set<isa::Ref> marked_;
    std::array<bool, memories> held_{};
    bool changed_ = false;
};

}  // namespace

std::vector<bool> depends_on_place(const isa::Program& program, const ptx::Module& module) {
    return Follower(program, module).run();
}

}  // namespace lockwarp::validate
