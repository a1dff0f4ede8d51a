// SPDX-License-Identifier: Apache-2.0
#include "emu/timing/lowering.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "emu/isa/flow.hpp"
#include "emu/timing/schedule.hpp"

namespace lockwarp::timing {

namespace {

using isa::Operation;
using isa::Program;
using ptx::Space;

constexpr std::array<std::string_view, static_cast<size_t>(Stall::count_)> stall_texts{
    "wait",         "short_scoreboard", "long_scoreboard", "math_pipe_throttle",
    "mio_throttle", "lg_throttle",      "barrier",         "branch_resolving",
    "membar",       "no_instruction",   "not_selected"};

std::span<const uint32_t> written(const Program& p, const Operation& o) {
    return std::span(p.uses).subspan(o.first_use, o.written);
}
std::span<const uint32_t> read(const Program& p, const Operation& o) {
    return std::span(p.uses).subspan(o.first_use + o.written, o.read);
}

Fold fold_of(const Operation& o) { return op_timing(o.op).fold; }
bool on_floats(const Operation& o) { return isa::is_float(o.mod.type[0]); }

bool is_logic(const Operation& o) {
    return fold_of(o) == Fold::logic && width(o) <= 32 && o.mod.type[0] != Type::pred;
}
bool is_whole_add(const Operation& o) {
    return fold_of(o) == Fold::sum && !on_floats(o) && !o.mod.cc && !o.mod.sat;
}

Stall reason_of(const Lowered& l) {
    if (l.action == Action::load || l.action == Action::atomic) return Stall::long_scoreboard;
    if (l.pipe == Pipe::shared || l.pipe == Pipe::sfu) return Stall::short_scoreboard;
    return Stall::wait;
}

// Where a register is defined and used: enough to see what is folded.
struct Uses {
    struct Of {
        uint32_t definitions = 0, uses = 0, definition = UINT32_MAX, user = UINT32_MAX;
        bool beyond_addresses = false;  // used otherwise than as the base of an address
    };
    std::vector<Of> of;
};

Uses uses_of(const Program& p) {
    Uses out;
    out.of.resize(p.registers.size());
    for (uint32_t i = 0; i < p.operations.size(); ++i) {
        const Operation& o = p.operations[i];
        for (const uint32_t r : written(p, o)) {
            ++out.of[r].definitions;
            out.of[r].definition = i;
        }
        for (const uint32_t r : read(p, o)) {
            Uses::Of& u = out.of[r];
            ++u.uses;
            u.user = i;
            const isa::Ref ref = p.registers[r].ref;
            const bool base = o.address[0].base == ref || o.address[1].base == ref;
            const bool value = std::ranges::find(o.r, ref) != o.r.end() ||
                               std::ranges::any_of(o.vector, [&](const isa::VectorRef& v) {
                                   const auto data = std::span(p.pool).subspan(v.first, v.count);
                                   return std::ranges::find(data, ref) != data.end();
                               });
            u.beyond_addresses |= !base || value;
        }
    }
    return out;
}

void make_free(Lowering& l, uint32_t i) {
    l.operations[i].action = Action::free;
    l.operations[i].issue = 0;
    ++l.folded;
}

// What the assembler makes one instruction of, or none.
void fold(Lowering& l) {
    const Program& p = *l.program;
    const Uses uses = uses_of(p);
    std::vector<uint8_t> absorbed(p.operations.size(), 0);
    for (uint32_t i = 0; i < p.operations.size(); ++i) {
        const Operation& o = p.operations[i];
        Lowered& m = l.operations[i];
        if (m.action != Action::plain || o.written == 0) continue;
        const auto outs = written(p, o);
        if (m.kind == Kind::free ||
            std::ranges::all_of(outs, [&](uint32_t r) { return uses.of[r].uses == 0; })) {
            make_free(l, i);
            continue;
        }
        if (outs.size() != 1) continue;
        const Uses::Of& u = uses.of[outs[0]];
        if (u.definitions != 1) continue;
        // An address with a constant offset.
        if (is_whole_add(o) && o.read == 1 && !u.beyond_addresses) {
            make_free(l, i);
            continue;
        }
        if (u.uses != 1 || u.user <= i || l.block_of[u.user] != l.block_of[i]) continue;
        const Operation& to = p.operations[u.user];
        if (l.operations[u.user].action != Action::plain || absorbed[u.user] != 0) continue;
        const bool widened = fold_of(o) == Fold::convert && m.kind == Kind::alu;
        const bool product =
            fold_of(o) == Fold::shift || (fold_of(o) == Fold::product && !on_floats(o));
        const bool contracted = fold_of(o) == Fold::product && on_floats(o) &&
                                fold_of(to) == Fold::sum && !o.mod.rounding_given &&
                                !to.mod.rounding_given;
        if ((is_logic(o) && is_logic(to) && o.read + to.read <= 4) ||
            (is_whole_add(o) && is_whole_add(to) && width(o) == 32) ||
            ((product || widened) && is_whole_add(to)) || contracted ||
            (fold_of(o) == Fold::sign && on_floats(o) && on_floats(to))) {
            // A wide product with its sum is one multiply-add.
            if (product && width(to) == 64) {
                Lowered& t = l.operations[u.user];
                const Cost& c = cost(l.machine->arch, Kind::multiply64);
                t.kind = Kind::multiply64;
                t.pipe = row(Kind::multiply64).pipe;
                t.issue = 1;
                t.latency = c.latency;
                t.interval = c.interval;
            }
            absorbed[u.user] = 1;
            make_free(l, i);
        }
    }
}

// Accesses to shared memory at one base, 32 bits each, one behind the other: of two or four whose
// first is aligned the assembler makes one.
void merge(Lowering& l) {
    const Program& p = *l.program;
    const auto mergeable = [&](uint32_t i) {
        const Operation& o = p.operations[i];
        return fold_of(o) == Fold::access && o.mod.space == Space::shared && width(o) == 32 &&
               o.mod.vec <= 1 && !o.guarded && o.address[0].base != isa::no_ref;
    };
    for (const Block& b : l.blocks)
        for (uint32_t i = b.first; i <= b.last; ++i) {
            if (!mergeable(i)) continue;
            const Operation& first = p.operations[i];
            std::vector<uint32_t> run{i};
            for (uint32_t k = i + 1; k <= b.last && run.size() < 4; ++k) {
                const Operation& o = p.operations[k];
                if (!mergeable(k)) {
                    const Action a = l.operations[k].action;
                    if (a == Action::plain || a == Action::free) continue;
                    break;
                }
                if (o.op != first.op || o.address[0].base != first.address[0].base ||
                    o.address[0].offset !=
                        first.address[0].offset + 4 * static_cast<int64_t>(run.size()))
                    break;
                run.push_back(k);
            }
            while (run.size() > 1 &&
                   (run.size() == 3 || first.address[0].offset % (4 * std::ssize(run)) != 0))
                run.pop_back();
            if (run.size() < 2) continue;
            l.operations[i].merged = l.operations[i].data = static_cast<uint8_t>(run.size());
            for (const uint32_t at : std::span(run).subspan(1)) make_free(l, at);
            i = run.back();
        }
}

// What releases to more than its CTA has a fence before it. barrier.cluster.arrive does, unless it
// says .relaxed.
bool releases_widely(const Operation& o) {
    using enum isa::MemoryOrder;
    if (o.op == isa::Op::fence) return false;
    if (o.op == isa::Op::cluster_arrive) return o.mod.memory_order != relaxed;
    return (o.mod.memory_order == release || o.mod.memory_order == acq_rel) &&
           o.mod.scope > isa::MemoryScope::cta;
}

Lowered lower_one(const Operation& o, const Machine& machine) {
    Lowered l;
    const OpTiming& of = op_timing(o.op);
    l.action = of.action(o);
    l.kind = of.kind(o);
    const KindRow& k = row(l.kind);
    const Cost& c = cost(machine.arch, l.kind);
    l.pipe = k.pipe;
    l.issue = std::max<uint8_t>(k.issue, 1);
    l.latency = c.latency;
    l.interval = c.interval;
    l.how = c.how;
    // Registers of data, as 32-bit words.
    unsigned words = 1;
    if (of.data == Data::elements)
        words = std::max(1u, std::max<unsigned>(o.mod.vec, 1) * width(o) / 32);
    else if (of.data == Data::fragment)
        words = std::max(1u, o.vector[0].count);
    l.data = static_cast<uint8_t>(std::min(words, 255u));
    switch (l.action) {
        case Action::free:
            l.issue = 0;
            l.pipe = Pipe::none;
            break;
        case Action::tensor: {
            l.pipe = Pipe::tensor;
            l.issue = 1;
            if (o.mma != nullptr) {
                l.products =
                    uint64_t{o.mma->m} * o.mma->n * o.mma->k * isa::instances(o.mma->threads);
                if (const TensorRow* const r = tensor_row(machine, *o.mma)) {
                    l.latency = r->latency;
                    l.interval = r->interval;
                    l.hold = r->hold;
                    l.how = r->how;
                }
            } else if (o.warpgroup != nullptr) {
                // Whatever the types. The next one with the same accumulator follows at once.
                const AsyncRow& r = async_row(machine.arch);
                const Centi n = o.warpgroup->n;
                l.products = uint64_t{16} * n * o.warpgroup->types->k;
                l.interval =
                    std::max(n * r.column, o.r[0] == isa::no_ref ? 0 : r.read_a + n * r.read_b);
                l.latency = 1;
                l.how = r.how;
            } else if (o.wmma != nullptr) {
                l.products = uint64_t{o.wmma->m} * o.wmma->n * o.wmma->k;
                if (const auto w = wmma_cost(machine, *o.wmma)) {
                    l.latency = w->latency;
                    l.interval = w->interval;
                    l.hold = w->products;
                    l.how = w->how;
                }
            }
            break;
        }
        case Action::load:
        case Action::store:
        case Action::atomic:
        case Action::copy:
            l.pipe = Pipe::shared;
            l.issue = 1;
            l.how = shared_row(machine.arch).how;
            if (o.wmma_fragment != nullptr && l.action == Action::load)
                l.moves = static_cast<uint16_t>(wmma_moves(*o.wmma_fragment, o.mod.order[0]));
            break;
        case Action::branch:
            l.hold = flow_row(machine.arch).branch;
            break;
        case Action::bulk_wait:
            l.hold = async_row(machine.arch).sent;
            l.how = async_row(machine.arch).how;
            break;
        case Action::bulk_store:
            if (o.op != isa::Op::bulk_store && o.op != isa::Op::bulk_reduce)
                l.hold = async_row(machine.arch).tensor;
            l.how = async_row(machine.arch).how;
            break;
        case Action::bulk_load:
        case Action::phase_wait:
            l.how = async_row(machine.arch).how;
            break;
        case Action::plain:
        case Action::copy_commit:
        case Action::copy_wait:
        case Action::copy_wait_all:
        case Action::bulk_commit:
        case Action::product_commit:
        case Action::product_wait:
        case Action::barrier:
        case Action::barrier_arrive:
        case Action::clock:
        case Action::exit:
            break;
    }
    if (releases_widely(o)) l.fence = cost(machine.arch, Kind::fence_wide).latency;
    if (l.kind == Kind::registers) l.hold = l.latency;
    l.reason = reason_of(l);
    return l;
}

void find_sources(Lowering& l) {
    const Program& p = *l.program;
    l.sources.assign(p.uses.size(), Lowering::outside);
    std::vector<uint32_t> writer(p.registers.size(), Lowering::outside);
    std::vector<uint32_t> touched;
    for (const Block& b : l.blocks) {
        for (uint32_t i = b.first; i <= b.last; ++i) {
            const Operation& o = p.operations[i];
            for (uint32_t u = o.first_use + o.written; u < o.first_use + o.written + o.read; ++u)
                l.sources[u] = writer[p.uses[u]];
            for (uint32_t u = o.first_use; u < o.first_use + o.written; ++u) {
                writer[p.uses[u]] = i;
                touched.push_back(p.uses[u]);
            }
        }
        for (uint32_t i = b.first; i <= b.last; ++i) {
            const Operation& o = p.operations[i];
            for (uint32_t u = o.first_use; u < o.first_use + o.written; ++u)
                if (writer[p.uses[u]] != i) l.sources[u] = i;
        }
        for (const uint32_t r : touched) writer[r] = Lowering::outside;
        touched.clear();
    }
}

void find_blocks(Lowering& l) {
    const Program& p = *l.program;
    // The last operation of a function is exit or ret: what stands behind it leads.
    std::vector<bool> leader(p.operations.size() + 1, false);
    for (uint32_t i = 0; i < p.operations.size(); ++i) {
        const Operation& o = p.operations[i];
        isa::each_target(p.branch_targets, o, [&](uint32_t t) { leader[t] = true; });
        const Action a = l.operations[i].action;
        if (a == Action::branch || a == Action::exit) leader[i + 1] = true;
    }
    l.block_of.resize(p.operations.size());
    for (uint32_t i = 0; i < p.operations.size(); ++i) {
        if (leader[i] || l.blocks.empty()) l.blocks.push_back({i, i, {}});
        l.blocks.back().last = i;
        l.block_of[i] = static_cast<uint32_t>(l.blocks.size() - 1);
    }
}

}  // namespace

std::string_view text_of(Stall s) { return stall_texts[static_cast<size_t>(s)]; }

Lowering lower(const Program& program, const Machine& machine) {
    Lowering l;
    l.program = &program;
    l.machine = &machine;
    l.operations.reserve(program.operations.size());
    for (const Operation& o : program.operations) l.operations.push_back(lower_one(o, machine));
    find_blocks(l);
    find_sources(l);
    fold(l);
    merge(l);
    for (Block& b : l.blocks) schedule(l, b);
    l.registers = live_registers(l);
    return l;
}

}  // namespace lockwarp::timing
