// SPDX-License-Identifier: Apache-2.0
#include "gpu/ordered.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "gpu/trace.hpp"

namespace lockwarp::gpu {

namespace {

using isa::Memory;
using isa::Op;
using ptx::Space;

constexpr uint64_t word_stride = 8 * 32;

bool is_strong(const ptx::Instruction& i) {
    constexpr auto strong =
        std::to_array<std::string_view>({".volatile", ".relaxed", ".acquire", ".release", ".mmio"});
    return std::ranges::any_of(i.modifiers, [&](const ptx::Modifier& m) {
        return std::ranges::find(strong, m.text) != strong.end();
    });
}

bool is_common(Space space) {
    return space == Space::global || space == Space::shared || space == Space::none;
}

// Operations of which the last is a branch back to the first.
class Loop {
  public:
    Loop(const isa::Program& program, std::span<const isa::Operation> operations)
        : program_(program), operations_(operations) {}

    // Whether it stores nothing and leaves by a branch that such loads alone decide, from
    // addresses that stay the same; `load` is one of them.
    bool waits_for(const isa::Operation& load) {
        for (const isa::Operation& o : operations_) {
            const Memory m = isa::row(o.op).memory;
            const isa::Flow flow = isa::row(o.op).flow;
            if (m == Memory::store || m == Memory::update || m == Memory::copy ||
                flow == isa::Flow::call)
                return false;
            for (const uint32_t use : uses(o).first(o.written)) written_.insert(ref(use));
        }
        for (bool more = true; more;) {
            more = false;
            for (const isa::Operation& o : operations_) more |= visit(o, &o == &load);
        }
        return std::ranges::any_of(operations_, [&](const isa::Operation& o) {
            return isa::row(o.op).flow == isa::Flow::branch && pure(o.guard) &&
                   from_load_.contains(o.guard);
        });
    }

  private:
    // What it writes, and then what it reads.
    std::span<const uint32_t> uses(const isa::Operation& o) const {
        return std::span(program_.uses).subspan(o.first_use, size_t{o.written} + o.read);
    }
    isa::Ref ref(uint32_t use) const { return program_.registers[use].ref; }
    bool pure(isa::Ref r) const { return !written_.contains(r) || pure_.contains(r); }
    // Whether something new is known of what the operation writes.
    bool visit(const isa::Operation& o, bool is_load) {
        bool all_pure =
            isa::row(o.op).memory == Memory::none || (o.op == Op::ld && is_common(o.mod.space));
        bool brings = is_load;
        for (const uint32_t use : uses(o).subspan(o.written)) {
            all_pure = all_pure && pure(ref(use));
            brings = brings || from_load_.contains(ref(use));
        }
        bool changed = false;
        for (const uint32_t use : uses(o).first(o.written)) {
            if (all_pure) changed |= pure_.insert(ref(use)).second;
            if (brings) changed |= from_load_.insert(ref(use)).second;
        }
        return changed;
    }

