// SPDX-License-Identifier: Apache-2.0
// Loops that run too often or not often enough, and what the accumulators begin with.
#include <algorithm>
#include <set>

#include "why/address_edit.hpp"
#include "why/hypothesis.hpp"

namespace lockwarp::why {

namespace {

bool writes(const isa::Program& p, const isa::Operation& o, uint32_t reg) {
    const auto first = p.uses.begin() + o.first_use;
    return std::find(first, first + o.written, reg) != first + o.written;
}

uint32_t register_of(const isa::Program& p, isa::Ref ref) {
    const auto found = std::ranges::find(p.registers, ref, &isa::Register::ref);
    return found == p.registers.end() ? UINT32_MAX
                                      : static_cast<uint32_t>(found - p.registers.begin());
}

// The comparisons that decide whether a loop with matrix instructions goes on.
std::vector<uint32_t> loop_comparisons(const isa::Program& p, const std::vector<Site>& sites,
                                       std::set<int64_t>& steps) {
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < p.operations.size(); ++i) {
        const isa::Operation& o = p.operations[i];
        if (o.op != isa::Op::bra || o.target > i || !o.guarded) continue;
        if (std::ranges::none_of(
                sites, [&](const Site& s) { return s.operation >= o.target && s.operation <= i; }))
            continue;
        const uint32_t guard = register_of(p, o.guard);
        for (uint32_t j = 0; j < p.operations.size(); ++j)
            if (p.operations[j].op == isa::Op::setp && writes(p, p.operations[j], guard) &&
                std::ranges::find(out, j) == out.end())
                out.push_back(j);
        steps.insert(0);  // there is a loop
    }
    return out;
}

}  // namespace

void try_loop_ends(const Scene& s, std::vector<Candidate>& out) {
    if (!s.mapping) return;
    std::set<int64_t> steps;
    const std::vector<uint32_t> comparisons = loop_comparisons(s.program, s.mapping->sites, steps);
    for (const unsigned n : {1, 2, 4, 8, 16, 32, 64})
        for (const int sign : {1, -1}) steps.insert(sign * static_cast<int64_t>(n));
    steps.erase(0);
    for (const uint32_t operation : comparisons) {
        const ptx::Instruction* const was = s.instruction(operation);
        if (was == nullptr || was->operands.size() < 3) continue;
        for (const int64_t by : steps) {
            Candidate c;
            ptx::Instruction now = *was;
            ptx::Operand& bound = now.operands[2];
            if (bound.kind == ptx::OperandKind::integer) {
                bound.bits += static_cast<uint64_t>(by);
                c.patch.edits.push_back({was->place, {now}});
            } else if (bound.kind == ptx::OperandKind::name) {
                const bool wide = isa::bits(s.program.operations[operation].mod.type[0]) == 64;
                const std::string name = "%why" + std::to_string(was->place.line) + "_bound";
                ptx::Variable v;
                v.space = ptx::Space::reg;
                v.type = wide ? ".b64" : ".b32";
                v.name = name;
                std::vector<ptx::Instruction> code =
                    instructions(std::string(wide ? "add.s64 " : "add.s32 ") + name + ", " +
                                 bound.text + ", " + std::to_string(by) + ";");
                if (code.empty()) continue;
                bound.text = name;
                code.push_back(now);
                c.patch.registers.push_back(v);
                c.patch.edits.push_back({was->place, std::move(code)});
            } else {
                continue;
            }
            c.places = {was->place};
            const int64_t size = by < 0 ? -by : by;
            c.words = std::string("the k loop ") +
                      (s.k_is_missing && !s.k_is_twice ? "is too short"
                       : s.k_is_twice                  ? "is too long"
                                                       : "has the wrong length") +
                      ": its bound at line " + std::to_string(was->place.line) + " is " +
                      std::to_string(size) + " too " + (by > 0 ? "low" : "high");
            c.cost = size == 1 ? 1 : 2;
            out.push_back(std::move(c));
        }
    }
}

void try_accumulator_start(const Scene& s, std::vector<Candidate>& out) {
    if (!s.mapping) return;
    const isa::Program& p = s.program;
    // D = A*B + something else, in place of + D.
    Candidate chained;
    std::set<uint32_t> sums;  // registers
    for (const Site& site : s.mapping->sites) {
        const ptx::Instruction* const was = s.instruction(site.operation);
        if (was == nullptr || was->operands.size() < 4) continue;
        const isa::VectorRef d = p.operations[site.operation].vector[0];
        for (uint32_t i = 0; i < d.count; ++i) sums.insert(register_of(p, p.pool[d.first + i]));
        if (was->operands[0] == was->operands[3]) continue;
        Edit e{was->place, {*was}};
        e.becomes[0].operands[3] = was->operands[0];
        chained.places.push_back(was->place);
        chained.patch.edits.push_back(std::move(e));
    }
    if (!chained.patch.edits.empty()) {
        chained.words = "the mma of " + lines_text(chained.places) +
                        " begins anew each time: its C is not the sum so far";
        chained.cost = 2;
        out.push_back(std::move(chained));
    }
    // Something else than zero, set before the products.
    Candidate zeroed;
    for (uint32_t i = 0; i < p.operations.size(); ++i) {
        const isa::Operation& o = p.operations[i];
        if (o.mma != nullptr || o.wmma != nullptr || o.written != 1) continue;
        if (!sums.contains(p.uses[o.first_use])) continue;
        const ptx::Instruction* const was = s.instruction(i);
        if (was == nullptr) continue;
        const isa::Register& reg = p.registers[p.uses[o.first_use]];
        const bool wide = isa::bits(reg.type) == 64;
        Edit e{was->place,
               instructions(std::string(wide ? "mov.b64 " : "mov.b32 ") + reg.name + ", 0;")};
        if (e.becomes.empty() || e.becomes[0] == *was) continue;
        zeroed.places.push_back(was->place);
        zeroed.patch.edits.push_back(std::move(e));
    }
    if (!zeroed.patch.edits.empty()) {
        zeroed.words = "the accumulators do not begin with zero: " + lines_text(zeroed.places);
        zeroed.cost = 2;
        out.push_back(std::move(zeroed));
    }
    // Zero again once they have been stored.
    const Touch* last = nullptr;
    for (const Touch& t : s.touches)
        if (t.role == Role::d && t.store && (last == nullptr || t.operation > last->operation))
            last = &t;
    const ptx::Instruction* const store =
        last == nullptr ? nullptr : s.instruction(last->operation);
    if (store == nullptr) return;
    Candidate again;
    Edit e{store->place, {}};
    std::string code;
    for (const uint32_t reg : sums)
        if (reg != UINT32_MAX)
            code += std::string(isa::bits(p.registers[reg].type) == 64 ? "mov.b64 " : "mov.b32 ") +
                    p.registers[reg].name + ", 0; ";
    e.becomes = instructions(code);
    if (e.becomes.empty()) return;
    e.becomes.insert(e.becomes.begin(), *store);
    again.places = {store->place};
    again.words =
        "the accumulators are not zeroed before the next tile: they keep their sums "
        "after the stores that end at line " +
        std::to_string(store->place.line);
    again.cost = 2;
    again.patch.edits.push_back(std::move(e));
    out.push_back(std::move(again));
}

}  // namespace lockwarp::why
