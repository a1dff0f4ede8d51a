// SPDX-License-Identifier: Apache-2.0
#include "validate/unwritten.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "emu/isa/flow.hpp"

namespace lockwarp::validate {

namespace {

using isa::Operation;
using isa::Program;

// Sets of the registers of one function, by bits.
using Set = std::vector<uint64_t>;

// Registers of one function, numbered from 0.
struct Own {
    std::vector<uint32_t> registers;  // into Program::registers
    std::vector<uint32_t> number;     // of Program::registers
};

std::span<const uint32_t> written(const Program& p, const Operation& o) {
    return std::span(p.uses).subspan(o.first_use, o.written);
}

std::span<const uint32_t> read(const Program& p, const Operation& o) {
    return std::span(p.uses).subspan(o.first_use + o.written, o.read);
}

Own own_registers(const Program& p, const isa::Function& f) {
    Own own;
    own.number.assign(p.registers.size(), MayBeUnwritten::none);
    for (uint32_t i = f.first; i < f.end; ++i) {
        const Operation& o = p.operations[i];
        for (const uint32_t r : std::span(p.uses).subspan(o.first_use, o.written + o.read)) {
            if (own.number[r] != MayBeUnwritten::none) continue;
            own.number[r] = static_cast<uint32_t>(own.registers.size());
            own.registers.push_back(r);
        }
    }
    return own;
}

// The registers that are live at the function's begin (the usual backward analysis: a read makes a
// register live, a write without a guard ends it).
Set live_at_begin(const Program& p, const isa::Function& f, const Own& own) {
    const std::vector<isa::Block> blocks = isa::blocks_of(p, f);
    const size_t words = (own.registers.size() + 63) / 64;
    // Before a block's first operation: some path reads it before it writes it.
    std::vector<Set> before(blocks.size(), Set(words, 0));
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t n = blocks.size(); n-- > 0;) {
            Set live(words, 0);
            for (const uint32_t next : blocks[n].next)
                std::ranges::transform(live, before[next], live.begin(), std::bit_or());
            for (uint32_t i = blocks[n].end; i-- > blocks[n].first;) {
                const Operation& o = p.operations[i];
                if (!o.guarded)
                    for (const uint32_t r : written(p, o))
                        live[own.number[r] / 64] &= ~(uint64_t{1} << own.number[r] % 64);
                for (const uint32_t r : read(p, o))
                    live[own.number[r] / 64] |= uint64_t{1} << own.number[r] % 64;
            }
            changed |= live != before[n];
            before[n] = std::move(live);
        }
    }
    return blocks.empty() ? Set(words, 0) : before[0];
}

bool reads_memory(const Operation& o) {
    const isa::Memory memory = isa::row(o.op).memory;
    return memory == isa::Memory::load || memory == isa::Memory::update;
}

// Its results depend on other lanes' registers too.
bool mixes_lanes(const Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    return row.step == isa::StepKind::collective || row.step == isa::StepKind::reduction ||
           row.matrix == isa::Matrix::registers || row.matrix == isa::Matrix::product ||
           row.matrix == isa::Matrix::warpgroup;
}

// A call writes the registers that take its arguments, and those that take its results.
std::set<isa::Ref> registers_of_calls(const Program& p, const isa::Function& f) {
    std::set<isa::Ref> out;
    for (const isa::Passed& parameter : f.parameters) out.insert(parameter.ref);
    for (uint32_t i = f.first; i < f.end; ++i)
        if (p.operations[i].op == isa::Op::call)
            for (const isa::Passed& result : p.calls[p.operations[i].target].results)
                out.insert(result.ref);
    return out;
}

uint32_t all_results(const Operation& o) { return o.written >= 32 ? ~0u : (1u << o.written) - 1; }

}  // namespace

MayBeUnwritten may_be_unwritten(const Program& program, uint64_t dynamic_shared) {
    MayBeUnwritten out;
    out.place.assign(program.registers.size(), MayBeUnwritten::none);
    out.reads.assign(program.operations.size(), false);
    out.shared_begin = program.shared_begin;
    out.shared_bytes = isa::in_shared_units(program.arch, program.shared_static + dynamic_shared);
    for (const isa::Function& f : program.functions) {
        const Own own = own_registers(program, f);
        const Set live = live_at_begin(program, f, own);
        const std::set<isa::Ref> taking = registers_of_calls(program, f);
        for (size_t n = 0; n < own.registers.size(); ++n)
            if ((live[n / 64] >> n % 64 & 1) != 0 &&
                !taking.contains(program.registers[own.registers[n]].ref))
                out.place[own.registers[n]] = out.registers++;
    }
    for (size_t i = 0; i < out.reads.size(); ++i) {
        const Operation& o = program.operations[i];
        const bool reads_register = std::ranges::any_of(
            read(program, o), [&](uint32_t r) { return out.place[r] != MayBeUnwritten::none; });
        out.reads[i] =
            o.written != 0 && (reads_register || (out.shared_bytes != 0 && reads_memory(o)));
    }
    return out;
}

