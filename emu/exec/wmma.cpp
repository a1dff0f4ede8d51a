// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.mma, wmma.store. The lane maps are the layouts of emu/isa/wmma.cpp.
#include "emu/exec/wmma.hpp"

#include <algorithm>
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/fragments.hpp"

namespace lockwarp::exec {

namespace {

using isa::WmmaFragment;
using isa::WmmaOperand;

// The largest matrices: 8x128 of A and B, 16x16 of C (PTX manual, wmma shapes).
constexpr size_t max_factor = 1024;
constexpr size_t max_c = 256;
constexpr size_t max_moves = 16;  // as many as Context::accesses

// What each lane moves, move by move: 16 bytes at most, low ones first.
using Moved = std::array<std::array<std::array<uint64_t, 2>, 32>, max_moves>;

// Where the bytes of every move lie. false: a trap was set.
bool locate_moves(Context& c, const Operation& o, const WmmaPlan& plan, uint32_t mask, bool store,
                  std::array<LanePointers, max_moves>& out) {
    LaneAddresses base;
    lane_addresses(c, o.address[0], mask, base);
    std::array<uint64_t, 32> stride;
    stride.fill(plan.line_elements);
    if (o.operands != 0) {
        const auto* given = slot<uint32_t>(c, o.r[0]);
        for_lanes(mask, [&](unsigned l) { stride[l] = given[l]; });
    }
    const bool wide = o.address[0].wide || o.address[0].base == isa::no_ref;
    const uint64_t ones = wide ? UINT64_MAX : UINT32_MAX;
    for (size_t i = 0; i < plan.moves.size(); ++i) {
        const WmmaPlan::Move& move = plan.moves[i];
        LaneAddresses addresses = base;
        for_lanes(mask, [&](unsigned l) {
            const uint64_t element = stride[l] * move.line[l] + move.at[l];
            addresses[l] = (base[l] + element * plan.element_bits / 8) & ones;
        });
        if (!locate(c, o, o.mod.space, addresses, mask, plan.bytes, plan.bytes, store, out[i]))
            return false;
    }
    return true;
}

void load(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const WmmaPlan& plan = *s.wmma;
    std::array<LanePointers, max_moves> from;
    if (!locate_moves(c, o, plan, mask, false, from)) return;
    const Ref* refs = c.program->pool.data() + o.vector[0].first;
    for (const WmmaPlan::Whole& w : plan.wholes) {
        const auto copy = [&](auto* d) {
            constexpr size_t size = sizeof *d;
            for_lanes(mask, [&](unsigned l) {
                std::memcpy(&d[l], from[w.move][l] + size * w.part, size);
            });
        };
        if (plan.element_bits == 64)
            copy(slot<uint64_t>(c, refs[w.reg]));
        else
            copy(slot<uint32_t>(c, refs[w.reg]));
    }
    if (plan.singles.empty()) return;
    // Elements one by one come from moves of at most four bytes.
    std::array<std::array<uint32_t, 32>, max_moves> moved;
    const auto fetch = [&](auto size) {
        for (size_t i = 0; i < plan.moves.size(); ++i)
            for_lanes(mask, [&](unsigned l) {
                moved[i][l] = 0;
                std::memcpy(&moved[i][l], from[i][l], decltype(size)::value);
            });
    };
    if (mask != all_lanes)
        for (size_t i = 0; i < plan.moves.size(); ++i) moved[i].fill(0);
    if (plan.bytes == 4)
        fetch(std::integral_constant<size_t, 4>{});
    else if (plan.bytes == 2)
        fetch(std::integral_constant<size_t, 2>{});
    else
        fetch(std::integral_constant<size_t, 1>{});
    const unsigned width = plan.element_bits;
    const uint32_t element = width == 32 ? UINT32_MAX : (1u << width) - 1;
    for (const WmmaPlan::Single& e : plan.singles) {
        const uint32_t value = moved[e.move][e.from_lane] >> e.from_bit & element;
        uint32_t& word = slot<uint32_t>(c, refs[e.reg])[e.lane];
        word = e.shift == 0 ? value : word | value << e.shift;
    }
}

void store(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const WmmaPlan& plan = *s.wmma;
    std::array<LanePointers, max_moves> to;
    if (!locate_moves(c, o, plan, mask, true, to)) return;
    const Ref* refs = c.program->pool.data() + o.vector[0].first;
    Moved moved{};
    for (const WmmaPlan::Whole& w : plan.wholes) {
        const unsigned bit = w.part * std::max(plan.element_bits, 32u);
        for (unsigned l = 0; l < 32; ++l) {
            const uint64_t value = plan.element_bits == 64 ? slot<uint64_t>(c, refs[w.reg])[l]
                                                           : slot<uint32_t>(c, refs[w.reg])[l];
            moved[w.move][l][bit / 64] |= value << bit % 64;
        }
    }
    for (const WmmaPlan::Single& e : plan.singles) {
        const unsigned width = plan.element_bits;
        const uint64_t value = slot<uint32_t>(c, refs[e.reg])[e.lane] >> e.shift;
        moved[e.move][e.from_lane][0] |= (value & ((uint64_t{1} << width) - 1)) << e.from_bit;
    }
    for (size_t i = 0; i < plan.moves.size(); ++i)
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
            const auto l = static_cast<unsigned>(__builtin_ctz(rest));
            std::memcpy(to[i][l], moved[i][l].data(), plan.bytes);
        }
}

void mma(Context& c, const Step& s, uint32_t) {
    const Operation& o = *s.op;
    const WmmaPlan& plan = *s.wmma;
    const isa::WmmaVariant& v = *plan.variant;
    const Type sum = isa::sum_type(v);
    const num::MatrixTypes types{
        v.ab, v.ab, plan.converts_c ? sum : v.c, sum, o.mod.satfinite, v.combine, o.mod.rounding};
    const auto [m, n, k] = plan.shape;
    const auto size_a = static_cast<size_t>(m * k);
    const auto size_b = static_cast<size_t>(n * k);
    const auto size_c = static_cast<size_t>(m * n);
    if (plan.tile.good && multiply_tile(c, o, plan.tile, *plan.row, types)) {
        c.products += size_a * static_cast<size_t>(n);
        return;
    }
    std::array<uint64_t, max_factor> a;
    std::array<uint64_t, max_factor> b;
    std::array<uint64_t, max_c> e;
    std::array<uint64_t, max_c> d;  // of all instances
    // D may be in the registers of A, B or C: everything is read before anything is written.
    for (unsigned q = 0; q < plan.instances; ++q) {
        gather(c, o.vector[1], plan.a.data() + q * size_a, size_a, v.ab, a.data());
        gather(c, o.vector[2], plan.b.data() + q * size_b, size_b, v.ab, b.data());
        gather(c, o.vector[3], plan.c.data() + q * size_c, size_c, v.c, e.data());
        if (plan.converts_c)
            for (size_t i = 0; i < size_c; ++i)
                e[i] = num::convert(v.c, sum, e[i], isa::Rounding::rn);
        uint64_t* const to = d.data() + q * size_c;
        plan.product(*plan.row, plan.shape, types, a.data(), b.data(), e.data(), to);
        if (v.d != sum)
            for (size_t i = 0; i < size_c; ++i)
                to[i] = num::convert(sum, v.d, to[i], isa::Rounding::rn);
    }
    scatter(c, o.vector[0], plan.d.data(), size_c * plan.instances, v.d, d.data());
    c.products += plan.instances * size_a * static_cast<size_t>(n);
}

// Makes the moves of a fragment. false: the row's bytes are not neighbours in memory.
bool plan_moves(const WmmaFragment& f, isa::Order order, WmmaPlan& plan) {
    const isa::WmmaMove& how = isa::move_of(f, order);
    const isa::WmmaExtent whole = isa::extent(f);
    const bool by_rows = isa::rows_are_lines(f.operand, order);
    const isa::Elements elements = isa::elements_of(f, f.type);
    plan.bytes = how.bytes;
    plan.element_bits = f.part.bits;
    plan.line_elements = by_rows ? whole.columns : whole.rows;
    const unsigned each = how.bytes * 8 / plan.element_bits;  // elements of a move
    const unsigned values = elements.values();
    const unsigned per_register = plan.element_bits >= 32 ? 1 : 32 / plan.element_bits;
    struct InMemory {
        unsigned line, at;
    };
    const auto in_memory = [&](const isa::Element& e) -> InMemory {
        unsigned row = e.row;
        unsigned column = e.column;
        if (how.exchanged) {
            row = (e.row & ~7u) | (e.column & 7);
            column = (e.column & ~7u) | (e.row & 7);
        }
        return by_rows ? InMemory{row, column} : InMemory{column, row};
    };
    std::vector<WmmaPlan::Move> of_values(values / each);
    for (const isa::Element e : elements) {
        WmmaPlan::Move& move = of_values[e.value / each];
        const InMemory m = in_memory(e);
        const unsigned i = e.value % each;
        if (i == 0) {
            move.line[e.lane] = static_cast<uint8_t>(m.line);
            move.at[e.lane] = static_cast<uint8_t>(m.at);
        }
        if (m.line != move.line[e.lane] || m.at != move.at[e.lane] + i) return false;
    }
    struct Holder {
        uint8_t move, lane, bit;
    };
    std::vector<Holder> holders(size_t{whole.rows} * whole.columns);
    std::vector<uint8_t> move_of_values;
    for (const WmmaPlan::Move& move : of_values) {
        const auto same = std::ranges::find_if(plan.moves, [&](const WmmaPlan::Move& known) {
            return known.line == move.line && known.at == move.at;
        });
        move_of_values.push_back(static_cast<uint8_t>(same - plan.moves.begin()));
        if (same != plan.moves.end()) continue;
        plan.moves.push_back(move);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned i = 0; i < each; ++i) {
                const unsigned line = move.line[lane];
                const unsigned at = move.at[lane] + i;
                holders[by_rows ? line * whole.columns + at : at * whole.columns + line] = {
                    move_of_values.back(), static_cast<uint8_t>(lane),
                    static_cast<uint8_t>(i * plan.element_bits)};
            }
    }
    if (plan.moves.size() > max_moves) return false;
    if (!how.exchanged && each >= per_register) {
        for (unsigned reg = 0; reg < values / per_register; ++reg)
            plan.wholes.push_back({move_of_values[reg * per_register / each],
                                   static_cast<uint8_t>(reg * per_register % each / per_register),
                                   static_cast<uint8_t>(reg)});
        return true;
    }
    for (const isa::Element e : elements) {
        Holder h = holders[e.row * whole.columns + e.column];
        // Not exchanged: its own, of several lanes that hold one element.
        if (!how.exchanged)
            h = {move_of_values[e.value / each], e.lane,
                 static_cast<uint8_t>(e.value % each * plan.element_bits)};
        plan.singles.push_back({h.move, h.lane, h.bit, e.lane, e.reg, e.shift});
    }
    return true;
}