    const isa::Program& program_;
    const std::span<const isa::Operation> operations_;
    std::set<isa::Ref> written_, pure_, from_load_;
};

constexpr uint32_t longest_loop = 100;  // operations

bool is_waited_for(const isa::Program& program, uint32_t load) {
    const std::span<const isa::Operation> all = program.operations;
    const auto from = all.subspan(load);
    const auto ends_loop = [&](const isa::Operation& o) {
        const auto i = static_cast<uint32_t>(&o - all.data());
        // Forwards that is a large number. A loop without the load waits for nothing of it.
        const uint32_t back = i - o.target;
        return isa::row(o.op).flow == isa::Flow::branch && back < longest_loop &&
               Loop(program, all.subspan(o.target, back + 1)).waits_for(all[load]);
    };
    return std::ranges::any_of(from.first(std::min<size_t>(from.size(), longest_loop)), ends_loop);
}

bool takes_block(const isa::Program& program, uint32_t operation) {
    const isa::Operation& o = program.operations[operation];
    return o.op == Op::call && program.calls[o.target].system == isa::System::malloc;
}

const char* old_type(const isa::Operation& o) {
    switch (isa::bits(o.mod.type[0])) {
        case 16:
            return "b16";
        case 32:
            return "b32";
        default:
            return "b64";
    }
}

std::string old_register(const isa::Operation& o, uint32_t i) {
    return std::string("%lw_") + old_type(o) + "_" + std::to_string(i);
}

}  // namespace

const char* const order_declarations =
    ".reg .b64 %lw_c, %lw_a; .reg .b32 %lw_i, %lw_j;\n"
    ".reg .b16 %lw_b16_<8>; .reg .b32 %lw_b32_<8>; .reg .b64 %lw_b64_<8>;\n";

const char* const order_prologue = "ld.param.u64 %lw_c, [lw_sink]; sub.u64 %lw_c, %lw_c, 256;\n";
static_assert(ticket_bytes == 256);

Orders choose_ordered(const isa::Program& program, const ptx::Module& module) {
    Orders out(program.operations.size(), Ordered::none);
    const std::vector<const ptx::Instruction*> text = instructions_of(module, program);
    bool any = false;
    size_t at = 0;
    for (const isa::Operation& o : program.operations) {
        const auto i = static_cast<uint32_t>(at++);
        // No register of 128 bits is traced, and so nothing says what its lane found.
        if ((o.op == Op::atom && isa::bits(o.mod.type[0]) != 128) ||
            (o.op == Op::red && isa::is_float(o.mod.type[0])))
            out[i] = Ordered::change;
        // What has no text is the end of a function; what is strong is of common memory.
        else if (o.op == Op::ld && ((is_strong(*text[i]) && o.mod.space != Space::shared) ||
                                    is_waited_for(program, i)))
            out[i] = Ordered::load;
        // Behind a call there is the function's end at least.
        else if (takes_block(program, i) && program.operations[i + 1].op == Op::ld &&
                 program.operations[i + 1].written == 1)
            out[i] = Ordered::block;
        if (i != 0 && out[i - 1] == Ordered::block) out[i] = Ordered::result;
        any = any || out[i] != Ordered::none;
    }
    if (!any) return {};
    at = 0;
    for (const isa::Operation& o : program.operations) {
        const size_t i = at++;
        if (o.op == Op::red) out[i] = Ordered::change;
        if (o.op == Op::ld && out[i] == Ordered::none && is_common(o.mod.space))
            out[i] = Ordered::weak;
        if (o.op == Op::st && is_strong(*text[i])) out[i] = Ordered::store;
    }
    return out;
}

bool keeps_old(const isa::Operation& o) { return o.written != o.vector[0].count; }

uint64_t record_words(const isa::Operation& o, Ordered ordered) {
    uint64_t words = 1u + o.written;
    if (ordered == Ordered::change) words += change_words + (keeps_old(o) ? o.vector[0].count : 0);
    if (ordered == Ordered::result) ++words;
    return words;
}

uint64_t record_words(const isa::Program& program, const Orders& orders, uint32_t operation) {
    return record_words(program.operations[operation],
                        orders.empty() ? Ordered::none : orders[operation]);
}

std::string before_change(const isa::Program& program, const isa::Operation& o,
                          const std::string& guard) {
    const isa::Address& a = o.address[0];
    const std::string offset = std::to_string(a.offset);
    std::string out = "mov.u64 %lw_a, " + offset + ";\n";
    if (a.base != isa::no_ref) {
        const std::string& base =
            std::ranges::find(program.registers, a.base, &isa::Register::ref)->name;
        out = a.wide ? "add.s64 %lw_a, " + base + ", " + offset + ";\n"
                     : "cvt.u64.u32 %lw_a, " + base + "; add.s64 %lw_a, %lw_a, " + offset + ";\n";
    }
    if (o.mod.space == Space::none)
        out += "isspacep.shared %lw_q, %lw_a; @%lw_q or.b64 %lw_a, %lw_a, " +
               std::to_string(static_cast<int64_t>(change_in_shared)) + ";\n";
    return out + guard + "atom.global.add.u32 %lw_i, [%lw_c], 1; membar.gl;\n";
}

std::string after_change(const std::string& guard) {
    return "membar.gl; " + guard + "atom.global.add.u32 %lw_j, [%lw_c], 1;\n";
}

std::string after_result(const std::string& guard) {
    return "membar.gl; " + guard + "atom.global.add.u32 %lw_j, [%lw_c], 1; membar.gl;\n";
}

namespace {

std::string stored(const char* type, uint64_t at, const std::string& reg) {
    return std::string("st.global.") + type + " [%lw_d+" + std::to_string(at * word_stride) +
           "], " + reg + ";\n";
}

}  // namespace

std::string stored_result(uint64_t at) { return stored("u32", at, "%lw_j"); }

std::string stored_change(const isa::Program& program, const isa::Operation& o, uint64_t at) {
    // Results that are named have their own registers.
    const auto register_of = [&](uint32_t element) {
        for (const uint32_t use : std::span(program.uses).subspan(o.first_use, o.written)) {
            const isa::Register& r = program.registers[use];
            if (r.ref == program.pool[o.vector[0].first + element]) return r.name;
        }
        return old_register(o, element);
    };
    const auto store = [&](const char* type, const std::string& reg) {
        return stored(type, at++, reg);
    };
    std::string out = "mov.b64 %lw_v, {%lw_i, %lw_j};\n" + store("b64", "%lw_v");
    out += store("b64", "%lw_a");
    if (keeps_old(o))
        for (uint32_t e = 0; e < o.vector[0].count; ++e) out += store(old_type(o), register_of(e));
    return out;
}

void with_old_values(ptx::Instruction& i, const isa::Operation& o) {
    std::vector<ptx::Operand> old(o.vector[0].count);
    for (ptx::Operand& p : old) {
        p.kind = ptx::OperandKind::name;
        p.text = old_register(o, static_cast<uint32_t>(&p - old.data()));
    }
    if (o.op == Op::red) {
        ptx::Operand vector;
        vector.kind = ptx::OperandKind::vector;
        vector.items = old;
        i.opcode = "atom";
        i.operands.insert(i.operands.begin(), old.size() > 1 ? vector : old.front());
    }
    // Results that are named keep their registers.
    const std::span<ptx::Operand> results =
        old.size() > 1 ? std::span(i.operands[0].items) : std::span(i.operands).first(1);
    for (ptx::Operand& r : results)
        if (r.kind == ptx::OperandKind::sink) r = old[static_cast<size_t>(&r - results.data())];
}

}  // namespace lockwarp::gpu