bool Written::is_written(uint64_t address, uint64_t bytes) const {
    // What lies beyond is not the kernel's own.
    if (address < may_.shared_begin || address + bytes > may_.shared_begin + shared_.size())
        return true;
    return std::memchr(shared_.data() + (address - may_.shared_begin), 0, bytes) == nullptr;
}

void Written::mark(uint64_t address, uint64_t bytes) {
    if (address < may_.shared_begin || address + bytes > may_.shared_begin + shared_.size()) return;
    std::memset(shared_.data() + (address - may_.shared_begin), 1, bytes);
}

// The lanes that read a register which they never wrote.
uint32_t Written::lanes_of_registers(const warp::Retired& e) const {
    if (may_.registers == 0) return 0;
    uint32_t lanes = 0;
    for (const uint32_t r : read(*e.program, e.program->operations[e.operation]))
        if (may_.place[r] != MayBeUnwritten::none)
            lanes |= e.executed & ~registers_[e.warp * size_t{may_.registers} + may_.place[r]];
    return lanes;
}

bool Written::unknown(const warp::Retired& e, std::array<uint32_t, 32>& results) const {
    const Operation& o = e.program->operations[e.operation];
    const uint32_t every = all_results(o);
    uint32_t lanes = lanes_of_registers(e);
    if (lanes != 0 && mixes_lanes(o)) lanes = e.executed;
    bool any = lanes != 0;
    for (uint32_t l = 0; l < 32; ++l) results[l] = (lanes >> l & 1) != 0 ? every : 0;
    if (!reads_memory(o) || o.written == 0) return any;
    const std::span accesses(e.accesses, e.access_count);
    // wmma.load has an access for each result; rows that ldmatrix reads go to all lanes.
    const bool is_matrix = isa::row(o.op).matrix != isa::Matrix::none;
    const bool of_results = isa::row(o.op).wmma && accesses.size() == o.written;
    for (size_t n = 0; n < accesses.size(); ++n) {
        const warp::Access& a = accesses[n];
        if (a.space != ptx::Space::shared || a.store) continue;
        for (uint32_t rest = a.own(); rest != 0; rest &= rest - 1) {
            const auto l = static_cast<uint32_t>(__builtin_ctz(rest));
            if (is_written(a.address[l], a.bytes_of_lane[l])) continue;
            any = true;
            if (!is_matrix)
                results[l] |= unwritten_elements(e, a, l);
            else if (of_results)
                results[l] |= 1u << n;
            else
                for (uint32_t& r : results) r = every;
        }
    }
    return any;
}

// Of a load some of whose bytes nothing wrote: the results that have one.
uint32_t Written::unwritten_elements(const warp::Retired& e, const warp::Access& a,
                                     uint32_t lane) const {
    const Operation& o = e.program->operations[e.operation];
    const isa::VectorRef v = o.vector[0];
    if (v.count <= 1) return all_results(o);
    const uint32_t bytes = a.bytes_of_lane[lane] / v.count;
    uint32_t out = 0;
    for (uint32_t i = 0; i < v.count; ++i) {
        if (is_written(a.address[lane] + i * uint64_t{bytes}, bytes)) continue;
        for (uint32_t w = 0; w < o.written; ++w) {
            const isa::Register& r = e.program->registers[written(*e.program, o)[w]];
            if (r.half != 0 || r.ref == e.program->pool[v.first + i]) out |= 1u << w;
        }
    }
    return out;
}

void Written::note(const warp::Retired& e) {
    const Operation& o = e.program->operations[e.operation];
    const uint32_t unknown = e.access_count == 0 ? 0 : lanes_of_registers(e);
    const std::span accesses(e.accesses, e.access_count);
    // What an update makes of unknown bytes is unknown.
    const auto keeps_unknown = [&](uint64_t address, uint64_t bytes) {
        return isa::row(o.op).memory == isa::Memory::update && o.mod.reduce != isa::Reduce::exch &&
               !is_written(address, bytes);
    };
    for (const warp::Access& a : accesses) {
        if (a.space == ptx::Space::shared &&
            (a.store || isa::row(o.op).memory == isa::Memory::barrier)) {
            for (uint32_t rest = a.own() & ~unknown; rest != 0; rest &= rest - 1) {
                const auto l = static_cast<uint32_t>(__builtin_ctz(rest));
                if (!keeps_unknown(a.address[l], a.bytes_of_lane[l]))
                    mark(a.address[l], a.bytes_of_lane[l]);
            }
        } else if (a.space == ptx::Space::global && a.store) {
            for (uint32_t rest = a.lanes & unknown; rest != 0; rest &= rest - 1) {
                const auto l = static_cast<uint32_t>(__builtin_ctz(rest));
                global_.emplace_back(a.address[l], a.bytes_of_lane[l]);
            }
        }
    }
    if (may_.registers == 0) return;
    for (const uint32_t r : written(*e.program, o))
        if (may_.place[r] != MayBeUnwritten::none)
            registers_[e.warp * size_t{may_.registers} + may_.place[r]] |= e.executed;
}

}  // namespace lockwarp::validate