bool plan_product(const isa::WmmaVariant& v, isa::Arch arch, WmmaPlan& plan) {
    const auto find = [&](WmmaOperand operand, Type type, isa::Order order) {
        return isa::find_wmma_fragment(arch, v.m, v.n, v.k, operand, type, order);
    };
    const WmmaFragment* a = find(WmmaOperand::a, v.ab, v.a_order);
    const WmmaFragment* b = find(WmmaOperand::b, v.ab, v.b_order);
    const WmmaFragment* c = find(WmmaOperand::accumulator, v.c, v.a_order);
    const WmmaFragment* d = find(WmmaOperand::accumulator, v.d, v.a_order);
    const Type sum = isa::sum_type(v);
    plan.row = num::find_dot_row(arch, v.m, v.n, v.k, v.ab, sum);
    if (a == nullptr || b == nullptr || c == nullptr || d == nullptr || plan.row == nullptr)
        return false;
    plan.shape = {d->part.rows, d->part.columns, v.k};
    plan.instances = isa::instances(d->threads);
    plan.converts_c = v.c != sum && isa::wmma_machine(arch).converts_c;
    const isa::Elements of_a = isa::elements_of(a->part, v.ab, a->threads);
    const isa::Elements of_b = isa::elements_of(b->part, v.ab, b->threads);
    const isa::Elements of_c = isa::elements_of(c->part, v.c, c->threads);
    const isa::Elements of_d = isa::elements_of(d->part, v.d, d->threads);
    plan.a = cells(of_a);
    plan.b = cells(of_b);
    plan.c = cells(of_c);
    plan.d = cells(of_d);
    if (v.c == sum && v.d == sum && plan.product == num::matrix_product_fast)
        plan.tile = tiled_product(*plan.row, {v.ab, v.ab, v.c, v.d}, of_a, of_b, of_c, of_d);
    return true;
}

}  // namespace

const WmmaPlan* wmma_plan(const Operation& o, isa::Arch arch, bool plain_arithmetic,
                          std::vector<std::shared_ptr<const WmmaPlan>>& plans) {
    const isa::Order order = o.mod.order[0];
    for (const auto& p : plans)
        if (p->op == o.op && p->variant == o.wmma && p->fragment == o.wmma_fragment &&
            p->order == order)
            return p.get();
    auto plan = std::make_shared<WmmaPlan>();
    plan->op = o.op;
    plan->variant = o.wmma;
    plan->fragment = o.wmma_fragment;
    plan->order = order;
    plan->product = plain_arithmetic ? num::matrix_product : num::matrix_product_fast;
    const bool good = o.wmma != nullptr ? plan_product(*o.wmma, arch, *plan)
                                        : plan_moves(*o.wmma_fragment, order, *plan);
    if (!good) return nullptr;
    plans.push_back(std::move(plan));
    return plans.back().get();
}

Handler wmma_load_handler(const Operation&) { return load; }
Handler wmma_store_handler(const Operation&) { return store; }
Handler wmma_mma_handler(const Operation&) { return mma; }

}  // namespace lockwarp::exec
